"""The tools of sources in listings: those published last, or what a source lists at once."""

from __future__ import annotations

import threading
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING

from oneclaw_core.errors import describe_error
from oneclaw_core.plugins.registration.record import PluginProblem
from oneclaw_core.plugins.sources.known_tools import known_path, publish_known, read_known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from oneclaw_core.plugins.contract.tool_source import ListingContext
    from oneclaw_core.plugins.sources.published_tools import PublishedBySource, PublishedTools

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
    published: list[Callable[[], None]] = []
    raised: list[BaseException] = []

    def publish() -> None:
        try:
            module, _, attribute = target.partition(":")
            attrgetter(attribute)(import_module(module))(context, source)
        except BaseException as error:  # noqa: BLE001  # foreign code may raise anything
            raised.append(error)

    # Tools are registered in this thread, and none of them after the time is over.
    source.run = published.append
    thread = threading.Thread(target=publish, name=source.where, daemon=True)
    thread.start()
    thread.join(LISTING_SECONDS)
    source.run = lambda _: None
    fault = f"it did not end within {LISTING_SECONDS:g} s" if thread.is_alive() else ""
    for error in raised:
        fault = describe_error(error)
    for register in tuple(published):
        register()
    if fault:
        remedy = f"disable the plugin with: oneclaw plugins disable {source.record.name}"
        source.report([PluginProblem(source.where, f"listing failed: {fault}", remedy)])
