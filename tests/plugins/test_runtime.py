"""Calling event hooks: order, arguments, verdicts, time limits, start and stop of plugins."""

import asyncio
import itertools
import threading

import pytest
from stand_ins import plugin, plugins_at_work

from oneclaw_core import (
    Ask,
    CallInfo,
    CommandUse,
    Deny,
    ExpandedMessage,
    MessageCommand,
    NotReadyError,
    PluginError,
    PromptSection,
    SessionInfo,
    ToolSelection,
    TurnInfo,
    TurnWork,
    UsageError,
    hookimpl,
)
from oneclaw_core.plugins import ChatNotice
from oneclaw_core.plugins.plugin import Plugin
from oneclaw_core.plugins.running import running_plugin, runtime
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts

CALL = CallInfo(id="call_1", tool="shell", arguments={"command": "ls"}, group="files")
SESSION = SessionInfo(id="s1", agent="General Assistant")
TURN = TurnInfo(id="t1", session=SESSION, agent="General Assistant", model="offline/rules", text="hello")


def test_no_plugin_means_no_hooks(tmp_path):
    async def work():
        plugins = plugins_at_work(tmp_path)
        assert plugins.hooks == frozenset()
        assert await plugins.before_tool_call(CALL) == []

    asyncio.run(work())


def test_gates_run_in_order_of_marks_then_names(tmp_path):
    seen = []

    def gate(name, **marks):
        async def before_tool_call():
            seen.append(name)

        return plugin(before_tool_call=hookimpl(**marks)(before_tool_call))

    async def work():
        plugins = plugins_at_work(
            tmp_path,
            {"order": ["zeta"]},
            late=gate("late", trylast=True),
            beta=gate("beta"),
            zeta=gate("zeta"),
            alpha=gate("alpha"),
            omega=gate("omega", tryfirst=True),
        )
        await plugins.before_tool_call(CALL)

    asyncio.run(work())
    assert seen == ["zeta", "omega", "alpha", "beta", "late"]


def test_a_hook_gets_only_the_arguments_that_it_names(tmp_path):
    seen = []

    def before_tool_call(call, later=None):
        seen.append((call.tool, later))

    async def work():
        await plugins_at_work(tmp_path, gate=plugin(before_tool_call=before_tool_call)).before_tool_call(CALL)

    asyncio.run(work())
    assert seen == [("shell", None)]


def test_a_deny_goes_before_an_ask_that_came_first(tmp_path):
    async def ask():
        return Ask("shell.execute", "run ls")

    async def deny():
        return Deny("not today")

    async def work():
        first = plugin(before_tool_call=ask)
        both = plugins_at_work(tmp_path, a=first, b=plugin(before_tool_call=deny))
        (verdict,) = await both.before_tool_call(CALL)
        assert verdict.answer == Deny("The plugin b refuses this: not today")
        one = plugins_at_work(tmp_path, a=first, b=plugin(before_tool_call=lambda: None))
        assert await one.before_tool_call(CALL) == [("a", Ask("shell.execute", "run ls"))]

    asyncio.run(work())


def test_a_gate_for_some_tools_is_not_called_for_others(tmp_path):
    def deny():
        return Deny("no")

    async def work():
        for tools, is_called in (({"shell"}, True), ({"files"}, True), ({"read_file"}, False)):
            gate = plugin(before_tool_call=hookimpl(tools=tools)(deny))
            verdicts = await plugins_at_work(tmp_path, gate=gate).before_tool_call(CALL)
            assert bool(verdicts) is is_called

    asyncio.run(work())


@pytest.mark.parametrize("value", [True, "no", PromptSection("a", "b"), Exception("no")])
def test_an_unknown_verdict_denies_and_names_the_plugin(tmp_path, value):
    async def work():
        policy = plugin(before_tool_call=lambda: value)
        (verdict,) = await plugins_at_work(tmp_path, policy=policy).before_tool_call(CALL)
        assert isinstance(verdict.answer, Deny)
        assert "plugin policy" in verdict.answer.reason
        assert "oneclaw plugins disable policy" in verdict.answer.reason

    asyncio.run(work())


def test_a_plugin_is_started_once_at_its_first_need(tmp_path):
    events = []

    async def plugin_started(context):
        events.append(f"start {context.name}")

    async def plugin_stopped(context):
        events.append(f"stop {context.name}")

    async def work():
        given = plugin(
            plugin_started=plugin_started, plugin_stopped=plugin_stopped, before_tool_call=lambda: events.append("gate")
        )
        plugins = plugins_at_work(tmp_path, policy=given)
        assert events == []
        await asyncio.gather(*(plugins.before_tool_call(CALL) for _ in range(3)))
        await plugins.aclose()

    asyncio.run(work())
    assert events == ["start policy", "gate", "gate", "gate", "stop policy"]


def test_a_plugin_that_is_not_needed_is_neither_started_nor_stopped(tmp_path):
    events = []

    async def work():
        given = plugin(
            plugin_started=lambda: events.append("start"),
            plugin_stopped=lambda: events.append("stop"),
            before_tool_call=lambda: None,
        )
        await plugins_at_work(tmp_path, policy=given).aclose()

    asyncio.run(work())
    assert events == []


def test_a_background_task_that_exits_ends_nothing_else(tmp_path, caplog):
    async def leave():
        raise SystemExit(3)

    async def work():
        plugins = plugins_at_work(tmp_path, poller=plugin(before_turn=lambda: None))
        context = await plugins.context_of("poller")
        await asyncio.wait({context.start_task(leave())})
        return "went on"

    assert asyncio.run(work()) == "went on"
    assert "plugin poller: a task raised SystemExit: 3" in caplog.text


def test_the_sync_client_refuses_to_wait_on_the_event_loop(tmp_path):
    async def work():
        plugins = plugins_at_work(tmp_path, weather=plugin(before_turn=lambda: None))
        context = await plugins.context_of("weather")
        with pytest.raises(UsageError, match="use http there"):
            context.sync_http.get("http://127.0.0.1:1/")
        await plugins.aclose()

    asyncio.run(work())


def test_a_plugin_that_is_not_ready_is_started_again_later(tmp_path, monkeypatch):
    monkeypatch.setattr(running_plugin, "FIRST_RETRY_SECONDS", 0.0)
    attempts = []

    def plugin_started():
        attempts.append(len(attempts))
        if len(attempts) < 3:
            raise NotReadyError("the server is still starting")

    async def work():
        plugins = plugins_at_work(tmp_path, slow=plugin(plugin_started=plugin_started))
        for _ in range(2):
            with pytest.raises(PluginError, match=r"plugin slow: .*the server is still starting.*plugins disable slow"):
                await plugins.context_of("slow")
        assert (await plugins.context_of("slow")).name == "slow"

    asyncio.run(work())


def test_another_failed_start_is_not_repeated(tmp_path):
    attempts = []

    def plugin_started():
        attempts.append(1)
        raise ValueError("no settings")

    async def work():
        plugins = plugins_at_work(tmp_path, broken=plugin(plugin_started=plugin_started, before_turn=lambda: None))
        for _ in range(2):
            verdict = await plugins.before_turn(TURN)
            assert "plugin broken: plugin_started raised ValueError: no settings" in verdict.answer.reason

    asyncio.run(work())
    assert attempts == [1]


def test_a_gate_that_hangs_denies_after_its_limit(tmp_path):
    async def before_turn():
        await asyncio.Event().wait()

    async def work():
        gate = plugin(before_turn=hookimpl(timeout_seconds=0.01)(before_turn))
        verdict = await plugins_at_work(tmp_path, gate=gate).before_turn(TURN)
        assert "did not end within 0.01 s" in verdict.answer.reason
        assert "hook_timeouts gate=SECONDS" in verdict.answer.reason

    asyncio.run(work())


def test_three_timeouts_switch_a_hook_off(tmp_path):
    calls = []

    async def before_turn():
        calls.append(1)
        await asyncio.Event().wait()

    async def work():
        plugins = plugins_at_work(tmp_path, {"limits": {"gate": 0.01}}, gate=plugin(before_turn=before_turn))
        reasons = [(await plugins.before_turn(TURN)).answer.reason for _ in range(4)]
        assert ["did not end within" in reason for reason in reasons] == [True, True, True, False]
        assert "switched off" in reasons[3]

    asyncio.run(work())
    assert len(calls) <= 3  # on a busy machine the time may be over before the hook begins


def test_context_managers_are_left_when_another_plugin_starts_in_vain(tmp_path):
    seen = []

    class Span:
        def __enter__(self):
            seen.append("entered")

        def __exit__(self, *_):
            seen.append("left")

    async def work():
        starting = threading.Event()  # set on the plugin's own loop

        async def plugin_started():
            starting.set()
            await asyncio.Event().wait()

        slow = plugin(plugin_started=plugin_started, around=lambda: None)
        plugins = plugins_at_work(tmp_path, a=plugin(around=lambda: Span()), b=slow)

        async def enter():
            async with plugins.around(TurnWork(TURN)):
                raise AssertionError("it was not cancelled")

        entering = asyncio.create_task(enter())
        assert await asyncio.to_thread(starting.wait, 10)
        entering.cancel()
        await asyncio.wait({entering})
        assert entering.cancelled()
        await plugins.aclose()

    asyncio.run(work())
    assert seen == ["entered", "left"]


def test_processes_share_the_hooks_that_are_switched_off(tmp_path):
    path = tmp_path / "home" / "timeouts.json"
    path.parent.mkdir()
    moments = itertools.count(1_000_000, step=2)  # two seconds between two looks
    serving, other = HookTimeouts(path, lambda: next(moments)), HookTimeouts(path, lambda: next(moments))
    record = Plugin("gate", version="1.0")
    assert not serving.is_off(record, "before_turn")
    for _ in range(3):
        other.note(record, "before_turn")
    assert serving.is_off(record, "before_turn")
    assert HookTimeouts(path).forget("gate")
    assert not serving.is_off(record, "before_turn")


@pytest.mark.long
@pytest.mark.parametrize("ends_by", ["drain", "aclose"])
def test_an_observer_that_hangs_at_the_end_of_three_programs_is_switched_off(ends_by, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(runtime, "EXIT_SECONDS", 0.3)
    calls = []

    async def after_tool_call():
        calls.append(1)
        await asyncio.Event().wait()

    async def work():
        options = {"timeouts": HookTimeouts(tmp_path / "timeouts.json")}
        plugins = plugins_at_work(tmp_path, options, audit=plugin(after_tool_call=after_tool_call))
        plugins.observe("after_tool_call", call=None, result=None, duration_ms=0)
        if ends_by == "drain":
            await plugins.drain(0.3)
        await plugins.aclose()

    for _ in range(4):
        asyncio.run(work())
    assert len(calls) == 3
    assert "plugin audit: its hook after_tool_call did not end in time; it is switched off" in caplog.text


def test_observers_get_events_in_order(tmp_path):
    seen = []

    async def turn_started(turn):
        await asyncio.sleep(0)
        seen.append(("started", turn.id))

    def turn_finished(turn):
        seen.append(("finished", turn.id))

    async def work():
        plugins = plugins_at_work(tmp_path, audit=plugin(turn_started=turn_started, turn_finished=turn_finished))
        plugins.observe("turn_started", turn=TURN)
        plugins.observe("turn_finished", turn=TURN, outcome=None)
        assert seen == []
        await plugins.drain(5)

    asyncio.run(work())
    assert seen == [("started", "t1"), ("finished", "t1")]


def test_the_oldest_events_of_a_slow_observer_are_dropped(tmp_path, caplog):
    seen = []

    async def work():
        plugins = plugins_at_work(tmp_path, audit=plugin(turn_started=lambda turn: seen.append(turn)))
        for number in range(1_005):
            plugins.observe("turn_started", turn=number)
        await plugins.drain(10)

    asyncio.run(work())
    assert seen == list(range(5, 1_005))
    assert "plugin audit" in caplog.text


def test_prompt_sections_are_sorted_and_limited(tmp_path, caplog):
    async def work():
        plugins = plugins_at_work(
            tmp_path,
            b=plugin(
                prompt_sections=lambda session: [PromptSection("z", "last"), PromptSection("a", f"of {session.id}")]
            ),
            a=plugin(prompt_sections=lambda: [PromptSection("x", "first"), PromptSection("y", "y" * 4_001)]),
        )
        assert await plugins.prompt_sections(SESSION) == "first\n\nof s1\n\nlast"

    asyncio.run(work())
    assert "4,000 characters" in caplog.text


def test_texts_for_a_message_are_gathered_with_their_plugins(tmp_path):
    async def work():
        plugins = plugins_at_work(
            tmp_path,
            weather=plugin(message_context=lambda turn: "It rains."),
            broken=plugin(message_context=lambda: 1 / 0),
        )
        assert await plugins.message_context(TURN) == [("weather", "It rains.")]

    asyncio.run(work())


def test_a_task_of_a_plugin_ends_when_the_plugin_stops(tmp_path):
    started, ended = threading.Event(), threading.Event()  # set on the plugin's own loop

    async def work():
        async def forever():
            try:
                started.set()
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def start(context):
            context.start_task(forever())

        plugins = plugins_at_work(tmp_path, poller=plugin(plugin_started=start))
        await plugins.context_of("poller")
        assert await asyncio.to_thread(started.wait, 10)
        await plugins.aclose()

    asyncio.run(work())
    assert ended.is_set()


def test_limits_are_as_specified():
    assert (runtime.GATE_SECONDS, runtime.CONTEXT_SECONDS, running_plugin.OBSERVER_SECONDS) == (15, 5, 30)
    assert (running_plugin.START_SECONDS, running_plugin.STOP_SECONDS, runtime.EXIT_SECONDS) == (30, 5, 5)


def test_sections_follow_the_order_of_hooks_and_raise_their_own_limits(tmp_path):
    long = "y" * 20_000

    async def work():
        plugins = plugins_at_work(
            tmp_path,
            {"order": ["zeta"]},
            zeta=plugin(prompt_sections=lambda: PromptSection("x", "zeta")),
            alpha=plugin(prompt_sections=lambda: [PromptSection("x", "alpha"), PromptSection("y", "z" * 3_990)]),
            memory=plugin(prompt_sections=hookimpl(tryfirst=True)(lambda: [PromptSection("m", long, 30_000)])),
        )
        assert await plugins.prompt_sections(SESSION) == "\n\n".join([long, "alpha", "z" * 3_990, "zeta"])

    asyncio.run(work())


def test_current_sections_keep_the_tool_that_they_are_about(tmp_path):
    async def work():
        plugins = plugins_at_work(
            tmp_path, skills=plugin(current_sections=lambda: [PromptSection("s", " list ", core_tool="load_skill")])
        )
        assert await plugins.current_sections(SESSION) == (PromptSection("s", "list", core_tool="load_skill"),)

    asyncio.run(work())


def test_commands_are_listed_by_name_and_usable_ones_go_first(tmp_path):
    async def work():
        plugins = plugins_at_work(
            tmp_path,
            a=plugin(message_commands=lambda: [MessageCommand("x", "", "it is broken"), MessageCommand("y", "first")]),
            b=plugin(message_commands=lambda: (MessageCommand("x", "usable"), MessageCommand("y", "second"))),
            c=plugin(message_commands=lambda: ["no command"]),
        )
        commands = await plugins.message_commands()
        assert {name: each.summary for name, each in commands.items()} == {"x": "usable", "y": "first"}

    asyncio.run(work())


def test_the_first_plugin_that_knows_a_command_expands_it(tmp_path):
    use = CommandUse(name="greet", arguments="Bob", agent="General Assistant", selection=ToolSelection())

    async def work():
        plugins = plugins_at_work(
            tmp_path,
            a=plugin(expand_command=lambda command: None),
            b=plugin(expand_command=lambda command: ExpandedMessage(f"Greet {command.arguments}.", ("mail",))),
        )
        assert await plugins.expand_command(use) == ExpandedMessage("Greet Bob.", ("mail",))
        assert await plugins_at_work(tmp_path).expand_command(use) is None

    asyncio.run(work())


@pytest.mark.parametrize(("raised", "shown"), [(UsageError("give a name"), UsageError), (ValueError("x"), PluginError)])
def test_a_plugin_refuses_a_command_in_its_own_words(tmp_path, raised, shown):
    use = CommandUse(name="greet", arguments="", agent="General Assistant", selection=ToolSelection())

    def expand_command(command):
        raise raised

    async def work():
        with pytest.raises(shown, match=str(raised)):
            await plugins_at_work(tmp_path, a=plugin(expand_command=expand_command)).expand_command(use)

    asyncio.run(work())


def test_notices_for_a_chat_are_gathered(tmp_path):
    async def work():
        plugins = plugins_at_work(
            tmp_path,
            a=plugin(chat_notices=lambda: ["one", ChatNotice(text="two", page="inbox")]),
            b=plugin(chat_notices=lambda: 1 / 0),
        )
        assert await plugins.chat_notices() == [ChatNotice(text="one"), ChatNotice(text="two", page="/a/inbox")]
        assert not plugins.follows_turns

    asyncio.run(work())


def test_an_object_is_made_once_for_a_home(tmp_path):
    async def work():
        context = await plugins_at_work(tmp_path, a=plugin(chat_notices=lambda: [])).context_of("a")
        assert context.once(_new_object) is context.once(_new_object)

    asyncio.run(work())


def _new_object(context):
    return object()
