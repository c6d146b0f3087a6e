"""Imports of a plugin, and of objects that it registered, at their first use.

Each is imported once, in a daemon thread with a time limit; one that failed is not tried again.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.plugin import TOOL_HOOK, Loaded, Plugin, PluginProblem, Registration
from oneclaw_core.tools.invoke import DeferredTool, FunctionTarget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.plugins.isolation import ForeignCall
    from oneclaw_core.types.tools import Tool, ToolDefinition


async def load_plugin(plugin: Plugin) -> Loaded:
    """Return a plugin with its objects.

    Raises:
        PluginError: it cannot be imported.
    """
    if plugin.loaded is not None:
        return plugin.loaded
    with _reported(plugin, None):
        loaded: Loaded = await _import(plugin, None).wait_async()
        return loaded


async def load_object(plugin: Plugin, registration: Registration) -> Any:
    """Return what a plugin registered.

    Raises:
        PluginError: it cannot be imported, or is not registered any more.
    """
    if registration.value is not None:
        return registration.value
    if registration.target is None:
        return _registered(plugin, registration, await load_plugin(plugin))
    with _reported(plugin, registration.target):
        return await _import(plugin, registration.target).wait_async()


def load_object_now(plugin: Plugin, registration: Registration) -> Any:
    """Do the same in a program without an event loop."""
    if registration.value is not None:
        return registration.value
    with _reported(plugin, registration.target):
        found = plugin.loaded if registration.target is None else None
        found = _import(plugin, registration.target).wait() if found is None else found
    return _registered(plugin, registration, found) if registration.target is None else found


def _import(plugin: Plugin, target: str | None) -> ForeignCall[Any]:
    if target not in plugin.imports:
        if plugin.importer is None:
            raise PluginError(
                f"the plugin {plugin.name} cannot be used: see oneclaw plugins list; disable it with: oneclaw "
                f"plugins disable {plugin.name}"
            )
        from oneclaw_core.plugins import isolation

        call = partial(plugin.importer, target)
        plugin.imports[target] = isolation.ForeignCall(call, f"import of {plugin.name}", isolation.LOAD_SECONDS)
    return plugin.imports[target]


@contextmanager
def _reported(plugin: Plugin, target: str | None) -> Iterator[None]:
    from oneclaw_core.plugins.isolation import LOAD_SECONDS, ForeignError, raised_cause

    try:
        yield
    except (TimeoutError, ForeignError) as error:
        if isinstance(error, ForeignError):
            cause = raised_cause(error.raised)
            check = "import.exits" if isinstance(error.raised, SystemExit) else "import.fails"
        else:
            cause, check = f"it did not end within {LOAD_SECONDS:g} s", "import.hangs"
        if target is None:
            plugin.add(PluginProblem("import", cause, plugin.remedy, check=check), is_logged=False)
        package = f" ({plugin.package})" if plugin.package else ""
        raise PluginError(
            f"plugin {plugin.name}{package}: {target or plugin.target} cannot be imported: {cause}; upgrade the "
            f"plugin, or disable it with: oneclaw plugins disable {plugin.name}"
        ) from error


def _registered(plugin: Plugin, registration: Registration, loaded: Loaded) -> Any:
    found = loaded.registrations.get((registration.hook, registration.name))
    if found is None:
        what = f"the tool {registration.name!r}" if registration.hook == TOOL_HOOK else repr(registration.name)
        raise PluginError(
            f"the plugin {plugin.name} does not register {what} any more: upgrade {plugin.distribution or 'it'}, or "
            f"disable it with: oneclaw plugins disable {plugin.name}"
        )
    return found.value


class LazyTool(DeferredTool):
    """A tool known by its registration, whose code is imported when it first runs.

    Attributes:
        registration: what is known about it.
    """

    def __init__(self, registration: Registration, definition: ToolDefinition, plugin: Plugin) -> None:
        super().__init__(definition)
        self.registration = registration
        self._plugin = plugin

    def __repr__(self) -> str:
        return f"<tool {self.name} of plugin {self._plugin.name}>"

    async def _load(self) -> Tool:
        registration = self.registration
        if registration.target is not None:
            from oneclaw_core.manifests.manifest import ManifestTool  # listings run no tool

            module, _, attribute = registration.target.partition(":")
            target = FunctionTarget(module, attribute, str(registration.options.get("origin", "")))
            return ManifestTool(self.definition, target)
        tool: Tool = await load_object(self._plugin, registration)
        return tool
