"""The rule-based model calls ``js_eval`` for plain sentences."""

import asyncio

import pytest

from oneclaw_core import OneClaw, ToolCallEvent, ToolResultEvent


@pytest.mark.parametrize(
    ("message", "code", "result"),
    [
        ("evaluate in JavaScript: 6*7", "6*7", "42"),
        ("Calculate 17*23 with JavaScript", "17*23", "391"),
        ("Run the JavaScript code `[1, 2].map(x => x * 2)`", "[1, 2].map(x => x * 2)", "[2,4]"),
    ],
)
def test_a_plain_sentence_runs_code(message, code, result, tmp_path):
    async def main():
        async with OneClaw.open(tmp_path, environ={}) as claw:
            return [event async for event in claw.send_message(message, model="offline/rules")]

    events = asyncio.run(main())
    assert [(e.name, e.arguments) for e in events if isinstance(e, ToolCallEvent)] == [("js_eval", {"code": code})]
    assert [e.result.result for e in events if isinstance(e, ToolResultEvent)] == [result]
