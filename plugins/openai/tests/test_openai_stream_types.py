"""What the scripted service streams is what OpenAI's own library accepts as an answer."""

import copy

import pytest
import responses_stream
from history_entries import unknown_fields
from openai_types import responses_event
from pydantic import ValidationError

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


@pytest.mark.parametrize("events", RESPONSES)
def test_what_openai_streams(events):
    found = [responses_event().validate_python(event) for event in events]
    assert unknown_fields(found) == []


def test_openai_types_find_what_is_wrong():
    wrong = copy.deepcopy(RESPONSES[0])
    del wrong[1]["item"]["id"]
    with pytest.raises(ValidationError):
        responses_event().validate_python(wrong[1])
