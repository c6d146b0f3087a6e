"""Sign in to servers as a program, without a user: the client credentials of OAuth, by a secret or a private key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)

from oneclaw_core import OneClawError, UsageError, remember_secret
from oneclaw_mcp.oauth import SignIn, token_auth_method
from oneclaw_mcp.servers import STDIO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx2
    from mcp.client.auth import OAuthClientProvider

    from oneclaw_mcp.company_sign_in import CompanyIdentity
    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

_ALGORITHMS = ("RS256", "ES256", "ES384", "EdDSA")


class _SecretProvider(ClientCredentialsOAuthProvider):
    """The SDK's flow, which sends the secret in the way that the service supports."""

    async def _exchange_token_client_credentials(self) -> httpx2.Request:
        client = self.context.client_info
        assert client is not None
        client.token_endpoint_auth_method = token_auth_method(self.context.oauth_metadata)
        return await super()._exchange_token_client_credentials()


def machine_provider(source: ServerSource, server: Server, sign_in: SignIn, machine: Mapping[str, Any]) -> httpx2.Auth:
    """Return what signs the requests to a server that OneClaw itself signs in to.

    Args:
        source: of all servers.
        server: the server.
        sign_in: to it; holds the tokens.
        machine: what :func:`login_machine` stored.
    """
    if "identity" in machine:
        from oneclaw_mcp.company_sign_in import company_provider

        return company_provider(source, server, sign_in, machine)
    url, client_id, issuer = server.url or "", machine["client_id"], machine["issuer"]
    if machine.get("private_key"):
        assertion = _assertions(client_id, machine["private_key"], machine["algorithm"])
        made: OAuthClientProvider = PrivateKeyJWTOAuthProvider(url, sign_in, client_id, assertion, issuer=issuer)
    else:
        secret = machine["client_secret"]
        remember_secret(secret, f"MCP client {client_id} of {url}")
        made = _SecretProvider(url, sign_in, client_id, secret, issuer=issuer)
    sign_in.provider = made
    return made


async def login_machine(
    source: ServerSource,
    server: Server,
    *,
    client_id: str,
    issuer: str,
    client_secret: str | None = None,
    private_key: str | None = None,
    identity: CompanyIdentity | None = None,
) -> None:
    """Sign in to a server as a program, and store what that takes; the server is started with it.

    Args:
        source: of all servers.
        server: the server.
        client_id: of a client that is registered at the service.
        issuer: address of the authorization server; the secret goes to no other.
        client_secret: of the client.
        private_key: of the client, in PEM, instead of a secret.
        identity: of a user of a company, whom OneClaw acts for; with a secret.

    Raises:
        UsageError: the server is a program, the key is none, or there is neither a key nor a secret.
        OneClawError: the server does not start.
    """
    if server.transport == STDIO:
        raise UsageError(f"{server.name} is a program: it takes what it needs from its environment")
    if urlsplit(issuer).scheme not in ("https", "http"):
        raise UsageError(f"{issuer} is not an address of an authorization server: it begins with https://")
    if bool(client_secret) == bool(private_key) or (identity is not None and not client_secret):
        raise UsageError("give either a secret or a private key; a secret if an ID token goes with it")
    machine: dict[str, Any] = {"client_id": client_id, "issuer": issuer}
    if identity is not None:
        machine["identity"] = identity.to_dict()
    if private_key:
        machine |= {"private_key": private_key, "algorithm": await _algorithm(client_id, private_key)}
    else:
        machine["client_secret"] = str(client_secret)
    sign_in = SignIn(source, server)
    before = await sign_in.read()
    await sign_in.remove()
    await sign_in.change(machine=machine)
    await source.close(server.name)
    try:
        await source.signed_in(server, machine_provider(source, server, sign_in, machine))
    except OneClawError:
        await sign_in.remove()
        if before:
            await sign_in.change(**before)
        raise


def _assertions(client_id: str, private_key: str, algorithm: str) -> Callable[[str], Awaitable[str]]:
    parameters = SignedJWTParameters(
        issuer=client_id, subject=client_id, signing_key=private_key, signing_algorithm=algorithm
    )
    return parameters.create_assertion_provider()


async def _algorithm(client_id: str, private_key: str) -> str:
    """Return the algorithm that a key is for."""
    for algorithm in _ALGORITHMS:
        try:
            await _assertions(client_id, private_key, algorithm)("test")
        except Exception:  # noqa: BLE001, S112  # of the library for keys: it is for another algorithm, or is not a key
            continue
        return algorithm
    raise UsageError("the private key cannot be used: it is a PEM file of an RSA, EC or Ed25519 key without a password")
