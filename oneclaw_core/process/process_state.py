"""The parts of the process that an import may change for all others: they are put back after it, and it is reported."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.plugins.plugin import Plugin

_GUARDED = (
    *("builtins", "io", "os", "os.path", "posixpath", "pathlib", "json", "time", "datetime", "re", "threading"),
    *("asyncio", "asyncio.events", "socket", "ssl", "select", "selectors", "subprocess", "signal", "tempfile"),
    *("shutil", "sqlite3", "logging", "importlib", "concurrent.futures"),
)
"""The modules of the standard library that OneClaw itself cannot do without."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_Library = list[tuple[str, dict[str, Any], dict[str, Any]]]


@contextmanager
def restored(plugin: Plugin) -> Iterator[None]:
    """Run the import of a plugin; report what it has changed of the process, and undo it.

    A plugin that replaces functions of the standard library, or that starts threads which keep the program from ending,
    is not used.
    """
    directory = _open_directory()
    stdout, printed = sys.stdout, io.StringIO()
    sys.stdout = printed
    before, library, threads = _settings(), _library(), set(threading.enumerate())
    try:
        yield
    finally:
        changed = _put_back_settings(before)
        sys.stdout = stdout
        if directory is not None:
            with suppress(OSError):
                if not os.path.samestat(os.stat("."), os.fstat(directory)):  # noqa: PTH116
                    os.fchdir(directory)
                    changed.append("the current directory")
            os.close(directory)
        replaced = _put_back_library(library)
    # A thread of OneClaw that runs the import has a name that begins so.
    started = [each for each in set(threading.enumerate()) - threads if not each.name.startswith("oneclaw ")]
    lasting = sorted(each.name for each in started if not each.daemon)
    dangers = {
        f"threads were started that keep the program from ending ({', '.join(lasting[:5])})": lasting,
        f"the standard library was changed ({', '.join(replaced[:5])})": replaced,
    }
    for danger in [danger for danger, names in dangers.items() if names]:
        plugin.report("import", f"{danger}: it is not loaded", plugin.remedy, check="import.changes-process")
        plugin.registrations, plugin.hooks = [], {}
    daemons = sorted(each.name for each in started if each.daemon)
    changed += [f"threads that run ({', '.join(daemons[:5])})"] if daemons else []
    for change in changed:
        cause = f"its import changed {change}"
        plugin.report("import", cause, plugin.remedy, is_error=False, check="import.changes-process")
    if text := "" if printed.closed else printed.getvalue():
        remedy = "ask its author to log instead"
        plugin.report("import", f"it printed {text[:100]!r}", remedy, is_error=False, check="import.prints")


def _open_directory() -> int | None:
    with suppress(OSError):
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return None


def _settings() -> dict[str, Any]:
    root = logging.getLogger()
    return {
        "environment variables": dict(os.environ),
        "the root logger": (root.level, list(root.handlers), root.manager.disable),
        "the handlers of signals": [signal.getsignal(each) for each in _SIGNALS],
        "sys.stdout or sys.stderr": (sys.stdout, sys.stderr),
        "the warning filters": list(warnings.filters),
        "what shows uncaught exceptions (sys.excepthook)": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "where modules are found (sys.path, sys.meta_path)": (list(sys.path), list(sys.meta_path)),
    }


def _put_back_settings(before: dict[str, Any]) -> list[str]:
    """Put back what an import changed, and return what it was; values of the environment are never shown."""
    now = _settings()
    changed = [name for name, value in now.items() if value != before[name]]
    environ, was = now["environment variables"], before["environment variables"]
    names = sorted({name for name, _ in environ.items() ^ was.items()}) if environ != was else []
    for name in names:
        os.environ.pop(name, None)
        if name in was:
            os.environ[name] = was[name]
    root = logging.getLogger()
    root.level, root.handlers[:], root.manager.disable = before["the root logger"]
    sys.stdout, sys.stderr = before["sys.stdout or sys.stderr"]
    warnings.filters[:] = before["the warning filters"]  # type: ignore[index]  # a list, which typeshed calls a sequence
    sys.excepthook, sys.unraisablehook, threading.excepthook = before["what shows uncaught exceptions (sys.excepthook)"]
    sys.path[:], sys.meta_path[:] = before["where modules are found (sys.path, sys.meta_path)"]
    with suppress(ValueError, TypeError):  # only the main thread may
        for number, handler in zip(_SIGNALS, before["the handlers of signals"], strict=True):
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)
    return [f"{each} ({', '.join(names[:5])})" if each == "environment variables" else each for each in changed]


def _library() -> _Library:
    found = [(name, vars(sys.modules[name])) for name in _GUARDED if name in sys.modules]
    return [(name, now, dict(now)) for name, now in found]


def _put_back_library(library: _Library) -> list[str]:
    """Put back public functions and classes that were replaced, and return their names."""
    replaced = []
    for name, now, before in library:
        if now.keys() == before.keys() and all(map(is_, now.values(), before.values())):
            continue
        for each, value in before.items():
            if now.get(each) is not value and callable(value) and not each.startswith("_"):
                now[each] = value
                replaced.append(f"{name}.{each}")
    return sorted(replaced)
