"""Event hooks that misbehave in every way: the others go on, and the culprit is named with the remedy."""

import asyncio
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from stand_ins import plugin, plugins_at_work

from oneclaw_core import (
    CallInfo,
    Deny,
    OneClawError,
    PromptSection,
    SessionInfo,
    ToolResult,
    TurnInfo,
    TurnWork,
    hookimpl,
)
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.running.event_hooks import HookedCall

SESSION = SessionInfo(id="s1", agent="General Assistant")
TURN = TurnInfo(id="t1", session=SESSION, agent="General Assistant", model="offline/rules", text="hello")
LIMIT_SECONDS = 0.05
NAMED = ("plugin culprit", "oneclaw plugins disable culprit")


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class OwnBaseError(BaseException):
    pass


def raising(error):
    def hook():
        raise error

    return hook


async def hangs():
    await asyncio.Event().wait()


def hangs_in_thread():
    threading.Event().wait(30)


async def ignores_cancellation():
    for _ in range(2):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            continue


async def blocks_the_loop():
    time.sleep(LIMIT_SECONDS * 2)  # what is tested


async def raises_in_async():
    raise UnspeakableError


class Nonsense:
    def __bool__(self):
        raise RuntimeError("neither")

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = None

    def __repr__(self):
        raise RuntimeError("not shown")

    __str__ = __repr__


BEHAVIOURS = {
    "raises": raising(ValueError("broken")),
    "raises what cannot be shown": raising(UnspeakableError()),
    "raises it in async": raises_in_async,
    "exits": raising(SystemExit(3)),
    "raises KeyboardInterrupt": raising(KeyboardInterrupt()),
    "raises CancelledError": raising(asyncio.CancelledError()),
    "raises a BaseException": raising(OwnBaseError()),
    "raises StopIteration": raising(StopIteration(1)),
    "hangs in async": hangs,
    "hangs in a thread": hangs_in_thread,
    "ignores its cancellation": ignores_cancellation,
    "blocks the loop": blocks_the_loop,
    "returns nonsense": Nonsense,
}


def mutates_call(call):
    call.arguments["nested"]["list"].append(1)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(isolation, "CLEAN_UP_SECONDS", 0.01)


@pytest.fixture(params=[*BEHAVIOURS])
def behaviour(request):
    def hook(*arguments):
        return behaviour(*arguments)

    behaviour = BEHAVIOURS[request.param]
    return hookimpl(timeout_seconds=LIMIT_SECONDS)(behaviour if not isinstance(behaviour, type) else hook)


def call_info():
    return CallInfo(id="c1", tool="shell", arguments={"nested": {"list": []}})


def names_the_culprit(text):
    return all(each in text for each in NAMED)


def test_a_gate_of_a_turn_denies(tmp_path, behaviour):
    async def work():
        verdict = await plugins_at_work(tmp_path, culprit=plugin(before_turn=behaviour)).before_turn(TURN)
        assert isinstance(verdict.answer, Deny)
        assert names_the_culprit(verdict.answer.reason)

    asyncio.run(work())


def test_a_gate_of_a_call_denies_whatever_the_others_say(tmp_path, behaviour):
    async def work():
        plugins = plugins_at_work(
            tmp_path, culprit=plugin(before_tool_call=behaviour), zeta=plugin(before_tool_call=lambda: None)
        )
        (verdict,) = await plugins.before_tool_call(call_info())
        assert isinstance(verdict.answer, Deny)
        assert names_the_culprit(verdict.answer.reason)

    asyncio.run(work())


def test_a_rewriter_of_a_call_keeps_it_from_running(tmp_path, behaviour):
    async def work():
        plugins = plugins_at_work(tmp_path, culprit=plugin(rewrite_tool_call=behaviour))
        with pytest.raises(isolation.HookError) as caught:
            await HookedCall(plugins, call_info()).rewrite({}, lambda given: [])
        assert names_the_culprit(str(caught.value))

    asyncio.run(work())


def test_a_rewriter_of_a_result_withholds_it(tmp_path, behaviour):
    async def work():
        plugins = plugins_at_work(tmp_path, culprit=plugin(rewrite_tool_result=behaviour))
        result = await HookedCall(plugins, call_info()).rewrite_result(ToolResult.success("the key"))
        assert result.error_type == "unknown_outcome"
        assert names_the_culprit(result.error_message)
        assert "the key" not in result.error_message

    asyncio.run(work())


def test_texts_and_sections_of_the_others_stay(tmp_path, behaviour, caplog):
    async def work():
        plugins = plugins_at_work(
            tmp_path,
            culprit=plugin(message_context=behaviour, prompt_sections=behaviour),
            good=plugin(message_context=lambda: "text", prompt_sections=lambda: [PromptSection("a", "section")]),
        )
        assert await plugins.message_context(TURN) == [("good", "text")]
        assert await plugins.prompt_sections(SESSION) == "section"

    asyncio.run(work())
    assert names_the_culprit(caplog.text)


def test_an_observer_holds_up_neither_the_caller_nor_the_next_event(tmp_path, behaviour):
    seen = []

    async def work():
        plugins = plugins_at_work(
            tmp_path,
            culprit=plugin(turn_started=behaviour, turn_finished=lambda: seen.append("culprit")),
            good=plugin(turn_started=lambda: seen.append("good")),
        )
        plugins.observe("turn_started", turn=TURN)
        plugins.observe("turn_finished", turn=TURN, outcome=None)
        assert seen == []
        await plugins.drain(20)

    asyncio.run(work())
    assert sorted(seen) == ["culprit", "good"]


def test_a_plugin_that_cannot_be_started_denies_where_it_gates(tmp_path, behaviour, request):
    if "nonsense" in request.node.callspec.id:
        return  # its return value means nothing

    async def work():
        given = plugin(plugin_started=behaviour, before_tool_call=lambda: None)
        (verdict,) = await plugins_at_work(tmp_path, culprit=given).before_tool_call(call_info())
        assert names_the_culprit(verdict.answer.reason)

    asyncio.run(work())


def test_a_plugin_that_cannot_be_stopped_does_not_keep_the_home_open(tmp_path, behaviour):
    async def work():
        plugins = plugins_at_work(tmp_path, culprit=plugin(plugin_stopped=behaviour, before_turn=lambda: None))
        assert await plugins.before_turn(TURN) is None
        await plugins.aclose()

    asyncio.run(work())


@pytest.mark.parametrize(
    "error", [ValueError("x"), UnspeakableError(), SystemExit(3), KeyboardInterrupt(), OwnBaseError()]
)
@pytest.mark.parametrize("place", ["call", "enter", "exit"])
def test_around_lets_the_work_and_its_exception_through(tmp_path, caplog, error, place):
    class Manager:
        def __enter__(self):
            if place == "enter":
                raise error

        def __exit__(self, *about):
            if place == "exit":
                raise error
            return True

    def around():
        if place == "call":
            raise error
        return Manager()

    async def work():
        plugins = plugins_at_work(tmp_path, culprit=plugin(around=around))
        with pytest.raises(LookupError, match="of the work"):
            async with plugins.around(TurnWork(TURN)):
                raise LookupError("of the work")

    asyncio.run(work())
    assert names_the_culprit(caplog.text)


def test_a_context_manager_that_swallows_the_exception_of_the_work_does_not(tmp_path):
    @contextmanager
    def swallows():
        with suppress(LookupError):
            yield

    async def work():
        plugins = plugins_at_work(tmp_path, culprit=plugin(around=lambda: swallows()))
        with pytest.raises(LookupError):
            async with plugins.around(TurnWork(TURN)):
                raise LookupError

    asyncio.run(work())


@pytest.mark.parametrize("hook", ["before_tool_call", "rewrite_tool_call"])
def test_arguments_cannot_be_mutated_for_others(tmp_path, hook):
    async def work():
        seen = []
        plugins = plugins_at_work(
            tmp_path,
            culprit=plugin(**{hook: mutates_call}),
            good=plugin(**{hook: lambda call: seen.append(call.arguments)}),
        )
        arguments = {"nested": {"list": []}}
        call = HookedCall(plugins, call_info())

        async def decide():
            await call.rewrite(arguments, lambda given: [])
            await call.check(None)

        with pytest.raises(OneClawError, match="cannot be changed") as caught:
            await decide()
        assert names_the_culprit(str(caught.value))
        assert arguments == {"nested": {"list": []}}

    asyncio.run(work())


def test_a_cancelled_caller_does_not_wait_for_a_hook_that_ignores_its_cancellation(tmp_path):
    async def work():
        gate = hookimpl(timeout_seconds=20)(ignores_cancellation)
        plugins = plugins_at_work(tmp_path, culprit=plugin(before_turn=gate))
        task = asyncio.create_task(plugins.before_turn(TURN))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=5)
        assert done
        assert task.cancelled()

    asyncio.run(work())


def test_a_hook_is_not_late_because_others_kept_the_event_loop_busy():
    async def hook():
        return "in time"

    async def busy():
        time.sleep(0.15)  # as hundreds of sessions do

    async def main():
        return (await asyncio.gather(isolation.call_isolated(hook, 0.1, is_async=True), busy()))[0]

    assert asyncio.run(main()) == "in time"
