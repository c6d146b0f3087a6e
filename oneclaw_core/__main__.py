"""Where the program starts: ``oneclaw``, and ``python -m oneclaw_core``, which is the same."""

import sys
from typing import NoReturn

INTERRUPTED_STATUS = 130


def main() -> int:
    """Run the program.

    Returns:
        The exit status; see :func:`oneclaw_core.cli.main.main`.
    """
    try:
        # Takes the longest part of a short command, and Ctrl-C in it is no reason for a traceback.
        from oneclaw_core.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS


def run_program() -> NoReturn:
    """Run the program, and end the process."""
    status = main()
    try:
        from oneclaw_core.cli.program_end import end_program
    except KeyboardInterrupt:
        sys.exit(status)
    end_program(status)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The current directory, which Python has put here, may hold anything, also what is named like a library.
        del sys.path[0]

    run_program()
