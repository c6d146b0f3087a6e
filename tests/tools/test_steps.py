"""The chain of a tool call: its order is a list, and no step that fails or answers by itself lets the tool run."""

import asyncio
import re
from pathlib import Path

import pytest
from policies import policy_of

from oneclaw_core import ToolCall, ToolDefinition, ToolRegistry, ToolResult, wiring
from oneclaw_core.files import PathGuard
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.tools.calls.call import Caller
from oneclaw_core.types.steps import chain
from oneclaw_core.wiring import tool_executor

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"


class Probe:
    definition = ToolDefinition("probe", "Probes.", required_permissions=("mail.send",))

    def __init__(self):
        self.runs = 0

    async def execute(self, arguments, context):
        self.runs += 1
        return "ran"


class Plugins:
    governs_calls = True

    def are_about(self, *about, **more):
        return False

    async def context_of_tool(self, plugin):
        return None

    async def observers_have_room(self):
        pass


def name_of(step):
    return getattr(step, "__qualname__", type(step).__qualname__).partition(".")[0]


class Line:
    """The chain of a tool that needs a permission."""

    def __init__(self, home, monkeypatch, insert=None):
        self.names, self.insert = [], insert
        self.tool, self.home, self.registry = Probe(), home, ToolRegistry()
        self.registry.register(self.tool)
        monkeypatch.setattr(wiring, "chain", self.chain)

    def chain(self, given, end):
        given = list(given)
        self.names.append([*map(name_of, given), name_of(end)])
        if self.insert is not None and len(given) > 2:  # the checks
            given.insert(*self.insert)
        return chain(given, end)

    def result(self, policy, plugins=None):
        async def run():
            origins = CallOrigins(PathGuard(self.home, self.home))
            executor = tool_executor(self.registry, policy, origins, self.home, plugins=plugins)
            caller = Caller(self.registry.toolset().active([]), "Tester", "session")
            return (await executor.execute([ToolCall("c", "probe", "{}")], caller))[0].result

        return asyncio.run(run())


def deciding(decision=Decision.GRANT):
    return policy_of([Grant("mail.send", decision=decision)], None)


def test_a_call_passes_the_steps_in_the_order_of_the_documentation(tmp_path, monkeypatch):
    text = ARCHITECTURE.read_text(encoding="utf-8")
    checks, run = re.search(r"^(observed > .*) > permitted \| (.*)$", text, re.M).groups()
    line = Line(tmp_path, monkeypatch)
    assert line.result(deciding(), Plugins()).result == "ran"
    assert line.names == [run.split(" > "), [*checks.split(" > "), "permitted"]]


def test_steps_for_hooks_are_left_out_where_no_plugin_governs_calls(tmp_path, monkeypatch):
    line = Line(tmp_path, monkeypatch)
    assert line.result(deciding()).result == "ran"
    hooked = {"observed", "rewritten", "gated", "result_rewritten"}
    assert hooked.isdisjoint([*line.names[0], *line.names[1]])


@pytest.mark.parametrize("place", range(2, 9))
def test_a_step_that_fails_keeps_the_tool_from_running(tmp_path, monkeypatch, place):
    async def fails(call, run):
        raise RuntimeError("broken")

    line = Line(tmp_path, monkeypatch, (place, fails))
    assert line.result(deciding()) == ToolResult.error("execution_error", "RuntimeError: broken")
    assert line.tool.runs == 0


@pytest.mark.parametrize("place", range(9))
def test_a_step_that_answers_by_itself_keeps_the_tool_from_running(tmp_path, monkeypatch, place):
    async def refuses(call, run):
        return ToolResult.error("permission_denied", "no")

    line = Line(tmp_path, monkeypatch, (place, refuses))
    assert line.result(deciding()).error_type == "permission_denied"
    assert line.tool.runs == 0


def test_no_step_before_the_permissions_can_do_without_them(tmp_path, monkeypatch):
    async def passes_on(call, run):
        return await run(call.with_arguments({"forged": 1}))

    line = Line(tmp_path, monkeypatch, (8, passes_on))
    assert line.result(deciding(Decision.DENY)).error_type == "permission_denied"
    assert line.tool.runs == 0


def test_without_a_permission_policy_every_call_is_denied(tmp_path, monkeypatch):
    line = Line(tmp_path, monkeypatch)
    result = line.result(None)
    assert (result.error_type, line.tool.runs) == ("permission_denied", 0)
    assert "no permission policy" in result.error_message
