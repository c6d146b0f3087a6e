"""How a session's history is written down: for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools.toolset import one_line
from oneclaw_core.types.messages import MessageType

if TYPE_CHECKING:
    from datetime import datetime

    from oneclaw_core.search.ranking import Hit
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.types.messages import Message

_COMPACT_CHARACTERS = 200


def timestamp(moment: datetime | None) -> str | None:
    """A point in time as ISO 8601 in UTC, such as ``2026-11-21T08:30:00Z``."""
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def session_document(session: Session) -> dict[str, Any]:
    """A session as JSON can hold it."""
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
    """A history's entry as JSON can hold it, texts and results whole; what does not apply to its type is left out.

    What a wire format wants back verbatim is of no use elsewhere and left out as well.
    """
    document = {
        "sequence": message.sequence,
        "type": str(message.type),
        "created_at": timestamp(message.created_at),
        "content": message.content,
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "tool_input": message.tool_input,
        "tool_status": None if message.tool_status is None else str(message.tool_status),
        "error_type": message.error_type,
        "duration_ms": message.duration_ms,
    }
    return {key: value for key, value in document.items() if value is not None}


def hit_document(hit: Hit) -> dict[str, Any]:
    """What a search has found as JSON can hold it; what does not apply is null."""
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


def compact_text(message: Message) -> str:
    """An entry as it is read on a terminal: what was said in full, calls and results on a line each."""
    match message.type:
        case MessageType.USER:
            return f"You: {message.content}\n"
        case MessageType.ASSISTANT:
            return f"OneClaw: {message.content}\n" if message.content else ""
        case MessageType.TOOL_CALL:
            return f"  -> {message.tool_name} {one_line(message.tool_input or '', _COMPACT_CHARACTERS)}"
        case MessageType.TOOL_RESULT:
            return f"  <- {_outcome(message)}: {one_line(message.content, _COMPACT_CHARACTERS)}"


def markdown_head(session: Session) -> str:
    """What a Markdown export begins with."""
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
    """An entry as Markdown, results whole."""
    match message.type:
        case MessageType.USER:
            return f"\n## User\n\n{message.content}\n"
        case MessageType.ASSISTANT:
            return f"\n## Assistant\n\n{message.content}\n" if message.content else ""
        case MessageType.TOOL_CALL:
            return f"\n### Call of `{message.tool_name}`\n\n{_fenced(message.tool_input or '', 'json')}"
        case MessageType.TOOL_RESULT:
            return f"\n### Result of `{message.tool_name}` ({_outcome(message)})\n\n{_fenced(message.content)}"


def _outcome(message: Message) -> str:
    words = [message.error_type or str(message.tool_status or "")]
    if message.duration_ms is not None:
        words.append(f"{message.duration_ms:.0f} ms")
    return ", ".join(words)


def _fenced(text: str, language: str = "") -> str:
    # CommonMark: a fence is closed by one at least as long, so it must be longer than any in the text.
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"
