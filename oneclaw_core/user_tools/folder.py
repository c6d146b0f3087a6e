"""The user's tools in the registry, as the files in the folder are at this moment."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.errors import DuplicateError, DuplicateToolError, OneClawError
from oneclaw_core.plugins.loading import disabled_plugins
from oneclaw_core.plugins.record import PluginProblem, PluginRecord
from oneclaw_core.tools.groups import generated_group_definition
from oneclaw_core.tools.registry import ToolSourceInfo, ToolSourceType
from oneclaw_core.tools.threads import run_in_thread
from oneclaw_core.user_tools.files import MAX_FILES, Listing, list_files
from oneclaw_core.user_tools.pairs import ToolFiles
from oneclaw_core.user_tools.user_tool import USER_PLUGIN, FileTools, Language, UserTool

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from oneclaw_core.home import Home
    from oneclaw_core.plugins.loading import Catalog
    from oneclaw_core.tools.groups import ToolGroupDefinition
    from oneclaw_core.user_tools.changes import ToolChange, ToolChanges
    from oneclaw_core.user_tools.reading import Reading

PYTHON_SETTING = "user_tools_python"
_PYTHON_VARIABLE = "ONECLAW_USER_TOOLS_PYTHON"
# What the settings take for true.
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_WHERE = "tools"

_log = logging.getLogger("oneclaw.user_tools")


class _Seen(NamedTuple):
    """What the tools follow from."""

    listing: Listing = Listing()
    is_python_enabled: bool = False
    is_disabled: bool = False


class UserTools:
    """The user's own tools: each look is at the files, and what has changed is registered anew.

    Tools of plugins go before: a file with a name that is taken is reported and left out.

    Args:
        home: whose tools.
        catalog: what plugins brought; gets the tools, and a record of them under the name ``user``.
        environ: the environment, which goes before what is stored.

    Attributes:
        files: the folder, for writing.
        registry: the tools there are, those of others too.
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
        self._record = PluginRecord(USER_PLUGIN, target=str(home.tools))
        self._folder = str(home.tools)
        self._seen = _Seen()
        self._is_settled = True
        self._readings: dict[str, Reading] = {}
        self._applied: list[FileTools] = []
        self._tools: dict[str, UserTool] = {}
        self._groups: list[str] = []
        self._reading: asyncio.Lock | None = None

    @cached_property
    def changes(self) -> ToolChanges:
        """Checks changes, for :meth:`make`."""
        from oneclaw_core.user_tools.changes import ToolChanges

        return ToolChanges(self)

    @property
    def tools(self) -> tuple[UserTool, ...]:
        """Those that can be used, in the order of their files."""
        return tuple(self._tools.values())

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """What is wrong with files, and what was left out."""
        return tuple(self._record.problems)

    def get(self, name: str) -> UserTool | None:
        """The tool of that name, if it is the user's and can be used."""
        return self._tools.get(name)

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

    def load(self) -> None:
        """Look at the files, and read what has changed: for programs that have nothing else to do."""
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
        """Register the tools, all of them anew, so that their order is that of the files after every change."""
        listing = seen.listing
        self._seen = seen
        self._is_settled = listing.is_settled
        self._readings = readings
        made = [reading.made for reading in readings.values()]
        self._list_record(seen)
        if len(made) == len(self._applied) and all(new is old for new, old in zip(made, self._applied, strict=True)):
            return
        self._applied = made
        for name in self._tools:
            self.registry.unregister(name)
        for group in self._groups:
            self.registry.unregister_group(group)
        self._tools, self._groups = {}, []
        problems: list[PluginProblem] = []
        if listing.is_cut:
            cause = f"only the first {MAX_FILES:,} files are looked at"
            problems.append(PluginProblem(_WHERE, cause, "remove what is not needed"))
        for each in made:
            problems += [*each.problems, *self._register(each)]
        self._generate_groups()
        self._report(problems)

    def _register(self, made: FileTools) -> Iterable[PluginProblem]:
        for tool in made.tools:
            if tool.language is Language.JAVASCRIPT:
                kind = ToolSourceType.JS_EXTENSION
            else:
                kind = ToolSourceType.TOOL_GROUP if tool.group is not None else ToolSourceType.PLUGIN
            try:
                self.registry.register(tool.tool, ToolSourceInfo(kind, tool.group, USER_PLUGIN))
            except DuplicateToolError:
                source = self.registry.get_source_info(tool.name)
                holder = source.distribution or source.plugin or str(source.type) if source is not None else "another"
                if tool.name in self._tools:
                    holder = self._tools[tool.name].file
                cause = f"{tool.file}: there is a tool {tool.name!r} already, from {holder}; this one is left out"
                yield PluginProblem(_WHERE, cause, "rename the tool in the file, and the file if it holds but one")
            else:
                self._tools[tool.name] = tool
        group = made.group
        if group is not None and any(each.group == group.name and each.name in self._tools for each in made.tools):
            first = self.registry.get_group_definition(group.name)
            if first is None:
                yield from self._other_meanings(group)
                self.registry.register_group(group, USER_PLUGIN)
                self._groups.append(group.name)
            elif first != group:
                cause = (
                    f"{group.name}.json: there is a tool group {group.name!r} already; its description stays, and the "
                    "tools of this file belong to it"
                )
                yield PluginProblem(_WHERE, cause, "rename the file for a group of its own", is_error=False)

    def _other_meanings(self, group: ToolGroupDefinition) -> Iterable[PluginProblem]:
        """Find the permissions that a group explains otherwise than one before it."""
        for permission, meaning in group.permissions.items():
            said = self.registry.get_permission_meaning(permission, USER_PLUGIN)
            if said is not None and said.plugin == USER_PLUGIN and said.text != meaning:
                cause = f"{group.name}.json: {permission!r} is explained already, with other words; those stay"
                yield PluginProblem(_WHERE, cause, "use another permission, or the same words", is_error=False)

    def _generate_groups(self) -> None:
        """Describe the groups that no file describes."""
        for group in dict.fromkeys(each.group for each in self._tools.values() if each.group is not None):
            names = [each.name for each in self._tools.values() if each.group == group]
            if self.registry.register_group(generated_group_definition(group, names)):
                self._groups.append(group)

    def _report(self, problems: Iterable[PluginProblem]) -> None:
        record, known = self._record, self._record.problems
        record.tools, record.groups, record.problems = list(self._tools), list(self._groups), []
        for problem in problems:
            if problem in known:  # it stands in the log
                record.problems.append(problem)
            else:
                record.report(problem.where, problem.cause, problem.remedy, is_error=problem.is_error)

    def _list_record(self, seen: _Seen) -> None:
        """Be among the plugins as long as there are files."""
        self._record.is_disabled = seen.is_disabled
        is_listed = any(each is self._record for each in self._plugins)
        if seen.listing.files and not is_listed:
            self._plugins.append(self._record)
        elif not seen.listing.files and is_listed:
            self._plugins.remove(self._record)


def _taken_meanwhile(change: ToolChange) -> DuplicateError:
    return DuplicateError(f"there is a tool {change.name!r} by now: choose another name")
