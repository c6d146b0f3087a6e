"""Add, check and remove servers in an open home."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core import DuplicateError, UsageError
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.servers import STDIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneclaw_mcp.manifest import Difference, Manifest
    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

_SECRET_NAMES = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|(?:^|[_-])KEY$|^AUTHORIZATION$|^COOKIE$", re.I)
_REFERENCE = re.compile(r"\$\{(?:env|secret):")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token) ", re.I)
_SHORTEST_CHARACTERS = 8
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.*))?", re.DOTALL)


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
    server, secrets = without_secrets(server)
    source.book.add(server)
    for name, value in secrets.items():
        await source.context.secrets.set(name, value)
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
    """Refuse a server whose tools have names that belong to something else."""
    registry = source.context.services.registry
    for tool in manifest.tools:
        found = registry.get_tool(tool.name)
        if found is not None and getattr(found, "server", None) != server.name:
            raise DuplicateError(f"there is a tool {tool.name} already: choose another name for the server")


def without_secrets(server: Server) -> tuple[Server, dict[str, str]]:
    """Put references in the place of what looks like secrets; return those by their names in the secret store."""
    secrets: dict[str, str] = {}

    def moved(kind: str, name: str, value: str) -> str:
        if not _SECRET_NAMES.search(name) or not value or _REFERENCE.search(value):
            return value
        scheme = match[0] if (match := _SCHEME.match(value)) else ""
        secret = f"{server.name}.{kind}.{re.sub(r'[^A-Za-z0-9_.@+-]', '_', name)}"
        if secrets.get(secret, value) != value:  # the second of a name
            secret = f"{secret}.{len(secrets)}"
        secrets[secret] = value.removeprefix(scheme)
        return f"{scheme}${{secret:{secret}}}"

    command, option = list(server.command), ""
    for position, each in enumerate(command[1:], 1):
        match = _OPTION.fullmatch(each)
        if match is not None and match["value"] is not None and _is_key(match["value"]):
            command[position] = f"{each.partition('=')[0]}={moved('argument', match['name'], match['value'])}"
        elif match is None and option and _is_key(each):
            command[position] = moved("argument", option, each)
        option = match["name"] if match is not None and match["value"] is None else ""
    stored = replace(
        server,
        command=tuple(command),
        url=_url_without_secrets(server.url, moved) if server.url is not None else None,
        environment={name: moved("env", name, value) for name, value in server.environment.items()},
        headers={name: moved("header", name, value) for name, value in server.headers.items()},
    )
    return stored, secrets


def _is_key(value: str) -> bool:
    """Return False for a number or a path behind an option whose name is that of a secret."""
    return len(value) >= _SHORTEST_CHARACTERS and not value.isdecimal() and not value.startswith(("/", ".", "~"))


def _url_without_secrets(url: str, moved: Callable[[str, str, str], str]) -> str:
    """Put references in the place of a password, and of values in the query of a URL."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    user, at, host = place.rpartition("@")
    name, colon, password = user.partition(":")
    if colon:
        user = f"{name}:{moved('url', 'password', password)}"
    path, mark, query = path.partition("?")
    fields = [each.partition("=") for each in query.split("&")] if mark else []
    values = "&".join(f"{name}{equals}{moved('url', name, value)}" for name, equals, value in fields)
    return f"{scheme}://{user}{at}{host}{slash}{path}{mark}{values}"


async def remove_server(source: ServerSource, name: str) -> None:
    """Remove a server with what is known of it and its secrets.

    Raises:
        NotFoundError: there is none of that name.
    """
    await source.close(name)
    server = source.book.remove(name)
    source.manifests.remove(name)
    await source.context.secrets.remove(f"{name}.oauth")
    for value in (*server.command, server.url or "", *server.environment.values(), *server.headers.values()):
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
