"""Structured results reach models as JSON in every wire format, in a session that goes on in another process."""

import asyncio
import json

import pytest
from histories import change
from model_server import ModelServer
from wire_formats import FORMATS, OTHERS

from oneclaw_core import Attachment, OneClaw, ToolResult, tool

ROWS = {"rows": [{"name": 'Grüße "x"', "open": True, "total": 41.5, "due": None}], "more": []}
WRITTEN = '{"rows":[{"name":"Grüße \\"x\\"","open":true,"total":41.5,"due":null}],"more":[]}'
PNG = Attachment("chart.png", "image/png", b"\x89PNG\r\n\x1a\n")
PROVIDERS = {wire.provider: wire for wire in FORMATS}


@tool
def list_rows(kind: str) -> ToolResult:
    """List rows.

    Args:
        kind: of the rows.
    """
    values = {
        "object": ROWS,
        "list": [ROWS, 1],
        "number": 2**70,
        "nothing": None,
        "deep": nested(200),
        "text": WRITTEN,
        "long": [ROWS] * 20,
    }
    return ToolResult.success(values[kind], (PNG,) if kind == "list" else ())


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def requests_of(home, wire, script, *, messages=1, change_before_last=None):
    """Send messages, each to a home that is opened anew; give what the service got."""

    async def send(server):
        names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        environ = dict.fromkeys(names, server.url) | {"ONECLAW_DISABLED_PLUGINS": OTHERS}
        async with OneClaw.open(home, environ=environ, start_directory=home) as claw:
            claw.add_tools(list_rows)
            async for _ in claw.send_message("List them.", session="s", model=wire.full_model):
                pass

    with ModelServer(script) as server:
        for number in range(messages):
            if number == messages - 1 and change_before_last is not None:
                change(home, change_before_last)
            asyncio.run(send(server))
    return server


def outcomes(wire, body):
    """The results in a request: what the service's own types have for them, without attached files."""
    match wire.provider:
        case "openai_compatible":
            return [each["content"] for each in body["messages"] if each["role"] == "tool"]
        case "openai":
            found = [each["output"] for each in body["input"] if each["type"] == "function_call_output"]
            return [each if isinstance(each, str) else each[0]["text"] for each in found]
        case "anthropic":
            blocks = [each for message in body["messages"] for each in message["content"]]
            found = [each["content"] for each in blocks if each["type"] == "tool_result"]
            return [each if isinstance(each, str) else each[0]["text"] for each in found]
        case _:
            parts = [part for content in body["contents"] for part in content["parts"]]
            found = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
            # Objects, not texts: written as texts are, so that they compare.
            return [json.dumps(each["output"], ensure_ascii=False, separators=(",", ":")) for each in found]


@pytest.mark.long
@pytest.mark.parametrize("wire", FORMATS, ids=lambda wire: wire.provider)
def test_structured_results_are_sent_as_json_and_text_as_text(tmp_path, wire):
    kinds = ["object", "list", "nothing", "text"]
    script = [
        wire.calls(*(("list_rows", {"kind": kind}) for kind in kinds)),
        wire.says("One row."),
        wire.says("Still one."),
    ]
    server = requests_of(tmp_path, wire, script, messages=2)
    _, second, third = server.bodies
    assert outcomes(wire, second) == [
        f'{{"status":"success","result":{WRITTEN}}}',
        f'{{"status":"success","result":[{WRITTEN},1]}}',
        '{"status":"success","result":null}',
        json.dumps({"status": "success", "result": WRITTEN}, ensure_ascii=False, separators=(",", ":")),
    ]
    assert outcomes(wire, third) == outcomes(wire, second)
    wire.assert_goes_on(*server.contents[1:])


def test_gemini_is_sent_as_text_what_it_takes_in_no_object(tmp_path):
    wire = PROVIDERS["gemini"]
    script = [wire.calls(("list_rows", {"kind": "deep"})), wire.says("Deep.")]
    server = requests_of(tmp_path, wire, script)
    assert outcomes(wire, server.bodies[1]) == [f'{{"status":"success","result":"{json.dumps(nested(200))}"}}']


@pytest.mark.long
@pytest.mark.parametrize("wire", FORMATS, ids=lambda wire: wire.provider)
def test_a_result_that_an_earlier_version_stored_is_sent_as_it_was(tmp_path, wire):
    script = [wire.calls(("list_rows", {"kind": "object"})), wire.says("One."), wire.says("Still one.")]
    as_before = "UPDATE messages SET is_json = NULL"
    server = requests_of(tmp_path, wire, script, messages=2, change_before_last=as_before)
    assert outcomes(wire, server.bodies[2]) == [
        json.dumps({"status": "success", "result": WRITTEN}, ensure_ascii=False, separators=(",", ":"))
    ]


@pytest.mark.long
def test_json_that_is_cut_is_sent_as_a_preview_in_json(tmp_path):
    wire = PROVIDERS["openai"]

    async def limit():
        async with OneClaw.open(tmp_path, environ={}, start_directory=tmp_path) as claw:
            await claw.store.set_setting("tool_result_max_characters", 1_000)

    asyncio.run(limit())
    script = [wire.calls(("list_rows", {"kind": "long"})), wire.says("Many.")]
    [found] = outcomes(wire, requests_of(tmp_path, wire, script).bodies[1])
    result = json.loads(found)["result"]
    assert result["preview"][0] == ROWS
    assert result["preview"][-1].endswith("more of 20")
