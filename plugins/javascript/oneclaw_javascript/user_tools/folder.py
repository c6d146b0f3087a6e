"""The user's own tools: a tool source that follows the files of a folder."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core import OneClawError, SettingsError, SourceTool, ToolSource, ToolSourceType
from oneclaw_core.plugins import PluginProblem, SourceGroup
from oneclaw_core.process import run_in_thread
from oneclaw_javascript.user_tools.atomic_pair import ToolFiles
from oneclaw_javascript.user_tools.files import MAX_FILES, Listing, list_files
from oneclaw_javascript.user_tools.user_tool import FileTools, Language, UserTool

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from oneclaw_core import PluginContext, SourceTools
    from oneclaw_javascript.user_tools.reading import Reading

_log = logging.getLogger("oneclaw.user_tools")


def open_user_tools(context: PluginContext) -> UserTools:
    """Make the source for an open home."""

    def is_python_enabled() -> bool:
        try:
            return context.settings.user_tools_python is True
        except SettingsError as error:
            context.logger.warning("tools in Python are not used: %s", error)
            return False

    return UserTools(context.services.home.path, is_python_enabled)


class _Seen(NamedTuple):
    """The state that the tools follow from."""

    listing: Listing = Listing()
    is_python_enabled: bool = False


class UserTools(ToolSource):
    """The user's own tools: each refresh looks at the files, and publishes the tools if a file has changed.

    Args:
        home: the directory with everything that belongs to the user.
        is_python_enabled: returns True if files in Python are imported.

    Attributes:
        files: the folder, for writing.
    """

    def __init__(self, home: Path, is_python_enabled: Callable[[], bool]) -> None:
        self.files = ToolFiles.of(home)
        self._folder = str(self.files.folder)
        self._is_python_enabled = is_python_enabled
        self._seen = _Seen()
        self._is_settled = True
        self._readings: dict[str, Reading] = {}
        self._applied: list[FileTools] = []
        self._published: SourceTools | None = None
        self._reading: asyncio.Lock | None = None

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """The problems of files, and tools that were left out."""
        return self._published.problems() if self._published is not None else ()

    @property
    def tools(self) -> tuple[UserTool, ...]:
        """The tools of all files, in the order of the files; of several with one name the first."""
        found: dict[str, UserTool] = {}
        for each in self._applied:
            for tool in each.tools:
                found.setdefault(tool.name, tool)
        return tuple(found.values())

    def problems_of_file(self, name: str) -> tuple[PluginProblem, ...]:
        """Return the problems of the files ``NAME.json`` and ``NAME.js``."""
        reading = self._readings.get(name)
        return reading.made.problems if reading is not None else ()

    async def start(self, tools: SourceTools) -> None:
        """Publish the tools.

        Args:
            tools: publishes them.
        """
        self._published = tools
        await self.refresh()

    def load(self, tools: SourceTools) -> None:
        """Publish the tools, in a program without an event loop.

        Args:
            tools: publishes them.
        """
        self._published = tools
        if self._is_changed():
            self._apply(*self._read())

    async def refresh(self) -> None:
        """Look at the files, and read in a thread those that have changed. Without a change it takes microseconds."""
        if not self._is_changed():
            return
        if self._reading is None:
            from asyncio import Lock

            self._reading = Lock()
        async with self._reading:
            if self._is_changed():
                self._apply(*await run_in_thread(self._read))

    def _is_changed(self) -> bool:
        seen = self._look()
        return bool(seen.listing.commits) or not self._is_settled or seen != self._seen

    def _look(self) -> _Seen:
        listing = list_files(self._folder)
        # The setting is read where it counts: that imports its model.
        has_python = any(name.endswith(".py") for name, _ in listing.files)
        return _Seen(listing, has_python and self._is_python_enabled())

    def _read(self) -> tuple[_Seen, dict[str, Reading]]:
        """Read the files that have changed; return the state of the folder with them."""
        from oneclaw_javascript.user_tools.reading import read_folder

        seen = self._look()
        if seen.listing.commits:
            try:
                self.files.finish_commits()
            except OneClawError as error:
                _log.warning("a change of the tools is not finished: %s", error)
            seen = self._look()
        return seen, read_folder(self._folder, seen.listing, seen.is_python_enabled, self._readings)

    def _apply(self, seen: _Seen, readings: Mapping[str, Reading]) -> None:
        """Publish the tools, in the order of their files."""
        listing = seen.listing
        self._seen = seen
        self._is_settled = listing.is_settled
        self._readings = dict(readings)
        made = [reading.made for reading in readings.values()]
        if len(made) == len(self._applied) and all(new is old for new, old in zip(made, self._applied, strict=True)):
            return
        self._applied = made
        problems: list[PluginProblem] = []
        if listing.is_cut:
            problems.append(PluginProblem("tools", f"only the first {MAX_FILES:,} files are read", "remove some"))
        groups = []
        for each in made:
            problems += each.problems
            if each.group is not None:
                groups.append(SourceGroup(each.group, origin=f"{each.group.name}.json"))
        tools = [
            # What a user writes may block.
            SourceTool(tool.tool, tool.group, tool.file, _source_type(tool), is_bound=False)
            for each in made
            for tool in each.tools
        ]
        if self._published is not None:
            self._published.publish(tools, groups, problems)


def _source_type(tool: UserTool) -> ToolSourceType | None:
    return ToolSourceType.JS_EXTENSION if tool.language is Language.JAVASCRIPT else None
