"""The route of ``oneclaw serve`` that starts tasks, and its tokens."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError
from oneclaw_core.plugins import WebResponse
from oneclaw_scheduled_tasks.schedules import SECRET, Triggered
from oneclaw_scheduled_tasks.service import TaskService

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import WebRequest

TRIGGER = "webhook"
PARAMETER = f"token{SECRET}"
MOST_BYTES = 64 * 1024
# By which senders say that a request is one that they have sent before.
_IDENTITIES = ("idempotency-key", "x-github-delivery", "x-gitlab-event-uuid", "webhook-id")


def new_token() -> tuple[str, str]:
    """Make a token; return it, and what is kept of it."""
    token = secrets.token_urlsafe(32)
    return token, _digest(token)


def path_of(task_id: str) -> str:
    """Return the path of a task's webhook at the server."""
    return f"/scheduled_tasks/hook/{task_id}"


async def take_event(context: PluginContext, request: WebRequest) -> WebResponse:
    """Start the task that a request is for, if it has the task's token.

    Args:
        context: of the plugin.
        request: with the token as ``Authorization: Bearer TOKEN``; its body is given to the agent.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    task_id = request.path_parameters["id"]
    async with TaskService.open(context.services) as service:
        try:
            schedule = (await service.get(task_id)).schedule
        except NotFoundError:
            schedule = None
        expected = dict(schedule.parameters).get(PARAMETER, "") if isinstance(schedule, Triggered) else ""
        is_known = hmac.compare_digest(_digest(token.strip()), expected or _digest(secrets.token_urlsafe()))
        if scheme.lower() != "bearer" or not is_known:
            # The same for a task that is not there, so that none can be found by trying.
            return WebResponse.json({"error": "the token is not the one of this task"}, status=403)
        text = request.body.decode(errors="replace")
        identity = next((request.headers[each] for each in _IDENTITIES if request.headers.get(each)), None)
        key = None if identity is None else f"webhook {task_id} {identity}"
        is_started = await service.fire(task_id, f"a request to its webhook, with the body:\n{text}", key)
    return WebResponse.json({"started": is_started}, status=202 if is_started else 200)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
