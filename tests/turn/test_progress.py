"""A turn that repeats its calls is stopped, and one that waits for something is not."""

import json

import pytest

from oneclaw_core import Message, MessageType, ToolCall, ToolCallStatus
from oneclaw_core.turn.progress import ProgressGuard

pytestmark = pytest.mark.every_python


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Watched:
    """A guard that is told of requests, each with its calls and their outcomes."""

    def __init__(self, polls=()):
        self.clock = Clock()
        self.guard = ProgressGuard(self.clock)
        self.polls = polls

    def request(self, *made, pause=0, error_type=None):
        self.clock.now += pause
        self.guard.begin()
        calls, results = [], {}
        for number, (name, outcome) in enumerate(made):
            calls.append(ToolCall(str(number), name, "{}"))
            results[str(number)] = Message(
                type=MessageType.TOOL_RESULT,
                content=outcome,
                tool_status=ToolCallStatus.ERROR if error_type else ToolCallStatus.SUCCESS,
                error_type=error_type,
            )
        self.guard.note(calls, results, self.polls)
        return self.guard.is_stuck

    def requests_until_stuck(self, requests, pause=0):
        for number, made in enumerate(requests, 1):
            if self.request(*made, pause=pause):
                return number
        return None


SAME = [[("look", "nothing")]] * 200
ALTERNATING = [[("look", "nothing")], [("list", "empty")]] * 100
CHANGING = [[("look", str(number))] for number in range(200)]


@pytest.mark.parametrize("requests", [SAME, ALTERNATING, CHANGING], ids=["same", "alternating", "changing"])
def test_repeated_calls_are_stopped_within_twenty_requests(requests):
    assert 15 <= Watched().requests_until_stuck(requests) <= 20


def test_calls_that_the_token_limit_cuts_are_stopped_at_the_third_whatever_their_outcome():
    watched = Watched(polls=["write"])
    cut = [watched.request(("write", f"by {number} tokens"), pause=60, error_type="cut_off") for number in range(3)]
    assert cut == [False, False, True]


def test_a_call_that_was_cut_and_then_split_is_progress():
    watched = Watched()
    for number in range(10):
        assert not watched.request(("write", "by 10 tokens"), error_type="cut_off")
        assert not watched.request((f"write part {number}", "written"))


def test_a_changed_outcome_of_a_poll_or_after_five_seconds_is_progress():
    assert Watched(polls=("look",)).requests_until_stuck(CHANGING) is None
    assert Watched().requests_until_stuck(CHANGING, pause=5) is None
    assert Watched().requests_until_stuck(CHANGING, pause=4.9) is not None


def test_a_poll_whose_outcome_stays_the_same_is_stopped():
    assert Watched(polls=("look",)).requests_until_stuck(SAME, pause=60) is not None


def test_a_denied_call_counts_as_any_other():
    watched = Watched()
    assert not any(watched.request(("look", "no"), error_type="permission_denied") for _ in range(15))


def test_new_calls_between_repeated_ones_are_progress():
    edits_and_tests = [[("test", "1 failed")] if number % 2 else [(f"edit {number}", "")] for number in range(200)]
    assert Watched().requests_until_stuck(edits_and_tests) is None


def test_a_new_call_beside_a_repeated_one_is_progress():
    assert Watched().requests_until_stuck([("look", ""), (f"read {number}", "")] for number in range(200)) is None


def test_arguments_in_another_order_are_the_same_call():
    guard = ProgressGuard()
    result = {"1": Message(type=MessageType.TOOL_RESULT, content="x")}
    for number in range(200):
        pairs = [("a", 1), ("b", 2)]
        written = json.dumps(dict(pairs if number % 2 else reversed(pairs)), indent=number % 3)
        guard.note([ToolCall("1", "look", written)], result, ())
    assert guard.is_stuck
