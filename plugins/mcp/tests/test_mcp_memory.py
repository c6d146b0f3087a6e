"""Calls of MCP servers leave nothing in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from counted_objects import assert_none_left, counted_objects, freeze_objects
from how_long import some

if TYPE_CHECKING:
    from mcp_homes import McpHome

CALLS = 200


@pytest.mark.long
@pytest.mark.parametrize(("tool", "is_success"), some([("plain__echo", True), ("plain__fail", False)], 2))
def test_calls_leave_no_objects(
    mcp_home: McpHome, caplog: pytest.LogCaptureFixture, tool: str, is_success: bool
) -> None:
    caplog.set_level("CRITICAL")  # pytest keeps what is logged
    mcp_home.add("plain")
    mcp_home.oneclaw.user.says("always")

    def call(times: int) -> None:
        for number in range(times):
            arguments = {"text": f"{number} " * 50} if is_success else {}
            assert mcp_home.call(tool, **arguments).is_success is is_success
        mcp_home.oneclaw.tool_calls.clear()
        mcp_home.oneclaw.user.asked.clear()

    freeze_objects()
    call(CALLS // 4)
    before = counted_objects()
    call(CALLS)
    assert_none_left(before, CALLS, most_per_call=3)
