"""The authorization code flow in a browser (RFC 6749, section 4.1; RFC 7636, RFC 8252, RFC 9207)."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from oneclaw_core.errors import OAuthError, OAuthUnavailableError
from oneclaw_core.http.oauth.consent import OAuthConsent
from oneclaw_core.http.oauth.redirect import RedirectListener
from oneclaw_core.http.oauth.token_endpoint import client_fields, described
from oneclaw_core.secrets.redaction import remember_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from oneclaw_core.http.oauth.consent import ReadLine
    from oneclaw_core.http.oauth.grant import OAuthGrant
    from oneclaw_core.http.oauth.service import OAuthService
    from oneclaw_core.http.oauth.token_endpoint import TokenEndpoint


async def authorize(
    service: OAuthService,
    endpoint: TokenEndpoint,
    *,
    scopes: Iterable[str],
    email: str | None,
    open_browser: bool,
    show: Callable[[str], None],
    read_line: ReadLine,
) -> OAuthGrant:
    """Have the user agree in a browser, and get tokens; see :meth:`OAuthClient.authorize`."""
    asked = tuple(scopes)
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(64)
    remember_secret(verifier)
    listener = RedirectListener(port=service.redirect_port, host=service.redirect_host, path=service.redirect_path)
    async with listener:
        consent = OAuthConsent(listener, service.title, open_browser=open_browser, show=show, read_line=read_line)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        parameters = {
            "response_type": "code",
            "client_id": service.client_id,
            "redirect_uri": listener.redirect_uri,
            "scope": service.asked_scopes(asked),
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "login_hint": email or "",
        }
        await consent.redirect(_authorization_url(service, parameters))
        answer = await consent.answer()
    form = {
        "grant_type": "authorization_code",
        "code": _code_of(service, answer),
        "redirect_uri": listener.redirect_uri,
        "code_verifier": verifier,
        **client_fields(service.client_id, service.client_secret),
    }
    try:
        grant = await endpoint.request(form)
    except OAuthUnavailableError:
        raise
    except OAuthError as error:
        raise OAuthError(
            f"{service.title} refuses the sign-in: {error.description}; run the command again",
            code=error.code,
            status=error.status,
            description=error.description,
        ) from None
    # A service that does not say what it grants grants what was asked for (RFC 6749, section 5.1).
    return grant if grant.scopes is not None else replace(grant, scopes=asked)


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
