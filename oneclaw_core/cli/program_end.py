"""Ending the program with its own exit status, whatever foreign code has left behind in it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

LEFTOVER_SECONDS = 5.0
"""How long functions that libraries and plugins registered for the end may take."""


def end_program(status: int) -> NoReturn:
    """Run what is registered for the end of the program, and end it without waiting for threads.

    A function that hangs, or raises ``SystemExit``, changes neither that the program ends nor its status.

    Args:
        status: the exit status.
    """
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
