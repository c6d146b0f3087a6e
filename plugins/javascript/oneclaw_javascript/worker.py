"""Run one JavaScript program; ``running`` starts this module in a fresh interpreter without site packages.

Every call waits until this program has started, so it imports what costs next to nothing. ``json`` alone would double
the time: what is JSON is read and written by JavaScript.

The process can neither open files and connections nor start processes: code that breaks out of the engine finds a
process that holds two pipes.
"""

from __future__ import annotations

import resource
import sys

from oneclaw_core.process import read_exactly, write_all

STACK_BYTES = 1024 * 1024
LENGTH_BYTES = 4
# For telling how a program ended that has used up its memory.
_RESERVE_BYTES = 4 * 1024 * 1024
_FULL = 0.9
# Address space besides JavaScript's memory: the interpreter, and copies of what is passed to the caller.
_OTHER_BYTES = 512 * 1024 * 1024
_INPUT, _OUTPUT = 0, 1
_OPEN_DESCRIPTORS = 3
_READY = b'{"type":"ready"}'
_OUT_OF_MEMORY = (
    b'{"type":"failure","name":"InternalError","message":"out of memory","stack":"",'
    b'"libraries":[],"is_parsed":true,"has_columns":true}'
)


class Worker:
    """Stands between the caller and the engine.

    Args:
        engine: the class of the engine's contexts.
        engine_error: what it raises.
        memory_bytes: what the program may allocate.
    """

    def __init__(self, engine: type, engine_error: type[Exception], memory_bytes: int) -> None:
        self._engine_error = engine_error
        self._memory_bytes = memory_bytes
        # Replies that came while another one was waited for.
        self._early: list[tuple[int, str]] = []
        self._context = engine()
        self._context.set_memory_limit(memory_bytes)
        self._context.set_max_stack_size(STACK_BYTES)
        self._context.add_callable("oneclaw_send", _send)
        self._context.add_callable("oneclaw_ask", self._ask)

    def run(self) -> None:
        """Run the program that the caller sends, and tell how it ended."""
        _, engine_source = _read_frame()
        control = self._context.eval(engine_source)
        _write_frame(_READY)
        _, request = _read_frame()
        try:
            control("run", 0, request)
            self._run_jobs()
            while control("status", 0, ""):  # a reply is on its way
                control("deliver", *(self._early.pop(0) if self._early else _read_frame()))
                self._run_jobs()
        except self._engine_error:  # there is no memory left for what the engine itself has to do
            pass
        is_full = self._context.memory()["malloc_size"] > self._memory_bytes * _FULL
        self._context.set_memory_limit(self._memory_bytes + _RESERVE_BYTES)
        try:
            control("finish", int(is_full), "")
        except self._engine_error:
            _write_frame(_OUT_OF_MEMORY)

    def _run_jobs(self) -> None:
        while self._context.execute_pending_job():
            pass

    def _ask(self, frame: str, wanted: int) -> str:
        """Send a request and wait for its reply; called by JavaScript."""
        _send(frame)
        while True:
            identifier, reply = _read_frame()
            if identifier == wanted:
                return reply
            self._early.append((identifier, reply))


def _send(frame: str) -> None:
    _write_frame(frame.encode())


def _write_frame(data: bytes) -> None:
    write_all(_OUTPUT, len(data).to_bytes(LENGTH_BYTES, "big") + data)


def _read_frame() -> tuple[int, str]:
    length = int.from_bytes(read_exactly(_INPUT, LENGTH_BYTES), "big")
    identifier = int.from_bytes(read_exactly(_INPUT, LENGTH_BYTES), "big")
    return identifier, read_exactly(_INPUT, length).decode()


def _limit(memory_bytes: int, cpu_seconds: int) -> None:
    """Take away from this process whatever running a program does not need."""
    limits = (
        (resource.RLIMIT_AS, memory_bytes + _OTHER_BYTES),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_NOFILE, _OPEN_DESCRIPTORS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, value in limits:
        hard = resource.getrlimit(kind)[1]
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (lowest, lowest))
        except (ValueError, OSError):  # macOS knows no limit of the address space; the engine has its own
            continue


def main() -> None:
    """Serve the caller at the other end of standard input and output."""
    memory_bytes, cpu_seconds = map(int, sys.argv[1:])
    # The package quickjs gives out the same names, but takes 20 ms to import and starts a thread.
    from _quickjs import Context, JSException  # type: ignore[import-not-found]  # compiled, without types

    _limit(memory_bytes, cpu_seconds)
    Worker(Context, JSException, memory_bytes).run()
