"""Compaction, FEAT-011: which part of a conversation is summarised, and how it is sent from then on."""

import dataclasses
import itertools
import json

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_anthropic import wire as anthropic_wire
from oneclaw_gemini.wire import GeminiEncoder
from oneclaw_openai import chat_wire as openai_chat_wire
from oneclaw_openai.responses_wire import ResponsesEncoder

from oneclaw_core import Message, MessageType, ToolCallStatus
from oneclaw_core.compaction.estimate import message_tokens, text_tokens
from oneclaw_core.compaction.plan import NOT_SHOWN, CompactionReason, ContextLimits, plan, summary_without
from oneclaw_core.providers import ModelRequest
from oneclaw_core.tools import ActiveTools
from oneclaw_core.turn.request import SUMMARY_HEADING, with_summary

WINDOW = ContextLimits(context_window=10_000)
FIXED = 500  # tokens of system prompt and tools


def numbered(messages):
    return [dataclasses.replace(message, sequence=number) for number, message in enumerate(messages, start=1)]


def user(tokens=10):
    return Message(type=MessageType.USER, content="u" * 4 * tokens)


def assistant(tokens=10):
    return Message(type=MessageType.ASSISTANT, content="a" * 4 * tokens)


def call(call_id):
    return Message(
        type=MessageType.TOOL_CALL,
        tool_call_id=call_id,
        tool_name="echo",
        tool_input="{}",
        tool_status=ToolCallStatus.SUCCESS,
    )


def result(call_id, tokens=10):
    return Message(
        type=MessageType.TOOL_RESULT,
        content="r" * 4 * tokens,
        tool_call_id=call_id,
        tool_name="echo",
        tool_status=ToolCallStatus.SUCCESS,
    )


def turn(tokens):
    return [user(), assistant(tokens)]


def estimated(history, summary=None):
    return FIXED + sum(map(message_tokens, with_summary(history, summary)))


def plan_of(history, limits=WINDOW, summary=None, **options):
    return plan(history, summary, estimated(history, summary), limits, **options)


# When


def test_what_fits_stays_as_it_is():
    assert plan_of(numbered(turn(2000) * 3)) is None


def test_more_than_85_percent_of_the_window_is_too_much():
    history = numbered(turn(2000) * 4)
    room = WINDOW.input_tokens
    assert room == 8500
    assert plan(history, None, room, WINDOW) is None
    assert plan(history, None, room + 1, WINDOW).reason is CompactionReason.CONTEXT_WINDOW


@pytest.mark.parametrize(
    ("window", "reserve", "fits"),
    [(10_000, 0, 8500), (10_000, 1500, 8500), (10_000, 4000, 6000), (10_000, 10_000, 5000)],
)
def test_room_for_the_answer_is_kept_free_up_to_half_of_the_window(window, reserve, fits):
    assert ContextLimits(window, reserve).input_tokens == fits


def test_without_a_known_window_the_limit_of_the_history_decides():
    history = numbered(turn(2000) * 4)  # 32,000 characters and a few
    assert plan_of(history, ContextLimits()) is None
    assert plan_of(history, ContextLimits(history_max_characters=40_000)) is None
    chosen = plan_of(history, ContextLimits(history_max_characters=35_000))
    assert chosen.reason is CompactionReason.HISTORY_LIMIT
    assert chosen.kept == tuple(history[6:])  # another turn would be more than a quarter of the limit


@pytest.mark.parametrize("reason", [CompactionReason.REFUSED, CompactionReason.REQUESTED])
def test_a_refused_or_requested_one_needs_no_limit(reason):
    history = numbered(turn(2000) * 4)
    chosen = plan_of(history, ContextLimits(), reason=reason)
    assert chosen.reason is reason
    assert chosen.kept == tuple(history[6:])


# Which part


def test_the_newest_turns_are_kept_that_fit_into_a_quarter_of_the_window():
    history = numbered([*turn(5000), *turn(3000), *turn(1000), *turn(1000)])
    chosen = plan_of(history)
    assert chosen.summarised == tuple(history[:4])
    assert chosen.kept == tuple(history[4:])
    assert chosen.until == 4


def test_the_user_asks_for_all_but_the_last_turn():
    history = numbered(turn(10) * 3)
    assert plan_of(history, reason=CompactionReason.REQUESTED).kept == tuple(history[4:])


def test_a_last_turn_longer_than_the_window_is_kept_and_all_before_summarised():
    history = numbered([*turn(700), *turn(700), *turn(20_000)])
    chosen = plan_of(history)
    assert chosen.kept == tuple(history[4:])
    assert plan_of(chosen.kept, summary="What was said.") is None


@pytest.mark.parametrize(
    "history",
    [[], [user(9000)], turn(9000), [assistant(9000)], [*turn(9000), call("c1")]],
    ids=["empty", "first message", "one turn", "no message of the user", "one turn under way"],
)
def test_nothing_before_the_last_turn_is_nothing_to_summarise(history):
    for reason in (None, *CompactionReason):
        assert plan_of(numbered(history), reason=reason) is None


def test_what_is_hardly_longer_than_a_summary_is_not_worth_one():
    history = numbered([*turn(100), *turn(9000)])
    assert plan_of(history) is None
    assert plan_of(history, reason=CompactionReason.REQUESTED).kept == tuple(history[2:])


def test_a_call_whose_result_came_after_the_next_message_keeps_both_turns_together():
    history = numbered([*turn(5000), user(), call("c1"), user(5000), result("c1"), assistant()])
    assert plan_of(history).kept == tuple(history[2:])


def test_no_part_ends_before_a_call_that_is_still_open():
    history = numbered([*turn(5000), user(), call("c1"), user(5000)])
    assert plan_of(history).kept == tuple(history[2:])


def test_tools_that_fill_the_window_leave_room_for_the_last_turn_only():
    history = numbered(turn(600) * 4)
    assert plan(history, None, 8000 + sum(map(message_tokens, history)), WINDOW).kept == tuple(history[6:])


def test_an_earlier_summary_makes_room_for_the_next():
    history = numbered(turn(600) * 4)
    total = 6000 + sum(map(message_tokens, history))
    # Beside 6,000 tokens and a new summary only one turn has room; beside 4,000, the rest being the old one, three.
    assert plan(history, None, total, ContextLimits(9500)).kept == tuple(history[6:])
    assert plan(history, "s" * 8000, total, ContextLimits(9500)).kept == tuple(history[2:])


def test_the_earlier_summary_goes_along():
    assert plan_of(numbered(turn(5000) * 2), summary="Before.").earlier_summary == "Before."


# What holds for every conversation

SIZES = st.one_of(st.integers(0, 30), st.integers(0, 4000))


@st.composite
def conversations(draw):
    """Turns with rounds of parallel calls; a killed turn's result comes right before the next message, or after it."""
    ids = itertools.count()
    messages = []
    late = []
    for _ in range(draw(st.integers(0, 8))):
        message = user(draw(SIZES))
        messages += [*late, message] if draw(st.booleans()) else [message, *late]
        late = []
        for _ in range(draw(st.integers(0, 3))):
            called = [f"c{next(ids)}" for _ in range(draw(st.integers(1, 3)))]
            messages += [assistant(draw(SIZES)), *map(call, called)]
            messages += [result(each, draw(SIZES)) for each in draw(st.permutations(called))]
        if draw(st.booleans()):
            messages.append(assistant(draw(SIZES)))
        else:
            killed = f"c{next(ids)}"
            messages.append(call(killed))
            late = [result(killed)]
    return numbered(messages)


LIMITS = st.builds(
    ContextLimits,
    context_window=st.none() | st.integers(1000, 60_000),
    reserve_output=st.integers(0, 20_000),
    history_max_characters=st.none() | st.integers(10_000, 200_000),
)
REASONS = st.none() | st.sampled_from(CompactionReason)


def ids(messages):
    return {message.tool_call_id for message in messages} - {None}


@settings(max_examples=examples(40))
@given(conversations(), LIMITS, REASONS)
def test_no_call_is_parted_from_its_result(history, limits, reason):
    chosen = plan_of(history, limits, reason=reason)
    if chosen is not None:
        assert [*chosen.summarised, *chosen.kept] == history
        assert chosen.kept[0].type is MessageType.USER
        assert ids(chosen.summarised).isdisjoint(ids(chosen.kept))


@settings(max_examples=examples(40))
@given(conversations(), LIMITS, REASONS)
def test_what_is_kept_fits_or_is_the_last_turn(history, limits, reason):
    chosen = plan_of(history, limits, reason=reason)
    if chosen is None:
        return
    only_the_last = plan_of(chosen.kept, limits, reason=CompactionReason.REQUESTED) is None
    tokens = sum(map(message_tokens, chosen.kept))
    characters = sum(len(message.content) + len(message.tool_input or "") for message in chosen.kept)
    assert only_the_last or (
        tokens <= (limits.context_window or 10**9) / 4 and characters <= (limits.history_max_characters or 10**9) / 4
    )


@settings(max_examples=examples(40))
@given(conversations(), LIMITS, REASONS, st.integers(0, 900))
def test_once_compacted_a_conversation_is_not_compacted_again(history, limits, reason, summary_tokens):
    chosen = plan_of(history, limits, reason=reason)
    if chosen is not None:
        assert plan_of(chosen.kept, limits, "s" * 4 * summary_tokens) is None


@settings(max_examples=examples(40))
@given(conversations(), LIMITS)
def test_every_message_is_summarised_once_or_kept(history, limits):
    summarised, shown, summary = [], [], None
    for message in history:
        shown.append(message)
        chosen = plan_of(shown, limits, summary)
        if chosen is not None:
            assert chosen.earlier_summary == summary
            summarised += chosen.summarised
            shown, summary = list(chosen.kept), f"All until {chosen.until}."
            assert chosen.until == summarised[-1].sequence
    assert [*summarised, *shown] == history


# How it is sent


def test_the_summary_stands_before_the_rest_as_a_message_of_the_user():
    kept = numbered(turn(10))
    first, *others = with_summary(kept, "The user is called Ada.")
    assert first.type is MessageType.USER
    assert first.content.startswith(f"{SUMMARY_HEADING}\nThe user is called Ada.\n")
    assert others == kept
    assert with_summary(kept, None) == kept


@pytest.mark.parametrize(
    ("encoder", "messages_of", "roles"),
    [
        (openai_chat_wire.RequestEncoder, "messages", ["system", "user", "user", "assistant", "tool", "assistant"]),
        (ResponsesEncoder, "input", ["user", "user", None, None, "assistant"]),
        (anthropic_wire.RequestEncoder, "messages", ["user", "user", "assistant", "user", "assistant"]),
        # Gemini wants the roles in turn, and a message of the user last: its first one holds both.
        (GeminiEncoder, "contents", ["user", "model", "user", "model", "user"]),
    ],
)
def test_every_wire_format_can_begin_with_it(encoder, messages_of, roles):
    history = [Message(type=MessageType.USER, content="And now?"), call("c1"), result("c1"), assistant()]
    request = ModelRequest(
        model="m",
        system_prompt="Help.",
        messages=with_summary(numbered(history), "Ada."),
        tools=ActiveTools(()),
        session_id="s",
    )
    sent = json.loads(encoder("http://localhost").encode(request))[messages_of]
    assert [message.get("role") for message in sent] == roles
    first = json.dumps([message for message in sent if message.get("role") == "user"][:2])
    assert 0 < first.index("Ada.") < first.index("And now?")


def test_where_no_summary_could_be_written_a_note_says_so_once():
    assert summary_without(None) == NOT_SHOWN == "Earlier messages are not shown."
    assert summary_without("Ada.") == f"Ada.\n\n{NOT_SHOWN}"
    assert summary_without(summary_without("Ada.")) == summary_without("Ada.")
    assert text_tokens(NOT_SHOWN) < 10


def kept_of(sizes, estimated, limits, *, summary=None, reason=None):
    """Plan for turns of one message, as many tokens as characters each; the number of turns that are kept."""
    history = numbered([Message(type=MessageType.USER, content="u" * size) for size in sizes])
    chosen = plan(history, summary, estimated, limits, reason=reason, weigh=lambda message: len(message.content))
    return None if chosen is None else len(chosen.kept)


FULL = 9_000


@pytest.mark.parametrize(
    ("sizes", "estimated", "limits", "kept"),
    [
        # A quarter of the window.
        ((5_000, 1_500, 1_000), FULL, WINDOW, 2),
        ((5_000, 1_501, 1_000), FULL, WINDOW, 1),
        # Less where the rest of the request leaves less room beside a summary.
        ((5_000, 300, 200), 12_500, WINDOW, 2),
        ((5_000, 301, 200), 12_502, WINDOW, 1),
        # A quarter of the limit of the history.
        ((5_000, 1_500, 1_000), FULL, ContextLimits(history_max_characters=8_823), 1),
        ((5_000, 1_205, 1_000), FULL, ContextLimits(history_max_characters=8_475), 1),
        ((6_000, 1_205, 1_000), FULL, ContextLimits(history_max_characters=8_820), 2),
        ((6_000, 1_206, 1_000), FULL, ContextLimits(history_max_characters=8_820), 1),
    ],
)
def test_the_kept_part_is_as_long_as_it_may_be(sizes, estimated, limits, kept):
    assert kept_of(sizes, estimated, limits) == kept


def test_a_refused_request_keeps_a_quarter_of_itself_if_that_is_less():
    refused = {"reason": CompactionReason.REFUSED}
    assert kept_of((5_000, 600, 400), 4_000, WINDOW, **refused) == 2
    assert kept_of((5_000, 601, 400), 4_000, WINDOW, **refused) == 1
    assert kept_of((5_000, 600, 400), 4_000, ContextLimits(), **refused) == 2
    assert kept_of((5_000, 601, 400), 4_000, ContextLimits(), **refused) == 1
    assert kept_of((5_000, 1_500, 1_000), 20_000, WINDOW, **refused) == 1
    assert kept_of((5_000, 1_500, 1_000), 7_500, ContextLimits(), **refused) == 1


@pytest.mark.parametrize(("limits", "least"), [(WINDOW, 500), (ContextLimits(4_800), 300), (ContextLimits(), 500)])
def test_a_summary_is_of_so_much_at_least(limits, least):
    refused = {"reason": CompactionReason.REFUSED}
    assert kept_of((least, 9_000), 9_500, limits, **refused) == 1
    assert kept_of((least - 1, 9_000), 9_500, limits, **refused) is None
    assert kept_of((1, 9_000), 9_500, limits, reason=CompactionReason.REQUESTED) == 1


def test_an_earlier_summary_counts_as_room():
    # 400 tokens of summary; the rest of the request is 7,100 then.
    assert kept_of((5_000, 300, 100), 12_900, WINDOW) == 1
    assert kept_of((5_000, 300, 100), 12_900, WINDOW, summary="s" * 1_600) == 2


def test_the_limit_of_the_history_is_nearly_reached_at_85_percent():
    limits = ContextLimits(history_max_characters=10_000)
    for size, reason in ((3_500, None), (3_501, CompactionReason.HISTORY_LIMIT)):
        history = numbered([Message(type=MessageType.USER, content="u" * 5_000), *turn(0)])
        history[1:] = [dataclasses.replace(history[1], content="u" * size)]
        chosen = plan(history, None, 1, limits)
        assert (chosen and chosen.reason) == reason
    arguments = dataclasses.replace(call("c1"), tool_input="x" * 3_501)
    both = numbered([Message(type=MessageType.USER, content="u" * 5_000), user(0), arguments, result("c1", 0)])
    assert plan(both, None, 1, limits).reason is CompactionReason.HISTORY_LIMIT
