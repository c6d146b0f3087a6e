"""Stored conversations as texts and JSON documents, for `oneclaw sessions`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.cli.output import document_of, printable_line, printable_name
from oneclaw_core.scripts.journal import script_documents, shown_text
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.tool_groups import one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterable
    from datetime import datetime

    from oneclaw_core.search.ranking import Hit
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store

_COMPACT_CHARACTERS = 200
_CALL_CHARACTERS = 100
_MESSAGE_FIELDS = (
    *("sequence", "type", "created_at", "content", "model", "is_incomplete", "not_sent", "is_of_output"),
    *("tool_call_id", "tool_name", "tool_input", "tool_status", "error_type", "duration_ms"),
)
_NOT_SENT = "not sent"


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
    states = ("broken off" if message.is_incomplete else None, _NOT_SENT if message.not_sent is not None else None)
    notes = [each for each in (model, *states) if each]
    return f"{name} ({', '.join(notes)})" if notes else name


def _outcome(message: Message) -> str:
    words = [message.error_type or str(message.tool_status or "")]
    if message.duration_ms is not None:
        words.append(f"{message.duration_ms:.0f} ms")
    if message.not_sent is not None:
        words.append(_NOT_SENT)
    return ", ".join(words)


def _fenced(text: str, language: str = "") -> str:
    # CommonMark: a fence is closed by one at least as long, so it must be longer than any in the text.
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


async def calls_of(store: Store, session_id: str, messages: AsyncIterable[Message]) -> list[dict[str, Any]]:
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


def call_text(call: dict[str, Any]) -> str:
    """Write a call of :func:`calls_of`, or one of its script, on a line."""
    called = f"{printable_line(call['tool'] or '')} {printable_line(call['arguments'], _CALL_CHARACTERS)}"
    outcome = call["status"] if call.get("error_type") is None else call["error_type"]
    duration = "" if call.get("duration_ms") is None else f", {call['duration_ms']:.0f} ms"
    return f"{called}: {outcome}{duration}"
