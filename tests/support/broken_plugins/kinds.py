"""Packages that are broken in one way each, and what ``oneclaw plugins check`` calls that."""

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
METADATA = """\
Metadata-Version: 2.4
Name: broken-{name}
Version: 1.2
Summary: Broken in one way.
License-Expression: MIT
Requires-Python: >=3.11
Requires-Dist: oneclaw-core>=0.2,<0.3
"""


@dataclass(frozen=True)
class Kind:
    """A way to be broken.

    Attributes:
        finds: the errors and warnings that are found, and no others; a note too, if it is what this is about.
        listed: part of what ``oneclaw plugins list`` says of it, ``None`` where the loader cannot see it.
        is_called: whether it shows when tools are called.
        is_fatal: whether it ends or stops every process that loads it.
        attribute: of the module, that the entry point names.
    """

    finds: tuple[str, ...]
    listed: str | None = None
    is_called: bool = False
    is_fatal: bool = False
    attribute: str = ""


def _loaded(find: str, listed: str, **more: object) -> Kind:
    return Kind((find,), listed, **more)  # type: ignore[arg-type]


def _seen(*finds: str) -> Kind:
    return Kind(finds)


def _called(*finds: str) -> Kind:
    return Kind(finds, is_called=True)


KINDS: dict[str, Kind] = {
    "import_error": _loaded("import.fails", "No module named 'a_module_that_is_nowhere'"),
    "syntax_error": _loaded("import.fails", "SyntaxError"),
    "missing_attribute": _loaded("import.fails", "has no attribute 'plugin'", attribute="plugin"),
    "names_none": _loaded("import.nothing", "names None", attribute="plugin"),
    "exits_at_import": _loaded("import.exits", "SystemExit: no licence"),
    "kills_at_import": Kind(("import.kills",), is_fatal=True),
    "hangs_at_import": Kind(("import.hangs",), is_fatal=True),
    "prints_at_import": _seen("import.prints"),
    "changes_process": _seen("import.changes-process"),
    "exit_function": _seen("import.ends-at-exit"),
    "slow_import": _seen("import.slow"),
    "no_hooks": _loaded("hooks.none", "implements no hook"),
    "unknown_hook": _loaded("hooks.unknown", "register_tolls"),
    "unmarked_hook": _loaded("hooks.unmarked", "the function register_tools is named like a hook"),
    "unknown_argument": _loaded("hooks.arguments", "settings"),
    "async_hook": _loaded("hooks.async", "is an async function"),
    "generator_hook": _loaded("hooks.event", "the hook after_tool_call cannot be called: it is a generator"),
    "raises_in_hook": _loaded("hooks.raises", "RuntimeError: the catalogue is empty"),
    "exits_in_hook": _loaded("hooks.exits", "SystemExit: 3"),
    "hangs_in_hook": Kind(("hooks.hangs",), is_fatal=True),
    "kills_in_hook": Kind(("hooks.kills",), is_fatal=True),
    "prints_in_hook": _seen("hooks.prints"),
    "registers_nothing": _seen("hooks.empty"),
    "not_a_tool": _loaded("hooks.not-a-tool", "'look at me' is not a tool"),
    "not_a_group": _loaded("groups.not-a-group", "'others' is not a ToolGroupDefinition"),
    "plain_service": _seen("hooks.service"),
    "command_taken": _seen("names.command-taken"),
    "registered_twice": _loaded("hooks.name", "'things' is registered twice"),
    "setting_taken": _loaded("names.setting-taken", "UNITS of its setting"),
    "missing_target": _seen("hooks.target"),
    "odd_option": _loaded("hooks.options", "'things' needs runs_in of"),
    "name_taken": _loaded("names.taken", "the tool 'read_file' belongs to oneclaw-core"),
    "bad_tool_name": _loaded("names.invalid", "'thing lookup!' is not acceptable"),
    "long_tool_name": _loaded("names.invalid", "is not acceptable"),
    "camel_case_name": _loaded("names.not-snake-case", "not in snake_case"),
    "names_alike": Kind(("names.alike", "names.not-snake-case"), "not in snake_case"),
    "odd_parameter_name": _seen("names.parameter"),
    "no_description": _loaded("descriptions.missing", "has no description"),
    "empty_description": _loaded("descriptions.missing", "needs a description"),
    "short_description": _seen("descriptions.short"),
    "long_description": _seen("descriptions.long"),
    "same_description": _seen("descriptions.same"),
    "hidden_description": _seen("descriptions.control"),
    "orders_in_description": _seen("descriptions.orders"),
    "undescribed_group": _seen("groups.no-description"),
    "empty_group": _seen("groups.empty"),
    "untyped_parameter": _loaded("schemas.invalid", "it has no type hint"),
    "invalid_schema": _loaded("schemas.invalid", "no valid JSON Schema"),
    "dangling_reference": _seen("schemas.reference"),
    "recursive_schema": _seen("schemas.recursive"),
    "missing_type": _seen("schemas.missing-type"),
    "array_without_items": _seen("schemas.missing-items"),
    "misfit_default": _seen("schemas.default"),
    "mixed_enum": _seen("schemas.enum-mixed"),
    "misfit_enum": _seen("schemas.enum-type", "schemas.enum-mixed"),
    "root_any_of": _seen("schemas.root-combination"),
    "unknown_required": _seen("schemas.required-unknown"),
    "python_pattern": _seen("schemas.pattern"),
    "impossible_bounds": _seen("schemas.bounds"),
    "undescribed_parameter": _seen("schemas.undescribed"),
    "zero_timeout": _loaded("timeouts.invalid", "timeout_seconds must be"),
    "endless_timeout": _seen("timeouts.long"),
    "bad_permissions": _loaded("permissions.invalid", "must be a list of permission names"),
    "misspelt_permission": _seen("permissions.unknown"),
    "unexplained_permission": _seen("permissions.unexplained"),
    "foreign_meaning": _loaded("permissions.not-own", "which is OneClaw's own"),
    "anothers_meaning": _loaded("permissions.not-declared", "none of its groups is named after"),
    "two_meanings": _loaded("permissions.meaning-taken", "the first one stays"),
    "expensive_tool": _seen("tokens.tool"),
    "expensive_core_tools": _seen("tokens.core-tools"),
    "half_a_manifest": _loaded("manifests.unreadable", "is not valid JSON"),
    "missing_manifest": _loaded("manifests.unreadable", "there is no such file"),
    "manifest_as_text": _loaded("manifests.unreadable", "'things.json' is a text, and no path in the package"),
    "unknown_key": _loaded("manifests.unknown-key", "unknown key 'permisions'"),
    "late_meta": Kind(("manifests.meta", "groups.no-description"), "'_meta' entry"),
    "missing_module": _seen("manifests.module"),
    "missing_function": _seen("manifests.function"),
    "not_callable": _seen("manifests.not-callable"),
    "misfit_signature": _seen("manifests.signature"),
    "isolated_async": _seen("manifests.isolated-async"),
    "broken_skill": _loaded("skills.format", "description is missing"),
    "missing_skill": _loaded("skills.missing", "has no SKILL.md"),
    "needy_skill": _seen("skills.needs"),
    "hanging_tool": _called("calls.hangs"),
    "blocking_tool": _called("calls.blocks"),
    "killing_tool": _called("calls.kills"),
    "exiting_tool": _called("calls.exits"),
    "raising_tool": _called("calls.raises"),
    "slip_in_tool": _called("calls.broken"),
    "unwritable_result": _called("calls.not-json"),
    "misfit_result": _called("calls.result-schema"),
    "traceback_in_result": _called("calls.traceback"),
    "leaking_tool": _called("calls.leaks-key"),
    "reading_tool": _called("calls.reads-outside"),
    "writing_tool": _called("permissions.undeclared"),
    "starting_tool": _called("permissions.undeclared", "capabilities.undeclared"),
    "connecting_tool": _called("permissions.undeclared", "capabilities.undeclared"),
    "printing_tool": _called("calls.prints"),
    "moving_tool": _called("calls.changes-process"),
    "silent_error": _called("calls.error-type", "calls.no-message"),
    "endless_result": _called("calls.long-result"),
}


def entry_point(name):
    """What the entry point of a kind names."""
    attribute = KINDS[name].attribute
    return f"broken_{name}:{attribute}" if attribute else f"broken_{name}"


def install(name, site):
    """Put a kind's package where ``site`` is on the search path, as an installer would."""
    shutil.copytree(FOLDER / name / f"broken_{name}", site / f"broken_{name}", ignore=_no_bytecode)
    info = site / f"broken_{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(name=name))
    (info / "entry_points.txt").write_text(f"[oneclaw]\n{name} = {entry_point(name)}\n")


def make_wheel(name, folder):
    """Make a wheel of a kind's package, and give its path."""
    site = folder / f"site_of_{name}"
    site.mkdir()
    install(name, site)
    path = folder / f"broken_{name}-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for each in sorted(site.rglob("*")):
            wheel.write(each, each.relative_to(site))
    return path


_no_bytecode = shutil.ignore_patterns("__pycache__")
