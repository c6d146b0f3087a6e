"""The four wire formats: what a scripted service says in each, and what a test reads in its requests."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import messages_stream
import pytest
import responses_stream
from model_server import (
    DEFAULT_USAGE,
    Reply,
    calls,
    chunk,
    hang_up_after,
    named_events,
    raw,
    sse,
    status,
    text,
)

from oneclaw_core.types.messages import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

CORE = [
    "load_tool_group",
    "get_current_time",
    "read_file",
    "write_file",
    "webfetch",
    "http_request",
    "exec",
    "js_eval",
    "load_skill",
    "save_memory",
    "search_history",
    "browser",
]
# One group is enough, whatever else is installed.
OTHERS = "agents,checkpoints,config,files,google_workspace,js_tool_management,scheduled_tasks,search"
PDF = ["pdf_info", "pdf_extract_text", "pdf_render_page"]
# The plugin of exec has a group too.
COMMANDS = ["start_command", "read_command_output", "stop_command", "list_commands"]
# What a model thinks: to be read, and sealed for the service to read again.
THOUGHT = "a thought for no one else"
SEAL = base64.b64encode(b"a sealed thought").decode()
_CALL_ID = "call_REQUEST_"  # the server puts the number of the request there


class WireFormat(ABC):
    """A wire format.

    Attributes:
        provider: the preconfigured provider that speaks it.
        model: a model of the vendor's, with a known price.
        path: what the path of every request ends in.
        keys: where a request has its tools, its system prompt (``None``: in the history) and its history.
        loads_natively: whether a loaded group leaves the list of tools as it was.
        native_refusal: how a service says that it does not know the native way.
        takes_pdf: whether any server is sent PDF files.
        usage: what every complete answer says it used.
        finish_reasons: the service's words for an answer that is complete, and one that reached the token limit.
    """

    provider: ClassVar[str]
    model: ClassVar[str]
    path: ClassVar[str]
    keys: ClassVar[tuple[str, str | None, str]]
    key_variable: ClassVar[str]
    loads_natively: ClassVar[bool] = False
    native_refusal: ClassVar[str] = ""
    takes_pdf: ClassVar[bool] = True
    usage: ClassVar[TokenUsage]
    finish_reasons: ClassVar[tuple[str, str]]

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"

    @abstractmethod
    def says(self, content: str, *, thought: str | None = None) -> Reply:
        """The model answers with a text."""

    @abstractmethod
    def calls(self, *named: tuple[str, Any], thought: str | None = None) -> Reply:
        """The model calls tools, each a name and its arguments."""

    @abstractmethod
    def says_nothing(self, *, reaches_limit: bool = False) -> Reply:
        """The model ends its answer without a text or a call."""

    @abstractmethod
    def is_cut(self, *whole: tuple[str, Any], half: tuple[str, str], content: str, thought: str | None = None) -> Reply:
        """The token limit cuts the last call of an answer; its arguments are a text."""

    @abstractmethod
    def breaks_off_after(self, content: str) -> Reply:
        """The service hangs up in the middle of an answer."""

    def refuses(self, code: int, message: str, headers: dict[str, str] | None = None) -> Reply:
        """The service refuses the request."""
        return status(code, headers, {"error": {"message": message, "type": "refused", "param": None, "code": None}})

    def members(self, content: bytes) -> dict[str, str]:
        """The members of a request, each value just as it was written."""
        written = content.decode()
        decoder = json.JSONDecoder()
        found, place = {}, 1
        while place < len(written):
            key, place = decoder.raw_decode(written, place)
            start = place + 1
            _, place = decoder.raw_decode(written, start)
            found[key] = written[start:place]
            place += 1
        return found

    def assert_goes_on(self, earlier: bytes, later: bytes) -> None:
        """What the earlier request begins with, the later one begins with, byte by byte; the history has grown."""
        tools, _, history = self.keys
        before, after = self.members(earlier), self.members(later)
        assert list(before) == list(after)
        for key, value in before.items():
            if key == history:
                assert after[key].startswith(value.removesuffix("]"))
                assert len(after[key]) > len(value)
            elif key == tools and not self.loads_natively:
                assert after[key].startswith(value.rstrip("]}"))
            else:
                assert after[key] == value, key
        if self.loads_natively:  # then nothing at all is between what was sent and what is new
            assert self.comparable(later).startswith(self.comparable(earlier).removesuffix(b"]}"))

    def comparable(self, content: bytes) -> bytes:
        """A request without what the service's cache does not mind."""
        return content

    def declared(self, body: Any) -> list[str]:
        """The names in the list of tools."""
        return [tool["name"] for tool in body.get("tools", ())]

    def at_hand(self, body: Any) -> list[str]:
        """The names of all tools that the model may call."""
        return self.declared(body)

    def assert_loaded(self, body: Any) -> None:
        """The group is told right where it was loaded: the second thing that the model did, after the first message."""
        assert self.declared(body) == CORE + PDF

    def history(self, body: Any) -> list[Any]:
        return body[self.keys[2]]

    @abstractmethod
    def system_prompt(self, body: Any) -> str:
        """The instructions."""

    @abstractmethod
    def files(self, body: Any) -> list[tuple[str, bytes]]:
        """The files of the first message, each its media type and content."""


class ChatCompletions(WireFormat):
    provider = "openai_compatible"
    model = "gpt-4o"
    path = "/chat/completions"
    keys = ("tools", None, "messages")
    key_variable = "OPENAI_API_KEY"
    takes_pdf = False  # known to be taken by some servers only, and refused by the others with the whole request
    usage = TokenUsage(input_tokens=1_000, cached_input_tokens=800, output_tokens=50)
    finish_reasons = ("stop", "length")
    _counts: ClassVar[dict[str, Any]] = {
        **DEFAULT_USAGE,
        "prompt_tokens": 1_000,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 800},
    }

    def says(self, content, *, thought=None):
        return _with_thought(text(content, usage=self._counts), thought)

    def calls(self, *named, thought=None):
        return _with_thought(calls(*named, usage=self._counts), thought)

    def says_nothing(self, *, reaches_limit=False):
        end = chunk({}, self.finish_reasons[reaches_limit])
        return raw(sse([chunk({"role": "assistant", "content": ""}), end, chunk(usage=self._counts)]))

    def is_cut(self, *whole, half, content, thought=None):
        written = calls(*whole, half, content=content, usage=self._counts)
        pieces = [piece.replace(b'"tool_calls"}', b'"length"}') for piece in written.pieces]
        assert pieces != list(written.pieces)
        return _with_thought(raw(*pieces), thought)

    def breaks_off_after(self, content):
        return hang_up_after(sse([chunk({"content": content})], done=False))

    def declared(self, body):
        return [tool["function"]["name"] for tool in body.get("tools", ())]

    def system_prompt(self, body):
        return body["messages"][0]["content"]

    def files(self, body):
        parts = _parts(body["messages"][1])
        return [_of_data_url(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]


class Responses(WireFormat):
    provider = "openai"
    model = "gpt-4o"
    path = "/responses"
    keys = ("tools", "instructions", "input")
    key_variable = "OPENAI_API_KEY"
    loads_natively = True
    native_refusal = "Invalid value: 'additional_tools'. Supported values are: 'message' and 'function_call'."
    usage = TokenUsage(
        input_tokens=100, cached_input_tokens=64, cache_write_tokens=32, output_tokens=20, reasoning_tokens=15
    )
    finish_reasons = ("completed", "max_output_tokens")

    def says(self, content, *, thought=None):
        return _piecewise(self._events(responses_stream.message(content), thought=thought))

    def calls(self, *named, thought=None):
        return _piecewise(
            self._events(
                *(
                    responses_stream.call(
                        name,
                        arguments,
                        call_id=f"{_CALL_ID}{number}",
                        namespace=name if name in PDF else None,
                    )
                    for number, (name, arguments) in enumerate(named)
                ),
                thought=thought,
            )
        )

    def _events(self, *items, thought):
        thoughts = [responses_stream.reasoning(thought, encrypted=SEAL)] if thought else []
        return responses_stream.stream(*thoughts, *items)

    def says_nothing(self, *, reaches_limit=False):
        return _piecewise(responses_stream.stream(**self._ending(reaches_limit=reaches_limit)))

    def is_cut(self, *whole, half, content, thought=None):
        thoughts = [responses_stream.reasoning(thought, encrypted=SEAL)] if thought else []
        items = [responses_stream.call(*each, call_id=f"{_CALL_ID}{place}") for place, each in enumerate(whole)]
        return _piecewise(
            responses_stream.stream(
                *thoughts,
                responses_stream.message(content),
                *items,
                half=responses_stream.call(*half, call_id=f"{_CALL_ID}half"),
                **self._ending(reaches_limit=True),
            )
        )

    def _ending(self, *, reaches_limit):
        return {"status": "incomplete", "reason": self.finish_reasons[1]} if reaches_limit else {}

    def breaks_off_after(self, content):
        return hang_up_after(named_events(responses_stream.stream(responses_stream.message(content))[:4]))

    def at_hand(self, body):
        loaded = [item for item in body["input"] if item["type"] == "additional_tools"]
        return self.declared(body) + [tool["name"] for item in loaded for tool in item["tools"]]

    def assert_loaded(self, body):
        assert self.declared(body) == CORE
        asked, called, outcome, loaded = [item for item in body["input"] if item["type"] != "reasoning"][:4]
        assert (asked["type"], called["type"], outcome["type"]) == ("message", "function_call", "function_call_output")
        assert (loaded["type"], loaded["role"]) == ("additional_tools", "developer")
        assert [tool["name"] for tool in loaded["tools"]] == PDF

    def system_prompt(self, body):
        return body["instructions"]

    def files(self, body):
        parts = [part for part in _parts(body["input"][0]) if part["type"] != "input_text"]
        return [_of_data_url(part.get("image_url") or part["file_data"]) for part in parts]


class Messages(WireFormat):
    provider = "anthropic"
    model = "claude-sonnet-4-5"
    path = "/messages"
    keys = ("tools", "system", "messages")
    key_variable = "ANTHROPIC_API_KEY"
    loads_natively = True
    native_refusal = "tools.5.custom.defer_loading: Extra inputs are not permitted"
    usage = TokenUsage(
        input_tokens=240, cached_input_tokens=200, cache_write_tokens=30, output_tokens=42, reasoning_tokens=7
    )
    finish_reasons = ("end_turn", "max_tokens")

    def says(self, content, *, thought=None):
        return messages_stream.reply(*self._thoughts(thought), messages_stream.text(content))

    def calls(self, *named, thought=None):
        blocks = [
            messages_stream.call(name, arguments, call_id=f"{_CALL_ID}{number}")
            for number, (name, arguments) in enumerate(named)
        ]
        return messages_stream.reply(*self._thoughts(thought), *blocks, stop_reason="tool_use")

    def _thoughts(self, thought):
        return [messages_stream.thinking(thought, SEAL)] if thought else []

    def says_nothing(self, *, reaches_limit=False):
        return messages_stream.reply(stop_reason=self.finish_reasons[reaches_limit])

    def is_cut(self, *whole, half, content, thought=None):
        blocks = [
            messages_stream.call(*each, call_id=f"{_CALL_ID}{place}") for place, each in enumerate([*whole, half])
        ]
        return messages_stream.reply(
            *self._thoughts(thought), messages_stream.text(content), *blocks, stop_reason=self.finish_reasons[1]
        )

    def breaks_off_after(self, content):
        return hang_up_after(messages_stream.sse(messages_stream.events(messages_stream.text(content))[:5]))

    def refuses(self, code, message, headers=None):
        return status(code, headers, {"type": "error", "error": {"type": "refused", "message": message}})

    def members(self, content):
        return super().members(self.comparable(content))

    def comparable(self, content):
        return content.replace(b',"cache_control":{"type":"ephemeral"}', b"")

    def at_hand(self, body):
        referred = [
            reference["tool_name"]
            for message in body["messages"]
            for block in message["content"]
            if block["type"] == "tool_result" and isinstance(block["content"], list)
            for reference in block["content"]
            if reference["type"] == "tool_reference"
        ]
        return [tool["name"] for tool in body.get("tools", ()) if "defer_loading" not in tool] + referred

    def assert_loaded(self, body):
        assert self.declared(body) == CORE + COMMANDS + PDF
        assert [tool["name"] for tool in body["tools"] if tool.get("defer_loading")] == COMMANDS + PDF
        (outcome,) = body["messages"][2]["content"]
        assert outcome["content"] == [{"type": "tool_reference", "tool_name": name} for name in PDF]

    def system_prompt(self, body):
        return body["system"][0]["text"]

    def files(self, body):
        blocks = [block for block in body["messages"][0]["content"] if block["type"] in ("image", "document")]
        return [(block["source"]["media_type"], base64.b64decode(block["source"]["data"])) for block in blocks]


class GenerateContent(WireFormat):
    provider = "gemini"
    model = "gemini-2.5-pro"
    path = ":streamGenerateContent?alt=sse"
    keys = ("tools", "systemInstruction", "contents")
    key_variable = "GEMINI_API_KEY"
    usage = TokenUsage(input_tokens=1_000, cached_input_tokens=800, output_tokens=50, reasoning_tokens=10)
    finish_reasons = ("STOP", "MAX_TOKENS")
    _counts: ClassVar[dict[str, int]] = {
        "promptTokenCount": 1_000,
        "cachedContentTokenCount": 800,
        "candidatesTokenCount": 40,
        "thoughtsTokenCount": 10,
    }

    def says(self, content, *, thought=None):
        half = len(content) // 2
        return self._answer([{"text": content[:half]}, {"text": content[half:]}], thought)

    def calls(self, *named, thought=None):
        parts = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in named]
        return self._answer([parts[0] | ({"thoughtSignature": SEAL} if thought else {}), *parts[1:]], thought)

    def _answer(self, parts, thought):
        thoughts = [{"text": thought, "thought": True}] if thought else []
        return raw(*(self._chunk(part) for part in [*thoughts, *parts]), self._chunk({"text": ""}, finishReason="STOP"))

    def _chunk(self, part, **ending):
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0} | ending
        names = {"responseId": "gemini-1", "modelVersion": "gemini-2.5-pro-001"}
        return sse([{"candidates": [candidate], "usageMetadata": self._counts, **names}], done=False)

    def says_nothing(self, *, reaches_limit=False):
        end = {"content": {"role": "model"}, "finishReason": self.finish_reasons[reaches_limit], "index": 0}
        return raw(sse([{"candidates": [end], "usageMetadata": self._counts}], done=False))

    def is_cut(self, *whole, half, content, thought=None):
        parts = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in whole]
        if parts and thought:
            parts[0] |= {"thoughtSignature": SEAL}
        piece = {"functionCall": {"name": half[0], "partialArgs": [{"jsonPath": "$.x", "stringValue": half[1]}]}}
        thoughts = [{"text": thought, "thought": True}] if thought else []
        chunks = [self._chunk(part) for part in [*thoughts, {"text": content}, *parts]]
        return raw(*chunks, self._chunk(piece, finishReason=self.finish_reasons[1]))

    def breaks_off_after(self, content):
        return hang_up_after(self._chunk({"text": content}))

    def refuses(self, code, message, headers=None):
        return status(code, headers, {"error": {"code": code, "message": message, "status": "REFUSED"}})

    def declared(self, body):
        return [each["name"] for tool in body.get("tools", ()) for each in tool["functionDeclarations"]]

    def system_prompt(self, body):
        return body["systemInstruction"]["parts"][0]["text"]

    def files(self, body):
        parts = [part["inlineData"] for part in body["contents"][0]["parts"] if "inlineData" in part]
        return [(part["mimeType"], base64.b64decode(part["data"])) for part in parts]


FORMATS: tuple[WireFormat, ...] = (ChatCompletions(), Responses(), Messages(), GenerateContent())


def each_of(formats: Iterable[WireFormat]) -> list[Any]:
    """Parameters for a test, one of which is tried on every Python: the formats have separate tests."""
    everywhere = "anthropic"
    return [
        pytest.param(wire, id=wire.provider, marks=() if wire.provider == everywhere else pytest.mark.one_python)
        for wire in formats
    ]


def _piecewise(events: Iterable[Any]) -> Reply:
    return raw(*(named_events([event]) for event in events))


def _with_thought(reply: Reply, thought: str | None) -> Reply:
    """The same answer with the thought before it, as servers with reasoning models stream it."""
    if thought is None:
        return reply
    return raw(sse([chunk({"role": "assistant", "reasoning_content": thought})], done=False), *reply.pieces)


def _parts(message: Any) -> list[Any]:
    """The parts of a message; one that is a text has none."""
    return message["content"] if isinstance(message["content"], list) else []


def _of_data_url(url: str) -> tuple[str, bytes]:
    media_type, _, content = url.removeprefix("data:").partition(";base64,")
    return media_type, base64.b64decode(content)
