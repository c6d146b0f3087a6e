"""Errors of the API: ``{"error": {"type": ..., "message": ...}}`` with a status."""

from __future__ import annotations

import json
import math
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
    SpendingLimitError,
    TurnDeadlineError,
    TurnLimitError,
    TurnRefusedError,
    TurnStoppedError,
    UsageError,
)
from oneclaw_core.providers import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderSilentError,
    ProviderUnavailableError,
    UnknownModelError,
)
from oneclaw_core.sessions import StoreUnavailableError

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
    (StoreUnavailableError, 503, "store_unavailable"),
    (InUseError, 409, "in_use"),
    (ProtectedError, 409, "protected"),
    (UsageError, 400, "invalid_request"),
    (ContextTooLongError, 400, "context_length_exceeded"),
    (UnknownModelError, 422, "model_unknown"),
    (ProviderAuthenticationError, 422, "key_refused_by_model"),
    (ProviderRequestError, 400, "refused_by_model"),
    (ProviderRateLimitError, 429, "rate_limit_exceeded"),
    (ProviderQuotaError, 402, "insufficient_quota"),
    (ProviderSilentError, 504, "model_silent"),
    (ProviderUnavailableError, 503, "model_unavailable"),
    (SpendingLimitError, 402, "spending_limit"),
    (TurnRefusedError, 403, "turn_refused"),
    (TurnStoppedError, 409, "turn_stopped"),
    (TurnDeadlineError, 504, "turn_deadline"),
    (TurnLimitError, 422, "turn_limit"),
)
# The only ones after which the same request may be sent again: nothing was done for it yet.
_WORTH_A_RETRY = frozenset({"session_busy", "store_unavailable", "too_many_requests"})
_MODELS_PATH = "/v1/"
_MOST_LEVELS = 100


class Refusal(Exception):  # noqa: N818  # it is no fault of the server
    """A request that is not answered.

    Args:
        status: of HTTP.
        kind: a word for programs.
        message: for people.
        param: the member of the body that is refused; ``None`` for none.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        param: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        return {"type": self.kind, "message": str(self), "param": self.param, "code": self.kind}


def refusal_of(error: OneClawError) -> Refusal:
    """Return the answer for an error of OneClaw."""
    for kind, status, name in _STATUSES:
        if isinstance(error, kind):
            seconds = getattr(error, "retry_after_seconds", None)
            headers = {} if seconds is None else {"Retry-After": str(math.ceil(seconds))}
            return Refusal(status, name, str(error), headers=headers)
    return Refusal(502, "failed", str(error))


def unexpected(error: Exception) -> Refusal:
    """Return the answer where something broke that should not; the log has the details."""
    return Refusal(500, "unexpected", f"unexpected {type(error).__name__}; the log of OneClaw has the details")


def error_response(error: Refusal) -> JSONResponse:
    """Return the answer to a request that is refused."""
    return JSONResponse({"error": error.document()}, error.status, error.headers)


async def answer_refusal(request: Request, error: Exception) -> Response:
    """Answer an exception, for Starlette: as a page where a browser shows it."""
    if isinstance(error, OneClawError):
        error = refusal_of(error)
    elif not isinstance(error, Refusal):
        error = unexpected(error)
    if request.url.path.startswith(_MODELS_PATH) and error.kind not in _WORTH_A_RETRY:
        # Else the libraries of OpenAI send it again after most statuses, and each time the agent acts.
        error.headers["x-should-retry"] = "false"
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
        if is_deep(value):
            raise Refusal(400, "invalid_request", f"the body is nested more than {_MOST_LEVELS} levels deep")
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(each) for each in first["loc"])
        param = where or None
        raise Refusal(400, "invalid_request", f"{where or 'the body'}: {first['msg']}", param) from None
    except (ValueError, RecursionError):
        raise Refusal(400, "invalid_request", "the body is not JSON") from None


def is_deep(value: Any) -> bool:
    """Return True if JSON data is nested so deep that what reads or writes it further on could fail."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)
