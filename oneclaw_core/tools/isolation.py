"""Running a function in a process of its own, which ends when its time is up.

Each call gets a fresh interpreter: nothing of one call is left for the next, and a crash harms nobody. anyio's and the
standard library's process pools are not used, because they run the caller's main script again in every worker, import
from the directory the program was started in, and take whatever a tool prints for the answer.

The request goes to the worker's standard input, pickled. The answer comes back on what was its standard output, as
JSON, so that nothing a worker says is unpickled here. Standard input stays open as long as the caller lives: at its
end the worker ends too, even if the caller was killed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import pickle
import signal
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from oneclaw_core.errors import OneClawError, PermissionDeniedError, ToolDefinitionError
from oneclaw_core.process.worker_process import EXIT_SECONDS, describe_end, end_process
from oneclaw_core.tools.calling import FunctionTarget, ToolFunction
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.tool_result import ToolResult, ToolResultStatus, of_kept_size

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from oneclaw_core.tools.context import ToolContext

_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from oneclaw_core.tools.isolation import serve; serve()"
)
_LENGTH_BYTES = 8
_PIECE_BYTES = 1 << 20
# As JSON: a text of the most characters that are kept, of six bytes each, and some attachments.
MAX_ANSWER_BYTES = 200_000_000

_log = logging.getLogger("oneclaw.engine")


class _AnswerTooLongError(Exception):
    """The worker sends more than is taken."""


class WorkerError(OneClawError):
    """A function raised an exception in its worker process.

    What is raised is a subclass with the name of the original exception's type, and its message; a note holds the
    original traceback. The exception itself stays where it was: it may be impossible to send.
    """


@dataclass(frozen=True, slots=True)
class _Request:
    target: FunctionTarget
    arguments: dict[str, Any]
    context: ToolContext
    is_converted: bool


async def call_in_process(
    target: FunctionTarget, arguments: dict[str, Any], context: ToolContext, *, is_converted: bool
) -> ToolResult:
    """Call a function in a process of its own; cancelling kills the process and whatever it started.

    Args:
        target: a synchronous function at the top level of a module, or a tool made of one.
        arguments: by name.
        context: of the call; the worker gets it without services.
        is_converted: whether the arguments are Python values that the function takes, rather than JSON data.

    Returns:
        Its result; an ``execution_error`` if the process died.

    Raises:
        PermissionDeniedError: the function raised it.
        WorkerError: the function raised anything else.
        ToolDefinitionError: an argument cannot be sent to another process.
    """
    request = _pack(_Request(target, arguments, context.without_services(), is_converted))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # never import from the working directory, which may hold anything
        "-c",
        _BOOTSTRAP,
        json.dumps([str(entry) for entry in sys.path]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        try:
            answer = await _exchange(process, request)
        except _AnswerTooLongError:
            return ToolResult.error(
                "execution_error",
                f"The tool was stopped: its answer is longer than {MAX_ANSWER_BYTES:,} bytes. Ask for a smaller part.",
            )
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), EXIT_SECONDS)
    finally:
        await end_process(process)
    return _result_of(answer, process.returncode, target)


def _pack(request: _Request) -> bytes:
    try:
        data = pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ToolDefinitionError(
            f"{request.target.origin}: its arguments cannot be sent to a worker process: {error}; "
            "use types that can be pickled, or leave out isolation='process'"
        ) from error
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


async def _exchange(process: Process, request: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # it died; the missing answer says so
        process.stdin.write(request)
        await process.stdin.drain()
    answer = bytearray()
    while part := await process.stdout.read(_PIECE_BYTES):
        answer += part
        if len(answer) > MAX_ANSWER_BYTES:
            raise _AnswerTooLongError
    return bytes(answer)


def _result_of(answer: bytes, returncode: int | None, target: FunctionTarget) -> ToolResult:
    try:
        fields = json.loads(answer)
    except ValueError:
        cause = describe_end(returncode)
        _log.warning("%s: the worker process %s before it had answered", target.origin, cause)
        return ToolResult.error(
            "execution_error", f"The process that ran the tool {cause} before the tool had finished."
        )
    if "raised" not in fields:
        return ToolResult(
            ToolResultStatus(fields["status"]),
            fields["result"],
            fields["error_type"],
            fields["error_message"],
            tuple(
                Attachment(name, media_type, base64.b64decode(data)) for name, media_type, data in fields["attachments"]
            ),
            tuple(fields["loads_groups"]),
        )
    message = fields["message"]
    error: OneClawError
    if fields["permission"] is not None:
        error = PermissionDeniedError(message, fields["permission"])
    else:
        error = type(fields["raised"], (WorkerError,), {})(message)
    error.add_note("In the worker process:\n" + fields["traceback"])
    raise error


def serve() -> None:
    """The worker's side: read one request, run it, write the answer."""
    # What the tool, C code or a child process read and print must not get in between.
    request_descriptor, answer_descriptor = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    length = int.from_bytes(_read(request_descriptor, _LENGTH_BYTES), "big")
    data = _read(request_descriptor, length)
    threading.Thread(target=_end_with_caller, args=(request_descriptor,), daemon=True).start()
    answer = json.dumps(_answer(data)).encode()
    with os.fdopen(answer_descriptor, "wb") as stream, suppress(BrokenPipeError):
        stream.write(answer)


def _read(descriptor: int, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = os.read(descriptor, min(length - len(data), 1 << 20))
        if not part:
            raise SystemExit(1)  # the caller is gone
        data += part
    return bytes(data)


def _end_with_caller(request_descriptor: int) -> NoReturn:
    os.read(request_descriptor, 1)  # nothing more ever comes but the end
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _answer(data: bytes) -> dict[str, Any]:
    try:
        result = _run(pickle.loads(data))  # noqa: S301  # comes from the process that started this one
    except BaseException as error:  # noqa: BLE001  # sys.exit() in a tool is its failure like any other
        return {
            "raised": type(error).__name__,
            "message": _message_of(error),
            "permission": error.permission if isinstance(error, PermissionDeniedError) else None,
            "traceback": traceback.format_exc(),
        }
    return {
        "status": str(result.status),
        "result": result.result,
        "error_type": result.error_type,
        "error_message": result.error_message,
        "attachments": [
            [each.name, each.media_type, base64.b64encode(each.data).decode()] for each in result.attachments
        ],
        "loads_groups": result.loads_groups,
    }


def _run(request: _Request) -> ToolResult:
    from oneclaw_core.tools.function import FunctionTool

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


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        return "(its message cannot be shown)"
