"""The core tool ``http_request`` (FEAT-004, "Built-in Tools")."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from oneclaw_core.builtin.downloads import MAX_BEGINNING_BYTES, ReceivedBody, named_size, receive_body
from oneclaw_core.http.clients import expands_boundedly
from oneclaw_core.http.messages import (
    InvalidRequestError,
    decoded,
    failure_text,
    media_type,
    outgoing_request,
    shown_url,
    status_text,
)
from oneclaw_core.tools.text_content import untrusted
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

    from oneclaw_core.tools.context import ToolContext

MAX_BODY_BYTES = MAX_BEGINNING_BYTES
# Within the tool's timeout of 30 s, so that what has come by then is not lost.
MAX_SECONDS = 26.0
# What tells a model nothing, and what it would pay for.
_NOISE_HEADERS = re.compile(
    r"accept-ch|age|alt-svc|cache-control|cdn-.*|cf-.*|connection|content-security-policy.*|cross-origin-.*|expect-ct|"
    r"expires|feature-policy|keep-alive|nel|origin-agent-cluster|origin-trial|p3p|permissions-policy.*|pragma|"
    r"priority|referrer-policy|report-to|reporting-endpoints|server|server-timing|strict-transport-security|"
    r"timing-allow-origin|transfer-encoding|vary|via|"
    r"x-(amz-.*|aspnet.*|cache.*|cdn.*|content-type-options|dns-prefetch-control|download-options|envoy-.*|"
    r"frame-options|permitted-cross-domain-policies|powered-by|robots-tag|runtime|served-by|timer|ua-compatible|"
    r"varnish|xss-protection)",
    re.IGNORECASE,
)
_MAX_SHOWN_HEADERS = 50
_MAX_HEADER_CHARACTERS = 1000
# Room in what a model is shown for the marks and notes around a body.
_FRAME_CHARACTERS = 1000
_LEAST_SHOWN_CHARACTERS = 500


async def http_request(
    url: str,
    method: str = "GET",
    headers: dict[str, Any] | None = None,
    body: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Make an HTTP request.

    A body that is binary, or too long to be shown, is saved in the workspace.

    Args:
        url: http or https.
        method: in any case.
        headers: names and values, several of one name in a list.
        body: sent with the methods that have one.
        context: of the call.

    Returns:
        The status, a note on a body that is not shown whole, and, marked as coming from outside, the headers that
        matter and the body; whatever the status.

    Raises:
        PermissionDeniedError: the address is private, and the user does not allow it.
    """
    import httpx

    try:
        request = outgoing_request(method, url, (headers or {}).items(), body)
    except InvalidRequestError as fault:
        return ToolResult.error("validation_error", str(fault))
    start = time.monotonic()
    try:
        async with context.http.stream(
            request.method, request.url, headers=request.headers, content=request.content
        ) as response:
            used_seconds = time.monotonic() - start - context.asked_seconds()
            return ToolResult.success(await _described(response, context, max(MAX_SECONDS - used_seconds, 1.0)))
    except (httpx.InvalidURL, UnicodeError):
        return ToolResult.error("execution_error", f"{shown_url(request.url)} redirects to something that is no URL.")
    except httpx.HTTPError as error:
        return ToolResult.error("execution_error", failure_text(error, request.url))


async def _described(response: httpx.Response, context: ToolContext, seconds: float) -> str:
    status = status_text(response.status_code)
    headers = "\n".join(_header_lines(response))
    source = shown_url(str(response.url))
    if not expands_boundedly(response.headers):
        return _joined(status, "[the body is not shown: its compression is not supported]", headers, "", source)
    room = context.shown_characters
    if room is not None:
        room = max(room - len(headers) - _FRAME_CHARACTERS, _LEAST_SHOWN_CHARACTERS)

    def should_save(content: bytes) -> bool:
        text = _text(response, content, is_cut=False)
        return text is None or (room is not None and len(text) > room)

    body = await receive_body(response, context, seconds, should_save)
    is_cut = not body.is_whole or body.size > len(body.beginning)
    text = _text(response, body.beginning, is_cut=is_cut)
    if text is None:
        return _joined(status, _note(response, body, context, is_text=False), headers, "", source)
    shown = text[:room]
    note = _note(response, body, context, is_text=True) if is_cut or len(shown) < len(text) else ""
    return _joined(status, note, headers, shown, source)


def _joined(status: str, note: str, headers: str, body: str, source: str) -> str:
    """Put the parts together; the server has written the headers as well as the body, so both are marked."""
    message = f"{headers}\n\n{body}" if headers and body else headers or body
    return "\n\n".join(filter(None, (status, note, untrusted(message, source) if message else "")))


def _text(response: httpx.Response, content: bytes, *, is_cut: bool) -> str | None:
    return decoded(content, response.headers.get("content-type", ""), is_cut)


def _note(response: httpx.Response, body: ReceivedBody, context: ToolContext, *, is_text: bool) -> str:
    """Say what becomes of a body that is not shown, or not all of it."""
    size = body.size if body.is_whole else named_size(response)
    amount = ("1 byte" if size == 1 else f"{size:,} bytes") if size is not None else f"more than {body.size:,} bytes"
    if body.saved is not None:
        kept = f"is saved in {_shown_path(body.saved, context)}"
    else:
        kept = f"is not saved: {body.problem}"
    if is_text:
        return f"[only the beginning of the body is shown; all of it, {amount}, {kept}]"
    kind = media_type(response.headers.get("content-type", "")) or "unknown type"
    return f"[the body is binary ({kind}, {amount}) and {kept}]"


def _shown_path(path: Path, context: ToolContext) -> str:
    shown = context.paths.display(path)
    # A relative path would lead to the other file.
    return str(path) if (context.paths.start_directory / shown).exists() else shown


def _header_lines(response: httpx.Response) -> Iterator[str]:
    if response.history:
        yield f"Final-URL: {shown_url(str(response.url))}"
    # Who asks for the headers alone wants them all.
    are_all_wanted = response.request.method in ("HEAD", "OPTIONS")
    shown = [
        (name, value)
        for name, value in response.headers.multi_items()
        if are_all_wanted or not _NOISE_HEADERS.fullmatch(name)
    ]
    for name, value in shown[:_MAX_SHOWN_HEADERS]:
        yield f"{name.title()}: {value[:_MAX_HEADER_CHARACTERS]}"
    if len(shown) > _MAX_SHOWN_HEADERS:
        yield f"[{len(shown) - _MAX_SHOWN_HEADERS} more headers are not shown]"
