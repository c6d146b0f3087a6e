"""Requests to a service's token and revocation endpoints."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from oneclaw_core.errors import OAuthError, OAuthUnavailableError
from oneclaw_core.http.clients import expands_boundedly
from oneclaw_core.http.messages import body_pieces, connection_fault
from oneclaw_core.http.oauth.accounts import OAuthGrant, OAuthService, read_grant
from oneclaw_core.secrets.redaction import redact, remember_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx

    OpenHttp = Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]]


_TIMEOUT_SECONDS = 20.0
_TRIES = 3
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
_MAX_ANSWER_BYTES = 1_000_000
_DESCRIBED_CHARACTERS = 300
_TRANSIENT_STATUS = frozenset({408, 425, 429, *range(500, 600)})
_TRANSIENT_CODES = frozenset({"temporarily_unavailable", "server_error", "slow_down", "internal_failure"})
# Of a token that is revoked: there is nothing left to take back.
_GONE_CODES = frozenset({"invalid_token", "invalid_grant"})
_SECRET_FIELDS = ("code", "code_verifier", "refresh_token", "token", "client_secret", "assertion")


class TokenEndpoint:
    """Asks a service for tokens, and takes them back.

    What fails for now is repeated twice: connections, the statuses 408, 425, 429 and 5xx.

    Args:
        service: whose endpoints.
        open_http: gives an HTTP client for the length of one request.
    """

    def __init__(self, service: OAuthService, open_http: OpenHttp) -> None:
        self._service = service
        self._open_http = open_http

    async def request(self, form: Mapping[str, str]) -> OAuthGrant:
        """Ask for tokens.

        Args:
            form: the request, with ``client_id`` and ``client_secret`` among it if the client is to prove itself.

        Raises:
            OAuthUnavailableError: the service is not available.
            OAuthError: the service refuses; its ``code`` says why.
        """
        status, document = await self._send(self._service.token_endpoint, form)
        if status < 300 and "error" not in document:
            with suppress(ValueError):
                return read_grant(self._service, document)
        raise self._refusal(status, document)

    async def revoke(self, form: Mapping[str, str]) -> None:
        """Take a token back (RFC 7009); that it is gone already is as good.

        Args:
            form: with ``token``, and the client as for :meth:`request`.

        Raises:
            OAuthError: the service did not take it back, or cannot be asked.
        """
        assert self._service.revocation_endpoint is not None
        status, document = await self._send(self._service.revocation_endpoint, form)
        error = self._refusal(status, document)
        if status >= 300 and error.code not in _GONE_CODES:
            raise error

    async def _send(self, url: str, form: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
        """Send a form; return the status, and the JSON object that the service answered, empty for anything else."""
        import httpx

        for name in _SECRET_FIELDS:
            if form.get(name):
                remember_secret(form[name])
        headers, form = self._authenticated(form)
        pause_seconds = _FIRST_PAUSE_SECONDS
        for tries_left in reversed(range(_TRIES)):
            try:
                async with self._open_http() as client:
                    status, retry_after, content = await _post(client, url, headers, form)
            except (httpx.HTTPError, OSError) as fault:
                if not tries_left:
                    reason = connection_fault(fault).text
                    raise OAuthUnavailableError(
                        f"{self._service.title} cannot be asked for access: {reason}. Try again later."
                    ) from None
            else:
                if status not in _TRANSIENT_STATUS or not tries_left:
                    return status, _object_in(content)
                if retry_after.isdecimal():
                    pause_seconds = float(retry_after[:9])
            await asyncio.sleep(min(pause_seconds, _LONGEST_PAUSE_SECONDS))
            pause_seconds *= 2
        raise AssertionError("the last try has returned or raised")

    def _authenticated(self, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Move the client into a header if the service wants it there (RFC 6749, section 2.3.1)."""
        headers = {"Accept": "application/json"}
        if self._service.client_authentication == "post" or not form.get("client_secret"):
            return headers, dict(form)
        pair = f"{quote_plus(form['client_id'])}:{quote_plus(form['client_secret'])}"
        encoded = base64.b64encode(pair.encode()).decode()
        remember_secret(encoded, f"{self._service.name} client {form['client_id']}")
        headers["Authorization"] = f"Basic {encoded}"
        return headers, {name: value for name, value in form.items() if not name.startswith("client_")}

    def _refusal(self, status: int, document: Mapping[str, Any]) -> OAuthError:
        title = self._service.title
        code = document["error"] if isinstance(document.get("error"), str) else ""
        if status in _TRANSIENT_STATUS or code in _TRANSIENT_CODES:
            return OAuthUnavailableError(
                f"{title} gives no access at the moment: its sign-in service failed (status {status}). Try again "
                "later.",
                code=code,
                status=status,
            )
        if not code:
            return OAuthUnavailableError(
                f"{title}'s answer to the request for access cannot be read (status {status}). Try again later.",
                status=status,
            )
        description = described(document)
        return OAuthError(f"{title} refuses access: {description}", code=code, status=status, description=description)


def client_fields(client_id: str, client_secret: str | None) -> dict[str, str]:
    """Return the fields of a form by which a client says who it is."""
    fields = {"client_id": client_id, "client_secret": client_secret or ""}
    return {name: value for name, value in fields.items() if value}


def described(values: Mapping[str, Any]) -> str:
    """Return the code and the explanation of an error response on one printable line, without secrets."""
    words = [str(values[key]) for key in ("error", "error_description") if values.get(key)]
    line = "".join(each if each.isprintable() else " " for each in redact(": ".join(words)))
    return " ".join(line.split())[:_DESCRIBED_CHARACTERS]


def _object_in(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


async def _post(
    client: httpx.AsyncClient, url: str, headers: Mapping[str, str], form: Mapping[str, str]
) -> tuple[int, str, bytes]:
    """Send a form; return the status, the header ``Retry-After`` and the body."""
    import httpx

    async with client.stream(
        "POST", url, headers=headers, data=form, timeout=_TIMEOUT_SECONDS, follow_redirects=False
    ) as response:
        content = bytearray()
        if not expands_boundedly(response.headers):
            raise httpx.DecodingError("compressed in an unknown way", request=response.request)
        async for piece in body_pieces(response):
            content += piece
            if len(content) > _MAX_ANSWER_BYTES:
                raise httpx.DecodingError("too long", request=response.request)
        return response.status_code, response.headers.get("retry-after", ""), bytes(content)
