"""Plugins at work, one by one: their messages, limits, retries and order."""

import asyncio
import contextvars
import json
import time
from inspect import signature
from types import SimpleNamespace

import pytest

from oneclaw_core import (
    Ask,
    CallInfo,
    Deny,
    NotFoundError,
    NotReadyError,
    OneClawError,
    PermissionDeniedError,
    PluginError,
    PromptSection,
    SessionInfo,
    ToolResult,
    TurnInfo,
    UsageError,
)
from oneclaw_core.home import Home
from oneclaw_core.plugins.contract.checks import CheckFix, CheckResult, Health
from oneclaw_core.plugins.contract.contact_points import Channel
from oneclaw_core.plugins.isolation import ForeignCall, ForeignError, HookError, HookTimeoutError, call_isolated
from oneclaw_core.plugins.registration.entry import HookOptions, Registration
from oneclaw_core.plugins.registration.record import Implementation, LoadedPlugin, PluginRecord
from oneclaw_core.plugins.running import running_plugin
from oneclaw_core.plugins.running.hook_settings import HookTimeouts, hook_timeouts, plugin_order, read_timeout
from oneclaw_core.plugins.running.running_plugin import ObserverQueue, RunningPlugin, call_hook, make_context
from oneclaw_core.plugins.running.runtime import Plugins, Verdict

CALL = CallInfo(id="call_1", tool="shell", arguments={"command": "ls"}, group="files")
SESSION = SessionInfo(id="s1", agent="Poet")
TURN = TurnInfo(id="t1", session=SESSION, agent="Poet", model="offline/rules", text="hello")
DISABLE = "disable it with: oneclaw plugins disable acme"


class Context:
    """A plugin's context that only counts."""

    worker = None

    def __init__(self, name="acme", changed=frozenset()):
        self.name, self.changed, self.refreshed, self.closed = name, changed, [], 0

    async def refresh_settings(self, stored=None):
        self.refreshed.append(stored)
        return self.changed

    async def aclose(self):
        self.closed += 1


def record_with(name="acme", registrations=(), options=None, **hooks):
    """Make the record of a plugin of functions, each a hook."""
    given = {hook: (options or {}).get(hook, HookOptions()) for hook in hooks}
    functions = {
        hook: Implementation(
            name, hook, function, HookOptions(required(function), asyncio.iscoroutinefunction(function))
        )
        for hook, function in hooks.items()
    }
    loaded = LoadedPlugin(name, functions, tuple(registrations))
    return PluginRecord(
        name, f"{name}-tools", "1", hooks=given, registrations=list(registrations), loaded=loaded, has_own_loop=False
    )


def required(function):
    return tuple(name for name, each in signature(function).parameters.items() if each.default is each.empty)


def running(record, context=None, limits=None, timeouts=None):
    return RunningPlugin(record, context or Context(), limits or {}, timeouts or HookTimeouts())


def at_work(*records, **options):
    contexts = {each.name: Context(each.name) for each in records}
    return Plugins(records, contexts.__getitem__, **options), contexts


def told(caplog):
    return [each.getMessage() for each in caplog.records]


async def raised_by(awaitable, kind=OneClawError):
    with pytest.raises(kind) as error:
        await awaitable
    return str(error.value)


def test_settings_of_hooks_are_read_from_the_environment_or_the_store():
    for stored, environ, names in (
        ({}, {}, []),
        ({"plugin_order": ["a", " b ", "", 7]}, {}, ["a", "b", "7"]),
        ({"plugin_order": ("a",)}, {}, ["a"]),
        ({"plugin_order": "a, b,,"}, {}, ["a", "b"]),
        ({"plugin_order": 7}, {}, []),
        ({"plugin_order": ["a"]}, {"ONECLAW_PLUGIN_ORDER": "c"}, ["c"]),
        ({"plugin_order": ["a"]}, {"ONECLAW_PLUGIN_ORDER": ""}, ["a"]),
    ):
        assert plugin_order(stored, environ) == names
    for text, limit in (
        ("acme=2.5", ("acme", 2.5)),
        (" acme =600", ("acme", 600.0)),
        *(
            (text, None)
            for text in ("acme=600.1", "acme=0", "acme=-1", "=3", " =3", "acme", "acme=x", "a=b=3", "acme=nan")
        ),
    ):
        assert read_timeout(text) == limit
    assert hook_timeouts({"hook_timeouts": ["a=1", "bad", "b=2", "a=3"]}, {}) == {"a": 3.0, "b": 2.0}
    assert hook_timeouts({}, {"ONECLAW_HOOK_TIMEOUTS": "a=4"}) == {"a": 4.0}


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def test_three_timeouts_within_ten_minutes_switch_a_hook_off_for_an_hour(tmp_path):
    record, other = PluginRecord("acme", version="1", hooks={"a": 1, "b": 2}), PluginRecord("acme", version="2")
    for path in (None, tmp_path / "home" / "timeouts.json"):
        if path is not None:
            path.parent.mkdir()
        clock = Clock()
        timeouts = HookTimeouts(path, clock)
        assert not timeouts.is_off(record, "a")
        assert [timeouts.note(record, "a"), timeouts.note(record, "a")] == [False, False]
        clock.now += 600.0  # which is too late for the first two
        assert [timeouts.note(record, "a"), timeouts.note(record, "a")] == [False, False]
        assert not timeouts.is_off(record, "a")
        clock.now += 599.0
        assert timeouts.note(record, "a") is True
        assert timeouts.switched_off(record) == ["a"]
        assert not timeouts.is_off(other, "a")
        clock.now += 3599.0
        assert timeouts.is_off(record, "a")
        clock.now += 1.0
        assert not timeouts.is_off(record, "a")
        clock.now -= 100
        assert timeouts.is_off(record, "a")
        assert [timeouts.forget("other"), timeouts.forget("acme"), timeouts.forget("acme")] == [False, True, False]
        assert not timeouts.is_off(record, "a")


def test_processes_share_their_counts_within_a_second(tmp_path):
    path, clock = tmp_path / "new" / "timeouts.json", Clock()
    record = PluginRecord("acme", version="1")
    first, second = HookTimeouts(path, clock), HookTimeouts(path, clock)
    assert not second.is_off(record, "a")
    for _ in range(3):
        first.note(record, "a")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["timeouts.json"]
    clock.now += 0.9
    assert not second.is_off(record, "a")
    clock.now += 0.1
    assert second.is_off(record, "a")
    clock.now -= 50  # the clock was set back
    assert second.is_off(record, "a")
    (key,) = json.loads(path.read_text())
    assert json.loads(key) == ["acme", "1", "a"]
    clock.now += 7_300
    other = PluginRecord("other", version="1")
    first.note(other, "b")
    assert [json.loads(each) for each in json.loads(path.read_text())] == [["other", "1", "b"]]
    for content in ("{", "[]", '{"a": 1}', '{"a": ["x"]}'):
        path.write_text(content)
        clock.now += 2
        assert not HookTimeouts(path, clock).is_off(record, "a")
        third = HookTimeouts(path, clock)
        assert third.note(record, "a") is False


def test_without_a_place_for_it_a_process_counts_alone(tmp_path):
    (tmp_path / "file").write_text("")
    record, clock = PluginRecord("acme"), Clock()
    timeouts = HookTimeouts(tmp_path / "file" / "timeouts.json", clock)
    assert [timeouts.note(record, "a") for _ in range(3)] == [False, False, True]
    clock.now += 2
    assert timeouts.is_off(record, "a")


def test_the_limit_of_a_hook_is_the_users_the_plugins_or_that_of_its_kind():
    options = {"a": HookOptions(timeout_seconds=4.0)}
    record = record_with(options=options, a=lambda: 1, b=lambda: 1)
    plain, limited = running(record), running(record, limits={"acme": 9.0, "other": 1.0})
    assert [plain.limit("a", 15.0), plain.limit("b", 15.0)] == [4.0, 15.0]
    assert [limited.limit("a", 15.0), limited.limit("b", 15.0)] == [9.0, 9.0]


def test_a_hook_that_fails_names_its_plugin():
    def raising():
        raise ValueError("bad")

    async def hanging():
        await asyncio.sleep(10)

    async def work():
        record = record_with(prompt=raising, gate=hanging)
        plugin = running(record)
        assert await raised_by(plugin.call("prompt", {}, 5.0), HookError) == (
            f"plugin acme: prompt raised ValueError: bad; {DISABLE}"
        )
        limit = "plugin acme: gate did not end within 0.01 s; change its limit with 'oneclaw config set hook_timeouts "
        assert await raised_by(plugin.call("gate", {}, 0.01), HookTimeoutError) == (
            f"{limit}acme=SECONDS', or {DISABLE}"
        )
        record.hooks["gone"] = HookOptions()
        assert await raised_by(plugin.call("gone", {}, 5.0), HookError) == (
            f"plugin acme: gone is not there any more; reinstall it, or {DISABLE}"
        )

    asyncio.run(work())


def test_a_hook_that_timed_out_three_times_is_switched_off(caplog):
    async def hanging():
        await asyncio.sleep(10)

    async def work():
        plugin = running(record_with(gate=hanging))
        for _ in range(3):
            await raised_by(plugin.call("gate", {}, 0.001), HookTimeoutError)
        assert [each for each in told(caplog) if "switched off" in each] == [
            f"{await expected(plugin)}; the hook is switched off"
        ]
        assert await raised_by(plugin.call("gate", {}, 5.0), HookError) == (
            "plugin acme: gate is switched off, because it timed out three times within ten minutes; " + DISABLE
        )

    async def expected(plugin):
        return str(HookTimeoutError("acme", "gate", 0.001))

    asyncio.run(work())


def test_a_hook_gets_the_arguments_that_it_names_and_its_context():
    seen = []

    def gate(turn, context):
        seen.append((turn, context.name))
        return 7

    async def work():
        return await running(record_with(gate=gate)).call("gate", {"turn": 1, "other": 2}, 5.0)

    assert (asyncio.run(work()), seen) == (7, [(1, "acme")])


def test_a_plugin_is_started_once_and_in_a_context_without_a_turn():
    variable = contextvars.ContextVar("turn", default="none")
    events = []

    async def plugin_started(context):
        events.append((context.name, variable.get()))

    async def work():
        variable.set("turn")
        context = Context()
        plugin = running(record_with(plugin_started=plugin_started), context)
        assert (plugin.is_started, plugin.is_start_attempted, plugin.name) == (False, False, "acme")
        assert await asyncio.gather(plugin.start(), plugin.start()) == [context, context]
        assert await plugin.start() is context
        assert (events, context.refreshed, plugin.is_started) == ([("acme", "none")], [None], True)
        assert await plugin.context_unstarted() is context
        assert len(context.refreshed) == 1
        plugin._start_again()
        await plugin.start()
        assert len(events) == 2

        bare = running(record_with(gate=lambda: 1))
        assert (await bare.start(), bare.is_started, bare.is_start_attempted) == (bare.context, True, False)
        bare._start_again()
        assert bare.is_started
        settings = running(record_with(registrations=[Registration("register_settings", "acme", "settings", None)]))
        await settings.start()
        assert settings.context.refreshed == [None]
        unstarted = running(record_with())
        await unstarted.context_unstarted()
        await unstarted.context_unstarted()
        assert (unstarted.context.refreshed, unstarted.is_started) == ([None, None], False)

    asyncio.run(work())


def test_a_start_that_failed_is_tried_again_when_that_may_help(monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=100.0)
    monkeypatch.setattr(running_plugin, "time", clock)
    attempts = []
    error = NotReadyError("sign in: oneclaw acme login")

    def plugin_started():
        attempts.append(clock.now)
        if error is not None:
            raise error

    async def work():
        nonlocal error
        message = f"plugin acme: plugin_started failed: sign in: oneclaw acme login; {DISABLE}"
        plugin = running(record_with(plugin_started=plugin_started))
        waits = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
        for wait in waits:
            assert await raised_by(plugin.start()) == message
            clock.now += wait - 0.5
            assert await raised_by(plugin.start()) == message
            clock.now += 0.5
        assert len(attempts) == len(waits)
        error = None
        await plugin.start()
        assert plugin.is_started

        attempts.clear()
        for given, shown in (
            (ValueError("bad"), "raised ValueError: bad"),
            (UsageError("write it"), "failed: write it"),
        ):
            error = given
            broken = running(record_with(plugin_started=plugin_started), Context(changed={"key"}))
            for _ in range(2):
                assert await raised_by(broken.start()) == f"plugin acme: plugin_started {shown}; {DISABLE}"
                clock.now += 1e9
            # Other settings may be what it needs.
            await broken.refresh_settings({"a": 1})
            error = None
            await broken.start()
            assert broken.context.refreshed == [None, {"a": 1}, None]
        assert len(attempts) == 4

    asyncio.run(work())


def test_a_started_plugin_is_told_of_other_settings():
    seen = []

    async def work():
        hook = {"settings_changed": lambda changed: seen.append(changed)}
        plugin = running(record_with(**hook), Context(changed=frozenset()))
        await plugin.start()
        await plugin.refresh_settings()
        assert seen == []
        plugin.context.changed = {"token"}
        await plugin.refresh_settings()
        assert seen == [{"token"}]
        deaf = running(record_with())
        deaf.context.changed = {"token"}
        await deaf.start()
        await deaf.refresh_settings()

    asyncio.run(work())


def test_a_plugin_is_stopped_if_it_was_started(caplog):
    events = []

    def plugin_stopped(context):
        events.append(context.name)
        raise ValueError("bad")

    async def work():
        plugin = running(record_with(plugin_stopped=plugin_stopped))
        await plugin.stop(1.0)
        assert (events, plugin.context.closed) == ([], 1)
        await plugin.start()
        await plugin.stop(1.0)
        assert (events, plugin.context.closed) == (["acme"], 2)
        assert told(caplog) == [f"plugin acme: plugin_stopped raised ValueError: bad; {DISABLE}"]

        async def hanging():
            events.append("begun")
            await asyncio.sleep(30)

        slow = running(record_with(plugin_started=hanging, plugin_stopped=lambda: events.append("stopped")))
        starting = asyncio.ensure_future(slow.start())
        while "begun" not in events:
            await asyncio.sleep(0)
        began = time.monotonic()
        await slow.stop(1.0)
        assert time.monotonic() - began < 5
        assert events[-1] == "stopped"
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(work())


def test_events_wait_in_order_and_the_oldest_are_dropped(monkeypatch, caplog):
    monkeypatch.setattr(running_plugin, "MAX_WAITING_EVENTS", 3)
    seen = []

    async def deliver(hook, arguments):
        seen.append((hook, arguments))
        if hook == "b":
            raise PluginError("b failed")

    async def work():
        queue = ObserverQueue("acme", deliver)
        assert await queue.drain(1.0) == ""
        for hook in "abcde":
            queue.put(hook, {"n": hook})
        assert queue.dropped == 2
        assert await queue.drain(1.0) == ""
        assert seen == [(hook, {"n": hook}) for hook in "cde"]
        for hook in "ab":
            queue.put(hook, {})
        assert await queue.drain(1.0) == ""
        assert seen[3:] == [("a", {}), ("b", {})]

    asyncio.run(work())
    assert told(caplog) == [
        "plugin acme: its observers are too slow, events are dropped; disable it with: oneclaw plugins disable acme",
        "b failed",
    ]


def test_an_observer_that_does_not_end_loses_what_waits():
    async def work():
        async def hang(hook, arguments):
            await asyncio.sleep(30)

        queue = ObserverQueue("acme", hang)
        for hook in "abc":
            queue.put(hook, {})
        assert await queue.drain(0.05) == "a"
        assert queue.dropped == 3
        assert await queue.drain(0.05) == ""

        async def busy(hook, arguments):
            await asyncio.sleep(0.03)

        queue = ObserverQueue("acme", busy)
        for _ in range(9):
            queue.put("quick", {})
        # Each of them is delivered in time: none is to blame.
        assert await queue.drain(0.1) == ""
        assert queue.dropped > 3

    asyncio.run(work())


def test_an_observer_that_hangs_at_the_end_is_counted(caplog):
    async def hanging(context):
        await asyncio.sleep(30)

    async def work():
        timeouts = HookTimeouts()
        for number in range(4):
            plugin = running(record_with(turn_finished=hanging), timeouts=timeouts)
            plugin.queue.put("turn_finished", {})
            await plugin.drain(0.02)
            assert plugin.queue.dropped == (1 if number < 3 else 0)

    asyncio.run(work())
    assert [each for each in told(caplog) if "its hook" in each] == [
        "plugin acme: its hook turn_finished did not end in time; it is switched off"
    ]


def verdicts(answer, hook="before_tool_call"):
    def gate():
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def work():
        plugins, _ = at_work(record_with(**{hook: gate}))
        if hook == "before_turn":
            return await plugins.before_turn(TURN)
        return await plugins.before_tool_call(CALL)

    return asyncio.run(work())


def test_what_a_gate_answers_is_a_verdict(caplog):
    assert verdicts(None) == []
    assert verdicts(Ask("a.b", "detail", "subject")) == [Verdict("acme", Ask("a.b", "detail", "subject"))]
    assert verdicts(Deny("no")) == [Verdict("acme", Deny("The plugin acme refuses this: no"))]
    for answer, fault in (
        (7, "returned an object of type int, not a valid Deny or Ask or None"),
        (Deny(7), "returned an object of type Deny, not a valid Deny or Ask or None"),
        (Ask(""), "returned an object of type Ask, not a valid Deny or Ask or None"),
        (Ask("a", 7), "returned an object of type Ask, not a valid Deny or Ask or None"),
        (Ask("a", "", 7), "returned an object of type Ask, not a valid Deny or Ask or None"),
        (ValueError("bad"), "raised ValueError: bad"),
    ):
        caplog.clear()
        (verdict,) = verdicts(answer)
        text = f"plugin acme: before_tool_call {fault}; {DISABLE}"
        assert (verdict.plugin, verdict.answer, verdict.reason) == ("acme", Deny(text), text)
        assert told(caplog) == [text]
    assert Verdict("acme", Ask("a")).reason == ""
    assert verdicts(None, "before_turn") is None
    asked = verdicts(Ask("a"), "before_turn")
    assert (
        asked.reason == f"plugin acme: before_turn returned an object of type Ask, not a valid Deny or None; {DISABLE}"
    )


def test_every_question_is_gathered_and_the_first_refusal_counts_alone():
    def gate(name, answer):
        return record_with(name, before_tool_call=lambda: answer, before_turn=lambda: answer)

    async def work():
        ask, other, deny, late = (Ask("a"), Ask("b"), Deny("no"), Deny("late"))
        plugins, _ = at_work(gate("a", ask), gate("b", None), gate("c", other))
        assert await plugins.before_tool_call(CALL) == [("a", ask), ("c", other)]
        plugins, _ = at_work(gate("a", None), gate("b", deny), gate("c", late))
        assert [each.plugin for each in await plugins.before_tool_call(CALL)] == ["b"]
        assert (await plugins.before_turn(TURN)).plugin == "b"

    asyncio.run(work())


def test_what_plugins_register_is_found():
    first = record_with("first", [Registration("register_triggers", "first", "tick", "a:b", {"help": "Ticks."})])
    off = record_with("off", [Registration("register_triggers", "off", "never", "a:b", {"help": ""})])
    off.is_disabled = True
    second = record_with(
        "second",
        [
            Registration("register_triggers", "second", "tick", "a:c", {"help": "Other."}),
            Registration(
                "register_triggers",
                "second",
                "tock",
                None,
                {"help": "Tocks.", "parameters": {"p": "P."}, "required": ["p"], "set_up": "json:dumps"},
            ),
            Registration("register_channels", "second", "mail", None),
        ],
    )

    async def work():
        plugins, _ = at_work(first, off, second, absent={})
        assert [each.plugin for each in plugins.registrations("register_triggers")] == ["first", "second", "second"]
        found = {each.name: each for each in plugins.triggers()}
        assert {name: each.plugin for name, each in found.items()} == {"tick": "first", "tock": "second"}
        tock, tick = plugins.trigger("tock"), plugins.trigger("tick")
        assert (tock.help, tock.parameters, tock.required, tock.take_request) == ("Tocks.", {"p": "P."}, ("p",), None)
        assert (tick.parameters, tick.required, tick.set_up) == ({}, (), None)
        assert tock.set_up is not None
        with pytest.raises(NotFoundError) as error:
            plugins.trigger("no" * 80)
        assert str(error.value) == f"there is no trigger {'no' * 50!r}; plugins have registered: tick, tock"
        assert await raised_by(plugins.channel("pigeon")) == (
            "there is no channel 'pigeon'; plugins have registered: mail"
        )
        empty, _ = at_work()
        assert await raised_by(empty.channel("pigeon")) == "there is no channel 'pigeon'; plugins have registered: none"
        missing = await raised_by(empty.channel("telegram"))
        assert missing.startswith("there is no channel 'telegram'; ")
        assert "oneclaw-telegram" in missing
        assert await raised_by(plugins.context_of("nothing")) == (
            "there is no plugin 'nothing'; list them with: oneclaw plugins list"
        )
        assert await raised_by(plugins.context_of("off")) == (
            "there is no plugin 'off'; list them with: oneclaw plugins list"
        )

    asyncio.run(work())


class Pigeon(Channel):
    def __init__(self, context):
        self.context = context

    async def send(self, message):
        return None


def registered(hook, name, value, **options):
    return record_with("acme", [Registration(hook, "acme", name, None, options, value)])


def test_a_channel_is_made_of_its_plugins_context():
    def raising(context):
        raise ValueError("bad")

    def refusing(context):
        raise UsageError("set a token")

    async def work():
        plugins, contexts = at_work(registered("register_channels", "pigeon", Pigeon))
        assert (await plugins.channel("pigeon")).context is contexts["acme"]
        for target, message in (
            (raising, f"plugin acme: channel pigeon raised ValueError: bad; {DISABLE}"),
            (refusing, "set a token"),
            (lambda context: 7, f"plugin acme: channel pigeon is not a Channel, but of type int; {DISABLE}"),
        ):
            plugins, _ = at_work(registered("register_channels", "pigeon", target))
            assert await raised_by(plugins.channel("pigeon")) == message

    asyncio.run(work())


def test_a_trigger_is_called_with_its_plugins_context():
    async def fine(context, *arguments):
        return context.name, arguments

    async def raising(context):
        raise ValueError("bad")

    async def refusing(context):
        raise UsageError("no such file")

    async def work():
        for target, message in (
            (raising, f"plugin acme: trigger tick raised ValueError: bad; {DISABLE}"),
            (refusing, "no such file"),
        ):
            plugins, _ = at_work(registered("register_triggers", "tick", target, help=""))
            assert await raised_by(plugins.trigger("tick").run()) == message
        plugins, _ = at_work(registered("register_triggers", "tick", fine, help=""))
        assert await plugins.trigger("tick").run(1, 2) == ("acme", (1, 2))

    asyncio.run(work())


def test_checks_are_run_without_starting_their_plugins():
    result = CheckResult(Health.OK, "fine")

    def iterate(context):
        yield result
        yield result

    async def several(context):
        return [result]

    async def async_iterate(context):
        yield result

    def raising(context):
        raise ValueError("bad")

    async def hanging(context):
        await asyncio.sleep(30)

    remedy = f"report it to the plugin's author, or {DISABLE}"

    def problem(message):
        return (CheckResult(Health.PROBLEM, message, remedy),)

    async def work():
        for function, results in (
            (lambda context: None, ()),
            (lambda context: result, (result,)),
            (iterate, (result, result)),
            (several, (result,)),
            (async_iterate, (result,)),
            (raising, problem("it failed: ValueError: bad")),
            (lambda context: ["x"], problem("it returned something other than CheckResult objects")),
        ):
            plugins, contexts = at_work(registered("register_checks", "look", function))
            (check,) = await plugins.run_checks()
            assert (check.registration.name, check.results) == ("look", results)
            assert contexts["acme"].refreshed == [None]
        of_skills, _ = at_work(registered("register_checks", "look", raising, of="register_skills"))
        assert await of_skills.run_checks() == []
        gone, _ = at_work(PluginRecord("acme", registrations=[Registration("register_checks", "acme", "look", None)]))
        (check,) = await gone.run_checks()
        assert check.results[0].message.startswith("the plugin acme cannot be used: see oneclaw plugins list;")
        from oneclaw_core.plugins.contract import checks

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checks, "CHECK_SECONDS", 0.01)
            patch.setattr(checks, "FIX_SECONDS", 0.02)
            plugins, _ = at_work(registered("register_checks", "look", hanging))
            (check,) = await plugins.run_checks()
            assert check.results == problem("it did not end within 0.01 s")
            assert await raised_by(plugins.fix("acme", CheckFix("mend", hanging))) == "it did not end within 0.02 s"

    asyncio.run(work())


def test_a_fix_is_applied_with_the_plugins_context():
    applied = []

    async def later(context):
        applied.append(context.name)

    def refusing(context):
        raise UsageError("it is read-only")

    def raising(context):
        raise ValueError("bad")

    async def work():
        plugins, _ = at_work(record_with())
        await plugins.fix("acme", CheckFix("mend", lambda context: applied.append(context.name)))
        await plugins.fix("acme", CheckFix("mend", later))
        assert applied == ["acme", "acme"]
        for function, message in ((refusing, "it is read-only"), (raising, "ValueError: bad")):
            assert await raised_by(plugins.fix("acme", CheckFix("mend", function)), PluginError) == message

    asyncio.run(work())


def test_texts_and_sections_that_are_none_are_left_out(caplog):
    def sections(name, *values, order=0, hook="prompt_sections"):
        return record_with(
            name,
            options={hook: HookOptions(order=order)},
            **{hook: lambda: values[0] if len(values) == 1 else list(values)},
        )

    async def work():
        plugins, _ = at_work(
            record_with("c", message_context=lambda: "third"),
            record_with("a", message_context=lambda: "first"),
            record_with("b", message_context=lambda: " \n"),
            record_with("d", message_context=lambda: 7),
            record_with("e", message_context=lambda: None),
        )
        assert await plugins.message_context(TURN) == [("a", "first"), ("c", "third")]
        assert told(caplog) == [
            "plugin d: message_context returned something other than str objects; disable it with: oneclaw plugins "
            "disable d"
        ]
        caplog.clear()
        long = PromptSection("long", "x" * 4001)
        plugins, _ = at_work(
            sections("z", PromptSection("2", " two "), PromptSection("1", "one"), order=-1),
            sections("b", PromptSection("x", "b")),
            sections("a", PromptSection("x", " \n")),
            sections("c", long),
            sections("d", "text"),
            sections("e", PromptSection("x", 7)),
            sections("f", None),
            order=["b"],
        )
        assert await plugins.prompt_sections(SESSION) == "one\n\ntwo\n\nb"
        assert sorted(told(caplog)) == [
            "plugin c: prompt_sections returned the section 'long' with more than 4,000 characters; disable it with: "
            "oneclaw plugins disable c",
            "plugin d: prompt_sections returned something other than PromptSection objects; disable it with: oneclaw "
            "plugins disable d",
            "plugin e: prompt_sections returned the section 'x' without a text; disable it with: oneclaw plugins "
            "disable e",
        ]
        caplog.clear()
        whole = PromptSection("x", "y" * 4000)
        large = PromptSection("x", "z" * 5000, max_characters=6000, core_tool="exec")
        small = PromptSection("y", "a")
        hook = "current_sections"
        plugins, _ = at_work(
            *(sections(name, each, hook=hook) for name, each in zip("abcd", (whole, large, whole, small), strict=True))
        )
        assert await plugins.current_sections(SESSION) == (whole, large, whole)
        assert told(caplog) == [
            "plugin d: its section 'y' of the system prompt is left out: all sections together may have 8,000 "
            "characters"
        ]

    asyncio.run(work())


def test_order_and_kinds_of_hooks_are_known():
    async def work():
        lifecycle, _ = at_work(record_with(plugin_started=lambda: None))
        assert (lifecycle.hooks, lifecycle.governs_calls, lifecycle.follows_turns) == (frozenset(), False, False)
        prompt, _ = at_work(record_with(prompt_sections=lambda: None))
        assert (prompt.hooks, prompt.governs_calls, prompt.follows_turns) == ({"prompt_sections"}, False, False)
        turn, _ = at_work(record_with(turn_finished=lambda: None))
        assert (turn.governs_calls, turn.follows_turns) == (False, True)
        options = {"around": HookOptions(tools=("shell",)), "after_tool_call": HookOptions(in_turns=True, tools=("x",))}
        record = record_with(options=options, around=lambda: None, after_tool_call=lambda: None)
        plugins, _ = at_work(record)
        assert plugins.governs_calls
        for tool, group, is_in_turn, is_about in (
            ("shell", None, False, True),
            ("other", "shell", False, True),
            ("x", None, False, False),
            ("x", None, True, True),
            ("y", "files", True, False),
        ):
            assert plugins.are_about(tool, group, is_in_turn=is_in_turn) is is_about
        assert [each.name for each in plugins.concerned("around", CALL)] == ["acme"]
        assert plugins.concerned("after_tool_call", CALL) == plugins.concerned("none", CALL) == []
        assert await plugins.context_of_tool(None) is await plugins.context_of_tool("none") is None
        assert (await plugins.context_of_tool("acme")).name == "acme"
        assert (await plugins.context_of_tool("acme")).name == "acme"

    asyncio.run(work())


def test_started_plugins_read_their_settings_again(caplog):
    def changed():
        raise ValueError("bad")

    async def work():
        settings = [Registration("register_settings", "acme", "settings", None)]
        broken = record_with("acme", settings, settings_changed=changed)
        other, never = record_with("other", settings), record_with("never", settings)
        plugins, contexts = at_work(broken, other, never)
        for name in ("acme", "other"):
            await plugins.context_of(name)
            contexts[name].changed = {"key"}
        plugins._plugin("never")
        await plugins.refresh_settings({"a": 1})
        assert [contexts[name].refreshed for name in ("acme", "other", "never")] == [
            [None, {"a": 1}],
            [None, {"a": 1}],
            [],
        ]
        assert told(caplog) == [f"plugin acme: settings_changed raised ValueError: bad; {DISABLE}"]

    asyncio.run(work())


async def hooked(hooks, options=None):
    plugins, _ = at_work(record_with(options=options, **hooks))
    return plugins.of_call(id="c", tool="shell", arguments={"a": 1}, group="files")


def test_a_call_is_rewritten_by_json_objects_alone():
    async def work():
        for value, faults, message in (
            (7, [], "returned an object of type int, not JSON arguments"),
            ([1], [], "returned an object of type list, not JSON arguments"),
            ({"a": object()}, [], "returned an object of type dict, not JSON arguments"),
            ({"a": float("nan")}, [], "returned an object of type dict, not JSON arguments"),
            ({"a": 2}, ["one.", "two."], "returned invalid arguments: one. two."),
        ):
            call = await hooked({"rewrite_tool_call": lambda value=value: value})
            text = await raised_by(call.rewrite({"a": 1}, lambda given, faults=faults: faults))
            assert text == f"plugin acme: rewrite_tool_call {message}; {DISABLE}"
        given = {"a": {"b": [1]}}
        call = await hooked({"rewrite_tool_call": lambda: given})
        rewritten = await call.rewrite({"a": 1}, lambda arguments: [])
        given["a"]["b"].append(2)
        assert rewritten == {"a": {"b": [1]}} == call.arguments == call.info.arguments
        same = await hooked({"rewrite_tool_call": lambda: None})
        arguments = {"a": 1}
        assert await same.rewrite(arguments, lambda arguments: ["never asked"]) is arguments

    asyncio.run(work())


def test_a_gate_asks_or_refuses_for_a_call():
    async def work():
        for detail, shown in (("run ls", "run ls (the plugin acme asks)"), ("", "the plugin acme asks")):
            asked = []

            async def ask(*given, asked=asked):
                asked.append(given)

            call = await hooked({"before_tool_call": lambda detail=detail: Ask("a.b", detail, "s")})
            await call.check(ask)
            assert asked == [("a.b", shown, "s")]
        decided = []
        hooks = {
            "before_tool_call": lambda: Deny("no"),
            "permission_decided": lambda call, decision: decided.append((call.tool, decision)),
        }
        plugins, _ = at_work(record_with(**hooks))
        call = plugins.of_call(id="c", tool="shell", arguments={})
        with pytest.raises(PermissionDeniedError) as error:
            await call.check(ask)
        assert (str(error.value), error.value.permission) == ("The plugin acme refuses this: no", "shell")
        await plugins.drain(5.0)
        ((tool, decision),) = decided
        assert (tool, decision.permission, decision.subject, decision.is_granted, decision.decided_by) == (
            *("shell", "shell", None, False, "plugin acme"),
        )

    asyncio.run(work())


WITHHELD = (
    "The call ran and may have had its effect, but its result is withheld: plugin acme: rewrite_tool_result {fault}; "
    f"{DISABLE}. Do not repeat it; look for what it did, or tell the user."
)


def test_a_result_is_rewritten_or_withheld():
    async def work():
        first, other = ToolResult.success({"a": [1]}), ToolResult.success("other")
        for value, expected in (
            (None, first),
            (other, other),
            (
                7,
                ToolResult.error(
                    "unknown_outcome", WITHHELD.format(fault="returned an object of type int, not a ToolResult")
                ),
            ),
        ):
            call = await hooked({"rewrite_tool_result": lambda value=value: value})
            assert await call.rewrite_result(first) == expected
        seen = []
        hooks = {"after_tool_call": lambda call, result, duration_ms: seen.append((call.id, result, duration_ms))}
        plugins, _ = at_work(record_with(**hooks))
        plugins.of_call(id="c", tool="shell", arguments={}).finished(first)
        await plugins.drain(5.0)
        ((call_id, result, duration_ms),) = seen
        assert (call_id, result, 0 <= duration_ms < 60_000) == ("c", first, True)
        quiet, _ = at_work(record_with(turn_finished=lambda: None))
        call = quiet.of_call(id="c", tool="shell", arguments={})
        call.finished(first)
        call.decided("a", None, is_granted=True, decided_by="user")

    asyncio.run(work())


def test_a_call_of_a_hook_is_limited():
    async def work():
        def gate():
            raise SystemExit(3)

        implementation = record_with(gate=gate).loaded.implementations["gate"]
        arguments = {"context": Context()}
        assert await raised_by(call_hook(implementation, arguments, 5.0)) == (
            f"plugin acme: gate raised SystemExit: 3; {DISABLE}"
        )

    asyncio.run(work())


def test_contexts_are_made_of_a_home(tmp_path):
    required = []

    class Policy:
        async def require(self, request):
            required.append(request)

    async def ask_model(name, prompt, schema):
        return name, prompt, schema

    async def read_settings():
        return {}

    async def work():
        home = Home(tmp_path, "")
        context = make_context(
            "acme",
            home=home,
            plugins=[PluginRecord("acme")],
            environ={},
            permissions=Policy(),
            read_settings=read_settings,
            storage="storage of acme",
            ask_model=ask_model,
            services="services",
        )
        assert (context.name, context.storage, context.services) == ("acme", "storage of acme", "services")
        assert context.folder == home.plugin_folder("acme")
        assert await context.ask_model("Who?", {}) == ("acme", "Who?", {})
        await context._allow_address("nas.lan", "10.0.0.1", 80)
        (request,) = required
        assert (request.permission, request.tool_name, request.arguments, request.detail, request.subject) == (
            "network.private",
            "plugin acme",
            {},
            "connect to nas.lan at the private address 10.0.0.1",
            "nas.lan:80@private",
        )
        with pytest.raises(PluginError):
            _ = context.settings

    asyncio.run(work())
    same = {"A": "b"}
    assert running_plugin._with_earlier_variables(same) is same
    before, after = "ONECLAW_SCHEDULED_TASKS_MAIL_SERVER", "ONECLAW_NOTIFY_MAIL_SERVER"
    assert running_plugin._with_earlier_variables({before: "x"}) == {before: "x", after: "x"}
    assert running_plugin._with_earlier_variables({before: "x", after: "y"}) == {before: "x", after: "y"}


def test_foreign_code_is_called_with_a_limit():
    async def work():
        async def slow():
            await asyncio.sleep(30)

        async def fine():
            return 7

        def wrapping():
            return fine()

        def late():
            time.sleep(0.05)
            return 1

        for call, is_async, value in ((fine, True, 7), (lambda: 7, False, 7), (wrapping, False, 7)):
            assert await call_isolated(call, 5.0, is_async=is_async) == value
        for call, is_async in ((slow, True), (late, False)):
            with pytest.raises(TimeoutError):
                await call_isolated(call, 0.01, is_async=is_async)

        async def raising():
            raise SystemExit(3)

        with pytest.raises(ForeignError) as error:
            await call_isolated(raising, 5.0, is_async=True)
        assert isinstance(error.value.raised, SystemExit)

        started = ForeignCall(lambda: 8, "probe")
        assert await started.wait_async(5.0) == started.wait(5.0) == await started.wait_async(5.0) == 8
        failed = ForeignCall(lambda: 1 / 0, "probe")
        for _ in range(2):
            with pytest.raises(ForeignError) as error:
                failed.wait(5.0)
            assert isinstance(error.value.raised, ZeroDivisionError)

    asyncio.run(work())
    assert str(HookError("acme", "gate", "failed", "mend it")) == f"plugin acme: gate failed; mend it, or {DISABLE}"
    error = HookTimeoutError("acme", "gate", 2.50)
    assert (error.plugin, error.hook, error.fault) == ("acme", "gate", "did not end within 2.5 s")
