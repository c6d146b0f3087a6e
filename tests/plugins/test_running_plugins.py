"""Plugins at work, one by one: their start, hooks, observers, settings and contexts."""

import asyncio
import contextvars
import time
from types import SimpleNamespace

import pytest
from plugins_at_work import DISABLE, Context, at_work, raised_by, record_with, running, told

from oneclaw_core import (
    NotReadyError,
    PluginError,
    UsageError,
)
from oneclaw_core.installation import plugin_context
from oneclaw_core.installation.plugin_context import make_context
from oneclaw_core.plugins.isolation import ForeignCall, ForeignError, HookError, HookTimeoutError, call_isolated
from oneclaw_core.plugins.plugin import Plugin, Registration
from oneclaw_core.plugins.running import running_plugin
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.plugins.running.running_plugin import ObserverQueue, call_hook
from oneclaw_core.system.home import Home


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
        record.hooks["gone"] = {}
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
        assert time.monotonic() - began < 25  # it hangs for 30
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
        for _ in range(99):
            queue.put("quick", {})
        # Each of them is delivered in time: none is to blame.
        assert await queue.drain(1.0) == ""
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


def test_a_call_of_a_hook_is_limited():
    async def work():
        def gate():
            raise SystemExit(3)

        implementation = record_with(gate=gate).loaded.hooks["gate"]
        arguments = {"context": Context()}
        assert await raised_by(call_hook("acme", implementation, arguments, 5.0)) == (
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
            plugins=[Plugin("acme")],
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
    assert plugin_context._with_earlier_variables(same) is same
    before, after = "ONECLAW_SCHEDULED_TASKS_MAIL_SERVER", "ONECLAW_NOTIFY_MAIL_SERVER"
    assert plugin_context._with_earlier_variables({before: "x"}) == {before: "x", after: "x"}
    assert plugin_context._with_earlier_variables({before: "x", after: "y"}) == {before: "x", after: "y"}


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

        started = ForeignCall(lambda: 8, "probe", 1)
        assert await started.wait_async() == started.wait() == await started.wait_async() == 8
        failed = ForeignCall(lambda: 1 / 0, "probe", 1)
        for _ in range(2):
            with pytest.raises(ForeignError) as error:
                failed.wait()
            assert isinstance(error.value.raised, ZeroDivisionError)

    asyncio.run(work())
    assert str(HookError("acme", "gate", "failed", "fix it")) == f"plugin acme: gate failed; fix it, or {DISABLE}"
    error = HookTimeoutError("acme", "gate", 2.50)
    assert (error.plugin, error.hook, error.fault) == ("acme", "gate", "did not end within 2.5 s")
