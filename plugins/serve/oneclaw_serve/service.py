"""The service ``web``: the server in the event loop of ``oneclaw serve``."""

from __future__ import annotations

import asyncio
import ipaddress
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from oneclaw_core import SettingsError
from oneclaw_core.http import ImpatientConnection, listen
from oneclaw_serve.access import new_link_code
from oneclaw_serve.application import Site, make_application

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from oneclaw_core import ServiceContext
    from oneclaw_serve.settings import ServeSettings

_STOP_SECONDS = 2


class _Protocol(ImpatientConnection, H11Protocol):
    """A connection that is closed when it sends no request."""


class _Server(uvicorn.Server):
    """A server that leaves signals to ``oneclaw serve``."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def run_web(context: ServiceContext) -> None:
    """Serve the page and the API until the service is stopped.

    Raises:
        SettingsError: it would be reachable from other machines without the settings for that, or the port cannot be
            used.
    """
    host = str(context.options.get("host") or "127.0.0.1")
    wanted_port = context.options.get("port")
    settings: ServeSettings = context.settings
    check_exposure(host, settings)
    advice = "end that program, or choose another port with: oneclaw serve --port PORT (0 for any free one)"
    listening = listen(host, 8311 if wanted_port is None else int(wanted_port), advice=advice)
    port = listening.getsockname()[1]
    origins = _origins(host, port, settings)
    site = Site(context, port, origins, is_public=bool(settings.public_hosts), proxies=settings.proxies)
    async with site.running():
        await context.storage.set("address", {"origin": origins[0]})
        config = uvicorn.Config(
            make_application(site),
            http=_Protocol,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=_STOP_SECONDS,
            h11_max_incomplete_event_size=32_768,
        )
        await _serve(_Server(config), listening, context, origins[0], site)


async def _serve(server: _Server, listening: socket.socket, context: ServiceContext, origin: str, site: Site) -> None:
    work = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(context.stopping.wait())
    try:
        context.ready(origin)
        if context.settings.shows_link:
            context.show(f"log in once, within 2 minutes: {origin}/#code={await new_link_code(context.storage)}")
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        site.turns.end_streams()
        server.should_exit = True
        await asyncio.wait({work}, timeout=_STOP_SECONDS + 1)
    if work.done():
        work.result()


def check_exposure(host: str, settings: Any) -> None:
    """Refuse to listen beyond this machine without the settings for that.

    Raises:
        SettingsError: a setting is missing.
    """
    if is_loopback(host):
        return
    if not settings.public_hosts:
        raise SettingsError(
            f"--host {host} is reachable from other machines: name the host behind its TLS proxy first, with: "
            "oneclaw config set serve.public_hosts claw.example.org"
        )
    if not settings.proxies:
        raise SettingsError(
            f"--host {host} is reachable from other machines: name the address of the TLS proxy, with: "
            "oneclaw config set serve.proxies 192.0.2.1"
        )


def is_loopback(host: str) -> bool:
    """Return True if an address or ``localhost`` means this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _origins(host: str, port: int, settings: ServeSettings) -> list[str]:
    shown = f"[{host}]" if ":" in host else host
    local = [f"http://{each}:{port}" for each in dict.fromkeys((shown, "127.0.0.1", "localhost", "[::1]"))]
    public = [f"https://{each}" for each in settings.public_hosts]
    return [*public, *(local if is_loopback(host) else [])]
