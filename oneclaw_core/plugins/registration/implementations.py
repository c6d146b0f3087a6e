"""The event and lifecycle hooks that a plugin implements: what is known without importing it, and the functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.plugins.registration.registrations import Registration
    from oneclaw_core.tools.definition import Tool


MAX_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class HookOptions:
    """The way a plugin implements a hook: JSON data, known without importing the plugin.

    Attributes:
        argument_names: the arguments of the hook that the function takes.
        is_async: True for an async function.
        tools: the only tools, or tool groups, whose calls it is about; ``None`` for all.
        timeout_seconds: time limit of one call; ``None`` for the limit of the hook's kind.
        order: -1 for ``tryfirst``, 1 for ``trylast``, else 0.
    """

    argument_names: tuple[str, ...] = ()
    is_async: bool = False
    tools: tuple[str, ...] | None = None
    timeout_seconds: float | None = None
    order: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON data."""
        return {
            "argument_names": list(self.argument_names),
            "is_async": self.is_async,
            "tools": None if self.tools is None else list(self.tools),
            "timeout_seconds": self.timeout_seconds,
            "order": self.order,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> HookOptions:
        """Read what :meth:`to_dict` returned."""
        tools = data["tools"]
        return cls(
            tuple(data["argument_names"]),
            data["is_async"],
            None if tools is None else tuple(tools),
            data["timeout_seconds"],
            data["order"],
        )

    def is_about(self, tool: str, group: str | None) -> bool:
        """Return True if a call of a tool concerns the hook."""
        return self.tools is None or tool in self.tools or (group is not None and group in self.tools)


@dataclass(frozen=True, slots=True)
class Implementation:
    """A plugin's function for a hook.

    Attributes:
        plugin: the plugin's name.
        hook: the hook's name.
        function: sync or async.
        options: how it is called.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    options: HookOptions

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The arguments of the hook that the function takes."""
        return self.options.argument_names

    @property
    def is_async(self) -> bool:
        """True for an async function."""
        return self.options.is_async


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """An imported plugin.

    Attributes:
        name: of the plugin.
        implementations: of event and lifecycle hooks, by the hook's name.
        registrations: what it registered by name, with the objects where this process has them.
        tools: the objects of tools that no manifest declares, by name.
    """

    name: str
    implementations: Mapping[str, Implementation] = field(default_factory=dict)
    registrations: tuple[Registration, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)
