"""The pages of the tasks in ``oneclaw serve``."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from urllib.parse import urlencode

import pytest
from oneclaw_scheduled_tasks.page import show_task, show_tasks
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.stored import get_run, unread
from oneclaw_scheduled_tasks.task import RunStatus
from tasks_rig import end_run
from web_site import send_form, web_site

from oneclaw_core import UsageError
from oneclaw_core.plugins import WebRequest
from oneclaw_core.types.permissions import PermissionUse

DAILY = {"schedule_type": "daily", "hour": 7}


def test_pages_schedule_run_pause_and_delete_a_task(oneclaw_factory):
    async def work():
        async with oneclaw_factory(["scheduled_tasks"]).opened() as claw:
            context = await claw.plugins.context_of("scheduled_tasks")

            def asked(form=None, **parameters):
                body = urlencode(form or {}).encode()
                return WebRequest(method="POST" if form else "GET", body=body, path_parameters=parameters)

            new = {"name": "Mail", "prompt": "Read it.", "schedule_type": "daily", "at": "07:30"}
            with pytest.raises(UsageError, match="At: 'half' is not a number"):
                await show_tasks(context, asked({**new, "at": "half"}))
            # What the form does not have is passed over.
            made = await show_tasks(context, asked({**new, "command": "date", "token": "x"}))
            (row,) = made.parts[1].rows
            task = row[0].path.removeprefix("task/")
            async with TaskService.open(claw.services) as service:
                command = (await service.get(task)).command
            for action in ("run", "pause"):
                shown = await show_task(context, asked({"action": action}, id=task))
            gone = await show_task(context, asked({"action": "delete"}, id=task))
            left = await show_tasks(context, asked())
            return made, row, shown, gone, left, command

    made, row, shown, gone, left, command = asyncio.run(work())
    assert made.notice.startswith("Scheduled Mail; next run: ")
    assert row[2:4] == ("enabled", "never")
    assert command is None
    assert dict(shown.parts[0].rows)["state"] == "paused"
    assert len(shown.parts[-1].rows) <= 1  # pausing drops a run that no worker has taken
    assert gone.status == 303
    assert left.parts[1].rows == ()


@pytest.mark.one_python  # needs other plugins
def test_a_run_is_stopped_granted_and_continued_at_the_page(oneclaw_factory):
    async def work():
        async with (
            oneclaw_factory(["serve", "scheduled_tasks"]).opened() as claw,
            web_site(claw) as rig,
            TaskService.open(claw.services) as service,
            await rig.browser() as person,
        ):
            task = await service.new(dict(name="Mail", prompt="Read it.", **DAILY))
            await service.add(task)
            session = await claw.begin_session("of the run")
            use = PermissionUse("network.private", "10.0.0.7", "", "http_request", False, "default", session.id)
            await claw.store.record_permission_use(use._replace(task=task.id))
            lacking = await end_run(service, task, RunStatus.NEEDS_PERMISSION, session=session.id)
            running = await end_run(service, task, RunStatus.RUNNING)
            path = f"/scheduled_tasks/task/{task.id}"
            shown = (await person.get(path)).text
            unseen = await send_form(person, path, action="grant", run=lacking, grants="[]")
            grants = unescape(re.search(r'name="grants" value="([^"]+)"', shown)[1])
            granted = await send_form(person, path, action="grant", run=lacking, grants=grants)
            paused = await send_form(person, path, action="pause")
            stopped = [(await service.database.run(get_run, each)).status for each in (lacking, running)]
            again = await send_form(person, path, action="continue", run=running)
            ended = await send_form(person, path, action="stop", run=running)
            return shown, unseen, granted, paused, stopped, again, ended, await claw.store.grants(), task.id

    shown, unseen, granted, paused, stopped, again, ended, grants, task = asyncio.run(work())
    assert "It lacked: network.private for the host 10.0.0.7." in shown
    assert unseen.status_code == 400
    assert "waits for a worker" in granted.text
    assert [(each.name, each.task) for each in grants] == [("network.private:10.0.0.7", task)]
    assert paused.text.count("is stopped") == 2
    assert stopped == [RunStatus.STOPPED, RunStatus.STOPPED]
    assert "waits for a worker" in again.text
    assert "is stopped" in ended.text


@pytest.mark.one_python
def test_a_result_is_told_at_the_page_until_it_is_seen_there_or_elsewhere(oneclaw_factory):
    async def work():
        async with (
            oneclaw_factory(["serve", "scheduled_tasks"]).opened() as claw,
            web_site(claw) as rig,
            TaskService.open(claw.services) as service,
            await rig.browser() as person,
        ):
            task = await service.new(dict(name="Mail", prompt="Read it.", **DAILY))
            await service.add(task)
            run = await end_run(service, task, RunStatus.FAILED, error="no <network>")
            (notice,) = (await person.get("/api/notices")).json()["notices"]
            inbox = [(await person.get(notice["page"])).text for _ in range(2)]
            told = (await person.get("/api/notices")).json()["notices"]
            again = await send_form(person, notice["page"], action="continue", run=run)
            return notice, inbox, told, await service.database.run(unread), again

    notice, inbox, told, left, again = asyncio.run(work())
    assert notice == {"text": "1 new result of scheduled tasks", "page": "/scheduled_tasks/inbox"}
    assert ["failed, new" in each for each in inbox] == [True, False]
    assert "no &lt;network&gt;" in inbox[1]
    assert (told, left) == ([], [])
    assert "waits for a worker" in again.text
