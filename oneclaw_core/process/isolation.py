"""Run isolated tools: each call in a fresh process, so that a crash or a hang affects nothing else.

The environment of the process holds no keys. The request is pickled. The answer is JSON, so that nothing a tool sends
is unpickled here.
"""

from __future__ import annotations

import base64
import json
import logging
import pickle
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError, PermissionDeniedError, ToolDefinitionError
from oneclaw_core.files.paths import PathPermissionError
from oneclaw_core.process.isolated_call import LENGTH_BYTES, Request
from oneclaw_core.process.isolation_policy import isolated_policy
from oneclaw_core.process.python_runner import describe_end, python_process
from oneclaw_core.process.temporary_folders import worker_folder
from oneclaw_core.secrets.redaction import without_secrets
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.provenance import FileState, Mark, MarkKind, UsedFile
from oneclaw_core.types.tools import ToolResult, ToolResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.process.python_runner import PythonProcess
    from oneclaw_core.process.sandbox.policy import SandboxPolicy
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.deferred_tool import FunctionTarget

_PIECE_BYTES = 1 << 20
_PRELOADED = (
    "oneclaw_core.process.isolated_call",
    "oneclaw_core.tools.context",
    "oneclaw_core.files.access",
    "oneclaw_core.files.paths",
)
# As JSON: a text of the most characters that are kept, of six bytes each, and some attachments.
MAX_ANSWER_BYTES = 200_000_000

_log = logging.getLogger("oneclaw.executor")


class _AnswerTooLongError(Exception):
    """The worker's answer exceeds the limit."""


class WorkerError(OneClawError):
    """A function raised an exception in its worker process.

    What is raised is a subclass with the name of the original exception's type, and its message; a note holds the
    original traceback. The exception itself stays where it was: it may be impossible to send.
    """


async def call_in_process(
    target: FunctionTarget,
    arguments: dict[str, Any],
    context: ToolContext,
    *,
    is_converted: bool,
    permissions: Iterable[str] = (),
) -> ToolResult:
    """Call a function in a confined process; cancelling kills the process and whatever it started.

    Args:
        target: a synchronous function at the top level of a module, or a tool made of one.
        arguments: by name.
        context: of the call; the worker gets it without services.
        is_converted: whether the arguments are Python values that the function takes, rather than JSON data.
        permissions: those that the tool requires, which decide what its process may do: see
            :func:`oneclaw_core.process.isolation_policy.isolated_policy`.

    Returns:
        Its result; an ``execution_error`` if the process died.

    Raises:
        PermissionDeniedError: the function raised it.
        WorkerError: the function raised anything else.
        ToolDefinitionError: an argument cannot be sent to another process.
    """
    granted: set[str] = set()
    while True:
        there = context.without_services(granted)
        request = _pack(Request(target, arguments, there, is_converted))
        with worker_folder() as temporary:
            policy = isolated_policy(permissions, arguments, there, Path(temporary))
            # What it may read counts as read by the call: a process that was taken over may not tell.
            context.paths.used.extend(there.paths.used)
            try:
                return await _call(request, target, context, policy)
            except PathPermissionError as needed:
                # The worker can ask no one. It did nothing yet with what it may not open, so it runs again.
                if context.paths.questions is None or needed.name in granted:
                    raise
                question = (needed.permission, needed.detail, needed.path, needed.directory)
                await run_in_thread(partial(context.paths.questions.ask, *question))
                granted.add(needed.name)


async def _call(request: bytes, target: FunctionTarget, context: ToolContext, policy: SandboxPolicy) -> ToolResult:
    async with python_process(
        "oneclaw_core.process.isolated_call:serve",
        environ=without_secrets(),
        preload=(*_PRELOADED, target.module),
        policy=policy,
    ) as process:
        try:
            answer = await _exchange(process, request)
        except _AnswerTooLongError:
            return ToolResult.error(
                "execution_error",
                f"The tool was stopped: its answer is longer than {MAX_ANSWER_BYTES:,} bytes. Ask for a smaller part.",
            )
        await process.wait()
        return _result_of(answer, process.returncode, target, context)


def _pack(request: Request) -> bytes:
    try:
        data = pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ToolDefinitionError(
            f"{request.target.origin}: its arguments cannot be sent to a worker process: {error}; "
            "use types that can be pickled, or leave out isolation='process'"
        ) from error
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


async def _exchange(process: PythonProcess, request: bytes) -> bytes:
    await process.send(request)
    answer = bytearray()
    while part := await process.stdout.read(_PIECE_BYTES):
        answer += part
        if len(answer) > MAX_ANSWER_BYTES:
            raise _AnswerTooLongError
    return bytes(answer)


def _result_of(answer: bytes, returncode: int | None, target: FunctionTarget, context: ToolContext) -> ToolResult:
    try:
        fields = json.loads(answer)
    except ValueError:
        cause = describe_end(returncode)
        _log.warning("%s: the worker process %s before it had answered", target.origin, cause)
        return ToolResult.error(
            "execution_error", f"The process that ran the tool {cause} before the tool had finished."
        )
    context.marks += (Mark(MarkKind(kind), origin) for kind, origin in fields["marks"])
    context.paths.used.extend(
        UsedFile(Path(path), use, since_ns, FileState(path, *times) if times else None)
        for path, use, since_ns, times in fields["used"]
    )
    context.paths.views.add(fields["views"])
    if "raised" not in fields:
        return ToolResult(
            ToolResultStatus(fields["status"]),
            fields["result"],
            fields["error_type"],
            fields["error_message"],
            tuple(
                Attachment(name, media_type, base64.b64decode(data), is_for_user=is_for_user)
                for name, media_type, data, is_for_user in fields["attachments"]
            ),
            tuple(fields["loads_groups"]),
        )
    message = fields["message"]
    error: OneClawError
    if fields["path"] is not None:
        path, detail, directory = fields["path"]
        place = None if directory is None else Path(directory)
        error = PathPermissionError(fields["permission"], detail, Path(path), place)
    elif fields["permission"] is not None:
        error = PermissionDeniedError(message, fields["permission"])
    else:
        error = type(fields["raised"], (WorkerError,), {})(message)
    error.add_note("In the worker process:\n" + fields["traceback"])
    raise error
