"""Sub-agents and commands in the background: `oneclaw background`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import find_home
from oneclaw_core.cli import json_option, print_listing, print_text, printable_line, with_store
from oneclaw_core.sessions import Background, BackgroundWork

if TYPE_CHECKING:
    from oneclaw_core.sessions import Store

_TITLE_CHARACTERS = 60


@click.group()
def background() -> None:
    """List and stop sub-agents and commands in the background."""


@background.command("list")
@json_option
def list_background(as_json: bool) -> None:
    """List what runs in the background, in any process.

    Ended work is listed until its conversation has been told.
    """

    async def work(store: Store) -> list[BackgroundWork]:
        return await Background(store, find_home().locks).all_work()

    found = with_store(work, is_read_only=True)
    rows = [
        (
            printable_line(each.id),
            printable_line(each.kind),
            printable_line(f"{each.state}, {each.outcome}" if each.outcome else each.state),
            _began(each).strftime("%Y-%m-%dT%H:%M:%SZ"),
            printable_line(each.title, _TITLE_CHARACTERS),
        )
        for each in found
    ]
    print_listing(as_json, map(_document, found), ("id", "kind", "state", "began", "title"), rows)


@background.command("stop")
@click.argument("work_id", metavar="ID")
def stop(work_id: str) -> None:
    """Stop the sub-agent or command ID, in any process."""

    async def work(store: Store) -> BackgroundWork:
        return await Background(store, find_home().locks).stop(work_id)

    stopped = with_store(work)
    print_text(f"stopped {printable_line(stopped.kind)} {printable_line(stopped.id)}")


def _began(work: BackgroundWork) -> datetime:
    return datetime.fromtimestamp(work.began_at, UTC)


def _document(work: BackgroundWork) -> dict[str, Any]:
    document = asdict(work)
    del document["process"]
    return document | {"began_at": _began(work).isoformat()}
