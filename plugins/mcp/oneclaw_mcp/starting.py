"""The environment and directory of a server, and the values of its references."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core import remember_secret
from oneclaw_core.process import run_in_thread
from oneclaw_core.tools import make_private_directory
from oneclaw_mcp.connection import Connection, HttpState, ServerError, Transport, importing
from oneclaw_mcp.servers import STDIO
from oneclaw_mcp.stdio import ServerLog, ServerProgram

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

# Nothing else of OneClaw's environment reaches a server.
_INHERITED = frozenset(
    {
        "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    }
)  # fmt: skip
REFERENCE = re.compile(r"\$\{(env|secret):([A-Za-z0-9_.@+-]+)\}")


def new_connection(source: ServerSource, server: Server) -> Connection:
    """Make the connection to a server, which is not started.

    Args:
        source: of all servers.
        server: the server.
    """
    log = ServerLog(log_path(source.context.folder, server.name)) if server.transport == STDIO else None
    made = Connection(
        server,
        partial(open_transport, source, server, log),
        partial(source.manifests.read, server),
        partial(source.learn, server),
        log,
    )
    from oneclaw_mcp.elicitation import elicitation_of

    made.elicit = elicitation_of(made)
    return made


async def open_transport(source: ServerSource, server: Server, log: ServerLog | None) -> Transport:
    """Find everything that a server needs to be started.

    Raises:
        ServerError: a value that it refers to is missing.
    """
    from oneclaw_mcp.source import is_usable_here

    if not is_usable_here(server):
        raise ServerError(f"its entry in {server.project} has changed, or that is another directory than this one")
    if log is None:
        from oneclaw_mcp.http import http_streams

        url = await resolved(source, server.url or "")
        headers = {name: await resolved(source, value) for name, value in server.headers.items()}
        await run_in_thread(_import_oauth)
        from oneclaw_mcp.oauth import stored_auth

        state = HttpState()
        auth = source.signing_in.get(server.name) or await stored_auth(source, server, state.sign_ins)
        return Transport(partial(http_streams, server, url, headers, auth, state), http=state)
    environ = minimal_environment(os.environ)
    for name, value in server.environment.items():
        environ[name] = await resolved(source, value)
    directory = server_directory(source.context.folder, server)
    sandbox = None
    if server.sandbox is not None:
        from oneclaw_mcp.sandboxing import prepared_sandbox

        own = server_directory(source.context.folder, replace(server, directory=None))
        sandbox = await prepared_sandbox(source.context.services, server, own, environ)
    command = [await resolved(source, each) for each in server.command]
    program = ServerProgram(command, directory, environ, log, sandbox)
    return Transport(program.streams, program)


def _import_oauth() -> None:
    """Import the SDK in a thread; it takes most of a second."""
    with importing:
        import oneclaw_mcp.oauth  # noqa: F401


async def resolved(source: ServerSource, text: str) -> str:
    """Return a text with the values that its references stand for.

    Raises:
        ServerError: one of them is missing.
    """
    parts, end = [], 0
    for match in REFERENCE.finditer(text):
        kind, name = match.groups()
        value = os.environ.get(name) if kind == "env" else await source.context.secrets.get(name)
        if value is None:
            how = (
                f"set the environment variable {name}" if kind == "env" else f"store it with: oneclaw mcp secret {name}"
            )
            raise ServerError(f"{match[0]} has no value: {how}")
        if kind == "secret":
            remember_secret(value, f"MCP {name} of {id(source)}")
        parts += [text[end : match.start()], value]
        end = match.end()
    return "".join([*parts, text[end:]])


def minimal_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that each server gets."""
    return {name: value for name, value in environ.items() if name in _INHERITED or name.startswith("LC_")}


def server_directory(folder: Path, server: Server) -> Path:
    """Return the directory that a server is started in: that of its entry, else its folder in the home."""
    from pathlib import Path

    if server.directory is not None:
        return Path(server.directory).expanduser()
    directory = folder / "servers" / server.name
    make_private_directory(directory)
    return directory


def log_path(folder: Path, name: str) -> Path:
    """Return the file with what a server wrote to standard error."""
    return folder / "logs" / f"{name}.log"
