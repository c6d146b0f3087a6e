"""Streams of Anthropic's Messages API; test_vendor_types.py has Anthropic's own SDK judge them."""

from __future__ import annotations

import json
from typing import Any

from model_server import Reply, raw

Event = dict[str, Any]
Block = tuple[Event, list[Event]]
START_USAGE = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30}


def text(content: str) -> Block:
    """A text block, streamed in two pieces."""
    half = len(content) // 2
    pieces = [{"type": "text_delta", "text": piece} for piece in (content[:half], content[half:]) if piece]
    return {"type": "text", "text": ""}, pieces


def thinking(content: str, signature: str) -> Block:
    """A thinking block, with its signature at the end."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in content]
    return {"type": "thinking", "thinking": "", "signature": ""}, [
        *deltas,
        {"type": "signature_delta", "signature": signature},
    ]


def redacted(data: str) -> Block:
    """A redacted thinking block, which comes whole."""
    return {"type": "redacted_thinking", "data": data}, []


def call(name: str, arguments: Any = None, *, call_id: str = "toolu_REQUEST_1", **more: Any) -> Block:
    """A call, its arguments in fragments; arguments that are a text are sent as they are."""
    written = "" if arguments is None else arguments if isinstance(arguments, str) else json.dumps(arguments)
    third = len(written) // 3
    pieces = ["", written[:third], written[third : 2 * third], written[2 * third :]]
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **more}, [
        {"type": "input_json_delta", "partial_json": piece} for piece in pieces
    ]


def events(*blocks: Block, stop_reason: str = "end_turn", **delta: Any) -> list[Event]:
    """All events of an answer with these blocks."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "usage": {**START_USAGE, "output_tokens": 1},
    }
    found: list[Event] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        # Copies, for some tests change what they are given.
        found.append({"type": "content_block_start", "index": index, "content_block": dict(block)})
        found += [{"type": "content_block_delta", "index": index, "delta": dict(each)} for each in deltas]
        found.append({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 42, "output_tokens_details": {"thinking_tokens": 7}}
    found.append({"type": "message_delta", "delta": {"stop_reason": stop_reason, **delta}, "usage": usage})
    found.append({"type": "message_stop"})
    return found


def sse(written: list[Event]) -> bytes:
    """Events as they are sent."""
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in written).encode()


def reply(*blocks: Block, stop_reason: str = "end_turn", **delta: Any) -> Reply:
    """An answer, each event sent on its own."""
    return raw(*(sse([event]) for event in events(*blocks, stop_reason=stop_reason, **delta)))
