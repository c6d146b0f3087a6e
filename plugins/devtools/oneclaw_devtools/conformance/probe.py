"""Probe foreign code in a child process, and report how far it came, whatever it does there."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.process import describe_end, python_process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.process import PythonProcess
    from oneclaw_devtools.scratch import Scratch

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_STDERR_BYTES = 8 * 1024 * 1024
_PIECE_BYTES = 1 << 20

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ProbeEnd:
    """The end of a probe.

    Attributes:
        is_complete: True if the task returned.
        has_hung: True if it was killed because it sent nothing for too long.
        how: the end of a sentence, such as ``ended with exit status 3``.
        failure: the exception that the task raised; ``""`` without one.
        has_left_processes: True if processes that it had started ran on after its end.
    """

    is_complete: bool
    has_hung: bool
    how: str
    failure: str = ""
    has_left_processes: bool = False


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The messages of a probe, and its end.

    Attributes:
        messages: the objects that the task sent, in order.
        end: how it ended.
        stderr: the beginning of its standard error.
    """

    messages: tuple[dict[str, Any], ...]
    end: ProbeEnd
    stderr: str = ""


def run_probe(
    request: Mapping[str, Any],
    scratch: Scratch,
    silence_seconds: float,
    *,
    import_paths: Sequence[str] = (),
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> ProbeOutcome:
    """Run a task in a child process until it ends.

    Args:
        request: JSON data: ``task``, a ``module:function`` that is called with the request and a
            :class:`~oneclaw_devtools.conformance.probe_child.Channel`, and what the task needs.
        scratch: An existing directory for the probe.
        silence_seconds: The longest time without a message, after which it is killed with everything that it has
            started; a message with ``patience_seconds`` sets another limit for the time after it.
        import_paths: Directories to import from before all others.
        options: Options of the interpreter.
        environment: Environment of the process; by default that of the scratch directory.
    """
    request_file = scratch.root / "request.json"
    request_file.write_text(json.dumps(request), encoding="utf-8")
    stderr_file = scratch.root / "stderr.txt"

    async def run() -> tuple[list[dict[str, Any]], ProbeEnd]:
        with stderr_file.open("wb") as stderr:
            async with python_process(
                "oneclaw_devtools.conformance.probe_child:serve",
                str(request_file),
                search_path=[*import_paths, *map(str, sys.path)],
                options=options,
                directory=scratch.work,
                environ=scratch.environment() if environment is None else environment,
                stderr=stderr,
            ) as process:
                return await _converse(process, silence_seconds)

    messages, end = _run_blocking(run())
    return ProbeOutcome(tuple(messages), end, _beginning(stderr_file))


async def _converse(process: PythonProcess, silence_seconds: float) -> tuple[list[dict[str, Any]], ProbeEnd]:
    messages: list[dict[str, Any]] = []
    is_complete, has_hung, failure = False, False, ""
    try:
        async for message in _messages(process.stdout, silence_seconds):
            if "done" in message:
                is_complete = True
            elif "failed" in message:
                failure = str(message["failed"])
            else:
                messages.append(message)
    except TimeoutError:
        has_hung = True
    else:
        await process.wait()
    how = f"did not go on for {silence_seconds:g} s" if has_hung else describe_end(process.returncode)
    return messages, ProbeEnd(is_complete, has_hung, how, failure, not has_hung and process.has_left_processes)


async def _messages(stream: asyncio.StreamReader, silence_seconds: float) -> AsyncIterator[dict[str, Any]]:
    """Yield each message; raise TimeoutError if none comes in time."""
    remaining_bytes = MAX_ANSWER_BYTES
    buffered = bytearray()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + silence_seconds
    while remaining_bytes > 0:
        async with asyncio.timeout_at(deadline):
            piece = await stream.read(min(_PIECE_BYTES, remaining_bytes))
        remaining_bytes -= len(piece)
        buffered += piece
        *lines, rest = buffered.split(b"\n") if b"\n" in piece or not piece else (buffered,)
        buffered = rest
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # the plugin has written there itself
            if isinstance(message, dict):
                patience = message.pop("patience_seconds", None)
                deadline = loop.time() + (patience if isinstance(patience, int | float) else silence_seconds)
                yield message
                if "done" in message or "failed" in message:
                    return
        if not piece:
            return


def _run_blocking(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end from synchronous code, which an event loop may have called."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _beginning(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(MAX_STDERR_BYTES).decode("utf-8", "replace")
