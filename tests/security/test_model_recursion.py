"""The model as the attacker: calls without end, and turns within turns."""

import json

import pytest

from oneclaw_core import ToolCall, ToolContext, hookimpl, tool
from oneclaw_core.errors import OneClawError
from oneclaw_core.tools.context import MAX_TURN_DEPTH
from oneclaw_core.types.model_requests import ModelResponse


def always(name, arguments):
    """A model that answers every request with the same call, each time with other arguments and another id."""
    asked = []

    def answer(request):
        asked.append(request)
        assert len(asked) < 5_000, "nothing stopped it"
        return ModelResponse(tool_calls=(ToolCall(f"call_{len(asked)}", name, json.dumps(arguments(len(asked)))),))

    return answer, asked


def endless(model, name, arguments, times=5_000):
    answer, asked = always(name, arguments)
    for _ in range(times):
        model.then(answer)
    return asked


def run_to_its_end(oneclaw, text="Go", **options):
    """Play a turn; what of the script is left is of no interest."""
    try:
        return oneclaw.send(text, **options)
    except OneClawError as error:
        return error
    finally:
        oneclaw.model._used = len(oneclaw.model._script)


@pytest.mark.long
def test_agents_that_make_agents_come_to_an_end(oneclaw_factory):
    oneclaw = oneclaw_factory(())
    asked = endless(
        oneclaw.model,
        "create_agent",
        lambda number: {"name": f"agent{number}", "system_prompt": "Go on.", "task": "Make another agent."},
    )
    oneclaw.run(oneclaw.app.store.set_setting("turn_max_tool_rounds", 30))

    run_to_its_end(oneclaw)

    # Rounds count for the whole tree of turns, not for each of them.
    assert len(asked) <= 40
    agents = oneclaw.run(oneclaw.app.agents.list())
    assert len(agents) <= 45


@tool
async def ask_again(number: int, context: ToolContext) -> str:
    """Send a message from within a call."""
    texts = []
    async for event in context.send_message(f"message {number}"):
        texts.append(type(event).__name__)
    return " ".join(texts[-1:])


class Recursive:
    @hookimpl
    def register_tools(self, register):
        register(ask_again)


@pytest.mark.long
def test_a_tool_that_sends_messages_is_stopped_at_a_depth(oneclaw_factory):
    oneclaw = oneclaw_factory([Recursive(), "agents"])
    asked = endless(oneclaw.model, "ask_again", lambda number: {"number": number})
    oneclaw.run(oneclaw.app.store.set_setting("turn_max_tool_rounds", 40))

    run_to_its_end(oneclaw)

    assert MAX_TURN_DEPTH < len(asked) <= 50


@pytest.mark.long
def test_a_call_that_fails_over_and_over_is_not_run_without_end(oneclaw_factory):
    ran = []

    @tool
    def always_failing(text: str) -> str:
        """Fail."""
        ran.append(text)
        raise ValueError("no")

    class Failing:
        @hookimpl
        def register_tools(self, register):
            register(always_failing)

    oneclaw = oneclaw_factory([Failing(), "agents"])
    for _ in range(19):
        oneclaw.model.calls("always_failing", text="same")
    oneclaw.model.says("I give up.")
    assert oneclaw.send("Go").text == "I give up."
    assert len(ran) == 19
    assert oneclaw.model.requests[-1].tools.names == set()


@pytest.mark.long
@pytest.mark.one_python
def test_a_thousand_calls_at_once_are_all_answered(oneclaw_factory):
    oneclaw = oneclaw_factory(())
    calls = tuple(ToolCall(f"call_{number}", "get_current_time", "{}") for number in range(1_000))
    oneclaw.model.then(lambda _: ModelResponse(tool_calls=calls)).then("Done.")
    assert len(oneclaw.send("Go").tool_calls) == 1_000


def test_calls_with_one_id_are_each_answered_once(oneclaw_factory):
    oneclaw = oneclaw_factory(())
    calls = tuple(ToolCall("same", "get_current_time", "{}") for _ in range(5))
    oneclaw.model.then(lambda _: ModelResponse(tool_calls=calls)).then("Done.")
    assert len(oneclaw.send("Go").tool_calls) == 5
