"""Looks at plugins in another process, so that one that ends or breaks it costs this process nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.manager import Looker
from oneclaw_core.plugins.plugin import LEFT_ALONE, Plugin
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_CHILD = """
import json, sys
request = json.load(sys.stdin)
sys.path[:] = request["search_path"]
from oneclaw_core.process.plugin_looks import answer
answer(request)
"""


def look_in_subprocess(plugins: Sequence[Plugin]) -> None:
    """Look at plugins in another process, so that one that ends or breaks it costs this process nothing.

    One process looks at them all, unless a plugin ends it: then another one goes on behind that plugin.

    Args:
        plugins: get what they register, and their problems.
    """
    left = list(plugins)
    while left:
        with TemporaryDirectory(prefix="oneclaw-") as folder:
            answers, end = _asked(left, list(map(str, sys.path)), Path(folder))
        for plugin, answer in zip(left, answers, strict=False):
            plugin.take(Plugin.from_dict(answer))
        if len(answers) < len(left):
            cause = f"the process that looked at it {end}"
            left[len(answers)].report("import", cause, left[len(answers)].remedy, check=LEFT_ALONE)
        left = left[len(answers) + 1 :]


def _asked(plugins: Sequence[Plugin], search_path: Sequence[str], folder: Path) -> tuple[list[Mapping[str, Any]], str]:
    """Have a process look at plugins; return its answers, and how it ended, as the end of a sentence."""
    from oneclaw_core.process.python_runner import describe_end
    from oneclaw_core.secrets.redaction import without_secrets

    answers = folder / "answers"
    request = {
        "search_path": search_path,
        "plugins": [each.to_dict() for each in plugins],
        "answers": str(answers),
        "seconds": isolation.LOAD_SECONDS,
    }
    process = subprocess.Popen(  # noqa: S603  # this Python
        [sys.executable, "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**without_secrets(), "ONECLAW_HOME": str(folder / "home")},
        start_new_session=True,
    )
    seconds = isolation.LOAD_SECONDS * (len(plugins) + 1)
    try:
        process.communicate(json.dumps(request).encode(), timeout=seconds)
        end = describe_end(process.returncode)
    except subprocess.TimeoutExpired:
        end = f"did not end within {seconds:g} s"
    finally:
        with suppress(OSError):
            os.killpg(process.pid, 9)  # with what the plugins started
        process.wait()
    found: list[Mapping[str, Any]] = []
    for line in answers.read_text("utf-8").splitlines() if answers.exists() else ():
        try:
            answer = json.loads(line)
            Plugin.from_dict(answer)
        except Exception:  # noqa: BLE001  # the plugin may have written this itself
            return found, "was disturbed by it"
        found.append(answer)
    return found[: len(plugins)], end


def answer(request: Mapping[str, Any], end: Callable[[int], object] = os._exit) -> None:
    """Look at the plugins of a request, and write each down; this is what the other process does."""
    isolation.LOAD_SECONDS = request["seconds"]
    looker = Looker(ToolRegistry())
    with open(request["answers"], "a", encoding="utf-8") as file:  # noqa: PTH123
        for data in request["plugins"]:
            plugin = Plugin.from_dict(data)
            looker.look(plugin)
            file.write(json.dumps(plugin.to_dict()) + "\n")
            file.flush()
    end(0)
