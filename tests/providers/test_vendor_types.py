"""What the scripted services stream is what the vendors' own libraries take for an answer of theirs."""

import copy

import messages_stream
import pytest
import responses_stream
from pydantic import BaseModel, ValidationError
from vendor_types import messages_event, responses_event

# The libraries take seconds to import.
pytestmark = pytest.mark.one_python

CALL = messages_stream.call("find", {"q": "ä"}, call_id="toolu_1")
MESSAGES = [
    messages_stream.events(messages_stream.text("Hello"), stop_reason="end_turn"),
    messages_stream.events(messages_stream.text(""), messages_stream.redacted("ZGF0YQ=="), stop_reason="refusal"),
    messages_stream.events(messages_stream.thinking("hm", "c2ln"), CALL, CALL, stop_reason="tool_use"),
    messages_stream.events(messages_stream.call("find"), stop_reason="max_tokens"),
    messages_stream.events(messages_stream.call("find", '{"q'), stop_reason="stop_sequence", stop_sequence="x"),
]
ITEMS = (
    responses_stream.reasoning("Hm.", "So."),
    responses_stream.message("I look 🙂.", phase="commentary"),
    responses_stream.message("No.", item_id="msg_2", refusal=True),
    responses_stream.call("find", {"q": "ä"}, call_id="call_a", namespace="mail"),
    responses_stream.call("read", "{", call_id="call_b", status="incomplete"),
)
RESPONSES = [
    responses_stream.stream(*ITEMS),
    responses_stream.stream(*ITEMS, is_listed=False),
    responses_stream.stream(*ITEMS[:2], half=ITEMS[3]),
    responses_stream.stream(half=ITEMS[1], status="incomplete", reason="max_output_tokens"),
    responses_stream.stream(status="failed", error={"code": "server_error", "message": "sorry"}),
]


def unknown_fields(event):
    """The fields that the SDK does not know, but keeps."""
    if isinstance(event, list):
        return [name for each in event for name in unknown_fields(each)]
    if not isinstance(event, BaseModel):
        return []
    return [*(event.model_extra or ()), *unknown_fields([getattr(event, name) for name in type(event).model_fields])]


@pytest.mark.parametrize("events", MESSAGES)
def test_what_anthropic_streams(events):
    # The SDK passes over a ping before it looks at its type.
    found = [messages_event().validate_python(event) for event in events if event != {"type": "ping"}]
    assert len(found) == len(events) - 1
    assert unknown_fields(found) == []


@pytest.mark.parametrize("events", RESPONSES)
def test_what_openai_streams(events):
    found = [responses_event().validate_python(event) for event in events]
    assert unknown_fields(found) == []


def test_what_is_wrong_is_found():
    wrong = copy.deepcopy(MESSAGES[2])
    wrong[2]["content_block"]["shade"] = "blue"
    assert unknown_fields([messages_event().validate_python(wrong[2])]) == ["shade"]
    del wrong[0]["message"]["usage"]["output_tokens"]
    with pytest.raises(ValidationError):
        messages_event().validate_python(wrong[0])
    wrong = copy.deepcopy(RESPONSES[0])
    del wrong[1]["item"]["id"]
    with pytest.raises(ValidationError):
        responses_event().validate_python(wrong[1])
