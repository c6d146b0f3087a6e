"""Looks at plugins in another process, so that one that ends or breaks it costs this process nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.manager import Looker
from oneclaw_core.plugins.plugin import LEFT_ALONE, Plugin
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_CHILD = """
import sys
folder, *sys.path[:] = sys.argv[1:]
from oneclaw_core.process.plugin_looks import answer
answer(folder)
"""
_MAX_BYTES = 16 * 1024 * 1024


def look_in_subprocess(plugins: Sequence[Plugin]) -> None:
    """Look at plugins in another process, so that one that ends or breaks it costs this process nothing.

    One process looks at them all, unless a plugin ends it: then another one goes on behind that plugin.

    Args:
        plugins: get what they register, and their problems.
    """
    left = list(plugins)
    while left:
        with TemporaryDirectory(prefix="oneclaw-") as directory:
            end = _looked(left, Path(directory))
            answers, is_whole = read_answers(Path(directory))
        for plugin, seen in zip(left, answers, strict=False):
            plugin.take(seen)
        if len(answers) < len(left):
            cause = f"the process that looked at it {end if is_whole else 'was disturbed by it'}"
            left[len(answers)].report("import", cause, left[len(answers)].remedy, check=LEFT_ALONE)
        left = left[len(answers) + 1 :]


def _looked(plugins: Sequence[Plugin], folder: Path) -> str:
    """Have a process look at plugins; return how it ended, as the end of a sentence."""
    from oneclaw_core.process.python_runner import describe_end
    from oneclaw_core.secrets.redaction import without_secrets

    process = subprocess.Popen(  # noqa: S603  # this Python
        looking_command(plugins, folder, sys.path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**without_secrets(), "ONECLAW_HOME": str(folder / "home")},
        start_new_session=True,
    )
    seconds = isolation.LOAD_SECONDS * (len(plugins) + 1)
    try:
        return describe_end(process.wait(seconds))
    except subprocess.TimeoutExpired:
        return f"did not end within {seconds:g} s"
    finally:
        with suppress(OSError):
            os.killpg(process.pid, 9)  # with what the plugins started
        process.wait()


def looking_command(plugins: Iterable[Plugin], folder: Path, search_path: Iterable[str]) -> list[str]:
    """Write down what a process is to look at, and return its command.

    Args:
        plugins: what to look at.
        folder: for the request and the answers; the process may write there.
        search_path: where it finds modules.
    """
    request = {"plugins": [each.to_dict() for each in plugins], "seconds": isolation.LOAD_SECONDS}
    (folder / "request.json").write_text(json.dumps(request), "utf-8")
    return [sys.executable, "-P", "-c", _CHILD, str(folder), *search_path]


def read_answers(folder: Path) -> tuple[list[Plugin], bool]:
    """Read what a process has found, plugin by plugin; a plugin may have written there itself.

    Returns:
        The plugins, and False if one of them has disturbed the answers.
    """
    found: list[Plugin] = []
    try:
        with (folder / "answers").open("rb") as file:
            for line in file.read(_MAX_BYTES).splitlines():
                found.append(Plugin.from_dict(json.loads(line)))
    except FileNotFoundError:
        return found, True
    except Exception:  # noqa: BLE001  # it may be wrong in any way
        return found, False
    return found, True


def answer(folder: str, end: Callable[[int], object] = os._exit) -> None:
    """Look at plugins, and write each down; this is what the other process does."""
    request = json.loads(Path(folder, "request.json").read_text("utf-8"))
    isolation.LOAD_SECONDS = request["seconds"]
    looker = Looker(ToolRegistry())
    with Path(folder, "answers").open("a", encoding="utf-8") as file:
        for data in request["plugins"]:
            plugin = Plugin.from_dict(data)
            looker.look(plugin)
            file.write(json.dumps(plugin.to_dict()) + "\n")
            file.flush()
    end(0)
