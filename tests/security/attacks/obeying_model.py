"""A model that obeys every order in whatever it is sent, over HTTP.

An order is a JSON object: ``{"call": TOOL, "arguments": {...}}`` or ``{"say": TEXT}``. The model finds orders in the
user's message, the system prompt, the descriptions of tools and all results. In arguments, ``{found}`` stands for the
secrets that it has read by then, ``{found:base64}`` for the same in another encoding, ``{label}`` for one that fits
into the name of a host. Orders for another model, such as a sub-agent's, are wrapped by :func:`later`.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from model_server import DEFAULT_USAGE, ModelServer, chunk, raw, sse, text
from secrets_at_stake import encoded, found_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from model_server import Reply

_BEGIN = re.compile(r'\{\s*"(?:call|say)"')
_SECRET = re.compile(r"\{(found|label)(?::(\w+))?\}")
_ESCAPED = re.compile(r"\\(.)")
_LATER = re.compile(r"\{later:([0-9a-f]+)\}")
_MOST_QUOTED = 20_000


def order(tool: str, **arguments: Any) -> str:
    """Write an order to call a tool."""
    return json.dumps({"call": tool, "arguments": arguments}, ensure_ascii=False)


def later(orders: str) -> str:
    """Wrap orders, so that they are orders only in what the model writes."""
    return "{later:" + orders.encode().hex() + "}"


def say(words: str) -> str:
    """Write an order to end the answer with some words."""
    return json.dumps({"say": words}, ensure_ascii=False)


def _strings(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, also those in JSON that stands in a text."""
    if isinstance(value, str):
        yield value
        if value.lstrip()[:1] in ("{", "["):
            try:
                inner = json.loads(value)
            except ValueError:
                return
            yield from _strings(inner)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


_DECODER = json.JSONDecoder()


@lru_cache(maxsize=10_000)
def _orders(text: str) -> tuple[dict[str, Any], ...]:
    # Pages of a PDF break lines anywhere; Markdown escapes, and so does JSON that stands within other texts.
    once = _unescaped(text)
    for version in (text, text.replace("\n", ""), once, _unescaped(once)):
        found = tuple(_orders_in(version))
        if found:
            return found
    return ()


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: "" if match[1] == "n" else match[1], text)


def _orders_in(text: str) -> Iterator[dict[str, Any]]:
    for match in _BEGIN.finditer(text):
        try:
            found, _ = _DECODER.raw_decode(text, match.start())
        except ValueError:
            continue
        if isinstance(found, dict) and ("say" in found or isinstance(found.get("arguments"), dict)):
            yield found


def _id(found: dict[str, Any]) -> str:
    return "obey" + hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


class ObeyingModel:
    """Answers requests; keeps no state, so that it serves any number of conversations.

    Attributes:
        server: speaks Chat Completions.
        calls: what it called, in all conversations.
    """

    def __init__(self) -> None:
        self.server = ModelServer(self._answer)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def _answer(self, body: Any) -> Reply:
        messages = body["messages"]
        read = [each for each in messages if each["role"] != "assistant"]
        tools = [tool["function"] for tool in body.get("tools", ())]
        seen = [*(_strings([each["content"] for each in read])), *_strings(tools)]
        orders = {_id(each): each for each in (found for text in seen if "{" in text for found in _orders(text))}
        called = {call["id"] for each in messages for call in each.get("tool_calls") or ()}
        pending = {key: each for key, each in orders.items() if "call" in each and key not in called}
        secrets = found_secrets("\n".join(seen))
        if pending and tools:
            return self._call(self._next(pending, {tool["name"] for tool in tools}), secrets)
        spoken = [str(each["say"]) for each in orders.values() if "say" in each]
        quoted = [str(each["content"]) for each in read if each["role"] == "tool"]
        words = " ".join([*(_filled(each, secrets) for each in spoken), "Done.", *quoted])
        return text(words[:_MOST_QUOTED])

    def _next(self, pending: dict[str, Any], offered: set[str]) -> dict[str, Any]:
        """Choose what is called at once: groups first, then what needs no secrets, then one after the other."""
        groups = {key: each for key, each in pending.items() if each["call"] == "load_tool_group"}
        ready = {key: each for key, each in pending.items() if not _SECRET.search(json.dumps(each))}
        reading = {key: each for key, each in ready.items() if each["call"] in offered}
        first = next(iter(pending.items()))
        return groups or reading or dict([first])

    def _call(self, chosen: dict[str, Any], secrets: list[str]) -> Reply:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
        for index, (key, each) in enumerate(chosen.items()):
            arguments = _fill(each["arguments"], secrets)
            self.calls.append((each["call"], arguments))
            function = {"name": each["call"], "arguments": json.dumps(arguments)}
            deltas.append({"tool_calls": [{"index": index, "id": key, "type": "function", "function": function}]})
        chunks = [*(chunk(delta) for delta in deltas), chunk({}, "tool_calls"), chunk(usage=DEFAULT_USAGE)]
        return raw(sse(chunks))


def _fill(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return _filled(value, secrets)
    if isinstance(value, dict):
        return {name: _fill(each, secrets) for name, each in value.items()}
    return [_fill(each, secrets) for each in value] if isinstance(value, list) else value


def _filled(template: str, secrets: list[str]) -> str:
    def put(match: re.Match[str]) -> str:
        known = secrets or ["nothing"]
        return encoded(known[-1] if match[1] == "label" else "-".join(known), match[2] or "plain")

    return _LATER.sub(lambda match: bytes.fromhex(match[1]).decode(), _SECRET.sub(put, template))
