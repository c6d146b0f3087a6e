"""The trigger ``webhook``: a request with a token to the task's address at ``oneclaw serve``."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from oneclaw_core.plugins import TriggerSetup, WebResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import Fire, WebRequest

PARAMETER = "token_sha256"
# By which senders say that a request is one that they have sent before.
_IDENTITIES = ("idempotency-key", "x-github-delivery", "x-gitlab-event-uuid", "webhook-id")


async def webhook(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Wait: requests come to :func:`take_request`."""
    await asyncio.Event().wait()


async def set_up(context: PluginContext, parameters: Mapping[str, str]) -> TriggerSetup:
    """Make a token, of which only a digest is stored."""
    token = secrets.token_urlsafe(32)
    note = f"send requests with the header\nAuthorization: Bearer {token}\nthe token is shown this once"
    return TriggerSetup(parameters={**parameters, PARAMETER: _digest(token)}, note=note, values={"token": token})


async def take_request(
    context: PluginContext, parameters: Mapping[str, str], request: WebRequest, fire: Fire
) -> WebResponse:
    """Start the task if the request has its token; the body is given to the agent."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    is_known = hmac.compare_digest(_digest(token.strip()), parameters[PARAMETER])
    if scheme.lower() != "bearer" or not is_known:
        return WebResponse.json({"error": "the token is not the one of this task"}, status=403)
    identity = next((request.headers[each] for each in _IDENTITIES if request.headers.get(each)), None)
    key = None if identity is None else f"webhook {request.path_parameters['id']} {identity}"
    is_started = await fire(
        f"a request to its webhook, with the body:\n{request.body.decode(errors='replace')}", key=key
    )
    return WebResponse.json({"started": is_started}, status=202 if is_started else 200)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
