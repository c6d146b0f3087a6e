"""The trigger ``file_changed``: a file or a folder that changes."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

from oneclaw_triggers.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import Fire

_SECONDS = 1.0
_SHOWN_NAMES = 20


async def file_changed(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Report that a file, or a folder's list of files, is not what it was, once it has been still for a second."""
    path = context.services.home.workspace / os.path.expanduser(parameters["path"])  # noqa: ASYNC240, PTH111  # reads no disk
    state = Seen(context, "file", parameters)
    seen: dict[str, list[int]] | None = await state.read()
    before: dict[str, list[int]] | None = None
    while True:
        now = await asyncio.to_thread(_state_of, path)
        if seen is None:
            await state.write(seen := now)
        elif now != seen and now == before:
            await fire(_difference(path, seen, now), key=json.dumps([state.key, now], sort_keys=True))
            await state.write(seen := now)
        before = now
        await asyncio.sleep(_SECONDS)


def _difference(path: Path, old: Mapping[str, list[int]], new: Mapping[str, list[int]]) -> str:
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    lines = []
    for name in changed[:_SHOWN_NAMES]:
        what = "new" if name not in old else "removed" if name not in new else "changed"
        lines.append(f"{what}: {path / name if name else path}")
    more = [f"... and {len(changed) - _SHOWN_NAMES} more"] if len(changed) > _SHOWN_NAMES else []
    return "\n".join([*lines, *more])


def _state_of(path: Path) -> dict[str, list[int]]:
    """Return the size and time of a file, or of each file that lies in a folder; nothing of what is not there."""
    found: dict[str, list[int]] = {}
    try:
        names = [each.name for each in path.iterdir()] if path.is_dir() else [""]
    except OSError:
        return found
    for name in names:
        try:
            status = (path / name if name else path).stat()
        except OSError:
            continue
        found[name] = [status.st_size, status.st_mtime_ns]
    return found
