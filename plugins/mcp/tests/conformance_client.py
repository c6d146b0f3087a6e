"""The program that the conformance suite of MCP starts: OneClaw in a new home, with the suite's server added.

It does what a user does: add the server, sign in where it asks for that, and call its tools. See ``conformance.py``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import click
import oneclaw_mcp
from oneclaw_mcp.adding import add_server
from oneclaw_mcp.company_sign_in import CompanyIdentity
from oneclaw_mcp.machine_sign_in import login_machine
from oneclaw_mcp.oauth import login
from oneclaw_mcp.servers import Server

from oneclaw_core import OneClaw, OneClawError

if TYPE_CHECKING:
    from oneclaw_mcp.manifest import Manifest
    from oneclaw_mcp.source import ServerSource

    from oneclaw_core.types.user_question import UserQuestion

NAME = "suite"
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
# Of sign-ins for one call; a server that asks for more is given up.
MAX_SIGN_INS = 3


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect, so that it can be read."""


def agree(url: str) -> bool:
    """Do what a browser does whose user agrees: open the address, and go where it leads."""

    def visit() -> None:
        with suppress(OSError):
            try:
                urllib.request.build_opener(_NoRedirect).open(url)
            except urllib.error.HTTPError as answer:
                urllib.request.urlopen(answer.headers["Location"]).read()

    threading.Thread(target=visit).start()
    return True


async def accept(question: UserQuestion) -> str | None:
    """Answer a question of the server: agree, and take the defaults."""
    for choice in question.choices:
        if choice == "answer" or choice.startswith("the default,"):
            return choice
    return "default" if "or: default" in question.question else None


class Run:
    """One scenario.

    Args:
        app: OneClaw in a new home.
        source: of its servers.
        url: of the suite's server.
        context: what the suite says of the scenario.
        name: of the scenario.
    """

    def __init__(self, app: OneClaw, source: ServerSource, url: str, context: dict[str, Any], name: str) -> None:
        self._app, self._source, self._context, self._name = app, source, context, name
        self._is_machine = name.startswith("auth/client-credentials-") or "idp_id_token" in context
        self._server = Server(NAME, transport="http", url=url, start_seconds=20.0, call_seconds=20.0)
        self._is_signed_in = False

    async def add(self) -> Manifest:
        """Add the server, and sign in if it asks for that."""
        manifest = await add_server(self._source, self._server, is_started=True)
        if manifest is None:
            await self._sign_in()
            manifest = self._source.manifests.read(self._server)
        assert manifest is not None
        return manifest

    async def _sign_in(self) -> None:
        first = not self._is_signed_in
        client_id = self._context.get("client_id") or CLIENT_DOCUMENT
        self._is_signed_in = True
        if self._is_machine:
            await login_machine(
                self._source,
                self._server,
                client_id=self._context["client_id"],
                issuer=issuer_of(str(self._server.url)),
                client_secret=self._context.get("client_secret"),
                private_key=self._context.get("private_key_pem"),
                identity=identity_of(self._context),
            )
            return
        await login(
            self._source,
            self._server,
            open_browser=True,
            show=click.echo,
            client_id=client_id if first else None,
            client_secret=self._context.get("client_secret"),
        )

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool, and sign in for it if the server asks for that."""
        for _ in range(MAX_SIGN_INS):
            outcome = await self._app.call_tool(f"{NAME}__{tool}", json.dumps(arguments))
            click.echo(f"{tool}: {outcome.result.text()[:500]}")
            if outcome.result.error_type != "permission_denied":
                return
            await self._sign_in()
        fail(f"{tool} still wants a sign-in after {MAX_SIGN_INS} of them")

    async def scenario(self) -> None:
        """Do what the scenario asks for."""
        name = self._name
        manifest = await self.add()
        by_name = {each.wire: each for each in manifest.tools}
        if name == "tools_call":
            await self.call("add_numbers", {"a": 5, "b": 3})
        elif name == "json-schema-2020-12-preservation":
            focal = next(each for wire, each in by_name.items() if wire != "json_schema_echo")
            await self.call("json_schema_echo", {"schema": focal.input_schema()})
        elif "toolCalls" in self._context:
            for each in self._context["toolCalls"]:
                await self.call(each["name"], each["arguments"])
        elif name == "sep-2322-client-request-state":
            await asyncio.gather(*(self.call(each.name.removeprefix(f"{NAME}__"), {}) for each in by_name.values()))
        elif name != "initialize":
            for each in by_name.values():
                await self.call(each.name.removeprefix(f"{NAME}__"), arguments_for(json.loads(each.parameters)))
        if manifest.has_resources:
            await self.call("read_resource", {})


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that a schema takes: those that it requires."""
    samples = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "object": {}, "array": []}
    properties = schema.get("properties", {})
    return {name: samples.get(properties.get(name, {}).get("type"), "text") for name in schema.get("required", [])}


def issuer_of(url: str) -> str:
    """Return the authorization server of a server, which the suite does not tell; a user knows it."""
    parts = urlsplit(url)
    metadata = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    with urllib.request.urlopen(metadata) as answer:
        found: str = json.load(answer)["authorization_servers"][0]
    return found


def identity_of(context: dict[str, Any]) -> CompanyIdentity | None:
    """Return the user of a company that a scenario is about."""
    if "idp_id_token" not in context:
        return None
    os.environ["ID_TOKEN"] = context["idp_id_token"]
    return CompanyIdentity("${env:ID_TOKEN}", context["idp_token_endpoint"], context["idp_client_id"])


def fail(text: str) -> NoReturn:
    """End the program."""
    sys.exit(text)


async def main() -> None:
    """Run the scenario that the suite names in the environment, against the server at the last argument."""
    os.environ["BROWSER"] = "true"
    webbrowser.open = lambda url, *_: agree(url)  # type: ignore[assignment]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "initialize")
    with tempfile.TemporaryDirectory() as home:
        async with OneClaw.open(
            home,
            plugins=[oneclaw_mcp],
            allow=[f"mcp.{NAME}.*"],
            ask_user=accept,
            environ={},
            start_directory=home,
        ) as app:
            source = await app.services.tool_source("oneclaw_mcp", "servers")
            try:
                await Run(app, source, sys.argv[-1], context, scenario).scenario()
            except OneClawError as error:
                fail(str(error))


if __name__ == "__main__":
    asyncio.run(main())
