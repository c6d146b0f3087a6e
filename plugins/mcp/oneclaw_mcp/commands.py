"""`oneclaw mcp`: servers are added, listed, checked and removed."""

from __future__ import annotations

import json
import os
import re
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from oneclaw_core import NotFoundError, OneClawError, UsageError, find_home
from oneclaw_core.cli import (
    is_terminal,
    json_option,
    print_json,
    print_table,
    print_text,
    printable_line,
    run_async,
    warn,
)
from oneclaw_mcp.importing import PROJECT_FILE
from oneclaw_mcp.manifest import ManifestFolder
from oneclaw_mcp.serve_commands import calls, serve, token
from oneclaw_mcp.servers import HTTP, SSE, STDIO, Server, ServerBook, check_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from oneclaw_core import OneClaw
    from oneclaw_mcp.manifest import Difference, KnownTool, Manifest
    from oneclaw_mcp.sandboxing import Sandbox
    from oneclaw_mcp.source import ServerSource

_MOST_SECRET_CHARACTERS = 100_000


@click.group()
def mcp() -> None:
    """Use MCP servers as tool groups.

    A server is started when one of its tools is first called, and stopped when it is idle. Its tools are pinned when
    it is added: one that changes later is blocked until you accept it.
    """


mcp.add_command(serve)
mcp.add_command(token)
mcp.add_command(calls)


@mcp.command()
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", help="The address of an HTTP server.")
@click.option(
    "--transport", type=click.Choice((HTTP, SSE)), default=HTTP, help="The transport; sse is the old one of 2024."
)
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header of each request.")
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="An environment variable; without a value, its current one.",
)
@click.option("--cwd", "directory", type=click.Path(file_okay=False, exists=True), help="The directory to start it in.")
@click.option("--description", default="", help="Its description in the list of tool groups.")
@click.option("--group", "parts", multiple=True, metavar="PART=PATTERN", help="Put tools into a separate group.")
@click.option("--read", "reads", multiple=True, metavar="PATH", help="A path that it reads besides its program.")
@click.option("--write", "writes", multiple=True, metavar="DIRECTORY", help="A directory that it writes to.")
@click.option("--network", type=click.Choice(("all", "none")), default="all", help="Its network access.")
@click.option("--no-sandbox", is_flag=True, help="Let it do all that you can.")
@click.option("--no-start", is_flag=True, help="Do not start it now; its tools are pinned when it is first used.")
def add(
    name: str,
    command: tuple[str, ...],
    url: str | None,
    transport: str,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
    directory: str | None,
    description: str,
    parts: tuple[str, ...],
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    network: str,
    no_sandbox: bool,
    no_start: bool,
) -> None:
    """Add a server: NAME -- COMMAND ARGUMENTS, or NAME --url URL.

    It starts the server once, lists its tools and pins them. A value can be ${env:NAME}, which is read when the server
    starts, or ${secret:NAME}, which `oneclaw mcp secret NAME` stores. Values that look like secrets are stored in that
    way.
    """
    from oneclaw_mcp.adding import pairs, without_secrets

    check_name(name)
    if bool(command) == bool(url):
        raise UsageError("give either a command behind -- or --url")
    server = Server.from_dict(
        name,
        Server(
            name,
            STDIO if command else transport,
            command,
            pairs(variables, "=", "--env"),
            directory,
            url,
            pairs(headers, ":", "--header"),
            description,
            parts=_parts(parts),
            sandbox=_sandbox(command, directory, reads, writes, network == "all") if not no_sandbox else None,
        ).to_dict(),
    )
    print_text(f"{'runs' if command else 'connects to'}: {without_secrets(server)[0].address}")
    server = _asked_for_candidates(server)
    for line in server.sandbox.lines() if server.sandbox is not None else ():
        print_text(f"in a sandbox: {line}")
    if directory is None:
        _warn_of_relative_paths(command[1:])
    manifest = run_async(_with_source(lambda source: _added(source, server, is_started=not no_start)))
    if manifest is None and not no_start:
        print_text(f"{name} is added, and wants you to sign in: oneclaw mcp login {name}")
        return
    if manifest is None:
        print_text(f"{name} is added, and not started; its tools are found when a model loads the group {server.group}")
        return
    print_text(f"{name} is added: {manifest.title or 'a server'}, protocol {manifest.era}")
    _show_tools(manifest.tools)
    _warn_of_odd_tools(manifest)
    print_text(f"each tool asks for its permission; to allow all of them: oneclaw permissions grant 'mcp.{name}.*'")


@mcp.command()
@click.argument("name")
@click.option("--read", "reads", multiple=True, metavar="PATH", help="A path that it may read from now on.")
@click.option("--write", "writes", multiple=True, metavar="DIRECTORY", help="A directory that it may write to.")
@click.option("--network", type=click.Choice(("all", "none")), help="Its network access.")
def sandbox(name: str, reads: tuple[str, ...], writes: tuple[str, ...], network: str | None) -> None:
    """Show what a server may reach, and let it reach more."""
    from oneclaw_mcp.sandboxing import candidates, widened

    book, _ = _book()
    server = book.get(name)
    if server.sandbox is None:
        if reads or writes or network:
            raise UsageError(f"{name} has no sandbox; add it again to give it one")
        print_text(f"{name} has no sandbox{': it may do all that you can' if server.command else ''}")
        return
    made = widened(server.sandbox, reads, writes)
    if network is not None:
        made = replace(made, has_network=network == "all")
    if made != server.sandbox:
        server = book.change(name, sandbox=made)
    for line in made.lines():
        print_text(line)
    for each in candidates(server.command, server.environment, made):
        print_text(f"does not see {printable_line(each.path)} ({printable_line(each.place)})")


@mcp.command("list")
@json_option
def list_servers(as_json: bool) -> None:
    """List the servers; none is started."""
    book, manifests = _book()
    servers = book.read()
    documents = [_document(server, manifests) for server in servers.values()] + _project_servers(servers)
    if as_json:
        print_json(documents)
    else:
        rows = ((each["name"], each["state"], str(len(each["tools"])), each["address"]) for each in documents)
        print_table(("server", "state", "tools", "command or address"), rows)
        for each in documents:
            if each["problem"]:
                warn(f"{each['name']}: {each['problem']}")
            for left_out in each.get("left_out", ()):
                warn(f"{each['name']}: {left_out['name']} is left out: {left_out['reason']}")


@mcp.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a server and its tools.

    Values of variables and headers are never shown.
    """
    book, manifests = _book()
    server = book.get(name)
    document = _document(server, manifests)
    if as_json:
        print_json(document)
        return
    for label in ("state", "problem", "address", "directory", "title", "protocol", "seen", "environment", "headers"):
        if document[label]:
            value = document[label]
            print_text(f"{label}: {', '.join(value) if isinstance(value, list) else value}")
    try:
        manifest = manifests.read(server)
    except OneClawError:
        return
    if manifest is not None:
        _show_tools(manifest.tools)
        _warn_of_odd_tools(manifest)


@mcp.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a server with its secrets and grants."""
    from oneclaw_mcp.adding import remove_server

    async def run() -> int:
        async with _open_home() as (claw, source):
            await remove_server(source, name)
            granted = {each.key[:2] for each in await claw.store.grants() if each.permission.startswith(f"mcp.{name}.")}
            return sum([await claw.store.remove_grants(*each) for each in granted])

    count = run_async(run())
    print_text(f"{name} is removed{f', with {count} decisions on its permissions' if count else ''}")


@mcp.command()
@click.argument("name")
def enable(name: str) -> None:
    """Publish the tools of a server again."""
    _book()[0].change(name, is_enabled=True)
    print_text(f"{name} is enabled")


@mcp.command()
@click.argument("name")
def disable(name: str) -> None:
    """Withdraw the tools of a server, but keep its entry."""
    _book()[0].change(name, is_enabled=False)
    print_text(f"{name} is disabled")


@mcp.command()
@click.argument("name")
def secret(name: str) -> None:
    """Store the value of ${secret:NAME}.

    It is not shown while you type it, or it is read from standard input.
    """
    import sys

    if is_terminal(sys.stdin):
        value: str = click.prompt(f"Value of {name} (not shown)", hide_input=True, err=True)
    else:
        value = sys.stdin.read(_MOST_SECRET_CHARACTERS).strip()
    run_async(_with_source(lambda source: source.context.secrets.set(name, value)))
    print_text(f"{name} is stored")


@mcp.command()
@click.argument("name")
@click.option("--no-browser", is_flag=True, help="The browser is on another machine: show the address.")
@click.option(
    "--client-id", help="A client that is already registered at the service, or the https address of its document."
)
@click.option("--machine", is_flag=True, help="Sign in as a program, without a user; needs --client-id and --issuer.")
@click.option(
    "--issuer", metavar="URL", help="The authorization server that knows the client, and alone gets its secret."
)
@click.option(
    "--key",
    type=click.File(),
    metavar="FILE",
    help="With --machine: the private key of the client, in PEM, instead of a secret.",
)
@click.option(
    "--id-token", metavar="REFERENCE", help="With --machine: the ID token of a company's user, as '${env:NAME}'."
)
@click.option(
    "--provider", metavar="URL", help="With --id-token: the address where the company's provider exchanges it."
)
@click.option("--provider-client-id", metavar="ID", help="With --id-token: the client at that provider.")
def login(
    name: str,
    no_browser: bool,
    client_id: str | None,
    machine: bool,
    issuer: str | None,
    key: IO[str] | None,
    id_token: str | None,
    provider: str | None,
    provider_client_id: str | None,
) -> None:
    """Sign in to an HTTP server, in your browser."""
    server = _book()[0].get(name)
    if (machine and issuer is None) or (not machine and (key or id_token)) or ((machine or issuer) and not client_id):
        raise UsageError("--machine goes with --client-id and --issuer, and --key and --id-token with these")
    if len({each is None for each in (id_token, provider, provider_client_id)}) > 1 or (key and id_token):
        raise UsageError("--id-token goes with --provider and --provider-client-id, and not with --key")
    client_secret = None
    if client_id and "://" not in client_id and key is None:
        client_secret = click.prompt("Client secret (empty for none)", default="", hide_input=True, err=True) or None

    async def sign_in(source: ServerSource) -> None:
        if machine:
            from oneclaw_mcp.company_sign_in import CompanyIdentity
            from oneclaw_mcp.machine_sign_in import login_machine

            identity = None
            if id_token and provider and provider_client_id:
                identity = CompanyIdentity(id_token, provider, provider_client_id)
            await login_machine(
                source,
                server,
                client_id=str(client_id),
                issuer=str(issuer),
                client_secret=client_secret,
                private_key=key.read() if key is not None else None,
                identity=identity,
            )
            return
        from oneclaw_mcp.oauth import login as login_user

        await login_user(
            source,
            server,
            open_browser=not no_browser,
            show=lambda line: click.echo(line, err=True),
            client_id=client_id,
            client_secret=client_secret,
            issuer=issuer,
        )

    run_async(_with_source(sign_in))
    print_text(f"signed in to {name}")


@mcp.command()
@click.argument("name")
def logout(name: str) -> None:
    """Forget the sign-in to a server."""
    from oneclaw_mcp.oauth import SignIn

    server = _book()[0].get(name)
    was_signed_in = run_async(_with_source(lambda source: SignIn(source, server).remove()))
    print_text(f"signed out of {name}" if was_signed_in else f"no one is signed in to {name}")


@mcp.command("import")
@click.argument("source", metavar="[FILE|CLIENT]", default=PROJECT_FILE)
@click.option("--yes", "is_agreed", is_flag=True, help="Add them without asking.")
@click.option("--list", "only_lists", is_flag=True, help="Show them, and add none.")
def import_servers(source: str, is_agreed: bool, only_lists: bool) -> None:
    """Add the servers of another client, or of a file.

    The clients are claude, vscode, codex, cursor, gemini, windsurf, zed, opencode and cline. The servers are shown
    first, with what of them is not taken over, and none is started. Permissions of the other client are not imported.
    """
    from oneclaw_mcp.importing import find_servers, variables_of
    from oneclaw_mcp.sandboxing import derived_sandbox

    book, _ = _book()
    taken = set(book.read())
    servers = []
    for found in find_servers(source, Path.cwd()):
        server = found.server
        if server is None:
            warn(f"{found.name} in {found.path} is left out: {found.problem}")
            continue
        if server.name in taken:
            warn(f"{found.name} in {found.path} is left out: there is an MCP server {server.name} already")
            continue
        taken.add(server.name)
        if server.command:
            try:
                sandbox = derived_sandbox(server.command, server.directory, (), (), has_network=True)
                server = replace(server, sandbox=sandbox)
            except UsageError as error:
                warn(f"{found.name} in {found.path} is left out: {error}")
                continue
        servers.append(server)
        _show_entry(server, variables_of(server), str(found.path))
        for each in found.dropped:
            warn(f"{server.name}: not taken over: {printable_line(each)}")
    if not servers:
        print_text("there is no server to add")
    if only_lists or not servers:
        return
    question = "Add it?" if len(servers) == 1 else f"Add these {len(servers)}?"
    if not is_agreed and not _is_agreed(question):
        print_text("nothing was added; to add them, answer yes on a terminal, or give --yes")
        return
    servers = [_asked_for_candidates(each) for each in servers]

    async def run(opened: ServerSource) -> None:
        from oneclaw_mcp.adding import add_server

        for each in servers:
            try:
                await add_server(opened, each, is_started=False)
                print_text(f"{each.name} is added; start it and pin its tools with: oneclaw mcp check {each.name}")
            except OneClawError as error:
                warn(f"{each.name}: {error}")

    run_async(_with_source(run))


@mcp.command()
@click.argument("name")
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
def trust(name: str, revoke: bool) -> None:
    """Trust a server, or a server of this project.

    OneClaw believes what a trusted server says about its tools. A tool that only reads then needs the permission
    mcp.NAME.read, and can be repeated. Without trust, each tool counts as one that makes changes, and the list of tool
    groups does not show what the server says of itself.

    A server in .mcp.json of this directory is shown first. After your yes it can be used only here, as long as its
    entry does not change.
    """
    if not revoke and name not in _book()[0].read() and (Path.cwd() / PROJECT_FILE).is_file():
        _trust_project(name)
        return
    _book()[0].change(name, trusts_annotations=not revoke)
    print_text(
        f"{name} is {'not trusted any more' if revoke else 'trusted: its reading tools need mcp.' + name + '.read'}"
    )


@mcp.command()
@click.argument("names", nargs=-1)
@click.option("--accept", is_flag=True, help="Pin the tools as they are now.")
@click.pass_context
def check(context: click.Context, names: tuple[str, ...], accept: bool) -> None:
    """Show which tools of servers have changed.

    It starts the servers, all by default, and compares their tools with those that you accepted. --accept accepts a
    difference that was shown before; a new one is shown, and needs a second --accept. The exit status is 1 if a server
    does not start, or differs without being accepted.
    """
    from oneclaw_mcp.adding import check_server

    book, _ = _book()
    servers = [book.get(name) for name in names] if names else list(book.read().values())

    async def run(source: ServerSource) -> bool:
        is_fine = True
        for server in servers:
            try:
                manifest, difference, is_accepted = await check_server(source, server, is_accepted=accept)
            except OneClawError as error:
                warn(f"{server.name}: {error}")
                is_fine = False
                continue
            seconds = f"started in {manifest.start_seconds:.1f} s"
            print_text(f"{server.name}: {seconds}, protocol {manifest.era}, {len(manifest.tools)} tools")
            _warn_of_odd_tools(manifest)
            _show_difference(manifest, difference)
            if is_accepted:
                print_text("  accepted")
            elif difference and accept:
                warn(f"this is new since the last look; to accept it: oneclaw mcp check {server.name} --accept")
            is_fine = is_fine and (is_accepted or not difference)
        return is_fine

    if not run_async(_with_source(run)):
        context.exit(1)


@mcp.command()
@click.argument("name")
def logs(name: str) -> None:
    """Print what a server wrote to standard error."""
    from oneclaw_mcp.starting import log_path

    book, _ = _book()
    server = book.get(name)
    path = log_path(book.folder, server.name)
    found = [each for each in (path.with_name(f"{path.name}.1"), path) if each.exists()]
    if not found:
        print_text(f"{name} has written nothing")
    for each in found:
        print_text(each.read_text("utf-8", "replace").rstrip("\n"))


async def _added(source: ServerSource, server: Server, *, is_started: bool) -> Manifest | None:
    from oneclaw_mcp.adding import add_server

    if server.sandbox is not None:
        chosen = await source.context.services.sandbox()
        if chosen.backend is None:
            warn(f"it runs without a sandbox: {chosen.strength.reason}")
        elif chosen.strength.gaps:
            warn(f"the sandbox {chosen.name} is incomplete: {'; '.join(chosen.strength.gaps)}")
    return await add_server(source, server, is_started=is_started)


def _trust_project(name: str) -> None:
    from oneclaw_mcp.importing import find_servers, project_digest, variables_of
    from oneclaw_mcp.sandboxing import derived_sandbox

    path = Path.cwd() / PROJECT_FILE
    found = next(
        (each for each in find_servers(str(path), Path.cwd()) if each.server and each.server.name == name), None
    )
    if found is None or found.server is None:
        raise NotFoundError(f"there is no MCP server {name!r}, neither configured nor in {path}")
    server = replace(found.server, project=str(Path.cwd().resolve()), project_digest=project_digest(path, found.name))
    if server.command:
        sandbox = derived_sandbox(server.command, server.directory, (), (), has_network=True)
        server = replace(server, sandbox=sandbox)
    _show_entry(server, variables_of(server), str(path))
    if not _is_agreed("Let it be used in this directory?"):
        raise UsageError("nothing was trusted: that takes a yes on a terminal")
    server = _asked_for_candidates(server)
    run_async(_with_source(lambda source: _added(source, server, is_started=False)))
    print_text(f"{name} can be used in {server.project}")


def _show_entry(server: Server, variables: list[str], origin: str) -> None:
    from oneclaw_mcp.adding import without_secrets
    from oneclaw_mcp.sandboxing import candidates

    server, secrets = without_secrets(server)
    lines = [f"{'runs' if server.command else 'connects to'}: {server.url or server.address}"]
    lines += [f"in a sandbox: {line}" for line in (server.sandbox.lines() if server.sandbox is not None else ())]
    if server.directory is not None:
        lines.append(f"starts in: {server.directory}")
    if server.environment or server.headers:
        lines.append(f"gets: {', '.join((*server.environment, *server.headers))}")
    if variables:
        lines.append(f"from your environment: {', '.join(variables)}")
    missing = [each for each in variables if each not in os.environ]
    if missing:
        lines.append(f"not set in your environment now: {', '.join(missing)}")
    if server.only_tools:
        lines.append(f"only these tools are used: {', '.join(server.only_tools)}")
    if server.without_tools:
        lines.append(f"these tools are not used: {', '.join(server.without_tools)}")
    stored = sorted(set(re.findall(r"\$\{secret:([^}]+)\}", json.dumps(server.to_dict()))))
    lines += [f"needs a stored value: oneclaw mcp secret {each}" for each in stored if each not in secrets]
    lines += [
        f"is given {each.path} ({each.place}), which its sandbox does not show"
        for each in candidates(server.command, server.environment, server.sandbox)
    ]
    print_text(f"{server.name}, from {printable_line(origin)}")
    for line in lines:  # of one line each, whatever the file says
        print_text(f"  {printable_line(line)}")


def _asked_for_candidates(server: Server) -> Server:
    """Show the paths that a server is given and does not see, and ask whether it may use them."""
    from oneclaw_mcp.sandboxing import candidates, widened

    if server.sandbox is None:
        return server
    sandbox = server.sandbox
    for each in candidates(server.command, server.environment, sandbox):
        shown = f"{printable_line(each.path)} ({printable_line(each.place)})"
        if each.directory is None:
            warn(f"it is given {shown}, which its sandbox cannot show: make its directory, or name one with --write")
        elif _holds(sandbox, each.path):
            continue  # by an answer before
        elif _is_agreed(f"It is given {shown}, which its sandbox does not show. May it write to {each.directory}?"):
            sandbox = widened(sandbox, (), (each.directory,))
        elif _is_agreed(f"May it read {each.directory}?"):
            sandbox = widened(sandbox, (each.directory,), ())
        else:
            warn(f"it does not see {shown}; to let it write there: --write {each.directory}")
    return replace(server, sandbox=sandbox)


def _holds(sandbox: Sandbox, path: str) -> bool:
    return any(Path(path).resolve().is_relative_to(each) for each in (*sandbox.reads, *sandbox.writes))


def _is_agreed(question: str) -> bool:
    import sys

    return is_terminal(sys.stdin) and is_terminal(sys.stdout) and click.confirm(question)


def _project_servers(known: dict[str, Server]) -> list[dict[str, Any]]:
    """Return the servers of .mcp.json here that are not trusted; none of them is ever started."""
    from oneclaw_mcp.importing import find_servers, project_digest

    path = Path.cwd() / PROJECT_FILE
    if not path.is_file():
        return []
    documents = []
    for each in find_servers(str(path), Path.cwd()):
        name = each.server.name if each.server is not None else each.name
        trusted = known.get(name)
        if trusted is not None and trusted.project_digest == project_digest(path, each.name):
            continue
        problem = each.problem or f"it is not trusted; look at it with: oneclaw mcp trust {name}"
        if trusted is not None and trusted.project is not None:
            problem = f"its entry has changed; trust it anew: oneclaw mcp remove {name}, then oneclaw mcp trust {name}"
        address = each.server.address if each.server is not None else ""
        documents.append({"name": name, "state": "project", "problem": problem, "address": address, "tools": []})
    return documents


def _book() -> tuple[ServerBook, ManifestFolder]:
    folder = find_home().plugin_folder("mcp")
    return ServerBook(folder), ManifestFolder(folder)


async def _with_source(work: Any) -> Any:
    async with _opened() as source:
        return await work(source)


@asynccontextmanager
async def _opened() -> AsyncIterator[ServerSource]:
    async with _open_home() as (_, source):
        yield source


@asynccontextmanager
async def _open_home() -> AsyncIterator[tuple[OneClaw, ServerSource]]:
    from oneclaw_core import OneClaw

    async with OneClaw.open() as claw:
        source = await claw.services.tool_source("mcp", "servers")
        if source is None:
            raise UsageError("the plugin mcp is disabled: enable it with: oneclaw plugins enable mcp")
        yield claw, source  # type: ignore[misc]  # the plugin's own


def _sandbox(
    command: tuple[str, ...], directory: str | None, reads: Iterable[str], writes: Iterable[str], has_network: bool
) -> Sandbox | None:
    from oneclaw_mcp.sandboxing import derived_sandbox

    if not command:
        return None
    return derived_sandbox(command, directory, reads, writes, has_network=has_network)


def _warn_of_relative_paths(arguments: Iterable[str]) -> None:
    for each in arguments:
        # Unlike Path.exists, it takes texts that are too long for a name, such as the code behind python -c.
        if each and not each.startswith(("-", "/")) and os.path.exists(each):  # noqa: PTH110
            warn(f"the server starts in another directory: write {Path(each).resolve()} instead of {each}")


def _parts(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in given:
        part, equals, pattern = each.partition("=")
        if not equals or not pattern:
            raise UsageError(f"--group takes PART=PATTERN, such as issues=*issue*, not {each!r}")
        check_name(part)
        found[part] = (*found.get(part, ()), pattern)
    return found


def _document(server: Server, manifests: ManifestFolder) -> dict[str, Any]:
    manifest, problem = None, ""
    try:
        manifest = manifests.read(server)
    except OneClawError as error:
        problem = str(error)
    if manifest is not None and manifest.pending:
        problem = f"it has changed; see: oneclaw mcp check {server.name}"
    state = "disabled" if not server.is_enabled else "blocked" if problem and manifest is None else ""
    return {
        "name": server.name,
        "state": state or ("known" if manifest is not None else "configured"),
        "problem": problem,
        "transport": server.transport,
        "address": server.address,
        "directory": server.directory,
        "sandbox": server.sandbox.to_dict() if server.sandbox is not None else None,
        "environment": sorted(server.environment),
        "headers": sorted(server.headers),
        "trusts_annotations": server.trusts_annotations,
        "title": manifest.title if manifest is not None else "",
        "protocol": manifest.era if manifest is not None else "",
        "seen": datetime.fromtimestamp(manifest.found_at).isoformat(timespec="seconds") if manifest is not None else "",
        "groups": sorted({each.group for each in manifest.tools}) if manifest is not None else [server.group],
        "tools": [{"name": each.name, "permission": each.permission} for each in manifest.tools]
        if manifest is not None
        else [],
        "left_out": [{"name": name, "reason": why} for name, why in manifest.refused] if manifest is not None else [],
    }


def _show_tools(tools: Iterable[KnownTool]) -> None:
    from oneclaw_core.tools import one_line

    rows = ((each.name, each.group, one_line(each.description.rpartition("\n")[0], 80)) for each in tools)
    print_table(("tool", "group", "what it says of itself"), rows)


def _warn_of_odd_tools(manifest: Manifest) -> None:
    for tool, why in manifest.refused:
        warn(f"{tool} is left out: {why}")
    for known in (*manifest.tools, *manifest.pending.new):
        if known.problems:
            warn(f"the schema of {known.wire} is used without a part: {'; '.join(known.problems)}")


def _show_difference(manifest: Manifest, difference: Difference) -> None:
    import difflib

    before = {each.wire: each for each in manifest.tools}

    def lines(tool: KnownTool) -> list[str]:
        parameters = json.dumps(json.loads(tool.parameters), indent=1, ensure_ascii=False, sort_keys=True)
        facts = [f"{name}: {value}" for name, value in sorted(tool.annotations.items())]
        return [*tool.description.splitlines(), *parameters.splitlines(), *facts]

    for each in difference.changed:
        print_text(f"  {each.wire} has changed:")
        for line in difflib.unified_diff(lines(before[each.wire]), lines(each), lineterm="", n=1):
            if not line.startswith(("---", "+++", "@@")):
                print_text(f"    {line}")
    for each in difference.new:
        print_text(f"  {each.wire} is new:")
        for line in lines(each):
            print_text(f"    + {line}")
    for name in difference.removed:
        print_text(f"  {name} is gone")
    if difference.has_resources is not None:
        print_text(f"  it has {'resources now' if difference.has_resources else 'no resources any more'}")
    if difference.instructions is not None:
        print_text("  it describes itself otherwise:")
        for line in difference.instructions.splitlines():
            print_text(f"    + {line}")
