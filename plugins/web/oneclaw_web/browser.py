"""The core tool ``browser``: a page as a person sees it, as a picture or as text."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core import Attachment, OneClawError, PermissionDeniedError, ToolResult, untrusted
from oneclaw_core.files import new_file
from oneclaw_core.http import guarded_proxy
from oneclaw_web.chromium import BrowserNotInstalledError, open_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

    from oneclaw_core import ToolContext
    from oneclaw_core.files import PathGuard
    from oneclaw_core.http import GuardedProxy

MAX_PICTURE_HEIGHT = 10_000
MAX_WAIT_SECONDS = 20
MAX_HTML_CHARACTERS = 5_000_000
_NAVIGATION_SECONDS = 30
_SCRIPT_SECONDS = 15

# What is on a page beside what it is about.
_REMOVE_NOISE = """() => {
  const noise = [
    '[role="navigation"]', '[role="banner"]', '[role="contentinfo"]', '[aria-modal="true"]', '[role="dialog"]',
    '[id*="cookie" i]', '[class*="cookie" i]', '[id*="consent" i]', '[class*="consent" i]',
    '[class*="popup" i]', '[class*="modal" i]', '[class~="ad" i]', '[class~="ads" i]', '[class*="advert" i]',
    'nav', 'noscript', 'template',
  ];
  const main = document.querySelector('main, article, [role="main"]');
  for (const element of document.querySelectorAll(noise.join(','))) {
    if (element === document.body || element === document.documentElement) continue;
    if (main && element.contains(main)) continue;
    element.remove();
  }
}"""
_INNER_TEXT = "() => document.body ? document.body.innerText.slice(0, 1000000) : ''"
_HTML = "(limit) => document.documentElement.outerHTML.slice(0, limit)"


async def browser(
    url: str,
    mode: str,
    width: int = 1280,
    height: int = 800,
    wait_seconds: float = 2,
    full_page: bool = False,
    max_length: int = 50_000,
    javascript: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Open a page in Chromium, and take a picture of it or read it.

    Args:
        url: http or https.
        mode: ``screenshot`` or ``extract``.
        width: of the page, in pixels.
        height: of what is seen of it, in pixels.
        wait_seconds: how long to wait after the page has loaded, for what its scripts add.
        full_page: take a picture of all of it, up to 10,000 pixels high.
        max_length: how many characters of its text to give; none above 0 gives all.
        javascript: an expression, or statements with ``return``, whose value is given in place of the page's text.
        context: of the call.

    Returns:
        A picture as an attachment, with where it is kept; or Markdown.

    Raises:
        PermissionDeniedError: the address is private, or the model has composed what would be sent, and the user does
            not allow it.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        return ToolResult.error("validation_error", f"{url[:200]!r} is no http:// or https:// URL.")
    if parts.username is not None or parts.password is not None:
        return ToolResult.error("validation_error", "The URL must hold no user or password.")

    async def allow_private(other: str, address: str, port: int) -> None:
        # The page itself is what the user is asked about; what a page refers to has no business here.
        if other != host:
            raise PermissionDeniedError(
                f"{other} is at the private address {address}, which the page {host} refers to. Open it by its own URL "
                "if that is wanted.",
                "network.private",
            )
        await context.allow_address(other, address, port)

    await context.allow_url(url, "" if javascript is None else f"the page, with the script {javascript}")
    try:
        async with (
            guarded_proxy(allow_private, context.allow_address) as proxy,
            open_page(proxy, width, height) as page,
        ):
            failure = await _open(page, url, proxy)
            if failure is not None:
                return failure
            await asyncio.sleep(min(max(wait_seconds, 0), MAX_WAIT_SECONDS))
            if mode == "screenshot":
                return await _picture(page, full_page, width, context)
            return await _extract(page, javascript, max_length, context)
    except BrowserNotInstalledError as error:
        return ToolResult.error("not_available", f"The tool is not available: {error}.")
    except PermissionDeniedError:
        raise
    except OneClawError as error:
        return ToolResult.error("execution_error", str(error))


async def _open(page: Page, url: str, proxy: GuardedProxy) -> ToolResult | None:
    """Go to a page; an error result if there is none to be seen."""
    from playwright.async_api import Error
    from playwright.async_api import TimeoutError as SlowPageError

    try:
        response = await page.goto(url, wait_until="load", timeout=_NAVIGATION_SECONDS * 1000)
    except SlowPageError:
        # A page that never stops loading may still show all there is to see.
        if page.url.startswith(("http://", "https://")):
            return None
        return ToolResult.error("timeout", f"The page did not answer within {_NAVIGATION_SECONDS} seconds.")
    except Error as error:
        if proxy.refusals:
            raise next(reversed(proxy.refusals.values())) from None
        return ToolResult.error("network_error", f"The page cannot be opened: {_reason(error)}.")
    refused = proxy.refusals.get(urlsplit(page.url).netloc)
    if response is not None and response.status == 403 and refused is not None:
        raise refused
    return None


async def _picture(page: Page, full_page: bool, width: int, context: ToolContext) -> ToolResult:
    from playwright.async_api import Error

    height = page.viewport_size["height"] if page.viewport_size else 0
    try:
        if full_page:
            whole = await _evaluate(page, "() => Math.ceil(document.documentElement.scrollHeight)")
            height = min(max(whole if isinstance(whole, int) else 0, height), MAX_PICTURE_HEIGHT)
            await page.set_viewport_size({"width": width, "height": height})
        data = await page.screenshot(type="png", timeout=_SCRIPT_SECONDS * 1000)
        title = (await page.title())[:200]
    except (Error, TimeoutError) as error:
        return ToolResult.error("screenshot_error", f"No picture could be taken: {_reason(error)}.")
    name = f"{_file_name(page.url)}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.png"
    context.mark_outside(page.url)
    title = untrusted(title, f"the page {page.url}") if title else ""
    document: dict[str, Any] = {"url": page.url, "title": title, "width": width, "height": height}
    try:
        path = context.paths.writable(context.paths.workspace / "screenshots" / name)
        document["image_path"] = str(await asyncio.to_thread(_write, path, data, context.paths))
    except PermissionDeniedError:
        document["image_path"] = None  # the user keeps tools from writing; the picture itself goes to the model
    except OSError as error:
        document["image_path"] = None
        context.logger.warning("the picture could not be kept: %s", error)
    return ToolResult.success(document, (Attachment(name, "image/png", data),))


async def _extract(page: Page, javascript: str | None, max_length: int, context: ToolContext) -> ToolResult:
    from playwright.async_api import Error

    from oneclaw_web.page_text import html_to_markdown, page_document

    room = context.shown_characters
    try:
        if javascript is not None:
            context.mark_outside(page.url)  # whatever the script gives, the model may have composed it
            value = await _evaluate(page, _SCRIPT, javascript)
            if isinstance(value, dict) and "error" in value:
                # What it says may be the page's own words.
                said = untrusted(str(value["error"])[:1000], f"the page {page.url}")
                return ToolResult.error("extraction_error", f"The JavaScript failed.\n{said}")
            text = str(value["text"]) if isinstance(value, dict) else ""
            title = (await page.title())[:200]
            return ToolResult.success(page_document(page.url, title, text, max_length, room=room))
        await _evaluate(page, _REMOVE_NOISE)
        html = await _evaluate(page, _HTML, MAX_HTML_CHARACTERS)
        inner_text = await _evaluate(page, _INNER_TEXT)
        title = (await page.title())[:200]
    except TimeoutError:
        return ToolResult.error("timeout", f"A script on the page took longer than {_SCRIPT_SECONDS} seconds.")
    except Error as error:
        return ToolResult.error("extraction_error", f"The page cannot be read: {_reason(error)}.")
    context.mark_page(page.url)
    _, text = await html_to_markdown(str(html), page.url, context)
    text = text or str(inner_text)
    return ToolResult.success(page_document(page.url, title, text, max_length, room=room))


# An expression first; what is none, is taken for statements with a return.
_SCRIPT = """async (code) => {
  const AsyncFunction = (async () => {}).constructor;
  let run;
  try {
    try { run = new AsyncFunction('return (' + code + '\\n)'); } catch (fault) {
      if (!(fault instanceof SyntaxError)) throw fault;
      run = new AsyncFunction(code);
    }
    const value = await run();
    const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, 1);
    return {text: String(text).slice(0, 1000000)};
  } catch (fault) {
    return {error: String(fault && fault.message || fault)};
  }
}"""


async def _evaluate(page: Page, script: str, argument: Any = None) -> Any:
    async with asyncio.timeout(_SCRIPT_SECONDS):
        return await page.evaluate(script, argument)


def _write(path: Path, data: bytes, guard: PathGuard) -> Path:
    with new_file(path, guard) as file:
        file.write(data)
        return file.keep()


def _file_name(url: str) -> str:
    return re.sub(r"[^a-z0-9.-]+", "-", (urlsplit(url).hostname or "page").lower())[:60].strip("-.") or "page"


def _reason(error: BaseException) -> str:
    """Return the error without the driver's log."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return re.sub(r"^(Page|Browser|Frame)\.\w+: ", "", line)[:300].rstrip(".")
