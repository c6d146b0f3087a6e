"""The endpoints of OpenAI's Chat Completions; each agent is a model.

Clients send the whole conversation each time. A conversation that continues an answer of ours goes on in its session,
with its groups loaded. Any other begins a session, which gets what was said before as text.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import secrets
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response, StreamingResponse

from oneclaw_core import (
    Attachment,
    NotFoundError,
    OneClawError,
    PermissionDeniedError,
    TextEvent,
    TurnFinishedEvent,
    UsageEvent,
)
from oneclaw_serve.endpoint import Endpoint
from oneclaw_serve.errors import Refusal, refusal_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from oneclaw_core import PermissionAnswer, PermissionRequest
    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site

_DISCONNECT_SECONDS = 1.0


class ChatMessage(BaseModel):
    """A message of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(BaseModel):
    """Options of a streamed answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for a completion; what the agent decides by itself, such as ``temperature``, is ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    tools: list[dict[str, Any]] | None = None


@dataclass(slots=True)
class _Exchange:
    """One request on its way: its session and what it has used."""

    agent: str
    session: str
    text: str
    attachments: list[Attachment]
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
    if body.tools:
        raise Refusal(400, "unsupported", "tools: an agent calls its own tools; it takes none of clients")
    agent = await _agent(site, caller, body.model)
    made_id, created = f"chatcmpl-{secrets.token_hex(12)}", int(time.time())
    if request.headers.get("x-oneclaw-task"):
        text = await site.context.ask_model(_transcript(body.messages))
        exchange = _Exchange(agent, "", "", [], answer=str(text))
        events = _nothing()
    else:
        exchange = await _exchange(site, caller, request, body, agent)
        events = _events(site, caller, exchange, body)
    headers = {"x-oneclaw-session": exchange.session} if exchange.session else {}
    if body.stream:
        stream = _chunks(exchange, events, body, made_id, created)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
    await _while_connected(request, _all(events))
    message = {"role": "assistant", "content": exchange.answer}
    document = {
        "id": made_id,
        "object": "chat.completion",
        "created": created,
        "model": body.model,
        "choices": [{"index": 0, "message": message, "finish_reason": exchange.finish_reason}],
        "usage": exchange.usage,
    }
    return JSONResponse(document, headers=headers)


async def _agent(site: Site, caller: Caller, name: str) -> str:
    try:
        agent = await site.claw.agents.get(name)
    except NotFoundError:
        agent = None
    if agent is None or (caller.agents is not None and agent.name not in caller.agents):
        raise Refusal(404, "model_not_found", f"there is no agent {name[:80]!r}; GET /v1/models lists them")
    return str(agent.name)


async def _exchange(site: Site, caller: Caller, request: Request, body: ChatRequest, agent: str) -> _Exchange:
    *before, last = body.messages
    if last.role != "user":
        raise Refusal(400, "invalid_request", "messages: the last one must be the user's")
    text, attachments = _content(last)
    named = request.headers.get("x-oneclaw-session")
    if named:
        if len(named) > 200:
            raise Refusal(400, "invalid_request", "X-OneClaw-Session: 200 characters at most")
        # A client's own names: it reaches no session that others have begun.
        key = f"v1-{hashlib.sha256(f'{caller.key} {agent} {named}'.encode()).hexdigest()[:32]}"
        session = await site.claw.begin_session(key, agent=agent, title=text or None)
        return _Exchange(agent, session.id, text, attachments)
    known = await site.log.take(caller.key, _conversation_key(agent, before)) if before else None
    if known is not None and await site.claw.store.find_session(known) is not None:
        return _Exchange(agent, known, text, attachments)
    begun = await site.claw.begin_session(agent=agent, title=text or None)
    if before:
        text = f"{_transcript(before)}\n\n{text}"
    return _Exchange(agent, begun.id, text, attachments)


async def _events(site: Site, caller: Caller, exchange: _Exchange, body: ChatRequest) -> AsyncGenerator[str, None]:
    """Run the turn and yield pieces of text."""

    async def refuse(request: PermissionRequest) -> PermissionAnswer:
        raise PermissionDeniedError(
            f"Permission '{request.permission}' is not granted, and a program cannot answer for the user. The user can "
            f"grant it with: oneclaw permissions grant {request.permission}",
            request.permission,
            "default",
        )

    turn = site.claw.send_message(
        exchange.text, session=exchange.session, agent=exchange.agent, attachments=exchange.attachments, ask=refuse
    )
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, TextEvent):
                exchange.answer += event.text
                yield event.text
            elif isinstance(event, UsageEvent):
                exchange.input_tokens += event.usage.input_tokens or 0
                exchange.output_tokens += event.usage.output_tokens or 0
            elif isinstance(event, TurnFinishedEvent):
                exchange.finish_reason = "length" if event.stop_reason == "length_limit" else "stop"
    answer = ChatMessage(role="assistant", content=exchange.answer)
    await site.log.keep(caller.key, _conversation_key(exchange.agent, [*body.messages, answer]), exchange.session)


async def _nothing() -> AsyncGenerator[str, None]:
    return
    yield


async def _all(events: AsyncGenerator[str, None]) -> None:
    async with aclosing(events):
        async for _ in events:
            pass


async def _while_connected(request: Request, work: Any) -> None:
    """Do some work as long as the client waits for it."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_DISCONNECT_SECONDS))[0]:
            if await request.is_disconnected():
                raise Refusal(499, "client_closed", "the client is gone")
        task.result()
    finally:
        task.cancel()


async def _chunks(
    exchange: _Exchange, events: AsyncGenerator[str, None], body: ChatRequest, made_id: str, created: int
) -> AsyncGenerator[str, None]:
    def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
        head = {"id": made_id, "object": "chat.completion.chunk", "created": created, "model": body.model}
        return f"data: {json.dumps({**head, 'choices': choices, **more}, ensure_ascii=False)}\n\n"

    def delta(content: dict[str, Any], reason: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": content, "finish_reason": reason}]

    yield chunk(delta({"role": "assistant", "content": ""}))
    if exchange.answer:
        yield chunk(delta({"content": exchange.answer}))
    try:
        async with aclosing(events):
            async for piece in events:
                yield chunk(delta({"content": piece}))
    except OneClawError as error:
        refusal = refusal_of(error)
        document = {"error": {"message": str(refusal), "type": refusal.kind, "code": refusal.kind}}
        yield f"data: {json.dumps(document)}\n\n"
        return
    yield chunk(delta({}, exchange.finish_reason))
    if body.stream_options is not None and body.stream_options.include_usage:
        yield chunk([], usage=exchange.usage)
    yield "data: [DONE]\n\n"


def _content(message: ChatMessage) -> tuple[str, list[Attachment]]:
    if message.content is None or isinstance(message.content, str):
        return message.content or "", []
    texts: list[str] = []
    attachments: list[Attachment] = []
    for part in message.content:
        kind = part.get("type")
        if kind == "text":
            texts.append(str(part.get("text", "")))
        elif kind == "image_url":
            attachments.append(_image(part.get("image_url")))
        else:
            raise Refusal(400, "invalid_request", f"messages: content of type {str(kind)[:40]!r} is not supported")
    return "\n".join(texts), attachments


def _image(value: Any) -> Attachment:
    url = value.get("url") if isinstance(value, dict) else value
    head, _, data = str(url).partition(";base64,")
    if not head.startswith("data:image/") or not data:
        raise Refusal(400, "invalid_request", "messages: an image must be a data: URL in base64; none is fetched")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(400, "invalid_request", "messages: an image is not base64") from None
    media_type = head.removeprefix("data:")
    return Attachment(f"image.{media_type.partition('/')[2]}", media_type, content)


def _conversation_key(agent: str, messages: list[ChatMessage]) -> str:
    parts = [agent, *(f"{each.role}\0{json.dumps(each.content)}" for each in messages)]
    return f"v1/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"


def _transcript(messages: list[ChatMessage]) -> str:
    """Return messages as one text."""
    names = {"system": "Instructions", "developer": "Instructions", "user": "User", "assistant": "You answered"}
    return "\n\n".join(f"{names.get(each.role, each.role)}: {_content(each)[0]}" for each in messages)


ENDPOINTS = (
    Endpoint("GET", "/v1/models", "chat", "List agents as models", _models),
    Endpoint("GET", "/v1/models/{model:path}", "chat", "Show an agent as a model", _model),
    Endpoint("POST", "/v1/chat/completions", "chat", "Answer a conversation", _complete, ChatRequest),
)
