"""Stored conversations: `oneclaw sessions`."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from oneclaw_core.cli import session_texts as texts
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.options import confirm, yes_option
from oneclaw_core.cli.output import (
    RAW_VARIABLE,
    is_terminal,
    json_option,
    json_text,
    print_json,
    print_listing,
    print_text,
    printable,
    printable_line,
    printable_name,
    warn,
)
from oneclaw_core.cli.running import with_home, with_store
from oneclaw_core.cli.session_texts import session_document, timestamp
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.scripts.journal import script_documents
from oneclaw_core.sessions.conversations import Sessions, StoppedTurn, stop_turn
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime

    from oneclaw_core.app import OneClaw
    from oneclaw_core.sessions.sessions import Session, SessionSummary
    from oneclaw_core.sessions.store import Store

_PAGE_MESSAGES = 500
_TITLE_CHARACTERS = 50
_EXCERPT_CHARACTERS = 200
_DAY = click.DateTime(["%Y-%m-%d"])


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List, search, show, export, rename, branch, stop, delete and prune sessions."""


@sessions.command("list")
@click.option("--limit", type=click.IntRange(min=1, max=2**31), help="At most this many, the most recently used.")
@json_option
def list_sessions(limit: int | None, as_json: bool) -> None:
    """List sessions, the most recently used first."""
    found = with_store(lambda store: store.list_sessions(limit), is_read_only=True)
    documents = (session_document(each) | {"message_count": each.message_count} for each in found)
    rows = (
        (*listed_session(each), each.agent, each.model or "default", each.message_count, timestamp(each.updated_at))
        for each in found
    )
    print_listing(as_json, documents, ("session", "title", "agent", "model", "messages", "last used"), rows)


@sessions.command("search")
@click.argument("query")
@click.option("--from", "since", type=_DAY, metavar="DAY", help="Only from this day on, as YYYY-MM-DD.")
@click.option("--to", "until", type=_DAY, metavar="DAY", help="Only until this day, inclusive.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="At most this many, the best.")
@json_option
def search(query: str, since: datetime | None, until: datetime | None, limit: int, as_json: bool) -> None:
    """Search all sessions for the words of QUERY.

    It searches messages and titles for all words; if nothing has all of them, for any. Case and accents make no
    difference.
    """
    first, last = (None if each is None else each.date() for each in (since, until))
    findings = with_store(
        lambda store: Sessions(store).search(query, since=first, until=last, max_results=limit), is_read_only=True
    )
    if findings.hits and not findings.has_all_words and not as_json:
        warn("nothing has all the words; these have some of them")
    rows = (
        (
            printable_name(hit.passage.session_name or (hit.passage.session_id or "")[:12]),
            timestamp(hit.passage.moment),
            hit.passage.role or "title",
            printable_line(hit.excerpt, _EXCERPT_CHARACTERS),
        )
        for hit in findings.hits
    )
    print_listing(as_json, map(texts.hit_document, findings.hits), ("session", "time", "by", "text"), rows)


@sessions.command("show")
@click.argument("name")
@click.option(
    "--calls", "shows_calls", is_flag=True, help="Show the calls of tools alone, with those that scripts made."
)
@json_option
def show(name: str, shows_calls: bool, as_json: bool) -> None:
    """Show the conversation of a session, by its name or id."""

    async def work(store: Store) -> None:
        session = await find_stored(store, name)
        if shows_calls:
            _print_calls(await texts.calls_of(store, session.id, _messages(store, session)), as_json=as_json)
            return
        if as_json:
            messages = [texts.message_document(each) async for each in _messages(store, session)]
            print_json(session_document(session) | {"messages": messages})
            return
        print_text(f"{printable_name(session.title or session.name or 'Session')} ({session.id})")
        print_text(f"agent {session.agent}, model {session.model or 'default'}\n")
        model: str | None = None
        async for message in _messages(store, session):
            text = texts.compact_text(message, model)
            if text:
                model = message.model or model
                print_text(text)

    with_store(work, is_read_only=True)


@sessions.command("export")
@click.argument("name")
@click.option("--format", "format_name", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True)
@click.option("--output", metavar="FILE", help="Where to write it, readable only by you; by default stdout.")
@click.option("--cassette", metavar="FILE", help="Write the model's answers there instead, for tests to replay.")
def export(name: str, format_name: str, output: str | None, cassette: str | None) -> None:
    """Export the session NAME, with complete results of tools.

    A cassette has the answers of the model and what was said before them, without known secrets. Tests replay it as
    tests/cassettes/NAME.json.
    """
    write = _write_json if format_name == "json" else _write_markdown

    async def work(store: Store) -> None:
        session = await find_stored(store, name)
        if cassette is not None:
            await _write_cassette(store, session, cassette)
        elif output is None or output == "-":
            await write(store, session, partial(click.echo, nl=False), is_file=False)
        else:
            with _new_file(output) as file:
                await write(store, session, file.write, is_file=True)

    with_store(work, is_read_only=True)


@sessions.command("stop")
@click.argument("name")
def stop(name: str) -> None:
    """Stop the turn of the session NAME.

    The turn may run in any process. Unfinished calls are answered as interrupted, and the session can continue. The
    exit status is 1 if no turn is running.
    """

    async def work(store: Store) -> tuple[Session, StoppedTurn]:
        session = await find_stored(store, name)
        return session, await stop_turn(store, session)

    session, stopped = with_store(work)
    shown = printable_line(stopped.message, _TITLE_CHARACTERS)
    print_text(f"stopped the turn of session {printable_name(session.name or session.id)}: {shown}")
    if stopped.interrupted:
        print_text(f"interrupted calls: {', '.join(map(printable_name, stopped.interrupted))}")


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


@sessions.command("delete")
@click.argument("name")
@yes_option
def delete(name: str, is_confirmed: bool) -> None:
    """Delete the session NAME with all its messages."""

    async def find(store: Store) -> tuple[Session, int]:
        session = await find_stored(store, name)
        return session, await store.count_messages(session.id)

    session, count = with_store(find)
    shown = printable_name(session.name or session.id)
    if not is_confirmed:
        confirm("delete", f"session {shown!r}", f"Delete session {shown} with its {count} messages?")
    with_home(lambda claw: claw.delete_session(session.id))
    print_text(f"session {shown} is deleted")


def listed_session(session: SessionSummary) -> tuple[str, str]:
    """Return the name and the title of a session, as listings show them."""
    title = printable_line(session.title or session.last_text, _TITLE_CHARACTERS)
    return printable_name(session.name or session.id[:12]), title


def _print_calls(calls: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print the calls of a session, each in a line, with those of scripts below."""
    if as_json:
        print_json(calls)
        return
    for call in calls:
        print_text(texts.call_text(call))
        for each in call["calls"]:
            print_text(f"    {each['number']}. {texts.call_text(each)}")


async def find_stored(store: Store, name: str) -> Session:
    """Find a session by its name or id."""
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


async def _write_cassette(store: Store, session: Session, name: str) -> None:
    from oneclaw_core.cassettes.cassette import entries_of_session, write_cassette
    from oneclaw_core.config.keys import known_secret_check
    from oneclaw_core.system.home import find_home

    if (await store.load_turn(session.id, 1)).summary is not None:
        raise UsageError("the session was compacted, so what its model was sent is not stored as it was: no cassette")
    known_secret_check(find_home())("")  # reads the stored secrets, which are left out then
    entries = entries_of_session([message async for message in _messages(store, session)])
    write_cassette(Path(name), "conversation", entries)
    print_text(f"wrote {len(entries)} answers to {printable_name(name)}")


async def _write_json(store: Store, session: Session, write: Callable[[str], object], *, is_file: bool) -> None:
    # A file is UTF-8; what stdout leads to is not known, and ASCII holds everything.
    as_text = partial(json_text, ensure_ascii=not is_file)
    head = as_text(session_document(session), indent=2)
    write(head.removesuffix("\n}") + ',\n  "messages": [')
    separator = "\n"
    async for message in _messages(store, session):
        write(f"{separator}    {as_text(texts.message_document(message))}")
        separator = ",\n"
    write("\n  ]")
    if scripts := await store.script_calls(session.id):
        write(',\n  "scripts": ' + as_text(script_documents(scripts), indent=2))
    write("\n}\n")


async def _write_markdown(store: Store, session: Session, write: Callable[[str], object], *, is_file: bool) -> None:
    is_raw = os.environ.get(RAW_VARIABLE) and (is_file or not is_terminal(sys.stdout))
    shown: Callable[[str], str] = str if is_raw else printable
    write(shown(texts.markdown_head(session)))
    async for message in _messages(store, session):
        write(shown(texts.markdown_entry(message)))


@contextmanager
def _new_file(name: str) -> Iterator[IO[str]]:
    """Open a file that only its owner can read; one that is there is replaced, and closed to others first."""
    try:
        # Path.open knows no opener.
        with open(name, "w", encoding="utf-8", errors="backslashreplace", newline="\n", opener=_private) as file:
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
