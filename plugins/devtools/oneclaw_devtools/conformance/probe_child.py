"""The child's side of a probe: its channel to the parent, the task, and what that changed of the process."""

from __future__ import annotations

import atexit
import json
import logging
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from json import dumps  # as it is before a plugin changes it
from typing import TYPE_CHECKING, Any, NoReturn

from oneclaw_core.process import describe_error, write_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


EXIT_SECONDS = 2.0

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_COMES_TO_ITS_END = 42
_RAISES_SYSTEM_EXIT = 43
# Replaced by those who use them as they are meant to be used.
_REPLACEABLE = frozenset({"sys.excepthook", "sys.displayhook", "sys.unraisablehook", "warnings.showwarning"})

SHOWN_CHARACTERS = 300
MAX_FILE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The state of the process.

    Attributes:
        directory: the current one.
        environ: the environment.
        logging_state: the root logger's handlers and level.
        signal_handlers: of the signals that end the program.
        streams: standard output and error.
        hooks: what shows exceptions that are not caught.
        threads: that run, by their number: the name, and True for a daemon.
        import_state: where modules are found.
        exit_functions: how many functions are called at the end of the program.
        library: the functions and classes of the standard library, as far as it is imported, by module.
    """

    directory: str
    environ: dict[str, str]
    logging_state: tuple[int, int]
    signal_handlers: tuple[Any, ...]
    streams: tuple[int, int]
    hooks: tuple[int, ...]
    threads: dict[int, tuple[str, bool]]
    import_state: tuple[tuple[str, ...], tuple[int, ...]]
    exit_functions: int
    library: dict[str, tuple[object, dict[str, object]]]

    @classmethod
    def now(cls) -> ProcessState:
        """Look at them."""
        try:
            directory = os.getcwd()  # noqa: PTH109  # as text, which nothing can intercept
        except OSError:
            directory = ""
        return cls(
            directory,
            dict(os.environ),
            (len(logging.getLogger().handlers), logging.getLogger().level),
            tuple(signal.getsignal(each) for each in _SIGNALS),
            (id(sys.stdout), id(sys.stderr)),
            (id(sys.excepthook), id(sys.unraisablehook), id(threading.excepthook)),
            {
                each.ident or 0: (each.name, each.daemon)
                for each in threading.enumerate()
                if not each.name.startswith("oneclaw ")
            },
            (tuple(map(str, sys.path)), tuple(id(each) for each in sys.meta_path)),
            atexit._ncallbacks(),
            _library(),
        )

    def changes(self) -> list[str]:
        """Say what is different now, each in a few words; never a value of the environment."""
        now = ProcessState.now()
        return [*self._dangers(now), *self._others(now)]

    def dangers(self) -> list[str]:
        """Say what is different now that can harm others, or the end of the program."""
        return self._dangers(ProcessState.now())

    def _dangers(self, now: ProcessState) -> list[str]:
        lasting = sorted(
            name for number, (name, is_daemon) in now.threads.items() if number not in self.threads and not is_daemon
        )
        replaced = sorted(_replaced(self.library, now.library))
        found = {
            f"threads were started that keep the program from ending ({_some(lasting)})": bool(lasting),
            f"the standard library was changed ({_some(replaced)})": bool(replaced),
        }
        return [what for what, is_changed in found.items() if is_changed]

    def _others(self, now: ProcessState) -> list[str]:
        changed = {name for name, value in now.environ.items() if self.environ.get(name) != value}
        names = sorted(changed | (self.environ.keys() - now.environ.keys()))
        daemons = sorted(
            name for number, (name, is_daemon) in now.threads.items() if number not in self.threads and is_daemon
        )
        found = {
            "the current directory": self.directory != now.directory,
            f"environment variables ({_some(names)})": bool(names),
            "the root logger": self.logging_state != now.logging_state,
            "the handlers of signals": self.signal_handlers != now.signal_handlers,
            "sys.stdout or sys.stderr": self.streams != now.streams,
            "what shows uncaught exceptions (sys.excepthook)": self.hooks != now.hooks,
            f"threads that run ({_some(daemons)})": bool(daemons),
            "where modules are found (sys.path, sys.meta_path)": self.import_state != now.import_state,
        }
        return [what for what, is_changed in found.items() if is_changed]


def exit_fault() -> str:
    """Run the functions for the end of the program in a forked process; say how they end it, ``""`` if they do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which do not go on there
        process = os.fork()
    if process == 0:
        sys.unraisablehook = _end_at_system_exit
        try:
            atexit._run_exitfuncs()
        finally:
            os._exit(_COMES_TO_ITS_END)
    deadline = time.monotonic() + EXIT_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(status)
            if status == _RAISES_SYSTEM_EXIT:
                return "a function for its end (atexit) raises SystemExit"
            how = f"exit status {status}" if status >= 0 else f"signal {-status}"
            return "" if status == _COMES_TO_ITS_END else f"a function for its end (atexit) ends the program with {how}"
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "a function for its end (atexit) does not end"


def _end_at_system_exit(raised: sys.UnraisableHookArgs) -> None:
    """End the forked process at a ``SystemExit`` of a function for the end; other exceptions end nothing."""
    if issubclass(raised.exc_type, SystemExit):
        os._exit(_RAISES_SYSTEM_EXIT)


def _library() -> dict[str, tuple[object, dict[str, object]]]:
    found: dict[str, tuple[object, dict[str, object]]] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in sys.stdlib_module_names and not name.startswith("_") and module is not None:
            attributes = list(getattr(module, "__dict__", {}).items())
            # A plugin can add a name that is no text.
            public = {each: value for each, value in attributes if isinstance(each, str) and not each.startswith("_")}
            found[name] = module, {each: value for each, value in public.items() if callable(value)}
    return found


def _replaced(
    before: dict[str, tuple[object, dict[str, object]]], now: dict[str, tuple[object, dict[str, object]]]
) -> set[str]:
    found: set[str] = set()
    for name, (module, attributes) in before.items():
        if name not in now:
            continue
        other_module, others = now[name]
        if other_module is not module:
            found.add(name)
            continue
        found |= {
            f"{name}.{each}" for each, value in attributes.items() if each in others and others[each] is not value
        }
        # Set to something that cannot be called at all.
        found |= {f"{name}.{each}" for each in attributes.keys() - others.keys() if each in vars(other_module)}
    return found - _REPLACEABLE


def _some(names: list[str]) -> str:
    return ", ".join(names[:5])


class Channel:
    """Sends messages to the parent on what was standard output, and captures what the plugin prints there."""

    def __init__(self) -> None:
        self._answers = os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # until the process ends
        os.dup2(self._printed.fileno(), 1)
        self._stdout = sys.stdout
        self._read = 0
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell the parent something."""
        data = dumps(message).encode() + b"\n"
        with self._lock:
            write_all(self._answers, data)

    def printed(self) -> str:
        """The beginning of what was printed since this was last asked."""
        with suppress(AttributeError, OSError, ValueError):  # the plugin has replaced or closed it
            sys.stdout.flush()
        size = os.fstat(self._printed.fileno()).st_size
        text = os.pread(self._printed.fileno(), min(size - self._read, SHOWN_CHARACTERS), self._read)
        self._read = size
        return text.decode("utf-8", "replace")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Tell that a step begins and ends."""
        # The loader keeps what is printed, and does not know in which step it was.
        with redirect_stdout(self._stdout):
            self.printed()
            before = ProcessState.now()
            self.send({"begin": name})
            # In the midst of what `-X importtime` writes there.
            os.write(2, f"\noneclaw check: begin {name}\n".encode())
            started = time.perf_counter()
            try:
                yield
            finally:
                milliseconds = (time.perf_counter() - started) * 1000
                os.write(2, f"\noneclaw check: end {name}\n".encode())
                changes = before.changes()
                self.send({"end": name, "milliseconds": milliseconds, "printed": self.printed(), "changes": changes})


def serve() -> NoReturn:
    """Run the task of the request file, and end the process without waiting for threads."""
    with open(sys.argv[1], encoding="utf-8") as stream:  # noqa: PTH123
        request = json.load(stream)
    _limit_files()
    channel = Channel()
    try:
        _do(request, channel)
        channel.send({"done": True})
    except BaseException as error:  # noqa: BLE001  # the parent has to know why
        channel.send({"failed": describe_error(error)})
    os._exit(0)


def _limit_files() -> None:
    """Keep a plugin that prints without end from filling the disk."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _do(request: Mapping[str, Any], channel: Channel) -> None:
    module, _, function = str(request["task"]).partition(":")
    getattr(import_module(module), function)(request, channel)
