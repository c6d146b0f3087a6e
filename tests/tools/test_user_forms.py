"""Forms that a tool shows the user."""

import json

import pytest

from oneclaw_core import NobodyToAskError, ToolClient, ToolContext, tool

FORM = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}


@tool
async def introduce(context: ToolContext) -> str:
    """Ask who the user is."""
    try:
        return json.dumps(await context.ask_form("Who are you?", FORM, name="person"))
    except NobodyToAskError:
        return str(await context.ask_user("What is your name?"))


ANSWERS = pytest.mark.parametrize(
    ("shows_forms", "answer", "result"),
    [
        (True, '{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 36}'),
        (True, '{"age": 36}', "null"),
        (True, None, "null"),
        (False, "Ada", "Ada"),
    ],
)


@ANSWERS
def test_values_fit_the_form_or_are_none(oneclaw_factory, shows_forms, answer, result):
    asked = []

    async def ask_user(question):
        asked.append(question)
        return answer

    oneclaw = oneclaw_factory([])
    oneclaw.app.add_tools(introduce)
    client = ToolClient("test", ask_user=ask_user, shows_forms=shows_forms)
    outcome = oneclaw.run(oneclaw.app.call_tool("introduce", client=client))
    assert outcome.result.result == result
    (question,) = asked
    assert (question.form, question.form_name) == ((FORM, "person") if shows_forms else (None, "answer"))
