"""The entry point: ``oneclaw``, and ``python -m oneclaw_core``, which is the same."""

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn

INTERRUPTED_STATUS = 130
LEFTOVER_SECONDS = 5.0
"""The time limit of functions that libraries and plugins registered for the end."""


def main() -> int:
    """Run the program.

    Returns:
        The exit status; see :func:`oneclaw_core.cli.main.main`.
    """
    try:
        # Takes the longest part of a short command, and Ctrl-C in it is no reason for a traceback.
        from oneclaw_core.cli.main import main as run
        from oneclaw_core.cli.output import claim_stdout

        claim_stdout()
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS


def run_program() -> NoReturn:
    """Run the program, and end the process."""
    _end_program(main())


def _end_program(status: int) -> NoReturn:
    """Call the functions registered for the end of the program, and end it without waiting for threads.

    A function that hangs, or raises ``SystemExit``, changes neither that the program ends nor its status.
    """
    import threading

    _flush()
    timer = threading.Timer(LEFTOVER_SECONDS, os._exit, (status,))
    timer.daemon = True
    timer.start()
    with suppress(BaseException):  # it is foreign, and all that the program does itself is done
        atexit._run_exitfuncs()
    _flush()
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # closed, or replaced by something else
            stream.flush()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The current directory, which Python has put here, may hold anything, also what is named like a library.
        del sys.path[0]

    run_program()
