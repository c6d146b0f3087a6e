"""The process of one isolated call: read the request, call the tool, write the answer.

Every call waits until this module is imported, so it imports neither asyncio nor what runs processes.
"""

from __future__ import annotations

import base64
import json
import pickle
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PermissionDeniedError, describe_error, errors_within
from oneclaw_core.files.paths import PathPermissionError
from oneclaw_core.files.views import FileViews
from oneclaw_core.process.python_worker import read_exactly, take_pipes, write_all
from oneclaw_core.tool_functions.function import FunctionTool
from oneclaw_core.tool_functions.tool_function import ToolFunction
from oneclaw_core.types.provenance import CALL_MARKS
from oneclaw_core.types.tools import ToolResult, of_kept_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.deferred_tool import FunctionTarget
    from oneclaw_core.types.provenance import Mark, UsedFile

LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Request:
    """A call, pickled by the caller; see :func:`oneclaw_core.process.isolation.call_in_process`."""

    target: FunctionTarget
    arguments: dict[str, Any]
    context: ToolContext
    is_converted: bool


def serve() -> None:
    """Serve one call: read the request, call the tool, write the answer."""
    reading, writing = take_pipes()
    length = int.from_bytes(read_exactly(reading, LENGTH_BYTES), "big")
    answer = json.dumps(_answer(read_exactly(reading, length))).encode()
    with suppress(BrokenPipeError):
        write_all(writing, answer)


def _answer(data: bytes) -> dict[str, Any]:
    marks: list[Mark] = []
    used: list[UsedFile] = []
    views = FileViews()
    try:
        request: Request = pickle.loads(data)  # noqa: S301  # comes from the process that started this one
        marks, used = request.context.marks, request.context.paths.used
        views = request.context.paths.views
        CALL_MARKS.set(marks)
        result = _run(request)
    except BaseException as raised:  # noqa: BLE001  # sys.exit() in a tool is its failure like any other
        error, *others = sorted(errors_within(raised), key=lambda each: not isinstance(each, PermissionDeniedError))
        return {
            **_provenance(marks, used, views),
            "raised": type(error).__name__,
            "message": "\n".join([_message_of(error), *map(describe_error, others)]),
            "permission": error.permission if isinstance(error, PermissionDeniedError) else None,
            "path": _path_of(error) if isinstance(error, PathPermissionError) else None,
            "traceback": traceback.format_exc(),
        }
    return {
        **_provenance(marks, used, views),
        "status": str(result.status),
        "result": result.result,
        "error_type": result.error_type,
        "error_message": result.error_message,
        "attachments": [
            [each.name, each.media_type, base64.b64encode(each.data).decode(), each.is_for_user]
            for each in result.attachments
        ],
        "loads_groups": result.loads_groups,
    }


def _provenance(marks: Iterable[Mark], used: Iterable[UsedFile], views: FileViews) -> dict[str, Any]:
    return {
        "marks": [[str(each.kind), each.origin] for each in marks],
        "used": [_written_out(each) for each in used],
        "views": views.noted,
    }


def _written_out(used: UsedFile) -> list[Any]:
    state = used.state
    times = [state.modified_ns, state.changed_ns] if state is not None else None
    return [str(used.path), used.use, used.since_ns, times]


def _run(request: Request) -> ToolResult:
    loaded = request.target.load()
    arguments = request.arguments
    if isinstance(loaded, FunctionTool):
        if not request.is_converted:
            converted = loaded.convert(arguments)
            if isinstance(converted, ToolResult):
                return converted
            arguments = converted
        loaded = loaded.function
    return of_kept_size(ToolFunction.of(loaded, request.target.origin).call_here(arguments, request.context))


def _path_of(error: PathPermissionError) -> list[str | None]:
    return [str(error.path), error.detail, None if error.directory is None else str(error.directory)]


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        return "(its message cannot be shown)"
