"""Security headers of every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types oneclaw"
)
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
# ``same-origin``, for with ``no-referrer`` a browser does not say where a form comes from.
PAGE_HEADERS = {"content-security-policy": PAGE_POLICY, "referrer-policy": "same-origin"}
ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "content-security-policy": DATA_POLICY,
    "cache-control": "no-store",
}


class SecurityHeaders:
    """ASGI middleware that adds the headers.

    Pages of the server bring ``PAGE_HEADERS``; what a route of a plugin sets in these names is removed before.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                names = {name.decode().lower() for name, _ in given}
                added = {name: value for name, value in ALWAYS.items() if name not in names}
                message["headers"] = [*given, *((name.encode(), value.encode()) for name, value in added.items())]
            await send(message)

        await self._app(scope, receive, send_with_headers)
