"""Add, check and remove servers in an open home."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core import DuplicateError, UsageError
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.servers import STDIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_mcp.manifest import Difference, Manifest
    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

_SECRET_NAMES = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|(?:^|[_-])KEY$|^AUTHORIZATION$|^COOKIE$", re.I)
_REFERENCE = re.compile(r"\$\{(?:env|secret):")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token) ", re.I)


def pairs(given: Iterable[str], separator: str, option: str) -> dict[str, str]:
    """Read NAME=VALUE, or NAME alone for a variable as it is in the environment."""
    found = {}
    for each in given:
        name, has_value, value = each.partition(separator)
        name = name.strip()
        if not name or (not has_value and separator != "=") or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise UsageError(f"{option} takes NAME{separator}VALUE, not {each.partition(separator)[0]!r}")
        found[name] = value.strip() if has_value else f"${{env:{name}}}"
    return found


async def add_server(source: ServerSource, server: Server, *, is_started: bool) -> Manifest | None:
    """Add a server, and start it once to learn its tools.

    Returns:
        What is known of it; ``None`` if it was not started.

    Raises:
        DuplicateError: its name, or the name of a group or tool of it, is taken.
        ServerError: it does not start; it is not added.
    """
    registry = source.context.services.registry
    if registry.get_group_definition(server.group) is not None and server.name not in source.book.read():
        raise DuplicateError(f"there is a tool group {server.group} already: choose another name")
    server = await with_stored_secrets(source, server)
    source.book.add(server)
    source.manifests.remove(server.name)
    if not is_started:
        return None
    try:
        await source.connection(server.name).started()
        manifest = source.manifests.read(server)
        assert manifest is not None
        _refuse_taken(server, manifest, source)
    except ServerError as error:
        if error.error_type == "permission_denied" and server.transport != STDIO:
            return None  # it stays, for the user to sign in
        await remove_server(source, server.name)
        raise
    except BaseException:
        await remove_server(source, server.name)
        raise
    return manifest


def _refuse_taken(server: Server, manifest: Manifest, source: ServerSource) -> None:
    """Refuse a server whose tools or groups have names that belong to something else."""
    registry = source.context.services.registry
    others: set[str] = set()
    for each in source.book.read().values():
        if each.name != server.name:
            known = source.manifests.read(each)
            others |= {each.group, *(tool.group for tool in known.tools)} if known is not None else {each.group}
    for tool in manifest.tools:
        found = registry.get_tool(tool.name)
        if found is not None and getattr(found, "server", None) != server.name:
            raise DuplicateError(f"there is a tool {tool.name} already: choose another name for the server")
        if tool.group in others:
            raise DuplicateError(f"there is a tool group {tool.group} already: choose another name for the server")


async def with_stored_secrets(source: ServerSource, server: Server) -> Server:
    """Move what looks like a secret into the secret store, and leave a reference."""

    async def moved(kind: str, values: dict[str, str]) -> dict[str, str]:
        found = {}
        for name, value in values.items():
            found[name] = value
            if _SECRET_NAMES.search(name) and value and not _REFERENCE.search(value):
                scheme = match[0] if (match := _SCHEME.match(value)) else ""
                secret = f"{server.name}.{kind}.{name}"
                await source.context.secrets.set(secret, value.removeprefix(scheme))
                found[name] = f"{scheme}${{secret:{secret}}}"
        return found

    return replace(
        server,
        environment=await moved("env", dict(server.environment)),
        headers=await moved("header", dict(server.headers)),
    )


async def remove_server(source: ServerSource, name: str) -> None:
    """Remove a server with what is known of it and its secrets.

    Raises:
        NotFoundError: there is none of that name.
    """
    await source.close(name)
    server = source.book.remove(name)
    source.manifests.remove(name)
    await source.context.secrets.remove(f"{name}.oauth")
    for value in (*server.environment.values(), *server.headers.values()):
        for secret in re.findall(r"\$\{secret:(" + re.escape(name) + r"\.[^}]+)\}", value):
            await source.context.secrets.remove(secret)
    await source.refresh()


async def check_server(source: ServerSource, server: Server, *, is_accepted: bool) -> tuple[Manifest, Difference, bool]:
    """Start a server and compare its tools with those that were accepted.

    Args:
        source: of all servers.
        server: the server.
        is_accepted: accept the difference, if it is the one that was found at an earlier contact: a server must not be
            able to show one and have another accepted.

    Returns:
        What is known of it now, the difference that there was, and whether that was accepted.

    Raises:
        OneClawError: it does not start, or what was accepted is not known.
    """
    if is_accepted:
        source.manifests.remove_damaged(server)
    before = source.manifests.read(server)
    await source.close(server.name)
    await source.connection(server.name).started()
    manifest = source.manifests.read(server)
    assert manifest is not None
    difference = manifest.pending
    is_accepted = is_accepted and bool(difference) and before is not None and before.pending == difference
    if is_accepted:
        source.manifests.write(server.name, manifest.accepted())
        await source.refresh()
    return manifest, difference, is_accepted
