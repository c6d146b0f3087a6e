"""Programs that embed OneClaw: models, agents, system prompts and dependencies as objects, for one turn."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager

import pytest
from pydantic import BaseModel
from pytest_oneclaw import TurnRecord

from oneclaw_core import (
    Agent,
    AgentLimits,
    NotFoundError,
    OneClaw,
    ProviderError,
    ToolCall,
    ToolContext,
    ToolSelection,
    TurnFinishedEvent,
    TurnLimitError,
    UsageError,
    UsageEvent,
    ask,
    tool,
)
from oneclaw_core.providers import ModelInfo, ModelResponse, ProviderModel
from oneclaw_core.testing import FunctionModel, ScriptedModel

BARE = ["builtin", "offline"]


@tool
def whose_orders(context: ToolContext) -> str:
    """Say whose orders these are."""
    return context.deps["customer"]


@tool
async def ask_clerk(question: str, context: ToolContext) -> str:
    """Ask the clerk.

    Args:
        question: in words.
    """
    return (await TurnRecord.collect(context.send_message(question))).text


@asynccontextmanager
async def opened(home, **options):
    async with OneClaw.open(home, plugins=BARE, environ={}, **options) as claw:
        claw.add_tools(whose_orders, ask_clerk)
        yield claw


async def sent(claw, text, **options):
    return await TurnRecord.collect(claw.send_message(text, **options))


def in_home(home, work, **options):
    async def main():
        async with opened(home, **options) as claw:
            return await work(claw)

    return asyncio.run(main())


def test_a_scripted_model_answers_a_program_and_is_not_stored(tmp_path):
    model = ScriptedModel().calls("whose_orders").then("Ada's.")

    async def work(claw):
        turn = await sent(claw, "Whose?", model=model, session="orders")
        assert turn.text == "Ada's."
        assert [each.model for each in turn.events if isinstance(each, UsageEvent)] == ["scripted/model"] * 2
        assert {each.cost for each in turn.events if isinstance(each, UsageEvent)} == {0.0}
        stored = await claw.store.settings()
        assert not [key for key in stored if key.startswith(("provider:", "model", "learned:"))]
        assert [each.name for each in await claw.agents.list()] == ["General Assistant"]
        session = await claw.store.find_session("orders")
        history = await claw.services.sessions.messages(session.id)
        assert history[-1].model == "scripted/model"

    in_home(tmp_path, work, deps={"customer": "Ada"})


def test_a_function_answers_what_it_is_asked(tmp_path):
    async def slowly(request):
        await asyncio.sleep(0)
        return ModelResponse(text=f"slowly: {request.messages[-1].content}")

    async def work(claw):
        model = FunctionModel(lambda request: f"{len(request.tools.names)} tools, {request.messages[-1].content}")
        assert (await sent(claw, "hello", model=model)).text.endswith("tools, hello")
        assert "whose_orders" in model.requests[0].tools.names
        assert (await sent(claw, "hello", model=FunctionModel(slowly, name="slow"))).text == "slowly: hello"

    in_home(tmp_path, work)


def test_what_a_function_raises_ends_the_turn_and_keeps_the_session(tmp_path):
    def fails(request):
        raise ProviderError("the function has no answer")

    async def work(claw):
        with pytest.raises(ProviderError, match="no answer"):
            await sent(claw, "hello", model=FunctionModel(fails), session="one")
        turn = await sent(claw, "again", model=ScriptedModel().says("Here."), session="one")
        assert turn.text == "Here."

    in_home(tmp_path, work)


def test_an_agent_and_a_system_prompt_are_for_one_turn(tmp_path):
    clerk = Agent(
        "Clerk",
        "",
        "You keep the orders.",
        parameters={"temperature": 0.3},
        limits=AgentLimits(max_tool_rounds=1),
        selection=ToolSelection.naming(tools=["whose_orders"]),
    )

    async def work(claw):
        model = ScriptedModel().says("One.").says("Two.").says("Three.")
        await sent(claw, "one", model=model, agent=clerk, session="shop")
        await sent(claw, "two", model=model, system_prompt="You speak French.", session="shop")
        await sent(claw, "three", model=model, session="shop")
        first, second, third = model.requests
        assert first.system_prompt.startswith("You keep the orders.")
        assert first.parameters == {"temperature": 0.3}
        assert "ask_clerk" not in first.tools.names
        assert "ask_clerk" in second.tools.names
        assert second.system_prompt.startswith("You speak French.")
        assert third.system_prompt.startswith("You are a helpful assistant")
        with pytest.raises(TurnLimitError):
            await sent(claw, "x", model=ScriptedModel().calls("whose_orders").says("never"), agent=clerk)
        assert [each.name for each in await claw.agents.list()] == ["General Assistant"]

    in_home(tmp_path, work)


def test_tools_get_the_dependencies_of_their_turn(tmp_path):
    async def work(claw):
        async def customer_of(**options):
            model = ScriptedModel().calls("whose_orders").says("Done.")
            return (await sent(claw, "Whose?", model=model, **options)).tool_calls[0].result.result

        found = await asyncio.gather(*(customer_of(deps={"customer": name}) for name in ("Bo", "Cy")), customer_of())
        assert found == ["Bo", "Cy", "Ada"]

    in_home(tmp_path, work, deps={"customer": "Ada"})


def test_a_turn_within_a_turn_has_its_model_and_dependencies(tmp_path):
    def answer(request):
        last = request.messages[-1]
        if last.content == "Whose?":
            return ModelResponse(tool_calls=(_call("whose_orders", "{}"),))
        if last.content == "Ask the clerk":
            return ModelResponse(tool_calls=(_call("ask_clerk", '{"question": "Whose?"}'),))
        return last.content

    async def work(claw):
        turn = await sent(claw, "Ask the clerk", model=FunctionModel(answer), deps={"customer": "Bo"})
        assert turn.text == "Bo"

    in_home(tmp_path, work)


def _call(name, arguments):
    return ToolCall(f"call_{name}", name, arguments)


def test_a_session_goes_on_without_the_object_by_another_model(tmp_path):
    async def begin(claw):
        await sent(claw, "hello", model=ScriptedModel().says("Hello."), session="named")
        turn = await sent(claw, "hello", model=ScriptedModel().says("Hello."))
        return next(each.session for each in turn.events if isinstance(each, TurnFinishedEvent))

    unnamed = in_home(tmp_path, begin)

    async def later(claw):
        for session in ("named", unnamed):
            with pytest.raises(NotFoundError, match="scripted/model, a model that its program gave as an object"):
                await sent(claw, "and now", session=session)
            shown = (await claw.store.find_session(session)).model
            with pytest.raises(NotFoundError, match="scripted/model, a model that its program gave as an object"):
                await sent(claw, "and now", session=session, model=shown)
            assert (await sent(claw, "now", session=session, model="offline/rules")).text
            assert (await sent(claw, "now", session=session, model=ScriptedModel().says("Back."))).text == "Back."
        await claw.store.set_setting("model", "offline/rules")
        assert (await sent(claw, "now", session="named")).text

    in_home(tmp_path, later)


def test_a_session_of_an_agent_object_goes_on_with_the_general_assistant(tmp_path):
    async def work(claw):
        await sent(claw, "a", model=ScriptedModel().says("A."), agent=Agent("Clerk", "", "You count."), session="s")
        model = ScriptedModel().says("B.")
        await sent(claw, "b", model=model, session="s")
        assert model.requests[0].system_prompt.startswith("You are a helpful assistant")
        assert [each.content for each in model.requests[0].messages] == ["a", "A.", "b"]

    in_home(tmp_path, work)


def test_a_turn_can_be_resumed_with_the_object(tmp_path):
    async def work(claw):
        with pytest.raises(ProviderError):
            await sent(claw, "a", model=ScriptedModel().fails(ProviderError("gone")), session="s")
        record = await TurnRecord.collect(claw.resume("s", model=ScriptedModel().says("Here.")))
        assert record.text == "Here."

    in_home(tmp_path, work)


def test_a_model_of_a_provider_says_what_it_reads(tmp_path):
    async def work(claw):
        provider = FunctionModel(lambda request: f"asked {request.model}")
        model = ProviderModel(provider, "small", ModelInfo(name="small", context_window=9_000))
        assert (await sent(claw, "a", model=model, session="s")).text == "asked small"
        status = await claw.session_status("s", model=model)
        assert (status.model, status.context_window) == ("function/small", 9_000)

    in_home(tmp_path, work)


def test_a_model_object_learns_nothing_that_is_stored(tmp_path):
    def refuses(request):
        if "temperature" in request.parameters:
            error = ProviderError("no temperature")
            error.refused_parts = ("parameter:temperature",)
            raise error
        return "Without."

    async def work(claw):
        turn = await sent(claw, "a", model=FunctionModel(refuses), parameters={"temperature": 0.5})
        assert turn.text == "Without."
        assert not [key for key in await claw.store.settings() if key.startswith("learned:")]

    in_home(tmp_path, work)


@pytest.mark.parametrize("wrong", [{"model": object()}, {"agent": 3}, {"system_prompt": 3}])
def test_other_objects_are_refused(tmp_path, wrong):
    async def work(claw):
        with pytest.raises(UsageError, match=f"{next(iter(wrong))} must be"):
            await sent(claw, "a", **wrong)

    in_home(tmp_path, work)


def test_ask_takes_objects(tmp_path):
    answer = ask(
        "Whose?",
        home=tmp_path,
        plugins=BARE,
        model=FunctionModel(lambda request: request.system_prompt[:9]),
        system_prompt="You count.",
    )
    assert answer == "You count"
    with sqlite3.connect(next(tmp_path.glob("*.db"))) as database:
        assert not database.execute("SELECT * FROM settings").fetchall()


def test_a_program_asks_for_an_answer_or_an_output(tmp_path):
    class Orders(BaseModel):
        items: list[str]

    async def work(claw):
        assert await claw.ask("Whose?", model=ScriptedModel().calls("whose_orders").then("Ada's.")) == "Ada's."
        model = ScriptedModel().calls("final_result", items=["tea"])
        assert await claw.ask("Which?", model=model, output=Orders) == Orders(items=["tea"])

    in_home(tmp_path, work, deps={"customer": "Ada"})
