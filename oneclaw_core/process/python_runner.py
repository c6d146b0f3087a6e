"""Start a Python function in a subprocess, exchange data with it, and leave nothing running."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from oneclaw_core.process.python_worker import has_group, kill_descendants, kill_group
from oneclaw_core.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

# How long a process that has answered may take to end by itself, and a killed one to be gone.
EXIT_SECONDS = 2.0
_BUFFER_BYTES = 1 << 20
_START = "import sys; sys.path[:] = sys.argv.pop(1).split('\\n'); from oneclaw_core.process.{0} import main; main()"
_START_BARE = "import sys; sys.path += sys.argv.pop(1).split('\\n'); from {0} import main; main()"
_HERE = str(Path(__file__).parent)


class PythonProcess:
    """A process that runs a Python function, with pipes to its standard input and output.

    Attributes:
        stdin: Sends to the function; closing it ends the process.
        stdout: Receives from the function; the end of the stream is the end of its answers.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        receiving: asyncio.ReadTransport,
    ) -> None:
        self._process = process
        self._receiving = receiving
        self.stdin = stdin
        self.stdout = stdout

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group and session."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, below 0 for the signal that ended it; ``None`` before :meth:`wait` has seen the end."""
        return self._process.returncode

    @property
    def has_left_processes(self) -> bool:
        """True if processes of its group run on after its end."""
        return has_group(self.pid)

    async def send(self, data: bytes) -> None:
        """Send data; does nothing if the process has ended, which reading tells."""
        with suppress(ConnectionError):
            self.stdin.write(data)
            await self.stdin.drain()

    async def wait(self, timeout_seconds: float = EXIT_SECONDS) -> bool:
        """Wait for the end of the process.

        Returns:
            True if it has ended.
        """
        if self._process.poll() is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(run_in_thread(self._process.wait), timeout_seconds)
        return self._process.returncode is not None

    async def end(self) -> None:
        """Kill the process, its process group and its descendants, and close the pipes."""
        import anyio

        if self._process.poll() is None:
            kill_descendants(self.pid)
        kill_group(self.pid)
        if not self.stdin.is_closing():
            self.stdin.transport.abort()
        self._receiving.close()
        # A task that is being cancelled waits too; a killed process ends soon.
        with anyio.CancelScope(shield=True):
            await self.wait()
            with suppress(ConnectionError):
                await self.stdin.wait_closed()
            await asyncio.sleep(0)  # the loop may be closed next, and closes the other pipe now


@asynccontextmanager
async def python_process(
    target: str,
    *arguments: str,
    is_bare: bool = False,
    search_path: Sequence[str] | None = None,
    options: Sequence[str] = (),
    directory: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    stderr: IO[bytes] | None = None,
) -> AsyncIterator[PythonProcess]:
    """Run a Python function in a fresh interpreter, in a new session and process group.

    The function reads standard input and writes standard output, or takes both with
    :func:`oneclaw_core.process.take_pipes`. When the block is left, also by cancellation, the process is killed with
    everything that it has started. The same happens when this process ends, even by SIGKILL.

    The standard library's and anyio's process pools are not used: they run the caller's main script again in each
    worker, import from the working directory, and mix what a function prints with its answers.

    Example::

        async with python_process("package.module:serve", "argument") as process:
            await process.send(b"request")
            async with asyncio.timeout(30):
                answer = await process.stdout.read()

    Args:
        target: ``module:function``; the function takes nothing.
        arguments: ``sys.argv[1:]`` of the function.
        is_bare: Start fast: without site packages, unaffected by environment variables of Python, and without
            adopting orphans. Such a function imports the standard library, ``search_path``, and
            ``python_worker`` for what :func:`take_pipes` does elsewhere.
        search_path: Directories to import from; by default ``sys.path`` of this process.
        options: Options of the interpreter.
        directory: The working directory; nothing is imported from it.
        environ: The environment; by default that of this process.
        stderr: A file for standard error; by default it is discarded.

    Yields:
        The process.

    Raises:
        OSError: It cannot be started.
    """
    process = await start_python(
        "python_worker",
        target,
        *arguments,
        is_bare=is_bare,
        search_path=search_path,
        options=options,
        directory=directory,
        environ=environ,
        stderr=stderr,
    )
    try:
        yield process
    finally:
        await process.end()


async def start_python(
    module: str,
    *arguments: str,
    is_bare: bool,
    search_path: Sequence[str] | None = None,
    options: Sequence[str] = (),
    directory: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    stderr: IO[bytes] | None = None,
    pass_descriptors: Sequence[int] = (),
) -> PythonProcess:
    """Run ``main()`` of a module of this package in a fresh interpreter; the caller must end the process.

    Args:
        module: The name of the module.
        arguments: See :func:`python_process`, also for what follows.
        is_bare: True to import the module and its neighbours without this package.
        search_path: Directories to import from.
        options: Options of the interpreter.
        directory: The working directory.
        environ: The environment.
        stderr: A file for standard error.
        pass_descriptors: Descriptors that the process inherits.
    """
    path = [_HERE, *(search_path or ())] if is_bare else sys.path if search_path is None else search_path
    inherited: dict[str, Any] = {"pass_fds": pass_descriptors} if pass_descriptors else {}
    process = subprocess.Popen(  # noqa: ASYNC220, S603  # Python itself, with a fixed program
        [
            sys.executable,
            *(("-I", "-S") if is_bare else ("-P",)),
            *options,
            "-c",
            (_START_BARE if is_bare else _START).format(module),
            "\n".join(map(str, path)),
            *arguments,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if stderr is None else stderr,
        cwd=directory,
        env=None if environ is None else dict(environ),
        start_new_session=True,
        **inherited,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    loop = asyncio.get_running_loop()
    stdout = asyncio.StreamReader(limit=_BUFFER_BYTES)
    receiving: asyncio.ReadTransport | None = None
    try:
        receiving, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), process.stdout)
        # The only public protocol with the flow control that a writer needs.
        sending, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), process.stdin
        )
    except BaseException:
        kill_group(process.pid)
        process.stdin.close()
        (receiving or process.stdout).close()
        process.wait()
        raise
    return PythonProcess(process, asyncio.StreamWriter(sending, protocol, None, loop), stdout, receiving)


def describe_end(returncode: int | None) -> str:
    """Describe how a process ended, as the end of a sentence.

    Args:
        returncode: Below 0 for the signal that ended it; ``None`` if it has not ended.
    """
    if returncode is None:
        return "went silent"
    if returncode >= 0:
        return f"ended with exit status {returncode}"
    try:
        return f"was ended by signal {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"
