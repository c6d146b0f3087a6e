"""The management pages: who sees them, what their forms change, and what is refused."""

from __future__ import annotations

import asyncio
import re

import pytest
from oneclaw_serve.pages import site_pages
from oneclaw_serve.schema_form import fields_html, read_fields
from web_site import send_form

from oneclaw_core import UsageError
from oneclaw_core.permissions import Grant

PAGES = [f"/manage/{each.path}" for each in site_pages() if each.title]
SCHEMA = {
    "type": "object",
    "required": ["city", "text"],
    "properties": {
        "city": {"type": "string", "description": "where <b>"},
        "text": {"type": "string"},
        "days": {"type": "integer"},
        "wind": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        "unit": {"$ref": "#/$defs/Unit"},
        "is_long": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"},
    },
    "$defs": {"Unit": {"enum": ["metric", "imperial"]}},
}


def test_pages_are_for_logged_in_people_alone(serving):
    async def work(rig):
        found = {}
        async with rig.client() as stranger, await rig.browser() as person, await rig.program("manage") as program:
            for path in [*PAGES, "/Weather/notes"]:
                answers = [await each.get(path) for each in (stranger, program, person)]
                found[path] = [each.status_code for each in answers]
                policies = {each.headers["content-security-policy"] for each in answers[2:]}
                assert all("require-trusted-types-for 'script'" in each for each in policies)
            shown = (await stranger.get(PAGES[0], headers={"Accept": "text/html"})).text
            first = (await person.get("/manage/", follow_redirects=True)).text
        return found, shown, first

    found, shown, first = serving.run(work)
    assert set(map(tuple, found.values())) == {(401, 403, 200)}
    assert "oneclaw serve link" in shown
    assert 'href="/Weather/notes"' in first
    assert "Memory" not in first  # its plugin is not there


def test_a_form_needs_the_token_of_its_login(serving):
    async def work(rig):
        path, fields = "/manage/tools", {"kind": "tool", "name": "forecast", "switch": "off"}
        async with await rig.browser() as person, await rig.browser() as other:
            theirs = re.search(r'name="form_token" value="(\w+)"', (await other.get(path)).text)[1]
            refused = [
                await person.post(path, data=fields),
                await person.post(path, data={**fields, "form_token": theirs}),
                await person.post(path, data=fields, headers={"Origin": "https://evil.example"}),
                await person.post(path, data=fields, headers={"Sec-Fetch-Site": "same-site"}),
                await person.post(path, content="kind=tool", headers={"Content-Type": "text/plain"}),
                await person.post("/api/sessions", data={"form_token": theirs}),
            ]
            before = rig.claw.catalog.registry.is_enabled("forecast")
            done = await send_form(person, path, **fields)
            after = rig.claw.catalog.registry.is_enabled("forecast")
            await send_form(person, path, **{**fields, "switch": "on"})
        return [each.status_code for each in refused], before, done, after

    statuses, before, done, after = serving.run(work)
    assert statuses == [403, 403, 403, 403, 415, 415]
    assert (before, done.status_code, after) == (True, 200, False)
    assert "Disabled the tool forecast." in done.text


def test_forms_change_settings_grants_agents_and_keys(serving):
    async def work(rig):
        async with await rig.browser() as person:
            path = "/manage/settings/oneclaw"
            saved = await send_form(person, path, turn_max_tool_rounds="7", sandbox="off")
            wrong = await send_form(person, path, turn_max_tool_rounds="many", day_max_cost="5")
            state = await rig.claw.configuration.settings.get("turn_max_tool_rounds")
            await send_form(person, path, turn_max_tool_rounds="", sandbox="")
            reset = [await rig.claw.configuration.settings.get(key) for key in ("turn_max_tool_rounds", "day_max_cost")]
            for host in ("one", "two"):
                await rig.claw.store.set_grant(Grant("network.private", host))
            grant = '["network.private", "one", null, null, null]'
            await send_form(person, "/manage/permissions", grant=grant)
            agent = await send_form(person, "/manage/agents", name="Ada", system_prompt="Be brief.")
            changed = await send_form(person, agent.headers["location"], name="Ada", system_prompt="Be <i>long</i>.")
            switched = []
            for switch in ("off", "on"):
                await send_form(person, "/manage/plugins", plugin="Weather", switch=switch)
                switched.append((await rig.claw.configuration.settings.get("disabled_plugins")).value)
            key = await send_form(person, "/manage/providers", provider="scripted", key="sk-very-secret-key")
            return saved, wrong, state, reset, await rig.claw.store.grants(), changed, switched, key

    saved, wrong, state, reset, grants, changed, switched, key = serving.run(work)
    assert "Saved: turn_max_tool_rounds, sandbox." in saved.text
    assert (wrong.status_code, state.value) == (400, 7)
    assert [each.source for each in reset] == ["default", "default"]  # the wrong form changed nothing
    assert [each.pattern for each in grants] == ["two"]
    assert "Be &lt;i&gt;long&lt;/i&gt;." in changed.text
    assert [list(each) for each in switched] == [["Weather"], []]
    assert "The key of scripted is stored." in key.text
    assert "very-secret" not in key.text


@pytest.mark.long
def test_a_tool_that_is_tried_asks_like_any_other(serving):
    async def work(rig):
        async with await rig.browser() as person:
            wanted = {"Accept": "text/html"}
            begun = await send_form(person, "/manage/tools/forecast", city="<b>Bern")
            path = begun.headers["location"]
            while "Allow forecast?" not in (asked := (await person.get(path, headers=wanted)).text):
                await asyncio.sleep(0.01)
            question = re.search(r'name="question" value="(\w+)"', asked)[1]
            await send_form(person, path, question=question, answer="once")
            while "Result" not in (shown := (await person.get(path, headers=wanted)).text):
                await asyncio.sleep(0.01)
            uses = await rig.claw.store.permission_log(10)
            return begun, asked, shown, uses

    begun, asked, shown, uses = serving.run(work)
    assert begun.status_code == 303
    assert "waits for your answer" in asked
    assert "sun in &lt;b&gt;Bern &lt;script&gt;" in shown
    assert "<script>alert" not in asked + shown
    assert [(each.permission, each.is_granted, each.decided_by) for each in uses] == [("weather.read", True, "user")]


def test_a_plugin_gets_its_forms_without_the_token(serving):
    async def work(rig):
        async with await rig.browser() as person:
            return await send_form(person, "/Weather/notes", text="<script>alert(1)</script>")

    shown = serving.run(work).text
    assert "Kept [&#x27;text&#x27;]" in shown
    assert "<script>alert" not in shown
    assert 'href="/Weather/javascript:alert' in shown


def test_a_schema_becomes_a_form_and_its_texts_become_arguments():
    html = fields_html(SCHEMA, {"city": '"><script>', "unit": "metric", "tags": ["a", "b"]}, "f")
    assert 'value="&quot;&gt;&lt;script&gt;"' in html
    assert "where &lt;b&gt;" in html
    assert '<option value="metric" selected>' in html
    form = {"city": "Bern", "days": "3", "wind": "1.5", "unit": "imperial", "is_long": "false", "tags": "a\r\n\r\nb"}
    form |= {"more": '{"x": 1}', "unknown": "1"}
    assert read_fields(SCHEMA, form) == {
        "city": "Bern",
        "text": "",
        "days": 3,
        "wind": 1.5,
        "unit": "imperial",
        "is_long": False,
        "tags": ["a", "b"],
        "more": {"x": 1},
    }
    with pytest.raises(UsageError, match="days: this is not a whole number"):
        read_fields(SCHEMA, {"days": "three"})
