"""Checks of a service that a server leads its user to, before the user sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp.client.auth.utils import issuers_match

from oneclaw_core import PermissionDeniedError
from oneclaw_core.http import checked_addresses, shown_url
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.http import is_named_place, is_protected_place

if TYPE_CHECKING:
    from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

    from oneclaw_mcp.servers import Server

_LOOKUP_SECONDS = 30.0
_HTTPS_PORT, _HTTP_PORT = 443, 80


async def check_sign_in(
    server: Server,
    metadata: OAuthMetadata | None,
    resource: ProtectedResourceMetadata | None,
    url: str,
    issuer: str | None = None,
) -> None:
    """Refuse a service that others could use to get at the sign-in, or at what only this machine reaches.

    Args:
        server: that the user signs in to.
        metadata: of the authorization server, ``None`` if it gives none.
        resource: metadata of the server, ``None`` if it gives none.
        url: that the user is about to see.
        issuer: that the user has named; ``None`` for any.

    Raises:
        ServerError: the service does not say that it supports PKCE with S256, as MCP requires; an address holds a user
            name or password, which a person would take for the host, or is not protected by TLS; the browser would be
            led to a private address.
    """
    endpoints = [url]
    places = [str(resource.resource)] if resource is not None else []
    if metadata is not None:
        places.append(str(metadata.issuer))
        found = (metadata.token_endpoint, metadata.registration_endpoint, metadata.revocation_endpoint)
        endpoints += [str(each) for each in found if each is not None]
    for place in [*endpoints, *places]:
        if "@" in urlsplit(place).netloc:
            raise _refusal(server, f"the address {shown_url(place)} came with a user name or password before the host")
    if metadata is None or "S256" not in (metadata.code_challenge_methods_supported or ()):
        service = shown_url(str(metadata.issuer)) if metadata is not None else "its authorization server"
        raise _refusal(
            server,
            f"{service} does not say that it supports PKCE with S256 (code_challenge_methods_supported), which MCP "
            "requires",
        )
    if issuer is not None and not issuers_match(issuer, str(metadata.issuer)):
        raise _refusal(server, f"it is at {shown_url(str(metadata.issuer))} and not at {issuer}, which you have named")
    for place in endpoints:
        if not is_protected_place(server.url or "", place):
            raise _refusal(server, f"the address {shown_url(place)} is neither https nor the place that you have named")
    if urlsplit(str(metadata.authorization_endpoint)).fragment:
        raise _refusal(server, f"the address {shown_url(url)} has a fragment, in which the request would be lost")
    await _check_browser(server, url)


def answer_path(metadata: OAuthMetadata | None) -> str | None:
    """Return who gets the answer of the user, if it is another host than the one that asks."""
    if metadata is None:
        return None
    asks, gets = (urlsplit(str(each)).hostname for each in (metadata.authorization_endpoint, metadata.token_endpoint))
    return None if asks == gets else f"You agree at {asks}; the answer goes to {gets}."


async def _check_browser(server: Server, url: str) -> None:
    """Keep a server from having the browser of the user open what only this machine or its network reaches."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (_HTTPS_PORT if parts.scheme == "https" else _HTTP_PORT)

    async def allow_private(host: str, address: str, port: int) -> None:
        if not is_named_place(server.url or "", host, port):
            raise PermissionDeniedError(host, "network.private")

    try:
        await checked_addresses(host, port, allow_private, timeout_seconds=_LOOKUP_SECONDS)
    except PermissionDeniedError:
        raise _refusal(server, f"it leads to port {port} of {host} at a private address") from None
    except (OSError, UnicodeError):
        raise _refusal(server, f"the address of {host} cannot be found") from None


def _refusal(server: Server, reason: str) -> ServerError:
    return ServerError(f"The sign-in to the MCP server {server.name} is refused: {reason}")
