"""The hosts that a command in the sandbox reaches: through a proxy that asks for each, and never while it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core import PermissionDeniedError, UsageError
from oneclaw_core.http import command_proxy
from oneclaw_shell.denials import Denial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_core.http import GuardedProxy

PERMISSION = "shell.network"
NEED = "network:"
_HOST = re.compile(r"(?:[a-z0-9_][a-z0-9._-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::[1-9][0-9]{0,4})?")
_WEB_PORTS = re.compile(r":(?:80|443)$")


def checked_host(host: str) -> str:
    """Return a host that a model has named in its one form, with its port unless that is 80 or 443.

    Raises:
        UsageError: it is none.
    """
    found = _WEB_PORTS.sub("", host.strip().lower()).rstrip(".")
    if _HOST.fullmatch(found) is None:
        raise UsageError(
            f"needs names {host[:100]!r}, which is not a host: write {NEED}HOST such as {NEED}pypi.org, or "
            f"{NEED}HOST:PORT for another port than 80 and 443"
        )
    return found


class CommandNetwork:
    """The hosts that one command may connect to.

    Args:
        context: of the call.
        directory: where the command runs; a lasting answer of the user holds there.
    """

    def __init__(self, context: ToolContext, directory: Path) -> None:
        self._context = context
        self._directory = str(directory)
        self._named: set[str] = set()
        # After its call has ended, no question is asked on behalf of a command.
        self.is_in_background = False
        # A command may connect a hundred times; the log of permissions has each host once.
        self._allowed: set[str] = set()

    @property
    def is_needed(self) -> bool:
        """True if a model says that the command needs a host."""
        return bool(self._named)

    async def ask(self, hosts: Iterable[str], describe: Callable[[str], str]) -> None:
        """Ask for the hosts that a model says the command needs.

        Args:
            hosts: as :func:`checked_host` returns them.
            describe: writes what is about to be done, for the user.

        Raises:
            PermissionDeniedError: the user does not allow one.
        """
        for host in hosts:
            detail = describe(f"let the command connect to {host}, and send there what it can read")
            await self._context.ask_permission(PERMISSION, detail, host, self._directory)
            self._named.add(host)

    def proxy(self) -> AbstractAsyncContextManager[GuardedProxy]:
        """Give the proxy of the command, for as long as it runs."""
        return command_proxy(self._allow_host, self._allow_private, self._allow_public)

    async def _allow_host(self, host: str) -> None:
        if host in self._named or host in self._allowed:
            return
        if not await self._context.is_granted(PERMISSION, host, self._directory, ""):
            raise PermissionDeniedError(
                f"the command may not connect to {host}: it needs the permission {PERMISSION}:{host}", PERMISSION
            )
        self._allowed.add(host)

    async def _allow_public(self, host: str, address: str, port: int) -> None:
        if f"{host} {address}" not in self._allowed:
            if not self.is_in_background:
                await self._context.allow_address(host, address, port)
            elif not await self._context.is_granted("network.public", host, None, ""):
                raise PermissionDeniedError(f"{host} may not be connected to", "network.public")
            self._allowed.add(f"{host} {address}")

    async def _allow_private(self, host: str, address: str, port: int) -> None:
        # The owner of a name can point it to any address of the local network, so the name alone is not enough.
        if not {host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}"} & self._named:
            raise PermissionDeniedError(
                f"{host} is at the private address {address}: name {NEED}{host} in needs, and the user is asked",
                "network.private",
            )
        if self.is_in_background:
            raise PermissionDeniedError(
                f"{host} is at the private address {address}, which a command in the background cannot reach: use exec",
                "network.private",
            )
        await self._context.allow_address(host, address, port)


def denied_connections(proxy: GuardedProxy) -> list[Denial]:
    """Return what a proxy has refused: facts, unlike what an output looks like."""
    return [Denial("network", host, f"{NEED}{host}") for host in proxy.refusals]
