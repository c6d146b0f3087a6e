"""Stored conversations: `oneclaw sessions`."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.confirming import confirm, yes_option
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
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.types.messages import MessageType
from oneclaw_core.types.tool_groups import one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime

    from oneclaw_core.search.ranking import Hit
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.types.messages import Message

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
        (
            printable_name(each.name or each.id[:12]),
            printable_line(each.title or each.last_text, _TITLE_CHARACTERS),
            each.agent,
            each.model or "default",
            each.message_count,
            timestamp(each.updated_at),
        )
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
    from oneclaw_core.sessions.for_plugins import Sessions

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
    print_listing(as_json, map(hit_document, findings.hits), ("session", "time", "by", "text"), rows)


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
            from oneclaw_core.cli.session_calls import calls_of, print_calls

            print_calls(await calls_of(store, session.id, _messages(store, session)), as_json=as_json)
            return
        if as_json:
            messages = [message_document(each) async for each in _messages(store, session)]
            print_json(session_document(session) | {"messages": messages})
            return
        print_text(f"{printable_name(session.title or session.name or 'Session')} ({session.id})")
        print_text(f"agent {session.agent}, model {session.model or 'default'}\n")
        model: str | None = None
        async for message in _messages(store, session):
            text = compact_text(message, model)
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

    async def work(store: Store) -> None:
        session = await find_stored(store, name)
        if cassette is not None:
            await _write_cassette(store, session, cassette)
        elif output is None or output == "-":
            await _write(store, session, format_name, partial(click.echo, nl=False), is_file=False)
        else:
            with _new_file(output) as file:
                await _write(store, session, format_name, file.write, is_file=True)

    with_store(work, is_read_only=True)


@sessions.command("stop")
@click.argument("name")
def stop(name: str) -> None:
    """Stop the turn of the session NAME.

    The turn may run in any process. Unfinished calls are answered as interrupted, and the session can continue. The
    exit status is 1 if no turn is running.
    """
    from oneclaw_core.sessions.for_plugins import StoppedTurn, stop_turn

    async def work(store: Store) -> tuple[Session, StoppedTurn]:
        session = await find_stored(store, name)
        return session, await stop_turn(store, session)

    session, stopped = with_store(work)
    print_text(
        f"stopped the turn of session {printable_name(session.name or session.id)}: "
        f"{printable_line(stopped.message, _TITLE_CHARACTERS)}"
    )
    if stopped.interrupted:
        print_text(f"interrupted calls: {', '.join(map(printable_name, stopped.interrupted))}")


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


async def _write(
    store: Store, session: Session, format_name: str, write: Callable[[str], object], *, is_file: bool
) -> None:
    if format_name == "json":
        # A file is UTF-8; what stdout leads to is not known, and ASCII holds everything.
        await _write_json(store, session, write, ensure_ascii=not is_file)
    else:
        await _write_markdown(store, session, write, is_file=is_file)


async def _write_cassette(store: Store, session: Session, name: str) -> None:
    from oneclaw_core.cassettes.cassette_file import write_cassette
    from oneclaw_core.cassettes.stored_session import entries_of_session
    from oneclaw_core.config.keys import known_secret_check
    from oneclaw_core.system.home import find_home

    if (await store.load_turn(session.id, 1)).summary is not None:
        raise UsageError("the session was compacted, so what its model was sent is not stored as it was: no cassette")
    known_secret_check(find_home())("")  # reads the stored secrets, which are left out then
    entries = entries_of_session([message async for message in _messages(store, session)])
    write_cassette(Path(name), "conversation", entries)
    print_text(f"wrote {len(entries)} answers to {printable_name(name)}")


async def _write_json(store: Store, session: Session, write: Callable[[str], object], *, ensure_ascii: bool) -> None:

    head = json_text(session_document(session), indent=2, ensure_ascii=ensure_ascii)
    write(head.removesuffix("\n}") + ',\n  "messages": [')
    separator = "\n"
    async for message in _messages(store, session):
        write(f"{separator}    {json_text(message_document(message), ensure_ascii=ensure_ascii)}")
        separator = ",\n"
    write("\n  ]")
    if scripts := await store.script_calls(session.id):
        from oneclaw_core.scripts.journal import script_documents

        write(',\n  "scripts": ' + json_text(script_documents(scripts), indent=2, ensure_ascii=ensure_ascii))
    write("\n}\n")


async def _write_markdown(store: Store, session: Session, write: Callable[[str], object], *, is_file: bool) -> None:
    is_raw = os.environ.get(RAW_VARIABLE) and (is_file or not is_terminal(sys.stdout))
    shown: Callable[[str], str] = str if is_raw else printable
    write(shown(markdown_head(session)))
    async for message in _messages(store, session):
        write(shown(markdown_entry(message)))


@contextmanager
def _new_file(name: str) -> Iterator[IO[str]]:
    """Open a file that only its owner can read; one that is there is replaced, and closed to others first."""
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


_COMPACT_CHARACTERS = 200
NOT_SENT = "not sent"


def timestamp(moment: datetime | None) -> str | None:
    """Format a point in time as ISO 8601 in UTC, such as ``2026-11-21T08:30:00Z``."""
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def session_document(session: Session) -> dict[str, Any]:
    """Describe a session for JSON."""
    return {
        "id": session.id,
        "name": session.name,
        "title": session.title,
        "agent": session.agent,
        "model": session.model,
        "created_at": timestamp(session.created_at),
        "updated_at": timestamp(session.updated_at),
        "parent_id": session.parent_id,
    }


def message_document(message: Message) -> dict[str, Any]:
    """Describe a history entry for JSON, texts and results whole, without fields that do not apply to its type.

    Data that a wire format wants back verbatim is of no use elsewhere and left out as well.
    """
    document = {
        "sequence": message.sequence,
        "type": str(message.type),
        "created_at": timestamp(message.created_at),
        "content": message.content,
        "model": message.model,
        "is_incomplete": True if message.is_incomplete else None,
        "not_sent": message.not_sent,
        "is_of_output": True if message.is_of_output else None,
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "tool_input": message.tool_input,
        "tool_status": None if message.tool_status is None else str(message.tool_status),
        "error_type": message.error_type,
        "duration_ms": message.duration_ms,
    }
    return {key: value for key, value in document.items() if value is not None}


def hit_document(hit: Hit) -> dict[str, Any]:
    """Describe a search hit for JSON; fields that do not apply are null."""
    passage = hit.passage
    return {
        "source": str(passage.source),
        "session": passage.session_id,
        "session_name": passage.session_name,
        "session_title": passage.session_title,
        "sequence": passage.sequence,
        "role": passage.role,
        "created_at": timestamp(passage.moment),
        "score": round(hit.score, 4),
        "text": hit.excerpt,
    }


def compact_text(message: Message, model: str | None = None) -> str:
    """Format an entry for a terminal: messages in full, calls and results on a line each.

    Args:
        message: the entry.
        model: the model of the answer before; another one is named.

    Returns:
        The text; empty for what is not shown.
    """
    if message.is_of_output:
        return ""
    match message.type:
        case MessageType.USER:
            return f"{_speaker('You', message, None)}: {message.content}\n"
        case MessageType.ASSISTANT:
            named = printable_name(message.model) if message.model and message.model != model else None
            return f"{_speaker('OneClaw', message, named)}: {message.content}\n" if message.content else ""
        case MessageType.TOOL_CALL:
            return f"  -> {message.tool_name} {one_line(message.tool_input or '', _COMPACT_CHARACTERS)}"
        case MessageType.TOOL_RESULT:
            return f"  <- {_outcome(message)}: {one_line(message.content, _COMPACT_CHARACTERS)}"


def markdown_head(session: Session) -> str:
    """Return the head of a Markdown export."""
    facts = {
        "Session": f"{session.name} ({session.id})" if session.name else session.id,
        "Agent": session.agent,
        "Model": session.model or "default",
        "Begun": timestamp(session.created_at),
        "Last used": timestamp(session.updated_at),
    }
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    title = one_line(session.title or session.name or session.id)
    return f"# {title}\n\n" + "\n".join(lines) + "\n"


def markdown_entry(message: Message) -> str:
    """Format an entry as Markdown, with results whole; empty for what is not shown."""
    if message.is_of_output:
        return ""
    match message.type:
        case MessageType.USER:
            return f"\n## {_speaker('User', message, None)}\n\n{message.content}\n"
        case MessageType.ASSISTANT:
            speaker = _speaker("Assistant", message, message.model)
            return f"\n## {speaker}\n\n{message.content}\n" if message.content else ""
        case MessageType.TOOL_CALL:
            return f"\n### Call of `{message.tool_name}`\n\n{_fenced(message.tool_input or '', 'json')}"
        case MessageType.TOOL_RESULT:
            return f"\n### Result of `{message.tool_name}` ({_outcome(message)})\n\n{_fenced(message.content)}"


def _speaker(name: str, message: Message, model: str | None) -> str:
    states = ("broken off" if message.is_incomplete else None, NOT_SENT if message.not_sent is not None else None)
    notes = [each for each in (model, *states) if each]
    return f"{name} ({', '.join(notes)})" if notes else name


def _outcome(message: Message) -> str:
    words = [message.error_type or str(message.tool_status or "")]
    if message.duration_ms is not None:
        words.append(f"{message.duration_ms:.0f} ms")
    if message.not_sent is not None:
        words.append(NOT_SENT)
    return ", ".join(words)


def _fenced(text: str, language: str = "") -> str:
    # CommonMark: a fence is closed by one at least as long, so it must be longer than any in the text.
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"
