"""The questions of a call carry its id, so that a program can tell two equal calls apart."""

from stage import ScriptedModel, Stage, calls, of, says

from oneclaw_core import PermissionAnswer, ToolCallEvent, ToolContext, tool


@tool(required_permissions=["lamps.switch"])
async def switch_lamp(context: ToolContext) -> str:
    """Switch the lamp."""
    return str(await context.ask_user("Which lamp?", ["left", "right"]))


def test_questions_of_equal_calls_differ_by_the_ids_of_their_events(tmp_path):
    stage, asked, questions = Stage(tmp_path), [], []

    async def ask(request):
        asked.append(request)
        return PermissionAnswer.ONCE

    async def ask_user(question):
        questions.append(question)
        return "left"

    model = ScriptedModel(calls(("switch_lamp", {}), ("switch_lamp", {})), says("done"))
    events, _ = stage.played(model, tools=[switch_lamp], ask=ask, ask_user=ask_user)
    ids = [event.id for event in of(ToolCallEvent, events)]
    assert len(set(ids)) == 2
    assert sorted(each.call_id for each in asked) == sorted(each.call_id for each in questions) == sorted(ids)
