"""Memory stays flat over many turns, whatever happens in them: in one open home, nothing of a turn stays behind."""

import asyncio
import gc
import json
import statistics
import tracemalloc
from contextlib import aclosing

import pytest
from made_models import opened

from oneclaw_core import TokenUsage, ToolCall, tool
from oneclaw_core.errors import ProviderError
from oneclaw_core.providers import ModelResponse, TextDelta
from oneclaw_core.types.messages import MessageType

pytestmark = [pytest.mark.one_python, pytest.mark.long]

TURNS_PER_SESSION = 10
# What is kept up to a limit, such as words, still grows a little in the short form; a turn that stays takes thousands.
MOST_BYTES_PER_TURN = 150
SAMPLES = 10


class ManyThings:
    """A model that answers, calls tools, wrong ones too, and fails, turn by turn."""

    def __init__(self):
        self.turns = 0

    async def answer(self, request):
        if request.messages[-1].type is MessageType.TOOL_RESULT:
            yield TextDelta("Done.")
            yield ModelResponse(text="Done.", usage=TokenUsage(input_tokens=10, output_tokens=3))
            return
        self.turns += 1
        kind = self.turns % 10
        if kind == 3:
            raise ProviderError("broken; try again")
        if kind == 4:
            yield TextDelta("half an answer")
            raise ProviderError("broke off; try again")
        if kind == 5:
            yield TextDelta("one that no one waits for")
            await asyncio.Event().wait()
        names = ("mark", "no_such_tool", "broken") if kind == 6 else ("mark",)
        arguments = json.dumps({"text": "number " * 80})
        yield ModelResponse(
            tool_calls=tuple(ToolCall(f"c{self.turns}-{name}", name, arguments) for name in names),
            usage=TokenUsage(input_tokens=10, output_tokens=3),
        )


@tool
def mark(text: str) -> str:
    """Make a mark.

    Args:
        text: whatever.
    """
    return text


@tool
async def broken(text: str) -> str:
    """Fail.

    Args:
        text: whatever.
    """
    raise RuntimeError("broken")


async def one_turn(claw, number):
    session = f"s{number // TURNS_PER_SESSION}"
    try:
        async with aclosing(claw.send_message("message", session=session)) as events:
            async for event in events:
                if number % 10 == 4 or getattr(event, "text", "") == "one that no one waits for":
                    break
    except ProviderError:
        pass


def test_memory_is_flat_over_many_turns(tmp_path, is_long, caplog):
    caplog.set_level("CRITICAL")  # pytest keeps what is logged
    turns = 10_000 if is_long else 600
    warm_up = turns // 4
    sizes = []

    async def main():
        async with opened(tmp_path / "home", ManyThings().answer, mark, broken) as claw:
            for number in range(turns + 1):
                if number == warm_up:
                    gc.collect()
                    tracemalloc.start()
                if number >= warm_up and (number - warm_up) % ((turns - warm_up) // SAMPLES) == 0:
                    gc.collect()
                    sizes.append((number, tracemalloc.get_traced_memory()[0]))
                await one_turn(claw, number)
            assert len(asyncio.all_tasks()) < 5

    try:
        asyncio.run(main())
    finally:
        tracemalloc.stop()
    # The first sample is of nothing at all; a line through the others is not misled by one that is off.
    slope = statistics.linear_regression(*zip(*sizes[2:], strict=True)).slope
    assert slope < MOST_BYTES_PER_TURN, sizes
