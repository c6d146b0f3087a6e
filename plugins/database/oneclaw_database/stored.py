"""Remove what is stored: `oneclaw sessions prune` and `oneclaw plugins forget`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from oneclaw_core import NotFoundError, SessionBusyError
from oneclaw_core.cli import (
    confirm,
    json_option,
    listed_session,
    print_json,
    print_table,
    print_text,
    session_document,
    timestamp,
    warn,
    with_home,
    with_store,
    yes_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import OneClaw
    from oneclaw_core.sessions import SessionSummary


@click.command("prune")
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
        rows = [(*listed_session(each), each.message_count, timestamp(each.updated_at)) for each in chosen]
        print_table(("session", "title", "messages", "last used"), rows)
    if chosen and not is_confirmed:
        confirm("delete", f"{len(chosen)} sessions", f"Delete these {len(chosen)} sessions?")
    deleted = with_home(lambda claw: _delete(claw, chosen)) if chosen else []
    if as_json:
        print_json([session_document(each) for each in deleted])
    else:
        print_text(f"{len(deleted)} session{'' if len(deleted) == 1 else 's'} deleted")


async def _delete(claw: OneClaw, chosen: Sequence[SessionSummary]) -> list[SessionSummary]:
    deleted: list[SessionSummary] = []
    for each in chosen:
        try:
            await claw.delete_session(each.id)
        except SessionBusyError as error:
            warn(str(error))
        else:
            deleted.append(each)
    await claw.plugins.drain(2.0)
    return deleted


@click.command("forget")
@click.argument("name")
@yes_option
def forget(name: str, is_confirmed: bool) -> None:
    """Remove a plugin's values and tables from the database.

    The plugin itself stays installed, and starts from scratch. The files in its folder of the home stay.
    """
    found = with_store(lambda store: store.plugin_content(name))
    if not found.values and not found.tables:
        raise NotFoundError(f"plugin {name!r} has stored nothing in the database")
    shown = ", ".join(
        f"{count} {noun if count == 1 else noun + 's'}"
        for count, noun in ((found.values, "value"), (len(found.tables), "table"))
        if count
    )
    if not is_confirmed:
        confirm("remove", f"what plugin {name!r} has stored", f"Remove what plugin {name} has stored ({shown})?")
    with_store(lambda store: store.forget_plugin(name))
    print_text(f"what plugin {name} had stored is removed: {shown}")
