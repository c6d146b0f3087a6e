"""The settings of OneClaw and of each plugin, as forms made from their models. Secrets are not among them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from oneclaw_core import NotFoundError
from oneclaw_core.plugins import WebForm, WebLink, WebPage, WebTable, WebText
from oneclaw_serve.pages import SitePage

if TYPE_CHECKING:
    from oneclaw_core import SettingState
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site

_CORE = "oneclaw"


async def _list(site: Site, request: WebRequest) -> WebPage:
    found: dict[str, list[SettingState]] = {}
    for each in await site.claw.configuration.settings.list():
        found.setdefault(each.plugin or _CORE, []).append(each)
    rows: tuple[Any, ...] = tuple(
        (
            WebLink("OneClaw" if owner == _CORE else owner, f"settings/{quote(owner, safe='')}"),
            str(len(states)),
            ", ".join(each.key for each in states if each.source != "default"),
            "; ".join(each.problem for each in states if each.problem),
        )
        for owner, states in found.items()
    )
    return WebPage(title="Settings", parts=(WebTable(columns=("of", "settings", "set", "problems"), rows=rows),))


async def _edit(site: Site, request: WebRequest) -> WebPage:
    owner = request.path_parameters["owner"]
    settings = site.claw.configuration.settings
    states = [each for each in await settings.list() if (each.plugin or _CORE) == owner]
    if not states:
        raise NotFoundError(f"there are no settings of {owner[:100]!r}")
    notice = ""
    if request.method == "POST":
        changed = await _change(site, states, request.form())
        notice = f"Saved: {', '.join(changed)}." if changed else "Nothing has changed."
        states = [each for each in await settings.list() if (each.plugin or _CORE) == owner]
    free = [each for each in states if not each.source.startswith("environment")]
    fixed = tuple((each.key, str(each.value), each.source) for each in states if each not in free)
    fields = {"type": "object", "properties": {each.key: _field(site, each) for each in free}}
    values = {each.key: _text(each.value) for each in free if each.source == "stored"}
    parts: list[Any] = [
        WebText(text="An empty field means the default."),
        *(WebText(text=each.problem) for each in states if each.problem),
        WebForm(submit="Save", fields=fields, values=values),
    ]
    if fixed:
        head = ("setting", "value", "from")
        parts.append(WebTable(columns=head, rows=fixed, title="Set by the environment, which takes precedence"))
    title = "OneClaw" if owner == _CORE else owner
    return WebPage(title=f"Settings of {title}", parts=tuple(parts), notice=notice)


async def _change(site: Site, states: list[SettingState], form: dict[str, str]) -> list[str]:
    """Store what differs; all of it is checked before."""
    settings = site.claw.configuration.settings
    given = {each.key: form[each.key].strip() for each in states if each.key in form}
    before = {each.key: _text(each.value) if each.source == "stored" else "" for each in states}
    changed = [key for key, text in given.items() if text != before[key].strip()]
    for key in changed:
        if given[key]:
            settings.check(key, given[key])
    for key in changed:
        await settings.set(key, given[key]) if given[key] else await settings.unset(key)
    return changed


def _field(site: Site, state: SettingState) -> dict[str, Any]:
    """Return a schema for a field whose texts are as ``oneclaw config set`` takes them."""
    field, _ = site.claw.configuration.settings.find(state.key)
    schema = dict(field.schema)
    choices: dict[str, Any] = next(
        (each for each in (schema, *schema.get("anyOf", ())) if "enum" in each or each.get("type") == "boolean"), {}
    )
    default = _text(state.default)
    common = {"description": state.description, "default": default}
    if choices.get("type") == "boolean":
        return {**common, "enum": ["true", "false"]}
    if "enum" in choices:
        return {**common, "enum": [str(each) for each in choices["enum"]]}
    return {**common, "type": "string"}


def _text(value: Any) -> str:
    """Return a value as ``oneclaw config set`` takes it."""
    if value is None or value in ([], {}, ()):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(each, str) and "," not in each for each in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


PAGES = (SitePage("settings", "Settings", _list), SitePage("settings/{owner}", "", _edit, takes_forms=True))
