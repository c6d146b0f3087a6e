"""The browser, with real Chromium and pages on loopback."""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from oneclaw_web import browser, chromium
from pytest_oneclaw.chosen_plugins import chosen_plugins
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core import OneClaw, PermissionAnswer
from oneclaw_core.http.proxy import USER_NAME

pytestmark = pytest.mark.one_python

needs_chromium = pytest.mark.needs("chromium")

PAGE = """<html><head><title>Weather</title></head><body>
<nav>Home | About</nav>
<div class="cookie-banner">We value your privacy</div>
<main><h1>Forecast</h1><p id="p">not yet</p><a href="/more">More</a></main>
<script>document.getElementById('p').textContent = 'Rain from ' + 'script, all day long and into the night.'</script>
</body></html>"""


def html(body):
    return response(body, headers=[("Content-Type", "text/html; charset=utf-8")])


class Browsing:
    """Opens pages one after the other, all in one browser: to start one takes a second of computing.

    The user answers each question with ``answer``; what they are asked is in ``asked``, as permission and detail.
    """

    def __init__(self, home):
        self.home = home
        self.answer = PermissionAnswer.SESSION
        self.asked = []
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._claw = self._runner.run(self._stack.enter_async_context(self._opened()))
        self._loop = self._browser = None
        self._of_browser = AsyncExitStack()

    def _opened(self):
        return OneClaw.open(self.home, ask=self._ask, environ={}, plugins=chosen_plugins(("web",)))

    async def _ask(self, request):
        self.asked.append((request.permission, request.detail))
        return self.answer

    def __call__(self, *pages):
        async def run():
            return [(await self._claw.call_tool("browser", page)).result for page in pages]

        return self._runner.run(run())

    @asynccontextmanager
    async def open_page(self, proxy, width, height):
        """Open a page as the tool does; the browser belongs to the event loop of the plugin."""
        if self._browser is None:
            self._loop = asyncio.get_running_loop()
            page = await self._of_browser.enter_async_context(chromium.open_page(proxy, width, height))
            self._browser = page.context.browser
            await page.context.close()
        way = {"server": proxy.url, "username": USER_NAME, "password": proxy.password}
        context = await self._browser.new_context(viewport={"width": width, "height": height}, proxy=way)
        try:
            yield await context.new_page()
        finally:
            await context.close()

    def close(self):
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._of_browser.aclose(), self._loop).result()
        self._runner.run(self._stack.aclose())
        self._runner.close()


@pytest.fixture(scope="module")
def browsing(tmp_path_factory):
    """All pages in one browser."""
    found = Browsing(tmp_path_factory.mktemp("browsing"))
    yield found
    found.close()


@pytest.fixture
def browse(browsing, monkeypatch):
    """Open pages in the shared browser."""
    monkeypatch.setattr(browser, "open_page", browsing.open_page)
    browsing.answer = PermissionAnswer.SESSION
    browsing.asked.clear()
    return browsing


@pytest.fixture
def browse_alone(tmp_path):
    """Open one page, in a browser that is started for it."""

    def browse(page):
        async def ask(_):
            return PermissionAnswer.SESSION

        async def run():
            plugins = chosen_plugins(("web",))
            async with OneClaw.open(tmp_path / "home", ask=ask, environ={}, plugins=plugins) as claw:
                return (await claw.call_tool("browser", page)).result

        return asyncio.run(run())

    return browse


def extract(url, **options):
    return {"url": url, "mode": "extract", "wait_seconds": 0, **options}


def left_processes():
    """The processes of browsers that this test's process has started and not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"chrom" in command.split(b"\0")[0] and parent == os.getpid():
                found.append(entry.name)
    return found


@pytest.mark.long
@needs_chromium
def test_a_page_is_read_as_its_scripts_have_made_it_and_no_browser_is_left(browse_alone):
    with WebServer(lambda _: html(PAGE)) as server:
        read = browse_alone(extract(server.url))

    assert "Rain from script, all day long" in read.result
    assert "Weather" in read.result
    assert "privacy" not in read.result
    assert "not yet" not in read.result
    assert left_processes() == []


@needs_chromium
def test_a_picture_goes_to_the_model_and_into_the_workspace(browse):
    def tall(request):
        height = request.target.strip("/")
        return html(f"<html><body style='margin:0;height:{height}px;background:rgb(0,128,0)'></body></html>")

    with WebServer(tall) as server:
        shot = {"mode": "screenshot", "width": 400, "height": 300, "wait_seconds": 0}
        pictures = browse(
            {"url": f"{server.url}/3000", **shot},
            {"url": f"{server.url}/3000", **shot, "full_page": True},
            # More than a picture may have is cut.
            {"url": f"{server.url}/90000", **shot, "width": 200, "full_page": True},
        )

    for result, size in zip(pictures, ((400, 300), (400, 3000), (200, 10_000)), strict=True):
        (picture,) = result.attachments
        assert (picture.media_type, struct.unpack(">II", picture.data[16:24])) == ("image/png", size)
        assert Path(result.result["image_path"]).read_bytes() == picture.data
        assert Path(result.result["image_path"]).is_relative_to(browse.home / "workspace" / "screenshots")


@needs_chromium
def test_a_script_of_the_model_reads_the_page_or_its_failure_is_told(browse):
    scripts = {
        "document.title": "Weather",
        "return document.querySelectorAll('a').length + 1": "2",
        "const a = await Promise.resolve({b: [1, 2]}); return a": '"b"',
        "undefined": "",
    }
    with WebServer(lambda _: html(PAGE)) as server:
        codes = [*scripts, "null.x", "this is no JavaScript"]
        *read, thrown, wrong = browse(*(extract(server.url, javascript=code) for code in codes))

    for result, expected in zip(read, scripts.values(), strict=True):
        assert expected in result.result
    assert (thrown.error_type, wrong.error_type) == ("extraction_error", "extraction_error")
    assert "null" in thrown.error_message


@needs_chromium
def test_a_private_address_is_asked_about_once_and_refused_without_leave(browse):
    browse.answer = PermissionAnswer.NO
    with WebServer(lambda _: html(PAGE)) as server:
        (refused,) = browse(extract(server.url))

        assert server.requests == []
    assert refused.error_type == "permission_denied"
    assert [permission for permission, _ in browse.asked] == ["network.private"]


@needs_chromium
def test_what_a_page_refers_to_at_private_addresses_is_not_asked_for(browse):
    with WebServer(lambda _: response("secret")) as other:
        page = f"""<html><body>page text that is shown<img src="http://localhost:{other.port}/i">
            <iframe src="http://[::1]:{other.port}/f"></iframe>
            <script>fetch('http://localhost:{other.port}/s', {{mode: 'no-cors'}}).catch(() => {{}});
            new WebSocket('ws://localhost:{other.port}/w');
            navigator.sendBeacon('http://localhost:{other.port}/b', 'x');</script></body></html>"""
        with WebServer(lambda _: html(page)) as server:
            (read,) = browse(extract(server.url, wait_seconds=1))

        assert "page text that is shown" in read.result
        assert other.requests == []


@pytest.mark.long
@needs_chromium
def test_a_redirect_to_another_private_host_is_refused_and_a_server_that_is_not_there_told(browse):
    with WebServer(lambda _: response("secret")) as other:
        moved = response("", status="302 Found", headers=[("Location", f"http://localhost:{other.port}/")])
        with WebServer(lambda _: moved) as server:
            refused, missing = browse(extract(server.url), extract("http://127.0.0.1:1/"))

        assert other.requests == []
    assert refused.error_type == "permission_denied"
    assert missing.error_type == "network_error"


@pytest.mark.long
@needs_chromium
def test_a_page_cannot_lead_elsewhere_than_to_the_web(browse):
    def page(request):
        target = request.target[1:]
        return html(f"<html><body>start<script>location.href = {target!r}</script></body></html>")

    with WebServer(page) as server:
        targets = ("file:///etc/passwd", "chrome://version", "data:text/html,secret")
        results = browse(*(extract(f"{server.url}/{target}", wait_seconds=1) for target in targets))

    assert {request.target[1:] for request in server.requests} >= {*targets}
    for result in results:
        assert "root:" not in str(result)
        assert "start" in str(result.result)


@pytest.mark.long
@needs_chromium
def test_calls_see_nothing_of_each_other(browse_alone):
    page = """<html><body><script>
        document.body.textContent = 'seen before: ' + document.cookie + localStorage.getItem('k');
        document.cookie = 'c=1'; localStorage.setItem('k', 'v');</script></body></html>"""
    with WebServer(lambda _: html(page)) as server:
        results = [browse_alone(extract(server.url)) for _ in range(2)]

    assert all("seen before: null" in result.result for result in results)


@pytest.mark.long
@needs_chromium
def test_a_page_that_never_rests_is_given_up(browse_alone, monkeypatch):
    monkeypatch.setattr(browser, "_SCRIPT_SECONDS", 1)
    page = "<html><body>busy<script>setTimeout(() => { while (true) {} }, 50)</script></body></html>"
    with WebServer(lambda _: html(page)) as server:
        started = time.monotonic()
        result = browse_alone(extract(server.url, wait_seconds=0.5))

    assert result.error_type == "timeout"
    assert time.monotonic() - started < 120
    assert left_processes() == []


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://host/", "javascript:alert(1)", "http://", "http://[", "http://me:hunter2@host/"],
)
def test_what_is_no_web_address_is_refused(browse_alone, url):
    result = browse_alone(extract(url))

    assert result.error_type == "validation_error"
    assert "hunter2" not in result.error_message


@pytest.mark.long
def test_without_playwright_it_says_what_to_install(browse_alone, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)

    result = browse_alone(extract("http://127.0.0.1:1/"))

    assert result.error_type == "not_available"
    assert "pip install 'oneclaw-web[browser]'" in result.error_message


@pytest.mark.long
def test_without_a_browser_it_says_what_to_install(browse_alone, monkeypatch):
    pytest.importorskip("playwright")
    monkeypatch.setattr(chromium.shutil, "which", lambda name: None)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nonexistent")

    result = browse_alone(extract("http://127.0.0.1:1/"))

    assert result.error_type == "not_available"
    assert "apt install chromium" in result.error_message
