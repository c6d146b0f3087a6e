"""The page of the memory in ``oneclaw serve``."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

from oneclaw_memory.page import show_page

from oneclaw_core.plugins import WebRequest, WebTable


def test_the_page_remembers_and_forgets(oneclaw_factory):
    async def work():
        async with oneclaw_factory(["memory"]).opened() as claw:
            context = await claw.plugins.context_of("memory")
            shown = [await show_page(context, WebRequest())]
            for form in ({"text": "Anna lives in Bern", "section": "profile"}, {"forget": "Anna lives in Bern"}):
                shown.append(await show_page(context, WebRequest(method="POST", body=urlencode(form).encode())))
            return shown

    empty, remembered, forgotten = asyncio.run(work())
    tables = [[each for each in page.parts if isinstance(each, WebTable)] for page in (empty, remembered, forgotten)]
    assert [len(each) for each in tables] == [0, 1, 0]
    assert (tables[1][0].title, tables[1][0].rows[0][0]) == ("User Profile", "Anna lives in Bern")
    assert (remembered.notice, forgotten.notice) == ("Remembered.", "Forgotten.")
