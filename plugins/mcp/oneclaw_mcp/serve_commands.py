"""`oneclaw mcp serve` and `oneclaw mcp token`: OneClaw as a server for MCP clients."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import UsageError
from oneclaw_core.cli import json_option, print_json, print_table, print_text, run_async, warn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from oneclaw_core.http import ServerTokens
    from oneclaw_mcp.journal import JournalCall

GATEWAY, DIRECT = "gateway", "direct"


@click.command()
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="Serve HTTP on this port; 0 for any free one.",
)
@click.option("--expose", type=click.Choice((GATEWAY, DIRECT)), default=GATEWAY, help="Four tools, or all of them.")
@click.option(
    "--groups",
    "groups",
    multiple=True,
    metavar="GROUP",
    help="Show only these groups; core means the tools in no group, plugin:NAME those of a plugin.",
)
@click.option("--agent", metavar="NAME", help="Show only the tools of this agent.")
@click.option("--allow", multiple=True, metavar="PERMISSION", help="Grant a permission while this runs.")
@click.option("--read-only", is_flag=True, help="Call no tool that changes anything.")
@click.option("--origin", "origins", multiple=True, metavar="URL", help="With --http: the address of a proxy in front.")
def serve(
    port: int | None,
    expose: str,
    groups: tuple[str, ...],
    agent: str | None,
    allow: tuple[str, ...],
    read_only: bool,
    origins: tuple[str, ...],
) -> None:
    """Give OneClaw's tools to MCP clients.

    It speaks the protocol on standard input and output, or with --http on 127.0.0.1 for many clients, each of which
    needs a token. A client sees four tools that never change, which find, describe and call all others; with --expose
    direct it sees the others themselves. Configured MCP servers are among them, and start when they are called.
    """
    from oneclaw_core.cli import reserved_stdout

    chosen = tuple(name for each in groups for name in each.split(",") if name)
    if port is None:
        if origins:
            raise UsageError("--origin goes with --http")
        from oneclaw_mcp.serving import serve_stdio

        with reserved_stdout() as stdout:
            run_async(
                serve_stdio(
                    chosen,
                    allow=allow,
                    is_read_only=read_only,
                    stdout=stdout,
                    agent=agent,
                    is_direct=expose == DIRECT,
                )
            )
        return
    run_async(_serve_http(port, chosen, agent, allow, origins, is_read_only=read_only, is_direct=expose == DIRECT))


async def _serve_http(
    port: int,
    groups: Iterable[str],
    agent: str | None,
    allow: Iterable[str],
    origins: Iterable[str],
    *,
    is_read_only: bool,
    is_direct: bool,
) -> None:
    from oneclaw_core.http import ServerTokens
    from oneclaw_mcp.http_serving import HttpServer, serve_http
    from oneclaw_mcp.serving import make_offer, open_journal, opened

    async with opened(allow) as (claw, storage):
        tokens = ServerTokens(storage)
        offer = await make_offer(claw, groups, agent=agent, is_read_only=is_read_only)
        if not await tokens.list():
            warn("there is no token yet; make one with: oneclaw mcp token create NAME")
        say = lambda line: click.echo(line, err=True)  # noqa: E731
        app = HttpServer(claw, tokens, offer, await open_journal(storage), is_direct=is_direct)
        await serve_http(app, port, origins=origins, say=say)


@click.group()
def token() -> None:
    """Manage the tokens of HTTP clients."""


@token.command()
@click.argument("name")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="GROUP",
    help="Allow only this group; core means the tools in no group. May be repeated.",
)
@click.option("--read-only", is_flag=True, help="For tools that change nothing.")
@click.option("--unattended", is_flag=True, help="Ask the client no questions; what is not granted is denied.")
@click.option("--days", type=float, metavar="DAYS", help="How long it is valid; without it, until it is revoked.")
def create(name: str, groups: tuple[str, ...], read_only: bool, unattended: bool, days: float | None) -> None:
    """Make a token for a client and print it.

    It is stored as a hash, so it cannot be shown again. The client sends it in the header Authorization: Bearer TOKEN.
    """
    from oneclaw_mcp.offer import APPROVE, CALL, READ

    action = READ if read_only else CALL
    scopes = [f"{action}:{each}" for each in groups] or [action]
    scopes += [] if unattended else [APPROVE]

    async def make() -> str:
        async with _tokens() as tokens:
            return await tokens.create(name, scopes, lifetime_days=days)

    print_text(run_async(make()))


@token.command(name="list")
@json_option
def list_tokens(as_json: bool) -> None:
    """List the tokens, without their secrets."""

    async def read() -> list[dict[str, Any]]:
        async with _tokens() as tokens:
            return [
                {
                    "name": each.name,
                    "scopes": list(each.scopes),
                    "created": each.created_at.isoformat(timespec="seconds"),
                    "expires": each.expires_at.isoformat(timespec="seconds") if each.expires_at is not None else None,
                }
                for each in await tokens.list()
            ]

    documents = run_async(read())
    if as_json:
        print_json(documents)
        return
    rows = ((each["name"], " ".join(each["scopes"]), each["created"], each["expires"] or "never") for each in documents)
    print_table(("token", "scopes", "created", "expires"), rows)


@token.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Make a token invalid, and end its clients' connections within seconds."""

    async def remove() -> None:
        async with _tokens() as tokens:
            await tokens.revoke(name)

    run_async(remove())
    print_text(f"the token {name} is revoked")


@click.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def calls(limit: int, as_json: bool) -> None:
    """List the last calls that MCP clients made, the newest first.

    Each call is recorded before it runs. A call without an outcome is running, or its process was killed.
    """
    from oneclaw_mcp.serving import open_journal, opened

    async def read() -> Sequence[JournalCall]:
        async with opened() as (_, storage):
            return await (await open_journal(storage)).last(limit)

    found = run_async(read())
    if as_json:
        print_json([each.to_dict() for each in found])
        return
    rows = (
        (
            each.at.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
            each.client,
            each.tool,
            each.outcome or "no outcome",
            f"{each.duration_ms:.0f} ms" if each.duration_ms is not None else "",
        )
        for each in found
    )
    print_table(("time", "client", "tool", "outcome", "took"), rows)


@asynccontextmanager
async def _tokens() -> AsyncIterator[ServerTokens]:
    from oneclaw_core.http import ServerTokens
    from oneclaw_mcp.serving import opened

    async with opened() as (_, storage):
        yield ServerTokens(storage)
