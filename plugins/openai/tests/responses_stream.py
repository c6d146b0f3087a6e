"""Answers of the Responses API as OpenAI streams them; test_vendor_types.py has OpenAI's own SDK judge them."""

import json

MODEL = "gpt-x"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 32},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 15},
    "total_tokens": 120,
}


def message(text, *, item_id="msg_1", phase=None, refusal=False):
    part = {"type": "refusal", "refusal": text} if refusal else _text_part(text)
    item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}
    return item | ({"phase": phase} if phase else {})


def call(name, arguments, *, call_id, namespace=None, status="completed"):
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": written}
    return item | {"status": status} | ({"namespace": namespace} if namespace else {})


def reasoning(*summaries, item_id="rs_1", encrypted="gAAAA"):
    summary = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "reasoning", "id": item_id, "summary": summary, "encrypted_content": encrypted}


def response(*items, status="completed", reason=None, error=None):
    """The object that ends a stream, which is also what a server answers that does not stream."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": MODEL,
        "status": status,
        "error": error,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": USAGE,
    }


def stream(*items, status="completed", reason=None, error=None, is_listed=True, half=None):
    """The events of an answer.

    Args:
        items: made by the functions above.
        status: how it ends.
        reason: why it is incomplete.
        error: why it failed.
        is_listed: whether the last event holds the items again.
        half: an item whose text or arguments break off in the middle, after all others.
    """
    events = [{"type": "response.created", "response": response(status="in_progress")}]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    if half is not None:
        events += _item_events(len(items), half)[:3]
    listed = items if is_listed else ()
    events.append(
        {"type": f"response.{status}", "response": response(*listed, status=status, reason=reason, error=error)}
    )
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def _item_events(index, item):
    place = {"output_index": index, "item_id": item["id"]}
    match item["type"]:
        case "message":
            begun, inner = item | {"content": [], "status": "in_progress"}, _message_events(place, item["content"][0])
        case "function_call":
            begun, inner = item | {"arguments": "", "status": "in_progress"}, _call_events(place, item["arguments"])
        case _:
            begun, inner = item | {"summary": [], "encrypted_content": "gA"}, _summary_events(place, item["summary"])
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *inner,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _message_events(place, part):
    kind, key = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
    place = place | {"content_index": 0}
    extra = {} if kind == "refusal" else {"logprobs": []}
    for piece in _halves(part[key]):
        yield {"type": f"response.{kind}.delta", "delta": piece, **place, **extra}
    yield {"type": f"response.{kind}.done", key: part[key], **place, **extra}


def _call_events(place, arguments):
    for piece in _halves(arguments):
        yield {"type": "response.function_call_arguments.delta", "delta": piece, **place}
    yield {"type": "response.function_call_arguments.done", "arguments": arguments, **place}


def _summary_events(place, summary):
    for number, part in enumerate(summary):
        at = place | {"summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", "part": part | {"text": ""}, **at}
        for piece in _halves(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", "delta": piece, **at}
        yield {"type": "response.reasoning_summary_text.done", "text": part["text"], **at}


def _halves(text):
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _text_part(text):
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
