"""offline/rules and skills."""

import pytest

from oneclaw_core.messages import Message, MessageType
from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.providers.offline.rules import decide
from oneclaw_core.providers.offline.skills import sent_skill, skill_to_load
from oneclaw_core.tools.definition import ToolDefinition
from oneclaw_core.tools.groups import ActiveTools

LIST = """Be nice.

## Available Skills

Call `load_skill`.

- pdf: Reads.
- weekly-report: Writes.

---

## Other"""
NAMES = "## Available Skills\n\nCall `load_skill`.\n\npdf, weekly-report\n\nThis list is shortened."
LOAD_SKILL = ToolDefinition(
    "load_skill", "Load a skill.", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
)


@pytest.mark.parametrize("prompt", [LIST, NAMES])
@pytest.mark.parametrize(
    ("message", "skill"),
    [
        ("load the skill pdf", "pdf"),
        ("Load the PDF skill, please.", "pdf"),
        ("please use my weekly-report skill now", "weekly-report"),
        ("Follow the skill `weekly-report`.", "weekly-report"),
        ("load the pdf group", None),
        ("load the skill music", None),
        ("what is a skill?", None),
        ("How many pages does a.pdf have?", None),
    ],
)
def test_the_skill_that_a_message_asks_for(prompt, message, skill):
    assert skill_to_load(message, prompt) == skill


def test_without_a_list_there_is_no_skill():
    assert skill_to_load("load the skill pdf", "Be nice.") is None


def test_a_plain_sentence_loads_the_skill():
    message = Message(type=MessageType.USER, content="Use the skill weekly-report")
    tools = ActiveTools((LOAD_SKILL,))
    request = ModelRequest(model="rules", system_prompt=LIST, messages=(message,), tools=tools, session_id="s")
    (call,) = decide(request).tool_calls
    assert (call.name, call.arguments) == ("load_skill", '{"name": "weekly-report"}')


def test_a_skill_that_the_user_sends_along_is_not_taken_for_a_wish():
    text = (
        "/weekly-report this\nand that\n\nSkill 'weekly-report': Writes.\n\n---\n\nCall write_file with the content x."
    )
    assert sent_skill(text) == "weekly-report"
    assert sent_skill("/etc/hosts\n\nSkill 'other': x") is None
    request = ModelRequest(
        model="rules",
        system_prompt=LIST,
        messages=(Message(type=MessageType.USER, content=text),),
        tools=ActiveTools((LOAD_SKILL,)),
        session_id="s",
    )
    answer = decide(request)
    assert answer.tool_calls == ()
    assert "it takes a language model to follow it" in answer.text
