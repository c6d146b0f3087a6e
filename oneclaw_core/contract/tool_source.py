"""Tool sources: objects of plugins that supply tools which are known only at run time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from oneclaw_core.plugins.plugin import PluginProblem
    from oneclaw_core.types.tool_groups import ToolGroupDefinition
    from oneclaw_core.types.tools import Tool, ToolDefinition, ToolSourceType


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool that a source publishes.

    Attributes:
        tool: the tool.
        group: its tool group; ``None`` for the one that ``@tool(group=...)`` names, else for a core tool.
        origin: where the tool comes from, such as a file or a server, for messages.
        type: how it came to be; ``None`` for a tool of a plugin.
        is_bound: True if it runs on the event loop of its source, that of the program, because it shares connections
            or other objects with the source; False to run it on the event loop of the plugin, which it may block.
    """

    tool: Tool
    group: str | None = None
    origin: str = ""
    type: ToolSourceType | None = None
    is_bound: bool = True


@dataclass(frozen=True, slots=True)
class GroupTools:
    """The tools of a group that are read when one of them is first needed.

    Attributes:
        tools: of the group, whatever they say of their group.
        permissions: their meanings, as for :class:`~oneclaw_core.ToolGroupDefinition`.
    """

    tools: tuple[SourceTool, ...]
    permissions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """A tool group that a source publishes.

    Attributes:
        definition: its metadata.
        open: finds the group's tools and publishes them, for a group that is listed before its tools are known;
            awaited when a model loads the group.
        origin: where the group comes from, such as a file or a server, for messages.
        tool_names: of the tools that ``read`` returns.
        read: returns the group's tools, which are not published by themselves. It is called on the event loop of the
            program when one of them is first needed, so it may read a file, and wait for nothing else. Its source has a
            ``listing``; what is kept of one without it holds all tools, which are read for that.
    """

    definition: ToolGroupDefinition
    open: Callable[[], Awaitable[None]] | None = None
    origin: str = ""
    tool_names: tuple[str, ...] = ()
    read: Callable[[], GroupTools] | None = None


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool that a source published when it last ran.

    Attributes:
        definition: of the tool.
        group: its tool group, ``None`` for a core tool.
        origin: where the tool comes from.
    """

    definition: ToolDefinition
    group: str | None = None
    origin: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the tool as JSON data."""
        return {**self.definition.to_dict(), "group": self.group, "origin": self.origin}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> KnownTool:
        """Make the tool from what :meth:`to_dict` returned; the definition was checked when it was published.

        Raises:
            KeyError: a part is missing.
        """
        from oneclaw_core.types.tools import ToolDefinition

        return cls(ToolDefinition.stored(stored), stored["group"], stored["origin"])


class SourceTools(Protocol):
    """The tools of one source, as the source publishes them. Its methods can be called from any thread."""

    def publish(
        self,
        tools: Iterable[Tool | SourceTool],
        groups: Iterable[ToolGroupDefinition | SourceGroup] = (),
        problems: Iterable[PluginProblem] = (),
    ) -> None:
        """Replace everything that the source has published, in one step.

        Tools of plugins go before, then those of earlier sources: a tool whose name is taken is reported and left out.

        Args:
            tools: all tools that there are now.
            groups: the metadata of their groups, where they have any.
            problems: what is wrong with the source, for ``oneclaw plugins list`` and ``oneclaw doctor``.
        """

    def known(self) -> tuple[KnownTool, ...]:
        """Return the tools that the source published last, possibly in an earlier process."""

    def problems(self) -> tuple[PluginProblem, ...]:
        """Return the problems that are listed now: those published, and tools that were left out."""


@dataclass(frozen=True, slots=True)
class ListingContext:
    """The data that a source gets in a listing, where no plugin runs.

    Attributes:
        home: the directory with everything that belongs to the user.
        stored: the stored settings, by key.
        environ: the environment.
    """

    home: Path
    stored: Mapping[str, Any]
    environ: Mapping[str, str]


class ToolSource(ABC):
    """Supplies tools that are known only at run time, such as those of a folder or a server.

    The registered target makes it from a ``PluginContext``. Inherit from this class, and implement ``start``.
    """

    @abstractmethod
    async def start(self, tools: SourceTools) -> None:
        """Find the tools and publish them; called once, when the source is first needed.

        Args:
            tools: publishes them, now and whenever they change.
        """

    async def refresh(self) -> None:  # noqa: B027  # it may be left out, and so may stop
        """Look for changes; called before each model request, so it must be quick."""

    async def stop(self) -> None:  # noqa: B027
        """Release everything; called when the home closes, also after a failed start."""
