"""Errors of the API: ``{"error": {"type": ..., "message": ...}}`` with a status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from oneclaw_core import (
    DuplicateError,
    InUseError,
    NotFoundError,
    OneClawError,
    PermissionDeniedError,
    ProtectedError,
    SessionBusyError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel
    from starlette.requests import Request

Model = TypeVar("Model", bound="BaseModel")

_STATUSES: tuple[tuple[type[OneClawError], int, str], ...] = (
    (NotFoundError, 404, "not_found"),
    (PermissionDeniedError, 403, "permission_denied"),
    (DuplicateError, 409, "duplicate"),
    (SessionBusyError, 409, "session_busy"),
    (InUseError, 409, "in_use"),
    (ProtectedError, 409, "protected"),
    (UsageError, 400, "invalid_request"),
)


class Refusal(Exception):  # noqa: N818  # it is no fault of the server
    """A request that is not answered.

    Args:
        status: of HTTP.
        kind: a word for programs.
        message: for people.
        headers: of the answer.
    """

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})


def refusal_of(error: OneClawError) -> Refusal:
    """Return the answer for an error of OneClaw."""
    for kind, status, name in _STATUSES:
        if isinstance(error, kind):
            return Refusal(status, name, str(error))
    return Refusal(502, "failed", str(error))


def error_response(error: Refusal) -> JSONResponse:
    """Return the answer to a request that is refused."""
    body = {"error": {"type": error.kind, "message": str(error), "param": None, "code": error.kind}}
    return JSONResponse(body, error.status, error.headers)


async def answer_refusal(request: Request, error: Exception) -> Response:
    """Answer an exception, for Starlette: as a page where a browser shows it."""
    if isinstance(error, OneClawError):
        error = refusal_of(error)
    assert isinstance(error, Refusal)
    if "text/html" in request.headers.get("accept", ""):
        from oneclaw_serve.page_html import message_response

        return message_response("This did not work", str(error), error.status)
    return error_response(error)


async def read_json(request: Request, model: type[Model]) -> Model:
    """Read the body of a request.

    Raises:
        Refusal: it is not JSON, or does not fit the model.
    """
    try:
        value: Any = json.loads(await request.body() or b"{}")
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(each) for each in first["loc"])
        raise Refusal(400, "invalid_request", f"{where or 'the body'}: {first['msg']}") from None
    except (ValueError, RecursionError):
        raise Refusal(400, "invalid_request", "the body is not JSON") from None
