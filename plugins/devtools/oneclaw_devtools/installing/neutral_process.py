"""Run an installer where no checkout can configure it.

pip and uv read files of the current directory, such as ``uv.toml``; those must not choose where packages come from.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# Variables that installers read, with the passwords of private indexes.
_FOR_INSTALLERS = ("PIP_", "UV_", "GIT_")
_DEADLINE_SECONDS = 1_800.0
_FAREWELL_SECONDS = 5.0
_LONGEST_LINE_BYTES = 10_000


@contextmanager
def neutral_directory() -> Iterator[Path]:
    """Make a temporary directory in which no configuration is found."""
    with TemporaryDirectory(prefix="oneclaw-") as name:
        # uv also searches the folders above, up to the first uv.toml.
        (Path(name) / "uv.toml").touch()
        yield Path(name)


def installer_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Remove the keys of model services from an environment; an installer runs the build scripts of packages."""
    return {
        **without_secrets(environ),
        **{name: value for name, value in environ.items() if name.startswith(_FOR_INSTALLERS)},
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
    }


def run_installer(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    directory: Path,
    show: Callable[[str], None],
    deadline_seconds: float = _DEADLINE_SECONDS,
) -> int:
    """Run a program without a shell, input or terminal; end it and all that it started.

    Args:
        arguments: Program and arguments.
        environ: Its environment.
        directory: Its working directory.
        show: Receives each line of its output as it comes.
        deadline_seconds: Time limit.

    Returns:
        Its exit status, negative if a signal ended it.

    Raises:
        OneClawError: It cannot be started, or exceeded the time limit.
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  # an installer with validated arguments
            list(arguments),
            cwd=directory,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise OneClawError(f"{arguments[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from None
    is_late = threading.Event()

    def watch() -> None:
        try:
            process.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            is_late.set()
        # Also ends what it has left behind, which may hold its output open.
        _signal(process, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    assert process.stdout is not None
    try:
        with process.stdout as output:
            while line := output.readline(_LONGEST_LINE_BYTES):
                show(line.decode(errors="replace").rstrip())
        process.wait()
    except BaseException:
        # An interrupted installer removes what it has begun.
        _signal(process, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_SECONDS)
        _signal(process, signal.SIGKILL)
        process.wait()
        raise
    if is_late.is_set():
        raise OneClawError(f"{arguments[0]} was stopped: it was not done in {deadline_seconds:.0f} seconds")
    return process.returncode


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
