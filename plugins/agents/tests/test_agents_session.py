"""Questions to the user and the to-do list, as a model uses them."""

import asyncio

import pytest
from pytest_oneclaw import assert_tool_error, assert_tool_succeeded

from oneclaw_core import ToolContext, tool


@pytest.fixture
def oneclaw_plugins():
    return ["agents"]


def test_the_user_chooses_by_number_or_answers_in_other_words(oneclaw):
    oneclaw.user.replies("2", "postgres", "neither: use a file")
    asked = {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}

    answers = [assert_tool_succeeded(oneclaw.call_tool("ask_user", asked)) for _ in range(3)]

    assert answers == ["PostgreSQL", "postgres", "neither: use a file"]
    assert oneclaw.user.questions[0].to_dict() == {
        **{"question": "Which database?", "choices": ["SQLite", "PostgreSQL"], "allows_text": True},
        **{"tool": "ask_user", "agent": "General Assistant", "sub_agent": None},
    }


def test_without_a_person_the_model_is_told_to_decide_or_stop(oneclaw):
    result = oneclaw.call_tool("ask_user", question="Which one?")
    assert_tool_error(result, "not_available")
    assert "Decide it yourself and say how you decided, or stop" in result.error_message

    oneclaw.user.replies(None)
    assert_tool_error(oneclaw.call_tool("ask_user", question="Which one?"), "no_answer")
    oneclaw.user.replies("3")
    arguments = {"question": "Which one?", "choices": ["a", "b"], "only_choices": True}
    assert_tool_error(oneclaw.call_tool("ask_user", arguments), "no_answer")
    assert_tool_error(oneclaw.call_tool("ask_user", question="   "), "validation_error")


def test_a_question_times_out(oneclaw, monkeypatch):
    async def never(question):
        await asyncio.Event().wait()

    @tool
    async def ask_briefly(context: ToolContext) -> str:
        """Ask, and wait for a moment."""
        with pytest.raises(TimeoutError):
            await context.ask_user("Now?", timeout_seconds=0.01)
        return "too late"

    monkeypatch.setattr(oneclaw.user, "reply", never)
    assert assert_tool_succeeded(oneclaw.call_tool(ask_briefly)) == "too late"


@pytest.mark.long
def test_urls_in_the_users_own_words_may_be_followed_those_of_a_choice_not(oneclaw):
    typed, chosen = "https://typed.example/a", "https://chosen.example/b"
    oneclaw.user.replies(f"read {typed}", "1")
    oneclaw.model.calls("load_tool_group", group_name="session").calls("ask_user", question="What shall I read?")
    oneclaw.model.calls("ask_user", question="And this?", choices=[chosen]).then("Thank you.")

    oneclaw.send("Ask me.")

    async def links():
        session = await oneclaw.app.store.find_session("test")
        return " ".join(content for _, content, _ in await oneclaw.app.store.link_sources(session.id, 0))

    known = oneclaw.run(links())
    assert typed in known
    assert chosen not in known


def test_the_todo_list_is_replaced_shown_and_kept(oneclaw):
    todos = [{"content": "find the bug", "status": "completed"}, {"content": "fix it", "status": "in_progress"}]
    oneclaw.model.calls("load_tool_group", group_name="session").calls("update_todos", todos=todos).then("On it.")
    record = oneclaw.send("Fix the bug.")

    call = record.tool_calls[-1]
    assert call.result.result == "The list is kept: 1 of 2 done."
    assert call.result.shown == "[x] find the bug\n[>] fix it"

    oneclaw.reopen()
    oneclaw.model.calls("update_todos").calls("update_todos", todos=[]).then("Done.")
    read, emptied = oneclaw.send("Go on.").tool_calls
    assert read.result.result == "[x] find the bug\n[>] fix it"
    assert emptied.result.shown == "The to-do list is empty."
    assert_tool_error(oneclaw.call_tool("update_todos", todos=todos), "not_available")


def test_each_turn_can_have_a_person_of_its_own(oneclaw):
    async def other(question):
        return f"the other says: {question.question}"

    oneclaw.model.calls("load_tool_group", group_name="session").calls("ask_user", question="Who?").then("Good.")
    record = oneclaw.send("Ask.", ask_user=other)
    assert record.tool_calls[-1].result.result == "the other says: Who?"
    assert oneclaw.user.questions == []


def test_what_it_registers(definitions_snapshot):
    definitions_snapshot()
