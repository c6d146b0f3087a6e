"""Signing in to a Google account with the user's own OAuth client (RFC 8252, PKCE)."""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError, UsageError, remember_secret
from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT, USER, AccessToken, Account
from oneclaw_google_workspace.apis import address
from oneclaw_google_workspace.redirect_listener import RedirectListener, answer_of
from oneclaw_google_workspace.scopes import consent_scopes, full_scope, missing_scopes, short_scope
from oneclaw_google_workspace.token_requests import TOKEN_URL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_google_workspace.oauth_client import OAuthClient

AUTHORIZATION_URL = "https://accounts.google.com/o/oauth2/v2/auth"
WAIT_SECONDS = 600.0
_TOKEN_SECONDS = 30
# Says whose account it is, so that status can show it and an extension goes to the same one.
_IDENTITY_SCOPES = ("openid", "userinfo.email")


@dataclass(frozen=True, slots=True)
class SignIn:
    """What a user wants to sign in for.

    Attributes:
        name: of the account.
        services: keys of :data:`~oneclaw_google_workspace.scopes.SERVICES`.
        is_read_only: whether only reading tools are to work.
        scopes: all that is asked for, without ``https://www.googleapis.com/auth/``.
        email: of the account, if it is known.
    """

    name: str
    services: tuple[str, ...]
    is_read_only: bool
    scopes: tuple[str, ...]
    email: str | None = None

    @classmethod
    def of(
        cls, name: str, known: Account | None, services: Sequence[str], *, is_read_only: bool, extra: Sequence[str]
    ) -> SignIn:
        """Work out what to ask for: what is given, and what the account has already.

        Args:
            name: of the account.
            known: what it has already; ``None`` for a new one.
            services: what is given.
            is_read_only: whether that is for reading only.
            extra: further scopes.
        """
        scopes = consent_scopes(services, is_read_only=is_read_only, extra=extra)
        if known is None:
            return cls(name, tuple(services), is_read_only, tuple(scopes))
        together = dict.fromkeys([*known.scopes, *scopes])
        return cls(
            name,
            tuple(dict.fromkeys([*known.services, *services])),
            known.is_read_only and (is_read_only or not services),
            tuple(scope for scope in together if not _is_covered(scope, together)),
            known.email,
        )


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What came of it.

    Attributes:
        account: with what was granted.
        secret: from which access tokens can be had.
        token: the first one, ``None`` if there is none yet.
        missing: what was asked for and not granted.
    """

    account: Account
    secret: dict[str, Any]
    token: AccessToken | None
    missing: tuple[str, ...]


def sign_in(
    wanted: SignIn,
    client: OAuthClient,
    *,
    open_browser: Callable[[str], bool] | None,
    ask_for_address: Callable[[str], str],
) -> SignedIn:
    """Have the user agree in a browser, and get what the tools need.

    Args:
        wanted: what for.
        client: as whom.
        open_browser: shows an address to the user, and says whether it could; ``None`` if the browser is elsewhere.
        ask_for_address: shows an address to the user, who opens it wherever there is a browser, and gives the address
            where the browser ends up.

    Raises:
        OneClawError: it did not work out.
    """
    state = secrets.token_urlsafe(24)
    with RedirectListener(state) as listener:
        flow = _flow(client, wanted, listener.redirect_uri)
        url, _ = flow.authorization_url(
            state=state,
            access_type="offline",
            include_granted_scopes="true",
            # Without it Google gives no refresh token to somebody who has agreed before.
            prompt="consent",
            **({"login_hint": wanted.email} if wanted.email else {}),
        )
        if open_browser is not None and open_browser(url):
            answer = listener.wait(WAIT_SECONDS)
        else:
            answer = _pasted(ask_for_address(url), state)
    if "error" in answer:
        if answer["error"] == "access_denied":
            raise OneClawError("Google was told no in the browser: nothing has changed")
        raise OneClawError(f"Google refuses the sign-in: {answer['error'][:200]}")
    return _signed_in(wanted, client, _fetch_token(flow, answer["code"]))


def sign_in_service_account(wanted: SignIn, text: str, file_name: str, subject: str) -> SignedIn:
    """Take the key of a service account that acts for a user of a domain; Google is not asked yet.

    Args:
        wanted: what for.
        text: the key file.
        file_name: for messages.
        subject: the user's address.

    Raises:
        UsageError: it is no such key.
    """
    try:
        info = json.loads(text)
        is_key = info["type"] == "service_account" and all(
            isinstance(info[name], str) for name in ("client_email", "private_key", "client_id")
        )
    except (ValueError, RecursionError, TypeError, KeyError):
        is_key = False
    if not is_key:
        raise UsageError(f"{file_name} is no key of a service account: make one in the Google Cloud console, as JSON")
    remember_secret(info["private_key"])
    account = Account(
        wanted.name, SERVICE_ACCOUNT, subject, wanted.scopes, wanted.services, is_read_only=wanted.is_read_only
    )
    return SignedIn(account, info, None, ())


def has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether there is probably a browser with a window on this machine."""
    if environ.get("BROWSER") or sys.platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _flow(client: OAuthClient, wanted: SignIn, redirect_uri: str) -> Any:
    from google_auth_oauthlib.flow import Flow  # type: ignore[import-untyped]  # it brings no types

    values = {
        "client_id": client.client_id,
        "client_secret": client.client_secret,
        "auth_uri": address(AUTHORIZATION_URL),
        "token_uri": address(TOKEN_URL),
    }
    scopes = [full_scope(scope) for scope in (*_IDENTITY_SCOPES, *wanted.scopes)]
    # Of the releases that are good enough, some leave PKCE out unless they are told.
    return Flow.from_client_config(
        {"installed": values}, scopes, redirect_uri=redirect_uri, autogenerate_code_verifier=True
    )


def _pasted(text: str, state: str) -> dict[str, str]:
    if not text.strip():
        raise UsageError(
            "no address was given; run the command in a terminal and paste it there, or give it on standard input"
        )
    answer = answer_of(text, state)
    if answer is None:
        raise UsageError(
            "that is not the address that Google has sent the browser to: it begins with http://127.0.0.1 and holds a "
            "code; run the command again, and copy all of it"
        )
    return answer


def _fetch_token(flow: Any, code: str) -> Mapping[str, Any]:
    import requests
    from oauthlib.oauth2 import OAuth2Error  # type: ignore[import-untyped]  # it brings no types

    try:
        token: Mapping[str, Any] = flow.fetch_token(code=code, include_client_id=True, timeout=_TOKEN_SECONDS)
    except OAuth2Error as error:
        described = " ".join(f"{error.error} {error.description or ''}".split())[:300]
        raise OneClawError(f"Google refuses the sign-in: {described}; run the command again") from None
    except requests.RequestException:
        raise OneClawError("Google cannot be reached to complete the sign-in: run the command again") from None
    except Warning as changed:
        # What oauthlib raises if not exactly what was asked for was granted; users can untick scopes.
        token = changed.token  # type: ignore[attr-defined]
    finally:
        flow.oauth2session.close()
    return token


def _signed_in(wanted: SignIn, client: OAuthClient, token: Mapping[str, Any]) -> SignedIn:
    refresh_token = token.get("refresh_token")
    if not refresh_token:
        raise OneClawError(
            "Google gives no lasting access: remove OneClaw's at https://myaccount.google.com/connections, and sign in "
            "again"
        )
    remember_secret(refresh_token)
    remember_secret(token["access_token"])
    email = _email(token.get("id_token"))
    if wanted.email and email and email.lower() != wanted.email.lower():
        raise UsageError(
            f"you have signed in as {email}, and the account {wanted.name} is {wanted.email}: sign in again as that "
            "one, or give this one another name with --account"
        )
    scope = token.get("scope") or ""
    granted = scope.split() if isinstance(scope, str) else list(scope)
    scopes = sorted({short_scope(each) for each in granted} - {*_IDENTITY_SCOPES, "email", "profile"})
    if not scopes:
        raise OneClawError("nothing was granted in the browser: run the command again, and leave the ticks")
    account = Account(
        wanted.name, USER, email or wanted.email, tuple(scopes), wanted.services, is_read_only=wanted.is_read_only
    )
    secret = {"client_id": client.client_id, "client_secret": client.client_secret, "refresh_token": refresh_token}
    expires_at = time.time() + float(token.get("expires_in") or 0)
    missing = tuple(missing_scopes(wanted.scopes, scopes))
    return SignedIn(account, secret, AccessToken(token["access_token"], expires_at), missing)


def _email(id_token: object) -> str | None:
    """Read the address out of an id token that came straight from Google, which needs no check of its signature."""
    try:
        payload = str(id_token).split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return str(claims["email"])
    except (ValueError, IndexError, KeyError, TypeError):
        return None


def _is_covered(scope: str, others: Mapping[str, None]) -> bool:
    """Whether asking for a scope is pointless, since one for the same data is asked for that allows more."""
    if scope == "gmail.readonly":
        return "gmail.modify" in others
    return scope.endswith(".readonly") and scope.removesuffix(".readonly") in others
