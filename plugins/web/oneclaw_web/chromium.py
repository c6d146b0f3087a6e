"""One Chromium for one call: found, started without a profile, kept to checked addresses, and gone afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from playwright.async_api import Page, Playwright

    from oneclaw_core.http import GuardedProxy

INSTALL_HINT = "pip install 'oneclaw-web[browser]'"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "microsoft-edge-stable")
_START_SECONDS = 30
# What is broken off here leaves processes and pipes behind; on a busy machine closing takes long.
_CLOSE_SECONDS = 20
_ARGUMENTS = (
    # Nothing may go past the proxy: neither this machine's own addresses, nor UDP, nor what the browser itself asks.
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-pings",
    "--no-first-run",
    "--disable-dev-shm-usage",  # small in containers
)


class BrowserNotInstalledError(OneClawError):
    """There is no browser to be used; the message says what to install."""


@asynccontextmanager
async def open_page(proxy: GuardedProxy, width: int, height: int) -> AsyncGenerator[Page, None]:
    """Start a browser with one empty page, without cookies or history, for as long as the block lasts.

    Args:
        proxy: what all its connections go through.
        width: of the page, in pixels.
        height: of what is seen of the page, in pixels.

    Raises:
        BrowserNotInstalledError: there is none.
        OneClawError: it does not start.
    """
    try:
        from playwright.async_api import Error, async_playwright
    except ImportError:
        raise BrowserNotInstalledError(
            f"the browser needs the package playwright, which is not installed; install it with: {INSTALL_HINT}"
        ) from None
    manager = async_playwright()
    playwright = await manager.start()
    browser = None
    closing: set[asyncio.Task[None]] = set()

    def close_popup(popup: Page) -> None:
        task = asyncio.ensure_future(_close_quietly(popup))
        closing.add(task)
        task.add_done_callback(closing.discard)

    try:
        try:
            browser = await playwright.chromium.launch(
                executable_path=_executable(playwright),
                headless=True,
                # Chromium refuses to run as root with its sandbox.
                chromium_sandbox=os.geteuid() != 0,
                args=list(_ARGUMENTS),
                proxy={"server": proxy.url, "username": proxy.user_name, "password": proxy.password},
                timeout=_START_SECONDS * 1000,
                env=_environment(),
            )
        except Error as error:
            raise OneClawError(f"the browser does not start: {_first_line(error)}") from None
        context = await browser.new_context(
            viewport={"width": width, "height": height},
            accept_downloads=False,
            service_workers="block",
        )
        page = await context.new_page()
        context.on("page", close_popup)
        yield page
    finally:
        with suppress(Exception):  # whatever is wrong with a browser, it is gone with its driver
            async with asyncio.timeout(_CLOSE_SECONDS):
                if browser is not None:
                    await browser.close()
                if closing:
                    await asyncio.wait(closing)
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await playwright.stop()


async def _close_quietly(popup: Page) -> None:
    with suppress(Exception):  # it has gone already, or goes with the browser
        await popup.close()


def _executable(playwright: Playwright) -> str | None:
    """Find the browser: playwright's own, else one of the system; ``None`` is playwright's own."""
    if os.path.exists(playwright.chromium.executable_path):  # noqa: PTH110  # a path of playwright's making
        return None
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise BrowserNotInstalledError(
        "there is no Chromium for the browser; install one with your system's packages (Debian: apt install chromium) "
        "or with: playwright install chromium"
    )


def _environment() -> dict[str, str | float | bool]:
    """Return the environment variables that a browser needs; keys are not among them."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
