"""Stored conversations: `oneclaw sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.options import confirm, yes_option
from oneclaw_core.cli.output import (
    document_of,
    json_option,
    print_json,
    print_listing,
    print_text,
    printable_line,
    printable_name,
)
from oneclaw_core.cli.running import with_home, with_store
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.scripts.journal import script_documents, shown_text
from oneclaw_core.sessions.conversations import StoppedTurn, stop_turn
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.tool_groups import one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator
    from datetime import datetime

    from oneclaw_core.app import OneClaw
    from oneclaw_core.sessions.sessions import Session, SessionSummary
    from oneclaw_core.sessions.store import Store

_PAGE_MESSAGES = 500
_TITLE_CHARACTERS = 50
_COMPACT_CHARACTERS = 200
_CALL_CHARACTERS = 100
_MESSAGE_FIELDS = (
    *("sequence", "type", "created_at", "content", "model", "is_incomplete", "not_sent", "is_of_output"),
    *("tool_call_id", "tool_name", "tool_input", "tool_status", "error_type", "duration_ms"),
)
_NOT_SENT = "not sent"


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
            _print_calls(await _calls_of(store, session.id, stored_messages(store, session)), as_json=as_json)
            return
        if as_json:
            messages = [message_document(each) async for each in stored_messages(store, session)]
            print_json(session_document(session) | {"messages": messages})
            return
        print_text(f"{printable_name(session.title or session.name or 'Session')} ({session.id})")
        print_text(f"agent {session.agent}, model {session.model or 'default'}\n")
        model: str | None = None
        async for message in stored_messages(store, session):
            text = _compact_text(message, model)
            if text:
                model = message.model or model
                print_text(text)

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
        print_text(_call_text(call))
        for each in call["calls"]:
            print_text(f"    {each['number']}. {_call_text(each)}")


async def find_stored(store: Store, name: str) -> Session:
    """Find a session by its name or id."""
    session = await store.find_session(name)
    if session is None:
        raise NotFoundError(f"there is no session {name!r}; list them with: oneclaw sessions list")
    return session


async def stored_messages(store: Store, session: Session) -> AsyncIterator[Message]:
    """Read a history page by page, however long it is."""
    after = 0
    while page := await store.messages(session.id, after, _PAGE_MESSAGES):
        for message in page:
            yield message
        after = page[-1].sequence or 0


def timestamp(moment: datetime | None) -> str | None:
    """Format a point in time as ISO 8601 in UTC, such as ``2026-11-21T08:30:00Z``."""
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def session_document(session: Session) -> dict[str, Any]:
    """Describe a session for JSON."""
    return {
        **document_of(session, "id", "name", "title", "agent", "model"),
        "created_at": timestamp(session.created_at),
        "updated_at": timestamp(session.updated_at),
        "parent_id": session.parent_id,
    }


def message_document(message: Message) -> dict[str, Any]:
    """Describe a history entry for JSON, texts and results whole, without fields that do not apply to its type.

    Data that a wire format wants back verbatim is of no use elsewhere and left out as well.
    """
    document = document_of(message, *_MESSAGE_FIELDS) | {"created_at": timestamp(message.created_at)}
    return {key: value for key, value in document.items() if value is not None and value is not False}


def _compact_text(message: Message, model: str | None = None) -> str:
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
            return f"{message_speaker('You', message, None)}: {message.content}\n"
        case MessageType.ASSISTANT:
            named = printable_name(message.model) if message.model and message.model != model else None
            return f"{message_speaker('OneClaw', message, named)}: {message.content}\n" if message.content else ""
        case MessageType.TOOL_CALL:
            return f"  -> {message.tool_name} {one_line(message.tool_input or '', _COMPACT_CHARACTERS)}"
        case MessageType.TOOL_RESULT:
            return f"  <- {message_outcome(message)}: {one_line(message.content, _COMPACT_CHARACTERS)}"


def message_speaker(name: str, message: Message, model: str | None) -> str:
    """Return the name of who speaks, with the model and the state of the message."""
    states = ("broken off" if message.is_incomplete else None, _NOT_SENT if message.not_sent is not None else None)
    notes = [each for each in (model, *states) if each]
    return f"{name} ({', '.join(notes)})" if notes else name


def message_outcome(message: Message) -> str:
    """Return the outcome of a call, with its duration."""
    words = [message.error_type or str(message.tool_status or "")]
    if message.duration_ms is not None:
        words.append(f"{message.duration_ms:.0f} ms")
    if message.not_sent is not None:
        words.append(_NOT_SENT)
    return ", ".join(words)


async def _calls_of(store: Store, session_id: str, messages: AsyncIterable[Message]) -> list[dict[str, Any]]:
    """Return the calls of a session in their order, each with the calls of the script that it ran.

    Args:
        store: of the session.
        session_id: of the session.
        messages: of the session.
    """
    inner: dict[str, list[dict[str, Any]]] = {}
    for script in script_documents(await store.script_calls(session_id)):
        inner[script["call"]] = script["calls"]
    calls: dict[str, dict[str, Any]] = {}
    async for message in messages:
        call_id = message.tool_call_id or ""
        if message.type is MessageType.TOOL_CALL:
            calls[call_id] = {
                "id": call_id,
                "tool": message.tool_name,
                "arguments": shown_text(message.tool_input or ""),
                "status": str(message.tool_status),
                "calls": inner.get(call_id, []),
            }
        elif message.type is MessageType.TOOL_RESULT and call_id in calls:
            calls[call_id] |= {
                "status": str(message.tool_status),
                "error_type": message.error_type,
                "result": shown_text(message.content),
                "duration_ms": message.duration_ms,
            }
    return list(calls.values())


def _call_text(call: dict[str, Any]) -> str:
    """Write a call of :func:`_calls_of`, or one of its script, on a line."""
    called = f"{printable_line(call['tool'] or '')} {printable_line(call['arguments'], _CALL_CHARACTERS)}"
    outcome = call["status"] if call.get("error_type") is None else call["error_type"]
    duration = "" if call.get("duration_ms") is None else f", {call['duration_ms']:.0f} ms"
    return f"{called}: {outcome}{duration}"
