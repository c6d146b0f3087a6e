"""Change stored conversations: `oneclaw sessions rename`, `branch` and `prune`, added to the other commands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.confirming import confirm, yes_option
from oneclaw_core.cli.output import (
    json_option,
    print_json,
    print_table,
    print_text,
    printable_line,
    printable_name,
    warn,
)
from oneclaw_core.cli.running import with_home, with_store
from oneclaw_core.cli.sessions import find_stored, session_document, sessions, timestamp
from oneclaw_core.errors import SessionBusyError, UsageError
from oneclaw_core.types.messages import MessageType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.app import OneClaw
    from oneclaw_core.sessions.sessions import Session, SessionSummary
    from oneclaw_core.sessions.store import Store

_TITLE_CHARACTERS = 50


@sessions.command("rename")
@click.argument("name")
@click.argument("new_name")
def rename(name: str, new_name: str) -> None:
    """Give the session NAME the name NEW_NAME."""

    async def work(store: Store) -> None:
        await store.rename_session((await find_stored(store, name)).id, new_name)

    with_store(work)
    print_text(f"session {printable_name(name)} is called {printable_name(new_name)} now")


@sessions.command("branch")
@click.argument("name")
@click.argument("new_name", required=False)
@click.option("--to", type=click.IntRange(min=2), metavar="N", help="Copy only what is before your message N.")
@json_option
def branch(name: str, new_name: str | None, to: int | None, as_json: bool) -> None:
    """Copy the session NAME into a new one.

    NEW_NAME is the name of the new one. Files stay as they are: `oneclaw undo` takes their changes back.
    """
    made = with_home(lambda claw: _branch(claw, name, new_name, to))
    if as_json:
        print_json(session_document(made))
        return
    shown = printable_name(made.name or made.id[:12])
    print_text(f"session {shown} goes on from there: oneclaw chat --session '{shown}'")


async def _branch(claw: OneClaw, name: str, new_name: str | None, to: int | None) -> Session:
    found = await find_stored(claw.store, name)
    before = None
    if to is not None:
        history = await claw.store.messages(found.id)
        own = [each.sequence for each in history if each.type is MessageType.USER]
        if to > len(own):
            raise UsageError(f"there is no message {to}: the session has messages 1 to {len(own)}")
        before = own[to - 1]
    return await claw.branch_session(found.id, new_name, before=before)


@sessions.command("prune")
@click.option(
    "--older-than", type=click.IntRange(min=0), metavar="DAYS", help="Delete sessions not used for this many days."
)
@click.option("--keep", type=click.IntRange(min=0), metavar="NUMBER", help="Keep this many, the most recently used.")
@click.option("--named", "has_named", is_flag=True, help="Also delete sessions with a name.")
@yes_option
@json_option
def prune(older_than: int | None, keep: int | None, has_named: bool, is_confirmed: bool, as_json: bool) -> None:
    """Delete old sessions, after listing them.

    With both --older-than and --keep, a session must be old and not among those that are kept. Sessions with a name
    stay, unless --named is given.
    """
    if older_than is None and keep is None:
        raise click.UsageError("give --older-than DAYS, --keep NUMBER, or both")
    found = [each for each in with_store(lambda store: store.list_sessions(), is_read_only=True) if not each.parent_id]
    chosen = [each for each in found[keep or 0 :] if has_named or each.name is None]
    if older_than is not None:
        limit = datetime.now(UTC) - timedelta(days=older_than)
        chosen = [each for each in chosen if each.updated_at < limit]
    if chosen and not as_json:
        _list(chosen)
    if chosen and not is_confirmed:
        confirm("delete", f"{len(chosen)} sessions", f"Delete these {len(chosen)} sessions?")
    deleted = with_home(lambda claw: _delete(claw, chosen)) if chosen else []
    if as_json:
        print_json([session_document(each) for each in deleted])
    else:
        print_text(f"{len(deleted)} session{'' if len(deleted) == 1 else 's'} deleted")


def _list(chosen: Sequence[SessionSummary]) -> None:
    print_table(
        ("session", "title", "messages", "last used"),
        [
            (
                printable_name(each.name or each.id[:12]),
                printable_line(each.title or each.last_text, _TITLE_CHARACTERS),
                each.message_count,
                timestamp(each.updated_at),
            )
            for each in chosen
        ],
    )


async def _delete(claw: OneClaw, chosen: Sequence[SessionSummary]) -> list[Session]:
    deleted: list[Session] = []
    for each in chosen:
        try:
            await claw.delete_session(each.id)
        except SessionBusyError as error:
            warn(str(error))
        else:
            deleted.append(each)
    await claw.plugins.drain(2.0)
    return deleted
