"""In the child process: load a plugin as the program does, and tell what it brought."""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import importlib_metadata

from oneclaw_core import cli
from oneclaw_core.installation import report_skill_problems
from oneclaw_core.permissions import KNOWN_PERMISSIONS
from oneclaw_core.plugins import CORE_TOOL_PLUGINS, HOOK_KINDS, HookKind, load_plugins
from oneclaw_devtools.conformance.probe_child import exit_fault
from oneclaw_devtools.fixed_names import BUILTIN_PLUGIN, ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from oneclaw_core.manifests import ManifestTool
    from oneclaw_core.plugins import Catalog, Plugin
    from oneclaw_devtools.conformance.probe_child import Channel

_BUILTIN_TARGET = "oneclaw_core.builtin"


@dataclass(frozen=True, slots=True)
class Package:
    """Stands in for the distribution of a package that need not be installed."""

    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class WatchedEntryPoint:
    """An entry point whose import and hooks are steps that the parent hears of."""

    name: str
    value: str
    dist: Package | None
    channel: Channel
    has_own_loop: bool = False  # the parent is to notice what blocks

    def load(self) -> Any:
        """Import it."""
        with self.channel.step("import"):
            point = importlib_metadata.EntryPoint(self.name, self.value, ENTRY_POINT_GROUP)
            plugin = point.load()
        return None if plugin is None else watched(plugin, self.channel)


def watched(plugin: Any, channel: Channel) -> Any:
    """Make a stand-in for a plugin whose hooks tell the parent when they begin and end."""
    hooks = {name: getattr(plugin, name) for name in dir(plugin) if _is_hook(plugin, name)}
    name = getattr(plugin, "__name__", None) or type(plugin).__name__
    steps = {
        name: hook if _is_left_alone(name, hook) else _watched_hook(name, hook, channel) for name, hook in hooks.items()
    }
    # The loader looks at functions with the names of hooks as well, and never calls them.
    unmarked = {each: getattr(plugin, each) for each in HOOK_KINDS.keys() - steps.keys() if hasattr(plugin, each)}
    return SimpleNamespace(__name__=name, **steps, **unmarked)


def _is_left_alone(name: str, hook: Callable[..., Any]) -> bool:
    """Return True for a hook that is not called here, whose form the loader looks at."""
    kind = HOOK_KINDS.get(name, HookKind.REGISTRATION)
    return kind is not HookKind.REGISTRATION or inspect.iscoroutinefunction(hook)


def _is_hook(plugin: Any, name: str) -> bool:
    # As pluggy looks: without running properties.
    found = inspect.getattr_static(plugin, name, None)
    function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    return inspect.isfunction(function) and hasattr(function, "oneclaw_impl")


def _watched_hook(name: str, hook: Callable[..., Any], channel: Channel) -> Callable[..., Any]:
    @functools.wraps(hook)
    def call(*arguments: Any) -> Any:
        with channel.step(name):
            return hook(*arguments)

    return call


def entry_points(
    request: Mapping[str, Any], channel: Channel
) -> list[WatchedEntryPoint | importlib_metadata.EntryPoint]:
    """The plugin to look at, behind the plugins with core tools of OneClaw."""
    package = Package(request["package"], request["version"]) if request["package"] else None
    point = WatchedEntryPoint(request["name"], request["value"], package, channel)
    if request["value"].partition(":")[0] == _BUILTIN_TARGET:
        return [point]
    core = CORE_TOOL_PLUGINS - {request["name"]}
    others = [each for each in importlib_metadata.entry_points(group=ENTRY_POINT_GROUP) if each.name in core]
    builtin = importlib_metadata.EntryPoint(BUILTIN_PLUGIN, _BUILTIN_TARGET, ENTRY_POINT_GROUP)
    return [builtin, *sorted(others, key=lambda each: each.name), point]


def look(request: Mapping[str, Any], channel: Channel) -> None:
    """Load the plugin and send one message with its facts."""
    check_commands = cli.check_commands  # before the plugin, which does not pay for what this imports

    exit_functions = atexit._ncallbacks()
    catalog = load_plugins(entry_points=entry_points(request, channel))
    record = catalog.plugins[-1]
    if atexit._ncallbacks() > exit_functions and (fault := exit_fault()):
        record.report("import", fault, "end the program nowhere", check="import.ends-at-exit")
    check_commands(record)
    _load_registered(record, channel)
    report_skill_problems(catalog, [each for each in catalog.skills if each.record is record], is_thorough=True)
    document = {
        "name": record.name,
        "tools": [_tool(catalog, name, channel) for name in record.tools],
        "groups": list(_groups(catalog, record)),
        "skills": list(record.skills),
        "others": [*record.providers, *(each.name for each in record.registrations if each.hook not in _LISTED_APART)],
        "files": [*record.manifests, *(str(each.folder) for each in catalog.skills if each.record is record)],
        "problems": [asdict(problem) for problem in record.problems],
        "meanings": _meanings(catalog),
    }
    channel.send({"plugin": document})


_LISTED_APART = frozenset(
    {"register_groups", "register_tools", "register_tools.manifest", "register_providers", "register_skills"}
    | {"register_providers.preconfigured"}
)


def _load_registered(record: Plugin, channel: Channel) -> None:
    """Import what the plugin registered by name."""
    from oneclaw_core import PluginError
    from oneclaw_core.plugins import load_object_now

    for registration in record.registrations:
        if registration.hook in _LISTED_APART or registration.target is None or registration.value is not None:
            continue
        try:
            with channel.step(f"module {registration.target.partition(':')[0]}"):
                load_object_now(record, registration)
        except PluginError as error:
            record.report(registration.hook, str(error), "correct the name, or the module", check="hooks.target")


def _meanings(catalog: Catalog) -> dict[str, str]:
    meanings = catalog.registry.get_permission_meanings()
    return {name: meaning.text for name, meaning in meanings.items() if name not in KNOWN_PERMISSIONS}


def _tool(catalog: Catalog, name: str, channel: Channel) -> dict[str, Any]:
    from oneclaw_core.manifests import ManifestTool

    tool, definition = catalog.registry.get_tool(name), catalog.registry.get_definition(name)
    source = catalog.registry.get_source_info(name)
    assert definition is not None
    assert source is not None
    try:
        parameters = json.loads(json.dumps(definition.parameters, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        parameters = None
    return {
        "name": name,
        "description": definition.description,
        "parameters": parameters,
        "required_permissions": definition.required_permissions,
        "timeout_seconds": definition.timeout_seconds,
        "group": source.group_name,
        "isolation": definition.behaviour.isolation,
        "target": _target(tool, channel) if isinstance(tool, ManifestTool) else None,
        "is_asking": definition.behaviour.asks_itself or _asks(tool),
    }


def _asks(tool: Any) -> bool:
    """Return True if the package of the tool's code asks for permissions; which of its tools does is unknown."""
    function = getattr(tool, "function", None)
    module = function.__module__ if function is not None else getattr(getattr(tool, "target", None), "module", None)
    return _speaks_of_asking((module or type(tool).__module__).partition(".")[0])


@functools.cache
def _speaks_of_asking(package: str) -> bool:
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            with suppress(OSError, TypeError):  # no source
                if "ask_permission" in inspect.getsource(module):
                    return True
    return False


def _target(tool: ManifestTool, channel: Channel) -> dict[str, Any]:
    from oneclaw_core import PluginError

    place = f"{tool.target.module}:{tool.target.attribute}"
    facts: dict[str, Any] = {"place": place, "fault": None, "parameters": None, "context_names": ()}
    try:
        with channel.step(f"module {tool.target.module}"):
            loaded = tool.target.load()
    except PluginError as error:
        return {**facts, "fault": str(error)}
    return {**facts, **_signature(loaded)}


def _signature(loaded: Any) -> dict[str, Any]:
    from oneclaw_core.tool_functions import FunctionTool, context_parameters, signature_of
    from oneclaw_core.tools import ToolDefinitionError

    if isinstance(loaded, FunctionTool):
        try:
            schema = loaded.definition.parameters
        except ToolDefinitionError as error:
            return {"fault": str(error)}
        required = schema.get("required", ())
        names = [{"name": name, "is_required": name in required} for name in schema.get("properties", ())]
        return {"parameters": names, "is_async": inspect.iscoroutinefunction(loaded.function)}
    context_names = context_parameters(loaded)
    try:
        signature = signature_of(loaded)
    except (TypeError, ValueError):  # a builtin that has none
        return {}
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        "parameters": [
            {
                "name": name,
                "is_required": each.default is each.empty,
                "is_positional_only": each.kind is each.POSITIONAL_ONLY,
            }
            for name, each in signature.parameters.items()
            if name not in context_names and each.kind not in kinds
        ],
        "context_names": context_names,
        "takes_any": any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()),
        "is_async": inspect.iscoroutinefunction(loaded),
    }


def _groups(catalog: Catalog, record: Plugin) -> Iterator[dict[str, Any]]:
    from oneclaw_core.tools import generated_group_definition

    names_by_group = catalog.registry.get_tool_groups()
    own = {
        group: [name for name in names if name in record.tools]
        for group, names in names_by_group.items()
        if group in record.groups or any(name in record.tools for name in names)
    }
    for name in dict.fromkeys([*own, *record.groups]):
        group = catalog.registry.get_group_definition(name)
        tools = own.get(name, [])
        generated = generated_group_definition(name, names_by_group.get(name, ()))
        yield {
            "name": name,
            "description": group.description if group is not None else "",
            "is_declared": group is not None and group.description != generated.description,
            "tools": len(tools),
        }
