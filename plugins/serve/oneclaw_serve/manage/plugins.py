"""Plugins and their state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_core.plugins import WebForm, WebPage, WebTable
from oneclaw_serve.pages import SitePage

if TYPE_CHECKING:
    from oneclaw_core.plugins import Plugin, WebRequest
    from oneclaw_serve.application import Site

_SETTING = "disabled_plugins"
_ALWAYS_ON = frozenset({"builtin", "serve"})


async def _list(site: Site, request: WebRequest) -> WebPage:
    settings = site.claw.configuration.settings
    state = await settings.get(_SETTING)
    disabled = [str(each) for each in state.value or ()]
    notice = ""
    if request.method == "POST":
        form = request.form()
        name = form.get("plugin", "")
        if name not in {each.name for each in site.claw.catalog.plugins} - _ALWAYS_ON:
            raise UsageError(f"the plugin {name[:100]!r} cannot be switched here")
        others = [each for each in disabled if each != name]
        disabled = [*others, name] if form.get("switch") == "off" else others
        await settings.set(_SETTING, ", ".join(disabled)) if disabled else await settings.unset(_SETTING)
        notice = f"{name} is {'disabled' if name in disabled else 'enabled'}; all of it is so after a restart."
    rows = tuple(_row(each, disabled) for each in site.claw.catalog.plugins)
    columns = ("plugin", "package", "state", "tools", "groups", "switch")
    problems = tuple(
        (each.name, problem.where, problem.cause, problem.remedy)
        for each in site.claw.catalog.plugins
        for problem in each.problems
    )
    parts: tuple[Any, ...] = (WebTable(columns=columns, rows=rows),)
    if problems:
        head = ("plugin", "where", "what is wrong", "what to do")
        parts = (WebTable(columns=head, rows=problems, title="Problems"), *parts)
    return WebPage(title="Plugins", parts=parts, notice=notice)


def _row(record: Plugin, disabled: list[str]) -> Any:
    is_disabled = record.name in disabled
    package = f"{record.distribution or ''} {record.version or ''}".strip()
    hidden = {"plugin": record.name, "switch": "on" if is_disabled else "off"}
    switch: Any = WebForm(submit="Enable" if is_disabled else "Disable", about=record.name, hidden=hidden)
    if record.name in _ALWAYS_ON:
        switch = ""
    status = "disabled" if is_disabled else str(record.status)
    return record.name, package, status, str(len(record.tools)), ", ".join(record.groups), switch


PAGES = (SitePage("plugins", "Plugins", _list, takes_forms=True),)
