"""A tool that comes to be within a turn can be called in the same turn, with every wire format."""

import asyncio
import json

import pytest
from how_long import some
from model_server import ModelServer
from pytest_oneclaw.web_server import WebServer, response
from wire_formats import FORMATS, THOUGHT, each_of

from oneclaw_core import OneClaw, PermissionAnswer, ToolResultEvent

NEW_TOOL = {
    "name": "stock",
    "description": "Tell how many of an article are there.",
    "parameters_schema": json.dumps({"properties": {"url": {"type": "string"}}, "required": ["url"]}),
    "js_code": "async function execute({ url }) { return (await (await fetch(url)).json()).count }",
}

some_formats = pytest.mark.parametrize("wire", each_of(some(FORMATS, 2)))


def results_of(home, server, wire, *, during=None):
    """Send one message; give the results of its calls, and what was asked."""
    names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    asked = []

    async def ask(request):
        asked.append((request.permission, request.detail))
        return PermissionAnswer.ONCE

    async def send():
        environ = dict.fromkeys(names, server.url)
        async with OneClaw.open(home, environ=environ, start_directory=home, ask=ask) as claw:
            results = []
            async for event in claw.send_message("How many?", model=wire.full_model):
                if isinstance(event, ToolResultEvent) and event.parent_id is None:
                    results.append(event.result)
                    if during is not None:
                        during()
            return results

    return asyncio.run(send()), asked


@some_formats
def test_a_tool_is_written_used_and_deleted_in_one_turn(tmp_path, wire):
    with WebServer(lambda request: response('{"count": 7}')) as web:
        script = [
            wire.calls(("load_tool_group", {"group_name": "js_tool_management"}), thought=THOUGHT),
            wire.calls(("create_js_tool", NEW_TOOL), thought=THOUGHT),
            wire.calls(("stock", {"url": f"{web.url}/articles"}), thought=THOUGHT),
            wire.calls(("delete_js_tool", {"name": "stock"}), thought=THOUGHT),
            wire.calls(("stock", {"url": f"{web.url}/articles"}), thought=THOUGHT),
            wire.says("Seven.", thought=THOUGHT),
        ]
        with ModelServer(script) as server:
            (loaded, created, used, deleted, gone), asked = results_of(tmp_path / "home", server, wire)
            at_hand = ["stock" in wire.at_hand(body) for body in server.bodies]

    assert loaded.is_success
    assert created.is_success
    assert used.result == 7
    assert deleted.is_success
    assert gone.error_type == "not_found"
    assert at_hand == [False, False, True, True, False, False]
    assert [permission for permission, _ in asked] == ["tools.write", "network.private", "tools.write"]
    assert "create the JavaScript tool 'stock'" in asked[0][1]


@pytest.mark.long
@some_formats
def test_a_file_written_by_hand_during_a_turn_counts_from_the_next_request_on(tmp_path, wire):
    folder = tmp_path / "home" / "tools"
    folder.mkdir(parents=True)

    def write():
        (folder / "by_hand.js").write_text("function execute() { return 'made by hand' }")
        (folder / "by_hand.json").write_text('{"name": "by_hand", "description": "Made by hand."}')

    script = [
        wire.calls(("get_current_time", {}), thought=THOUGHT),
        wire.calls(("by_hand", {}), thought=THOUGHT),
        wire.says("Done.", thought=THOUGHT),
    ]
    with ModelServer(script) as server:
        (_, by_hand), _ = results_of(tmp_path / "home", server, wire, during=write)
        at_hand = ["by_hand" in wire.at_hand(body) for body in server.bodies]

    assert at_hand == [False, True, True]
    assert by_hand.result == "made by hand"
