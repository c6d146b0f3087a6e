"""Requests of chat clients to ``/v1``, and whether the second one continues the session of the first."""

import asyncio
import json

import pytest
from field_corpus import observations
from how_long import some
from web_site import web_site

pytestmark = pytest.mark.one_python


@pytest.fixture
def sessions_of(oneclaw_factory):
    """Send two requests to a server; return the session of each."""
    home = oneclaw_factory(["serve"], environ={"ONECLAW_MODEL": "scripted/model"})

    def sessions_of(document, answer):
        async def scene():
            home.model.says(answer).says("Yes.")
            async with home.opened() as claw, asyncio.timeout(60), web_site(claw) as rig, await rig.program() as client:
                found = []
                for messages in (document["first"], document["again"]):
                    body = {"model": "General Assistant", "messages": messages, **document.get("more", {})}
                    response = await client.post("/v1/chat/completions", json=body)
                    assert response.status_code == 200, response.text
                    found.append(response.headers["x-oneclaw-session"])
                return found

        return asyncio.run(scene())

    return sessions_of


@pytest.mark.parametrize("observed", some(observations("conversation"), 2))
def test_a_conversation_of_the_field(observed, sessions_of):
    first, again = sessions_of(json.loads(observed.content), observed.right["answer"])

    assert (first == again) is observed.right["is_same_session"]
