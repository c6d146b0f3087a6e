"""Tool calls that plugins rewrite, gate and observe, through the executor of a real home."""

import asyncio
import contextvars
import copy
import threading
from contextlib import contextmanager

import pytest
from stand_ins import plugin

from oneclaw_core import Ask, Deny, ToolContext, ToolResult, hookimpl, tool
from oneclaw_core.permissions import Decision, Grant

pytestmark = pytest.mark.every_python

span = contextvars.ContextVar("span", default="none")


@tool
def echo(text: str) -> str:
    """Return the text."""
    return text


@tool
async def current_span() -> str:
    """Return the current span."""
    return span.get()


def registers(*tools):
    return lambda register: [register(each) for each in tools]


@pytest.fixture
def call(oneclaw_factory):
    """Call a tool once, with plugins by name; returns the result."""

    def call(name, arguments, /, *, home=None, **plugins):
        under_test = home or oneclaw_factory(named(**plugins))
        return under_test.call_tool(name, arguments)

    return call


def named(**plugins):
    for name, each in plugins.items():
        each.__name__ = name
    return [plugin(register_tools=registers(echo, current_span)), *plugins.values()]


def test_each_rewriter_sees_what_the_one_before_returned_and_gates_see_the_last(call):
    seen = []

    async def gate(call):
        seen.append(call.arguments["text"])

    result = call(
        "echo",
        {"text": "a"},
        first=plugin(rewrite_tool_call=lambda call: {"text": call.arguments["text"] + "b"}),
        second=plugin(rewrite_tool_call=lambda call: {"text": call.arguments["text"] + "c"}, before_tool_call=gate),
    )
    assert result.result == "abc"
    assert seen == ["abc"]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"text": 3}, "invalid arguments"),
        ({"text": object()}, "not JSON arguments"),
        ("text", "not JSON arguments"),
    ],
)
def test_a_call_that_was_rewritten_wrongly_does_not_run(call, value, fault):
    result = call("echo", {"text": "a"}, redactor=plugin(rewrite_tool_call=lambda: value))
    assert result.error_type == "execution_error"
    assert "The call was not run: plugin redactor" in result.error_message
    assert fault in result.error_message
    assert "oneclaw plugins disable redactor" in result.error_message


def test_a_gate_refuses_a_call_in_its_own_words(call):
    result = call(
        "echo", {"text": "a"}, policy=plugin(before_tool_call=lambda call: Deny(f"no {call.tool} on Sundays"))
    )
    assert result.error_type == "permission_denied"
    assert result.error_message == "The plugin policy refuses this: no echo on Sundays"


def test_a_gate_has_the_user_asked_and_a_grant_answers(oneclaw_factory):
    home = oneclaw_factory(named(policy=plugin(before_tool_call=lambda: Ask("echo.aloud", "say it aloud"))))
    home.user.says("no")
    assert home.call_tool("echo", text="a").error_type == "permission_denied"
    home.user.says("always")
    assert home.call_tool("echo", text="b").result == "b"
    assert home.call_tool("echo", text="c").result == "c"
    details = [request.detail for request in home.user.asked]
    assert details == ["say it aloud (the plugin policy asks)"] * 2


def test_every_gate_that_asks_is_answered(oneclaw_factory):
    read, send = (plugin(before_tool_call=lambda name=name: Ask(name)) for name in ("echo.read", "echo.send"))
    home = oneclaw_factory(named(first=read, second=send))
    home.run(home.app.store.set_grant(Grant("echo.read")))
    home.reopen()
    home.user.says("no")
    assert home.call_tool("echo", text="a").error_type == "permission_denied"
    assert [request.permission for request in home.user.asked] == ["echo.send"]


def test_a_call_with_deeply_nested_arguments_is_answered(oneclaw_factory):
    seen = []
    home = oneclaw_factory(named(audit=plugin(after_tool_call=lambda result: seen.append(result.error_type))))
    nested = '{"text": ' + "[" * 900 + "]" * 900 + "}"
    outcome = home.run(home.app.call_tool("echo", nested))
    assert outcome.result.error_type == "validation_error"
    home.run(home.app.plugins.drain(5))
    assert seen == ["validation_error"]


def test_no_gate_grants_what_the_user_denied(oneclaw_factory):
    home = oneclaw_factory(named(policy=plugin(before_tool_call=lambda: None)))
    home.run(home.app.store.set_grant(Grant("files.read", decision=Decision.DENY)))
    home.reopen()
    assert home.call_tool("read_file", path="a.txt").error_type == "permission_denied"


def test_arguments_cannot_be_changed_in_place(call):
    def gate(call):
        call.arguments["text"] = "other"

    result = call("echo", {"text": "a"}, policy=plugin(before_tool_call=gate))
    assert result.error_type == "permission_denied"
    assert "cannot be changed" in result.error_message


def test_a_rewriter_can_return_a_changed_copy(call):
    def rewrite(call):
        changed = copy.deepcopy(call.arguments)
        changed["text"] = "other"
        return changed

    assert call("echo", {"text": "a"}, redactor=plugin(rewrite_tool_call=rewrite)).result == "other"


def test_a_result_is_rewritten_before_observers_and_the_caller_see_it(oneclaw_factory):
    seen = []
    home = oneclaw_factory(
        named(
            redactor=plugin(rewrite_tool_result=lambda result: ToolResult.success(result.result.replace("key", "***"))),
            audit=plugin(after_tool_call=lambda call, result: seen.append((call.tool, result.result))),
        )
    )
    assert home.call_tool("echo", text="a key").result == "a ***"
    home.run(home.app.plugins.drain(5))
    assert seen == [("echo", "a ***")]


@pytest.mark.parametrize("rewrite", [lambda: 1 / 0, lambda: "text", lambda: ToolResult.success(object())])
def test_a_failed_result_rewriter_withholds_the_result_of_a_call_that_ran(call, rewrite):
    result = call("echo", {"text": "the key"}, redactor=plugin(rewrite_tool_result=rewrite))
    assert not result.is_success
    assert "key" not in result.error_message
    if result.error_type == "unknown_outcome":
        assert "The call ran and may have had its effect, but its result is withheld" in result.error_message
        assert "Do not repeat it; look for what it did, or tell the user." in result.error_message
        assert "oneclaw plugins disable redactor" in result.error_message


def test_observers_learn_of_calls_that_did_not_run(oneclaw_factory):
    seen = []
    home = oneclaw_factory(
        named(
            policy=plugin(before_tool_call=hookimpl(tools=["echo"])(lambda: Deny("no"))),
            audit=plugin(
                after_tool_call=lambda call, result: seen.append((call.tool, call.caller, result.error_type)),
            ),
        )
    )
    home.call_tool("echo", text="a")
    home.call_tool("echo", number=3)
    home.call_tool("nothing")
    home.run(home.app.plugins.drain(5))
    assert seen == [
        ("echo", "program", "permission_denied"),
        ("echo", "program", "validation_error"),
        ("nothing", "program", "not_found"),
    ]


def test_hooks_about_calls_of_turns_are_not_called_for_a_program(oneclaw_factory):
    seen = []
    home = oneclaw_factory(
        named(
            policy=plugin(before_tool_call=hookimpl(in_turns=True)(lambda call: seen.append(call.caller))),
            audit=plugin(after_tool_call=hookimpl(in_turns=True)(lambda call: seen.append(call.caller))),
        )
    )
    assert home.call_tool("echo", text="a").is_success
    home.model.calls("echo", text="a").then("Done.")
    home.send("Call it.")
    home.run(home.app.plugins.drain(5))
    assert seen == ["model", "model"]


def test_hooks_that_skip_tools_that_change_nothing_see_the_others(oneclaw_factory):
    seen = []
    only_changes = hookimpl(skips_read_only=True)
    home = oneclaw_factory(
        named(
            policy=plugin(before_tool_call=only_changes(lambda call: seen.append(call.tool))),
            audit=plugin(after_tool_call=lambda call: seen.append((call.tool, call.is_read_only))),
        )
    )
    for name, arguments in (("get_current_time", {}), ("echo", {"text": "a"})):
        assert home.call_tool(name, **arguments).is_success
        home.run(home.app.plugins.drain(5))
    assert seen == [("get_current_time", True), "echo", ("echo", False)]


def test_observers_learn_how_long_a_call_took(oneclaw_factory):
    durations = []
    home = oneclaw_factory(named(audit=plugin(after_tool_call=lambda duration_ms: durations.append(duration_ms))))
    home.call_tool("echo", text="a")
    home.run(home.app.plugins.drain(5))
    assert 0 < durations[0] < 60_000


@pytest.mark.long
def test_observers_learn_who_decided_on_a_permission(oneclaw_factory):
    seen = []

    def observe(call, decision):
        seen.append((call.tool, decision.permission, decision.is_granted, decision.decided_by))

    home = oneclaw_factory([*named(audit=plugin(permission_decided=observe)), "shell"], allow=["shell.execute"])
    (home.project / "a.txt").write_text("a")
    home.call_tool("read_file", path="a.txt")
    home.call_tool("exec", command="true")
    home.run(home.app.plugins.drain(5))
    assert ("read_file", "files.read", True, "default") in seen
    assert ("exec", "shell.execute", True, "option") in seen


def test_observers_learn_who_denied_a_permission_and_whose_tool_wanted_it(oneclaw_factory):
    seen = []

    def observe(call, decision):
        seen.append((call.tool, call.plugin, decision.permission, decision.is_granted, decision.decided_by))

    @tool(required_permissions=["door.open"])
    def enter() -> str:
        """Enter the house."""
        return "inside"

    house = plugin(register_tools=registers(enter), permission_decided=observe)
    house.__name__ = "house"
    home = oneclaw_factory([house])
    home.user.says("no", to="door.open")
    home.call_tool("enter")
    home.run(home.app.store.set_grant(Grant("door.open", decision=Decision.DENY)))
    home.call_tool("enter")
    home.run(home.app.plugins.drain(5))
    assert seen == [
        ("enter", "house", "door.open", False, "user"),
        ("enter", "house", "door.open", False, "denial"),
    ]


def test_a_tool_runs_within_the_context_managers_of_plugins(oneclaw_factory):
    results = []

    @contextmanager
    def around(work):
        token = span.set(f"span of {work.call.tool}")
        yield
        results.append(work.result.result)
        span.reset(token)

    home = oneclaw_factory(named(tracing=plugin(around=around)))
    assert home.call_tool("current_span").result == "span of current_span"
    assert results == ["span of current_span"]
    assert span.get() == "none"


@contextmanager
def fails_to_enter():
    raise ValueError("no exporter")
    yield


@contextmanager
def fails_to_exit():
    yield
    raise ValueError("no exporter")


@pytest.mark.parametrize("around", [fails_to_enter, fails_to_exit, lambda: 3, lambda: 1 / 0])
def test_a_fault_of_a_context_manager_does_not_reach_the_tool(call, caplog, around):
    assert call("echo", {"text": "a"}, tracing=plugin(around=lambda: around())).result == "a"
    assert "plugin tracing: around raised" in caplog.text


def test_a_tool_of_a_plugin_finds_the_services_of_its_plugin(oneclaw_factory):
    started = []

    @tool
    def own_folder(context: ToolContext) -> str:
        """Return the name of the plugin's folder."""
        return context.plugin.folder.name

    given = plugin(register_tools=registers(own_folder), plugin_started=lambda context: started.append(context.name))
    given.__name__ = "notes"
    home = oneclaw_factory([given])
    assert home.call_tool("own_folder").result == "notes"
    assert started == ["notes"]


def test_a_tool_of_a_plugin_that_cannot_start_is_not_available(oneclaw_factory):
    given = plugin(register_tools=registers(echo), plugin_started=lambda: 1 / 0)
    given.__name__ = "notes"
    result = oneclaw_factory([given]).call_tool("echo", text="a")
    assert result.error_type == "not_available"
    assert "plugin notes: plugin_started raised ZeroDivisionError" in result.error_message


def test_an_interrupted_call_is_observed(oneclaw_factory):
    seen = []

    @tool
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return ""

    started = threading.Event()  # the tool runs on the loop of its plugin
    given = plugin(register_tools=registers(wait), after_tool_call=lambda result: seen.append(result.error_type))

    async def work():
        async with oneclaw_factory([given]).opened() as claw:
            task = asyncio.create_task(claw.call_tool("wait"))
            await asyncio.to_thread(started.wait)
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(work())
    assert seen == ["interrupted"]
