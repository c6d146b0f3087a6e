"""Sessions, messages, turns and questions."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from typing import TYPE_CHECKING, Any

from pydantic import Field
from starlette.responses import JSONResponse, Response, StreamingResponse

from oneclaw_core import MessageType, NotFoundError
from oneclaw_core.channels import InboundFile, expandable_command
from oneclaw_core.scripts import script_documents
from oneclaw_core.tools import printable, printable_document
from oneclaw_serve.endpoint import PERSON, Body, Endpoint, answer_once
from oneclaw_serve.errors import Refusal
from oneclaw_serve.markdown import render
from oneclaw_serve.waiting import Options

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from oneclaw_core import Message
    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site
    from oneclaw_serve.event_log import LoggedEvent

_MOST_MESSAGES = 500
_HTML_FIELDS = ("html_done", "html_rest")


class NewSession(Body):
    """A session to begin."""

    name: str | None = Field(None, max_length=200)
    agent: str | None = Field(None, max_length=200)
    model: str | None = Field(None, max_length=200)
    title: str | None = Field(None, max_length=200)


class SentFile(Body):
    """A file that goes with a message."""

    name: str = Field(max_length=255)
    media_type: str = Field(max_length=200)
    data: str = Field(description="in base64")


class NewMessage(Body):
    """A message to send."""

    text: str = Field("", max_length=1_000_000)
    attachments: list[SentFile] = Field(default_factory=list, max_length=20)
    agent: str | None = Field(None, max_length=200)
    model: str | None = Field(None, max_length=200)


class Decision(Body):
    """The answer to a question."""

    answer: str = Field(max_length=10_000)


class NewName(Body):
    """A new name of a session."""

    name: str = Field(max_length=200)


async def _list(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    query = request.query_params.get("q", "").strip()
    limit = _number(request, "limit", 50, 500)
    listed = await site.claw.store.list_sessions(None if query else limit)
    if query:
        found = await site.claw.services.sessions.search(query, max_results=50)
        ids = {each.passage.session_id for each in found.hits}
        words = query.casefold()
        listed = [
            each for each in listed if each.id in ids or words in f"{each.name or ''} {each.title or ''}".casefold()
        ][:limit]
    return JSONResponse({"sessions": [_session(each) for each in listed]})


async def _begin(site: Site, caller: Caller, request: Request, body: NewSession) -> JSONResponse:
    async def work() -> dict[str, Any]:
        made = await site.claw.begin_session(body.name, agent=body.agent, model=body.model, title=body.title)
        return _session(made)

    return await answer_once(site, caller, request, work)


async def _show(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    session = await _find(site, request)
    status = await site.claw.session_status(session.id)
    return JSONResponse(
        {
            **_session(session),
            "current_model": status.model,
            "context_share": status.context_share,
            "groups": list(status.groups),
            "input_tokens": status.usage.input_tokens,
            "output_tokens": status.usage.output_tokens,
            "cost": status.usage.cost,
            "is_running": await site.log.running_turn(session.id) is not None,
        }
    )


async def _rename(site: Site, caller: Caller, request: Request, body: NewName) -> JSONResponse:
    session = await _find(site, request)
    await site.claw.store.rename_session(session.id, body.name)
    return JSONResponse(_session(await _find(site, request, session.id)))


async def _delete(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    session = await _find(site, request)
    await site.claw.delete_session(session.id)
    return JSONResponse({"status": "deleted"})


async def _messages(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    """Return the history up to the turn that runs, and the number behind which that turn's events follow."""
    session = await _find(site, request)
    running = await site.log.running_turn(session.id)
    cursor = running.first - 1 if running else (await site.log.bounds(session.id))[1]
    after = _number(request, "after", 0, 2**53)
    before = _number(request, "before", 2**53, 2**53)
    limit = _number(request, "limit", _MOST_MESSAGES, _MOST_MESSAGES)
    end = before if running is None else min(before, running.after_message + 1)
    newest = await site.claw.store.newest_messages(session.id, end, limit + 1)
    shown = [each for each in newest if (each.sequence or 0) > after]
    with_html = request.query_params.get("html") == "1"
    messages = [_message(each, with_html=with_html) for each in shown[-limit:] if not each.is_of_output]
    await _add_calls_of_scripts(site, session.id, messages, with_html=with_html)
    return JSONResponse(
        {
            "messages": messages,
            "has_earlier": len(shown) > limit,
            "cursor": str(cursor),
            "is_running": running is not None,
            "questions": await site.log.questions(session.id) if running else [],
        }
    )


async def _send(site: Site, caller: Caller, request: Request, body: NewMessage) -> JSONResponse:
    session = await _find(site, request)
    files = _files(body)
    options = await _options(site, caller, body)

    async def work() -> dict[str, Any]:
        state = await site.turns.send(session.id, body.text, files, options)
        return {"session": session.id, "state": state}

    return await answer_once(site, caller, request, work)


async def _edit(site: Site, caller: Caller, request: Request, body: NewMessage) -> JSONResponse:
    """Take the last message of the user off the history, with all that followed, and send another in its place."""
    session = await _find(site, request)
    files = _files(body)
    options = await _options(site, caller, body)

    async def work() -> dict[str, Any]:
        if await site.log.running_turn(session.id) is not None:
            raise Refusal(409, "session_busy", "a turn of this session runs: stop it first")
        sessions = site.claw.services.sessions
        history = await sessions.messages(session.id)
        asked = [each.sequence for each in history if each.type is MessageType.USER and each.sequence is not None]
        if not asked:
            raise Refusal(409, "nothing_to_edit", "this session has no message to edit")
        part = uuid.uuid4().hex
        await sessions.end_history(session.id, asked[-1], part)
        await site.log.reset(session.id)
        try:
            state = await site.turns.send(session.id, body.text, files, options)
        except Refusal:
            await sessions.restore_history(session.id, part)
            await site.log.reset(session.id)
            raise
        return {"session": session.id, "state": state}

    return await answer_once(site, caller, request, work)


async def _resume(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    session = await _find(site, request)
    await site.turns.resume(session.id)
    return JSONResponse({"session": session.id, "state": "started"}, 202)


async def _stop(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    session = await _find(site, request)
    return JSONResponse({"stopped": await site.turns.stop(session.id)})


async def _events(site: Site, caller: Caller, request: Request, body: None) -> Response:
    session = await _find(site, request)
    asked = request.headers.get("last-event-id") or request.query_params.get("after", "0")
    if not asked.isdecimal() or len(asked) > 18:
        raise Refusal(400, "invalid_request", "Last-Event-ID is not the number of an event")
    with_html = request.query_params.get("html") == "1"
    stream = _stream(site, caller, session.id, int(asked), with_html=with_html)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _stream(
    site: Site, caller: Caller, session: str, after: int, *, with_html: bool
) -> AsyncGenerator[str, None]:
    yield "retry: 1000\n\n"
    first, last = await site.log.bounds(session)
    if after and (after > last or (first and after < first - 1)):
        # Events between were removed: the client reads the history again.
        yield f"id: {last}\nevent: reset\ndata: {{}}\n\n"
        after = last
    async for event in site.turns.follow(session, after, lambda: site.access.is_valid(caller)):
        if event is None:
            yield ": ping\n\n"
        elif with_html or event.data.get("text") != "" or event.kind != "text":
            # Without HTML there is nothing new in a text that is only rendered again.
            yield _event_text(event, with_html=with_html)


def _event_text(event: LoggedEvent, *, with_html: bool) -> str:
    html = {name: each for name, each in event.data.items() if name in _HTML_FIELDS}
    data = {name: each for name, each in event.data.items() if name not in _HTML_FIELDS}
    # A page shows what it is sent; a program gets it as it is.
    data = {**printable_document(data), **html} if with_html else data
    text = json.dumps({"event": event.kind, **data}, ensure_ascii=False)
    return f"id: {event.number}\nevent: {event.kind}\ndata: {text}\n\n"


async def _questions(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    return JSONResponse({"questions": await site.log.questions()})


async def _decide(site: Site, caller: Caller, request: Request, body: Decision) -> JSONResponse:
    await site.decide(request.path_params["id"], body.answer, caller.name)
    return JSONResponse({"status": "decided"})


async def _file(site: Site, caller: Caller, request: Request, body: None) -> Response:
    session = await _find(site, request)
    sequence, index = int(request.path_params["sequence"]), int(request.path_params["index"])
    found = await site.claw.services.sessions.messages(session.id, sequence - 1, 1)
    if not found or found[0].sequence != sequence or index >= len(found[0].attachments):
        raise Refusal(404, "not_found", "there is no such file")
    attachment = found[0].attachments[index]
    name = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in attachment.name)
    return Response(
        attachment.data,
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


async def _find(site: Site, request: Request, name: str | None = None) -> Any:
    wanted = name or request.path_params["session"]
    found = await site.claw.store.find_session(wanted)
    if found is None:
        raise NotFoundError(f"there is no session {wanted!r}")
    return found


def _session(session: Any) -> dict[str, Any]:
    return {
        "id": session.id,
        "name": session.name and printable(session.name),
        "title": session.title and printable(session.title),
        "agent": session.agent,
        "model": session.model,
        "updated_at": session.updated_at.isoformat(),
        "last_text": printable(getattr(session, "last_text", "") or ""),
    }


async def _add_calls_of_scripts(
    site: Site, session_id: str, messages: list[dict[str, Any]], *, with_html: bool
) -> None:
    """Add to each call that ran a script the calls that the script made."""
    called = {each["call"]: each for each in messages if each["type"] == MessageType.TOOL_CALL}
    rows = await site.claw.store.calls_of_scripts(session_id, list(called))
    scripts = {each["call"]: each for each in script_documents(rows)}
    for call_id in called.keys() & scripts.keys():
        script = scripts.get(scripts[call_id].get("continues", call_id), scripts[call_id])
        called[call_id]["calls"] = printable_document(script["calls"]) if with_html else script["calls"]


def _message(message: Message, *, with_html: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "sequence": message.sequence,
        "type": str(message.type),
        "text": message.content,
        "created_at": message.created_at.isoformat() if message.created_at else None,
    }
    if message.not_sent is not None:
        document["not_sent"] = message.not_sent
    if message.type in (MessageType.TOOL_CALL, MessageType.TOOL_RESULT):
        document |= {
            "call": message.tool_call_id,
            "tool": message.tool_name,
            "arguments": message.tool_input,
            "status": str(message.tool_status) if message.tool_status else None,
            "error_type": message.error_type,
            "duration_ms": message.duration_ms,
        }
    if message.attachments:
        document["attachments"] = [
            {"name": each.name, "media_type": each.media_type, "size": each.size, "is_for_user": each.is_for_user}
            for each in message.attachments
        ]
    if with_html:
        document = printable_document(document)
        if message.type is MessageType.ASSISTANT:
            document["html"] = render(message.content)
    return document


def _files(body: NewMessage) -> list[InboundFile]:
    if not body.text.strip() and not body.attachments:
        raise Refusal(400, "invalid_request", "text: the message is empty")
    return [_file_of(each) for each in body.attachments]


def _file_of(sent: SentFile) -> InboundFile:
    try:
        data = base64.b64decode(sent.data, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(400, "invalid_request", f"attachments: {sent.name[:80]!r} is not base64") from None
    return InboundFile("", sent.name, sent.media_type, len(data), data)


async def _options(site: Site, caller: Caller, body: NewMessage) -> Options:
    # What a program sends is a message, whatever it begins with.
    expandable = await expandable_command(site.claw, body.text) if caller.is_person else None
    command, arguments = expandable or (None, "")
    return Options(body.agent, body.model, command, arguments)


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 18 or int(text) > most:
        raise Refusal(400, "invalid_request", f"{name}: must be a whole number up to {most}")
    return int(text)


_ONE = "/api/sessions/{session}"
ENDPOINTS = (
    Endpoint("GET", "/api/sessions", "read", "List sessions; q searches in them", _list),
    Endpoint("POST", "/api/sessions", "chat", "Begin a session", _begin, NewSession),
    Endpoint("GET", _ONE, "read", "Show a session: model, usage, cost", _show),
    Endpoint("PATCH", _ONE, "chat", "Rename a session", _rename, NewName),
    Endpoint("DELETE", _ONE, PERSON, "Delete a session with its history", _delete),
    Endpoint("GET", f"{_ONE}/messages", "chat", "Read the history, and the cursor for its events", _messages),
    Endpoint("POST", f"{_ONE}/messages", "chat", "Send a message", _send, NewMessage),
    Endpoint("POST", f"{_ONE}/edit", "chat", "Send a message in the place of the last one", _edit, NewMessage),
    Endpoint("POST", f"{_ONE}/resume", "chat", "Finish a turn that was interrupted", _resume),
    Endpoint("POST", f"{_ONE}/stop", "chat", "Stop the turn", _stop),
    Endpoint("GET", f"{_ONE}/events", "chat", "Follow the events of turns", _events, is_stream=True),
    Endpoint("GET", f"{_ONE}/files/{{sequence:int}}/{{index:int}}", "chat", "Download a file of a message", _file),
    Endpoint("GET", "/api/approvals", PERSON, "List the questions that wait for an answer", _questions),
    Endpoint("POST", "/api/approvals/{id}", PERSON, "Answer a question", _decide, Decision),
)
