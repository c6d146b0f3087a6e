"""Attacks inside a real browser on a person who is logged in: all are refused."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from contextlib import asynccontextmanager
from functools import partial

import pytest

pytestmark = [pytest.mark.one_python, pytest.mark.needs("chromium")]

SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>"
DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC")
SITE = """
<form id="f" method="post" action="{origin}/manage/tools">
<input name="kind" value="tool"><input name="name" value="forecast"><input name="switch" value="off"></form>
<form id="t" method="post" action="{origin}/api/sessions" enctype="text/plain"><input name="{{" value="}}"></form>
<iframe src="{origin}/"></iframe>
"""
FETCHES = """async (origin) => {
    const json = { "Content-Type": "application/json" };
    const tries = [
        ["/api/sessions", { method: "POST", mode: "no-cors", body: "{}" }],
        ["/api/sessions", { method: "POST", headers: json, body: "{}" }],
        ["/api/sessions", {}],
        ["/api/sessions", { mode: "no-cors" }],
        ["/login", { method: "POST", mode: "no-cors", body: "{}" }],
        ["/", {}],
    ];
    const found = [];
    for (const [path, options] of tries) {
        const answer = fetch(origin + path, { credentials: "include", ...options });
        found.push(await answer.then((each) => each.text(), () => ""));
    }
    const stream = new EventSource(`${origin}/api/sessions/x/events`, { withCredentials: true });
    found.push(await new Promise((done) => { stream.onerror = () => done(""); stream.onopen = () => done("open"); }));
    const socket = new WebSocket(origin.replace("http", "ws") + "/api/sessions");
    found.push(await new Promise((done) => { socket.onerror = () => done(""); socket.onopen = () => done("open"); }));
    return found.join("");
}"""


@asynccontextmanager
async def site(text):
    """Serve a page at a port; yield the port."""
    async with await asyncio.start_server(partial(_answer, text), "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def _answer(text, reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    body = text.encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


def test_scripts_in_texts_names_and_titles_stay_text(serving, at_page):
    serving.model.calls("forecast", city=SCRIPT).calls("report", name=f"{SCRIPT}.csv")
    serving.model.says(f"# {SCRIPT}\n\n{SCRIPT} [x](javascript:alert(3)) ![y](https://evil.example/?q=1)")

    async def work(rig, page, noted):
        from playwright.async_api import expect

        asked = []
        page.on("request", lambda each: asked.append(each.url))
        await page.goto(f"{rig.origin}/#code={rig.code}")
        files = [
            {"name": f"{SCRIPT.replace('/', '')}.png", "mimeType": "image/png", "buffer": DOT},
            {"name": f"{SCRIPT.replace('/', '')}.csv", "mimeType": "text/csv", "buffer": b"a"},
        ]
        await page.set_input_files("#attach", files=files)
        await page.get_by_label("Message").fill(SCRIPT)
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.locator("article h1")).to_have_text(SCRIPT)
        await page.locator("summary").first.click()
        await page.get_by_label("Message").fill(f"/{SCRIPT}")
        await page.keyboard.press("Enter")
        await expect(page.locator("#status")).to_contain_text("there is no command")
        page.once("dialog", lambda dialog: dialog.accept(SCRIPT))
        await page.get_by_role("button", name="Rename").click()
        await expect(page.locator("#title")).to_contain_text(SCRIPT)
        await page.reload()
        await expect(page.locator("article h1")).to_have_text(SCRIPT)
        await expect(page.locator("#title")).to_contain_text(SCRIPT)
        await expect(page.locator(".file a")).to_have_text(f"{SCRIPT}.csv")
        # The image of the message is shown, and nothing else is loaded.
        await page.wait_for_function("() => document.images.length === 1 && document.images[0].naturalWidth === 1")
        for place in ("permissions", "tools/forecast", "prompt", "usage"):
            await page.goto(f"{rig.origin}/manage/{place}")
        return noted, {each for each in asked if not each.startswith((rig.origin, "data:"))}

    assert at_page(work) == ([], set())


@pytest.mark.long
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_pages_of_other_ports_and_sites_reach_nothing(serving, at_page, host):
    async def work(rig, page, noted):
        async with site(SITE.format(origin=rig.origin)) as port:
            await page.goto(f"{rig.origin}/#code={rig.code}")
            await page.reload()
            await page.goto(f"http://{host}:{port}/")
            # Our page is not even shown in a frame.
            assert await page.frames[1].evaluate("() => document.querySelector('#composer')") is None
            read = await page.evaluate(FETCHES, rig.origin)
            statuses = []
            for form in ("f", "t"):
                await page.goto(f"http://{host}:{port}/")
                async with page.expect_navigation() as navigation:
                    await page.evaluate(f"() => document.getElementById('{form}').submit()")
                statuses.append((await navigation.value).status)
        sessions = await rig.claw.store.list_sessions(None)
        return read, statuses, len(sessions), rig.claw.catalog.registry.is_enabled("forecast")

    assert at_page(work) == ("", [403, 403], 0, True)


@pytest.mark.long
def test_a_name_that_is_bound_to_this_machine_is_no_name_of_ours(serving, at_page):
    """DNS rebinding: a site whose name now leads here is the same origin as itself, and gets nothing."""

    async def work(rig, page, noted):
        await page.goto(f"{rig.origin}/#code={rig.code}")
        rebound = rig.origin.replace("127.0.0.1", "evil.example")
        answer = await page.goto(rebound)
        # Their page was loaded before the name was bound anew.
        await page.route(f"{rebound}/", lambda route: route.fulfill(body="<p>Hi", content_type="text/html"))
        await page.goto(rebound)
        get = "() => fetch('/api/sessions', { credentials: 'include' }).then((answer) => answer.status)"
        post = "() => fetch('/login', { method: 'POST', body: '{}' }).then((answer) => answer.status)"
        return answer.status, await page.evaluate(get), await page.evaluate(post)

    assert at_page(work) == (421, 421, 421)


@pytest.mark.long
def test_a_link_that_was_used_logs_no_other_browser_in(serving, at_page):
    async def work(rig, page, noted):
        from playwright.async_api import expect

        link = f"{rig.origin}/#code={rig.code}"
        await page.goto(link)
        # Reloaded before it is logged in, the page would not know whether the link was used.
        await expect(page.get_by_label("Message")).to_be_focused()
        await page.reload()
        await expect(page.get_by_label("Message")).to_be_focused()
        thief = await (await page.context.browser.new_context()).new_page()
        await thief.goto(link)
        await expect(thief.get_by_role("alert")).to_contain_text("this link was used")
        status = await thief.evaluate("() => fetch('/api/sessions').then((answer) => answer.status)")
        cookies = await thief.context.cookies()
        seen = await page.evaluate("() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })")
        await thief.context.close()
        return status, cookies, seen, rig.code in page.url

    assert at_page(work) == (401, [], "{}", False)
