"""Run an installer where no checkout can configure it.

pip and uv read files of the current directory, such as ``uv.toml``; those must not choose where packages come from.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.process import run_program, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# Variables that installers read, with the passwords of private indexes.
_FOR_INSTALLERS = ("PIP_", "UV_", "GIT_")
_DEADLINE_SECONDS = 1_800.0
_GRACE_SECONDS = 5.0
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
        Its exit status.

    Raises:
        OneClawError: It cannot be started, or exceeded the time limit.
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    lines = _Lines(show)
    try:
        end = asyncio.run(
            run_program(
                list(arguments),
                directory=directory,
                environ=environ,
                timeout_seconds=deadline_seconds,
                on_stdout=lines.feed,
                # An interrupted installer removes what it has begun.
                stop_signal=signal.SIGINT,
                grace_seconds=_GRACE_SECONDS,
            )
        )
    except (OSError, ValueError) as error:
        raise OneClawError(f"{arguments[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from None
    lines.end()
    if end.exit_code is None:
        raise OneClawError(f"{arguments[0]} was stopped: it was not done in {deadline_seconds:.0f} seconds")
    return end.exit_code


class _Lines:
    """Output, cut into lines of limited length.

    Args:
        show: Receives each line.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Show the lines that are complete."""
        self._rest += data
        while (length := self._rest.find(b"\n", 0, _LONGEST_LINE_BYTES) + 1) or len(self._rest) >= _LONGEST_LINE_BYTES:
            length = length or _LONGEST_LINE_BYTES
            line, self._rest = self._rest[:length], self._rest[length:]
            self._show(line.decode(errors="replace").rstrip())

    def end(self) -> None:
        """Show a last line without an end."""
        if self._rest:
            self._show(self._rest.decode(errors="replace").rstrip())
