"""Calls of the Telegram Bot API.

The token stands in the path of each URL. It is put there below httpx, so that no log and no error has it.
See https://core.telegram.org/bots/api.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx

from oneclaw_core import OneClawError, UsageError, remember_secret
from oneclaw_core.channels import RetryLaterError, UndeliverableError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DOWNLOAD_BYTES = 20_000_000
POLL_SECONDS = 50
_TOKEN = re.compile(r"\d{1,20}:[A-Za-z0-9_-]{20,100}")
_FILE_PATH = re.compile(r"(?!.*\.\.)[\w-][\w./-]{0,500}")
_DEFAULT_WAIT_SECONDS = 5.0
_MAX_SHOWN_CHARACTERS = 300
_GONE = (
    "chat not found",
    "bot was blocked",
    "user is deactivated",
    "bot was kicked",
    "message to edit not found",
    "message can't be edited",
    "message thread not found",
    "upgraded to a supergroup",
)


class BotApiError(OneClawError):
    """The Bot API refused a call.

    Attributes:
        code: of the error, as an HTTP status.
    """

    def __init__(self, method: str, code: int, description: str) -> None:
        super().__init__(f"Telegram refused {method}: {code} {description}")
        self.code = code
        self.description = description


class _WithToken(httpx.AsyncBaseTransport):
    """Puts the token into the path of a request, where only the connection sees it."""

    def __init__(self, token: str, inner: httpx.AsyncBaseTransport) -> None:
        self._token = token
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.replace(b"/bot-token/", f"/bot{self._token}/".encode(), 1)
        sent = httpx.Request(
            request.method,
            request.url.copy_with(raw_path=path),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(sent)

    async def aclose(self) -> None:
        await self._inner.aclose()


class BotApi:
    """The Bot API for one bot. Close it with :meth:`aclose`.

    Args:
        token: of the bot.
        root: the address of the API.

    Raises:
        UsageError: the token is none.
    """

    def __init__(self, token: str, root: str) -> None:
        if not _TOKEN.fullmatch(token):
            raise UsageError("the bot's token is missing or no token: oneclaw keys set telegram.token")
        self.bot_id = token.partition(":")[0]
        remember_secret(token, f"Telegram bot {self.bot_id}")
        self._root = root.rstrip("/")
        # Two, so that waiting for messages never keeps one from being sent.
        certificates = httpx.create_ssl_context()
        self._polling, self._client = (
            httpx.AsyncClient(transport=_WithToken(token, httpx.AsyncHTTPTransport(verify=certificates)), timeout=30)
            for _ in range(2)
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._polling.aclose()
        await self._client.aclose()

    async def call(
        self, method: str, /, *, files: Mapping[str, tuple[str, bytes, str]] | None = None, **parameters: Any
    ) -> Any:
        """Call a method.

        Args:
            method: its name, such as ``sendMessage``.
            files: names, bytes and media types of files, by parameter.
            parameters: of the method; ``None`` leaves one out.

        Raises:
            RetryLaterError: Telegram asks to wait, or was not reached at all.
            UndeliverableError: the chat is gone, or closed to the bot.
            BotApiError: anything else that Telegram refuses.
            OneClawError: the answer got lost.
        """
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            response = await self._send(method, given, files)
            answer = response.json()
        except httpx.ConnectError:
            raise RetryLaterError("Telegram was not reached", _DEFAULT_WAIT_SECONDS) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise OneClawError(f"the answer of Telegram to {method} got lost ({type(error).__name__})") from None
        if isinstance(answer, dict) and answer.get("ok") is True:
            return answer.get("result")
        raise _refusal(method, answer if isinstance(answer, dict) else {})

    async def _send(
        self, method: str, given: Mapping[str, Any], files: Mapping[str, tuple[str, bytes, str]] | None
    ) -> httpx.Response:
        url = f"{self._root}/bot-token/{method}"
        if method == "getUpdates":
            return await self._polling.post(url, json=given, timeout=POLL_SECONDS + 20)
        if files:
            fields = {name: str(value) for name, value in given.items()}
            return await self._client.post(url, data=fields, files=dict(files), timeout=120)
        return await self._client.post(url, json=given)

    async def download(self, file_id: str) -> bytes:
        """Fetch a file that a person sent.

        Raises:
            OneClawError: it is too large, or cannot be downloaded.
        """
        try:
            found = await self.call("getFile", file_id=file_id)
        except BotApiError as error:
            raise OneClawError(f"it was not fetched: {error.description}") from None
        path = found.get("file_path") or ""
        if not _FILE_PATH.fullmatch(path):
            raise OneClawError("it was not fetched: Telegram named no file")
        data = bytearray()
        try:
            async with self._client.stream("GET", f"{self._root}/file/bot-token/{path}", timeout=60) as response:
                if response.status_code != httpx.codes.OK:
                    raise OneClawError(f"it was not fetched: Telegram answered {response.status_code}")
                async for chunk in response.aiter_bytes():
                    data += chunk
                    if len(data) > MAX_DOWNLOAD_BYTES:
                        raise OneClawError("it is larger than the 20 MB that bots can fetch")
        except httpx.HTTPError as error:
            raise OneClawError(f"it was not fetched ({type(error).__name__})") from None
        return bytes(data)


def _refusal(method: str, answer: dict[str, Any]) -> OneClawError:
    code = answer.get("error_code")
    description = str(answer.get("description") or "no reason given")[:_MAX_SHOWN_CHARACTERS]
    parameters = answer.get("parameters")
    if code == httpx.codes.TOO_MANY_REQUESTS:
        wait = parameters.get("retry_after") if isinstance(parameters, dict) else None
        seconds = float(wait) if isinstance(wait, int | float) and wait > 0 else _DEFAULT_WAIT_SECONDS
        return RetryLaterError("Telegram asks to send less", seconds)
    if isinstance(code, int) and code >= httpx.codes.INTERNAL_SERVER_ERROR:
        return OneClawError(f"Telegram failed at {method}: {code}")
    if code == httpx.codes.FORBIDDEN or any(each in description.lower() for each in _GONE):
        return UndeliverableError(f"Telegram refused {method}: {description}")
    return BotApiError(method, code if isinstance(code, int) else 0, description)
