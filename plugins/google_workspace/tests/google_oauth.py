"""The stand-in's sign-in: asks no one, issues tokens and lets them end."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

CLIENT_ID = "1234-client.apps.googleusercontent.com"
CLIENT_SECRET = "GOCSPX-stand-in-secret"
PREFIX = "https://www.googleapis.com/auth/"


class OAuthError(Exception):
    """What the token endpoint refuses with."""

    def __init__(self, code: str, description: str = "", status: int = 400) -> None:
        super().__init__(code)
        self.code = code
        self.description = description
        self.status = status


@dataclass
class Grant:
    """What a user has consented to.

    Attributes:
        user: their address.
        scopes: as Google writes them.
        refresh_token: gets access tokens.
        is_revoked: whether it does not any more.
    """

    user: str
    scopes: frozenset[str]
    refresh_token: str
    is_revoked: bool = False


@dataclass
class AccessTokenGrant:
    """An access token's meaning."""

    user: str
    scopes: frozenset[str]
    expires_at: float
    refresh_token: str | None = None


@dataclass
class OAuth:
    """Who is let in.

    Attributes:
        user: who sits at the browser.
        denied_scopes: what that user unticks.
        is_denied: whether that user says no.
        lifetime_seconds: of access tokens.
        refreshes: how often a refresh token or an assertion was exchanged.
        delegated: for service accounts, by client email: which subjects and scopes an administrator has allowed.
        service_keys: public keys of service accounts by client email.
    """

    user: str = "ana@example.com"
    denied_scopes: frozenset[str] = frozenset()
    is_denied: bool = False
    lifetime_seconds: float = 3600
    refreshes: int = 0
    grants: dict[str, Grant] = field(default_factory=dict)
    tokens: dict[str, AccessTokenGrant] = field(default_factory=dict)
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    delegated: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    service_keys: dict[str, Any] = field(default_factory=dict)
    rotates: bool = False

    def grant(self, *scopes: str, user: str | None = None) -> Grant:
        """Have a user consent, without a browser; scopes without their prefix."""
        grant = Grant(
            user or self.user, frozenset(PREFIX + each for each in scopes), f"1//refresh-{secrets.token_hex(16)}"
        )
        self.grants[grant.refresh_token] = grant
        return grant

    def revoke_all(self) -> None:
        """The user takes back every consent."""
        for grant in self.grants.values():
            grant.is_revoked = True
        self.tokens.clear()

    def expire_tokens(self) -> None:
        """Let all access tokens end."""
        for token in self.tokens.values():
            token.expires_at = 0

    def holder(self, token: str) -> AccessTokenGrant | None:
        """Who an access token belongs to; ``None`` if it is not good any more."""
        found = self.tokens.get(token)
        return found if found is not None and found.expires_at > time.time() else None

    def authorize(self, query: str) -> tuple[int, str]:
        """Answer a browser: a status, and the address it is sent on to, or a text."""
        values = dict(parse_qsl(query, strict_parsing=True))
        expected = {"response_type": "code", "client_id": CLIENT_ID, "access_type": "offline"}
        wrong = {name: values.get(name) for name, value in expected.items() if values.get(name) != value}
        redirect = values.get("redirect_uri", "")
        if wrong or not redirect.startswith("http://127.0.0.1:") or values.get("code_challenge_method") != "S256":
            return 400, f"redirect_uri_mismatch or invalid request: {wrong} {redirect}"
        if not values.get("state") or not values.get("code_challenge"):
            return 400, "state and code_challenge are missing"
        if self.is_denied:
            return 302, f"{redirect}?{urlencode({'error': 'access_denied', 'state': values['state']})}"
        asked = values["scope"].split()
        granted = [scope for scope in asked if scope.removeprefix(PREFIX) not in self.denied_scopes]
        code = f"4/{secrets.token_hex(16)}"
        self.codes[code] = {**values, "granted": granted, "user": (values.get("login_hint") and self.user) or self.user}
        return 302, f"{redirect}?{urlencode({'state': values['state'], 'code': code, 'scope': ' '.join(granted)})}"

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        """Answer the token endpoint."""
        kind = form.get("grant_type")
        if kind == "authorization_code":
            return self._of_code(form)
        self.refreshes += 1
        if kind == "refresh_token":
            self._check_client(form)
            grant = self.grants.get(form.get("refresh_token", ""))
            if grant is None or grant.is_revoked:
                raise OAuthError("invalid_grant", "Token has been expired or revoked.")
            answer = self._issue(grant.user, grant.scopes, grant.refresh_token)
            if self.rotates:
                del self.grants[grant.refresh_token]
                grant.refresh_token = answer["refresh_token"] = f"1//rotated-{secrets.token_hex(16)}"
                self.grants[grant.refresh_token] = grant
            return answer
        if kind == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return self._of_assertion(form)
        raise OAuthError("unsupported_grant_type")

    def revoke(self, form: dict[str, str]) -> None:
        """Answer the revocation endpoint."""
        grant = self.grants.get(form.get("token", ""))
        if grant is None:
            raise OAuthError("invalid_token")
        grant.is_revoked = True

    def _of_code(self, form: dict[str, str]) -> dict[str, Any]:
        self._check_client(form)
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None:
            raise OAuthError("invalid_grant", "Malformed auth code.")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            raise OAuthError("invalid_grant", "Invalid code verifier.")
        if form.get("redirect_uri") != asked["redirect_uri"]:
            raise OAuthError("redirect_uri_mismatch")
        scopes = frozenset(asked["granted"])
        if asked.get("include_granted_scopes") == "true":
            earlier = [
                each.scopes for each in self.grants.values() if each.user == asked["user"] and not each.is_revoked
            ]
            scopes = scopes.union(*earlier)
        grant = Grant(asked["user"], scopes, f"1//refresh-{secrets.token_hex(16)}")
        self.grants[grant.refresh_token] = grant
        answer = self._issue(grant.user, scopes, grant.refresh_token)
        answer["refresh_token"] = grant.refresh_token
        if "openid" in scopes:
            claims = {"iss": "https://accounts.google.com", "aud": CLIENT_ID, "email": grant.user, "sub": "42"}
            parts = ({"alg": "RS256"}, claims)
            encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
            answer["id_token"] = ".".join([*encoded, "c2lnbmF0dXJl"])
        return answer

    def _of_assertion(self, form: dict[str, str]) -> dict[str, Any]:
        from google.auth import jwt

        assertion = form["assertion"]
        claims = json.loads(_decoded(assertion.split(".")[1]))
        certificates = self.service_keys.get(claims["iss"])
        if certificates is None:
            raise OAuthError("invalid_grant", "Invalid grant: account not found")
        claims = jwt.decode(assertion, certs=certificates, audience="https://oauth2.googleapis.com/token")
        scopes = frozenset(claims["scope"].split())
        subject, allowed = self.delegated.get(claims["iss"], ("", frozenset()))
        if claims.get("sub") != subject or not scopes <= {PREFIX + each for each in allowed}:
            raise OAuthError("unauthorized_client", "Client is unauthorized to retrieve access tokens.", 401)
        return self._issue(subject, scopes, None)

    def _issue(self, user: str, scopes: frozenset[str], refresh_token: str | None) -> dict[str, Any]:
        token = f"ya29.access-{secrets.token_hex(16)}"
        self.tokens[token] = AccessTokenGrant(user, scopes, time.time() + self.lifetime_seconds, refresh_token)
        return {
            "access_token": token,
            "expires_in": int(self.lifetime_seconds),
            "scope": " ".join(sorted(scopes)),
            "token_type": "Bearer",
        }

    @staticmethod
    def _check_client(form: dict[str, str]) -> None:
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            raise OAuthError("invalid_client", "The OAuth client was not found.", 401)


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
