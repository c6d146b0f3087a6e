"""Building requests to Google's APIs; pure, without any I/O."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from oneclaw_google_workspace.methods import METHODS
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.methods import Method

_PARAMETER = re.compile(r"\{(\+?)(\w+)\}")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request to a method of an API.

    Attributes:
        method: what is called.
        target: path and query.
        body: what is sent as JSON, ``None`` for nothing.
        is_repeatable: whether it can be sent again when no one knows whether it was carried out.
        unclear_hint: how to find out whether it was.
    """

    method: Method
    target: str
    body: Mapping[str, Any] | None
    is_repeatable: bool
    unclear_hint: str = ""

    @property
    def url(self) -> str:
        """The target."""
        return f"https://{self.method.api.host}{self.target}"

    @property
    def upload_url(self) -> str:
        """The target folder when a file is uploaded."""
        return f"https://{self.method.api.host}/upload{self.target}"

    @property
    def content(self) -> bytes | None:
        """The body as it is sent; half a character (a lone surrogate) becomes a question mark."""
        return None if self.body is None else json.dumps(self.body, ensure_ascii=False).encode(errors="replace")


def api_request(
    method_id: str,
    *,
    body: Mapping[str, Any] | None = None,
    fields: str | None = None,
    is_repeatable: bool | None = None,
    unclear_hint: str = "",
    **parameters: Any,
) -> ApiRequest:
    """Build a request.

    Args:
        method_id: such as ``tasks.tasks.list``; see :data:`~oneclaw_google_workspace.methods.METHODS`.
        body: of the request, as JSON data.
        fields: the parts of the answer that are wanted, such as ``items(id,title),nextPageToken``; without it, all.
        is_repeatable: whether it can be sent again when no one knows whether it was carried out; by default what the
            method says. Give ``True`` to a POST that carries an id or a revision of your own.
        unclear_hint: what a model should look at to find out whether it was carried out, such as ``Look for it with
            tasks_list``.
        parameters: of path and query, by the names that Google gives them; ``None`` is left out, a list is repeated.

    Raises:
        GoogleError: a parameter of the path is empty.
        KeyError: there is no such method, or a parameter of the path is missing; a fault of the caller's.
    """
    method = METHODS[method_id]
    rest = dict(parameters)
    if method.takes_all_drives:
        rest.setdefault("supportsAllDrives", True)

    def fill(match: re.Match[str]) -> str:
        name, value = match[2], str(rest.pop(match[2]))
        if not value.strip("/ "):
            raise invalid(f"{name} must not be empty.")
        if not match[1]:
            return _segment(value)
        return "/".join(map(_segment, value.split("/")))

    path = _PARAMETER.sub(fill, method.path)
    query = [(name, _text(each)) for name, value in rest.items() for each in _values(value)]
    if fields is not None:
        query.append(("fields", fields))
    return ApiRequest(
        method,
        f"{path}?{urlencode(query, errors='replace')}" if query else path,
        body,
        method.is_repeatable if is_repeatable is None else is_repeatable,
        unclear_hint,
    )


def _segment(value: str) -> str:
    # Dots alone would be taken for a step up when the path is normalised; Google has no ids of that kind.
    if value in (".", ".."):
        raise invalid(f"{value!r} is no id.")
    return quote(value, safe="", errors="replace")


def _values(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
