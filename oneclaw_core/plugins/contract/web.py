"""Requests to routes of plugins and their responses, the same under every web framework."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """A request to a route.

    Attributes:
        method: such as ``GET``.
        path: below ``/PLUGIN/``.
        path_parameters: the parts of the path that the route names in braces.
        query: the values of each parameter of the query, in order.
        headers: by name in lower case.
        body: all of it.
        client: address of the peer, ``None`` if unknown.
    """

    method: str = "GET"
    path: str = ""
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    client: str | None = None

    def text(self) -> str:
        """Decode the body as UTF-8.

        Raises:
            UnicodeDecodeError: it is something else.
        """
        return self.body.decode()

    def json(self) -> Any:
        """Parse the body as JSON.

        Raises:
            ValueError: it is something else.
        """
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """The response of a route.

    Attributes:
        status: HTTP status.
        body: bytes, a text in UTF-8, or parts of a stream.
        media_type: of the body, such as ``text/html``.
        headers: others, by name.
    """

    status: int = 200
    body: bytes | str | AsyncIterable[bytes] = b""
    media_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, value: Any, *, status: int = 200) -> WebResponse:
        """Make a response of JSON.

        Args:
            value: JSON data.
            status: HTTP status.
        """
        return cls(status=status, body=json.dumps(value, ensure_ascii=False), media_type="application/json")
