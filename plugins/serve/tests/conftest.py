"""A real server on loopback in a home with a scripted model."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from needed_programs import PROGRAMS
from web_site import web_site

from oneclaw_core import Attachment, ToolContext, ToolResult, hookimpl, tool
from oneclaw_core.plugins import WebForm, WebLink, WebPage, WebResponse, WebText
from oneclaw_core.scripts import begin_script

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"


@tool(required_permissions=["weather.read"])
async def forecast(city: str) -> str:
    """Tell the weather.

    Args:
        city: where.
    """
    return f"sun in {city} <script>alert(1)</script>"


@tool
async def tour(purpose: str, cities: list[str], context: ToolContext) -> int:
    """Run a script that asks for the weather in cities.

    Args:
        purpose: shown to people.
        cities: where.
    """
    script = await begin_script(context, "as here", purpose)
    results = [await context.call_tool("forecast", {"city": each}) for each in cities]
    await script.end()
    return sum(each.is_success for each in results)


@tool
def report(name: str = "sun.csv") -> ToolResult:
    """Send a report."""
    return ToolResult.success("Sent.", (Attachment(name, "text/csv", b"day,sun", is_for_user=True),))


async def diary(context, rest):
    return "Dear diary" if await context.confirm("Write it?") else "Nothing is written."


async def hook(context, request):
    headers = {"Set-Cookie": "a=b", "Content-Security-Policy": "script-src *"}
    return WebResponse(body=f"{request.path_parameters['name']} {sorted(request.headers)}", headers=headers)


async def upload(context, request):
    return WebResponse(body=f"{len(request.body)} {request.headers.get('authorization')}")


async def notes(context, request):
    form = request.form() if request.method == "POST" else {}
    text = WebText(text=form.get("text", ""), kind="markdown")
    parts = (text, WebLink("odd", "javascript:alert(1)"), WebForm(submit="Keep", fields={"properties": {"text": {}}}))
    return WebPage(title="Notes", parts=parts, notice=f"Kept {sorted(form)}" if form else "")


class Weather:
    """A plugin with a tool, routes and notices."""

    def __init__(self):
        self.notices = []

    @hookimpl
    async def chat_notices(self):
        return self.notices

    @hookimpl
    def register_tools(self, register):
        register(forecast)
        register(report)
        register(tour)

    @hookimpl
    def register_chat_commands(self, register):
        register("diary", diary)

    @hookimpl
    def register_routes(self, register):
        register("hook/{name}", hook, is_public=True)
        register("upload", upload, methods=("POST",), is_public=True, max_body_bytes=100)
        register("notes", notes, methods=("GET", "POST"), title="Notes")
        register("page", lambda context, request: WebResponse(body="secret"))


@pytest.fixture
def serving(oneclaw_factory):
    """Run an async function of a rig and the scripted model against a server."""
    weather = Weather()
    home = oneclaw_factory(["serve", weather], environ={"ONECLAW_MODEL": "scripted/model"})

    def run(work):
        async def scene():
            async with home.opened() as claw, asyncio.timeout(30), web_site(claw) as rig:
                return await work(rig)

        return asyncio.run(scene())

    return SimpleNamespace(run=run, model=home.model, server=web_site, home=home, notices=weather.notices)


@pytest.fixture(scope="package")
def chromium():
    """Run async functions of a browser on one event loop."""
    from playwright.async_api import async_playwright

    with asyncio.Runner() as runner:
        playwright = runner.run(async_playwright().start())
        program = next(filter(None, map(shutil.which, PROGRAMS["chromium"])))
        arguments = ["--host-resolver-rules=MAP evil.example 127.0.0.1"]
        # The server is to refuse attacks, whatever newer browsers do.
        arguments += ["--disable-features=LocalNetworkAccessChecks"]
        browser = runner.run(playwright.chromium.launch(executable_path=program, args=arguments))
        yield lambda work: runner.run(work(browser))
        runner.run(browser.close())
        runner.run(playwright.stop())


@pytest.fixture
def at_page(chromium, serving):
    """Run an async function of a rig, a page, and the list where errors, dialogs and violations are noted."""

    def at_page(work, **options):
        async def scene(browser):
            noted = []
            page = await browser.new_page(**options)
            page.on("pageerror", lambda error: noted.append(str(error)))
            page.on("dialog", lambda dialog: None if dialog.type == "prompt" else noted.append(dialog.message))
            page.on("console", lambda each: noted.append(each.text) if "Content Security" in each.text else None)
            page.set_default_timeout(10_000)
            async with serving.home.opened() as claw, asyncio.timeout(60), serving.server(claw) as rig:
                try:
                    return await work(rig, page, noted)
                finally:
                    await page.context.close()

        return chromium(scene)

    return at_page


@pytest.fixture
def photograph(pytestconfig):
    """Take a picture for the documentation, with ``pytest --oneclaw-update-snapshots``."""

    async def photograph(page, name, width=None, **media):
        if not pytestconfig.getoption("--oneclaw-update-snapshots"):
            return
        before = page.viewport_size
        if width is not None:
            await page.set_viewport_size({"width": width, "height": 640})
            await page.emulate_media(**media)
        await page.screenshot(path=PICTURES / f"{name}.png")
        await page.set_viewport_size(before)
        await page.emulate_media(color_scheme="dark")

    return photograph
