"""Sending the result of a run where its task says: the desktop, channels, a webhook, a command.

Only the user sets channels, webhooks and commands, on the command line; no tool does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core import OneClawError
from oneclaw_scheduled_tasks.inbox import IN_A_CHAT, ON_THE_COMMAND_LINE, result_text
from oneclaw_scheduled_tasks.task import RunStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.plugins import Channel
    from oneclaw_scheduled_tasks.task import Run, Task

WEBHOOK_SECONDS = 30.0
COMMAND_SECONDS = 60.0
_WEBHOOK_PAUSES = (1.0, 3.0)
_NOTIFIED_CHARACTERS = 100
_SHOWN_ERROR_CHARACTERS = 300


async def deliver(task: Task, run: Run, open_channel: Callable[[str], Awaitable[Channel]]) -> str | None:
    """Send a result.

    Args:
        task: whose result.
        run: that has ended in success or failure.
        open_channel: makes a channel, given its name.

    Returns:
        What did not work, ``None`` if all did.
    """
    document = result_document(task, run)
    problems: list[str] = []
    if task.is_notified:
        await _notify(task, run)
    for each in task.channels:
        problems.append(await _send(each, task, run, open_channel) or "")
    if task.webhook is not None:
        problems.append(await _post(task.webhook, document, run.id) or "")
    if task.command is not None:
        problems.append(await _run_command(task.command, document) or "")
    return "; ".join(each for each in problems if each) or None


def result_document(task: Task, run: Run) -> dict[str, Any]:
    """The result as JSON, as a webhook and a command get it."""
    return {
        "task_id": task.id,
        "task": task.name,
        "run_id": run.id,
        "status": str(run.status),
        "scheduled_at": run.scheduled_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at is not None else None,
        "ended_at": run.ended_at.isoformat() if run.ended_at is not None else None,
        "attempt": run.attempt,
        "session": run.session,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost": run.cost,
        "answer": run.answer,
        "error": run.error,
        "notes": run.notes,
    }


async def _notify(task: Task, run: Run) -> None:
    program = shutil.which("notify-send")
    if program is None or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    is_success = run.status is RunStatus.SUCCESS
    title = task.name if is_success else f"Failed: {task.name}"
    body = " ".join(((run.answer if is_success else run.error) or "").split())[:_NOTIFIED_CHARACTERS]
    # Some desktops read the body as markup.
    body = body.replace("&", "&amp;").replace("<", "&lt;")
    with contextlib.suppress(OSError, TimeoutError):
        process = await asyncio.create_subprocess_exec(
            program,
            "--app-name=OneClaw",
            "--",
            title,
            body,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        await _wait(process, 10)


async def _send(where: str, task: Task, run: Run, open_channel: Callable[[str], Awaitable[Channel]]) -> str | None:
    from oneclaw_core.channels import ChatChannel, RetryLaterError, UndeliverableError, split_text
    from oneclaw_core.plugins import OutMessage

    name, _, to = where.partition(":")
    problem = ""
    try:
        channel = await open_channel(name)
    except OneClawError as error:
        return f"the channel {name} cannot be used: {error}"
    is_chat = isinstance(channel, ChatChannel)
    text = result_text(run, task.name, IN_A_CHAT if is_chat else ON_THE_COMMAND_LINE)
    pieces = split_text(text, channel.max_characters, channel.length if isinstance(channel, ChatChannel) else len)
    for pause in (*_WEBHOOK_PAUSES, None):
        try:
            async with asyncio.timeout(WEBHOOK_SECONDS):
                while pieces:  # what was sent is not sent again
                    await channel.send(OutMessage(to=to, text=pieces[0]))
                    del pieces[0]
            return None
        except Exception as error:  # noqa: BLE001  # any is that of a channel that did not send
            cause = str(error) if isinstance(error, OneClawError) else type(error).__name__
            problem = f"the channel {name} did not send it: {cause}"
            if isinstance(error, UndeliverableError) or pause is None:
                return problem
            wait = error.seconds if isinstance(error, RetryLaterError) else pause
            await asyncio.sleep(min(wait, WEBHOOK_SECONDS))
    return problem


async def _post(url: str, document: dict[str, Any], run_id: str) -> str | None:
    import httpx

    # What follows the host is often a secret.
    where = f"the webhook at {urlsplit(url).hostname}"
    problem = f"{where} was not reached"
    async with httpx.AsyncClient(timeout=WEBHOOK_SECONDS, follow_redirects=False) as client:
        for pause in (*_WEBHOOK_PAUSES, None):
            try:
                # The answer itself says nothing that is needed, and may go on for ever.
                async with (
                    asyncio.timeout(WEBHOOK_SECONDS),
                    client.stream("POST", url, json=document, headers={"Idempotency-Key": run_id}) as response,
                ):
                    pass
            except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                problem = f"{where} was not reached ({type(error).__name__})"
            else:
                if response.is_success:
                    return None
                problem = f"{where} answered {response.status_code}"
                if response.status_code < 500 and response.status_code != 429:
                    return problem
            if pause is not None:
                await asyncio.sleep(pause)
    return problem


async def _run_command(command: str, document: dict[str, Any]) -> str | None:
    environment = os.environ | {
        "ONECLAW_TASK_ID": document["task_id"],
        "ONECLAW_TASK_NAME": document["task"],
        "ONECLAW_RUN_ID": document["run_id"],
        "ONECLAW_RUN_STATUS": document["status"],
    }
    try:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return f"the task's command was not run: {error.strerror}"
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            _, written = await process.communicate(json.dumps(document).encode())
    except TimeoutError:
        return f"the task's command was stopped after {COMMAND_SECONDS:g} seconds"
    finally:
        _kill(process)
    if process.returncode == 0:
        return None
    text = " ".join(written.decode(errors="replace").split())[-_SHOWN_ERROR_CHARACTERS:]
    return f"the task's command ended with status {process.returncode}" + (f": {text}" if text else "")


async def _wait(process: asyncio.subprocess.Process, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    finally:
        _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a process that still runs, with those that it has begun."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
