"""The page in a real browser: login, an answer with a tool call and a question, a reload, scripts that do not run."""

from __future__ import annotations

import shutil

import pytest

pytestmark = pytest.mark.one_python
CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_person_logs_in_allows_a_tool_and_reloads(serving):
    serving.model.calls("forecast", city="Bern").says("Sun in **Bern**.\n\n<img src=x onerror=alert(1)>")

    async def work(rig):
        from playwright.async_api import async_playwright, expect

        errors, dialogs = [], []
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM)
            page = await browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("dialog", lambda dialog: dialogs.append(dialog.message))
            await page.goto(f"{rig.origin}/#code={rig.code}")
            await expect(page.get_by_label("Message")).to_be_focused()
            assert rig.code not in page.url
            await page.get_by_label("Message").fill("<b>Weather</b> in Bern?")
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("heading", name="Allow forecast?")).to_be_visible()
            await page.reload()
            await page.get_by_role("button", name="Allow once").click()
            await expect(page.locator("strong", has_text="Bern")).to_be_visible()
            await page.locator("summary", has_text="forecast").click()
            await expect(page.get_by_text("sun in Bern <script>alert(1)</script>")).to_be_visible()
            await page.get_by_role("button", name="Sessions").click()
            await expect(page.locator("nav").get_by_text("<b>Weather</b> in Bern?")).to_be_visible()
            await browser.close()
        return errors, dialogs

    assert serving.run(work) == ([], [])
