"""The pages of the tasks in ``oneclaw serve``."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import pytest
from oneclaw_scheduled_tasks.page import show_task, show_tasks

from oneclaw_core import UsageError
from oneclaw_core.plugins import WebRequest


def test_pages_schedule_run_pause_and_delete_a_task(oneclaw_factory):
    async def work():
        async with oneclaw_factory(["scheduled_tasks"]).opened() as claw:
            context = await claw.plugins.context_of("scheduled_tasks")

            def asked(form=None, **parameters):
                body = urlencode(form or {}).encode()
                return WebRequest(method="POST" if form else "GET", body=body, path_parameters=parameters)

            new = {"name": "Mail", "prompt": "Read it.", "schedule_type": "daily", "at": "07:30"}
            with pytest.raises(UsageError, match="At: 'half' is no number"):
                await show_tasks(context, asked({**new, "at": "half"}))
            made = await show_tasks(context, asked(new))
            (row,) = made.parts[0].rows
            task = row[0].path.removeprefix("task/")
            for action in ("run", "pause"):
                shown = await show_task(context, asked({"action": action}, id=task))
            gone = await show_task(context, asked({"action": "delete"}, id=task))
            left = await show_tasks(context, asked())
            return made, row, shown, gone, left

    made, row, shown, gone, left = asyncio.run(work())
    assert made.notice.startswith("Scheduled Mail; next run: ")
    assert row[2:4] == ("enabled", "never")
    assert dict(shown.parts[0].rows)["state"] == "paused"
    assert len(shown.parts[-1].rows) <= 1  # pausing drops a run that no worker has taken
    assert gone.status == 303
    assert left.parts[0].rows == ()
