"""Calls that a model wrote almost right run, and the history keeps what the model wrote."""

from model_server import ModelServer
from test_every_model import WIRES, addresses, of_type, said, stored

from oneclaw_core import ToolResultEvent
from oneclaw_core.types.messages import MessageType

FENCED = '```json\n{"timezone": "UTC"}\n```'
QUOTED = '{"query":"larkspur",  "max_results":"2"}'


def test_the_history_has_the_models_own_bytes(tmp_path):
    wire = WIRES["openai_compatible"]
    called = wire.calls(("get_current_time", FENCED), ("search_history", QUOTED))
    with ModelServer([called, wire.says("Late.")]) as server:
        events = said(tmp_path, addresses(server), wire, "What time is it?")
    assert [each.result.is_success for each in of_type(ToolResultEvent, events)] == [True, True]
    kept = [each.tool_input for each in stored(tmp_path)[0] if each.type is MessageType.TOOL_CALL]
    assert kept == [FENCED, QUOTED]
    sent = [call for message in server.bodies[1]["messages"] for call in message.get("tool_calls", ())]
    # Services refuse a history with arguments that are no JSON object.
    assert [call["function"]["arguments"] for call in sent] == ["{}", QUOTED]
