"""Sign users in to a service, and give access tokens from then on.

Signing in is the authorization code flow in a browser (RFC 6749, section 4.1; RFC 7636, RFC 8252, RFC 9207).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from oneclaw_core.errors import OAuthError, OAuthUnavailableError, OneClawError, SignInNeededError, UsageError, reworded
from oneclaw_core.http.clients import create_client
from oneclaw_core.http.oauth.accounts import DEFAULT_ACCOUNT, AccessToken, OAuthAccount, OAuthAccounts
from oneclaw_core.http.oauth.consent import OAuthConsent, RedirectListener
from oneclaw_core.http.oauth.tokens import TokenEndpoint, client_fields, described
from oneclaw_core.secrets.redaction import remember_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from oneclaw_core.http.oauth.accounts import OAuthGrant, OAuthService
    from oneclaw_core.http.oauth.consent import ReadLine
    from oneclaw_core.http.oauth.tokens import OpenHttp
    from oneclaw_core.secrets.store import SecretPlace

    Renewal = Callable[[OAuthAccount, Mapping[str, Any]], Mapping[str, str] | None]

# A token that is about to expire may do so on its way.
MARGIN_SECONDS = 60.0
_CLIENT_CODES = ("invalid_client", "unauthorized_client")


class OAuthClient:
    """Signs users in to a service, and gives access tokens; plugins get one from ``context.oauth(service)``.

    Args:
        service: what to sign in to.
        accounts: where sign-ins are stored.
        open_http: gives an HTTP client for the length of one request. By default one that goes through the proxies of
            the environment.
        renewal: makes the form that asks for a new access token, from an account and its secret, where that is not a
            refresh token: a signed assertion, for instance. ``None`` from it means the refresh token after all.
    """

    def __init__(
        self,
        service: OAuthService,
        accounts: OAuthAccounts,
        *,
        open_http: OpenHttp = create_client,
        renewal: Renewal | None = None,
    ) -> None:
        self.service = service
        self.accounts = accounts
        self._endpoint = TokenEndpoint(service, open_http)
        self._renewal = renewal
        self._renewing: set[asyncio.Task[str]] = set()

    async def sign_in(
        self,
        *,
        account: str | None = None,
        scopes: Iterable[str] | None = None,
        open_browser: bool,
        show: Callable[[str], None],
        read_line: ReadLine,
        in_file: bool = False,
    ) -> OAuthAccount:
        """Have the user agree in a browser, and store the sign-in.

        Args:
            account: its name; by default the default account. One that is signed in keeps what it was granted.
            scopes: what for; by default those of the service.
            open_browser: open a browser on this machine; without one the user opens the address anywhere, and pastes
                the one where the browser ends up.
            show: writes a line for the user; not to standard output where that is for data.
            read_line: reads a line from the user, ``None`` at the end of the input.
            in_file: do not use the system keyring.

        Returns:
            The account, with what was granted; the user may have granted less than asked for.

        Raises:
            OAuthError: the user said no, or the service refuses or is not available.
            UsageError: the name or what was pasted is not acceptable, or the user has signed in as somebody else.
        """
        name = self.accounts.check_name(account or self.accounts.default_name or DEFAULT_ACCOUNT)
        known = self.accounts.list().get(name) or OAuthAccount(name)
        wanted = self.service.scopes if scopes is None else scopes
        grant = await self.authorize(
            scopes=dict.fromkeys([*known.scopes, *wanted]),
            email=known.email,
            open_browser=open_browser,
            show=show,
            read_line=read_line,
        )
        self.check_same_user(name, known.email, grant)
        made = OAuthAccount(name, grant.scopes or (), grant.email or known.email, known.details)
        await self.save(made, grant, in_file=in_file)
        return made

    async def authorize(
        self,
        *,
        scopes: Iterable[str],
        email: str | None = None,
        open_browser: bool,
        show: Callable[[str], None],
        read_line: ReadLine,
    ) -> OAuthGrant:
        """Have the user agree in a browser; nothing is stored. :meth:`sign_in` is this and :meth:`save`.

        Args:
            scopes: what for.
            email: of the account, if it is known; browsers with several accounts choose this one.
            open_browser: as for :meth:`sign_in`.
            show: as for :meth:`sign_in`.
            read_line: as for :meth:`sign_in`.

        Raises:
            OAuthError: as for :meth:`sign_in`.
            UsageError: as for :meth:`sign_in`.
        """
        asked = tuple(scopes)
        state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(64)
        remember_secret(verifier)
        listener = RedirectListener(
            port=self.service.redirect_port, host=self.service.redirect_host, path=self.service.redirect_path
        )
        async with listener:
            consent = OAuthConsent(
                listener, self.service.title, open_browser=open_browser, show=show, read_line=read_line
            )
            challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
            parameters = {
                "response_type": "code",
                "client_id": self.service.client_id,
                "redirect_uri": listener.redirect_uri,
                "scope": self.service.asked_scopes(asked),
                "state": state,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "login_hint": email or "",
            }
            await consent.redirect(_authorization_url(self.service, parameters))
            answer = await consent.answer()
        form = {
            "grant_type": "authorization_code",
            "code": _code_of(self.service, answer),
            "redirect_uri": listener.redirect_uri,
            "code_verifier": verifier,
            **client_fields(self.service.client_id, self.service.client_secret),
        }
        try:
            grant = await self._endpoint.request(form)
        except OAuthUnavailableError:
            raise
        except OAuthError as error:
            text = f"{self.service.title} refuses the sign-in: {error.description}; run the command again"
            raise reworded(error, text) from None
        # A service that does not say what it grants grants what was asked for (RFC 6749, section 5.1).
        return grant if grant.scopes is not None else replace(grant, scopes=asked)

    async def exchange(self, form: Mapping[str, str]) -> OAuthGrant:
        """Send a token request of the caller's making; nothing is stored.

        Args:
            form: with ``grant_type``.

        Raises:
            OAuthUnavailableError: the service is not available.
            OAuthError: it refuses; ``code`` says why.
        """
        return await self._endpoint.request(form)

    def check_same_user(self, name: str, email: str | None, grant: OAuthGrant) -> None:
        """Refuse a grant of another user than the one whose account it is to be.

        Args:
            name: of the account.
            email: whose it is, ``None`` if that is not known.
            grant: has the user in its claims, if the service says it.

        Raises:
            UsageError: it is another user's.
        """
        if email and grant.email and grant.email.lower() != email.lower():
            raise UsageError(
                f"you have signed in as {grant.email}, and the account {name} is {email}: sign in again as that one, "
                "or give this one another name with --account"
            )

    async def save(
        self,
        account: OAuthAccount,
        grant: OAuthGrant,
        *,
        secret: Mapping[str, Any] | None = None,
        in_file: bool = False,
    ) -> SecretPlace:
        """Store a sign-in.

        Args:
            account: what is not secret.
            grant: the tokens.
            secret: what access tokens can be had with, for ``renewal``; by default what is in the grant.
            in_file: do not use the system keyring.

        Returns:
            Where the secret is.

        Raises:
            OneClawError: it cannot be stored.
        """
        stored = self._secret_of(grant) if secret is None else secret
        async with self.accounts.alone(account.name):
            place = await asyncio.to_thread(self.accounts.save, account, stored, in_file=in_file)
            if "access_token" not in stored:
                self.accounts.save_access_token(account.name, grant.access_token)
        return place

    async def access_token(self, account: str | None = None, *, refused: str | None = None) -> str:
        """Return a token that is valid as far as is known, a new one if need be.

        Of any number of calls that need a new one, in all processes, one asks the service, and the others wait for it.

        Args:
            account: its name; by default the default account.
            refused: a token that the service has just refused.

        Raises:
            SignInNeededError: no one is signed in, or the sign-in has ended; the message names the command.
            OAuthUnavailableError: the service is not available for now.
            OAuthError: the service refuses for another reason.
            OneClawError: the sign-in cannot be read.
        """
        name = account or self.accounts.default_name
        if name is None:
            raise SignInNeededError(
                f"No {self.service.title} account is signed in. The user can sign in with: {self.service.command()}"
            )
        self._account(name)
        return _usable(self.accounts.access_token(name), refused) or await self._renewed(name, refused)

    async def check(self, account: str) -> None:
        """Ask the service whether a sign-in still works, if there is a way to ask.

        Raises:
            OAuthError: it does not, or the service is not available.
            OneClawError: the sign-in cannot be read.
        """
        self._account(account)
        await self._renewed(account, None, is_forced=True)

    async def sign_out(self, account: str) -> str | None:
        """Forget an account, and revoke the sign-in at the service.

        Returns:
            Why the service may still give access, for the user; ``None`` if the sign-in is revoked.

        Raises:
            NotFoundError: there is no such account.
            OneClawError: it cannot be forgotten.
        """
        self.accounts.get(account)
        async with self.accounts.alone(account):
            problem = await self._revoke(account)
            await asyncio.to_thread(self.accounts.remove, account)
        return problem

    async def _renewed(self, name: str, refused: str | None, *, is_forced: bool = False) -> str:
        """Get a new token, unless another caller has got one meanwhile and this one is not forced.

        It happens in a task that outlives a caller who is cancelled: a refresh token that the service has replaced
        would be lost with it.
        """
        task = asyncio.create_task(self._renew(name, refused, is_forced=is_forced))
        self._renewing.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[str]) -> None:
        self._renewing.discard(task)
        if not task.cancelled():
            task.exception()  # of a caller who was cancelled; others have seen it

    async def _renew(self, name: str, refused: str | None, *, is_forced: bool) -> str:
        async with self.accounts.alone(name):
            kept = None if is_forced else _usable(self.accounts.access_token(name), refused)
            return kept or await self._get_new(name, refused)

    async def _get_new(self, name: str, refused: str | None) -> str:
        account = self._account(name)
        secret = await asyncio.to_thread(self.accounts.secret, name)
        self._check_authority(account, secret)
        lasting = _usable(_lasting_token(secret), refused)
        if lasting is not None:
            return lasting
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
            await asyncio.to_thread(self.accounts.change_secret, name, {**secret, "refresh_token": rotated})
        self.accounts.save_access_token(name, grant.access_token)
        if grant.scopes is not None:
            self.accounts.note_scopes(name, grant.scopes)
        return grant.access_token.token

    def _account(self, name: str) -> OAuthAccount:
        account = self.accounts.list().get(name)
        if account is None:
            raise SignInNeededError(
                f"The {self.service.title} account {name[:100]!r} is not signed in. The user can sign in with: "
                f"{self.service.command(name[:100])}"
            )
        return account

    def _refresh_form(self, account: OAuthAccount, secret: Mapping[str, Any]) -> dict[str, str]:
        refresh_token, client_id, client_secret = map(secret.get, ("refresh_token", "client_id", "client_secret"))
        if not refresh_token and _lasting_token(secret) is not None:
            raise self._ended(account)
        if not (isinstance(refresh_token, str) and refresh_token and isinstance(client_id, str) and client_id):
            raise self.accounts.damaged(account.name)
        if client_id == self.service.client_id:
            client_secret = self.service.client_secret or client_secret
        return {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            **client_fields(client_id, client_secret),
        }

    def _check_authority(self, account: OAuthAccount, secret: Mapping[str, Any]) -> None:
        """Refuse to send a sign-in to another service than the one that gave it."""
        given_by = secret.get("issuer", self.service.authority)
        if given_by != self.service.authority:
            raise SignInNeededError(
                f"The sign-in of {account.label} is one of {given_by} and not of {self.service.authority}. The user "
                f"can sign in there with: {self.service.command(account.name)}"
            )

    def _refusal(self, account: OAuthAccount, error: OAuthError) -> OAuthError:
        if error.code == "invalid_grant" or error.code in self.service.ended_codes:
            return self._ended(account, error)
        title, command = self.service.title, self.service.command(account.name)
        start = f"{title} refuses access for {account.label}"
        if error.code in _CLIENT_CODES:
            start = f"{title} does not accept the OAuth client that {account.name} was signed in with"
        return reworded(error, f"{start} ({error.description}). The user can sign in again with: {command}")

    def _ended(self, account: OAuthAccount, error: OAuthError | None = None) -> SignInNeededError:
        ended = SignInNeededError(
            f"The {self.service.title} sign-in of {account.label} has expired or was revoked. The user can renew it "
            f"with: {self.service.command(account.name)}"
        )
        if error is not None:
            ended.code, ended.status, ended.description = error.code, error.status, error.description
        return ended

    def _secret_of(self, grant: OAuthGrant) -> dict[str, Any]:
        service = self.service
        secret: dict[str, Any] = {
            **client_fields(service.client_id, service.client_secret),
            "issuer": service.authority,
        }
        if grant.refresh_token:
            return {**secret, "refresh_token": grant.refresh_token}
        # All there is: it may last for years, so it lies with the secrets.
        token = grant.access_token
        return {**secret, "access_token": token.token, "expires_at": token.expires_at}

    async def _revoke(self, name: str) -> str | None:
        try:
            secret = await asyncio.to_thread(self.accounts.secret, name)
        except OneClawError:
            return "its secret cannot be read"
        token = next((key for key in ("refresh_token", "access_token") if secret.get(key)), None)
        if token is None:
            return None
        title = self.service.title
        if self.service.revocation_endpoint is None:
            return f"{title} has no way to take access back from here"
        if secret.get("issuer", self.service.authority) != self.service.authority:
            return f"the sign-in is one of {secret['issuer']}"
        client = client_fields(str(secret.get("client_id") or ""), secret.get("client_secret"))
        try:
            await self._endpoint.revoke({"token": str(secret[token]), "token_type_hint": token, **client})
        except OAuthError as error:
            if error.status is None:
                return f"{title} cannot be reached"
            return f"{title} answered with status {error.status}"
        return None


def _usable(token: AccessToken | None, refused: str | None) -> str | None:
    """Return a token that lasts and was not refused."""
    if token is None or token.token == refused:
        return None
    lasts = token.expires_at is None or token.expires_at - MARGIN_SECONDS > time.time()
    return token.token if lasts else None


def _lasting_token(secret: Mapping[str, Any]) -> AccessToken | None:
    """The token of a service that gives no refresh tokens."""
    token, expires_at = secret.get("access_token"), secret.get("expires_at")
    if not isinstance(token, str) or not token:
        return None
    return AccessToken(token, float(expires_at) if isinstance(expires_at, int | float) else None)


def _authorization_url(service: OAuthService, parameters: Mapping[str, str]) -> str:
    endpoint = service.authorization_endpoint
    given = {**service.authorization_parameters, **parameters}
    query = urlencode({name: value for name, value in given.items() if value})
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{query}"


def _code_of(service: OAuthService, answer: Mapping[str, str]) -> str:
    """Check the answer that the browser has brought, and take the code out of it."""
    title, issuer = service.title, service.issuer
    named = answer.get("iss")
    if issuer and (named != issuer if named is not None else service.sends_issuer):
        said = f"names {described({'error': named})}" if named else "names no issuer"
        raise OAuthError(
            f"the answer in the browser {said} and does not come from {issuer}: it was not used; run the command again"
        )
    if "error" in answer:
        if answer["error"] == "access_denied":
            raise OAuthError(f"{title} was told no in the browser: nothing has changed", code="access_denied")
        raise OAuthError(f"{title} refuses the sign-in: {described(answer)}", code=answer["error"])
    return answer["code"]
