"""Sending the result of a run through the channels that its task names.

Only the user sets channels, webhooks and commands, on the command line; no tool does.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.channels import ChatChannel, RetryLaterError, UndeliverableError, split_text
from oneclaw_core.plugins import OutMessage
from oneclaw_scheduled_tasks.documents import result_document
from oneclaw_scheduled_tasks.inbox import IN_A_CHAT, ON_THE_COMMAND_LINE, result_text
from oneclaw_scheduled_tasks.task import RunStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.plugins import Channel
    from oneclaw_scheduled_tasks.task import Run, Task

SEND_SECONDS = 90.0
"""Longer than the channels of OneClaw itself take before they give up."""
_PAUSES = (1.0, 3.0)
_MOST_WAIT_SECONDS = 30.0
_log = logging.getLogger("oneclaw.tasks")


async def deliver(task: Task, run: Run, open_channel: Callable[[str], Awaitable[Channel]]) -> str | None:
    """Send a result; return the problems, ``None`` if there were none."""
    if task.is_notified and (problem := await _send("desktop", "", task, run, open_channel)):
        # Tasks notify by default, also where there is no desktop.
        _log.info("the run %s: %s", run.id, problem)
    problems = [await _send(name, to, task, run, open_channel) for name, to in destinations(task)]
    return "; ".join(each for each in problems if each) or None


def destinations(task: Task) -> list[tuple[str, str]]:
    """List the channels that results are sent through without being shown here, and to whom."""
    found = [(name, to) for name, _, to in (each.partition(":") for each in task.channels)]
    found += [("webhook", task.webhook)] if task.webhook is not None else []
    found += [("command", task.command)] if task.command is not None else []
    return found


async def _send(
    name: str, to: str, task: Task, run: Run, open_channel: Callable[[str], Awaitable[Channel]]
) -> str | None:
    try:
        channel = await open_channel(name)
    except OneClawError as error:
        return f"the channel {name} cannot be used: {error}"
    pieces = _messages(name, to, task, run, channel)
    for pause in (*_PAUSES, None):
        try:
            async with asyncio.timeout(SEND_SECONDS):
                while pieces:  # what was sent is not sent again
                    await channel.send(pieces[0])
                    del pieces[0]
            return None
        except Exception as error:  # noqa: BLE001  # any is that of a channel that did not send
            cause = str(error) if isinstance(error, OneClawError) else type(error).__name__
            problem = f"the channel {name} did not send it: {cause}"
            if isinstance(error, UndeliverableError) or pause is None:
                break
            wait = error.seconds if isinstance(error, RetryLaterError) else pause
            await asyncio.sleep(min(wait, _MOST_WAIT_SECONDS))
    return problem


def _messages(name: str, to: str, task: Task, run: Run, channel: Channel) -> list[OutMessage]:
    if name == "desktop":
        titles = {RunStatus.SUCCESS: task.name, RunStatus.NEEDS_PERMISSION: f"{task.name} needs a permission"}
        title = titles.get(run.status, f"Failed: {task.name}")
        return [OutMessage(title=title, text=run.error or run.answer or "")]
    if name == "command":
        to = f"export {_assignments(task, run)}\n{to}"
    is_chat = isinstance(channel, ChatChannel)
    text = result_text(run, task.name, IN_A_CHAT if is_chat else ON_THE_COMMAND_LINE)
    pieces = split_text(text, channel.max_characters, channel.length if isinstance(channel, ChatChannel) else len)
    data = result_document(task, run)
    keys = [run.id, *(f"{run.id}.{number}" for number in range(1, len(pieces)))]
    return [OutMessage(to=to, text=each, data=data, key=key) for key, each in zip(keys, pieces, strict=True)]


def _assignments(task: Task, run: Run) -> str:
    given = {"TASK_ID": task.id, "TASK_NAME": task.name, "RUN_ID": run.id, "RUN_STATUS": str(run.status)}
    return " ".join(f"ONECLAW_{key}={shlex.quote(value)}" for key, value in given.items())
