"""The send-only channel ``webhook``: a message to a URL, as JSON."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oneclaw_core import OneClawError
from oneclaw_core.channels import UndeliverableError
from oneclaw_core.plugins import Channel

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import OutMessage

_SECONDS = 30.0
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_URL = re.compile(r"https?://[^\s/]+\S*", re.IGNORECASE)


class WebhookChannel(Channel):
    """Posts to the URL that a message is for."""

    def __init__(self, context: PluginContext) -> None:
        pass

    async def send(self, message: OutMessage) -> None:
        """See ``Channel``; the body is the message's data, else an object with its title and text."""
        import httpx

        from oneclaw_core.http import create_client

        if not _URL.fullmatch(message.to):
            raise UndeliverableError("a webhook is a URL that begins with https:// or http://")
        # What follows the host is often a secret.
        where = f"the webhook at {urlsplit(message.to).hostname}"
        document = {"title": message.title, "text": message.text} if message.data is None else dict(message.data)
        headers = {} if message.key is None else {"Idempotency-Key": message.key}
        try:
            # The answer itself says nothing that is needed, and may go on for ever.
            async with (
                asyncio.timeout(_SECONDS),
                create_client(read_timeout_seconds=_SECONDS) as client,
                client.stream("POST", message.to, json=document, headers=headers) as response,
            ):
                status = response.status_code
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise OneClawError(f"{where} was not reached ({type(error).__name__})") from error
        if response.is_success:
            return
        is_temporary = status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS
        raise (OneClawError if is_temporary else UndeliverableError)(f"{where} answered {status}")
