"""Running a shell command with everything that it starts, and leaving none of it behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.builtin.supervisor import (
    GRACE_SECONDS,
    LENGTH_BYTES,
    NAMED_PROCESSES,
    SEPARATOR,
    descendants,
)
from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_PIECE_BYTES = 65_536
# What a pipe can still hold when everybody who wrote into it has ended.
_REMAINING_BYTES = 1_048_576
# Beyond the grace that processes get; the engine waits two seconds in all for a cancelled tool.
_STOPPING_SECONDS = GRACE_SECONDS + 0.8


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended.

    Attributes:
        exit_code: of the shell, below 0 for the signal that ended it; ``None`` if the command was stopped.
        left_count: how many processes that it had left in the background were ended with it.
        left_names: the beginnings of the command lines of some of them.
        detached_count: how many go on, in sessions of their own.
        detached_names: the beginnings of the command lines of some of them.
    """

    exit_code: int | None
    left_count: int = 0
    left_names: tuple[str, ...] = ()
    detached_count: int = 0
    detached_names: tuple[str, ...] = ()


async def run_command(
    command: str,
    *,
    directory: Path,
    environ: Mapping[str, str],
    timeout_seconds: float,
    on_stdout: Callable[[bytes], None],
    on_stderr: Callable[[bytes], None],
) -> CommandEnd:
    """Run a command by the shell, without a terminal and without input.

    All that it has started is ended when its time is up, when this is cancelled, and when this process ends. When the
    shell ends by itself, what it has left in its session is ended, and what has a session of its own goes on.

    Args:
        command: for ``sh -c``; without NUL characters.
        directory: where it runs.
        environ: its environment.
        timeout_seconds: how long it may run.
        on_stdout: gets its output piece by piece.
        on_stderr: gets its error output.

    Raises:
        OSError: the directory cannot be entered, or the machine has no room for another process.
        OneClawError: the process that watches over the command was ended by somebody else.
    """
    with ExitStack() as stack:
        stdout = stack.enter_context(closing(_Drain(on_stdout)))
        stderr = stack.enter_context(closing(_Drain(on_stderr)))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",  # neither the environment nor the directory has a say in what is imported
            "-S",
            _SUPERVISOR,
            str(stdout.write_end),
            str(stderr.write_end),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(stdout.write_end, stderr.write_end),
            start_new_session=True,
            cwd=directory,
            env=environ,
        )
        try:
            async with asyncio.timeout(timeout_seconds):
                report = await _exchange(process, command.encode())
        except TimeoutError:
            report = SEPARATOR.join((b"", b"0", b"0"))
        finally:
            await _stop(process)
        stdout.read_remaining()
        stderr.read_remaining()
    return _end_of(report)


async def _exchange(process: Process, command: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # it died; the missing report says so
        process.stdin.write(len(command).to_bytes(LENGTH_BYTES, "big") + command)
        await process.stdin.drain()
    return await process.stdout.read()


async def _stop(process: Process) -> None:
    """End whatever still runs of the command; should this be cancelled again, the supervisor does it all the same."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _STOPPING_SECONDS)
    except TimeoutError:  # somebody has stopped it with a signal, or its victims cannot be ended
        for pid in (*descendants(process.pid), process.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()
    await process.stdout.read()


def _end_of(report: bytes) -> CommandEnd:
    exit_code, *counts_and_names = report.split(SEPARATOR)
    if len(counts_and_names) < 2:
        raise OneClawError(
            "the process that watches over the command was ended by somebody else, perhaps by the command itself"
        )
    left_count, detached_count = map(int, counts_and_names[:2])
    names = [name.decode("utf-8", "replace") for name in counts_and_names[2:]]
    named_left = min(left_count, NAMED_PROCESSES)
    return CommandEnd(
        int(exit_code) if exit_code else None,
        left_count,
        tuple(names[:named_left]),
        detached_count,
        tuple(names[named_left:]),
    )


class _Drain:
    """A pipe that never gets full: what is written into it is passed on as it comes.

    Attributes:
        write_end: for the process that writes.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read_end, self._read)

    def read_remaining(self) -> None:
        """Read what is there by now, without waiting for an end: a process that goes on may hold the pipe open."""
        read_bytes = 0
        while (count := self._read()) and read_bytes < _REMAINING_BYTES:
            read_bytes += count

    def close(self) -> None:
        """Read no more; who still writes is told by ``SIGPIPE``."""
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        os.close(self.write_end)

    def _read(self) -> int:
        """Read a piece; 0 at the end, and as long as there is none."""
        try:
            piece = os.read(self._read_end, _PIECE_BYTES)
        except BlockingIOError:
            return 0
        self._take(piece)
        return len(piece)
