"""The pages of the skills in ``oneclaw serve``."""

from __future__ import annotations

import asyncio

import pytest
from oneclaw_skills.page import show_list, show_skill

from oneclaw_core import NotFoundError
from oneclaw_core.plugins import WebRequest


def test_pages_list_skills_and_show_one(oneclaw_factory):
    async def work():
        async with oneclaw_factory(["skills"]).opened() as claw:
            context = await claw.plugins.context_of("skills")
            listed = await show_list(context, WebRequest())
            shown = await show_skill(context, WebRequest(path_parameters={"name": "create-skill"}))
            with pytest.raises(NotFoundError, match="no skill 'nothing'"):
                await show_skill(context, WebRequest(path_parameters={"name": "nothing"}))
            return listed, shown

    listed, shown = asyncio.run(work())
    links = {row[0].text: row[0].path for row in listed.parts[0].rows}
    assert links["create-skill"] == "show/create-skill"
    assert shown.parts[-1].kind == "markdown"
