"""Services that users sign in to by OAuth, and what their token endpoints give; without any I/O."""

from __future__ import annotations

import base64
import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from oneclaw_core.errors import SettingsError
from oneclaw_core.http.messages import shown_url
from oneclaw_core.secrets.redaction import remember_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


DEFAULT_ACCOUNT = "default"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Scopes of OpenID Connect; services that give their own scopes a prefix leave these without.
_OPENID_SCOPES = frozenset({"openid", "profile", "email", "address", "phone", "offline_access"})
_IDENTITY_SCOPES = frozenset({"openid", "profile", "email"})

_LONGEST_LIFETIME_SECONDS = 10 * 366 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthService:
    """A service that users sign in to, and the OAuth client that OneClaw is there.

    Scopes are written without ``scope_prefix``, here and with every account.

    Attributes:
        name: of files and locks, such as ``google``: lower-case letters, digits, ``_`` and ``-``.
        title: for people, such as ``Google``.
        sign_in_command: the command that signs in, for messages; ``{account}`` stands for the account's name.
        authorization_endpoint: where the user agrees; ``https``, or ``http`` on this machine.
        token_endpoint: where tokens come from; ``https``, or ``http`` on this machine.
        client_id: of the OAuth client. May be empty if no one signs in: a stored sign-in knows its client.
        client_secret: of the client, ``None`` for a public one.
        client_authentication: how the client proves itself: in the form (``post``) or in a header (``basic``).
        scopes: what is asked for by default.
        identity_scopes: what is asked for besides, so that the service says whose account it is. Not listed with an
            account.
        scope_prefix: what scopes begin with on the wire, such as ``https://www.googleapis.com/auth/``.
        authorization_parameters: further parameters of the authorization request, such as ``{"prompt": "consent"}``.
        revocation_endpoint: where a token is revoked (RFC 7009), ``None`` if there is no such place.
        issuer: compared with ``iss`` of the answer (RFC 9207). A stored sign-in is only used with the issuer that gave
            it, or without one, with the host of the token endpoint.
        sends_issuer: True if an answer without ``iss`` is refused; the service's metadata says so as
            ``authorization_response_iss_parameter_supported``.
        redirect_host: what the address that the browser is sent to is registered with.
        redirect_port: a fixed port, for services that compare it; ``None`` takes a free one.
        redirect_path: the path of that address.
        ended_codes: the service's own error codes for a sign-in that has ended, besides ``invalid_grant``.
    """

    name: str
    title: str
    sign_in_command: str
    authorization_endpoint: str
    token_endpoint: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    client_authentication: Literal["post", "basic"] = "post"
    scopes: tuple[str, ...] = ()
    identity_scopes: tuple[str, ...] = ()
    scope_prefix: str = ""
    authorization_parameters: Mapping[str, str] = field(default_factory=dict)
    revocation_endpoint: str | None = None
    issuer: str | None = None
    sends_issuer: bool = False
    redirect_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    redirect_port: int | None = None
    redirect_path: str = "/"
    ended_codes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingsError(
                f"{self.name[:100]!r} cannot be the name of an OAuth service: use lower-case letters, digits, _ and -"
            )
        for endpoint in (self.authorization_endpoint, self.token_endpoint, self.revocation_endpoint):
            if endpoint is not None and not _is_protected(endpoint):
                raise SettingsError(
                    f"{shown_url(endpoint)!r} cannot be an OAuth endpoint of {self.title}: give an https URL, or an "
                    "http URL on this machine, without user name and password"
                )
        if not self.redirect_path.startswith("/"):
            raise SettingsError(f"the redirect path {self.redirect_path[:100]!r} must begin with /")

    @property
    def authority(self) -> str:
        """The origin of sign-ins: the issuer, or else scheme and host of the token endpoint."""
        if self.issuer:
            return self.issuer
        parts = urlsplit(self.token_endpoint)
        return f"{parts.scheme}://{parts.netloc}"

    def command(self, account: str | None = None) -> str:
        """Return the command that signs in, for messages."""
        return self.sign_in_command.replace("{account}", account or DEFAULT_ACCOUNT)

    def full_scope(self, scope: str) -> str:
        """Return a scope as it is on the wire."""
        is_full = "://" in scope or scope in _OPENID_SCOPES
        return scope if is_full else self.scope_prefix + scope

    def asked_scopes(self, scopes: Iterable[str]) -> str:
        """Return the parameter that asks for these scopes, and for whose account it is."""
        return " ".join(dict.fromkeys(map(self.full_scope, (*self.identity_scopes, *scopes))))

    def granted_scopes(self, wire: str) -> tuple[str, ...]:
        """Read the parameter that lists granted scopes; some services separate them by commas."""
        found = {scope.removeprefix(self.scope_prefix) for scope in re.split(r"[\s,]+", wire) if scope}
        return tuple(sorted(found - _IDENTITY_SCOPES - set(self.identity_scopes)))


def _is_protected(url: str) -> bool:
    try:
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:  # a person would take it for another host
            return False
        return (parts.scheme == "https" and bool(parts.hostname)) or (
            parts.scheme == "http" and parts.hostname in _LOOPBACK
        )
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token that opens a service for a while.

    Attributes:
        token: the secret.
        expires_at: in seconds since 1970; ``None`` if the service does not say.
    """

    token: str = field(repr=False)
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """Tokens that a service has just given.

    Attributes:
        access_token: opens the service.
        refresh_token: for the next access token; ``None`` if the service gave none.
        scopes: what is granted, ``None`` if the service does not say, which means what was asked for.
        claims: about the user, from the ID token of OpenID Connect; empty if there is none. It comes straight from the
            token endpoint, so its signature needs no check (OpenID Connect Core, section 3.1.3.7).
        response: the whole answer, for what else a service puts there, such as a workspace.
    """

    access_token: AccessToken
    refresh_token: str | None = field(repr=False)
    scopes: tuple[str, ...] | None
    claims: Mapping[str, Any]
    response: Mapping[str, Any] = field(repr=False)

    @property
    def email(self) -> str | None:
        """The user's address, if the service says it."""
        email = self.claims.get("email")
        return email if isinstance(email, str) and email else None


def read_grant(service: OAuthService, document: Mapping[str, Any]) -> OAuthGrant:
    """Read an answer of the token endpoint (RFC 6749, section 5.1).

    Raises:
        ValueError: it holds no tokens.
    """
    token, refresh_token, scope = (document.get(key) for key in ("access_token", "refresh_token", "scope"))
    token, refresh_token = _secret(token), refresh_token and _secret(refresh_token)
    scopes = service.granted_scopes(scope) if isinstance(scope, str) and scope.strip() else None
    expires_at = _expiry(document.get("expires_in"))
    return OAuthGrant(AccessToken(token, expires_at), refresh_token, scopes, _claims(document), document)


def _secret(value: object) -> str:
    if not (isinstance(value, str) and value and value.isascii() and value.isprintable()):
        raise ValueError("no token")
    remember_secret(value)
    return value


def _expiry(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, str) and seconds.isdecimal():  # as some services write it
        seconds = int(seconds[:20])
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ValueError("no lifetime")
    if not 0 <= seconds <= _LONGEST_LIFETIME_SECONDS:
        raise ValueError("no lifetime")
    return time.time() + seconds


def _claims(document: Mapping[str, Any]) -> dict[str, Any]:
    try:
        payload = document["id_token"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}
