"""Access of JavaScript programs to the web, files, the time, the console and libraries, through a tool's context.

Every bridge goes through the same guards as the tool of its kind, and asks for the same permission. Its arguments
come from a foreign program, so their types are checked here.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core import OneClawError, PermissionDeniedError, ToolResult, get_current_time
from oneclaw_core.files import (
    NotReadableError,
    append_content,
    is_text_encoding,
    open_for_reading,
    read_all,
    replace_content,
)
from oneclaw_core.http import (
    InvalidRequestError,
    body_pieces,
    decoded,
    expands_boundedly,
    failure_text,
    outgoing_request,
    shown_url,
)
from oneclaw_core.process import run_in_thread
from oneclaw_core.providers import compact_json
from oneclaw_javascript.bridges import BridgeError, JavaScriptBridges, ScriptEndedError, ToolFailureError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container
    from pathlib import Path

    import httpx

    from oneclaw_core import ToolContext
    from oneclaw_core.scripts import Script
    from oneclaw_javascript.result import ConsoleLine

_Value = TypeVar("_Value")

MAX_FETCHED_BYTES = 1024 * 1024
MAX_RESULT_CHARACTERS = 4_000_000
MAX_LIBRARY_BYTES = 1024 * 1024
_MAX_SLEEP_SECONDS = 600.0
_SHOWN_LINES = 50
_SHOWN_LINE_CHARACTERS = 200
_LIBRARY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_METHODS_WITHOUT_BODY = ("GET", "HEAD")


def javascript_bridges(
    context: ToolContext, script: Script | None = None, allowed: Container[str] | None = None
) -> JavaScriptBridges:
    """Connect JavaScript programs with the context of the tool that runs them.

    ``fetch`` reaches what ``http_request`` does, ``fs`` what ``read_file`` and ``write_file`` do; ``lib(name)`` loads
    ``tools/lib/NAME.min.js`` or ``tools/lib/NAME.js`` in the home. The user sees the first lines of the console as
    progress.

    Args:
        context: of the call.
        script: what calls tools; ``None`` for a program that can call none.
        allowed: the tools that it may call; ``None`` for all.
    """
    calls_tools = script is not None
    bridges = _Bridges(context, script, allowed)
    return JavaScriptBridges(
        handlers={
            "fetch": bridges.fetch,
            "fs.readFile": bridges.read_file,
            "fs.writeFile": bridges.write_file,
            "fs.appendFile": bridges.append_file,
            "fs.exists": bridges.exists,
            "_time": bridges.time,
            "lib": bridges.library,
            "_sleep": bridges.sleep,
            **({"tool": bridges.tool} if calls_tools else {}),
            **({"results": bridges.result} if calls_tools and allowed is None else {}),
        },
        on_console=bridges.show,
        asked_seconds=bridges.asked_seconds,
    )


class _Bridges:
    def __init__(self, context: ToolContext, script: Script | None, allowed: Container[str] | None) -> None:
        self._context = context
        self._script = script
        self._allowed = allowed
        self._lines_left = _SHOWN_LINES

    async def tool(self, arguments: dict[str, Any]) -> Any:
        """Call a tool; of its attachments, the program gets the names."""
        name, given = _text(arguments, "name"), arguments.get("arguments")
        if not isinstance(given, dict):
            raise BridgeError("arguments must be an object")
        if self._allowed is not None and name not in self._allowed:
            raise ToolFailureError(name, "not_available", f"Tool '{name}' is not among those that this tool declares.")
        result = await self._context.call_tool(name, given)
        self._check_ended()
        if not result.is_success:
            raise ToolFailureError(name, result.error_type or "execution_error", result.error_message or "")
        return result.result

    async def result(self, arguments: dict[str, Any]) -> Any:
        """Return the whole of an earlier result that the model was shown a part of."""
        handle = _text(arguments, "handle").removeprefix("result:")
        try:
            kept = await self._context.kept_result(handle)
        except OneClawError as error:
            raise BridgeError(f"results: {error}") from None
        size = len(kept.value if isinstance(kept.value, str) else compact_json(kept.value))
        if size > MAX_RESULT_CHARACTERS:
            raise BridgeError(
                f"results: {handle} has {size:,} characters; at most {MAX_RESULT_CHARACTERS:,} can be used"
            )
        return kept.value

    def _check_ended(self) -> None:
        if self._script is not None and (ended := self._script.ended) is not None:
            raise ScriptEndedError(ended.error_type or "execution_error", ended.text())

    async def sleep(self, arguments: dict[str, Any]) -> None:
        milliseconds = arguments.get("milliseconds")
        if not isinstance(milliseconds, int | float) or not milliseconds >= 0:
            raise BridgeError("milliseconds must be a number")
        await asyncio.sleep(min(milliseconds / 1000, _MAX_SLEEP_SECONDS))

    async def fetch(self, arguments: dict[str, Any]) -> dict[str, Any]:
        url, method, body = (
            _text(arguments, "url"),
            _optional_text(arguments, "method"),
            _optional_text(arguments, "body"),
        )
        method = (method or "GET").strip().upper()
        if body is not None and method in _METHODS_WITHOUT_BODY:
            raise BridgeError(f"fetch: a {method} request has no body; leave it out, or use POST")
        headers = _by_name(_pairs(arguments, "headers"))
        wanted = {"url": url, "method": method, "headers": headers or None, "body": body}
        is_repeatable = method in _METHODS_WITHOUT_BODY
        found: dict[str, Any] = await self._as("http_request", wanted, _fetched, is_repeatable=is_repeatable)
        return found

    async def read_file(self, arguments: dict[str, Any]) -> str:
        path, encoding = _text(arguments, "path"), _optional_text(arguments, "encoding") or "UTF-8"
        if not is_text_encoding(encoding):
            raise BridgeError(f"fs.readFile: {encoding[:50]!r} is no known text encoding; use one such as UTF-8")

        async def read(given: dict[str, Any], context: ToolContext) -> str:
            encoding = given.get("encoding", "UTF-8")
            return await _on_file("fs.readFile", given["path"], partial(_read, context, given["path"], encoding))

        content: str = await self._as("read_file", {"path": path, "encoding": encoding}, read)
        return content

    async def write_file(self, arguments: dict[str, Any]) -> None:
        await self._write("fs.writeFile", arguments, "overwrite")

    async def append_file(self, arguments: dict[str, Any]) -> None:
        await self._write("fs.appendFile", arguments, "append")

    async def _write(self, name: str, arguments: dict[str, Any], mode: str) -> None:
        async def write(given: dict[str, Any], context: ToolContext) -> None:
            path, content, paths = given["path"], given["content"].encode("utf-8", "replace"), context.paths
            put = append_content if given.get("mode") == "append" else replace_content
            await _on_file(name, path, lambda: put(paths.writable(path), content, paths))

        wanted = {"path": _text(arguments, "path"), "content": _text(arguments, "content"), "mode": mode}
        await self._as("write_file", wanted, write, is_repeatable=mode == "overwrite")

    async def exists(self, arguments: dict[str, Any]) -> bool:
        async def look(given: dict[str, Any], context: ToolContext) -> bool:
            try:
                return await run_in_thread(lambda: context.paths.locate(given["path"]).exists())
            except (PermissionDeniedError, OSError, ValueError):  # where tools may not read, nothing exists for them
                return False

        is_there: bool = await self._as("read_file", {"path": _text(arguments, "path")}, look)
        return is_there

    async def time(self, arguments: dict[str, Any]) -> Any:
        zone, form = _optional_text(arguments, "timezone"), _optional_text(arguments, "format")

        async def tell(given: dict[str, Any], context: ToolContext) -> Any:
            zone, form = given.get("timezone"), given.get("format", "iso8601")
            result = await run_in_thread(partial(get_current_time, zone, form, context=context))
            if not result.is_success:
                raise BridgeError(f"_time: {result.error_message}".removesuffix("."))
            return result.result

        return await self._as("get_current_time", {"timezone": zone, "format": form}, tell)

    async def _as(
        self,
        tool: str,
        arguments: dict[str, Any],
        act: Callable[[dict[str, Any], ToolContext], Awaitable[Any]],
        *,
        is_repeatable: bool = False,
    ) -> Any:
        """Do what a tool does, checked as a call of that tool."""

        async def result_of(given: dict[str, Any], context: ToolContext) -> ToolResult:
            try:
                return ToolResult.success(await act(given, context))
            except BridgeError as error:
                return ToolResult.error("execution_error", str(error))

        result = await self._context.act_as(tool, arguments, result_of, is_repeatable=is_repeatable)
        self._check_ended()
        if result.is_success:
            return result.result
        if result.error_type == "permission_denied":
            raise PermissionDeniedError(result.error_message or "", tool)
        raise BridgeError((result.error_message or "").removesuffix("."))

    async def library(self, arguments: dict[str, Any]) -> str:
        name = _text(arguments, "name")
        if not _LIBRARY_NAME.fullmatch(name):
            raise BridgeError(
                f"lib: {name[:64]!r} is not a library's name: a letter, then letters, digits, hyphens and underscores"
            )
        return await run_in_thread(partial(_library_source, self._context.home / "tools" / "lib", name))

    def asked_seconds(self) -> float:
        with suppress(OneClawError):  # the tool was executed by hand, and no one is asked
            return self._context.asked_seconds()
        return 0.0

    def show(self, line: ConsoleLine) -> None:
        if self._lines_left > 0:
            self._lines_left -= 1
            with suppress(OneClawError):  # the tool was executed by hand, and no one looks
                self._context.progress(line.text[:_SHOWN_LINE_CHARACTERS])


async def _fetched(given: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    import httpx

    url = given["url"]
    try:
        headers = (given.get("headers") or {}).items()
        request = outgoing_request(given.get("method", "GET"), url, headers, given.get("body"))
    except InvalidRequestError as fault:
        raise BridgeError(f"fetch: {fault}".removesuffix(".")) from None
    try:
        async with context.http.stream(
            request.method, request.url, headers=request.headers, content=request.content
        ) as response:
            return await _described(response)
    except (httpx.InvalidURL, UnicodeError):
        raise BridgeError(f"fetch: {shown_url(url)} redirects to something that is not a URL") from None
    except httpx.HTTPError as error:
        raise BridgeError(f"fetch: {failure_text(error, url)}".removesuffix(".")) from None


def _read(context: ToolContext, path: str, encoding: str) -> str:
    with open_for_reading(context.paths.readable(path), context.paths) as stream:
        return read_all(stream, encoding)


async def _on_file(name: str, path: str, act: Callable[[], _Value]) -> _Value:
    shown = repr(path[:200])
    try:
        return await run_in_thread(act)
    except FileNotFoundError:
        raise BridgeError(f"{name}: there is no file {shown}") from None
    except NotReadableError as error:
        raise BridgeError(f"{name}: {shown} {error}") from None
    except OSError as error:
        raise BridgeError(f"{name}: {shown}: {error.strerror or type(error).__name__}") from None
    except UnicodeError:
        raise BridgeError(f"{name}: {shown} contains characters that no file name can have") from None


async def _described(response: httpx.Response) -> dict[str, Any]:
    content = bytearray()
    if not expands_boundedly(response.headers):
        raise BridgeError(f"fetch: {shown_url(str(response.url))} answers with a compression that is not supported")
    async for piece in body_pieces(response):
        content += piece
        if len(content) > MAX_FETCHED_BYTES:
            break
    is_cut = len(content) > MAX_FETCHED_BYTES
    kind = response.headers.get("content-type", "")
    text = decoded(bytes(content[:MAX_FETCHED_BYTES]), kind, is_cut)
    if text is not None and is_cut:
        text += f"\n[cut here: the body has more than {MAX_FETCHED_BYTES:,} bytes]"
    return {
        "status": response.status_code,
        "statusText": response.reason_phrase,
        "url": str(response.url),
        "redirected": bool(response.history),
        "headers": [[name.lower(), value] for name, value in response.headers.items()],
        "body": text,
        "truncated": is_cut,
        "kind": kind[:100],
    }


def _library_source(directory: Path, name: str) -> str:
    for path in (directory / f"{name}.min.js", directory / f"{name}.js"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BridgeError(f"lib: {path.name} cannot be read: {error.strerror}") from None
        try:
            with os.fdopen(descriptor, "rb") as stream:
                content = stream.read(MAX_LIBRARY_BYTES + 1)
            if len(content) > MAX_LIBRARY_BYTES:
                raise BridgeError(f"lib: {path.name} has more than {MAX_LIBRARY_BYTES} bytes")
            return content.decode("utf-8-sig")
        except (OSError, UnicodeError):
            raise BridgeError(f"lib: {path.name} is not UTF-8 text") from None
    raise BridgeError(f"lib: there is no library {name!r}; put it into the home as tools/lib/{name}.js")


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise BridgeError(f"{name} must be a string")
    return value


def _by_name(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Write headers as ``http_request`` takes them: several of one name in a list."""
    named: dict[str, Any] = {}
    for name, value in pairs:
        named[name] = (
            [*([named[name]] if isinstance(named[name], str) else named[name]), value] if name in named else value
        )
    return named


def _optional_text(arguments: dict[str, Any], name: str) -> str | None:
    return None if arguments.get(name) is None else _text(arguments, name)


def _pairs(arguments: dict[str, Any], name: str) -> list[tuple[str, str]]:
    match arguments.get(name):
        case None:
            return []
        case list(pairs) if all(
            isinstance(each, list) and len(each) == 2 and isinstance(each[0], str) and isinstance(each[1], str)
            for each in pairs
        ):
            return [(key, value) for key, value in pairs]
    raise BridgeError(f"{name} must be pairs of strings")
