"""A server that is a program: its process, its lines, and what it writes to standard error.

The transport of the SDK reads in quadratic time, has no limit for a line, and shows neither the process nor what it
wrote before its end. This one has the core run the program, so that nothing of it is left when OneClaw ends.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError
from oneclaw_core.process import describe_end, run_program
from oneclaw_core.tools import make_private_directory
from oneclaw_mcp.cleaning import cleaned

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.process import ProgramEnd, SandboxBackend, SandboxPolicy

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_DROPPED_BYTES = 16 * MAX_LINE_BYTES
_KEPT_BYTES = 200
MAX_LOG_BYTES = 1_000_000
_TAIL_BYTES = 8_192
_TAIL_LINES = 20
# What waits to be read by the SDK; a server that sends more does not read answers either.
_MOST_WAITING = 10_000
MAX_WAITING_BYTES = 4 * MAX_LINE_BYTES
# How long a server may take to end by itself.
_CLOSING_SECONDS = 1.0
_PIPE_BYTES = 65_536


class ServerLog:
    """The standard error of a server, in a file of limited length and with its end in memory.

    Args:
        path: the file; a second one beside it holds what was before.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tail = bytearray()
        self._written = 0
        with suppress(OSError):
            make_private_directory(path.parent)
            self._written = path.stat().st_size if path.exists() else 0

    def feed(self, piece: bytes) -> None:
        """Take what was written."""
        self._tail += piece
        del self._tail[:-_TAIL_BYTES]
        with suppress(OSError):
            if self._written + len(piece) > MAX_LOG_BYTES:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
                self._written = 0
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, piece)
            finally:
                os.close(descriptor)
            self._written += len(piece)

    def forget(self) -> None:
        """Let the end begin anew, for another start of the server."""
        self._tail.clear()

    def tail(self) -> str:
        """Return the last lines, cleaned."""
        lines = self._tail.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
        return "\n".join(line for each in lines if (line := cleaned(each, 300)))


class ServerProgram:
    """The running program of a server.

    Args:
        command: the program and its arguments.
        directory: where it runs.
        environ: all its environment.
        log: takes its standard error.
        sandbox: where it runs; ``None`` for no sandbox.

    Attributes:
        fault: why the connection had to be ended, ``""`` if it had not.
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environ: Mapping[str, str],
        log: ServerLog,
        sandbox: tuple[SandboxBackend, SandboxPolicy] | None = None,
    ) -> None:
        self._command, self._directory, self._environ = command, directory, environ
        self._log = log
        self._sandbox = sandbox
        self.fault = ""
        self._buffer = bytearray()
        self._dropped_bytes = 0
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting_bytes = 0
        self._running: asyncio.Task[ProgramEnd] | None = None
        self._input = -1
        self._unsent = bytearray()
        self._flushing: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def end(self) -> str:
        """The way that the program ended by itself, as the end of a sentence; ``""`` if it did not."""
        if self._is_stopped or self._running is None or not self._running.done() or self._running.cancelled():
            return ""
        error = self._running.exception()
        return f"cannot be run: {error}" if error is not None else describe_end(self._running.result().exit_code)

    @property
    def is_in_sandbox(self) -> bool:
        """True if the program runs in a sandbox."""
        return self._sandbox is not None

    @property
    def has_ended(self) -> bool:
        """True if the program has ended, or its connection."""
        return bool(self.fault) or (self._running is not None and self._running.done())

    @property
    def has_exited(self) -> bool:
        """True if the program has run, and ended by itself."""
        running = self._running
        is_done = running is not None and running.done() and not running.cancelled() and not self._is_stopped
        return is_done and running is not None and running.exception() is None

    def start(self) -> None:
        """Start the program; what is wrong with it is seen by reading."""
        reading, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._running = asyncio.get_running_loop().create_task(self._run(reading))

    async def ended(self) -> None:
        """Wait for the end of the program."""
        if self._running is not None:
            await asyncio.wait({self._running})

    async def _run(self, reading: int) -> ProgramEnd:
        try:
            return await run_program(
                self._command,
                directory=self._directory,
                environ=self._environ,
                timeout_seconds=None,
                on_stdout=self._feed,
                on_stderr=self._log.feed,
                sandbox=self._sandbox,
                stdin=reading,
            )
        finally:
            os.close(reading)
            self._lines.put_nowait(None)

    def _feed(self, piece: bytes) -> None:
        if self.fault:
            return
        first, *others = piece.split(b"\n")
        self._add(first)
        for each in others:
            if self._dropped_bytes:
                self._buffer += f" [a line of more than {MAX_LINE_BYTES // 1024**2} MiB]".encode()
                self._dropped_bytes = 0
            self._waiting_bytes += len(self._buffer)
            self._lines.put_nowait(bytes(self._buffer))
            self._buffer.clear()
            self._add(each)
        if self._dropped_bytes > MAX_DROPPED_BYTES:
            self._fail(f"it sent a line of more than {MAX_DROPPED_BYTES // 1024**2} MiB")
        elif self._lines.qsize() > _MOST_WAITING or self._waiting_bytes > MAX_WAITING_BYTES:
            self._fail(
                f"it sent more than {_MOST_WAITING:,} messages that could not be read in time, or very long ones"
            )

    def _add(self, piece: bytes) -> None:
        """Add to the line that is being received; of one that is too long its beginning is kept, which has its id."""
        if not self._dropped_bytes:
            self._buffer += piece
        else:
            self._dropped_bytes += len(piece)
        if len(self._buffer) > MAX_LINE_BYTES:
            self._dropped_bytes = len(self._buffer) - _KEPT_BYTES
            del self._buffer[_KEPT_BYTES:]

    def _fail(self, fault: str) -> None:
        self.fault = fault
        self._buffer.clear()
        if self._running is not None:
            self._running.cancel()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """Give the streams of messages that a client of the SDK takes; ends the program afterwards."""
        import anyio

        from oneclaw_mcp.stdio_streams import ReceivedMessages, SentMessages

        try:
            yield ReceivedMessages(self._lines, self._log, self._take), SentMessages(self._write)
        finally:
            with anyio.CancelScope(shield=True):
                await self.close()

    def _take(self, line: bytes) -> None:
        self._waiting_bytes -= len(line)

    async def _write(self, data: bytes) -> None:
        """Write to the program; one that has ended, or reads nothing, is seen elsewhere."""
        # A call that is cancelled leaves the rest of its message here, which is written nevertheless.
        if len(self._unsent) > MAX_WAITING_BYTES:
            self._fail("it does not read what it is sent")
            return
        self._unsent += data
        if self._flushing is None or self._flushing.done():
            self._write_some()
            if not self._unsent:
                return
            self._flushing = asyncio.get_running_loop().create_task(self._flush())
        await asyncio.wait({self._flushing})

    def _write_some(self) -> None:
        """Write as much as the pipe takes."""
        try:
            while self._unsent and self._input >= 0:
                del self._unsent[: os.write(self._input, self._unsent[:_PIPE_BYTES])]
        except BlockingIOError:
            return
        except OSError:
            pass
        self._unsent.clear()

    async def _flush(self) -> None:
        """Write what is left as the program reads it."""
        loop = asyncio.get_running_loop()
        while self._unsent and self._input >= 0:
            writable = asyncio.Event()
            loop.add_writer(self._input, writable.set)
            try:
                await writable.wait()
            finally:
                loop.remove_writer(self._input)
            self._write_some()

    async def close(self) -> None:
        """End the program: its input ends, and what is left a second later is killed."""
        running = self._running
        if self._flushing is not None and not self._flushing.done():
            self._flushing.cancel()
            await asyncio.wait({self._flushing})
        if self._input >= 0:
            os.close(self._input)
            self._input = -1
        if running is None:
            return
        self._is_stopped = self._is_stopped or not running.done()
        await asyncio.wait({running}, timeout=_CLOSING_SECONDS)
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
        if (
            not running.cancelled()
            and (error := running.exception()) is not None
            and not isinstance(error, OneClawError | OSError | ValueError)
        ):
            raise error
