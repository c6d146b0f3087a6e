"""The page that shows and changes what is remembered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from oneclaw_core.plugins import WebForm, WebPage, WebTable, WebText
from oneclaw_memory.document import NOTES, SECTIONS, sections
from oneclaw_memory.home_memory import memory_of

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import WebRequest
    from oneclaw_memory.file import MemoryFile

_NEW = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"title": "What to remember", "type": "string"},
        "section": {"title": "Section", "enum": list(SECTIONS), "default": NOTES},
    },
}


async def show_page(context: PluginContext, request: WebRequest) -> WebPage:
    """Show the memory; remember or forget what a form says.

    Args:
        context: of the plugin.
        request: for the page.
    """
    form = request.form() if request.method == "POST" else None
    return await asyncio.to_thread(_page, memory_of(context), form)


def _page(file: MemoryFile, form: dict[str, str] | None) -> WebPage:
    notice = ""
    if form is not None and "forget" in form:
        file.change("", replaces=form["forget"])
        notice = "Forgotten."
    elif form is not None:
        file.change(form.get("text", ""), form.get("section") or NOTES)
        notice = "Remembered."
    tables = [
        WebTable(
            columns=("entry", "change"),
            rows=tuple(
                (entry, WebForm(submit="Forget", about=entry, hidden={"forget": entry})) for entry in each.entries
            ),
            title=each.heading,
        )
        for each in sections(file.read())
        if each.entries
    ]
    empty = () if tables else (WebText(text="Nothing is remembered yet."),)
    about = WebText(text="Models are shown this in new sessions, and add to it with the tool save_memory.")
    return WebPage(
        title="Memory",
        parts=(about, *empty, *tables, WebForm(submit="Remember", title="Remember something", fields=_NEW)),
        notice=notice,
    )
