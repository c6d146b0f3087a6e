"""Tokens: requests to a service's token and revocation endpoints, and access tokens that are kept while they last."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from oneclaw_core.errors import OAuthError, OAuthUnavailableError, SignInNeededError
from oneclaw_core.http.clients import expands_boundedly
from oneclaw_core.http.messages import body_pieces, connection_fault
from oneclaw_core.http.oauth.service import AccessToken, OAuthGrant, read_grant
from oneclaw_core.secrets.redaction import redact, remember_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_core.http.oauth.accounts import OAuthAccount, OAuthAccounts
    from oneclaw_core.http.oauth.service import OAuthService

    OpenHttp = Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]]
    Renewal = Callable[[OAuthAccount, Mapping[str, Any]], Mapping[str, str] | None]


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

# A token that is about to expire may do so on its way.
MARGIN_SECONDS = 60.0
_CLIENT_CODES = ("invalid_client", "unauthorized_client")


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
        status, content = await self._send(self._service.token_endpoint, form)
        try:
            document = json.loads(content)
            if status < 300 and "error" not in document:
                return read_grant(self._service, document)
        except (ValueError, RecursionError, TypeError):
            document = None
        raise self._refusal(status, document)

    async def revoke(self, form: Mapping[str, str]) -> None:
        """Take a token back (RFC 7009); that it is gone already is as good.

        Args:
            form: with ``token``, and the client as for :meth:`request`.

        Raises:
            OAuthError: the service did not take it back, or cannot be asked.
        """
        assert self._service.revocation_endpoint is not None
        status, content = await self._send(self._service.revocation_endpoint, form)
        if status < 300:
            return
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            document = None
        error = self._refusal(status, document)
        if error.code not in _GONE_CODES:
            raise error

    async def _send(self, url: str, form: Mapping[str, str]) -> tuple[int, bytes]:
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
                    return status, content
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

    def _refusal(self, status: int, document: Any) -> OAuthError:
        title = self._service.title
        values = document if isinstance(document, dict) else {}
        code = values["error"] if isinstance(values.get("error"), str) else ""
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
        description = described(values)
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


class AccessTokens:
    """Gives the access tokens of one service's accounts."""

    def __init__(
        self, service: OAuthService, accounts: OAuthAccounts, endpoint: TokenEndpoint, renewal: Renewal | None
    ) -> None:
        self._service = service
        self._accounts = accounts
        self._endpoint = endpoint
        self._renewal = renewal
        self._renewing: set[asyncio.Task[str]] = set()

    async def get(self, name: str, refused: str | None) -> str:
        """Return a token that is valid as far as is known, a new one if need be."""
        self._account(name)
        kept = self._kept(name, refused)
        return kept.token if kept is not None else await self.renew(name, refused, is_forced=False)

    async def renew(self, name: str, refused: str | None, *, is_forced: bool) -> str:
        """Get a new token, unless another caller has got one meanwhile and this one is not forced.

        It happens in a task that outlives a caller who is cancelled: a refresh token that the service has replaced
        would be lost with it.
        """
        self._account(name)
        task = asyncio.create_task(self._renew(name, refused, is_forced=is_forced))
        self._renewing.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[str]) -> None:
        self._renewing.discard(task)
        if not task.cancelled():
            task.exception()  # of a caller who was cancelled; others have seen it

    def _kept(self, name: str, refused: str | None) -> AccessToken | None:
        found = self._accounts.access_token(name)
        is_usable = found is not None and found.token != refused and found.is_usable(MARGIN_SECONDS)
        return found if is_usable else None

    async def _renew(self, name: str, refused: str | None, *, is_forced: bool) -> str:
        async with self._accounts.alone(name):
            kept = None if is_forced else self._kept(name, refused)
            return kept.token if kept is not None else await self._get_new(name, refused)

    async def _get_new(self, name: str, refused: str | None) -> str:
        account = self._account(name)
        secret = await asyncio.to_thread(self._accounts.secret, name)
        self._check_authority(account, secret)
        lasting = _lasting_token(secret)
        if lasting is not None and lasting.token != refused and lasting.is_usable(MARGIN_SECONDS):
            return lasting.token
        form = self._renewal(account, secret) if self._renewal is not None else None
        if form is None:
            form = self._refresh_form(account, secret)
        try:
            grant = await self._endpoint.request(form)
        except OAuthUnavailableError:
            raise
        except OAuthError as error:
            raise self._refusal(account, error) from None
        rotated = grant.refresh_token
        if rotated and "refresh_token" in secret and rotated != secret["refresh_token"]:
            await asyncio.to_thread(self._accounts.change_secret, name, {**secret, "refresh_token": rotated})
        self._accounts.save_access_token(name, grant.access_token)
        if grant.scopes is not None:
            self._accounts.note_scopes(name, grant.scopes)
        return grant.access_token.token

    def _account(self, name: str) -> OAuthAccount:
        account = self._accounts.list().get(name)
        if account is None:
            raise SignInNeededError(
                f"The {self._service.title} account {name[:100]!r} is not signed in. The user can sign in with: "
                f"{self._service.command(name[:100])}"
            )
        return account

    def _refresh_form(self, account: OAuthAccount, secret: Mapping[str, Any]) -> dict[str, str]:
        refresh_token, client_id, client_secret = map(secret.get, ("refresh_token", "client_id", "client_secret"))
        if not refresh_token and _lasting_token(secret) is not None:
            raise self._ended(account)
        if not (isinstance(refresh_token, str) and refresh_token and isinstance(client_id, str) and client_id):
            raise self._accounts.damaged(account.name)
        if client_id == self._service.client_id:
            client_secret = self._service.client_secret or client_secret
        return {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            **client_fields(client_id, client_secret),
        }

    def _check_authority(self, account: OAuthAccount, secret: Mapping[str, Any]) -> None:
        """Refuse to send a sign-in to another service than the one that gave it."""
        given_by = secret.get("issuer", self._service.authority)
        if given_by != self._service.authority:
            raise SignInNeededError(
                f"The sign-in of {account.label} is one of {given_by} and not of {self._service.authority}. The user "
                f"can sign in there with: {self._service.command(account.name)}"
            )

    def _refusal(self, account: OAuthAccount, error: OAuthError) -> OAuthError:
        if error.code == "invalid_grant" or error.code in self._service.ended_codes:
            return self._ended(account, error)
        title, command = self._service.title, self._service.command(account.name)
        start = f"{title} refuses access for {account.label}"
        if error.code in _CLIENT_CODES:
            start = f"{title} does not accept the OAuth client that {account.name} was signed in with"
        return OAuthError(
            f"{start} ({error.description}). The user can sign in again with: {command}",
            code=error.code,
            status=error.status,
            description=error.description,
        )

    def _ended(self, account: OAuthAccount, error: OAuthError | None = None) -> SignInNeededError:
        return SignInNeededError(
            f"The {self._service.title} sign-in of {account.label} has expired or was revoked. The user can renew it "
            f"with: {self._service.command(account.name)}",
            code=error.code if error else "",
            status=error.status if error else None,
            description=error.description if error else "",
        )


def _lasting_token(secret: Mapping[str, Any]) -> AccessToken | None:
    """The token of a service that gives no refresh tokens."""
    token, expires_at = secret.get("access_token"), secret.get("expires_at")
    if not isinstance(token, str) or not token:
        return None
    return AccessToken(token, float(expires_at) if isinstance(expires_at, int | float) else None)
