"""The page in a real browser: a person at work on a phone in the dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from oneclaw_serve.pages import site_pages

from oneclaw_core import Message, MessageType, ToolCallStatus
from oneclaw_core.plugins import ChatNotice

pytestmark = [pytest.mark.one_python, pytest.mark.needs("chromium")]

PAGES = [each.path for each in site_pages() if each.title]
TEXT = (
    "# Sun\n\n## In Bern\n\n| day | sky |\n|---|---|\n| Monday | sun |\n\n```\n18\n```\n\n- [more](https://example.org)"
)
DROP = """() => {
    const files = new DataTransfer();
    files.items.add(new File(["a,b"], "stays.csv", { type: "text/csv" }));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


def test_a_person_works_on_a_phone_in_the_dark(serving, at_page, photograph):
    serving.model.calls("forecast", city="Bern").says("Sun in **Bern**.")
    serving.model.calls("forecast", city="Basel").says("Rain in *Basel*.")

    async def work(rig, page, noted):
        from playwright.async_api import expect

        serving.notices.append(ChatNotice(text="<b>Rain</b> is expected", command="/rain", page="notes"))
        await page.goto(rig.origin)
        await expect(page.get_by_role("heading", name="Log in to OneClaw")).to_be_focused()
        await page.goto(f"{rig.origin}/#code={rig.code}")
        await expect(page.get_by_label("Message")).to_be_focused()
        notice = page.get_by_role("link", name="<b>Rain</b> is expected")
        await expect(notice).to_have_attribute("href", "/Weather/notes")
        serving.notices.clear()
        assert rig.code not in page.url

        await page.keyboard.type("Weather in Bern?")
        await page.evaluate(DROP)
        await expect(page.get_by_label("Attached files")).to_contain_text("stays.csv")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Allow forecast?")).to_be_visible()
        await page.reload()
        await expect(page.locator("summary")).to_have_text("forecast waits for your answer")
        await expect(page.locator(".user")).to_have_text("You: Weather in Bern?Attached: stays.csv (text/csv, 3 bytes)")
        await photograph(page, "serve-phone")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.locator("strong", has_text="Bern")).to_be_visible()

        await page.get_by_label("Message").fill("And Basle?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Allow forecast?")).to_be_visible()  # a call to stop
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("The turn was stopped.")).to_be_visible()
        await expect(page.locator("summary").last).to_have_text("forecast stopped")
        await page.get_by_role("button", name="Edit last message").click()
        await expect(page.get_by_label("Message")).to_have_value("And Basle?")
        await page.get_by_label("Message").fill("And Basel?")
        await page.keyboard.press("Enter")
        await expect(page.locator("em", has_text="Basel")).to_be_visible()
        await expect(page.locator(".user")).to_contain_text(["You: Weather in Bern?", "You: And Basel?"])

        await photograph(page, "serve-chat", 1000, color_scheme="light")
        page.once("dialog", lambda dialog: dialog.accept("Trips"))
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("heading", name="Trips")).to_be_visible()
        await page.get_by_role("button", name="Sessions").click()
        await expect(page.get_by_role("button", name="Trips Weather in Bern?")).to_be_visible()
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


def test_a_script_is_one_line_that_unfolds_to_its_calls_now_and_after_a_reload(serving, at_page):
    serving.model.calls("tour", purpose="Compare two cities", cities=["Bern", "Basel"]).says("Sun in both.")

    async def work(rig, page, noted):
        from playwright.async_api import expect

        await page.goto(f"{rig.origin}/#code={rig.code}")
        await page.get_by_label("Message").fill("Compare")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("call 1 of the script: Compare two cities")).to_be_visible()
        await page.get_by_role("button", name="Allow for the rest of this script").click()
        await expect(page.get_by_text("Sun in both.")).to_be_visible()
        for is_reloaded in (False, True):
            if is_reloaded:
                await page.reload()
            line = page.locator("summary", has_text="tour")
            await expect(line).to_contain_text("tour Compare two cities done")
            await expect(page.locator("summary", has_text="forecast").first).to_be_hidden()
            await line.click()
            await expect(page.locator("summary", has_text="forecast")).to_have_count(2)
            await page.locator("summary", has_text="forecast").last.click()
            await expect(page.get_by_text("sun in Basel <script>alert(1)</script>")).to_be_visible()
        return noted

    assert at_page(work) == []


@pytest.mark.long
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
def test_what_was_said_long_ago_can_be_read(serving, at_page):
    async def work(rig, page, noted):
        from playwright.async_api import expect

        session = await rig.claw.begin_session(title="Long")
        entries = [Message(type=MessageType.USER, content=f"number {each}") for each in range(150)]
        call = {"tool_call_id": "c", "tool_name": "forecast"}
        entries[49:49] = [
            Message(type=MessageType.TOOL_CALL, tool_input="{}", **call),
            Message(type=MessageType.TOOL_RESULT, content="sun", tool_status=ToolCallStatus.SUCCESS, **call),
        ]
        await rig.claw.store.append(session.id, entries[:50])
        await rig.claw.store.append(session.id, entries[50:])
        await page.goto(f"{rig.origin}/#code={rig.code}")
        await page.get_by_role("button", name="Long").click()
        await expect(page.get_by_text("number 149")).to_be_in_viewport()
        await expect(page.get_by_text("number 48")).to_have_count(0)
        await page.get_by_role("button", name="Show earlier messages").click()
        await expect(page.locator(".user").first).to_have_text("You: number 0")
        await expect(page.locator("summary")).to_have_text("forecast done")
        return await page.locator(".user").count(), await page.locator(".earlier").count(), noted

    assert at_page(work) == (150, 0, [])


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_fault(serving, at_page, width, scheme):
    serving.model.calls("forecast", city="Bern").calls("report").says(TEXT)

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
        await page.get_by_label("Message").fill("Weather?")
        await check("new session")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
        await check("question")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_role("link", name="sun.csv")).to_be_visible()
        await page.get_by_label("Message").fill("/usage")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("tool groups: none loaded")).to_be_visible()
        await page.get_by_role("button", name="Edit last message").click()
        await page.locator("summary").first.click()
        await check("answer")
        for place in [*PAGES, "tools/forecast", "agents/General Assistant", "settings/oneclaw"]:
            await page.goto(f"{rig.origin}/manage/{place}")
            await check(place)
        return found, noted

    found, noted = at_page(work, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert (found, noted) == ([], [])
