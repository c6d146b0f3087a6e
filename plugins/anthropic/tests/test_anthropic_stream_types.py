"""What the scripted service streams is what Anthropic's own library accepts as an answer.

The first import of its types takes eight seconds.
"""

import copy

import messages_stream
import pytest
from anthropic_types import messages_event
from history_entries import unknown_fields
from pydantic import ValidationError

pytestmark = pytest.mark.long

CALL = messages_stream.call("find", {"q": "ä"}, call_id="toolu_1")
MESSAGES = [
    messages_stream.events(messages_stream.text("Hello"), stop_reason="end_turn"),
    messages_stream.events(messages_stream.text(""), messages_stream.redacted("ZGF0YQ=="), stop_reason="refusal"),
    messages_stream.events(messages_stream.thinking("hm", "c2ln"), CALL, CALL, stop_reason="tool_use"),
    messages_stream.events(messages_stream.call("find"), stop_reason="max_tokens"),
    messages_stream.events(messages_stream.call("find", '{"q'), stop_reason="stop_sequence", stop_sequence="x"),
]


@pytest.mark.parametrize("events", MESSAGES)
def test_what_anthropic_streams(events):
    # The SDK passes over a ping before it looks at its type.
    found = [messages_event().validate_python(event) for event in events if event != {"type": "ping"}]
    assert len(found) == len(events) - 1
    assert unknown_fields(found) == []


def test_anthropic_types_find_what_is_wrong():
    wrong = copy.deepcopy(MESSAGES[2])
    wrong[2]["content_block"]["shade"] = "blue"
    assert unknown_fields([messages_event().validate_python(wrong[2])]) == ["shade"]
    del wrong[0]["message"]["usage"]["output_tokens"]
    with pytest.raises(ValidationError):
        messages_event().validate_python(wrong[0])
