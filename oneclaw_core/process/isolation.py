"""Run isolated tools: each call in a fresh process, so that a crash or a hang affects nothing else.

The environment of the process holds no keys, and the process may do what the tool's permissions and the arguments of
the call say. The request is pickled. The answer is JSON, so that nothing a tool sends is unpickled here.
:mod:`oneclaw_core.process.isolated_call` is the side of the process.
"""

from __future__ import annotations

import atexit
import base64
import fcntl
import json
import logging
import os
import pickle
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError, PermissionDeniedError, ToolDefinitionError
from oneclaw_core.files.hidden_paths import user_directory
from oneclaw_core.files.paths import PathPermissionError
from oneclaw_core.process.python_runner import PythonProcess, describe_end, python_process
from oneclaw_core.process.python_worker import LENGTH_BYTES
from oneclaw_core.process.sandbox.policy import Network, SandboxPolicy
from oneclaw_core.secrets.redaction import without_secrets
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.provenance import FileState, Mark, MarkKind, UsedFile
from oneclaw_core.types.tools import FileChange, ToolResult, ToolResultStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.invoke import FunctionTarget

_PIECE_BYTES = 1 << 20
_PRELOADED = (
    "oneclaw_core.process.isolated_call",
    "oneclaw_core.tools.context",
    "oneclaw_core.files.access",
    "oneclaw_core.files.paths",
)
# As JSON: a text of the most characters that are kept, of six bytes each, and some attachments.
MAX_ANSWER_BYTES = 200_000_000

_MOST_TEXTS = 100
_MOST_PATH_CHARACTERS = 4096
_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
# What libraries and programs are, and look up, wherever they run. Nothing in it is a secret of the user.
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/dev/random", "/dev/urandom",
    "/etc/alternatives", "/etc/fonts", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/passwd", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/timezone", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip
_NETWORK = ("/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/services", "/etc/protocols")
_PREFIX = "oneclaw-workers-"
# One that was just made may not be locked yet.
_LEAST_AGE_SECONDS = 60

_log = logging.getLogger("oneclaw.executor")


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
            :func:`isolated_policy`.

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
        request = _pack(target, arguments, there, is_converted=is_converted)
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
        answer = await _exchange(process, request)
        if answer is None:
            return ToolResult.error(
                "execution_error",
                f"The tool was stopped: its answer is longer than {MAX_ANSWER_BYTES:,} bytes. Ask for a smaller part.",
            )
        await process.wait()
        return _result_of(answer, process.returncode, target, context)


def _pack(target: FunctionTarget, arguments: dict[str, Any], context: ToolContext, *, is_converted: bool) -> bytes:
    try:
        data = pickle.dumps((target, arguments, context, is_converted), protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ToolDefinitionError(
            f"{target.origin}: its arguments cannot be sent to a worker process: {error}; "
            "use types that can be pickled, or leave out isolation='process'"
        ) from error
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


async def _exchange(process: PythonProcess, request: bytes) -> bytes | None:
    """Send a request; return the answer, ``None`` if it is too long."""
    await process.send(request)
    answer = bytearray()
    while part := await process.stdout.read(_PIECE_BYTES):
        answer += part
        if len(answer) > MAX_ANSWER_BYTES:
            return None
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
    context.marks += (Mark(MarkKind(each["kind"]), each["origin"]) for each in fields["marks"])
    for each in fields["used"]:
        state = each["state"] and FileState(**each["state"])
        context.paths.used.append(UsedFile(**each | {"path": Path(each["path"]), "state": state}))
    context.paths.views.add(fields["views"])
    if "raised" in fields:
        raise _error_of(fields)
    result = fields["result"]
    attachments = [Attachment(**each | {"data": base64.b64decode(each["data"])}) for each in result["attachments"]]
    parts = {
        "status": ToolResultStatus(result["status"]),
        "attachments": tuple(attachments),
        "loads_groups": tuple(result["loads_groups"]),
        "changes": tuple(FileChange(**each) for each in result["changes"]),
    }
    return ToolResult(**result | parts)


def _error_of(fields: Mapping[str, Any]) -> OneClawError:
    """Make the exception that stands for one of the process."""
    error: OneClawError
    if fields["path"] is not None:
        path, detail, directory = fields["path"]
        place = None if directory is None else Path(directory)
        error = PathPermissionError(fields["permission"], detail, Path(path), place)
    elif fields["permission"] is not None:
        error = PermissionDeniedError(fields["message"], fields["permission"])
    else:
        error = type(fields["raised"], (WorkerError,), {})(fields["message"])
    error.add_note("In the worker process:\n" + fields["traceback"])
    return error


def isolated_policy(
    permissions: Iterable[str], arguments: Mapping[str, object], context: ToolContext, temporary: Path
) -> SandboxPolicy:
    """Return what the process of an isolated call may do.

    It reads the files that its arguments name, as far as tools may, and what Python and its libraries consist of. It
    writes the workspace if the tool needs ``files.write``, and connects if it needs one such as ``network.public``.

    Args:
        permissions: those that the tool requires.
        arguments: of the call; each text in them may be a path.
        context: of the call, as its process gets it.
        temporary: a directory for this call alone.
    """
    required = {permission.partition(":")[0] for permission in permissions}
    has_network = any(permission.startswith("network.") for permission in required)
    is_writing = "files.write" in required and "files.write" not in context.paths.denied
    python = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *filter(None, sys.path))
    wanted = {Path(each).resolve() for each in (*_SYSTEM, *(_NETWORK if has_network else ()), *python)}
    # What holds the user's own is left out, such as the directory of a program beside it.
    closed = [each.resolve() for each in (context.home, user_directory()) if each is not None]
    read = wanted.difference(closed, *(each.parents for each in closed)).union(_named_files(arguments, context))
    return SandboxPolicy(
        write_roots=(*map(Path, _WRITABLE_DEVICES), *(_written(context) if is_writing else ())),
        # What lies in another directory is left out: Landlock lets none be listed that has a rule for a part of it.
        read_roots=tuple(sorted(each for each in read if read.isdisjoint(each.parents))),
        is_system_readable=False,
        network=Network.ALL if has_network else Network.NONE,
        temporary=temporary.resolve(),
    )


def _written(context: ToolContext) -> Iterator[Path]:
    yield context.paths.workspace.resolve()
    for name in context.paths.granted:
        permission, _, path = name.partition(":")
        if permission == "files.write":
            yield Path(path).parent  # a file is written beside its place, and renamed


def _named_files(arguments: Mapping[str, object], context: ToolContext) -> Iterator[Path]:
    for text in islice(_texts(arguments), _MOST_TEXTS):
        try:
            # It counts as read by the call: a process that was taken over may not tell.
            found = context.paths.readable(text)
        except (PermissionDeniedError, OSError, ValueError):  # it is no path, or none for tools
            continue
        if found.is_file():  # a directory could hold hidden files
            yield found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        text = str(value)
        if 0 < len(text) <= _MOST_PATH_CHARACTERS and "\0" not in text:
            yield text
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)


def worker_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for the temporary files of a process, to be used as a context manager that removes it.

    All folders of a program lie in one that it holds a lock on until it ends, however that happens: those of a program
    that was killed are removed by the next one.

    Raises:
        OSError: it cannot be made.
    """
    if not _folder_of(os.getpid()).is_dir():  # removed as an old temporary file
        _folder_of.cache_clear()
    return tempfile.TemporaryDirectory(dir=_folder_of(os.getpid()), ignore_cleanup_errors=True)


@lru_cache(maxsize=1)
def _folder_of(process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)  # closed by the end of the process
    with suppress(OSError):  # a file system without locks; none is removed there either
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_left(folder.parent)
    return folder


def _remove_left(directory: Path) -> None:
    """Remove the folders of programs that have ended without doing so."""
    latest = time.time() - _LEAST_AGE_SECONDS
    for each in directory.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is gone, or its program goes on
            descriptor = os.open(each, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                found = os.fstat(descriptor)
                if found.st_uid == os.getuid() and found.st_mtime < latest:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(each, ignore_errors=True)
            finally:
                os.close(descriptor)
