"""``oneclaw serve link`` and ``oneclaw serve token``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oneclaw_core.cli import json_option, print_json, print_table, warn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.http import ServerTokens
    from oneclaw_core.sessions import PluginStorage

Value = TypeVar("Value")


def _with_storage(work: Callable[[PluginStorage], Awaitable[Value]]) -> Value:
    from oneclaw_core import OneClaw

    async def run() -> Value:
        async with OneClaw.open() as claw:
            return await work(claw.store.plugin_storage("serve"))

    return asyncio.run(run())


def _with_tokens(work: Callable[[ServerTokens], Awaitable[Value]]) -> Value:
    from oneclaw_core.http import ServerTokens

    async def run(storage: PluginStorage) -> Value:
        return await work(ServerTokens(storage))

    return _with_storage(run)


@click.command()
def link() -> None:
    """Print a link that logs one browser in: once, and within two minutes.

    The address is that of the server that was started last.
    """
    from oneclaw_serve.access import new_link_code

    async def make(storage: PluginStorage) -> tuple[str, str]:
        address = await storage.get("address", {"origin": "http://127.0.0.1:8311"})
        return address["origin"], await new_link_code(storage)

    origin, code = _with_storage(make)
    click.echo(f"{origin}/#code={code}")
    if not _may_answer(origin):
        warn(f"no server answers at {origin}: start it with: oneclaw serve")


def _may_answer(origin: str) -> bool:
    """Return False if the origin is on this machine, and nothing listens there."""
    from socket import create_connection
    from urllib.parse import urlsplit

    place = urlsplit(origin)
    if place.hostname not in ("127.0.0.1", "::1", "localhost"):
        return True
    try:
        create_connection((place.hostname, place.port or 80), timeout=1).close()
    except OSError:
        return False
    return True


@click.group()
def token() -> None:
    """Manage the tokens with which programs use the API.

    A token never answers questions for permissions: what is not granted is denied, or waits for a person at the page.
    """


@token.command(short_help="Make a token, and print it once.")
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, help="chat, chat:AGENT, read, tools or manage; may be repeated.")
@click.option("--days", type=float, help="The token expires after this many days.")
def create(name: str, scopes: tuple[str, ...], days: float | None) -> None:
    """Make a token and print it on standard output; it is shown only once.

    The default scopes are chat and read.
    """
    from oneclaw_core import UsageError
    from oneclaw_serve.access import SCOPES

    unknown = [each for each in scopes if each.partition(":")[0] not in SCOPES]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not a scope; there are: {', '.join(SCOPES)} and chat:AGENT")
    click.echo(_with_tokens(lambda tokens: tokens.create(name, scopes or ("chat", "read"), lifetime_days=days)))


@token.command("list")
@json_option
def list_tokens(*, as_json: bool) -> None:
    """List the tokens, without their secrets."""
    found = _with_tokens(lambda tokens: tokens.list())
    documents: list[dict[str, Any]] = [
        {
            "name": each.name,
            "scopes": list(each.scopes),
            "created_at": each.created_at.isoformat(),
            "expires_at": each.expires_at.isoformat() if each.expires_at else None,
        }
        for each in found
    ]
    if as_json:
        print_json(documents)
        return
    rows = [(each["name"], " ".join(each["scopes"]), each["expires_at"] or "never") for each in documents]
    print_table(("token", "scopes", "expires"), rows)


@token.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Make a token invalid at once, and end its open streams."""
    _with_tokens(lambda tokens: tokens.revoke(name))
    click.echo(f"revoked {name}", err=True)
