"""A route of the API: what it takes, who may use it, and how it is described."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request

    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site

PERSON = "person"
"""The right of a browser that is logged in, which no token has."""

Answer = Callable[[Any, Any, Any, Any], Awaitable[Response]]
"""Async function of the site, the caller, the request and its body that returns the response."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A route.

    Attributes:
        method: of HTTP.
        path: with parameters in braces.
        scope: that a token needs; ``PERSON`` for none that is enough.
        summary: one line for the description.
        answer: makes the response.
        body: model of the request's body; ``None`` for none.
        is_stream: True if it answers with server-sent events.
    """

    method: str
    path: str
    scope: str
    summary: str
    answer: Answer
    body: type[BaseModel] | None = None
    is_stream: bool = False

    def check(self, caller: Caller) -> None:
        """Refuse a caller without the right.

        Raises:
            Refusal: it may not use this route.
        """
        if self.scope == PERSON and not caller.is_person:
            raise Refusal(403, "forbidden", "only a person who is logged in at the page may do this, not a token")
        if self.scope == "chat" and self.path.startswith("/v1/") and caller.agents != frozenset():
            return
        if not caller.may(self.scope):
            raise Refusal(403, "forbidden", f"this token lacks the scope {self.scope}")


class Body(BaseModel):
    """Base of the bodies of requests."""

    model_config = ConfigDict(extra="forbid")


class LoginCode(Body):
    """The code of a one-time link."""

    code: str = Field(max_length=200)


async def answer_once(site: Site, caller: Caller, request: Request, work: Callable[[], Awaitable[Any]]) -> JSONResponse:
    """Do the work of a request once; a repetition with the same ``Idempotency-Key`` gets the first response.

    Args:
        site: the server.
        caller: whose key it is.
        request: with its body read.
        work: returns JSON data.

    Raises:
        Refusal: the key belongs to another request, or to one under way.
    """
    key = request.headers.get("idempotency-key")
    if not key:
        return JSONResponse(await work(), 202)
    if len(key) > 200:
        raise Refusal(400, "invalid_request", "Idempotency-Key: 200 characters at most")
    digest = hashlib.sha256(request.url.path.encode() + b"\0" + await request.body()).hexdigest()
    is_new, first_digest, response = await site.log.claim_request(caller.key, key, digest)
    if not is_new:
        if first_digest != digest:
            raise Refusal(422, "idempotency_key_reused", "this Idempotency-Key was used for another request")
        if response is None:
            raise Refusal(409, "idempotency_key_in_use", "the first request with this Idempotency-Key is under way")
        return JSONResponse(json.loads(response), 202, {"Idempotent-Replay": "true"})
    try:
        result = await work()
    except BaseException:
        await site.log.store_response(caller.key, key, None)
        raise
    await site.log.store_response(caller.key, key, json.dumps(result))
    return JSONResponse(result, 202)
