"""The program as a separate process, with a pseudo-terminal for a user."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

# The terminal becomes the process's controlling one, so that Ctrl-C in it is a signal.
_START = (
    "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "from oneclaw_core.cli.main import main; sys.exit(main())"
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")
# For programs that hang; a busy machine is slow.
DEADLINE_SECONDS = 60
CTRL_C, CTRL_D = "\x03", "\x04"


class PseudoTerminal:
    """Types into the program and waits for what it shows.

    Args:
        arguments: of the program.
        environ: its environment.
        python: the interpreter that runs it.

    Attributes:
        raw: all that was shown so far, escape sequences included.
    """

    def __init__(self, *arguments, environ, python=sys.executable):
        self._master, terminal = pty.openpty()
        self._process = subprocess.Popen(
            [python, "-c", _START, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            # Asking a terminal where its cursor is would wait for an answer that no one gives here.
            env={**environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "100", "LINES": "30"},
        )
        os.close(terminal)
        self.raw = ""
        self._seen = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def shown(self):
        """All that was shown so far, without escape sequences."""
        return _ESCAPES.sub("", self.raw)

    def type(self, text):
        """Type a text; Ctrl-C once the program waits, for between a prompt and reading a signal can be missed."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text == CTRL_C and not self._is_asleep() and time.monotonic() < deadline:
            time.sleep(0.005)
        os.write(self._master, text.encode())

    def _is_asleep(self):
        status = Path("/proc", str(self._process.pid), "stat")  # of Linux, and of its main thread
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "S"

    def send_signal(self, number=signal.SIGTERM):
        self._process.send_signal(number)

    def expect(self, text):
        """Wait until a text is shown after what was expected last, and give all that came up to its end."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while (place := self.shown.find(text, self._seen)) < 0:
            assert self._read(deadline), f"{text!r} was not shown:\n{self.shown[self._seen :]}"
        start, self._seen = self._seen, place + len(text)
        return self.shown[start : self._seen]

    def exit_status(self):
        """Wait for the end of the program."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self._read(deadline):
            pass
        try:
            return self._process.wait(max(deadline - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the program did not end:\n{self.shown[self._seen :]}") from None

    def _read(self, deadline):
        """Read a piece; false at the end of the output, or when the deadline has passed."""
        readable, _, _ = select.select([self._master], [], [], max(deadline - time.monotonic(), 0))
        with contextlib.suppress(OSError):  # Linux's way to say that the other side is closed
            piece = os.read(self._master, 65_536) if readable else b""
            self.raw += piece.decode(errors="replace")
            return bool(piece)
        return False
