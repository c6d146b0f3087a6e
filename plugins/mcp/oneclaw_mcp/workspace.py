"""Files of the workspace as resources of the server."""

from __future__ import annotations

import base64
import json
import mimetypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.files import NotReadableError, PathGuard, open_for_reading, read_all
from oneclaw_core.process import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import ToolResult
    from oneclaw_mcp.gateway import CallTool

SCHEME = "workspace"
READ_FILE = "read_file"
MAX_LISTED = 1_000
MAX_FILE_BYTES = 2 * 1024 * 1024
_MAX_ENTRIES = 20_000
_TEXT, _BYTES = "text/plain", "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The files of a workspace.

    Attributes:
        folder: the workspace.
    """

    folder: Path

    async def listed(self) -> list[dict[str, Any]]:
        """Return the files that are not hidden in the order of their paths, a thousand at most."""
        return await run_in_thread(lambda: [_described(*each) for each in _files(self.folder.resolve())])

    async def read(self, uri: str, call_tool: CallTool) -> ToolResult | dict[str, Any]:
        """Read a file as the tool ``read_file`` does, with its permissions; one that holds no text as bytes.

        Args:
            uri: of the resource.
            call_tool: calls a tool of OneClaw.

        Returns:
            The contents on the wire, or an error of the tool.

        Raises:
            FileNotFoundError: there is no such file.
            UsageError: it is too long.
        """
        path = await run_in_thread(lambda: self._located(uri))
        result = await call_tool(READ_FILE, json.dumps({"path": str(path)}))
        kind = mimetypes.guess_type(path.name)[0]
        if result.is_success:
            return {"uri": uri, "mimeType": kind or _TEXT, "text": result.text()}
        if result.error_type != "execution_error":
            return result
        try:
            content = await run_in_thread(lambda: self._content(path, result.error_message or ""))
        except (OSError, OneClawError):
            return result
        if content is None:
            return result
        return {"uri": uri, "mimeType": kind or _BYTES, "blob": base64.b64encode(content).decode()}

    def _content(self, path: Path, said: str) -> bytes | None:
        """Return what a file holds if the tool itself said that it holds no text; not if the call ended otherwise."""
        guard = PathGuard(self.folder, self.folder)
        with open_for_reading(path, guard) as stream:
            try:
                read_all(stream, "UTF-8")
            except NotReadableError as error:
                if str(error) in said:
                    stream.seek(0)
                    return stream.read(MAX_FILE_BYTES)
        return None

    def _located(self, uri: str) -> Path:
        parts = urlsplit(uri)
        folder = self.folder.resolve()
        if parts.scheme != SCHEME or parts.netloc or parts.query or parts.fragment or "\0" in unquote(parts.path):
            raise FileNotFoundError(uri)
        try:
            path = (folder / unquote(parts.path).lstrip("/")).resolve()
            is_file = path.is_relative_to(folder) and path.is_file()
            size = path.stat().st_size if is_file else 0
        except (OSError, RuntimeError):
            raise FileNotFoundError(uri) from None
        if not is_file:
            raise FileNotFoundError(uri)
        if size > MAX_FILE_BYTES:
            raise UsageError(f"the file is longer than {MAX_FILE_BYTES} bytes: read a part of it with {READ_FILE}")
        return path


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Find the files below a folder; neither links nor hidden ones."""
    found: list[tuple[str, int]] = []
    seen = 0
    for directory, names, files in os.walk(folder):
        names[:] = sorted(each for each in names if not each.startswith("."))
        for name in sorted(files):
            seen += 1
            path = Path(directory, name)
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            found.append((path.relative_to(folder).as_posix(), path.stat().st_size))
        if len(found) >= MAX_LISTED or seen >= _MAX_ENTRIES:
            break
    yield from sorted(found)[:MAX_LISTED]


def _described(path: str, size: int) -> dict[str, Any]:
    kind = mimetypes.guess_type(path)[0]
    document = {"uri": f"{SCHEME}:///{quote(path)}", "name": path, "size": size}
    return document | ({"mimeType": kind} if kind is not None else {})
