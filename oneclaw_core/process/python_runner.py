"""Start a Python function in a subprocess, exchange data with it, and leave nothing running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from oneclaw_core.process.forking import CAN_FORK, SERVERS, ForkedProcess, ForkRequest, ServerKind
from oneclaw_core.process.python_worker import has_group, kill_descendants, kill_group, request_of
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from oneclaw_core.process.sandbox.policy import SandboxPolicy

# How long a process that has answered may take to end by itself, and a killed one to be gone.
EXIT_SECONDS = 2.0
_BUFFER_BYTES = 1 << 20
_START = "import sys; sys.path[:] = sys.argv.pop(1).split('\\n'); from {0} import {1}; {1}()"
_START_BARE = _START.replace("[:] =", " +=")
_TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")
# Some Pythons need them to start.
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_ROOT = str(Path(__file__).parents[2])
_WORKER, _FORK_SERVER = (f"oneclaw_core.process.{name}" for name in ("python_worker", "fork_server"))
_CONFINEMENT = "oneclaw_core.process.sandbox.confinement"


class _SpawnedProcess:
    """A process with a separate interpreter; see :class:`~oneclaw_core.process.forking.ForkedProcess`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait(self, timeout_seconds: float) -> None:
        if self._process.poll() is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(run_in_thread(self._process.wait), timeout_seconds)

    def kill(self) -> None:
        if self._process.poll() is None:
            kill_descendants(self.pid)
            self._process.kill()
        kill_group(self.pid)

    def close(self) -> None:
        """Do nothing: the process holds nothing open here."""


class PythonProcess:
    """A process that runs a Python function, with pipes to its standard input and output.

    Attributes:
        pid: The process id, which is also that of its group and session.
        stdin: Sends to the function; closing it ends the process.
        stdout: Receives from the function; the end of the stream is the end of its answers.
    """

    def __init__(
        self,
        process: _SpawnedProcess | ForkedProcess,
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        receiving: asyncio.ReadTransport,
    ) -> None:
        self._process = process
        self.pid = process.pid
        self._receiving = receiving
        self.stdin = stdin
        self.stdout = stdout

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
        await self._process.wait(timeout_seconds)
        return self._process.returncode is not None

    async def end(self) -> None:
        """Kill the process, its process group and its descendants, and close the pipes."""
        import anyio

        self._process.kill()
        if not self.stdin.is_closing():
            self.stdin.transport.abort()
        self._receiving.close()
        # A task that is being cancelled waits too; a killed process ends soon.
        with anyio.CancelScope(shield=True):
            try:
                await self.wait()
            finally:
                self._process.close()
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
    pass_descriptors: Sequence[int] = (),
    preload: Sequence[str] = (),
    policy: SandboxPolicy | None = None,
    ends_itself: bool = False,
) -> AsyncIterator[PythonProcess]:
    """Run a Python function in a separate process, which is not used again, in a new session and process group.

    The function reads standard input and writes standard output, or takes both with
    :func:`~oneclaw_core.process.python_worker.take_pipes`. When the block is left, also by cancellation, the
    process is killed with everything that it has started. The same happens when this process ends, even by SIGKILL.

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
            adopting orphans. Such a function imports the standard library, ``search_path``, and what this package
            exports without dependencies, such as :func:`~oneclaw_core.process.python_worker.take_pipes`.
        search_path: Directories to import from; by default ``sys.path`` of this process.
        options: Options of the interpreter.
        directory: The working directory; nothing is imported from it.
        environ: The environment; by default that of this process.
        stderr: A file for standard error; by default it is discarded.
        pass_descriptors: Descriptors that the process inherits.
        preload: Modules that a process imports ahead. The next calls are served by forks of it, which start faster;
            where a process cannot be forked, by a fresh interpreter. The last module is left out if it starts threads
            or opens files when it is imported.
        policy: Rules that hold for the function and all that it starts, once ``preload`` is imported; its temporary
            directory is put into the environment. Where the system has no Landlock, no files are withheld; where it
            has no seccomp, nothing is.
        ends_itself: True if the function ends everything by itself when standard input is closed.

    Yields:
        The process.

    Raises:
        OSError: It cannot be started.
    """
    path = [*(search_path or ()), _ROOT] if is_bare else sys.path if search_path is None else search_path
    interpreter = (sys.executable, *(("-I", "-S") if is_bare else ("-P",)), *options, "-c")
    start = _START_BARE if is_bare else _START
    joined_path = "\n".join(map(str, path))
    worker_environ = dict(os.environ if environ is None else environ)
    process: _SpawnedProcess | ForkedProcess | None = None
    with ExitStack() as theirs, ExitStack() as on_failure:
        streams, stdin, stdout, receiving = await _open_streams(theirs, on_failure, stderr)
        sandbox: tuple[int, ...] = ()
        if policy is not None:
            sandbox = _sandbox_descriptors(policy, theirs)
            preload = (_CONFINEMENT, *preload)
            if policy.temporary is not None:
                worker_environ |= dict.fromkeys(_TEMPORARY_VARIABLES, str(policy.temporary))
        inherited = (*pass_descriptors, *(each for each in sandbox if each >= 0))
        if preload and CAN_FORK:
            wanted = ForkRequest(streams, None if directory is None else str(directory), inherited)
            command = (*interpreter, start.format(_FORK_SERVER, "main"), joined_path)
            pairs = tuple(sorted(_server_environ(environ, is_bare=is_bare).items()))
            process = await SERVERS.fork(ServerKind(command, tuple(preload), pairs), wanted)
        if process is None:
            module, function = target.split(":") if ends_itself else (_WORKER, "main")
            words = arguments if ends_itself else ()
            process = _SpawnedProcess(
                subprocess.Popen(  # noqa: ASYNC220, S603  # Python itself, with a fixed program
                    [*interpreter, start.format(module, function), joined_path, *words],
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    cwd=directory,
                    env=worker_environ,
                    start_new_session=True,
                    pass_fds=inherited,
                )
            )
        on_failure.pop_all()
    if not ends_itself:
        stdin.write(request_of(target, arguments, worker_environ, sandbox, preload))
    running = PythonProcess(process, stdin, stdout, receiving)
    try:
        yield running
    finally:
        await running.end()


async def _open_streams(
    theirs: ExitStack, on_failure: ExitStack, stderr: IO[bytes] | None
) -> tuple[tuple[int, int, int], asyncio.StreamWriter, asyncio.StreamReader, asyncio.ReadTransport]:
    """Open standard input, output and error of a process; return them, and our ends of the first two."""
    loop = asyncio.get_running_loop()
    (far_input, near_input), (near_output, far_output) = os.pipe(), os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (far_input, far_output, null):
        theirs.callback(os.close, descriptor)
    sending_end = on_failure.enter_context(os.fdopen(near_input, "wb", 0))
    receiving_end = on_failure.enter_context(os.fdopen(near_output, "rb", 0))
    stdout = asyncio.StreamReader(limit=_BUFFER_BYTES)
    receiving, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), receiving_end)
    on_failure.callback(receiving.close)
    # The only public protocol with the flow control that a writer needs.
    sending, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sending_end
    )
    on_failure.callback(sending.abort)
    # What the process does not read at once must not keep its caller from reading.
    sending.set_write_buffer_limits(_BUFFER_BYTES)
    stdin = asyncio.StreamWriter(sending, protocol, None, loop)
    return (far_input, far_output, null if stderr is None else stderr.fileno()), stdin, stdout, receiving


def _sandbox_descriptors(policy: SandboxPolicy, stack: ExitStack) -> tuple[int, ...]:
    """Return descriptors of a Landlock ruleset, -1 for none, and of a seccomp filter; nothing without seccomp."""
    try:
        from oneclaw_core.process.sandbox.landlock import make_ruleset
        from oneclaw_core.process.sandbox.seccomp import filter_file

        program = filter_file(policy)
    except (ImportError, AttributeError, NotImplementedError, OSError):
        return ()
    stack.callback(os.close, program)
    try:
        ruleset = make_ruleset(policy)
    except OSError:
        return -1, program
    stack.callback(os.close, ruleset)
    return ruleset, program


def _server_environ(environ: Mapping[str, str] | None, *, is_bare: bool) -> dict[str, str]:
    """Return the environment of a fork server: without secrets, since every worker gets a copy."""
    if is_bare:
        return {name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ}
    from oneclaw_core.secrets.redaction import without_secrets

    return without_secrets(environ)


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
