"""Results that the user has not seen: told when a chat or the page opens, and read once for all of them."""

from __future__ import annotations

import asyncio

import pytest
from oneclaw_channels import ChatCommands
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.stored import get_run
from oneclaw_scheduled_tasks.task import RunStatus
from tasks_rig import end_run

from oneclaw_core import NotFoundError, UsageError
from oneclaw_core.plugins import ChatNotice
from oneclaw_core.types.permissions import PermissionUse

DAILY = {"schedule_type": "daily", "hour": 7}


class Person:
    """Types chat commands, and answers questions with yes or no."""

    def __init__(self, claw):
        self._commands = ChatCommands(claw.plugins, claw.catalog.plugins, [])
        self.asked = []
        self.answer = True

    async def types(self, line):
        name, _, rest = line.partition(" ")
        answer = await self._commands.run(name[1:], rest, channel="telegram", session=None, confirm=self._confirm)
        return answer.text

    async def _confirm(self, question):
        self.asked.append(question)
        return self.answer


@pytest.fixture
def chat(oneclaw_factory):
    """Run an async function of the open home, the tasks and a person in a chat."""

    def chat(work):
        async def scene():
            home = oneclaw_factory(["scheduled_tasks"])
            async with home.opened() as claw, TaskService.open(claw.services) as service:
                task = await service.new(dict(name="Mail", prompt="Read it.", **DAILY))
                await service.add(task)
                return await work(claw, service, task, Person(claw))

        return asyncio.run(scene())

    return chat


async def lacking_run(claw, service, task):
    session = await claw.begin_session("of the run")
    use = PermissionUse("network.private", "10.0.0.7", "", "http_request", False, "default", session.id, task=task.id)
    await claw.store.record_permission_use(use)
    await claw.store.record_permission_use(use._replace(subject="10.0.0.8", task=None))  # a turn of the user's
    await claw.store.record_permission_use(use._replace(subject="10.0.0.9", decided_by="denial"))
    return await end_run(service, task, RunStatus.NEEDS_PERMISSION, session=session.id, notes="no")


def test_new_results_are_told_once_they_are_there_and_until_they_are_read(chat):
    async def work(claw, service, task, person):
        before = await claw.plugins.chat_notices()
        await end_run(service, task, RunStatus.SUCCESS, answer="two letters")
        await lacking_run(claw, service, task)
        told = await claw.plugins.chat_notices()
        shown = [await person.types("/inbox") for _ in range(2)]
        return before, told, shown, await claw.plugins.chat_notices()

    before, told, shown, after = chat(work)
    text = "2 new results of scheduled tasks, 1 needs a permission"
    assert (before, told, after) == ([], [ChatNotice(text=text, command="/inbox", page="/scheduled_tasks/inbox")], [])
    assert "[Scheduled] Mail: two letters" in shown[0]
    assert "have the run go on: /inbox grant " in shown[0]
    assert shown[1] == "no new results"


def test_a_permission_is_granted_in_a_chat_to_one_task_after_a_question(chat):
    async def work(claw, service, task, person):
        run = await lacking_run(claw, service, task)
        person.answer = False
        refused = await person.types(f"/inbox grant {run}")
        kept = await claw.store.grants()
        person.answer = True
        await person.types(f"/inbox grant {run}")
        with pytest.raises(UsageError, match="cannot go on: it is waiting"):
            await person.types(f"/inbox grant {run}")
        grants = await claw.store.grants()
        return refused, kept, grants, task.id, person.asked, (await service.database.run(get_run, run)).status

    refused, kept, grants, task, asked, status = chat(work)
    assert (refused, kept) == ("nothing was granted", ())
    assert [(each.name, each.task) for each in grants] == [("network.private:10.0.0.7", task)]
    assert asked[0].endswith("'Mail' alone, and have its run go on?\n- network.private for the host 10.0.0.7")
    assert status is RunStatus.WAITING


def test_tasks_and_runs_are_changed_in_a_chat(chat):
    async def work(claw, service, task, person):
        run = (await person.types("/tasks run mail")).split()[1]
        texts = [await person.types(f"/tasks stop {run}"), await person.types(f"/inbox continue {run}")]
        texts += [await person.types("/tasks pause Mail"), await person.types("/tasks")]
        texts.append(await person.types(f"/tasks resume {task.id}"))
        with pytest.raises(NotFoundError, match="there is no task 'Post'"):
            await person.types("/tasks run Post")
        with pytest.raises(UsageError, match="/tasks lists the tasks"):
            await person.types("/tasks eat Mail")
        return run, texts

    run, texts = chat(work)
    assert texts[0] == f"run {run} is stopped"
    assert texts[1] == f"run {run} waits for a worker"
    assert texts[2] == f"task Mail is paused\nrun {run} is stopped"
    assert "daily at 07:00" in texts[3]
    assert f"stopped, {run}" in texts[3]
    assert texts[4] == "task Mail is enabled"
