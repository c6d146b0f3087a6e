"""The one place where HTTP clients are made.

The client library (httpx) takes 0.3 s to import and is imported when the first client is made.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import UsageError
from oneclaw_core.system.loops import Worker, is_worker_thread
from oneclaw_core.system.version import USER_AGENT

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine, Mapping

    import httpx

    from oneclaw_core.http.addresses import AddressGate
    from oneclaw_core.http.transports import RequestGate


MAX_REDIRECTS = 10
_IDLE_SECONDS = 5.0


def create_client(
    *,
    connect_timeout_seconds: float = 10,
    read_timeout_seconds: float = 300,
    write_timeout_seconds: float = 60,
    is_for_https: bool = True,
) -> httpx.AsyncClient:
    """Make a client for services that the user configured, such as model providers.

    No request waits for the connection of another; a ``ClientPool`` shares out many at once. The client goes through
    the proxies that the environment names, except to this machine itself, where a local model server is and no proxy
    finds it. It follows no redirects and retries nothing. A request that needs a proxy which cannot be used raises
    ``SettingsError``.

    Args:
        connect_timeout_seconds: how long connecting may take.
        read_timeout_seconds: how long the server may stay silent.
        write_timeout_seconds: how long the server may leave a piece of the request unread.
        is_for_https: whether the trusted certificates are needed; without them no ``https`` server is trusted.

    """
    import httpx

    from oneclaw_core.http.transports import EnvironmentTransport

    return httpx.AsyncClient(
        transport=EnvironmentTransport(
            _ssl_context() if is_for_https else _no_certificates(),
            httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_IDLE_SECONDS),
        ),
        headers={"User-Agent": USER_AGENT},
        timeout=httpx.Timeout(
            connect=connect_timeout_seconds, read=read_timeout_seconds, write=write_timeout_seconds, pool=None
        ),
        trust_env=False,
    )


def create_guarded_client(
    allow_private: AddressGate, allow_public: AddressGate | None = None, allow_request: RequestGate | None = None
) -> httpx.AsyncClient:
    """Make a client for tools, which reaches the public internet and, with permission, private addresses.

    Every request, each redirect included, goes to an address that was checked, and to no other: a name that
    resolves to something else after the check is not followed there. Proxies of the environment are not used, since a
    proxy resolves names itself, without this check. At most ten redirects are followed; their bodies
    are left unread.

    Args:
        allow_private: called with the host and each of its addresses that is not public, before anything is sent;
            returns to permit, raises ``PermissionDeniedError`` to refuse.
        allow_public: the same for public addresses; ``None`` permits them.
        allow_request: called with each request, redirects included, before its host is looked up.
    """
    import httpx

    from oneclaw_core.http.transports import GuardedTransport, checked_request

    def check(request: httpx.Request) -> Coroutine[Any, Any, list[str]]:
        return checked_request(request, allow_private, allow_public, allow_request)

    return httpx.AsyncClient(transport=GuardedTransport(_ssl_context(), check), **_guarded_options())


def create_guarded_sync_client(check: Callable[[httpx.Request], list[str]]) -> httpx.Client:
    """Make the same client for code that runs in a thread.

    Args:
        check: returns the addresses that a request may be sent to, as ``checked_request`` does.
    """
    import httpx

    from oneclaw_core.http.transports import GuardedSyncTransport

    return httpx.Client(transport=GuardedSyncTransport(_ssl_context(), check), **_guarded_options())


def _guarded_options() -> dict[str, Any]:
    import httpx

    return {
        "headers": {"User-Agent": USER_AGENT},
        "timeout": httpx.Timeout(30, connect=10, pool=None),
        "follow_redirects": True,
        "max_redirects": MAX_REDIRECTS,
        "trust_env": False,
    }


class GuardedClients:
    """The guarded clients of one call or plugin: one for each event loop, and one for its threads.

    Args:
        loop: of the program.
        wait_for: runs a coroutine on that loop, and waits for it in a thread.
        gates: as for :func:`create_guarded_client`; they are called on any event loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        wait_for: Callable[[Coroutine[Any, Any, list[str]]], list[str]],
        *gates: Callable[..., Coroutine[Any, Any, None]],
    ) -> None:
        self._loop = loop
        self._wait_for = wait_for
        self._gates = gates
        self._of_loops: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._of_threads: httpx.Client | None = None

    def of_loop(self) -> httpx.AsyncClient:
        """Return the client for the plugin's event loop in its thread, else that for the program's."""
        loop = asyncio.get_running_loop() if is_worker_thread() else self._loop
        if loop not in self._of_loops:
            self._of_loops[loop] = create_guarded_client(*self._gates)
        return self._of_loops[loop]

    def of_threads(self) -> httpx.Client:
        """Return the client for code that runs in a thread."""
        if self._of_threads is None:
            self._of_threads = create_guarded_sync_client(self._check_from_thread)
        return self._of_threads

    async def aclose(self, worker: Worker | None) -> None:
        """Close the clients, those of the plugin's event loop on that."""
        try:
            while self._of_loops:
                loop, client = self._of_loops.popitem()
                if loop is self._loop:
                    await client.aclose()
                elif worker is not None:
                    await worker.clean_up(loop, client.aclose)
        finally:
            if self._of_threads is not None:
                self._of_threads.close()

    def _check_from_thread(self, request: httpx.Request) -> list[str]:
        from oneclaw_core.http.transports import checked_request

        with suppress(RuntimeError):  # there is no event loop in this thread
            if asyncio.get_running_loop() is self._loop or is_worker_thread():
                raise UsageError("sync_http cannot ask for a permission on the event loop: use http there")
        return self._wait_for(checked_request(request, *self._gates))


def prepare_clients() -> None:
    """Import the library and read the certificates ahead of the first request; call it in a thread.

    Invalid certificates are reported by the first client.
    """
    with suppress(OSError):
        _ssl_context()


def expands_boundedly(headers: Mapping[str, str]) -> bool:
    """Tell whether a response body, read piece by piece, stays within about a thousand times its size on the wire.

    A second layer of compression, or a stronger one than deflate, turns one piece into gigabytes before the reader
    can count it.
    """
    return headers.get("content-encoding", "").strip().lower() in ("", "identity", "gzip", "x-gzip", "deflate")


@cache
def _ssl_context() -> ssl.SSLContext:
    """Load the trusted certificates once for all clients: it takes 20 ms."""
    import httpx

    return httpx.create_ssl_context()


@cache
def _no_certificates() -> ssl.SSLContext:
    """Return a context that trusts no server."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
