"""The triggers of this plugin: a file that changes, a task that ends, mail, and a webhook.

Each works until it is cancelled. What it has seen is kept in the plugin's storage, so that what happens while no worker
runs is reported later.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.inbox import result_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import Fire

_FILE_SECONDS = 1.0
_TASK_SECONDS = 2.0
_MAIL_SECONDS = 60.0
_SHOWN_NAMES = 20
_SEEN_DAYS = 400
# A worker that takes over looks so far back for tasks that have ended.
_LOOKED_BACK = timedelta(days=1)
ENDINGS = ("success", "failed", "needs_permission", "any")


async def file_changed(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Report that a file, or a folder's list of files, is not what it was, once it has been still for a second."""
    path = context.services.home.workspace / os.path.expanduser(parameters["path"])  # noqa: ASYNC240, PTH111  # reads no disk
    key = _key_of("file", parameters)
    seen = await context.storage.get(key)
    before: dict[str, list[int]] | None = None
    while True:
        now = await asyncio.to_thread(_state_of, path)
        if seen is None:
            seen = now
            await context.storage.set(key, seen, ttl_seconds=_SEEN_DAYS * 86_400)
        elif now != seen and now == before:
            changed = sorted(name for name in seen.keys() | now.keys() if seen.get(name) != now.get(name))
            what = {
                name: "new" if name not in seen else "removed" if name not in now else "changed" for name in changed
            }
            lines = [f"{what[name]}: {path / name if name else path}" for name in changed[:_SHOWN_NAMES]]
            more = [f"... and {len(changed) - _SHOWN_NAMES} more"] if len(changed) > _SHOWN_NAMES else []
            await fire("\n".join([*lines, *more]), key=json.dumps([key, now], sort_keys=True))
            seen = now
            await context.storage.set(key, seen, ttl_seconds=_SEEN_DAYS * 86_400)
        before = now
        await asyncio.sleep(_FILE_SECONDS)


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


async def task_ended(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Report that a run of another task has ended."""
    from oneclaw_scheduled_tasks.service import TaskService, find_task

    wanted = parameters.get("status") or "success"
    if wanted not in ENDINGS:
        raise UsageError(f"status must be one of {', '.join(ENDINGS)}")
    key = _key_of("task", parameters)
    await context.storage.set_if_absent(key, datetime.now(UTC).isoformat(), ttl_seconds=_SEEN_DAYS * 86_400)
    since = datetime.fromisoformat(await context.storage.get(key))
    async with TaskService.open(context.services) as service:
        while True:
            task_id = await find_task(context.services, parameters["task"])
            now = datetime.now(UTC)
            for run, name in await service.ended_since(max(since, now - _LOOKED_BACK)):
                if run.task_id == task_id and wanted in ("any", str(run.status)):
                    await fire(result_text(run, name), key=f"{key} {run.id} {run.attempt}")
                    await context.storage.set(key, now.isoformat(), ttl_seconds=_SEEN_DAYS * 86_400)
            # Clocks of several machines are not quite the same.
            since = max(since, now - timedelta(minutes=1))
            await asyncio.sleep(_TASK_SECONDS)


async def mail_received(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Report each mail that has come and matches."""
    from oneclaw_scheduled_tasks.mail_box import new_mails

    key = _key_of("mail", parameters)
    while True:
        seen = await context.storage.get(key)
        try:
            mails, seen = await asyncio.to_thread(new_mails, context.settings, parameters, seen)
        except OSError as error:
            context.logger.warning("the mail server is not reached, and is asked again later: %s", error)
        else:
            for identity, text in mails:
                await fire(text, key=f"{key} {identity}")
            await context.storage.set(key, seen, ttl_seconds=_SEEN_DAYS * 86_400)
        await asyncio.sleep(_MAIL_SECONDS)


async def webhook(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Wait: ``oneclaw serve`` takes the requests, see :mod:`oneclaw_scheduled_tasks.webhook`."""
    await asyncio.Event().wait()


def _key_of(kind: str, parameters: Mapping[str, str]) -> str:
    """Return the key in the storage for what has been seen of something."""
    text = json.dumps(dict(parameters), sort_keys=True)
    return f"trigger {kind} {hashlib.sha256(text.encode()).hexdigest()[:24]}"
