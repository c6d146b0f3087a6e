"""Record `oneclaw chat` at three widths: `python docs/record_chat.py` writes `docs/pictures/chat-COLUMNS.svg`.

The chat really runs, in tmux, with an empty home and a model service that answers from a script. What the terminal
shows at the end is drawn. Look at the pictures after a change of the chat.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "docs"), str(ROOT / "tests" / "support")]

from model_server import ModelServer, calls, text  # noqa: E402
from record_terminal import svg  # noqa: E402

WIDTHS = {40: 62, 80: 48, 120: 44}
_LONGEST_SECONDS = 60.0
_POLL_SECONDS = 0.1

_PROGRAM = "def mean(values):\n    return sum(values) / len(values)\n"
_FIRST = """\
`mean` in **stats.py** fails for an *empty* list:

| call | result |
|---|---|
| `mean([1, 2])` | 1.5 |
| `mean([])` | ZeroDivisionError |

This change answers 0 instead, see [the guide](https://example.org/guide):

```diff
-    return sum(values) / len(values)
+    return sum(values) / len(values) if values else 0
```

1. I can edit the file,
2. and run the tests then.
"""
_USAGE = {"prompt_tokens": 11_240, "completion_tokens": 310, "total_tokens": 11_550}
# What is typed, and what the terminal shows when it is answered.
_TYPED = [
    ("What is wrong with @stats.py?", "run the tests then."),
    ("Show me that it fails.", "details:"),
    ("y", "It does."),
    ("/usage", "tool groups:"),
]


def record(columns: int, rows: int) -> str:
    """Talk, and return what the terminal shows in the end.

    Args:
        columns: the width of the terminal.
        rows: its height.

    Returns:
        The rows, with escape sequences for styles.
    """
    command = 'python3 -c "import stats; stats.mean([])"'
    script = [
        text(_FIRST, usage=_USAGE),
        calls(("exec", {"command": command}), usage=_USAGE),
        text("It does.", usage=_USAGE),
    ]
    with tempfile.TemporaryDirectory() as folder, ModelServer(script) as server:
        project = Path(folder, "stats")
        project.mkdir()
        (project / "stats.py").write_text(_PROGRAM, encoding="utf-8")
        environ = {
            "HOME": folder,
            "ONECLAW_HOME": str(Path(folder, "home")),
            "ONECLAW_SANDBOX": "off",
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "sk-0123456789",
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
        }
        tmux = ["tmux", "-L", f"oneclaw-{os.getpid()}", "-f", "/dev/null"]
        oneclaw = [sys.executable, "-m", "oneclaw_core"]
        subprocess.run([*oneclaw, "trust"], cwd=project, env=environ, check=True, capture_output=True)  # noqa: S603
        set_window = [*oneclaw, "models", "set", "openai_compatible/small", "context_window", "128000"]
        subprocess.run(set_window, cwd=project, env=environ, check=True, capture_output=True)  # noqa: S603
        chat = shlex.join([*oneclaw, "chat", "--model", "openai_compatible/small"])
        size = ["-x", str(columns), "-y", str(rows)]
        start = [*tmux, "new-session", "-d", *size, "-c", str(project), chat]
        subprocess.run(start, env=environ | {"TERM": "xterm-256color"}, check=True)  # noqa: S603
        try:
            _wait_for(tmux, "small", environ)
            for typed, answer in _TYPED:
                subprocess.run([*tmux, "send-keys", "-l", typed], check=True)  # noqa: S603
                subprocess.run([*tmux, "send-keys", "Enter"], check=True)  # noqa: S603
                _wait_for(tmux, answer, environ)
            time.sleep(1)  # for the status line
            shown = _screen(tmux, "-e").rstrip("\n")
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)  # noqa: S603
        return shown.replace(folder, "~")


def _screen(tmux: list[str], *options: str) -> str:
    return subprocess.run([*tmux, "capture-pane", "-p", *options], check=True, capture_output=True, text=True).stdout  # noqa: S603


def _wait_for(tmux: list[str], words: str, environ: dict[str, str]) -> None:
    deadline = time.monotonic() + _LONGEST_SECONDS
    while words not in " ".join(_screen(tmux).split()):
        if time.monotonic() > deadline:
            raise SystemExit(f"{words!r} was not shown:\n{_screen(tmux)}")
        time.sleep(_POLL_SECONDS)


def main() -> None:
    """Record and draw."""
    if shutil.which("tmux") is None:
        raise SystemExit("this needs tmux: install it")
    for columns, rows in WIDTHS.items():
        picture = svg(record(columns, rows) + "\n", columns)
        (ROOT / "docs" / "pictures" / f"chat-{columns}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
