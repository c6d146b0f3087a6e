"""The user's own tools in an open home, for programs that list and change them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from oneclaw_core import DuplicateError, OneClawError
from oneclaw_core.process import run_in_thread
from oneclaw_javascript.user_tools.atomic_pair import ToolFiles
from oneclaw_javascript.user_tools.folder import UserTools

if TYPE_CHECKING:
    from oneclaw_core.plugins import HomeServices, PluginProblem
    from oneclaw_javascript.user_tools.changes import ToolChange, ToolChanges
    from oneclaw_javascript.user_tools.user_tool import UserTool


class RegisteredTools:
    """The user's own tools that are registered in an open home.

    Args:
        source: the tool source, ``None`` if the user has disabled it.
        services: of the home.

    Attributes:
        registry: all tools, those of plugins as well.
        files: the folder, for writing.
    """

    def __init__(self, source: UserTools | None, services: HomeServices) -> None:
        self.registry = services.registry
        self.files = ToolFiles.of(services.home.path)
        self._source = source
        self._services = services

    @classmethod
    async def of(cls, services: HomeServices) -> RegisteredTools:
        """Look at the files, and return the tools.

        Args:
            services: of the open home.

        Raises:
            PluginError: the source of the tools cannot be started.
        """
        source = await services.tool_source("javascript", "tools")
        tools = cls(source if isinstance(source, UserTools) else None, services)
        await tools.refresh()
        return tools

    @property
    def is_disabled(self) -> bool:
        """True if the user has disabled the tools like a plugin."""
        return self._source is None

    @property
    def tools(self) -> tuple[UserTool, ...]:
        """The tools that can be used, in the order of their files."""
        found = self._source.tools if self._source is not None else ()
        return tuple(each for each in found if self.registry.get_tool(each.name) is each.tool)

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """The problems of files, and tools that were left out."""
        return self._source.problems if self._source is not None else ()

    @cached_property
    def changes(self) -> ToolChanges:
        """Checks changes, for :meth:`make`."""
        from oneclaw_javascript.user_tools.changes import ToolChanges

        return ToolChanges(self)

    def get(self, name: str) -> UserTool | None:
        """Return the tool of that name, if it is the user's and can be used."""
        return next((each for each in self.tools if each.name == name), None)

    def problems_of_file(self, name: str) -> tuple[PluginProblem, ...]:
        """Return the problems of the files ``NAME.json`` and ``NAME.js``."""
        return self._source.problems_of_file(name) if self._source is not None else ()

    async def refresh(self) -> None:
        """Look for changes of the files."""
        if self._source is not None:
            await self._services.on_program_loop(self._source.refresh())

    async def make(self, change: ToolChange) -> None:
        """Make a change that was checked, and register its outcome.

        Raises:
            DuplicateError: the name has been taken meanwhile.
            OneClawError: the files have changed meanwhile, or cannot be written.
        """
        if change.is_new and self.registry.get_tool(change.name) is not None:
            raise _taken_meanwhile(change)
        await run_in_thread(lambda: self._write(change))
        await self.refresh()

    def _write(self, change: ToolChange) -> None:
        with self.files.locked():
            if self.files.read(change.name) != change.replaces:
                if change.is_new:
                    raise _taken_meanwhile(change)
                raise OneClawError(f"the files of {change.name!r} have changed meanwhile: look at them, and try again")
            if change.manifest is None or change.code is None:
                self.files.remove(change.name)
            else:
                self.files.put(change.name, change.manifest, change.code)


def _taken_meanwhile(change: ToolChange) -> DuplicateError:
    return DuplicateError(f"there is a tool {change.name!r} by now: choose another name")
