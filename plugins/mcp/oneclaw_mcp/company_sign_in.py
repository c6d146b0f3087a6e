"""Sign in to servers for a user of a company: its identity provider vouches for the user (SEP-990).

The provider exchanges an ID token of the user for a grant to the authorization server of the MCP server. The ID token
is a reference, such as ``${env:COMPANY_ID_TOKEN}``, for it is valid for an hour or so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

from oneclaw_core import PermissionDeniedError, UsageError, remember_secret
from oneclaw_core.http import create_guarded_client
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.http import is_named_place
from oneclaw_mcp.starting import REFERENCE, resolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_mcp.oauth import SignIn
    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

_SECONDS = 30.0
_MAX_TOKEN_CHARACTERS = 100_000
_URN = "urn:ietf:params:oauth"


@dataclass(frozen=True, slots=True)
class CompanyIdentity:
    """The identity that a provider confirms for a user.

    Attributes:
        id_token: a reference to that of the user.
        token_url: of the provider, where it is exchanged.
        client_id: of OneClaw at the provider.

    Raises:
        UsageError: one of them is something else.
    """

    id_token: str
    token_url: str
    client_id: str

    def __post_init__(self) -> None:
        if not REFERENCE.fullmatch(self.id_token):
            raise UsageError("the ID token is given by a reference, such as ${env:COMPANY_ID_TOKEN}, and never itself")
        if urlsplit(self.token_url).scheme not in ("https", "http"):
            raise UsageError(f"{self.token_url} is not an address of an identity provider: it begins with https://")

    def to_dict(self) -> dict[str, str]:
        """Return it as JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` returned."""
        return cls(stored["id_token"], stored["token_url"], stored["client_id"])


def company_provider(
    source: ServerSource, server: Server, sign_in: SignIn, machine: Mapping[str, Any]
) -> IdentityAssertionOAuthProvider:
    """Return what signs the requests to a server that a company lets its user in to.

    Args:
        source: of all servers.
        server: the server.
        sign_in: to it; holds the tokens.
        machine: what was stored at the sign-in.
    """
    identity = CompanyIdentity.from_dict(machine["identity"])
    remember_secret(machine["client_secret"], f"MCP client {machine['client_id']} of {server.url}")

    async def grant(audience: str, resource: str) -> str:
        return await _exchanged(source, server, identity, audience, resource)

    return IdentityAssertionOAuthProvider(
        server.url or "",
        sign_in,
        machine["client_id"],
        machine["client_secret"],
        machine["issuer"],
        grant,
        token_endpoint_auth_method="client_secret_basic",  # noqa: S106  # a method, which all services have to support
    )


async def _exchanged(
    source: ServerSource, server: Server, identity: CompanyIdentity, audience: str, resource: str
) -> str:
    """Exchange the ID token for a grant (RFC 8693)."""

    async def allow_private(host: str, address: str, port: int) -> None:
        if not is_named_place(identity.token_url, host, port):
            raise PermissionDeniedError(f"{host} is at the private address {address}", "network.private")

    token = await resolved(source, identity.id_token)
    remember_secret(token, f"MCP identity for {server.url} of {id(source)}")
    form = {
        "grant_type": f"{_URN}:grant-type:token-exchange",
        "requested_token_type": f"{_URN}:token-type:id-jag",
        "subject_token": token,
        "subject_token_type": f"{_URN}:token-type:id_token",
        "audience": audience,
        "resource": resource,
        "client_id": identity.client_id,
    }
    async with create_guarded_client(allow_private) as client:
        answer = await client.post(identity.token_url, data=form, timeout=_SECONDS, follow_redirects=False)
    try:
        found = answer.json().get("access_token") if answer.is_success else None
    except (ValueError, AttributeError):
        found = None
    if not isinstance(found, str) or not 0 < len(found) <= _MAX_TOKEN_CHARACTERS:
        raise ServerError(
            f"the identity provider at {identity.token_url} does not vouch for the user to the MCP server "
            f"{server.name} (status {answer.status_code}): is the ID token still valid?",
            "permission_denied",
        )
    remember_secret(found, f"MCP grant for {server.url} of {id(source)}")
    return found
