"""Streams of Anthropic's Messages API, built from the event types of Anthropic's own SDK."""

from __future__ import annotations

import json
from typing import Any

from anthropic.types import (
    InputJSONDelta,
    MessageDeltaUsage,
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStartEvent,
    RawMessageStopEvent,
    RedactedThinkingBlock,
    SignatureDelta,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
)
from anthropic.types.message import Message as SdkMessage
from anthropic.types.raw_message_delta_event import Delta
from anthropic.types.usage import Usage
from model_server import Reply, raw

Event = dict[str, Any]
START_USAGE = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30}


def _written(event: Any) -> Event:
    return event.model_dump(mode="json", exclude_none=True)


def text(content: str) -> tuple[Any, list[Any]]:
    """A text block, streamed in two pieces."""
    half = len(content) // 2
    pieces = [TextDelta(type="text_delta", text=piece) for piece in (content[:half], content[half:]) if piece]
    return TextBlock(type="text", text=""), pieces


def thinking(content: str, signature: str) -> tuple[Any, list[Any]]:
    """A thinking block, with its signature at the end."""
    deltas = [ThinkingDelta(type="thinking_delta", thinking=piece) for piece in content]
    return ThinkingBlock(type="thinking", thinking="", signature=""), [
        *deltas,
        SignatureDelta(type="signature_delta", signature=signature),
    ]


def redacted(data: str) -> tuple[Any, list[Any]]:
    """A redacted thinking block, which comes whole."""
    return RedactedThinkingBlock(type="redacted_thinking", data=data), []


def call(name: str, arguments: Any = None, *, call_id: str = "toolu_REQUEST_1", **more: Any) -> tuple[Any, list[Any]]:
    """A call, its arguments in fragments; arguments that are a text are sent as they are."""
    written = "" if arguments is None else arguments if isinstance(arguments, str) else json.dumps(arguments)
    third = len(written) // 3
    pieces = ["", written[:third], written[third : 2 * third], written[2 * third :]]
    return ToolUseBlock(type="tool_use", id=call_id, name=name, input={}, **more), [
        InputJSONDelta(type="input_json_delta", partial_json=piece) for piece in pieces
    ]


def events(*blocks: tuple[Any, list[Any]], stop_reason: str = "end_turn", **delta: Any) -> list[Event]:
    """All events of an answer with these blocks."""
    message = SdkMessage(
        id="msg_1",
        type="message",
        role="assistant",
        model="claude-test",
        content=[],
        usage=Usage(output_tokens=1, **START_USAGE),
    )
    found: list[Any] = [RawMessageStartEvent(type="message_start", message=message)]
    for index, (block, deltas) in enumerate(blocks):
        found.append(RawContentBlockStartEvent(type="content_block_start", index=index, content_block=block))
        found += [RawContentBlockDeltaEvent(type="content_block_delta", index=index, delta=each) for each in deltas]
        found.append(RawContentBlockStopEvent(type="content_block_stop", index=index))
    usage = MessageDeltaUsage.model_validate({"output_tokens": 42, "output_tokens_details": {"thinking_tokens": 7}})
    found.append(
        RawMessageDeltaEvent(
            type="message_delta", delta=Delta.model_validate({"stop_reason": stop_reason, **delta}), usage=usage
        )
    )
    found.append(RawMessageStopEvent(type="message_stop"))
    written = [_written(event) for event in found]
    written.insert(1, {"type": "ping"})
    return written


def sse(written: list[Event]) -> bytes:
    """Events as they are sent."""
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in written).encode()


def reply(*blocks: tuple[Any, list[Any]], stop_reason: str = "end_turn", **delta: Any) -> Reply:
    """An answer, each event sent on its own."""
    return raw(*(sse([event]) for event in events(*blocks, stop_reason=stop_reason, **delta)))
