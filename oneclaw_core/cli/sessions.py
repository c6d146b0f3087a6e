"""`oneclaw sessions`: the conversations that are stored."""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.event_loop import run_async
from oneclaw_core.cli.output import (
    is_terminal,
    json_option,
    print_json,
    print_table,
    print_text,
    printable,
    printable_line,
    printable_name,
    warn,
)
from oneclaw_core.cli.stored import with_store
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime

    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.types.messages import Message

_PAGE_MESSAGES = 500
_TITLE_CHARACTERS = 50
_EXCERPT_CHARACTERS = 200
_DAY = click.DateTime(["%Y-%m-%d"])


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List, search, show, export and delete sessions."""


@sessions.command("list")
@click.option("--limit", type=click.IntRange(min=1, max=2**31), help="Only this many, those used last.")
@json_option
def list_sessions(limit: int | None, as_json: bool) -> None:
    """List sessions, the one used last first."""
    from oneclaw_core.cli.transcript import session_document, timestamp

    found = with_store(lambda store: store.list_sessions(limit))
    if as_json:
        print_json([session_document(each) | {"message_count": each.message_count} for each in found])
        return
    rows = [
        (
            printable_name(each.name or each.id[:12]),
            printable_line(each.title or each.last_text, _TITLE_CHARACTERS),
            each.agent,
            each.model or "default",
            each.message_count,
            timestamp(each.updated_at),
        )
        for each in found
    ]
    print_table(("session", "title", "agent", "model", "messages", "last used"), rows)


@sessions.command("search")
@click.argument("query")
@click.option("--from", "since", type=_DAY, metavar="DAY", help="Only from this day on, as YYYY-MM-DD.")
@click.option("--to", "until", type=_DAY, metavar="DAY", help="Only until this day, itself included.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="Only this many, the best.")
@json_option
def search(query: str, since: datetime | None, until: datetime | None, limit: int, as_json: bool) -> None:
    """Search all sessions for the words of QUERY.

    What was said and the titles are searched. All words are looked for; if nothing has all of them, any. Case and
    accents make no difference.
    """
    from oneclaw_core.cli.transcript import hit_document, timestamp
    from oneclaw_core.turn.conversations import SessionQuery, search_sessions

    first, last = (None if each is None else each.date() for each in (since, until))
    wanted = SessionQuery(query, first, last, limit)
    findings = with_store(lambda store: search_sessions(store, wanted))
    if as_json:
        print_json([hit_document(hit) for hit in findings.hits])
        return
    if findings.hits and not findings.has_all_words:
        warn("nothing has all the words; these have some of them")
    rows = []
    for hit in findings.hits:
        passage = hit.passage
        session = printable_name(passage.session_name or (passage.session_id or "")[:12])
        excerpt = printable_line(hit.excerpt, _EXCERPT_CHARACTERS)
        rows.append((session, timestamp(passage.moment), passage.role or "title", excerpt))
    print_table(("session", "time", "by", "text"), rows)


@sessions.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show the conversation of a session, by its name or id."""
    from oneclaw_core.cli.transcript import compact_text, message_document, session_document

    async def work(store: Store) -> None:
        session = await _find(store, name)
        if as_json:
            messages = [message_document(each) async for each in _messages(store, session)]
            print_json(session_document(session) | {"messages": messages})
            return
        print_text(f"{printable_name(session.title or session.name or 'Session')} ({session.id})")
        print_text(f"agent {session.agent}, model {session.model or 'default'}\n")
        async for message in _messages(store, session):
            text = compact_text(message)
            if text:
                print_text(text)

    with_store(work)


@sessions.command("export")
@click.argument("name")
@click.option("--format", "format_name", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True)
@click.option("--output", metavar="FILE", help="Where to write it, readable by you alone; by default stdout.")
def export(name: str, format_name: str, output: str | None) -> None:
    """Write the session NAME down, with the results of tools whole."""

    async def work(store: Store) -> None:
        session = await _find(store, name)
        if output is None or output == "-":
            await _write(store, session, format_name, _write_to_stdout, is_file=False)
        else:
            with _new_file(output) as file:
                await _write(store, session, format_name, file.write, is_file=True)

    with_store(work)


@sessions.command("delete")
@click.argument("name")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
def delete(name: str, is_confirmed: bool) -> None:
    """Delete the session NAME with all its messages."""

    async def find(store: Store) -> tuple[Session, int]:
        session = await _find(store, name)
        return session, await store.count_messages(session.id)

    async def remove(name: str) -> None:
        from oneclaw_core.app import OneClaw

        async with OneClaw.open() as claw:
            await claw.delete_session(name)

    session, count = with_store(find)
    shown = printable_name(session.name or session.id)
    if not is_confirmed:
        if not is_terminal(sys.stdin):
            raise UsageError(f"nobody can be asked here whether to delete session {shown!r}: add --yes")
        if not click.confirm(f"Delete session {shown} with its {count} messages?", err=True):
            raise OneClawError("nothing was deleted")
    run_async(remove(session.id))
    print_text(f"session {shown} is deleted")


async def _find(store: Store, name: str) -> Session:
    session = await store.find_session(name)
    if session is None:
        raise NotFoundError(f"there is no session {name!r}; list them with: oneclaw sessions list")
    return session


async def _messages(store: Store, session: Session) -> AsyncIterator[Message]:
    """Read a history page by page, however long it is."""
    after = 0
    while page := await store.messages(session.id, after, _PAGE_MESSAGES):
        for message in page:
            yield message
        after = page[-1].sequence or 0


async def _write(
    store: Store, session: Session, format_name: str, write: Callable[[str], object], *, is_file: bool
) -> None:
    if format_name == "json":
        # A file is UTF-8; what stdout leads to is not known, and ASCII holds everything.
        await _write_json(store, session, write, ensure_ascii=not is_file)
    else:
        await _write_markdown(store, session, write)


async def _write_json(store: Store, session: Session, write: Callable[[str], object], *, ensure_ascii: bool) -> None:
    from oneclaw_core.cli.transcript import message_document, session_document

    head = json.dumps(session_document(session), indent=2, ensure_ascii=ensure_ascii)
    write(head.removesuffix("\n}") + ',\n  "messages": [')
    separator = "\n"
    async for message in _messages(store, session):
        write(f"{separator}    {json.dumps(message_document(message), ensure_ascii=ensure_ascii)}")
        separator = ",\n"
    write("\n  ]\n}\n")


async def _write_markdown(store: Store, session: Session, write: Callable[[str], object]) -> None:
    from oneclaw_core.cli.transcript import markdown_entry, markdown_head

    write(markdown_head(session))
    async for message in _messages(store, session):
        write(markdown_entry(message))


def _write_to_stdout(text: str) -> None:
    click.echo(printable(text) if is_terminal(sys.stdout) else text, nl=False)


@contextmanager
def _new_file(name: str) -> Iterator[IO[str]]:
    """Open a file that only its owner can read; one that is there is replaced, and closed to others first.

    Raises:
        OneClawError: it cannot be written.
    """
    try:
        with open(  # Path.open knows no opener
            name, "w", encoding="utf-8", errors="backslashreplace", newline="\n", opener=_private
        ) as file:
            yield file
    except OSError as error:
        raise OneClawError(f"{name} cannot be written: {error.strerror or error}") from None


def _private(path: str, flags: int) -> int:
    # Emptied last, so that a file that cannot be closed to others is left as it is.
    descriptor = os.open(path, flags & ~os.O_TRUNC, 0o600)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
