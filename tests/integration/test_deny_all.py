"""A plugin that denies every tool call holds on each path to a tool."""

import asyncio
from datetime import UTC, datetime

import pytest
from oneclaw_scheduled_tasks.attempt import attempt
from oneclaw_scheduled_tasks.schedules import read_schedule
from oneclaw_scheduled_tasks.task import Run, Task

from oneclaw_core import Deny, ToolContext, hookimpl, tool
from oneclaw_core.config.providers import MODEL_SETTING
from oneclaw_core.testing.scripted import MODEL

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Policy:
    """Denies all calls but those of some tools, and notes what it sees."""

    def __init__(self, *allowed):
        self.allowed = allowed
        self.gated = []
        self.observed = []

    @hookimpl
    async def before_tool_call(self, call):
        self.gated.append((call.tool, call.caller))
        return None if call.tool in self.allowed else Deny("nothing today")

    @hookimpl
    def after_tool_call(self, call, result):
        self.observed.append((call.tool, result.error_type))


class Traces:
    """Tools that leave a trace where they run."""

    def __init__(self):
        self.runs = []

    @hookimpl
    def register_tools(self, register):
        @tool
        def leave_trace(context: ToolContext) -> str:
            """Leave a trace."""
            self.runs.append(context.tool_name)
            return "left"

        @tool(name="leave_grouped_trace", group="traces")
        def leave_grouped_trace(context: ToolContext) -> str:
            """Leave a trace."""
            self.runs.append(context.tool_name)
            return "left"

        register(leave_trace)
        register(leave_grouped_trace)


@pytest.fixture
def traces():
    return Traces()


def denials(home, policy):
    home.run(home.app.plugins.drain(5))
    return [name for name, error_type in policy.observed if error_type == "permission_denied"]


def test_a_call_of_the_program_is_denied(oneclaw_factory, traces):
    policy = Policy()
    home = oneclaw_factory([traces, policy])
    result = home.call_tool("leave_trace")
    assert (result.error_type, traces.runs) == ("permission_denied", [])
    assert "nothing today" in result.error_message
    assert policy.gated == [("leave_trace", "program")]


def test_a_call_of_the_command_line_is_denied(oneclaw_factory, traces):
    policy = Policy()
    home = oneclaw_factory([traces, policy])
    outcome = home.run(home.app.call_tool("leave_trace", caller="command line"))
    assert (outcome.result.error_type, traces.runs) == ("permission_denied", [])
    assert policy.gated == [("leave_trace", "command line")]


def test_a_call_of_the_model_is_denied(oneclaw_factory, traces):
    policy = Policy()
    home = oneclaw_factory([traces, policy])
    home.model.calls("leave_trace").then("I could not.")
    home.send("Leave a trace.")
    assert traces.runs == []
    assert denials(home, policy) == ["leave_trace"]


def test_groups_that_a_task_asks_for_are_loaded_by_calls_that_are_denied(oneclaw_factory, traces):
    policy = Policy()
    home = oneclaw_factory([traces, policy])
    home.model.says("Nothing is loaded.")
    home.send("Leave a trace.", tool_groups=["traces"])
    assert denials(home, policy) == ["load_tool_group"]


def test_a_call_through_the_dispatcher_is_denied_by_the_name_of_the_tool(oneclaw_factory, traces):
    policy = Policy("load_tool_group")
    home = oneclaw_factory([traces, policy])
    setting = {"input_price": 0, "output_price": 0, "tool_loading": "dispatch"}
    home.run(home.app.store.set_setting(MODEL_SETTING + MODEL, setting))
    home.model.calls("load_tool_group", group_name="traces")
    home.model.calls("use_tool", {"name": "leave_grouped_trace", "arguments": {}}).then("I could not.")
    home.send("Leave a trace.")
    assert traces.runs == []
    assert denials(home, policy) == ["leave_grouped_trace"]


def test_a_call_of_a_sub_agent_is_denied(oneclaw_factory, traces):
    policy = Policy("create_agent")
    home = oneclaw_factory([traces, policy, "agents"])
    home.model.calls("create_agent", name="Helper", description="Helps.", system_prompt="Help.", task="Leave a trace.")
    home.model.calls("leave_trace").says("I could not.").says("It could not.")
    home.send("Have a trace left.")
    assert traces.runs == []
    assert denials(home, policy) == ["leave_trace"]


@pytest.mark.parametrize(
    ("code", "tool_name"),
    [
        ("await fetch('http://127.0.0.1:1/')", "http_request"),
        ("await fs.readFile('a.txt')", "read_file"),
        ("await fs.writeFile('a.txt', 'text')", "write_file"),
        ("await fs.appendFile('a.txt', 'text')", "write_file"),
        ("await fs.exists('a.txt')", "read_file"),
    ],
)
def test_what_javascript_does_is_denied_as_the_tool_of_that_kind(oneclaw_factory, code, tool_name):
    policy = Policy("js_eval")
    home = oneclaw_factory(["javascript", policy])
    result = home.call_tool("js_eval", code=f"async function main() {{ return {code}; }}")
    assert result.error_type == "permission_denied", result
    assert policy.gated[-1] == (tool_name, "script")
    assert tool_name in denials(home, policy)
    assert not (home.home.workspace / "a.txt").exists()


def test_a_call_of_a_scheduled_task_is_denied(oneclaw_factory, traces):
    policy = Policy()
    home = oneclaw_factory([traces, policy])
    home.model.calls("leave_trace").then("I could not.")
    task = Task(
        id="0123456789ab",
        name="Trace",
        prompt="Leave a trace.",
        schedule=read_schedule({"schedule_type": "daily", "hour": 9}),
        time_zone="UTC",
        created_at=NOW,
        anchor=NOW,
        agent="General Assistant",
        model=MODEL,
    )

    async def record(**columns):
        await asyncio.sleep(0)
        return True

    home.run(attempt(home.app, task, Run(id="r1", task_id=task.id, scheduled_at=NOW, not_before=NOW), record))
    assert traces.runs == []
    assert denials(home, policy) == ["leave_trace"]
