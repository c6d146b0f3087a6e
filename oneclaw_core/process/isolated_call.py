"""The process of one isolated call: read the request, call the tool, write the answer.

Every call waits until this module is imported, so it imports neither asyncio nor what runs processes.
"""

from __future__ import annotations

import base64
import json
import pickle
import traceback
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PermissionDeniedError, describe_error, errors_within
from oneclaw_core.files.paths import PathPermissionError
from oneclaw_core.files.views import FileViews
from oneclaw_core.process.python_worker import LENGTH_BYTES, read_exactly, take_pipes, write_all
from oneclaw_core.tool_functions.function import FunctionTool, ToolFunction
from oneclaw_core.types.provenance import CALL_MARKS, Mark, UsedFile
from oneclaw_core.types.tools import ToolResult, of_kept_size

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.invoke import FunctionTarget


def serve() -> None:
    """Serve one call: read the request, call the tool, write the answer."""
    reading, writing = take_pipes()
    length = int.from_bytes(read_exactly(reading, LENGTH_BYTES), "big")
    answer = json.dumps(_answer(read_exactly(reading, length)), default=_written).encode()
    with suppress(BrokenPipeError):
        write_all(writing, answer)


def _answer(data: bytes) -> dict[str, Any]:
    marks: list[Mark] = []
    used: list[UsedFile] = []
    views = FileViews()
    outcome: dict[str, Any]
    try:
        # Comes from the process that started this one.
        target, arguments, context, is_converted = pickle.loads(data)  # noqa: S301
        marks, used, views = context.marks, context.paths.used, context.paths.views
        CALL_MARKS.set(marks)
        outcome = {"result": asdict(_run(target, arguments, context, is_converted=is_converted))}
    except BaseException as raised:  # noqa: BLE001  # sys.exit() in a tool is its failure like any other
        error, *others = sorted(errors_within(raised), key=lambda each: not isinstance(each, PermissionDeniedError))
        outcome = {
            "raised": type(error).__name__,
            "message": "\n".join([_message_of(error), *map(describe_error, others)]),
            "permission": error.permission if isinstance(error, PermissionDeniedError) else None,
            "path": _path_of(error) if isinstance(error, PathPermissionError) else None,
            "traceback": traceback.format_exc(),
        }
    return {"marks": list(map(asdict, marks)), "used": list(map(asdict, used)), "views": views.noted, **outcome}


def _written(value: object) -> str:
    """Return what JSON has no form for: the bytes of an attachment, or a path."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _run(target: FunctionTarget, arguments: dict[str, Any], context: ToolContext, *, is_converted: bool) -> ToolResult:
    loaded = target.load()
    if isinstance(loaded, FunctionTool):
        if not is_converted:
            converted = loaded.convert(arguments)
            if isinstance(converted, ToolResult):
                return converted
            arguments = converted
        loaded = loaded.function
    return of_kept_size(ToolFunction.of(loaded, target.origin).call_here(arguments, context))


def _path_of(error: PathPermissionError) -> list[str | None]:
    return [str(error.path), error.detail, None if error.directory is None else str(error.directory)]


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        return "(its message cannot be shown)"
