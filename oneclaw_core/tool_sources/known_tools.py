"""The last published tools of sources, kept in files of the home, and their listings."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.contract.tool_source import KnownTool, ListingContext, SourceGroup, SourceTool
from oneclaw_core.errors import OneClawError, PluginError, ToolDefinitionError, describe_error
from oneclaw_core.plugins.plugin import PluginProblem, Registration
from oneclaw_core.types.tool_groups import ToolGroupDefinition
from oneclaw_core.types.tools import SelfRunningTool, Tool, ToolDefinition, ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path

    from oneclaw_core.tool_sources.published_tools import PublishedBySource, PublishedTools
    from oneclaw_core.tools.context import ToolContext


_FORMAT = 1
_MAX_BYTES = 64_000_000

_log = logging.getLogger("oneclaw.plugins")


class KnownGroup(NamedTuple):
    """A tool group that a source published when it last ran.

    Attributes:
        definition: its metadata.
        is_open: False if its tools are found when a model loads it.
        origin: where it comes from.
    """

    definition: ToolGroupDefinition
    is_open: bool = True
    origin: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON data."""
        return {**asdict(self.definition), "is_open": self.is_open, "origin": self.origin}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> KnownGroup:
        """Make the group from what :meth:`to_dict` returned."""
        is_open, origin = stored.pop("is_open"), stored.pop("origin")
        return cls(ToolGroupDefinition(**stored), is_open, origin)


class Known(NamedTuple):
    """The tools and groups that a source published when it last ran.

    Attributes:
        tools: all tools.
        groups: the metadata of their groups.
        problem: why its last start failed, ``None`` if it did not.
    """

    tools: tuple[KnownTool, ...] = ()
    groups: tuple[KnownGroup, ...] = ()
    problem: PluginProblem | None = None

    @classmethod
    def of(cls, published: PublishedBySource, problem: PluginProblem | None = None) -> Known:
        """Take what a source has published now."""
        groups = (KnownGroup(each.definition, each.open is None, each.origin) for each in published.wanted_groups)
        return cls(published.known(), tuple(groups), problem)

    def to_json(self) -> bytes:
        """Write it as JSON."""
        problem = self.problem
        document = {
            "format": _FORMAT,
            "tools": [each.to_dict() for each in self.tools],
            "groups": [each.to_dict() for each in self.groups],
            "problem": None if problem is None else {"cause": problem.cause, "remedy": problem.remedy},
        }
        return json.dumps(document, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Known:
        """Read what :meth:`to_json` wrote; nothing is known if another version of OneClaw wrote it."""
        document: Any = json.loads(text)
        if document["format"] != _FORMAT:
            return cls()
        problem = document["problem"]
        return cls(
            tuple(KnownTool.from_dict(each) for each in document["tools"]),
            tuple(map(KnownGroup.from_dict, document["groups"])),
            None if problem is None else PluginProblem(where, problem["cause"], problem["remedy"]),
        )


def read_known(path: Path, where: str) -> Known:
    """Read what is known of a source; nothing if the file is missing or damaged."""
    if not path.exists():
        return Known()
    from oneclaw_core.system.private_files import read_private

    try:
        text = read_private(path, _MAX_BYTES)
        return Known() if text is None else Known.from_json(text, where)
    except (OneClawError, ValueError, LookupError, TypeError, ToolDefinitionError) as error:
        _log.warning("%s cannot be used, its tools are found anew: %s", path, error)
        return Known()


def write_known(path: Path, text: bytes) -> None:
    """Keep what is known of a source; without room for it, its tools are found anew each time."""
    from oneclaw_core.system.private_files import write_private

    try:
        write_private(path, text)
    except OSError as error:
        _log.warning("%s could not be written: %s", path, error)


def publish_known(
    published: PublishedBySource, known: Known, start: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Register the known tools of a source that does not run.

    Args:
        published: the source's tools; afterwards it may have published others.
        known: what it published when it last ran.
        start: starts it; ``None`` in listings, where nothing is called.
    """

    def opener(name: str) -> Callable[[], Awaitable[None]]:
        async def open_group() -> None:
            await _started(start, published)
            found = next((each for each in published.wanted_groups if each.definition.name == name), None)
            if found is not None and found.open is not None:
                await found.open()

        return open_group

    published.publish(
        [SourceTool(StandInTool(each.definition, published, start), each.group, each.origin) for each in known.tools],
        [
            SourceGroup(each.definition, None if each.is_open else opener(each.definition.name), each.origin)
            for each in known.groups
        ],
    )
    published.report([] if known.problem is None else [known.problem])


def known_path(folder: Path, registration: Registration) -> Path:
    """Return the file in which what is known of a source is kept."""
    return folder / f"{registration.plugin}.{registration.name}.json"


class StandInTool(SelfRunningTool):
    """A known tool of a source that does not run; the first call starts the source.

    Args:
        definition: as the source published it.
        published: the source's tools.
        start: starts the source.
    """

    def __init__(
        self, definition: ToolDefinition, published: PublishedBySource, start: Callable[[], Awaitable[None]] | None
    ) -> None:
        self.definition = definition
        self._published = published
        self._start = start

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Start the source and run the tool itself. The time of the start does not count as the tool's."""
        name = self.definition.name
        try:
            with context.paused() if context is not None else nullcontext():
                await _started(self._start, self._published)
        except PluginError as error:
            return ToolResult.error("not_available", f"Tool '{name}' is not available: {error}")
        found = self._published.tools.get(name)
        if found is None or isinstance(found.tool, StandInTool):
            cause = f"{self._published.where} does not have it any more."
            return ToolResult.error("not_available", f"Tool '{name}' is not available: {cause}")
        if _contract(found.tool) != _contract(self):
            # These arguments were checked, and the user was asked, for the tool as it was.
            cause = "it has changed since it was listed. Nothing was done; call it again as it is now."
            return ToolResult.error("not_available", f"Tool '{name}' was not run: {cause}")
        from oneclaw_core.tools.invoke import invoke

        return await invoke(found.tool, arguments, context)


async def _started(start: Callable[[], Awaitable[None]] | None, published: PublishedBySource) -> None:
    if start is None:
        raise PluginError(f"{published.where} cannot be started in a listing")
    await start()


def _contract(tool: Tool) -> tuple[Any, ...]:
    definition = tool.definition
    parameters = json.dumps(definition.parameters, sort_keys=True)
    return parameters, definition.required_permissions, definition.read_only, definition.idempotent


LISTING_SECONDS = 10.0
"""The time limit of a source that lists its current tools."""


def list_sources(
    published: PublishedTools, folder: Path, context: ListingContext, disabled: Collection[str] = ()
) -> None:
    """Register the tools of all sources for a listing, where no plugin runs.

    Args:
        published: their tools.
        folder: where the tools that they published last are kept.
        context: passed to the sources that list their current tools.
        disabled: names of plugins that the user has disabled.
    """
    for registration, source in published.add_all(disabled):
        if "listing" not in registration.options:
            publish_known(source, read_known(known_path(folder, registration), source.where))
        elif not source.record.is_disabled:
            _list_current(registration.options["listing"], context, source)


def _list_current(target: str, context: ListingContext, source: PublishedBySource) -> None:
    """Have a source publish its current tools, in a thread, so that one that hangs costs a few seconds."""
    from oneclaw_core.plugins.isolation import ForeignCall, ForeignError
    from oneclaw_core.plugins.plugin import import_target

    published: list[Callable[[], None]] = []
    # Tools are registered in this thread, and none of them after the time is over.
    source.run = published.append
    fault = ""
    try:
        ForeignCall(lambda: import_target(target)(context, source), source.where, LISTING_SECONDS).wait()
    except TimeoutError:
        fault = f"it did not end within {LISTING_SECONDS:g} s"
    except ForeignError as error:
        fault = describe_error(error.raised)
    source.run = lambda _: None
    for register in tuple(published):
        register()
    if fault:
        remedy = f"disable the plugin with: oneclaw plugins disable {source.record.name}"
        source.report([PluginProblem(source.where, f"listing failed: {fault}", remedy)])
