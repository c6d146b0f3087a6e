"""Sign in to servers that are reached over HTTP: the SDK's flow, the core's question to the user, our store.

Discovery, registration, PKCE, resource indicators, comparing the issuer and step-up are the SDK's. It forgets when a
token ends and where it is renewed; both are kept here. What is stored counts only for the URL that it was made for.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import is_valid_client_metadata_url, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from oneclaw_core import UsageError, remember_secret
from oneclaw_core.cli import read_input_line
from oneclaw_core.http import OAuthConsent, RedirectListener
from oneclaw_mcp.cleaning import cleaned_line
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.servers import STDIO
from oneclaw_mcp.sign_in_checks import answer_path, check_sign_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

_SIGN_IN_SECONDS = 900.0
_REASON_CHARACTERS = 200
_BASIC: Literal["client_secret_basic"] = "client_secret_basic"
_POST: Literal["client_secret_post"] = "client_secret_post"


def secret_name(server: Server) -> str:
    """Return the name of the secret that holds the sign-in to a server."""
    return f"{server.name}.oauth"


class SignIn:
    """The stored sign-in to a server; what the SDK calls a token storage.

    Args:
        source: of all servers.
        server: the server.
    """

    def __init__(self, source: ServerSource, server: Server) -> None:
        self._secrets = source.context.secrets
        self._server = server
        self.provider: OAuthClientProvider | None = None

    async def read(self) -> dict[str, Any]:
        """Return what is stored for this server at this URL."""
        text = await self._secrets.get(secret_name(self._server))
        try:
            stored = json.loads(text) if text else {}
        except ValueError:
            return {}
        return stored if isinstance(stored, dict) and stored.get("url") == self._server.url else {}

    async def change(self, **changes: Any) -> None:
        """Store something more."""
        stored = {**await self.read(), "url": self._server.url, **changes}
        await self._secrets.set(secret_name(self._server), json.dumps(stored))

    async def remove(self) -> bool:
        """Forget all of it; return True if there was any."""
        return await self._secrets.remove(secret_name(self._server))

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        tokens = (await self.read()).get("tokens")
        return self._hidden(OAuthToken.model_validate(tokens)) if tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens, when they end, and where they are renewed."""
        found: dict[str, Any] = {"tokens": self._hidden(tokens).model_dump(mode="json", exclude_none=True)}
        found["ends_at"] = time.time() + tokens.expires_in if tokens.expires_in is not None else None
        context = self.provider.context if self.provider is not None else None
        if context is not None and context.oauth_metadata is not None:
            kept = context.oauth_metadata.model_dump(mode="json", exclude_none=True)
            wanted = ("issuer", "authorization_endpoint", "token_endpoint", "response_types_supported")
            found["metadata"] = {name: kept[name] for name in wanted if name in kept}
        if context is not None and context.protected_resource_metadata is not None:
            resource = context.protected_resource_metadata
            found["resource"] = resource.model_dump(mode="json", exclude_none=True)
        await self.change(**found)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that OneClaw is registered as, bound to the service that took it at the last sign-in."""
        stored = await self.read()
        if not stored.get("client"):
            return None
        client = OAuthClientInformationFull.model_validate(stored["client"])
        if client.issuer is None and stored.get("metadata"):
            client.issuer = stored["metadata"]["issuer"]
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store that client."""
        await self.change(client=client_info.model_dump(mode="json", exclude_none=True))

    def _hidden(self, tokens: OAuthToken) -> OAuthToken:
        """Keep tokens out of messages and logs, where a server may quote them."""
        for kind, token in (("access", tokens.access_token), ("refresh", tokens.refresh_token)):
            if token:
                remember_secret(token, f"MCP {kind} token for {self._server.url} of {id(self._secrets)}")
        return tokens


class Provider(OAuthClientProvider):
    """The SDK's flow, which also knows when stored tokens end and where they are renewed."""

    async def _initialize(self) -> None:
        await super()._initialize()
        storage = self.context.storage
        assert isinstance(storage, SignIn)
        stored = await storage.read()
        if not stored.get("tokens"):
            return  # what is stored tells where tokens are renewed; a new sign-in finds all of it anew
        self.context.token_expiry_time = stored.get("ends_at")
        if stored.get("metadata"):
            self.context.oauth_metadata = OAuthMetadata.model_validate(stored["metadata"])
        if stored.get("resource"):
            self.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(stored["resource"])

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        """Ask for all scopes that were wanted so far, and prove a given client the way that the service supports."""
        storage, context = self.context.storage, self.context
        assert isinstance(storage, SignIn)
        wanted = (await storage.read()).get("scope")
        context.client_metadata.scope = union_scopes(context.client_metadata.scope, wanted)
        client = context.client_info
        if client is not None and client.client_secret and client.token_endpoint_auth_method is None:
            client.token_endpoint_auth_method = token_auth_method(context.oauth_metadata)
            await storage.set_client_info(client)
        return await super()._perform_authorization_code_grant()


def token_auth_method(metadata: OAuthMetadata | None) -> Literal["client_secret_basic", "client_secret_post"]:
    """Return how a service takes the secret of a client."""
    supported = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
    is_posted = supported is not None and _BASIC not in supported and _POST in supported
    return _POST if is_posted else _BASIC


async def stored_auth(source: ServerSource, server: Server, sign_ins: list[str]) -> httpx2.Auth | None:
    """Return what signs the requests to a server that the user, or OneClaw, has signed in to; ``None`` for others.

    A server that wants a new sign-in, or one for more, gets none: that takes ``oneclaw mcp login``.

    Args:
        source: of all servers.
        server: the server.
        sign_ins: gets the scope of each sign-in that the server asks for.
    """
    sign_in = SignIn(source, server)
    stored = await sign_in.read()
    if "machine" in stored:
        from oneclaw_mcp.machine_sign_in import machine_provider

        return machine_provider(source, server, sign_in, stored["machine"])
    if "tokens" not in stored:
        return None

    async def redirect(url: str) -> None:
        scope = provider.context.client_metadata.scope
        await sign_in.change(scope=scope)  # the next sign-in asks for all of it
        sign_ins.append(scope or "")
        raise ServerError(
            f"The MCP server {server.name} wants its user to sign in again: oneclaw mcp login {server.name}",
            "permission_denied",
        )

    async def answer() -> AuthorizationCodeResult:
        raise AssertionError  # the redirect has raised

    provider = _provider(server, sign_in, stored, redirect, answer)
    return provider


async def login(
    source: ServerSource,
    server: Server,
    *,
    open_browser: bool,
    show: Callable[[str], None],
    client_id: str | None = None,
    client_secret: str | None = None,
    issuer: str | None = None,
) -> None:
    """Have the user agree in a browser, and store the sign-in; the server is started with it.

    Args:
        source: of all servers.
        server: the server.
        open_browser: open a browser on this machine.
        show: writes a line for the user.
        client_id: of a client that is registered already, or the https address of a document that describes it, for
            services that support that; ``None`` to register one.
        client_secret: of that client.
        issuer: the authorization server that knows that client, and alone gets its secret; ``None`` for the one that
            the MCP server names.

    Raises:
        UsageError: the server is a program, or the address cannot be that of a client.
        OneClawError: the user said no, or the server does not start.
    """
    if server.transport == STDIO:
        raise UsageError(f"{server.name} is a program: it takes what it needs from its environment")
    is_document = client_id is not None and "://" in client_id
    if is_document and not is_valid_client_metadata_url(client_id):
        raise UsageError(f"{client_id} is not an address of a client: it begins with https:// and has a path")
    sign_in = SignIn(source, server)
    stored = await sign_in.read()
    listener = RedirectListener(port=stored.get("port"), path="/callback")
    try:
        await listener.__aenter__()
    except OSError:  # the port is taken: another one, and so another registration
        stored, listener = {}, RedirectListener(path="/callback")
        await listener.__aenter__()
    try:
        port = int(listener.redirect_uri.rpartition(":")[2].partition("/")[0])
        scope = (await sign_in.read()).get("scope")
        if stored.get("port") != port or client_id or "machine" in stored:
            await sign_in.remove()
        if is_document:
            await sign_in.change(client_document=client_id)
        elif client_id:
            client = OAuthClientInformationFull(
                client_id=client_id,
                client_secret=client_secret,
                redirect_uris=[AnyUrl(listener.redirect_uri)],
                issuer=issuer,
            )
            await sign_in.set_client_info(client)
        await sign_in.change(port=port, tokens=None, scope=scope)
        consent = OAuthConsent(
            listener,
            f"the MCP server {server.name}",
            open_browser=open_browser,
            show=show,
            read_line=read_input_line,
        )

        async def answer() -> AuthorizationCodeResult:
            given = await consent.answer()
            if "code" not in given:
                reason = cleaned_line(given.get("error"), _REASON_CHARACTERS) or "no reason is given"
                raise ServerError(f"the sign-in was refused: {reason}")
            return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))

        async def redirect(url: str) -> None:
            metadata = provider.context.oauth_metadata
            await check_sign_in(server, metadata, provider.context.protected_resource_metadata, url, issuer)
            if path := answer_path(metadata):
                show(path)
            await consent.redirect(url)

        await source.close(server.name)
        provider = _provider(server, sign_in, await sign_in.read(), redirect, answer)
        await source.signed_in(replace(server, start_seconds=_SIGN_IN_SECONDS), provider)
    finally:
        await listener.__aexit__(None, None, None)


def _provider(server: Server, sign_in: SignIn, stored: Mapping[str, Any], redirect: Any, answer: Any) -> Provider:
    metadata = OAuthClientMetadata(
        client_name="OneClaw",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{stored.get('port') or 0}/callback")],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    provider = Provider(
        server.url or "", metadata, sign_in, redirect, answer, client_metadata_url=stored.get("client_document")
    )
    sign_in.provider = provider
    return provider
