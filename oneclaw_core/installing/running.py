"""Running one program to its end, a deadline, or Ctrl-C, and passing on what it prints."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError
from oneclaw_core.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# What installers read, with the passwords of private indexes. Keys of model services are none of their business.
_FOR_INSTALLERS = ("PIP_", "UV_", "PIPX_", "GIT_")
_LONGEST_LINE_BYTES = 10_000
_FAREWELL_SECONDS = 5.0
_LOOK_SECONDS = 0.2


def run_program(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    show: Callable[[str], None],
    deadline_seconds: float,
) -> int:
    """Run a program without a shell and without a terminal; none of it is left when this returns.

    Args:
        arguments: the program and what it is called with.
        environ: its environment, see :func:`installer_environ`.
        show: takes each line that it prints, on either stream, as it comes.
        deadline_seconds: when it is stopped.

    Returns:
        Its exit status, negative if a signal ended it.

    Raises:
        OneClawError: it cannot be started, or did not end in time.
        KeyboardInterrupt: the user pressed Ctrl-C; it was stopped.
    """
    ends_at = time.monotonic() + deadline_seconds
    with _started(arguments, environ) as process:
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
        has_output = True
        while has_output or process.poll() is None:
            if time.monotonic() > ends_at:
                raise OneClawError(f"{arguments[0]} was stopped: it was not done in {deadline_seconds:.0f} seconds")
            try:
                line = lines.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                # What it has started and left behind may hold its output open for ever.
                has_output = has_output and process.poll() is None
                continue
            if line is None:
                has_output = False
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_SECONDS)
            else:
                show(line)
        return process.wait()


def installer_environ(environ: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Make the environment of an installer, which runs the build scripts of packages.

    Args:
        environ: the program's own.
        changes: variables to set.
    """
    own = {name: value for name, value in environ.items() if name.startswith(_FOR_INSTALLERS)}
    return {
        **without_secrets(environ),
        **own,
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
        **changes,
    }


@contextmanager
def _started(arguments: Sequence[str], environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program in a process group of its own, and end all of the group with the block."""
    try:
        process = subprocess.Popen(  # noqa: S603  # an installer, without a shell; what it is called with was checked
            list(arguments),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OneClawError(f"{arguments[0]} cannot be started: {reason}") from None
    try:
        yield process
    except BaseException:
        # An interrupted installer cleans up behind itself.
        _signal(process, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_SECONDS)
        raise
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _read_lines(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        while chunk := output.readline(_LONGEST_LINE_BYTES):
            lines.put(chunk.decode(errors="replace").rstrip())
    lines.put(None)
