"""A stand-in for a service that users sign in to by OAuth, on loopback."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import secrets
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from oneclaw_core.http.oauth.accounts import OAuthService
from pytest_oneclaw.web_server import WebAnswer, WebServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from pytest_oneclaw.web_server import ReceivedRequest

_LONGEST_HOLD_SECONDS = 60


class _RefusedError(Exception):
    def __init__(self, code: str, description: str = "", status: int = 400) -> None:
        super().__init__(code)
        self.answer = WebAnswer({"error": code, "error_description": description}, status=status)


@dataclass
class Consent:
    """A user's consent, as the server keeps it.

    Attributes:
        user: the user's address.
        scopes: what was granted.
        refresh_token: the current one.
        is_revoked: True once it gives no access any more.
    """

    user: str
    scopes: frozenset[str]
    refresh_token: str
    is_revoked: bool = False


@dataclass
class _Failure:
    path: str
    answer: WebAnswer
    times: int
    hold: threading.Event | None
    is_before: bool


@dataclass
class AuthorizationServer:
    """An authorization server, from entering to leaving the context. It verifies client, redirect address and PKCE.

    ::

        with AuthorizationServer() as server:
            service = server.service(sign_in_command="oneclaw notes login")
            ...                             # sign in; instead of a browser: server.visit(url)
            assert server.refreshes == 0

    Attributes:
        client_id: of the OAuth client that it knows.
        client_secret: of that client.
        user: the user at the browser.
        denied_scopes: what that user does not grant.
        error: an error code that the browser is sent back with instead of a code, such as ``access_denied``.
        issuer: sent as ``iss`` with each answer, ``None`` to send none.
        state: sent instead of the state of the request.
        lifetime_seconds: of access tokens; ``None`` leaves it out of answers.
        rotates: True if each refresh replaces the refresh token.
        gives_refresh_tokens: False for a service whose access tokens are all there is.
        refreshes: how many refresh tokens were exchanged.
        consents: by refresh token.
        requests: path and form of each request to the token and revocation endpoints, in order.
        url: of the server, without a path.
    """

    client_id: str = "client-of-oneclaw"
    client_secret: str = "client-secret-of-oneclaw"  # noqa: S105  # it opens nothing
    user: str = "ana@example.com"
    denied_scopes: frozenset[str] = frozenset()
    error: str | None = None
    issuer: str | None = None
    state: str | None = None
    lifetime_seconds: float | None = 3600
    rotates: bool = False
    gives_refresh_tokens: bool = True
    refreshes: int = 0
    consents: dict[str, Consent] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _tokens: dict[str, tuple[Consent, float]] = field(default_factory=dict, repr=False)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)
    _failures: list[_Failure] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = WebServer(self._answer)
        self.url = self._server.url

    def __enter__(self) -> AuthorizationServer:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    def service(self, **changes: Any) -> OAuthService:
        """Describe this server to :class:`~oneclaw_core.http.OAuthClient`.

        Args:
            changes: attributes of :class:`~oneclaw_core.http.OAuthService` that differ from the usual.
        """
        usual = OAuthService(
            name="notes",
            title="Notes",
            sign_in_command="oneclaw notes login --account {account}",
            authorization_endpoint=f"{self.url}/authorize",
            token_endpoint=f"{self.url}/token",
            revocation_endpoint=f"{self.url}/revoke",
            client_id=self.client_id,
            client_secret=self.client_secret,
            scopes=("read",),
            identity_scopes=("openid", "email"),
        )
        return replace(usual, **changes)

    def visit(self, url: str) -> str:
        """Do what a browser does with an authorization request, the user agreeing: go there, and on to the redirect.

        Args:
            url: of the request.

        Returns:
            The address that the browser was sent to, which users paste.
        """
        location = self.agree(url)
        parts = urlsplit(location)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        connection.request("GET", f"{parts.path}?{parts.query}")
        connection.getresponse().read()
        connection.close()
        return location

    def agree(self, url: str) -> str:
        """Have the user agree, without going where the browser is sent to; return that address."""
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        text, location = answer.read().decode(), answer.getheader("Location")
        connection.close()
        assert location is not None, f"the authorization server answered {answer.status}: {text}"
        return location

    def fail(
        self,
        path: str,
        answer: WebAnswer | None = None,
        *,
        times: int = 1,
        hold: threading.Event | None = None,
        is_before: bool = True,
    ) -> None:
        """Let requests go wrong.

        Args:
            path: ``/token`` or ``/revoke``.
            answer: sent instead; by default status 503. With ``sent_bytes=0`` the connection breaks.
            times: how many requests.
            hold: waited for before answering.
            is_before: False if the request is carried out all the same.
        """
        usual = WebAnswer("", status=503, headers={"Retry-After": "0"})
        self._failures.append(_Failure(path, answer or usual, times, hold, is_before))

    def revoke_all(self) -> None:
        """Have the user take back every consent."""
        for consent in self.consents.values():
            consent.is_revoked = True
        self._tokens.clear()

    def expire_tokens(self) -> None:
        """Let all access tokens expire."""
        self._tokens = {token: (consent, 0) for token, (consent, _) in self._tokens.items()}

    def user_of(self, token: str) -> str | None:
        """Return the user whom an access token belongs to; ``None`` if it is not valid."""
        consent, expires_at = self._tokens.get(token, (None, 0.0))
        return consent.user if consent is not None and expires_at > time.time() and not consent.is_revoked else None

    @property
    def issued_secrets(self) -> set[str]:
        """All tokens and codes that were given, and the client's secret: none may be shown anywhere."""
        forms = [
            value for _, form in self.requests for name, value in form.items() if name in ("code", "code_verifier")
        ]
        return {self.client_secret, *self._tokens, *self.consents, *forms}

    def _answer(self, request: ReceivedRequest) -> Iterator[bytes]:
        form = dict(parse_qsl(request.text if request.method == "POST" else urlsplit(request.target).query))
        if request.method == "POST":
            self.requests.append((request.path, form))
        with self._lock:
            failure = next((each for each in self._failures if each.path == request.path and each.times), None)
            if failure is not None:
                failure.times -= 1
        if failure is not None and failure.hold is not None:
            failure.hold.wait(_LONGEST_HOLD_SECONDS)
        answer = failure.answer if failure is not None else WebAnswer("", status=404)
        if failure is None or not failure.is_before:
            try:
                with self._lock:
                    carried_out = self._carry_out(request, form)
            except _RefusedError as refused:
                carried_out = refused.answer
            answer = carried_out if failure is None else answer
        content = answer.to_bytes()
        yield content if answer.sent_bytes is None else content[: answer.sent_bytes]

    def _carry_out(self, request: ReceivedRequest, form: dict[str, str]) -> WebAnswer:
        if (request.method, request.path) == ("GET", "/authorize"):
            return self._authorize(form)
        if (request.method, request.path) == ("POST", "/token"):
            self._check_client(request, form)
            return WebAnswer(self._give_tokens(form))
        if (request.method, request.path) == ("POST", "/revoke"):
            self._check_client(request, form)
            consent = self.consents.get(form["token"]) or self._tokens.get(form["token"], (None, 0))[0]
            if consent is None:
                raise _RefusedError("invalid_token")
            consent.is_revoked = True
            return WebAnswer({})
        return WebAnswer("there is nothing here", status=404)

    def _authorize(self, query: dict[str, str]) -> WebAnswer:
        expected = {"response_type": "code", "client_id": self.client_id, "code_challenge_method": "S256"}
        wrong = [name for name, value in expected.items() if query.get(name) != value]
        missing = [name for name in ("state", "code_challenge", "redirect_uri") if not query.get(name)]
        if wrong or missing:
            return WebAnswer(f"wrong: {wrong}, missing: {missing}", status=400)
        answer = {"state": self.state or query["state"]}
        if self.issuer is not None:
            answer["iss"] = self.issuer
        if self.error is not None:
            answer["error"] = self.error
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self._codes[answer["code"]] = {**query, "user": self.user}
        return WebAnswer("", status=302, headers={"Location": f"{query['redirect_uri']}?{urlencode(answer)}"})

    def _check_client(self, request: ReceivedRequest, form: dict[str, str]) -> None:
        client_id, client_secret = form.get("client_id", ""), form.get("client_secret", "")
        header = request.header("authorization")
        if header is not None:
            pair = base64.b64decode(header.removeprefix("Basic ")).decode()
            client_id, client_secret = map(unquote_plus, pair.split(":", 1))
        if (client_id, client_secret) != (self.client_id, self.client_secret):
            raise _RefusedError("invalid_client", "The client is not known.", 401)

    def _give_tokens(self, form: dict[str, str]) -> dict[str, Any]:
        if form.get("grant_type") == "refresh_token":
            self.refreshes += 1
            consent = self.consents.get(form.get("refresh_token", ""))
            if consent is None or consent.is_revoked:
                raise _RefusedError("invalid_grant", "The refresh token has expired or was revoked.")
            answer = self._tokens_of(consent)
            if self.rotates:
                del self.consents[consent.refresh_token]
                consent.refresh_token = answer["refresh_token"] = f"refresh-{secrets.token_hex(16)}"
                self.consents[consent.refresh_token] = consent
            return answer
        if form.get("grant_type") != "authorization_code":
            raise _RefusedError("unsupported_grant_type")
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if asked is None or base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            raise _RefusedError("invalid_grant", "The code or its verifier is wrong.")
        if form.get("redirect_uri") != asked["redirect_uri"]:
            raise _RefusedError("invalid_grant", "The redirect address is another one.")
        scopes = frozenset(asked.get("scope", "").split()) - self.denied_scopes
        consent = Consent(asked["user"], scopes, f"refresh-{secrets.token_hex(16)}")
        self.consents[consent.refresh_token] = consent
        answer = self._tokens_of(consent)
        if self.gives_refresh_tokens:
            answer["refresh_token"] = consent.refresh_token
        if "openid" in scopes:
            claims = json.dumps({"iss": self.issuer or self.url, "aud": self.client_id, "email": consent.user})
            answer["id_token"] = f"e30.{base64.urlsafe_b64encode(claims.encode()).decode().rstrip('=')}.c2ln"
        return answer

    def _tokens_of(self, consent: Consent) -> dict[str, Any]:
        token = f"access-{secrets.token_hex(16)}"
        lifetime = 10**9 if self.lifetime_seconds is None else self.lifetime_seconds
        self._tokens[token] = consent, time.time() + lifetime
        answer = {"access_token": token, "token_type": "Bearer", "scope": " ".join(sorted(consent.scopes))}
        return answer if self.lifetime_seconds is None else {**answer, "expires_in": int(self.lifetime_seconds)}
