"""Record a terminal session for the README: `python docs/record_terminal.py` writes `docs/pictures/terminal.svg`.

The commands are really run, in a separate terminal with an empty home, with the model `offline/rules`. How long
each call took is left out, since that is all that two recordings differ in.
"""

from __future__ import annotations

import fcntl
import html
import io
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "pictures" / "terminal.svg"
COLUMNS, ROWS = 106, 40
TITLE = "oneclaw"
HOME_SHOWN = "~/.local/share/oneclaw"

# What is typed at the prompt, and what is typed when the program asks.
SESSION = [
    ("oneclaw tools list --group pdf", ""),
    ('oneclaw run "How many pages does examples/quarterly-report.pdf have?"', ""),
    ("""oneclaw call set_config '{"key": "turn_max_tool_rounds", "value": "50"}'""", "y"),
]

_DURATION = re.compile(r" <?\d[\d.,]* m?s(?=\x1b|\r|\n|$)")
# How much of a result fits on its line depends on the digits of its duration.
_CUT_RESULT = re.compile(r"( … [^…]{20})[^…]*…")
_SESSION = re.compile(r"(?<=session )[0-9a-f]{12}")
_REWRITTEN = re.compile(r"[^\n]*\r\x1b\[K")
_OTHER_ESCAPES = re.compile(r"\x1b\[(?![\d;]*m)[\d;?]*[A-Za-z]")
_QUESTION_END = b"details: "
_LONGEST_SECONDS = 60.0

_SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>\
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def record() -> str:
    """Run the session.

    Returns:
        What the terminal showed, with its escape sequences for styles alone, and without durations.
    """
    shown = []
    with tempfile.TemporaryDirectory() as home:
        for command, typed in SESSION:
            output = _run(shlex.split(command), typed, home).replace(str(Path(home).resolve()), HOME_SHOWN)
            shown.append(f"\x1b[1;32m$\x1b[0m {command}\n{_settled(output)}")
    return "\n".join(shown)


def svg(shown: str, columns: int = COLUMNS) -> str:
    """Draw what a terminal showed.

    Args:
        shown: with escape sequences for styles.
        columns: the width of the terminal.
    """
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(shown))
    return console.export_svg(title=TITLE, theme=MONOKAI, code_format=_SVG, unique_id="oneclaw")


def text_of(picture: str) -> str:
    """The words of a picture in their order, for comparing two of them whatever drew them."""
    pieces = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    text = " ".join("".join(html.unescape(piece) for piece in pieces).replace("\xa0", " ").split())
    return _CUT_RESULT.sub(r"\1…", text)


def _run(arguments: list[str], typed: str, home: str) -> str:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH") if name in os.environ}
    process = subprocess.Popen(  # noqa: S603  # the commands above
        [sys.executable, "-m", "oneclaw_core", *arguments[1:]],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        env={**kept, "ONECLAW_HOME": home, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(terminal)
    output = b""
    try:
        while select.select([controller], [], [], _LONGEST_SECONDS)[0]:
            try:
                piece = os.read(controller, 65536)
            except OSError:  # the program has ended, and with it the terminal
                break
            if not piece:
                break
            output += piece
            if typed and _QUESTION_END in output:
                os.write(controller, f"{typed}\n".encode())
                typed = ""
        process.wait(timeout=1)
    finally:
        process.kill()
        os.close(controller)
    return output.decode()


def _settled(output: str) -> str:
    """Return the lines that stay on the screen; rewritten lines count once, other cursor movements not at all."""
    text = _OTHER_ESCAPES.sub("", _REWRITTEN.sub("", output.replace("\r\n", "\n"))).replace("\r", "")
    return "\n".join(_DURATION.sub("", _SESSION.sub("46793c8305c6", line)) for line in text.split("\n"))


def main() -> None:
    """Record and draw."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(svg(record()), encoding="utf-8")


if __name__ == "__main__":
    main()
