"""Many sessions at once, in which models, tools and users fail at random: nothing is lost or doubled."""

import asyncio
import collections
import json
import random
import time
from contextlib import aclosing

import pytest
from audit import faults_of, faults_of_file
from histories import pending_calls
from how_long import IS_LONG
from made_models import opened

from oneclaw_core import TokenUsage, ToolCall, ToolResult, tool
from oneclaw_core.errors import (
    OneClawError,
    ProviderRateLimitError,
    ProviderUnavailableError,
    SessionBusyError,
    TurnDeadlineError,
)
from oneclaw_core.providers import ModelResponse, TextDelta
from oneclaw_core.types.messages import MessageType, ToolCallStatus

pytestmark = pytest.mark.one_python

SESSIONS = 1_000 if IS_LONG else 200


class Faults:
    """What a swarm does wrong, by chance; the same in every run as far as the order of things is."""

    def __init__(self):
        self.chance = random.Random(1_000)
        self.marks = collections.Counter()
        self.number = 0
        self.is_peace = False

    async def answer(self, request):
        if self.is_peace:
            yield ModelResponse(text="Peace.", usage=TokenUsage(input_tokens=10, output_tokens=3))
            return
        chance = self.chance.random()
        if chance < 0.05:
            raise ProviderUnavailableError("broken; try again")
        if chance < 0.08:
            raise ProviderRateLimitError("too many; try again later")
        if chance < 0.10:
            raise ZeroDivisionError("a provider with a bug")
        if chance < 0.12:
            await asyncio.sleep(3_600)
        if chance < 0.2:
            await asyncio.sleep(self.chance.random() * 0.05)
        yield TextDelta("Well, ")
        if chance > 0.97:
            raise ProviderUnavailableError("broke off in the middle; try again")
        if chance > 0.95:
            return
        last = request.messages[-1]
        if last.type is MessageType.TOOL_RESULT and chance < 0.8:
            yield ModelResponse(text="Well, done.", usage=TokenUsage(input_tokens=10, output_tokens=3))
            return
        yield ModelResponse(
            text="Well, ",
            tool_calls=tuple(self.call() for _ in range(self.chance.randint(1, 3))),
            usage=TokenUsage(input_tokens=10, output_tokens=3),
        )

    def call(self):
        self.number += 1
        arguments = json.dumps({"mark": f"m{self.number}"})
        given = {0: "", 1: "same"}.get(self.chance.randrange(10), f"c{self.number}")
        chance = self.chance.random()
        if chance < 0.05:
            arguments = arguments[:-3]
        name = "no_such_tool" if chance > 0.97 else "slow_mark" if chance > 0.9 else "mark"
        return ToolCall(given, name, arguments)

    def run(self, mark):
        self.marks[mark] += 1
        chance = self.chance.random()
        if chance < 0.05:
            raise RuntimeError("a tool with a bug")
        if chance < 0.1:
            return ToolResult.error("odd_error", "this went wrong")
        return ToolResult.success(f"made {mark}" * self.chance.choice((1, 1, 1, 500)))


def tools_of(faults):
    @tool(name="mark")
    async def mark(mark: str) -> ToolResult:
        """Make a mark.

        Args:
            mark: which one.
        """
        return faults.run(mark)

    @tool(name="slow_mark", timeout_seconds=1)
    async def slow_mark(mark: str) -> ToolResult:
        """Make a mark, and never end.

        Args:
            mark: which one.
        """
        faults.run(mark)
        await asyncio.sleep(3_600)
        return ToolResult.success("never")

    return mark, slow_mark


async def live(claw, faults, name, until, ends):
    """Send messages to one session until the time is up; now and then lose patience."""
    patience = random.Random(name)
    while time.monotonic() < until:
        try:
            async with asyncio.timeout(patience.choice((None, None, None, 0.05, 1.0))):
                async with aclosing(claw.send_message("go on", session=name)) as events:
                    async for _ in events:
                        if patience.random() < 0.01:
                            break
            ends["ended"] += 1
        except (OneClawError, ZeroDivisionError, TimeoutError) as error:
            ends[type(error).__name__] += 1
        await asyncio.sleep(0)


def test_many_sessions_at_once(tmp_path, is_long):
    faults = Faults()
    ends = collections.Counter()

    async def main():
        settings = {"ONECLAW_TURN_DEADLINE_SECONDS": "2", "ONECLAW_TURN_MAX_TOOL_ROUNDS": "6"}
        async with opened(tmp_path / "home", faults.answer, *tools_of(faults), **settings) as claw:
            until = time.monotonic() + (120 if is_long else 1.5)
            names = [f"session-{number}" for number in range(SESSIONS)]
            # Some messages go to the same session at once, too.
            await asyncio.gather(*(live(claw, faults, name, until, ends) for name in [*names, *names[:50]]))
            faults.is_peace = True
            found = []
            for name in names:
                session = await claw.store.find_session(name)
                # What was cut off while its calls were being stored is answered by the next turn.
                if session is None or await pending_calls(claw.store, session.id):
                    async for _ in claw.send_message("and now?", session=name):
                        pass
                    session = await claw.store.find_session(name)
                found.append((session, await claw.store.messages(session.id)))
            return found, await claw.store.usage_totals()

    sessions, totals = asyncio.run(main())
    assert len(sessions) == SESSIONS
    wrong = [f"{session.name}: {fault}" for session, messages in sessions for fault in faults_of(messages)]
    assert wrong == []
    assert faults_of_file(tmp_path / "home" / "oneclaw.db") == []
    assert {TurnDeadlineError.__name__, "ended", "ProviderUnavailableError", "ZeroDivisionError"} <= ends.keys(), ends
    assert SessionBusyError.__name__ not in ends
    audit_marks(faults, sessions)
    answers = sum(each.type is MessageType.ASSISTANT for _, messages in sessions for each in messages)
    assert 0 < totals.requests <= answers


def audit_marks(faults, sessions):
    """Every mark was made by one call that is stored, once; a call that says it made one, did."""
    assert max(faults.marks.values()) == 1
    left = dict(faults.marks)
    for _, messages in sessions:
        results = {each.tool_call_id: each for each in messages if each.type is MessageType.TOOL_RESULT}
        for call in (each for each in messages if each.type is MessageType.TOOL_CALL):
            result = results[call.tool_call_id]
            try:
                mark = json.loads(call.tool_input)["mark"]
            except ValueError:
                assert result.error_type in ("validation_error", "interrupted")
                continue
            made = left.pop(mark, 0)
            if result.tool_status is ToolCallStatus.SUCCESS or result.error_type in ("odd_error", "timeout"):
                assert made == 1, (call, result)
            elif result.error_type in ("not_found", "validation_error"):
                assert made == 0, (call, result)
    assert not left, f"made by calls that are not stored: {list(left)[:5]}"
