"""Access tokens of stored sign-ins: kept while they last, and renewed by one caller at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OAuthError, OAuthUnavailableError, SignInNeededError
from oneclaw_core.http.oauth.grant import AccessToken
from oneclaw_core.http.oauth.token_endpoint import client_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.http.oauth.accounts import OAuthAccount, OAuthAccounts
    from oneclaw_core.http.oauth.service import OAuthService
    from oneclaw_core.http.oauth.token_endpoint import TokenEndpoint

    Renewal = Callable[[OAuthAccount, Mapping[str, Any]], Mapping[str, str] | None]

# A token that is about to expire may do so on its way.
MARGIN_SECONDS = 60.0
_CLIENT_CODES = ("invalid_client", "unauthorized_client")


class AccessTokens:
    """Gives the access tokens of one service's accounts.

    Args:
        service: whose.
        accounts: where sign-ins are stored.
        endpoint: where new tokens come from.
        renewal: see :class:`OAuthClient`.
    """

    def __init__(
        self, service: OAuthService, accounts: OAuthAccounts, endpoint: TokenEndpoint, renewal: Renewal | None
    ) -> None:
        self._service = service
        self._accounts = accounts
        self._endpoint = endpoint
        self._renewal = renewal
        self._renewing: set[asyncio.Task[str]] = set()

    async def get(self, name: str, refused: str | None) -> str:
        """Return a token that is valid as far as is known, a new one if need be.

        Args:
            name: of the account.
            refused: a token that the service has just refused.
        """
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
