"""The first look at a plugin: import it and call its registration hooks, in this process or in another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.plugin_settings import describe_settings
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.isolation import ForeignCall
from oneclaw_core.plugins.plugin import LEFT_ALONE, Plugin
from oneclaw_core.process.process_state import restored
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_core.plugins.manager import PluginManager

_CHILD = """
import json, sys
request = json.load(sys.stdin)
sys.path[:] = request["search_path"]
from oneclaw_core.plugins.looking import answer
answer(request)
"""


class Looker:
    """Looks at plugins in this process, each in a daemon thread with a time limit.

    Args:
        registry: passed to ``register_tools``.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._manager: PluginManager | None = None

    @property
    def manager(self) -> PluginManager:
        """The plugin manager; made at its first use, because a listing needs none."""
        if self._manager is None:
            from oneclaw_core.plugins.manager import PluginManager

            self._manager = PluginManager(self._registry)
        return self._manager

    def look(self, plugin: Plugin) -> None:
        """Find out what a plugin registers, and undo what its import does to the process."""
        manager = self.manager

        def describe() -> None:
            loaded = manager.describe(plugin)
            describe_settings(plugin)
            plugin.loaded = loaded if plugin.given is not None else None

        with restored(plugin):
            try:
                ForeignCall(describe, f"look at {plugin.name}").wait(isolation.LOAD_SECONDS)
            except TimeoutError:
                step = manager.step[plugin.name]
                cause = f"it did not end within {isolation.LOAD_SECONDS:g} s"
                plugin.report(step, cause, plugin.remedy, check="import.hangs" if step == "import" else "hooks.hangs")
                self._manager = None  # the thread that goes on has the other one


def look_in_subprocess(plugins: Sequence[Plugin], *, import_paths: Sequence[str] = ()) -> None:
    """Look at plugins in another process, so that one that ends or breaks it costs this process nothing.

    One process looks at them all, unless a plugin ends it: then another one goes on behind that plugin.

    Args:
        plugins: get what they register, and their problems.
        import_paths: directories to import from before all others.
    """
    left = list(plugins)
    while left:
        with TemporaryDirectory(prefix="oneclaw-") as folder:
            answers, end = _asked(left, [*import_paths, *map(str, sys.path)], Path(folder))
        for plugin, answer in zip(left, answers, strict=False):
            plugin.take(Plugin.from_dict(answer))
        if len(answers) < len(left):
            cause = f"the process that looked at it {end}"
            left[len(answers)].report("import", cause, left[len(answers)].remedy, check=LEFT_ALONE)
        left = left[len(answers) + 1 :]


def _asked(plugins: Sequence[Plugin], search_path: Sequence[str], folder: Path) -> tuple[list[Mapping[str, Any]], str]:
    """Have a process look at plugins; return its answers, and how it ended, as the end of a sentence."""
    from oneclaw_core.process.python_runner import describe_end
    from oneclaw_core.system.redaction import without_secrets

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
