"""`oneclaw plugins`: the plugins that are installed and what is wrong with them.

Works when every one of them is broken.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import document_of, json_option, print_listing, print_text, warn
from oneclaw_core.cli.running import with_store
from oneclaw_core.compaction.estimate import definition_tokens
from oneclaw_core.errors import UsageError
from oneclaw_core.installation.origins import report_origins
from oneclaw_core.installation.reviewing import reviewed_plugins
from oneclaw_core.installation.skill_checks import report_skill_problems
from oneclaw_core.plugins.cache import PluginCache, cache_path
from oneclaw_core.plugins.loading import discover
from oneclaw_core.plugins.plugin import BUILTIN_PLUGIN, Plugin
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.shipped.missing import similar_names
from oneclaw_core.system.home import find_home

if TYPE_CHECKING:
    from oneclaw_core.cli.catalog import HomeCatalog

SETTING = "disabled_plugins"
VARIABLE = "ONECLAW_DISABLED_PLUGINS"


@click.group(cls=CommandGroup)
def plugins() -> None:
    """List, install, make and check plugins."""


@plugins.command("list", short_help="List the plugins and their problems.")
@json_option
def list_plugins(as_json: bool) -> None:
    """List the installed plugins with their tools, groups and problems.

    The tools of a plugin that is "in a box" run in a sandbox, see 'oneclaw plugins box'.
    """
    from oneclaw_core.channels.commands import chat_command_names

    catalog = load_catalog()
    report_skill_problems(catalog)
    records = catalog.plugins
    report_origins(catalog.home, records)
    chat_command_names(catalog)  # reports those that are taken
    reviewed = reviewed_plugins(records)
    documents = [_document(each, catalog, reviewed.get(each.name)) for each in records]
    columns = ("name", "package", "version", "status", "tools", "tokens", "groups", "import")
    print_listing(as_json, documents, columns, map(_row, documents))
    for record in () if as_json else records:
        for problem in record.problems:
            kind = "problem" if problem.is_error else "note"
            print_text(f"\n{record.name}: {kind} in {problem.where}: {problem.cause}")
            print_text(f"  what to do: {problem.remedy}")


@plugins.command("disable")
@click.argument("name")
def disable(name: str) -> None:
    """Disable a plugin; it is no longer imported."""
    name = name.strip()
    if name == BUILTIN_PLUGIN:
        raise UsageError(
            "the built-in tools cannot be disabled as a whole, only one by one: oneclaw tools disable NAME"
        )
    if not name or "," in name:
        raise UsageError(f"{name!r} is not a plugin's name: see oneclaw plugins list")
    if not _is_installed(name):
        close = similar_names(name, _installed())
        hint = f"; did you mean {close}? To undo this: oneclaw plugins enable {name}" if close else ""
        warn(f"no plugin named {name!r} is installed; it will stay disabled when one is{hint}")
    _change(name, is_disabled=True)
    print_text(f"plugin {name} is disabled")


@plugins.command("enable", short_help="Load a plugin again.")
@click.argument("name")
def enable(name: str) -> None:
    """Enable a plugin again that was disabled or ended the program, with its switched-off hooks."""
    name = name.strip()
    if not _is_installed(name):
        close = similar_names(name, _installed())
        warn(f"no plugin named {name!r} is installed{f'; did you mean {close}?' if close else ''}")
    home = find_home()
    forgotten = (HookTimeouts(home.hook_timeouts).forget(name), PluginCache(cache_path()).forget(name))
    was_left_alone = any(forgotten)
    was_disabled = _change(name, is_disabled=False)
    if was_disabled:
        print_text(f"plugin {name} is enabled")
    else:
        print_text(f"plugin {name} " + ("is tried again" if was_left_alone else "was not disabled"))


def _is_installed(name: str) -> bool:
    # Most plugins are found without loading any.
    return any(point.name == name for point in discover()) or name in _installed()


def _installed() -> set[str]:
    records = load_catalog(is_quiet=True).plugins
    registrations = (each for record in records for each in record.registrations)
    listed = {str(each.options["listed_as"]) for each in registrations if "listed_as" in each.options}
    return listed | {record.name for record in records} | {point.name for point in discover()}


def _change(name: str, *, is_disabled: bool) -> bool:
    """Put a plugin on the list of disabled ones or take it off; say whether it was on it."""

    def names(stored: Any) -> list[str]:
        # A value that does not fit is replaced: this command is a way to repair it.
        return [str(each) for each in stored] if isinstance(stored, list) else []

    def change(stored: Any) -> list[str]:
        others = [each for each in names(stored) if each != name]
        return [*others, name] if is_disabled else others

    was_disabled = name in names(with_store(lambda store: store.change_setting(SETTING, change)))
    in_environment = os.environ.get(VARIABLE)
    if in_environment:
        warn(f"the environment variable {VARIABLE} is set ({in_environment!r}), and overrides this as long as it is")
    return was_disabled


def _document(record: Plugin, catalog: HomeCatalog, reviewed: bool | None) -> dict[str, Any]:
    return {
        "name": record.name,
        "package": record.distribution,
        **document_of(record, "version", "status", "tools", "groups", "providers", "skills"),
        "import_ms": None if record.import_ms is None else round(record.import_ms, 3),
        "problems": [document_of(each, "where", "cause", "remedy", "is_error") for each in record.problems],
        "tokens": _cost(record, catalog),
        "reviewed": reviewed,
        "in_box": (catalog.home.boxes / record.name).is_dir(),
    }


def _cost(record: Plugin, catalog: HomeCatalog) -> dict[str, int]:
    """Estimate the tokens of a plugin's tools: in every request, and once their groups are loaded."""
    cost = {"core": 0, "groups": 0}
    for name in record.tools:
        tool, source = catalog.registry.get_tool(name), catalog.registry.get_source_info(name)
        if tool is not None and source is not None:
            cost["groups" if source.group_name else "core"] += definition_tokens(tool.definition)
    return cost


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    status, tokens, tools = document["status"], document["tokens"], document["tools"]
    if document["in_box"]:
        status = "in a box" if status == "disabled" else f"in a box, {status}"
    elif document["reviewed"] is False and status == "ok":
        status = f"{status}, not reviewed"
    return (
        document["name"],
        document["package"] or "",
        document["version"] or "",
        status,
        str(len(tools)),
        f"{tokens['core']:,} + {tokens['groups']:,}" if tools else "",
        ", ".join(document["groups"]),
        "" if document["import_ms"] is None else f"{document['import_ms']:.1f} ms",
    )
