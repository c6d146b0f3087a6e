"""FEAT-004 "Tool Execution Engine" and "Execution Rules": every call gets exactly one result."""

import asyncio
import json
import logging
import threading
import time
from dataclasses import replace
from functools import partial

import pytest
from policies import policy_of

from oneclaw_core import (
    LoadToolGroupTool,
    PermissionDeniedError,
    PluginError,
    ToolCall,
    ToolContext,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSelection,
    ToolSourceInfo,
    ToolSourceType,
    remember_secret,
    tool,
)
from oneclaw_core.files import PathGuard
from oneclaw_core.http import SignInNeededError
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.permissions.requests import PermissionAnswer
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.shipped.missing import missing_part
from oneclaw_core.tools import ActiveTools, ToolBehaviour
from oneclaw_core.tools.calls.call import Caller, ToolOutcome, ToolProgress
from oneclaw_core.tools.context import TurnScope
from oneclaw_core.types.budget import TurnBudget
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS
from oneclaw_core.types.provenance import Mark, MarkKind, Provenance
from oneclaw_core.wiring import tool_executor

pytestmark = pytest.mark.every_python


class Tool:
    """A hand-written tool around a function of arguments and context."""

    def __init__(self, name, run, parameters=None, **options):
        self.definition = ToolDefinition(
            name, f"Does {name}.", parameters or {"type": "object", "properties": {}}, **options
        )
        self.run = run
        self.runs = 0

    async def execute(self, arguments, context):
        self.runs += 1
        value = self.run(arguments, context)
        return await value if asyncio.iscoroutine(value) else value


TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["text"],
    "additionalProperties": False,
}


class Workbench:
    def __init__(self, home, ask=None, allowed=()):
        self.home = home
        self.registry = ToolRegistry()
        self.ask, self.allowed = ask, allowed
        self.loaded = []
        self.scope = None

    def add(self, name="probe", run=lambda arguments, context: ToolResult.success("done"), group=None, **options):
        tool = Tool(name, run, **options)
        source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, group) if group else ToolSourceInfo.BUILTIN
        self.registry.register(tool, source)
        return tool

    async def remember(self, grant):
        raise AssertionError("nothing is to be remembered here")

    def executor(self):
        policy = policy_of([], self.remember, self.ask, self.allowed)
        self.scope = self.scope or Caller(self.registry.toolset().active(self.loaded), "Tester", "session")
        return executor_of(self, policy)

    def outcomes(self, *calls):
        numbered = [
            ToolCall(f"c{n}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for n, (name, arguments) in enumerate(calls)
        ]

        async def run():
            return await self.executor().execute(numbered, self.scope)

        return asyncio.run(run())

    def result(self, name="probe", arguments="{}"):
        (outcome,) = self.outcomes((name, arguments))
        return outcome.result


def executor_of(bench, policy, **options):
    origins = CallOrigins(PathGuard(bench.home, bench.home))
    return tool_executor(bench.registry, policy, origins, bench.home, **options)


@pytest.fixture
def bench(tmp_path):
    return Workbench(tmp_path)


def test_a_call_runs_with_its_arguments_and_its_duration_is_recorded(bench):
    bench.add(run=lambda arguments, context: ToolResult.success(arguments["text"] * 2), parameters=TEXT)
    (outcome,) = bench.outcomes(("probe", {"text": "ab"}))
    assert outcome.result == ToolResult.success("abab")
    assert 0 < outcome.duration_ms < 60_000


def test_the_context_tells_who_calls(bench):
    def run(arguments, context):
        return ToolResult.success([context.tool_name, context.agent_name, context.session_id, context.call_id])

    bench.add(run=run)
    assert bench.result().result == ["probe", "Tester", "session", "c0"]


def test_unavailable_tool_returns_not_found_with_a_close_name(bench):
    bench.add("read_file")
    result = bench.result("read_fil")
    assert result.error_type == "not_found"
    assert "Did you mean read_file?" in result.error_message


def test_calling_a_group_by_its_name_says_how_to_load_it(bench):
    bench.registry.register_group(ToolGroupDefinition("pdf", "PDF", "Reads"))
    assert "'pdf' is a tool group: call load_tool_group" in bench.result("pdf").error_message


def test_040_12_grouped_tool_execution_blocked_before_load(bench):
    tool = bench.add("pdf_info", group="pdf")
    result = bench.result("pdf_info")
    assert result.error_type == "not_available"
    assert result.error_message == (
        "Tool 'pdf_info' is not available for this agent: it belongs to the tool group 'pdf', which is not loaded. "
        "Call load_tool_group with group_name 'pdf' first."
    )
    assert tool.runs == 0


def test_040_13_grouped_tool_execution_after_load(bench):
    bench.add("pdf_info", group="pdf")
    bench.loaded = ["pdf"]
    assert bench.result("pdf_info") == ToolResult.success("done")


@pytest.fixture
def loading_bench(bench):
    bench.registry.register_group(ToolGroupDefinition("pdf", "PDF", "Reads"))
    bench.registry.register(LoadToolGroupTool(bench.registry))
    return bench


LOAD_PDF = ("load_tool_group", {"group_name": "pdf"})


@pytest.mark.parametrize("is_load_first", [True, False])
def test_a_call_of_a_group_that_the_same_response_loads_runs_after_the_load(loading_bench, is_load_first):
    tool = loading_bench.add("pdf_info", group="pdf", parameters=TEXT)
    wanted = [LOAD_PDF, ("pdf_info", {"text": "a.pdf"})]
    outcomes = loading_bench.outcomes(*(wanted if is_load_first else reversed(wanted)))
    assert [outcome.result.is_success for outcome in outcomes] == [True, True]
    assert tool.runs == 1


def test_a_call_beside_its_load_with_wrong_arguments_is_a_validation_error(loading_bench):
    tool = loading_bench.add("pdf_info", group="pdf", parameters=TEXT)
    _, calling = loading_bench.outcomes(LOAD_PDF, ("pdf_info", {"path": "a.pdf"}))
    assert calling.result.error_type == "validation_error"
    assert "'text' is a required property" in calling.result.error_message
    assert tool.runs == 0


def test_a_call_beside_a_load_of_another_group_or_one_that_fails_is_refused(loading_bench):
    tool = loading_bench.add("pdf_info", group="pdf")
    loading_bench.registry.register_group(ToolGroupDefinition("mail", "Mail", "Sends"))
    loading_bench.add("send_mail", group="mail")
    _, calling = loading_bench.outcomes(("load_tool_group", {"group_name": "mail"}), ("pdf_info", {}))
    assert calling.result.error_message.endswith(
        "which is not loaded. Call load_tool_group with group_name 'pdf' first."
    )
    loading_bench.registry.set_disabled(["pdf_info"], [])
    loading, calling = loading_bench.outcomes(LOAD_PDF, ("pdf_info", {}))
    assert (loading.result.error_type, calling.result.error_type) == ("empty_group", "not_available")
    assert tool.runs == 0


def test_a_tool_that_only_opening_its_group_registers_runs_beside_the_load(loading_bench):
    async def open_group():
        await asyncio.sleep(0)
        loading_bench.add("pdf_info", group="pdf")

    loading_bench.registry.set_group_opener("pdf", open_group)
    _, calling = loading_bench.outcomes(LOAD_PDF, ("pdf_info", {}))
    assert calling.result == ToolResult.success("done")


def test_more_calls_than_run_at_once_wait_for_their_load(loading_bench):
    tool = loading_bench.add("pdf_info", group="pdf")
    outcomes = loading_bench.outcomes(*[("pdf_info", {})] * 40, LOAD_PDF)
    assert all(outcome.result.is_success for outcome in outcomes)
    assert tool.runs == 40


def test_edge_case_concurrent_loads_in_one_response(bench):
    bench.registry.register(LoadToolGroupTool(bench.registry))
    for name in ("a", "b", "c"):
        bench.registry.register_group(ToolGroupDefinition(name, name.upper(), "Tools"))
        bench.add(f"tool_{name}", group=name)
    outcomes = bench.outcomes(*(("load_tool_group", {"group_name": name}) for name in ("c", "a", "b", "a")))
    assert [outcome.result.result.split("'")[1] for outcome in outcomes] == ["C", "A", "B", "A"]


def test_load_tool_group_without_its_parameter_keeps_its_own_error_type(bench):
    bench.registry.register(LoadToolGroupTool(bench.registry))
    assert bench.result("load_tool_group", "{}").error_type == "missing_parameter"


def test_a_disabled_tool_is_not_available_and_says_how_to_switch_it_on(bench):
    tool = bench.add()
    bench.registry.set_disabled(["probe"], [])
    result = bench.result()
    assert result.error_type == "not_available"
    assert "oneclaw tools enable probe" in result.error_message
    assert tool.runs == 0


def test_all_faults_of_the_arguments_are_told_at_once_with_their_pointers(bench):
    tool = bench.add(parameters=TEXT)
    result = bench.result(arguments={"count": 0, "typo": 1})
    assert result.error_type == "validation_error"
    assert "'text' is a required property" in result.error_message
    assert "/count: 0 is less than the minimum of 1" in result.error_message
    assert "'typo' was unexpected" in result.error_message
    assert tool.runs == 0


@pytest.mark.parametrize("arguments", ["[1, 2]", '"text"', '{"text": ', "not json"])
def test_arguments_that_are_no_object_are_a_validation_error_that_quotes_the_fault(bench, arguments):
    bench.add(parameters=TEXT)
    result = bench.result(arguments=arguments)
    assert result.error_type == "validation_error"
    assert repr(arguments)[1:-1][:8] in result.error_message


def test_edge_case_empty_parameters(bench):
    bench.add(run=lambda arguments, context: ToolResult.success(len(arguments)))
    assert bench.result(arguments="").result == 0
    assert bench.result(arguments="{}").result == 0


@pytest.mark.long
def test_edge_case_extremely_large_parameters(bench):
    bench.add(run=lambda arguments, context: ToolResult.success(len(arguments["text"])), parameters=TEXT)
    assert bench.result(arguments={"text": "x" * 5_000_000}).result == 5_000_000


def test_null_for_an_optional_parameter_is_absence(bench):
    bench.add(run=lambda arguments, context: ToolResult.success(sorted(arguments)), parameters=TEXT)
    assert bench.result(arguments={"text": "a", "count": None}).result == ["text"]
    assert bench.result(arguments={"text": None}).error_type == "validation_error"


def test_remote_references_in_a_schema_are_never_fetched(bench):
    bench.add(parameters={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}})
    result = bench.result(arguments={"a": 1})
    assert result.error_type == "execution_error"
    assert "Unresolvable" in result.error_message


def test_a_tool_without_a_sign_in_is_not_available(bench):
    def run(arguments, context):
        raise SignInNeededError("No Notes account is signed in.")

    bench.add(run=run)

    result = bench.result()
    assert (result.error_type, result.error_message) == ("not_available", "No Notes account is signed in.")


def test_exceptions_become_execution_errors_and_the_traceback_goes_to_the_log(bench, caplog):
    def run(arguments, context):
        raise ValueError("seven is no colour")

    bench.add(run=run)
    with caplog.at_level(logging.ERROR, "oneclaw"):
        result = bench.result()
    assert (result.error_type, result.error_message) == ("execution_error", "ValueError: seven is no colour")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), RecursionError(), MemoryError()])
def test_a_tool_cannot_end_the_program_or_the_turn(bench, error):
    def run(arguments, context):
        raise error

    bench.add(run=run)
    assert bench.result().error_type == "execution_error"


def test_timeout_aborts_execution_and_returns_an_error(bench):
    ended = []

    async def run(arguments, context):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    bench.add(run=run, timeout_seconds=0.05)
    started = time.monotonic()
    result = bench.result()
    assert result.error_type == "timeout"
    assert result.error_message == "Tool 'probe' was stopped after its timeout of 0.05 s."
    assert ended == [True]
    assert time.monotonic() - started < 10


def test_a_tool_that_ignores_being_cancelled_holds_no_one_up(bench, monkeypatch):
    monkeypatch.setattr("oneclaw_core.tools.calls.running.CLEAN_UP_SECONDS", 0.05)
    released = asyncio.Event()

    async def stubborn(arguments, context):
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    bench.add(run=stubborn, timeout_seconds=0.05)

    async def run():
        (outcome,) = await bench.executor().execute([ToolCall("c", "probe", "{}")], bench.scope)
        released.set()
        return outcome.result

    assert asyncio.run(run()).error_type == "timeout"


def test_a_tools_own_timeout_error_is_not_taken_for_the_engines(bench):
    def run(arguments, context):
        raise TimeoutError("the printer did not answer")

    bench.add(run=run)
    assert bench.result().error_message == "TimeoutError: the printer did not answer"


def test_a_synchronous_execute_never_blocks_the_event_loop(bench):
    class Synchronous(Tool):
        def execute(self, arguments, context):
            threads.append(threading.get_ident())
            return "in a thread"

    threads = []
    bench.registry.register(Synchronous("probe", None))
    assert bench.result() == ToolResult.success("in a thread")
    assert threads != [threading.get_ident()]


def test_execute_may_leave_out_the_context(bench):
    class Simple:
        definition = ToolDefinition("probe", "Probes.")

        async def execute(self, arguments):
            return {"got": arguments}

    bench.registry.register(Simple())
    assert bench.result().result == {"got": {}}


def test_calls_run_in_parallel_and_return_in_order(bench):
    meeting = asyncio.Barrier(3)

    async def run(arguments, context):
        await meeting.wait()
        return ToolResult.success(arguments["text"])

    bench.add(run=run, parameters=TEXT, timeout_seconds=10)
    outcomes = bench.outcomes(*(("probe", {"text": text}) for text in "abc"))
    assert [outcome.result.result for outcome in outcomes] == ["a", "b", "c"]


def test_outcomes_arrive_when_they_are_there(bench):
    order = asyncio.Event()

    async def slow(arguments, context):
        await order.wait()

    def fast(arguments, context):
        order.set()

    bench.add("slow", slow)
    bench.add("fast", fast)

    async def run():
        calls = [ToolCall("1", "slow", "{}"), ToolCall("2", "fast", "{}")]
        return [item.call.name async for item in bench.executor().execute_as_completed(calls, bench.scope)]

    assert asyncio.run(run()) == ["fast", "slow"]


@pytest.mark.long
def test_two_hundred_calls_in_one_response_each_get_a_result(bench):
    bench.add(run=lambda arguments, context: ToolResult.success(arguments["text"]), parameters=TEXT)
    outcomes = bench.outcomes(*(("probe", {"text": str(n)}) for n in range(200)))
    assert [outcome.result.result for outcome in outcomes] == [str(n) for n in range(200)]


def test_cancelling_ends_the_tools_that_run(bench):
    ended = []

    async def run(arguments, context):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(context.call_id)

    bench.add(run=run)

    async def cancel():
        calls = [ToolCall(str(n), "probe", "{}") for n in range(3)]
        task = asyncio.create_task(bench.executor().execute(calls, bench.scope))
        while bench.registry.get_tool("probe").runs < 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert sorted(ended) == ["0", "1", "2"]


def test_permission_denial_is_returned_to_the_model(bench):
    tool = bench.add(required_permissions=("files.delete",))
    result = bench.result()
    assert result.error_type == "permission_denied"
    assert "oneclaw permissions grant files.delete" in result.error_message
    assert tool.runs == 0


def test_a_tool_can_ask_for_a_permission_while_it_runs_and_the_user_takes_their_time(tmp_path):
    async def slow_user(request):
        assert (request.permission, request.tool_name, request.detail) == ("door.open", "probe", "the front door")
        assert request.arguments == {"text": "please"}
        await asyncio.sleep(0.2)
        return PermissionAnswer.ONCE

    async def run(arguments, context):
        await context.ask_permission("door.open", "the front door")
        return ToolResult.success("open")

    bench = Workbench(tmp_path, ask=slow_user)
    bench.add(run=run, parameters=TEXT, timeout_seconds=0.1)
    assert bench.result(arguments={"text": "please"}) == ToolResult.success("open")


def test_progress_is_passed_on_before_the_outcome(bench):
    def run(arguments, context):
        context.progress("half", 0.5)
        return asyncio.sleep(0.01, ToolResult.success("done"))

    bench.add(run=run)

    async def collect():
        call = ToolCall("1", "probe", "{}")
        return [item async for item in bench.executor().execute_as_completed([call], bench.scope)]

    progress, outcome = asyncio.run(collect())
    assert isinstance(progress, ToolProgress)
    assert (progress.message, progress.fraction) == ("half", 0.5)
    assert isinstance(outcome, ToolOutcome)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        (None, ""),
        ({"a": [1, 2.5, None, True]}, {"a": [1, 2.5, None, True]}),
        ("lone \ud800 surrogate and \x00", "lone ? surrogate and \ufffd"),
        ({"key \udfff": "\x00"}, {"key ?": "\x00"}),
    ],
)
def test_any_value_a_tool_returns_can_be_stored_and_sent(bench, value, shown):
    bench.add(run=lambda arguments, context: value)
    result = bench.result()
    assert result == ToolResult.success(shown)
    json.dumps(result.to_dict(), ensure_ascii=False).encode()


def test_a_tool_in_a_thread_cannot_interrupt_the_program(bench):
    @tool
    def probe() -> str:
        """Probes."""
        raise KeyboardInterrupt

    bench.registry.register(probe)
    result = bench.result()
    assert result.error_type == "execution_error"
    assert "KeyboardInterrupt" in result.error_message


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", float("nan")])
def test_a_value_that_json_cannot_hold_is_an_error_that_says_so(bench, value):
    bench.add(run=lambda arguments, context: ToolResult.success(value))
    result = bench.result()
    assert result.error_type == "execution_error"
    assert type(value).__name__ in result.error_message


def test_what_is_too_long_to_be_kept_is_cut_and_says_so(bench, monkeypatch):
    monkeypatch.setattr("oneclaw_core.types.tools.MAX_KEPT_CHARACTERS", 10)
    values = iter(("x" * 10, "x" * 10 + "y" * 15, ToolResult.error("odd", "x" * 10 + "y" * 1_000)))
    bench.add(run=lambda arguments, context: next(values))
    note = "\n[cut here: {} of {} characters are not shown; ask for a smaller part]"
    assert bench.result().result == "x" * 10
    assert bench.result().result == "x" * 10 + note.format(15, 25)
    assert bench.result().error_message == "x" * 10 + note.format("1,000", "1,010")


def test_json_and_attachments_that_are_too_large_to_be_kept_are_an_error(bench, monkeypatch):
    monkeypatch.setattr("oneclaw_core.tools.calls.steps.MAX_KEPT_CHARACTERS", 10)
    monkeypatch.setattr("oneclaw_core.tools.calls.steps.MAX_KEPT_ATTACHMENT_BYTES", 3)
    attachments = [(Attachment("a.png", "image/png", b"12"),) * count for count in (1, 2)]
    values = iter(([1, 2, 3, 4], [1, 2, 3], *(ToolResult.success("", each) for each in attachments)))
    bench.add(run=lambda arguments, context: next(values))
    results = [bench.result() for _ in range(4)]
    assert [each.error_type for each in results] == ["execution_error", None, None, "execution_error"]
    assert "12 characters of JSON, and only 10 can be kept" in results[0].error_message
    assert "attachments of 4 bytes, and only 3 can be kept" in results[3].error_message


def test_other_arguments_are_another_call(bench):
    tool = bench.add(run=lambda arguments, context: ToolResult.error("execution_error", "no such mail"))
    for n in range(5):
        assert bench.result(arguments={"text": str(n)}).error_message == "no such mail"
    assert tool.runs == 5


def test_edge_case_very_long_group_of_failures_is_kept_short(bench):
    def run(arguments, context):
        raise ValueError("x" * 100_000)

    bench.add(run=run)
    assert len(bench.result().error_message) <= 2000


def test_an_agent_without_the_tool_cannot_call_it(bench):
    bench.add()
    bench.scope = Caller(ActiveTools(()), "Restricted")
    result = bench.result()
    assert (result.error_type, result.error_message) == (
        "not_available",
        "Tool 'probe' is not available for this agent: it is not among this agent's tools.",
    )


def test_a_tool_of_a_disabled_group_says_how_to_enable_the_group(bench):
    bench.add("pdf_info", group="pdf")
    bench.registry.set_disabled([], ["pdf"])
    assert bench.result("pdf_info").error_message.endswith("oneclaw tools enable --group pdf")


def test_a_denied_permission_counts_for_tools_that_do_not_declare_it(tmp_path):
    async def fetch(arguments, context):
        return (await context.http.get("http://192.0.2.1/")).text

    def read(arguments, context):
        return context.paths.readable("a.txt").read_text()

    async def run():
        policy = policy_of(
            [Grant(each, decision=Decision.DENY) for each in ("network.public", "files.read", "network.private")],
            bench.remember,
        )
        executor = executor_of(bench, policy)
        calls = [ToolCall("1", "fetch", "{}"), ToolCall("2", "read", "{}")]
        return await executor.execute(calls, Caller(bench.registry.toolset().active([]), "Tester"))

    (tmp_path / "a.txt").write_text("a")
    bench = Workbench(tmp_path)
    bench.add("fetch", fetch)
    bench.add("read", read)
    assert [outcome.result.error_type for outcome in asyncio.run(run())] == ["permission_denied"] * 2


def test_arguments_that_are_no_text_at_all_still_give_a_result(bench):
    bench.add()

    async def run():
        return await bench.executor().execute(
            [ToolCall("1", "probe", {"a": 1}), ToolCall("2", "probe", None)], bench.scope
        )

    assert [outcome.result.error_type for outcome in asyncio.run(run())] == ["execution_error"] * 2


def test_attachments_that_are_none_are_an_error(bench):
    bench.add(run=lambda arguments, context: ToolResult.success("a", (5,)))
    assert bench.result().error_type == "execution_error"


def test_a_question_that_is_cancelled_is_answered_all_the_same(tmp_path):
    async def closed_dialog(request):
        raise asyncio.CancelledError

    bench = Workbench(tmp_path, ask=closed_dialog)
    bench.add(required_permissions=("door.open",))
    assert bench.result().error_type == "permission_denied"


@pytest.mark.parametrize(("given", "passed_on"), [("50%", None), (float("nan"), None), (7, 1.0), (-1, 0.0), (0.5, 0.5)])
def test_a_fraction_that_is_none_is_left_out(bench, given, passed_on):
    def run(arguments, context):
        context.progress("on the way", given)
        return asyncio.sleep(0.01, ToolResult.success(""))

    bench.add(run=run)

    async def collect():
        call = ToolCall("1", "probe", "{}")
        return [item async for item in bench.executor().execute_as_completed([call], bench.scope)]

    assert asyncio.run(collect())[0].fraction == passed_on


def test_the_timeout_of_a_thread_says_that_it_goes_on(bench):
    may_end, has_ended = threading.Event(), threading.Event()

    class Synchronous(Tool):
        def execute(self, arguments, context):
            may_end.wait(10)
            has_ended.set()

    bench.registry.register(Synchronous("probe", None, timeout_seconds=0.05))
    result = bench.result()
    assert result.error_type == "timeout"
    assert "may go on in the background" in result.error_message
    assert "stopped after" not in result.error_message
    assert not has_ended.is_set()
    may_end.set()
    assert has_ended.wait(10)


def test_nothing_is_heard_of_a_call_after_its_outcome_and_no_lone_surrogates_before(bench):
    timed_out, reported = threading.Event(), threading.Event()

    class Synchronous(Tool):
        def execute(self, arguments, context):
            context.progress("half \ud800" + "x" * 5_000, 0.5)
            timed_out.wait(10)
            context.progress("still here")
            reported.set()

    async def wait_for_other(arguments, context):
        while not reported.is_set():
            await asyncio.sleep(0.005)
        return ToolResult.success("")

    bench.registry.register(Synchronous("probe", None, timeout_seconds=0.5))
    bench.add("other", wait_for_other)

    async def collect():
        items = []
        calls = [ToolCall("1", "probe", "{}"), ToolCall("2", "other", "{}")]
        async for item in bench.executor().execute_as_completed(calls, bench.scope):
            items.append(item)
            if isinstance(item, ToolOutcome):
                timed_out.set()
        return items

    first, *outcomes = asyncio.run(collect())
    assert first.message == ("half ?" + "x" * 5_000)[:1_000]
    assert [(type(item), item.call.id) for item in outcomes] == [(ToolOutcome, "1"), (ToolOutcome, "2")]


def test_a_function_made_a_tool_that_runs_in_a_thread_is_told_of_alike(bench):
    may_end = threading.Event()

    @tool(timeout_seconds=0.05)
    def probe() -> str:
        """Probes."""
        may_end.wait(10)
        return "done"

    bench.registry.register(probe)
    assert "may go on in the background" in bench.result().error_message
    may_end.set()


def test_a_tool_that_has_ended_is_not_cancelled_any_more(bench):
    kept = []

    async def keep(outcome):
        kept.append(outcome.result)

    async def run():
        may_end = asyncio.Event()

        async def probe(arguments, context):
            await may_end.wait()
            return ToolResult.success("done")

        bench.add(run=probe)
        bench.add("quick")
        calls = [ToolCall("c0", "probe", "{}"), ToolCall("c1", "quick", "{}")]
        items = bench.executor().execute_as_completed(calls, bench.scope, keep)
        assert (await anext(items)).call.name == "quick"
        may_end.set()
        # The tool ends in this round of the event loop, and its call hears of it in the next one.
        await asyncio.sleep(0)
        await items.aclose()

    asyncio.run(run())
    assert kept == [ToolResult.success("done")] * 2


def test_an_outcome_that_cannot_be_kept_ends_the_iteration(bench):
    async def keep(outcome):
        raise OSError("no space left")

    async def run():
        bench.add()
        async for _ in bench.executor().execute_as_completed([ToolCall("c", "probe", "{}")], bench.scope, keep):
            raise AssertionError("an outcome that is not kept is not told")

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(run())


@pytest.mark.parametrize(("answer", "status"), [(PermissionAnswer.ONCE, "success"), (PermissionAnswer.NO, "error")])
def test_a_synchronous_tool_can_ask_for_a_permission_too(tmp_path, answer, status):
    async def slow_user(request):
        assert (request.permission, request.detail) == ("door.open", "the front door")
        await asyncio.sleep(0.2)
        return answer

    class Synchronous(Tool):
        def execute(self, arguments, context):
            context.ask_permission_sync("door.open", "the front door")
            return "open"

    bench = Workbench(tmp_path, ask=slow_user)
    bench.registry.register(Synchronous("probe", None, timeout_seconds=0.1))
    result = bench.result()
    assert result.status == status
    assert result.error_type == (None if status == "success" else "permission_denied")


def test_an_async_tool_that_asks_in_the_synchronous_way_is_told_how(bench):
    async def run(arguments, context):
        context.ask_permission_sync("door.open")

    bench.add(run=run)
    assert "await context.ask_permission" in bench.result().error_message


def test_a_definition_is_taken_when_the_tool_is_registered(bench):
    class Changing(Tool):
        @property
        def definition(self):
            self.asked += 1
            return ToolDefinition("probe" if self.asked == 1 else "other", "Probes.", timeout_seconds=self.asked)

        @definition.setter
        def definition(self, value):
            self.asked = 0

    changing = Changing("probe", lambda arguments, context: "done")
    bench.registry.register(changing)
    assert bench.result() == ToolResult.success("done")
    assert bench.registry.get_definition("probe").timeout_seconds == 1
    assert changing.asked == 1


@pytest.mark.parametrize(
    "arguments",
    [{"text": "ab", "count": "2"}, '```json\n{"text": "ab", "count": 2}\n```', '"{\\"text\\":\\"ab\\",\\"count\\":2}"'],
)
def test_arguments_that_are_almost_right_are_read(bench, arguments):
    def run(arguments, context):
        return ToolResult.success(arguments["text"] * arguments["count"])

    bench.add(run=run, parameters=TEXT)
    assert bench.result(arguments=arguments).result == "abab"


def test_arguments_that_are_read_leniently_are_validated_and_decided_on(tmp_path):
    asked = []

    async def ask(request):
        asked.append(request.arguments)
        return PermissionAnswer.ONCE

    bench = Workbench(tmp_path, ask)
    probe = bench.add(parameters=TEXT, required_permissions=("shell.execute",))
    refused = bench.result(arguments={"text": "ab", "count": "0"})
    assert refused.error_type == "validation_error"
    assert "'0' is not of type 'integer'" in refused.error_message
    assert (probe.runs, asked) == (0, [])
    assert bench.result(arguments={"text": "2", "count": "2"}).is_success
    assert asked == [{"text": "2", "count": 2}]


def test_a_group_is_loaded_by_a_call_that_is_read_leniently(loading_bench):
    loading_bench.add("pdf_info", group="pdf", parameters=TEXT)
    loading = ("load_tool_group", '```json\n{"group_name": "pdf"}\n```')
    loaded, used = loading_bench.outcomes(loading, ("pdf_info", {"text": "a.pdf"}))
    assert (loaded.result.status, used.result.status) == ("success", "success")


def test_an_exception_without_a_message_is_called_by_its_type(bench):
    def fails(arguments, context):
        raise LookupError

    bench.add(run=fails)
    assert bench.result().error_message == "LookupError"


def test_an_exception_is_told_with_its_type_and_message(bench):
    def fails(arguments, context):
        raise LookupError("no such door")

    bench.add(run=fails)
    assert bench.result().error_message == "LookupError: no such door"


@pytest.mark.parametrize(
    ("denied", "error_type"),
    [((), None), (("files.read",), None), (("files.read", "network.public"), "permission_denied")],
)
def test_a_tool_that_asks_itself_runs_unless_all_that_it_may_need_is_denied(tmp_path, denied, error_type):
    async def run():
        policy = policy_of([Grant(each, decision=Decision.DENY) for each in denied], bench.remember)
        executor = executor_of(bench, policy)
        scope = Caller(bench.registry.toolset().active([]), "Tester")
        return (await executor.execute([ToolCall("1", "probe", "{}")], scope))[0].result

    bench = Workbench(tmp_path)
    bench.add(required_permissions=("files.read", "network.public"), behaviour=ToolBehaviour(asks_itself=True))
    assert asyncio.run(run()).error_type == error_type


def told(result):
    return result.error_type, result.error_message


def test_why_a_tool_cannot_be_called_is_said_whole(bench):
    bench.add("read_file")
    bench.add("read_mail", group="mail")
    bench.registry.register_group(ToolGroupDefinition("mail", "Mail", "Mails."))
    bench.add("probe")
    none = "Tool '{}' is not available: there is none of that name."
    for name, message in (
        ("read_fil", none.format("read_fil") + " Did you mean read_file?"),
        ("mail", none.format("mail") + " 'mail' is a tool group: call load_tool_group with group_name 'mail'."),
        ("zzz", none.format("zzz")),
        ("z" * 300, none.format("z" * 100)),
    ):
        assert told(bench.result(name)) == ("not_found", message)
    bench.registry.how_to_get = partial(missing_part, absent={})
    missing = told(bench.result("webfetch"))[1]
    assert missing.startswith(none.format("webfetch") + " ")
    assert missing.endswith(".")
    assert "oneclaw-web" in missing
    assert missing[len(none.format("webfetch")) + 1].isupper()
    not_loaded = (
        "Tool 'read_mail' is not available for this agent: it belongs to the tool group 'mail', which is not loaded. "
        "Call load_tool_group with group_name 'mail' first."
    )
    assert told(bench.result("read_mail")) == ("not_available", not_loaded)


def test_what_is_disabled_says_how_to_enable_it(bench):
    bench.add("probe")
    bench.add("read_mail", group="mail")
    bench.add("send_mail", group="mail")
    bench.loaded = ["mail"]
    bench.registry.register(
        Tool("acme", lambda arguments, context: "x"), ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme")
    )
    bench.registry.set_disabled(["probe", "send_mail"], [])
    how = "Tool '{}' is disabled. The user can enable it with: oneclaw tools enable {}"
    assert told(bench.result("probe")) == ("not_available", how.format("probe", "probe"))
    assert told(bench.result("send_mail")) == ("not_available", how.format("send_mail", "send_mail"))
    bench.registry.set_disabled([], ["mail"])
    assert told(bench.result("read_mail")) == ("not_available", how.format("read_mail", "--group mail"))
    bench.registry.set_disabled_plugins(["acme"])
    assert told(bench.result("acme")) == (
        "not_available",
        "Tool 'acme' is not available: its plugin is disabled. The user can enable it with: oneclaw plugins enable "
        "acme",
    )
    bench.registry.set_disabled(["acme"], [])
    bench.registry.set_disabled_plugins([])
    assert told(bench.result("acme")) == ("not_available", how.format("acme", "acme"))


def test_a_tool_that_an_agent_does_not_have_says_so(bench):
    bench.add("probe")
    bench.add("other")
    selection = ToolSelection.naming(["other"])
    bench.scope = Caller(bench.registry.toolset(selection).active([]), "Tester", "session", selection)
    assert told(bench.result("probe")) == (
        "not_available",
        "Tool 'probe' is not available for this agent: it is not among this agent's tools.",
    )


def test_wrong_arguments_are_told_with_the_tool(bench):
    bench.add(parameters=TEXT)
    for given, message in (
        (
            {"text": 1, "count": 0},
            "Tool 'probe' was called with wrong arguments:\n/count: 0 is less than the minimum of "
            "1\n/text: 1 is not of type 'string'",
        ),
        ("[1]", "Tool 'probe': the arguments must be a JSON object, not '[1]'"),
        ("x", "Tool 'probe': the arguments are not valid JSON: Expecting value at character 1, near 'x'"),
    ):
        assert told(bench.result("probe", given if isinstance(given, str) else json.dumps(given))) == (
            *("validation_error", message),
        )


class Plugins:
    """Plugins at work, as far as the executor is concerned."""

    governs_calls = True

    def __init__(self, **hooks):
        self.hooks, self.infos, self.finished, self.decided = hooks, [], [], []

    def are_about(self, tool, group, *, is_in_turn, is_read_only):
        return tool != "free"

    def of_call(self, **about):
        self.infos.append(about)
        return Hooked(self)

    async def observers_have_room(self):
        pass

    async def context_of_tool(self, plugin):
        if "start" in self.hooks:
            raise self.hooks["start"]


class Hooked:
    def __init__(self, plugins):
        self.plugins = plugins

    async def rewrite(self, arguments, faults_of):
        self.plugins.faults = faults_of({"text": 7})
        rewritten = self.plugins.hooks.get("rewrite", arguments)
        if isinstance(rewritten, Exception):
            raise rewritten
        return rewritten

    async def check(self, ask):
        for given in self.plugins.hooks.get("ask", ()):
            await ask(*given)
        if "check" in self.plugins.hooks:
            raise self.plugins.hooks["check"]

    def around(self):
        return None

    async def rewrite_result(self, result):
        return self.plugins.hooks.get("result", result)

    def finished(self, result):
        self.plugins.finished.append(result)

    def decided(self, permission, subject, *, is_granted, decided_by):
        self.plugins.decided.append((permission, subject, is_granted, decided_by))


def governed(bench, plugins, name="probe", arguments='{"text": "a"}', grants=(), **scope):
    policy = policy_of(list(grants), bench.remember, bench.ask, bench.allowed)
    active = bench.registry.toolset().active(bench.loaded)
    made = Caller(active, "Tester", "session", **scope)
    executor = executor_of(bench, policy, plugins=plugins)
    (outcome,) = asyncio.run(executor.execute([ToolCall("c1", name, arguments)], made))
    return outcome.result


def test_plugins_see_a_call_and_decide_on_it(bench):
    seen = []

    def run(arguments, context):
        seen.append(arguments)
        return ToolResult.success("done")

    bench.add(run=run, parameters=TEXT, group="texts", required_permissions=["network.public"])
    bench.loaded = ["texts"]
    plugins = Plugins(rewrite={"text": "rewritten"}, result=ToolResult.success("other"))
    assert governed(bench, plugins, kind="program") == ToolResult.success("other")
    assert seen == [{"text": "rewritten"}]
    assert plugins.infos == [
        {
            "id": "c1",
            "tool": "probe",
            "arguments": {"text": "a"},
            "group": "texts",
            "plugin": None,
            "required_permissions": ("network.public",),
            "agent": "Tester",
            "turn": None,
            "caller": "program",
            "is_read_only": False,
            "parent_call_id": None,
        }
    ]
    assert plugins.faults == ["/text: 7 is not of type 'string'"]
    assert plugins.finished == [ToolResult.success("other")]
    assert plugins.decided == [("network.public", None, True, "default")]
    unknown = Plugins()
    governed(bench, unknown, "none", "[1]")
    assert unknown.infos[0] == {
        **{"id": "c1", "tool": "none", "arguments": {}, "group": None, "plugin": None, "required_permissions": ()},
        **{"agent": "Tester", "turn": None, "caller": "model", "is_read_only": False, "parent_call_id": None},
    }


def test_a_plugin_that_fails_or_refuses_keeps_a_call_from_running(bench):
    tool = bench.add(parameters=TEXT)
    for hooks, kind, message in (
        (
            {"rewrite": PluginError("plugin acme: it broke")},
            "execution_error",
            "The call was not run: plugin acme: it broke.",
        ),
        (
            {"check": PermissionDeniedError("The plugin acme refuses this: no", "probe")},
            "permission_denied",
            "The plugin acme refuses this: no",
        ),
        (
            {"start": PluginError("it does not start")},
            "not_available",
            "Tool 'probe' is not available: it does not start.",
        ),
    ):
        plugins = Plugins(**hooks)
        assert told(governed(bench, plugins)) == (kind, message)
        assert [told(each) for each in plugins.finished] == [(kind, message)]
    assert tool.runs == 0
    plugins = Plugins(ask=[("mail.send", "send it", "ada")])
    result = governed(bench, plugins, grants=[Grant("mail.send", None, Decision.DENY)])
    assert result.error_type == "permission_denied"
    assert plugins.decided == [("mail.send", "ada", False, "denial")]
    free = bench.add("free")
    assert governed(bench, Plugins(check=PermissionDeniedError("no", "x")), "free", "{}").is_success
    assert free.runs == 1


def test_what_a_tool_reads_is_declared(bench):
    supplied = ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme", is_supplied=True)
    for name, reads, source, marks in (
        ("a", ("private",), ToolSourceInfo.BUILTIN, ["private"]),
        ("b", (), ToolSourceInfo.BUILTIN, []),
        ("c", (), supplied, ["outside", "private"]),
        ("d", ("outside",), supplied, ["outside"]),
        ("e", (), replace(supplied, type=ToolSourceType.JS_EXTENSION), ["outside"]),
    ):
        registry = ToolRegistry()
        registry.register(Tool(name, lambda arguments, context: ToolResult.success("x"), reads=reads), source)
        bench.registry, bench.scope = registry, None
        (outcome,) = bench.outcomes((name, {}))
        declared = [each for each in outcome.marks if each.origin == f"the tool {name}"]
        assert [each.kind.value for each in declared] == marks, name


def test_a_question_says_on_whose_behalf_it_is(bench):
    asked = []

    async def ask(request):
        asked.append(request)
        return PermissionAnswer.ONCE

    bench.ask = ask
    bench.add(
        "exec",
        parameters={"type": "object", "properties": {"command": {"type": "string"}}},
        required_permissions=["shell.execute"],
    )
    budget = TurnBudget((), 1)
    given = ToolContext(bench.home, "outer", "Lead", "create_agent", "c0", PathGuard(bench.home, bench.home))
    outer = TurnScope(budget)
    turn = TurnScope(budget, replace(given, turn=outer), task="t1", session_name="task one")
    held = Provenance()
    held.add([Mark.of(MarkKind.OUTSIDE, "the mail 1"), Mark.of(MarkKind.PRIVATE, "the calendar")])
    for scope, expected in (
        (
            {},
            {
                "session_id": "session",
                "task": None,
                "on_behalf_of": (),
                "sub_agent": None,
                "holds": "",
                "asks_again": False,
            },
        ),
        ({"asked_in": "stand in"}, {"session_id": "stand in"}),
        ({"conversation": held}, {"holds": held.in_words(), "asks_again": True}),
        ({"turn": outer}, {"session_id": "session", "on_behalf_of": (), "sub_agent": None}),
    ):
        asked.clear()
        governed(bench, None, "exec", '{"command": "ls"}', **scope)
        (request,) = asked
        assert (request.permission, request.tool_name, request.arguments, request.subject, request.directory) == (
            *("shell.execute", "exec", {"command": "ls"}, "ls", str(bench.home)),
        )
        assert (request.agent, request.detail, request.as_a_whole) == ("Tester", "", False)
        assert (request.meaning, request.meaning_by) == (KNOWN_PERMISSIONS["shell.execute"], None)
        for name, value in expected.items():
            assert getattr(request, name) == value, name
    made = Caller(bench.registry.toolset().active([]), "Tester", "inner", turn=turn)
    assert made.session_of_user == "outer"
    assert (turn.outer_agents(), turn.sub_agent("Tester")) == (("Lead",), "task one (Tester)")


def test_a_supplied_tool_without_a_permission_is_asked_about_where_data_could_leave(bench):
    asked = []

    async def ask(request):
        asked.append((request.permission, request.detail, request.subject))
        return PermissionAnswer.ONCE

    bench.ask = ask
    supplied = ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme", is_supplied=True)
    bench.registry.register(Tool("probe", lambda arguments, context: ToolResult.success("x"), TEXT), supplied)
    outside, private = Mark.of(MarkKind.OUTSIDE, "a"), Mark.of(MarkKind.PRIVATE, "b")
    # The description of a tool that a server supplies is text from outside, too.
    for marks, count in (((), 0), ((outside,), 0), ((private,), 1), ((outside, private), 1)):
        asked.clear()
        held = Provenance()
        held.add(list(marks))
        assert governed(bench, None, conversation=held).is_success
        assert len(asked) == count
    assert asked == [("data.send", "give the tool probe, which a server supplies, these arguments", "probe")]


def test_a_tool_gets_the_context_of_its_call(bench):
    seen = []
    bench.add(run=lambda arguments, context: seen.append(context) or ToolResult.success("x"))
    selection = ToolSelection.naming(["probe"])
    deps = object()
    policy = policy_of(
        [Grant("files.read", "/a", Decision.DENY), Grant("files.write", None, Decision.DENY)], bench.remember
    )
    executor = executor_of(bench, policy, deps=deps)
    scope = Caller(
        bench.registry.toolset().active([]),
        "Tester",
        "session",
        selection,
        TurnScope(TurnBudget((), 1), shown_characters=7),
        kind="program",
    )
    asyncio.run(executor.execute([ToolCall("c9", "probe", "{}")], scope))
    (found,) = seen
    assert (found.home, found.session_id, found.agent_name, found.tool_name, found.call_id) == (
        *(bench.home, "session", "Tester", "probe", "c9"),
    )
    assert (found.deps, found.selection, found.shown_characters, found.turn) == (deps, selection, 7, scope.turn)
    assert found.conversation is scope.conversation
    assert found.paths.denied == {"files.read:/a", "files.write"}


@pytest.mark.parametrize(
    ("answer", "error_type", "runs"),
    [(PermissionAnswer.ONCE, None, 1), (PermissionAnswer.NO, "permission_denied", 0), (None, "permission_denied", 0)],
)
def test_a_foreign_tool_gets_nothing_that_could_leak_before_the_user_agrees(bench, answer, error_type, runs):
    asked = []

    async def ask(request):
        asked.append(request.permission)
        return answer

    bench.ask = ask if answer is not None else None
    foreign = Tool("probe", lambda arguments, context: ToolResult.success("x"), TEXT)
    bench.registry.register(foreign, ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme", is_supplied=True))
    held = Provenance()
    held.add([Mark.of(MarkKind.OUTSIDE, "the mail 1"), Mark.of(MarkKind.PRIVATE, "the calendar")])
    assert (governed(bench, None, conversation=held).error_type, foreign.runs) == (error_type, runs)
    assert asked == (["data.send"] if answer is not None else [])


@pytest.mark.parametrize(
    ("answer", "error_type", "runs"),
    [(PermissionAnswer.ONCE, None, 1), (PermissionAnswer.NO, "permission_denied", 0), (None, "permission_denied", 0)],
)
def test_a_call_that_the_model_wrote_as_text_runs_after_a_question(bench, answer, error_type, runs):
    asked = []

    async def ask(request):
        asked.append((request.permission, request.detail))
        return answer

    bench.ask = ask if answer is not None else None
    written = bench.add(parameters=TEXT)
    assert (governed(bench, None, are_calls_text=True).error_type, written.runs) == (error_type, runs)
    question = ("calls.as_text", "run probe, whose call the model wrote as text")
    assert asked == ([question] if answer is not None else [])
    assert governed(bench, None).is_success
    assert len(asked) == (1 if answer is not None else 0)


@pytest.mark.parametrize("reads", [("outside",), ("private",), ("outside", "private")])
def test_the_session_holds_what_a_tool_declares_that_it_reads(bench, reads):
    bench.add(parameters=TEXT, reads=reads)
    held = Provenance()
    assert governed(bench, None, conversation=held).is_success
    assert (bool(held.outside), bool(held.private)) == ("outside" in reads, "private" in reads)


def _refused(arguments, context):
    raise ValueError("refused the key sk-12345678901234567890")


@pytest.mark.parametrize(
    "run",
    [
        _refused,
        lambda arguments, context: ToolResult.error("execution_error", "refused the key sk-12345678901234567890"),
        lambda arguments, context: ToolResult.error("denied", "no sk-12345678901234567890"),
    ],
)
def test_no_error_quotes_a_key(bench, run):
    remember_secret("sk-12345678901234567890")
    bench.add(run=run)
    message = bench.result().error_message
    assert "[redacted]" in message
    assert "sk-1" not in message


@pytest.mark.parametrize("value", ["text", {"id": "3"}, [1]])
def test_a_result_outside_of_its_schema_is_logged_once(bench, caplog, value):
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    bench.add(run=lambda arguments, context: ToolResult.success(value), output_schema=schema)
    with caplog.at_level(logging.WARNING, "oneclaw.tools"):
        assert [each.result.result for each in bench.outcomes(*[("probe", {})] * 3)] == [value] * 3
        for _ in range(500):
            if caplog.records:
                break
            time.sleep(0.01)
    assert [each.getMessage().partition(":")[0] for each in caplog.records] == ["tool probe"]
