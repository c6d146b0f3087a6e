"""Hooks of plugins that time out again and again, and are switched off for a while."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from oneclaw_core.system.private_files import write_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from oneclaw_core.plugins.plugin import Plugin


MAX_TIMEOUTS = 3
WITHIN_SECONDS = 600.0
OFF_SECONDS = 3_600.0
"""After which a hook that was switched off is tried once more."""


class HookTimeouts:
    """Counts the timeouts of hooks; three of one hook within ten minutes switch it off for an hour.

    The counts are kept in a file, so that a program that runs one turn at a time finds them again, another process
    obeys them, and ``oneclaw doctor`` can show them. A new version of a plugin begins anew, and so does ``oneclaw
    plugins enable``.

    Args:
        path: the file; ``None`` to count in this process only.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._times: dict[str, list[float]] = {}

    def note(self, record: Plugin, hook: str) -> bool:
        """Count a timeout.

        Returns:
            True if it switches the hook off.
        """
        times = dict(self._read())
        key = _key(record, hook)
        now = self._clock()
        recent = [each for each in times.get(key, []) if now - each < WITHIN_SECONDS]
        times[key] = [*recent, now][-MAX_TIMEOUTS:]
        self._write(times)
        return len(times[key]) >= MAX_TIMEOUTS

    def is_off(self, record: Plugin, hook: str) -> bool:
        """Return True if a hook is switched off now."""
        times = self._read().get(_key(record, hook), [])
        return len(times) >= MAX_TIMEOUTS and self._clock() - times[-1] < OFF_SECONDS

    def switched_off(self, record: Plugin) -> list[str]:
        """Return the hooks of a plugin that are switched off now."""
        return [hook for hook in record.hooks if self.is_off(record, hook)]

    def forget(self, plugin: str) -> bool:
        """Forget the timeouts of a plugin, so that its hooks are called again; return True if there were any."""
        times = self._read()
        kept = {key: value for key, value in times.items() if json.loads(key)[0] != plugin}
        if kept == times:
            return False
        self._write(kept)
        return True

    def _read(self) -> dict[str, list[float]]:
        return self._times if self._path is None else _parsed(self._path)

    def _write(self, times: dict[str, list[float]]) -> None:
        old = self._clock() - OFF_SECONDS
        self._times = {key: value for key, value in times.items() if value and value[-1] > old}
        if self._path is not None:
            try:
                write_private(self._path, json.dumps(self._times).encode())
            except OSError:
                self._path = None  # without a place for them, the counts are this process's


def _parsed(path: Path) -> dict[str, list[float]]:
    try:
        found = json.loads(path.read_bytes())
        return {str(key): [float(each) for each in value] for key, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}  # not one of ours: nothing was counted


def _key(record: Plugin, hook: str) -> str:
    return json.dumps([record.name, record.version, hook])
