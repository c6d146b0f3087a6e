"""What the services of the stand-in have in common: handlers by method, ids, pages, errors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from google_discovery import Described
    from google_server import GoogleServer

Handler = Callable[["Service", "Call"], Any]


class ApiError(Exception):
    """What Google would answer instead of a success.

    Args:
        status: of HTTP.
        reason: Google's word, such as ``notFound``; in capitals for the newer form.
        message: Google's sentence.
        headers: of the answer.
    """

    def __init__(self, status: int, reason: str, message: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message or reason)
        self.status = status
        self.reason = reason
        self.message = message or reason
        self.headers = headers or {}

    def document(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.status, "message": self.message}
        if self.reason.isupper():
            kind = "type.googleapis.com/google.rpc.ErrorInfo"
            names = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
            error["status"] = names.get(self.status, "INTERNAL")
            error["details"] = [{"@type": kind, "reason": self.reason, "domain": "googleapis.com"}]
        else:
            error["errors"] = [{"message": self.message, "domain": "global", "reason": self.reason}]
        return {"error": error}


def not_found(what: str) -> ApiError:
    return ApiError(404, "notFound", f"{what} not found.")


def bad_request(message: str, reason: str = "invalid") -> ApiError:
    return ApiError(400, reason, message)


@dataclass(frozen=True)
class Media:
    """An answer that is not JSON."""

    content: bytes | Path
    media_type: str
    etag: str | None = None


@dataclass(frozen=True)
class Call:
    """A request that fits the description.

    Attributes:
        method: what is called.
        parameters: of path and query, as what they stand for.
        body: JSON data, ``{}`` if there is none.
        media: the uploaded content, in a file.
        media_type: of it.
        user: whose token came along.
        url: of the server, for links.
        headers: with names in lower case; of an upload, none.
    """

    method: Described
    parameters: dict[str, Any]
    body: dict[str, Any]
    user: str
    url: str
    media: Path | None = None
    media_type: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        return self.parameters.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]


def handles(*method_ids: str) -> Callable[[Handler], Handler]:
    """Mark a method of a :class:`Service` as what answers calls of these methods."""

    def mark(handler: Handler) -> Handler:
        handler.method_ids = method_ids  # type: ignore[attr-defined]
        return handler

    return mark


@dataclass
class Service:
    """One of Google's services: keeps its state and answers the calls of its methods.

    A handler, marked by :func:`handles`, takes a :class:`Call` and returns JSON data as the method's description has
    it (checked), :class:`Media`, or ``None`` for nothing; or it raises :class:`ApiError`. The mask ``fields`` is
    applied afterwards. One call is answered at a time.

    Attributes:
        server: the stand-in, for the other services: ``self.server.services["drive"]``.
    """

    server: GoogleServer
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Make the state that a new user has."""

    def handlers(self) -> dict[str, Callable[[Call], Any]]:
        return {method_id: getattr(self, name) for method_id, name in _handler_names(type(self)).items()}

    def new_id(self, prefix: str = "id") -> str:
        """An id that nothing else has; the digits come last, so that ids sort by age."""
        return f"{prefix}{next(self._numbers):06d}"

    @staticmethod
    def now() -> str:
        """The time as Google writes it."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def page(
        self, call: Call, items: list[Any], *, size: str = "maxResults", default: int = 20, most: int = 100
    ) -> tuple[list[Any], dict[str, str]]:
        """Cut a page out of a list; a page token is good only with all other parameters unchanged.

        Args:
            call: of a list.
            items: all of them, in order.
            size: the parameter that says how many are wanted.
            default: how many without it.
            most: how many at most.

        Returns:
            The page, and ``{"nextPageToken": ...}`` if there is another.
        """
        others = {name: value for name, value in call.parameters.items() if name != "pageToken"}
        key = json.dumps([call.method.id, others], sort_keys=True)
        start = 0
        if token := call.get("pageToken"):
            of_token = self.server.page_tokens.get(token)
            if of_token is None or of_token[0] != key:
                raise bad_request("Page token is not valid, or other parameters have changed.")
            start = of_token[1]
        end = start + min(call.get(size) or default, most)
        if end >= len(items):
            return items[start:], {}
        token = f"page-{len(self.server.page_tokens) + 1}"
        self.server.page_tokens[token] = (key, end)
        return items[start:end], {"nextPageToken": token}


@cache
def _handler_names(service: type[Service]) -> dict[str, str]:
    """The names of the methods that answer calls, by the id of what is called."""
    found: dict[str, str] = {}
    for name in dir(service):
        for method_id in getattr(getattr(service, name), "method_ids", ()):
            assert method_id not in found, f"two handlers for {method_id}"
            found[method_id] = name
    return found
