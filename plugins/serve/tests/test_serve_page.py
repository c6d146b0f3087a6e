"""The page in a real browser: a person at work on a phone in the dark, and attacks on one who is logged in."""

from __future__ import annotations

import asyncio
import shutil
from base64 import b64decode
from functools import partial
from pathlib import Path

import pytest
from oneclaw_serve.pages import site_pages

from oneclaw_core.plugins import ChatNotice

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.one_python, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

PAGES = [each.path for each in site_pages() if each.title]
TEXT = (
    "# Sun\n\n## In Bern\n\n| day | sky |\n|---|---|\n| Monday | sun |\n\n```\n18\n```\n\n- [more](https://example.org)"
)
PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>"
DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC")
FETCH = """(address) => fetch(address, { method: "POST", mode: "no-cors", credentials: "include", body: "{}" })
    .then(() => "answered", () => "refused")"""
ATTACK = """
<form id="f" method="post" action="{origin}/manage/tools">
<input name="kind" value="tool"><input name="name" value="forecast"><input name="switch" value="off"></form>
<iframe src="{origin}/"></iframe>
"""


@pytest.fixture(scope="module")
def chromium():
    """Run async functions of a browser on one event loop."""
    from playwright.async_api import async_playwright

    with asyncio.Runner() as runner:
        playwright = runner.run(async_playwright().start())
        arguments = ["--host-resolver-rules=MAP evil.example 127.0.0.1"]
        browser = runner.run(playwright.chromium.launch(executable_path=CHROMIUM, args=arguments))
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


def test_a_person_works_on_a_phone_in_the_dark(serving, at_page, photograph):
    serving.model.calls("forecast", city="Bern").says("Sun in **Bern**.")
    serving.model.calls("forecast", city="Basel").says("Rain in *Basel*.")

    async def work(rig, page, noted):
        from playwright.async_api import expect

        serving.notices.append(ChatNotice(text="<b>Rain</b> is expected", command="/rain", page="notes"))
        await page.goto(rig.origin)
        await expect(page.get_by_role("heading", name="Log in to OneClaw")).to_be_focused()
        await page.goto(f"{rig.origin}/#code={rig.code}")
        await page.reload()
        await expect(page.get_by_label("Message")).to_be_focused()
        notice = page.get_by_role("link", name="<b>Rain</b> is expected")
        await expect(notice).to_have_attribute("href", "/Weather/notes")
        serving.notices.clear()
        assert rig.code not in page.url

        await page.keyboard.type("Weather in Bern?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Allow forecast?")).to_be_visible()
        await page.reload()
        await expect(page.locator("summary")).to_have_text("forecast waits for your answer")
        await photograph(page, "serve-phone")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.locator("strong", has_text="Bern")).to_be_visible()

        await page.get_by_label("Message").fill("And Basle?")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("The turn was stopped.")).to_be_visible()
        await page.get_by_role("button", name="Edit last message").click()
        await expect(page.get_by_label("Message")).to_have_value("And Basle?")
        await page.get_by_label("Message").fill("And Basel?")
        await page.keyboard.press("Enter")
        await expect(page.locator("em", has_text="Basel")).to_be_visible()
        await expect(page.locator(".user")).to_have_text(["You: Weather in Bern?", "You: And Basel?"])

        await photograph(page, "serve-chat", 1000, color_scheme="light")
        page.once("dialog", lambda dialog: dialog.accept("Trips"))
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("heading", name="Trips")).to_be_visible()
        await page.get_by_role("button", name="Sessions").click()
        await page.get_by_role("link", name="Manage").click()
        await photograph(page, "serve-tools", 1000, color_scheme="light")
        await page.get_by_role("link", name="forecast").click()
        await page.get_by_label("city").fill("Chur")
        await page.get_by_role("button", name="Call it").press("Enter")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("sun in Chur")).to_be_visible()
        width = await page.evaluate("() => document.documentElement.scrollWidth")
        background = await page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        return noted, width, background

    phone = {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}
    assert at_page(work, **phone) == ([], 390, "rgb(20, 22, 27)")


def test_scripts_and_other_sites_reach_nothing(serving, at_page):
    serving.model.calls("forecast", city=SCRIPT).says(f"# {SCRIPT}\n\n{SCRIPT} [x](javascript:alert(3))")

    async def work(rig, page, noted):
        from playwright.async_api import expect

        attacker = await asyncio.start_server(partial(serve_text, ATTACK.format(origin=rig.origin)), "127.0.0.1", 0)
        port = attacker.sockets[0].getsockname()[1]
        async with attacker:
            await page.goto(f"{rig.origin}/#code={rig.code}")
            files = [{"name": f"{SCRIPT.replace('/', '')}.png", "mimeType": "image/png", "buffer": DOT}]
            await page.set_input_files("#attach", files=files)
            await page.get_by_label("Message").fill(SCRIPT)
            await page.keyboard.press("Enter")
            await page.get_by_role("button", name="Allow once").click()
            await expect(page.locator("article h1")).to_have_text(SCRIPT)
            await page.locator("summary").click()
            await page.reload()
            await expect(page.locator("article h1")).to_have_text(SCRIPT)
            # The image of the message is shown, and nothing else is loaded.
            await page.wait_for_function("() => document.images.length === 1 && document.images[0].naturalWidth === 1")
            for place in ("permissions", "tools/forecast", "prompt"):
                await page.goto(f"{rig.origin}/manage/{place}")
            assert noted == []

            # A page of another port of this machine is sent with the cookie, and may not even show ours in a frame.
            await page.goto(f"http://127.0.0.1:{port}/")
            assert await page.frames[1].evaluate("() => document.querySelector('#composer')") is None
            sent = await page.evaluate(FETCH, f"{rig.origin}/api/sessions")
            async with page.expect_navigation() as navigation:
                await page.evaluate("() => document.getElementById('f').submit()")
            forged = await navigation.value
            rebound = await page.goto(rig.origin.replace("127.0.0.1", "evil.example"))
        sessions = await rig.claw.store.list_sessions(None)
        return sent, forged.status, rebound.status, len(sessions), rig.claw.catalog.registry.is_enabled("forecast")

    assert at_page(work) == ("refused", 403, 421, 1, True)


def test_commands_answer_and_a_file_for_the_user_can_be_downloaded_now_and_after_a_reload(serving, at_page):
    serving.model.calls("report").says("Here it is.")

    async def work(rig, page, noted):
        from playwright.async_api import expect

        await page.goto(f"{rig.origin}/#code={rig.code}")
        await page.get_by_label("Message").fill("/model")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("model: scripted/model")).to_be_visible()
        await page.get_by_label("Message").fill("/diary now")
        page.once("dialog", lambda dialog: dialog.accept())
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Dear diary")).to_be_visible()
        await page.get_by_label("Message").fill("The report?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Here it is.")).to_be_visible()
        read = []
        for _ in range(2):
            async with page.expect_download() as download:
                await page.get_by_role("link", name="sun.csv").click()
            read.append(Path(await (await download.value).path()).read_bytes())
            await page.reload()
        return read, noted, {len(each.attachments) for each in serving.model.requests[-1].messages}

    assert at_page(work) == ([b"day,sun", b"day,sun"], ["Write it?"], {0})


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_fault(serving, at_page, width, scheme):
    serving.model.calls("forecast", city="Bern").says(TEXT)

    async def work(rig, page, noted):
        from axe_playwright_python.async_playwright import Axe
        from playwright.async_api import expect

        async def check(name):
            for each in (await Axe().run(page)).response["violations"]:
                found.append((name, each["id"], [node["html"] for node in each["nodes"]]))

        found = []
        await page.goto(rig.origin)
        await expect(page.get_by_role("heading", name="Log in to OneClaw")).to_be_focused()
        await check("login")
        await page.goto(f"{rig.origin}/#code={rig.code}")
        await page.reload()
        await page.get_by_label("Message").fill("Weather?")
        await check("new session")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
        await check("question")
        await page.get_by_role("button", name="Allow once").click()
        await page.get_by_role("button", name="Edit last message").click()
        await page.locator("summary").click()
        await check("answer")
        for place in [*PAGES, "tools/forecast", "agents/General Assistant", "settings/oneclaw"]:
            await page.goto(f"{rig.origin}/manage/{place}")
            await check(place)
        return found, noted

    found, noted = at_page(work, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert (found, noted) == ([], [])


async def serve_text(text, reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    body = text.encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()
