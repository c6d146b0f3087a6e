"""The user's own tools: a tool source that follows the files of a folder."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.errors import DuplicateError, OneClawError
from oneclaw_core.plugins.contract.tool_source import SourceGroup, SourceTool, ToolSource
from oneclaw_core.plugins.loading.load_plugins import disabled_plugins
from oneclaw_core.plugins.registration.record import PluginProblem, PluginRecord
from oneclaw_core.plugins.sources.published_tools import PublishedTools
from oneclaw_core.process.threads import run_in_thread
from oneclaw_core.tools.registry import ToolSourceType
from oneclaw_core.user_tools.atomic_pair import ToolFiles
from oneclaw_core.user_tools.files import MAX_FILES, Listing, list_files
from oneclaw_core.user_tools.user_tool import USER_PLUGIN, FileTools, Language, UserTool

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from oneclaw_core.config.home import Home
    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.plugins.contract.tool_source import SourceTools
    from oneclaw_core.plugins.sources.published_tools import PublishedBySource
    from oneclaw_core.user_tools.changes import ToolChange, ToolChanges
    from oneclaw_core.user_tools.reading import Reading

PYTHON_SETTING = "user_tools_python"
_PYTHON_VARIABLE = "ONECLAW_USER_TOOLS_PYTHON"
# What the settings take for true.
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
SOURCE = "tools"
"""The source, in messages."""

_log = logging.getLogger("oneclaw.user_tools")


class _Seen(NamedTuple):
    """What the tools follow from."""

    listing: Listing = Listing()
    is_python_enabled: bool = False
    is_disabled: bool = False


class UserTools(ToolSource):
    """The user's own tools: each look is at the files, and what has changed is published anew.

    Args:
        home: whose tools.
        catalog: what plugins brought; gets a record of the tools under the name ``user``.
        environ: the environment, which goes before what is stored.

    Attributes:
        files: the folder, for writing.
        registry: the tools there are, those of others too.
        record: stands for the tools among the plugins, as long as there are files.
        is_disabled: whether the user has disabled them like a plugin.
        is_python_enabled: whether files in Python are imported.
    """

    def __init__(self, home: Home, catalog: Catalog, environ: Mapping[str, str]) -> None:
        self.files = ToolFiles(home.tools, home.locks / "user_tools.lock")
        self.is_disabled = False
        self.is_python_enabled = False
        self.registry = catalog.registry
        self._environ = environ
        self._plugins = catalog.plugins
        self.record = PluginRecord(USER_PLUGIN, target=str(home.tools))
        self._folder = str(home.tools)
        self._seen = _Seen()
        self._is_settled = True
        self._readings: dict[str, Reading] = {}
        self._applied: list[FileTools] = []
        self._published: SourceTools = PublishedTools(self.registry).add(self.record, SOURCE)
        self._reading: asyncio.Lock | None = None

    @cached_property
    def changes(self) -> ToolChanges:
        """Checks changes, for :meth:`make`."""
        from oneclaw_core.user_tools.changes import ToolChanges

        return ToolChanges(self)

    @property
    def tools(self) -> tuple[UserTool, ...]:
        """Those that can be used, in the order of their files."""
        return tuple(each for each in self._made.values() if self._is_registered(each))

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """What is wrong with files, and what was left out."""
        return tuple(self.record.problems)

    def get(self, name: str) -> UserTool | None:
        """The tool of that name, if it is the user's and can be used."""
        made = self._made.get(name)
        return made if made is not None and self._is_registered(made) else None

    @property
    def _made(self) -> dict[str, UserTool]:
        """The tools of all files, by name; of several for one name the first."""
        return {tool.name: tool for each in reversed(self._applied) for tool in reversed(each.tools)}

    def _is_registered(self, made: UserTool) -> bool:
        return self.registry.get_tool(made.name) is made.tool

    def problems_of_file(self, name: str) -> tuple[PluginProblem, ...]:
        """What is wrong with the files ``NAME.json`` and ``NAME.js``."""
        reading = self._readings.get(name)
        return reading.made.problems if reading is not None else ()

    def obey(self, stored: Mapping[str, Any]) -> None:
        """Take over whether they are disabled, and whether tools in Python are switched on.

        Args:
            stored: the settings, by key; a value that does not fit counts as no.
        """
        self.is_disabled = USER_PLUGIN in disabled_plugins(stored, self._environ)
        in_environment = self._environ.get(_PYTHON_VARIABLE)
        if in_environment:
            self.is_python_enabled = in_environment.strip().lower() in _TRUE
        else:
            self.is_python_enabled = stored.get(PYTHON_SETTING) is True

    async def start(self, tools: SourceTools) -> None:
        """Publish the tools.

        Args:
            tools: publishes them.
        """
        self._published = tools
        await self.refresh()

    def load(self, tools: PublishedBySource) -> None:
        """Publish the tools, for programs that have nothing else to do.

        Args:
            tools: publishes them.
        """
        self._published = tools
        if self._is_changed():
            self._apply(*self._read())

    async def refresh(self) -> None:
        """Look at the files, and read in a thread what has changed; without a change, this takes microseconds."""
        if not self._is_changed():
            return
        if self._reading is None:
            from asyncio import Lock

            self._reading = Lock()
        async with self._reading:
            if self._is_changed():
                self._apply(*await run_in_thread(self._read))

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

    def _is_changed(self) -> bool:
        seen = self._look()
        return bool(seen.listing.commits) or not self._is_settled or seen != self._seen

    def _look(self) -> _Seen:
        return _Seen(list_files(self._folder), self.is_python_enabled, self.is_disabled)

    def _read(self) -> tuple[_Seen, dict[str, Reading]]:
        """Read what has changed; also give what was looked at."""
        from oneclaw_core.user_tools.reading import read_folder

        seen = self._look()
        if seen.listing.commits:
            try:
                self.files.finish_commits()
            except OneClawError as error:
                _log.warning("a change of the tools is still to be brought to its end: %s", error)
            seen = self._look()
        if seen.is_disabled:
            return seen, {}
        return seen, read_folder(self._folder, seen.listing, seen.is_python_enabled, self._readings)

    def _apply(self, seen: _Seen, readings: dict[str, Reading]) -> None:
        """Publish the tools, in the order of their files."""
        listing = seen.listing
        self._seen = seen
        self._is_settled = listing.is_settled
        self._readings = readings
        made = [reading.made for reading in readings.values()]
        self._list_record(seen)
        if len(made) == len(self._applied) and all(new is old for new, old in zip(made, self._applied, strict=True)):
            return
        self._applied = made
        problems: list[PluginProblem] = []
        if listing.is_cut:
            cause = f"only the first {MAX_FILES:,} files are looked at"
            problems.append(PluginProblem(SOURCE, cause, "remove what is not needed"))
        groups = []
        for each in made:
            problems += each.problems
            if each.group is not None:
                groups.append(SourceGroup(each.group, origin=f"{each.group.name}.json"))
        tools = [
            SourceTool(tool.tool, tool.group, tool.file, _source_type(tool)) for each in made for tool in each.tools
        ]
        self._published.publish(tools, groups, problems)

    def _list_record(self, seen: _Seen) -> None:
        """Be among the plugins as long as there are files."""
        self.record.is_disabled = seen.is_disabled
        is_listed = any(each is self.record for each in self._plugins)
        if seen.listing.files and not is_listed:
            self._plugins.append(self.record)
        elif not seen.listing.files and is_listed:
            self._plugins.remove(self.record)


def _source_type(tool: UserTool) -> ToolSourceType | None:
    return ToolSourceType.JS_EXTENSION if tool.language is Language.JAVASCRIPT else None


def _taken_meanwhile(change: ToolChange) -> DuplicateError:
    return DuplicateError(f"there is a tool {change.name!r} by now: choose another name")
