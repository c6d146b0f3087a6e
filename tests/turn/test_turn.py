"""The turn: FEAT-004 "Execution Flow", RFC-040 "SendMessageUseCase Tool Group Integration", RFC-044."""

import asyncio
import json
from dataclasses import replace

import pytest
from histories import pending_calls
from how_long import some
from stage import ScriptedModel, Stage, calls, says

from oneclaw_core import (
    GroupLoadedEvent,
    Message,
    MessageType,
    ProviderError,
    StoreError,
    TextEvent,
    TokenUsage,
    ToolCall,
    ToolCallEvent,
    ToolCallStatus,
    ToolResult,
    ToolResultEvent,
    TurnDeadlineError,
    TurnFinishedEvent,
    TurnLimitError,
    UsageEvent,
)
from oneclaw_core.providers import ModelResponse, TextDelta
from oneclaw_core.tools import ToolBehaviour
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.messages import StopReason

pytestmark = pytest.mark.every_python


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


class StuckModel(ScriptedModel):
    """Repeats its answers as long as it has tools."""

    def __init__(self, cycle, without_tools):
        super().__init__()
        self.cycle, self.without_tools = cycle, without_tools

    async def stream(self, request):
        has_tools = bool(tool_names(request))
        self.answers = [self.cycle[len(self.requests) % len(self.cycle)] if has_tools else self.without_tools]
        async for event in super().stream(request):
            yield event


def tool_names(request):
    return [definition.name for definition in request.tools]


def test_a_message_is_answered_and_stored(stage):
    async def run():
        async with stage.session():
            events = await stage.send(ScriptedModel(says("Hello!")))
            return events, await stage.rows(), await stage.store.usage_totals(stage.found.id)

    events, rows, usage = asyncio.run(run())
    assert events == [
        TextEvent("Hello!"),
        UsageEvent("scripted/model", TokenUsage(input_tokens=10, output_tokens=2)),
        TurnFinishedEvent("story", "Hello!"),
    ]
    assert [(row.type, row.content) for row in rows] == [
        (MessageType.USER, "hello"),
        (MessageType.ASSISTANT, "Hello!"),
    ]
    assert (usage.requests, usage.input_tokens, usage.cached_input_tokens) == (1, 10, None)


def test_040_01_initial_tool_list_contains_only_core_tools(stage):
    model = ScriptedModel(says("Hi"))
    stage.play((model, "hello"))
    assert tool_names(model.requests[0]) == ["load_tool_group", "echo"]


def test_040_02_system_prompt_includes_tool_group_listing(stage):
    model = ScriptedModel(says("Hi"))
    stage.play((model, "hello"))
    prompt = model.requests[0].system_prompt
    assert prompt.startswith(GENERAL_ASSISTANT.system_prompt + "\n\n---\n\n## Available Tool Groups\n")
    assert prompt.endswith("\n- pdf: Reads PDF files")


def test_040_03_load_tool_group_expands_the_active_tool_list(stage):
    model = ScriptedModel(
        calls(("load_tool_group", {"group_name": "pdf"})), calls(("pdf_info", {"path": "a.pdf"})), says("6 pages")
    )
    events = stage.play((model, "how many pages?"))
    assert [tool_names(request) for request in model.requests] == [
        ["load_tool_group", "echo"],
        ["load_tool_group", "echo", "pdf_info"],
        ["load_tool_group", "echo", "pdf_info"],
    ]
    assert GroupLoadedEvent("pdf", ("pdf_info",)) in events
    assert events[-1] == TurnFinishedEvent("story", "6 pages")
    shown = [(each.type, each.content) for each in model.requests[2].messages if each.type is MessageType.TOOL_RESULT]
    assert shown[1] == (MessageType.TOOL_RESULT, "Pages: 6")


def test_040_05_loaded_tools_persist_across_turns_and_programs(stage):
    stage.play((ScriptedModel(calls(("load_tool_group", {"group_name": "pdf"})), says("Loaded")), "load"))
    model = ScriptedModel(calls(("pdf_info", {})), says("6"))
    events = stage.play((model, "and now?"))
    assert tool_names(model.requests[0]) == ["load_tool_group", "echo", "pdf_info"]
    assert stage.pdf_info.runs == 1
    assert not any(isinstance(event, GroupLoadedEvent) for event in events)


def test_040_07_loading_again_is_a_success_without_duplicates(stage):
    load = ("load_tool_group", {"group_name": "pdf"})
    model = ScriptedModel(calls(load), calls(load), says("done"))
    events = stage.play((model, "load it twice"))
    assert tool_names(model.requests[2]) == ["load_tool_group", "echo", "pdf_info"]
    assert sum(isinstance(event, GroupLoadedEvent) for event in events) == 1
    assert all(event.result.is_success for event in events if isinstance(event, ToolResultEvent))


def test_040_12_grouped_tool_blocked_before_load(stage):
    model = ScriptedModel(calls(("pdf_info", {})), says("sorry"))
    events = stage.play((model, "pages?"))
    (result,) = [event.result for event in events if isinstance(event, ToolResultEvent)]
    assert result.error_type == "not_available"
    assert stage.pdf_info.runs == 0


def test_a_tool_called_beside_the_load_of_its_group_saves_a_request(stage):
    model = ScriptedModel(calls(("load_tool_group", {"group_name": "pdf"}), ("pdf_info", {})), says("6 pages"))
    events = stage.play((model, "how many pages?"))
    assert GroupLoadedEvent("pdf", ("pdf_info",)) in events
    assert model.requests[1].messages[-1].content == "Pages: 6"
    assert len(model.requests) == 2


@pytest.mark.parametrize("arguments", some([{"group_name": "nonexistent"}, {}, "{broken", '["pdf"]'], 4))
def test_a_failed_load_leaves_no_trace(stage, arguments):
    model = ScriptedModel(calls(("load_tool_group", arguments)), says("no"))
    stage.play((model, "load"))
    assert tool_names(model.requests[1]) == ["load_tool_group", "echo"]
    following = ScriptedModel(says("hi"))
    stage.play((following, "again"))
    assert tool_names(following.requests[0]) == ["load_tool_group", "echo"]


def test_rfc_044_a_group_that_is_gone_leaves_no_trace(stage):
    stage.play((ScriptedModel(calls(("load_tool_group", {"group_name": "pdf"})), says("Loaded")), "load"))
    del stage.tools["pdf_info"]
    model = ScriptedModel(says("hi"))
    stage.play((model, "again"))
    assert tool_names(model.requests[0]) == ["load_tool_group", "echo"]


def test_edge_case_a_tool_disabled_inside_a_loaded_group_is_neither_sent_nor_run(stage):
    stage.play((ScriptedModel(calls(("load_tool_group", {"group_name": "pdf"})), says("Loaded")), "load"))
    model = ScriptedModel(calls(("pdf_info", {})), says("hm"))

    async def disable_and_send():
        async with stage.session():
            await stage.store.set_tool_enabled("tool", "pdf_info", False)
            return await stage.send(model, "again")

    events = asyncio.run(disable_and_send())
    assert tool_names(model.requests[0]) == ["load_tool_group", "echo"]
    assert "There is no longer: Available Tool Groups" in model.requests[0].messages[-1].content
    assert [event.result.error_type for event in events if isinstance(event, ToolResultEvent)] == ["not_available"]


def test_parallel_calls_are_stored_before_any_result_and_results_join_them(stage):
    model = ScriptedModel(calls(("echo", {"text": "a"}), ("echo", {"text": "b"}), text="Two at once"), says("done"))

    async def run():
        async with stage.session():
            await stage.send(model)
            return await stage.rows()

    rows = asyncio.run(run())
    assert [row.type for row in rows] == [
        MessageType.USER,
        MessageType.ASSISTANT,
        MessageType.TOOL_CALL,
        MessageType.TOOL_CALL,
        MessageType.TOOL_RESULT,
        MessageType.TOOL_RESULT,
        MessageType.ASSISTANT,
    ]
    results = {row.tool_call_id: row.content for row in rows if row.type is MessageType.TOOL_RESULT}
    assert {row.tool_call_id: json.loads(row.tool_input)["text"] for row in rows[2:4]} == results
    assert {row.tool_status for row in rows[2:6]} == {ToolCallStatus.SUCCESS}
    assert [row.sequence for row in rows] == sorted(row.sequence for row in rows)


def test_edge_case_a_chain_of_more_than_ten_rounds(stage):
    model = ScriptedModel(*(calls(("echo", {"text": str(n)})) for n in range(15)), says("done"))
    events = stage.play((model, "go on"))
    assert stage.echo.runs == 15
    assert events[-1].text == "done"


def test_ids_that_a_service_repeats_are_made_unique(stage):
    model = ScriptedModel(
        calls(("echo", {"text": "1"})),
        calls(("echo", {"text": "2"})),
        ModelResponse(
            tool_calls=(ToolCall("", "echo", "{}"), ToolCall("x", "echo", "{}"), ToolCall("x", "echo", "{}"))
        ),
        says("done"),
    )
    events = stage.play((model, "go"))
    ids = [event.id for event in events if isinstance(event, ToolCallEvent)]
    assert ids[0] == "c0"
    assert len(set(ids)) == 5
    assert all(ids)


def test_a_poll_that_fails_is_run_again_until_it_succeeds(stage):
    answers = iter([*[ToolResult.error("execution_error", "not ready")] * 12, ToolResult.success("ready")])
    stage.add("build_status", lambda arguments: next(answers))
    model = ScriptedModel(*(calls(("build_status", {})) for _ in range(13)), says("It is ready"))
    events = stage.play((model, "wait for the build"))
    assert [event.result for event in events if isinstance(event, ToolResultEvent)][-1] == ToolResult.success("ready")
    assert events[-1].text == "It is ready"


@pytest.mark.parametrize(
    "cycle",
    some(
        [
            [calls(("echo", {"text": "a"}))],
            [calls(("missing", {}))],
            [calls(("echo", {"text": "a"})), calls(("echo", {"text": "b"}))],
            [calls(("counter", {}))],
        ],
        4,
    ),
    ids=some(["succeeding", "failing", "alternating", "changing"], 4),
)
def test_a_model_that_repeats_its_calls_explains_without_tools(stage, cycle):
    stage.settings["turn_max_tool_rounds"] = 200
    numbers = iter(range(1000))
    stage.add("counter", lambda arguments: ToolResult.success(next(numbers)))
    model = StuckModel(cycle, says("I cannot get any further."))
    events = stage.play((model, "do it"))
    assert len(model.requests) <= 21
    last = model.requests[-1]
    assert tool_names(last) == []
    assert [each.type for each in last.messages] == [MessageType.USER]
    assert '{"user":"do it"}' in last.messages[0].content
    assert events[-1] == TurnFinishedEvent("story", "I cannot get any further.")
    later = ScriptedModel(says("hi"))
    stage.play((later, "go on"))
    assert later.requests[0].messages[-2].content == "I cannot get any further."


@pytest.mark.long
def test_a_poll_may_be_called_more_than_twenty_times_while_it_changes(stage):
    numbers = iter(range(1000))
    stage.settings["turn_max_tool_rounds"] = 200
    poll = ToolBehaviour(is_poll=True)
    stage.add("progress", lambda arguments: ToolResult.success(next(numbers)), behaviour=poll)
    model = ScriptedModel(*(calls(("progress", {})) for _ in range(60)), says("done"))
    assert stage.play((model, "wait"))[-1].text == "done"


def test_a_stuck_model_that_explains_nothing_ends_the_turn_with_an_error(stage):
    stage.settings["turn_max_tool_rounds"] = 200
    model = StuckModel([calls(("echo", {"text": "a"}))], calls(("echo", {"text": "a"})))

    async def run():
        async with stage.session():
            with pytest.raises(TurnLimitError, match="repeated the same calls and made no progress"):
                await stage.send(model)
            return await stage.store.usage_totals(stage.found.id)

    assert asyncio.run(run()).requests == len(model.requests) <= 21
    assert stage.play((ScriptedModel(says("fine")), "go on"))[-1].text == "fine"


def test_a_long_result_is_cut_for_the_model_and_kept_whole_in_the_store(stage):
    stage.add("long", lambda arguments: ToolResult.success("x" * 5000))
    model = ScriptedModel(calls(("long", {})), says("done"))

    async def run():
        async with stage.session():
            await stage.send(model)
            return await stage.rows()

    rows = asyncio.run(run())
    assert rows[3].content == "x" * 5000
    shown = model.requests[1].messages[-1].content
    assert shown.startswith("x" * 1000 + "\n[cut here: 4,000 of 5,000 characters are not shown")
    following = ScriptedModel(says("hi"))
    stage.settings["tool_result_max_characters"] = 2000
    stage.play((following, "again"))
    assert following.requests[0].messages[3].content == shown


def test_a_limit_of_rounds_stops_the_turn_and_the_session_goes_on(stage):
    stage.settings["turn_max_tool_rounds"] = 3
    endless = ScriptedModel(*(calls(("echo", {"text": str(n)})) for n in range(10)))
    with pytest.raises(TurnLimitError, match=r"after 3 rounds of tool calls.*turn_max_tool_rounds"):
        stage.play((endless, "forever"))
    assert stage.echo.runs == 3
    assert stage.play((ScriptedModel(says("fine")), "stop"))[-1].text == "fine"


def test_a_deadline_stops_a_model_that_never_ends(stage):
    async def endless():
        yield TextDelta("and ")
        await asyncio.sleep(60)

    stage.settings["turn_deadline_seconds"] = 0.1
    model = ScriptedModel(endless)
    with pytest.raises(TurnDeadlineError, match=r"after 0\.1 seconds.*turn_deadline_seconds"):
        stage.play((model, "go"))
    assert model.closed_streams == 1


def test_a_deadline_stops_a_tool_and_its_call_is_answered_as_interrupted(stage):
    stage.add("slow", lambda arguments: asyncio.sleep(60))
    stage.settings["turn_deadline_seconds"] = 0.2

    async def run():
        async with stage.session():
            with pytest.raises(TurnDeadlineError):
                await stage.send(ScriptedModel(calls(("slow", {}))))
            return await stage.rows()

    rows = asyncio.run(run())
    assert (rows[-1].type, rows[-1].error_type) == (MessageType.TOOL_RESULT, "interrupted")


def test_cancelling_a_turn_answers_every_call_exactly_once(stage):
    started = asyncio.Event()

    async def slow(arguments):
        started.set()
        await asyncio.sleep(60)

    stage.add("slow", slow)

    async def run():
        async with stage.session():
            task = asyncio.create_task(stage.send(ScriptedModel(calls(("echo", {"text": "a"}), ("slow", {})))))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await stage.rows(), await pending_calls(stage.store, stage.found.id)

    rows, pending = asyncio.run(run())
    assert pending == []
    results = [row for row in rows if row.type is MessageType.TOOL_RESULT]
    assert sorted(row.tool_call_id for row in results) == ["c0", "c1"]
    assert {row.tool_call_id: row.error_type for row in results}["c1"] == "interrupted"


def test_stopping_to_listen_ends_the_turn(stage):
    stage.add("slow", lambda arguments: asyncio.sleep(60))

    async def run():
        async with stage.session():
            events = stage.turn(ScriptedModel(calls(("slow", {}))))
            async for event in events:
                if isinstance(event, ToolCallEvent):
                    break
            await events.aclose()
            return await stage.rows()

    assert asyncio.run(run())[-1].error_type == "interrupted"


def test_what_was_read_of_an_answer_that_broke_off_is_kept(stage):
    async def breaks_off():
        yield TextDelta("The answer ")
        yield TextDelta("is")
        raise ProviderError("the connection broke off")

    with pytest.raises(ProviderError, match="broke off"):
        stage.play((ScriptedModel(breaks_off), "what?"))
    model = ScriptedModel(says("42"))
    stage.play((model, "go on"))
    assert [each.content for each in model.requests[0].messages] == ["what?", "The answer is", "go on"]


def test_a_call_left_open_by_a_killed_program_is_answered_as_interrupted_and_never_run_again(stage):
    async def leave_behind():
        async with stage.session():
            left = Message(
                type=MessageType.TOOL_CALL,
                tool_call_id="c7",
                tool_name="echo",
                tool_input='{"text": "x"}',
                tool_status=ToolCallStatus.PENDING,
            )
            user = Message(type=MessageType.USER, content="do it")
            await stage.store.append(stage.found.id, [user, Message(type=MessageType.ASSISTANT), left])

    asyncio.run(leave_behind())
    model = ScriptedModel(says("I was interrupted"))
    stage.play((model, "what happened?"))
    assert stage.echo.runs == 0
    messages = model.requests[0].messages
    assert [each.type for each in messages][-2:] == [MessageType.TOOL_RESULT, MessageType.USER]
    assert (messages[-2].tool_call_id, messages[-2].error_type) == ("c7", "interrupted")


def test_a_provider_that_fails_leaves_the_session_intact(stage):
    with pytest.raises(ProviderError, match="no key"):
        stage.play((ScriptedModel(ProviderError("no key")), "hello"))
    model = ScriptedModel(says("hi"))
    stage.play((model, "again"))
    assert [each.content for each in model.requests[0].messages] == ["hello", "again"]


def test_a_tool_registered_during_the_turn_is_there_for_the_next_request(stage):
    def register_another(arguments):
        stage.add("fresh", lambda arguments: ToolResult.success("fresh"))
        return ToolResult.success("made")

    stage.add("maker", register_another)
    model = ScriptedModel(calls(("maker", {})), calls(("fresh", {})), says("done"))
    stage.play((model, "make one"))
    assert "fresh" in tool_names(model.requests[1])
    assert stage.tools["fresh"][0].runs == 1


def test_a_later_request_of_a_turn_and_of_another_process_see_the_same_history(stage):
    load = calls(("load_tool_group", {"group_name": "pdf"}), ("echo", {"text": "a"}), ("pdf_info", {}))
    first = ScriptedModel(load, says("done"))
    stage.play((first, "go"))
    second = ScriptedModel(says("hi"))
    stage.play((second, "again"))

    def seen(request):
        return [
            (each.type, each.content, each.tool_call_id, each.tool_status)
            for each in sorted(request.messages, key=lambda each: each.sequence)
        ]

    earlier = seen(first.requests[1])
    assert earlier == seen(second.requests[0])[: len(earlier)]
    assert [each[3] for each in earlier if each[0] is MessageType.TOOL_CALL] == [
        ToolCallStatus.SUCCESS,
        ToolCallStatus.SUCCESS,
        ToolCallStatus.SUCCESS,
    ]


async def until(condition):
    """Wait for what happens while no one asks for events."""
    async with asyncio.timeout(10):
        while not await condition():
            await asyncio.sleep(0.001)


def test_an_outcome_is_stored_although_no_one_asks_for_the_next_event(stage):
    slow_started, quick_may_end = asyncio.Event(), asyncio.Event()

    async def slow(arguments):
        slow_started.set()
        await asyncio.sleep(60)

    async def quick(arguments):
        await quick_may_end.wait()
        return ToolResult.success("it is done")

    stage.add("slow", slow)
    stage.add("quick", quick)

    async def run():
        async with stage.session():
            model = ScriptedModel(calls(("echo", {"text": "first"}), ("slow", {}), ("quick", {})))
            events = stage.turn(model)
            async for event in events:
                if isinstance(event, ToolResultEvent):
                    break
            assert event.name == "echo"
            await slow_started.wait()
            quick_may_end.set()

            async def is_stored():
                return [row for row in await stage.rows() if row.content == "it is done"]

            await until(is_stored)
            await events.aclose()
            return {row.tool_call_id: row.error_type for row in await stage.rows() if row.tool_status}

    assert asyncio.run(run()) == {"c0": None, "c1": "interrupted", "c2": None}


def test_outcomes_that_come_together_are_stored_together(stage):
    model = ScriptedModel(calls(*(("echo", {"text": str(n)}) for n in range(20))), says("done"))
    written = []

    async def run():
        async with stage.session():
            finish_calls = stage.store.finish_calls

            async def counting(session_id, results):
                written.append(len(results))
                return await finish_calls(session_id, results)

            stage.store.finish_calls = counting
            await stage.send(model)
            return await stage.rows()

    rows = asyncio.run(run())
    assert sorted(row.content for row in rows if row.type is MessageType.TOOL_RESULT) == sorted(map(str, range(20)))
    assert sum(written) == 20
    assert len(written) < 5


def test_outcomes_that_cannot_be_stored_end_the_turn_with_the_reason(stage):
    def break_the_store(arguments):
        stage.store.finish_calls = refuse
        return ToolResult.success("done")

    async def refuse(session_id, results):
        raise StoreError("the disk is full")

    stage.add("breaking", break_the_store)
    events = []

    async def run():
        async with stage.session():
            await stage.send(ScriptedModel(calls(("breaking", {}), ("echo", {}))), events=events)

    with pytest.raises(StoreError, match="the disk is full"):
        asyncio.run(run())
    assert not [event for event in events if isinstance(event, ToolResultEvent)]


def test_results_stand_in_the_order_of_their_calls_in_this_turn_and_the_next(stage):
    quick_has_ended = asyncio.Event()

    async def slow(arguments):
        await quick_has_ended.wait()
        return ToolResult.success("slow")

    stage.add("slow", slow)
    model = ScriptedModel(calls(("slow", {}), ("echo", {"text": "quick"})), says("done"))

    async def run():
        async with stage.session():
            arrived = []
            async for event in stage.turn(model):
                if isinstance(event, ToolResultEvent):
                    arrived.append(event.name)
                    quick_has_ended.set()
            return arrived

    assert asyncio.run(run()) == ["echo", "slow"]
    later = ScriptedModel(says("hi"))
    stage.play((later, "again"))
    for request in (model.requests[1], later.requests[0]):
        results = [each.content for each in request.messages if each.type is MessageType.TOOL_RESULT]
        assert results == ["slow", "quick"]


@pytest.mark.parametrize("reason", [StopReason.CONTENT_FILTER, StopReason.REFUSAL])
def test_an_empty_answer_that_was_refused_is_not_asked_for_again(stage, reason):
    model = ScriptedModel(replace(says(""), stop_reason=reason), says("never asked for"))
    with pytest.raises(
        ProviderError, match=rf"scripted/model answered with nothing \(finish reason: {reason}\); say it"
    ):
        stage.play((model, "tell me"))
    assert len(model.requests) == 1


@pytest.mark.parametrize("reason", [StopReason.CONTENT_FILTER, StopReason.REFUSAL])
def test_a_message_that_was_answered_with_a_refusal_does_not_go_with_later_ones(stage, reason):
    refused = ScriptedModel(replace(says(""), stop_reason=reason))
    with pytest.raises(ProviderError, match="marked as not sent"):
        stage.play((refused, "tell me"))
    later = ScriptedModel(says("fine"))
    stage.play((later, "something else"))
    assert [each.content for each in later.requests[0].messages] == ["something else"]


@pytest.mark.parametrize("reason", StopReason)
def test_the_last_event_says_why_the_answer_ends(stage, reason):
    finished = stage.play((ScriptedModel(replace(says("Half of"), stop_reason=reason)), "tell me"))[-1]
    assert finished == TurnFinishedEvent("story", "Half of", reason)
    assert finished.to_dict().get("stop_reason", "complete") == str(reason)
    assert (finished.notice is None) == (reason is StopReason.COMPLETE)
