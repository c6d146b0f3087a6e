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
_LOOK_SECONDS = 1.0


class HookTimeouts:
    """Counts the timeouts of hooks; three of one hook within ten minutes switch it off for an hour.

    The counts are kept in a file, so that a program that runs one turn at a time finds them again, and
    ``oneclaw doctor`` can show them. What another process writes there counts within a second. A new version of a
    plugin begins anew, and so does ``oneclaw plugins enable``.

    Args:
        path: the file; ``None`` to count in this process only.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._times: dict[str, list[float]] = {}
        self._read_at: tuple[int, int] | None = None  # the state of the file when it was read
        self._looked_at = -_LOOK_SECONDS

    def note(self, record: Plugin, hook: str) -> bool:
        """Count a timeout.

        Returns:
            True if it switches the hook off.
        """
        times = self._read()
        key = _key(record, hook)
        now = self._clock()
        recent = [each for each in times.get(key, []) if now - each < WITHIN_SECONDS]
        times[key] = [*recent, now][-MAX_TIMEOUTS:]
        self._write(times)
        return len(times[key]) >= MAX_TIMEOUTS

    def is_off(self, record: Plugin, hook: str) -> bool:
        """Return True if a hook is switched off now."""
        if not 0 <= self._clock() - self._looked_at < _LOOK_SECONDS:
            self._read()
        if not self._times:
            return False
        times = self._times.get(_key(record, hook), [])
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
        self._times = kept
        self._write(kept)
        return True

    def _read(self) -> dict[str, list[float]]:
        self._looked_at = self._clock()
        state = self._state()
        # Where the file cannot be written, the counts of this process stay.
        if self._path is not None and state is not None and state != self._read_at:
            self._read_at = state
            try:
                found = json.loads(self._path.read_bytes())
                self._times = {str(key): [float(each) for each in value] for key, value in found.items()}
            except (OSError, ValueError, TypeError, AttributeError, RecursionError):
                self._times = {}  # not one of ours: nothing was counted
        return self._times

    def _state(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat() if self._path is not None else None
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns) if found is not None else None

    def _write(self, times: dict[str, list[float]]) -> None:
        if self._path is None:
            return
        old = self._clock() - OFF_SECONDS
        kept = {key: value for key, value in times.items() if value and value[-1] > old}
        try:
            write_private(self._path, json.dumps(kept).encode())
            self._read_at = self._state()
        except OSError:
            pass  # without a place for it the counts are this process's


def _key(record: Plugin, hook: str) -> str:
    return json.dumps([record.name, record.version, hook])
