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
_ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """ASGI middleware that adds the headers; what a route of a plugin sets for itself in these names is replaced."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_page = scope.get("path") == "/" or str(scope.get("path")).startswith("/static/")
                added = {**_ALWAYS, "content-security-policy": PAGE_POLICY if is_page else DATA_POLICY}
                kept = [
                    (name, value) for name, value in message.get("headers", []) if name.decode().lower() not in added
                ]
                if not any(name.lower() == b"cache-control" for name, _ in kept):
                    added["cache-control"] = "no-store"
                message["headers"] = [*kept, *((name.encode(), value.encode()) for name, value in added.items())]
            await send(message)

        await self._app(scope, receive, send_with_headers)
