"""What a token endpoint gives: tokens, scopes, and claims about the user; pure, without any I/O."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.secrets.redaction import remember_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.http.oauth.service import OAuthService

_LONGEST_LIFETIME_SECONDS = 10 * 366 * 86_400


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token that opens a service for a while.

    Attributes:
        token: the secret.
        expires_at: in seconds since 1970; ``None`` if the service does not say.
    """

    token: str = field(repr=False)
    expires_at: float | None

    def is_usable(self, margin_seconds: float) -> bool:
        """Return True if it lasts longer than a margin; a token that is about to expire may do so on its way."""
        return self.expires_at is None or self.expires_at - margin_seconds > time.time()


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


def read_grant(service: OAuthService, document: Any) -> OAuthGrant:
    """Read an answer of the token endpoint (RFC 6749, section 5.1).

    Args:
        service: for its scopes.
        document: JSON data.

    Raises:
        ValueError: it holds no tokens.
    """
    if not isinstance(document, dict):
        raise ValueError("no object")
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
