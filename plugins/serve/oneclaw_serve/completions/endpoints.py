"""The endpoints of Chat Completions; each agent is a model.

Clients send the whole conversation each time. A conversation that continues an answer of ours goes on in its session,
with its groups loaded. Any other begins a session, which gets what was said before as text.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from oneclaw_core import NotFoundError, PermissionDeniedError, TextEvent, TurnFinishedEvent, UsageEvent
from oneclaw_serve.completions.conversations import Conversations
from oneclaw_serve.completions.messages import ChatMessage, files_of, instructions, split_messages, transcript
from oneclaw_serve.completions.request import ChatRequest, TurnOptions
from oneclaw_serve.completions.stream import SIGN_OF_LIFE_SECONDS, Pieces, stream_chunks
from oneclaw_serve.endpoint import Endpoint
from oneclaw_serve.errors import Refusal
from oneclaw_serve.placeholders import is_unfilled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from oneclaw_core import Attachment, PermissionAnswer, PermissionRequest, TurnEvent
    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site

_SESSION_HEADER = "X-OneClaw-Session"
_TASK_HEADER = "X-OneClaw-Task"
# More than any model reads; they are compared with earlier ones, which holds others up.
_MOST_CHARACTERS = 8_000_000


@dataclass(slots=True)
class _Exchange:
    """One request on its way: its session and what it has used."""

    agent: str
    session: str
    text: str
    attachments: list[Attachment]
    conversations: Conversations
    before: list[ChatMessage]
    messages: list[ChatMessage]
    request: str = ""
    is_repeated: bool = False
    options: TurnOptions = field(default_factory=TurnOptions)
    answer: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    finish_reason: str = "stop"

    @property
    def usage(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.input_tokens,
            "completion_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
        }


async def _models(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    return JSONResponse({"object": "list", "data": await _listed_models(site, caller)})


async def _model(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    for each in await _listed_models(site, caller):
        if each["id"] == request.path_params["model"]:
            return JSONResponse(each)
    raise Refusal(404, "model_not_found", "there is no such agent")


async def _listed_models(site: Site, caller: Caller) -> list[dict[str, Any]]:
    return [
        {
            "id": each.name,
            "object": "model",
            "created": int(each.created_at.timestamp()) if each.created_at else 0,
            "owned_by": "oneclaw",
        }
        for each in await site.claw.agents.list()
        if caller.agents is None or each.name in caller.agents
    ]


async def _complete(site: Site, caller: Caller, request: Request, body: ChatRequest) -> Response:
    options = body.options()
    agent = await _agent(site, caller, body.model)
    notes = [f"{name} has no meaning here and is left out" for name in options.unknown]
    session_name = _header(request, _SESSION_HEADER, notes)
    conversations = Conversations(site.log, (caller.key, agent, body.user))
    if _header(request, _TASK_HEADER, notes) is not None:
        exchange = _Exchange(agent, "", "", [], conversations, [], body.messages)
        events = _task_answer(site, exchange)
    else:
        exchange = await _exchange(site, caller, session_name, body, agent, conversations)
        exchange.options = options
        events = _events(site, exchange)
    headers = {"x-oneclaw-session": exchange.session} if exchange.session else {}
    if notes:
        # The names in it are the client's.
        headers["x-oneclaw-notice"] = "".join(
            each if each.isascii() and each.isprintable() else "?" for each in "; ".join(notes)[:1_000]
        )
    return await _respond(request, body, exchange, Pieces(events), headers)


async def _respond(
    request: Request, body: ChatRequest, exchange: _Exchange, pieces: Pieces, headers: dict[str, str]
) -> Response:
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": body.model}
    try:
        await pieces.begin(request, SIGN_OF_LIFE_SECONDS if body.stream else None)
    except BaseException:
        await pieces.aclose()
        raise
    if body.stream:
        usage = (lambda: exchange.usage) if body.stream_options.include_usage else None
        head["object"] = "chat.completion.chunk"
        stream = stream_chunks(pieces, head, lambda: exchange.finish_reason, usage)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
    message = {"role": "assistant", "content": exchange.answer}
    choice = {"index": 0, "message": message, "finish_reason": exchange.finish_reason}
    document = {**head, "object": "chat.completion", "choices": [choice], "usage": exchange.usage}
    return JSONResponse(document, headers=headers)


def _header(request: Request, name: str, notes: list[str]) -> str | None:
    """Return the value of a header; one that the client's template did not fill in counts as absent."""
    value = request.headers.get(name)
    if value is None or not is_unfilled(value):
        return value
    if value.strip():
        notes.append(f"{name}: the client did not fill in {value[:80]!r}; it is not used")
    return None


async def _agent(site: Site, caller: Caller, name: str) -> str:
    try:
        agent = await site.claw.agents.get(name)
    except NotFoundError:
        agent = None
    if agent is None or (caller.agents is not None and agent.name not in caller.agents):
        raise Refusal(404, "model_not_found", f"there is no agent {name[:80]!r}; GET /v1/models lists them")
    return str(agent.name)


async def _exchange(
    site: Site,
    caller: Caller,
    session_name: str | None,
    body: ChatRequest,
    agent: str,
    conversations: Conversations,
) -> _Exchange:
    if sum(len(each.text) for each in body.messages) > _MOST_CHARACTERS:
        raise Refusal(400, "context_length_exceeded", f"messages: {_MOST_CHARACTERS:,} characters at most")
    before, now = split_messages(body.messages)
    whole = json.dumps([session_name, body.model_dump(mode="json")], sort_keys=True)
    unfinished = await conversations.take_unfinished(whole)
    if unfinished is not None and await site.claw.store.find_session(unfinished) is not None:
        await conversations.take(before, "")  # it goes on from here already
        return _Exchange(agent, unfinished, "", [], conversations, before, body.messages, whole, is_repeated=True)
    text = "\n\n".join(each.text for each in now if each.text)
    attachments = [file for each in now for file in each.attachments()]
    system = instructions(body.messages)
    begun = key = None
    if session_name is not None and len(session_name) > 200:
        raise Refusal(400, "invalid_request", f"{_SESSION_HEADER}: 200 characters at most")
    known = None if session_name is None else await site.stateless.session_of(caller.key, session_name)
    if session_name is not None and known is None:
        # A client's own names: it reaches no session that others have begun.
        key = f"v1-{hashlib.sha256(f'{caller.key} {agent} {session_name}'.encode()).hexdigest()[:32]}"
        session = await site.claw.store.find_session(key)
        known = session.id if session is not None else None
    elif session_name is None:
        known = await conversations.take(before, system)
        if known is not None and await site.claw.store.find_session(known) is None:
            known = None
    if known is None:
        begun = await site.claw.begin_session(key, agent=agent, title=text or None)
        known, heard = str(begun.id), transcript(before)
        attachments = [*files_of(before), *attachments]
        opening = f"Instructions: {system}" if system else ""
    else:
        changed = await conversations.new_instructions(known, body.messages)
        heard, opening = "", f"Instructions: {changed}" if changed else ""
    if key is None:
        await site.stateless.note_use(known, caller.key)
    text = "\n\n".join(filter(None, (opening, heard, text)))
    return _Exchange(agent, known, text, attachments, conversations, before, body.messages, whole)


async def _events(site: Site, exchange: _Exchange) -> AsyncGenerator[str, None]:
    """Run the turn and yield pieces of text; note then how the conversation stands."""
    turn = _turn(site, exchange)
    is_finished = False
    try:
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, TextEvent):
                    exchange.answer += event.text
                    yield event.text
                elif isinstance(event, UsageEvent):
                    exchange.input_tokens += event.usage.input_tokens or 0
                    exchange.output_tokens += event.usage.output_tokens or 0
                elif isinstance(event, TurnFinishedEvent):
                    if exchange.is_repeated and not exchange.answer:  # it had its answer already
                        exchange.answer = event.text
                        yield event.text
                    exchange.finish_reason = _finish_reason(event)
        is_finished = True
    finally:
        await _note_end(exchange, is_finished=is_finished)


def _turn(site: Site, exchange: _Exchange) -> AsyncGenerator[TurnEvent, None]:
    """Return the turn for a request; of one that is sent again, the turn that has no answer yet."""
    options = exchange.options
    if exchange.is_repeated:
        return site.claw.resume(
            exchange.session,
            agent=exchange.agent,
            ask=_refuse,
            reasoning=options.reasoning,
            parameters=options.parameters,
            max_output_tokens=options.max_output_tokens,
        )
    return site.claw.send_message(
        exchange.text,
        session=exchange.session,
        agent=exchange.agent,
        attachments=exchange.attachments,
        ask=_refuse,
        reasoning=options.reasoning,
        parameters=options.parameters,
        max_output_tokens=options.max_output_tokens,
    )


async def _note_end(exchange: _Exchange, *, is_finished: bool) -> None:
    answer = ChatMessage(role="assistant", content=exchange.answer)
    if not is_finished:
        await exchange.conversations.put_back(exchange.session, exchange.before)
        if not exchange.answer:
            # The libraries of some clients send a request again after most errors.
            await exchange.conversations.keep_unfinished(exchange.request, exchange.session)
    if answer.text.strip():
        await exchange.conversations.keep(exchange.session, exchange.messages, answer, is_cut=not is_finished)


async def _refuse(request: PermissionRequest) -> PermissionAnswer:
    raise PermissionDeniedError(
        f"Permission '{request.permission}' is not granted, and a program cannot answer for the user. The user can "
        f"grant it with: oneclaw permissions grant {request.permission}",
        request.permission,
        "default",
    )


async def _task_answer(site: Site, exchange: _Exchange) -> AsyncGenerator[str, None]:
    """Have the plain model do what a client wants beside the conversation, such as a title."""
    parts = (instructions(exchange.messages), transcript(each for each in exchange.messages if each.is_said))
    exchange.answer = str(await site.context.ask_model("\n\n".join(filter(None, parts))))
    yield exchange.answer


ENDPOINTS = (
    Endpoint("GET", "/v1/models", "chat", "List agents as models", _models),
    Endpoint("GET", "/v1/models/{model:path}", "chat", "Show an agent as a model", _model),
    Endpoint("POST", "/v1/chat/completions", "chat", "Answer a conversation", _complete, ChatRequest),
)


def _finish_reason(event: TurnFinishedEvent) -> str:
    """Return the word for the end of an answer; one that is cut off is never said to be complete."""
    if event.is_whole:
        return "stop"
    return "content_filter" if event.stop_reason == "content_filter" else "length"
