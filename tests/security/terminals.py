"""The program on a separate terminal, and what a terminal would make of what it writes."""

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata

# Several commands in one process, for starting one takes longer than most of them.
_RUN_ALL = """
import json, sys
from oneclaw_core.cli.main import main
for arguments in json.loads(sys.argv[1]):
    main(arguments)
    sys.stdout.flush()
    print(sys.argv[2], flush=True)
"""
_END = "=== that was all of it ==="
# What the program itself writes: colours, and erasing the line that it overwrites.
_OWN = re.compile(rb"\x1b\[[0-9;]*m|\r\x1b\[K|\r\n|\n")
_JOINERS = "\u200c\u200d"


def shown_on_a_terminal(*commands, environ, directory):
    """Run the program, once for each command, with a terminal for its output; give all that each of them writes.

    Args:
        commands: the arguments of each.
        environ: the environment.
        directory: where it runs.
    """
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN_ALL, json.dumps(commands), _END],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        cwd=directory,
        env={**environ, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(terminal)
    written = b""
    try:
        while piece := os.read(master, 65_536):
            written += piece
    except OSError:  # Linux says so at the end
        pass
    finally:
        process.wait()
        os.close(master)
    *outputs, rest = written.split(_END.encode())
    assert len(outputs) == len(commands), written
    assert rest.strip() == b""
    return outputs


def what_steers(written):
    """What is left of a program's output that a terminal would obey, or hide, in place of showing it."""
    text = _OWN.sub(b"", written).decode("utf-8")
    return {
        character
        for character in text
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and character not in _JOINERS + "\t"
    }
