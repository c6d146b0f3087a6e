"""Outputs of all kinds of types through the four wire formats: natively, by the tool and by the prompt.

The vendors' own types judge the requests, and that nothing of a request without an output has changed.
"""

import asyncio
import datetime as dt
import decimal
import json
import pkgutil
import uuid
from typing import Annotated, Any, Literal

import pytest
from how_long import IS_LONG, some
from model_server import ModelServer
from pydantic import BaseModel, Field, TypeAdapter, create_model
from wire_formats import FORMATS, each_of

from oneclaw_core import OneClaw, Output, OutputEvent, TurnFinishedEvent

pytestmark = pytest.mark.one_python


class A(BaseModel):
    kind: Literal["a"]
    x: int


class B(BaseModel):
    kind: Literal["b"]
    y: str


class Node(BaseModel):
    name: str
    children: "list[Node]" = []


MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
UUID = uuid.UUID("8f9b5c8e-4a53-5d0c-9b57-3c1f0a6f5b1e")
TYPES: dict[str, tuple[Any, Any]] = {
    "int ge/le": (Annotated[int, Field(ge=1, le=9)], 5),
    "str pattern": (Annotated[str, Field(pattern="^a+$")], "aaa"),
    "str max_length": (Annotated[str, Field(max_length=5)], "abc"),
    "dict[str,int]": (dict[str, int], {"k": 1}),
    "Any": (Any, [1, "two"]),
    "datetime": (dt.datetime, MOMENT),
    "Decimal": (decimal.Decimal, decimal.Decimal("1.50")),
    "uuid": (uuid.UUID, UUID),
    "Optional=None": ((int | None, None), None),
    "default 3": ((int, 3), 4),
    "discriminated union": (Annotated[A | B, Field(discriminator="kind")], B(kind="b", y="z")),
    "union A|B": (A | B, A(kind="a", x=1)),
    "recursive": (Node, Node(name="n", children=[Node(name="m")])),
    "tuple[int,str]": (tuple[int, str], (1, "s")),
    "set[int]": (set[int], {1, 2}),
    "list min 2": (Annotated[list[int], Field(min_length=2)], [1, 2]),
    "bytes": (bytes, b"raw"),
    "Literal mixed": (Literal["a", 1, None], 1),
}
# Where the schema cannot be said so that the model can answer by it, the tool is used.
NOT_NATIVE = {"anthropic": {"dict[str,int]", "Any", "recursive", "tuple[int,str]"}}
STRICT = {"int ge/le", "str pattern", "datetime", "Decimal", "uuid", "union A|B", "list min 2", "Literal mixed"}
# For each format, what of a request is judged, and by which type.
JUDGED = {
    "openai_compatible": ("response_format", "openai.types.shared_params:ResponseFormatJSONSchema"),
    "openai": ("text", "openai.types.responses:ResponseTextConfigParam"),
    "anthropic": ("output_config", "anthropic.types:OutputConfigParam"),
    "gemini": ("generationConfig", "google.genai.types:GenerateContentConfig"),
}


def judge(wire, body):
    """Have the vendor's type check a request, only in the long form: the types take seconds to import."""
    if not IS_LONG:
        return
    key, judge_of_it = JUDGED[wire.provider]
    TypeAdapter(pkgutil.resolve_name(judge_of_it)).validate_python(body[key])


every_format = pytest.mark.parametrize("wire", each_of(FORMATS))


def model_of(name):
    kind, _ = TYPES[name]
    return create_model("M", v=kind if isinstance(kind, tuple) else (kind, ...))


def opened(home, url):
    names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    environ = dict.fromkeys(names, url) | dict.fromkeys(keys, "sk-1")
    plugins = ["builtin", "openai", "anthropic", "gemini"]
    return OneClaw.open(home, environ=environ, plugins=plugins)


def played(home, wire, reply, output, *, said=None, **options):
    """Play a turn; return its events and the body of the last request."""

    async def run(url):
        async with opened(home, url) as claw:
            if said is not None:
                await claw.configuration.models.say(wire.full_model, "structured_output", str(said).lower())
            options.setdefault("model", wire.full_model)
            return [event async for event in claw.send_message("Go.", output=output, **options)]

    with ModelServer([reply]) as server:
        events = asyncio.run(run(server.url))
        return events, server.bodies[-1]


def output_of(events):
    return [event for event in events if isinstance(event, TurnFinishedEvent)][-1].output


@every_format
@pytest.mark.parametrize("name", some(TYPES, 3))
def test_each_type_natively(tmp_path, wire, name):
    wanted = model_of(name)
    value = wanted(v=TYPES[name][1])
    if name in NOT_NATIVE.get(wire.provider, ()):
        reply = wire.calls(("final_result", json.loads(value.model_dump_json())))
        events, body = played(tmp_path, wire, reply, wanted, said=True)
        assert wire.declared(body)[-1] == "final_result" or "final_result" in json.dumps(body)
        assert "output_config" not in body
    else:
        events, body = played(tmp_path, wire, wire.says(value.model_dump_json()), wanted, said=True)
        judge(wire, body)
        if wire.provider == "openai":
            assert body["text"]["format"]["strict"] is (name in STRICT)
    assert output_of(events) == value


@every_format
@pytest.mark.parametrize("name", ["int ge/le", "dict[str,int]", "discriminated union", "recursive", "set[int]"])
def test_some_types_by_the_tool(tmp_path, wire, name):
    wanted = model_of(name)
    value = wanted(v=TYPES[name][1])
    reply = wire.calls(("final_result", json.loads(value.model_dump_json())))
    events, body = played(tmp_path, wire, reply, wanted, said=False)
    assert output_of(events) == value
    assert "final_result" in json.dumps(body)
    assert "json_schema" not in json.dumps(body)


@every_format
def test_a_result_that_is_no_object_is_wrapped_and_parts_of_it_come(tmp_path, wire):
    events, _ = played(
        tmp_path, wire, wire.says('{"result":[{"kind":"a","x":1},{"kind":"b","y":"z"}]}'), list[A | B], said=True
    )
    assert output_of(events) == [A(kind="a", x=1), B(kind="b", y="z")]
    parts = [event.value for event in events if isinstance(event, OutputEvent)]
    assert parts[-1] == [{"kind": "a", "x": 1}, {"kind": "b", "y": "z"}]


@pytest.mark.parametrize("wire", each_of([wire for wire in FORMATS if wire.provider != "gemini"]))
def test_parts_of_a_result_come_by_the_tool_too(tmp_path, wire):
    """Gemini's calls come whole."""
    beside = ("get_current_time", {"timezone": "UTC"})
    reply = wire.calls(beside, ("final_result", {"kind": "b", "y": "a longer text of some words"}))
    events, _ = played(tmp_path, wire, reply, B)
    parts = [event.value for event in events if isinstance(event, OutputEvent)]
    assert len(parts) >= 2
    assert parts[0] != parts[-1] == {"kind": "b", "y": "a longer text of some words"}


@every_format
def test_without_a_word_a_server_at_another_address_is_not_asked_natively(tmp_path, wire):
    events, body = played(tmp_path, wire, wire.calls(("final_result", {"kind": "a", "x": 1})), A)
    assert output_of(events) == A(kind="a", x=1)
    assert "json_schema" not in json.dumps(body)


@every_format
def test_a_service_that_refuses_the_schema_is_asked_by_the_prompt_and_then_by_the_tool(tmp_path, wire):
    refused = wire.refuses(400, "Unknown parameter: response_format.json_schema is not supported by this model")
    script = [refused, wire.says('{"kind":"a","x":1}'), wire.calls(("final_result", {"kind": "a", "x": 1}))]

    async def run(url):
        async with opened(tmp_path, url) as claw:
            await claw.configuration.models.say(wire.full_model, "structured_output", "true")
            for _ in range(2):
                sent = claw.send_message("Go.", output=A, model=wire.full_model)
                assert output_of([event async for event in sent]) == A(kind="a", x=1)

    with ModelServer(script) as server:
        asyncio.run(run(server.url))
        native, prompted, by_tool = server.bodies
    judge(wire, native)
    assert "Answer with JSON alone" in wire.system_prompt(prompted)
    assert "final_result" in json.dumps(by_tool)


@every_format
def test_the_prompted_form_leaves_what_a_request_begins_with(tmp_path, wire):
    good = wire.says('{"kind":"a","x":1}')
    _, plain = played(tmp_path / "1", wire, wire.says("Hello."), None)
    _, asked = played(tmp_path / "2", wire, good, Output(A, "prompted"))
    history = wire.keys[2]
    changing = {history, "prompt_cache_key"}
    assert {key: each for key, each in plain.items() if key not in changing} == {
        key: each for key, each in asked.items() if key not in changing
    }
    assert "JSON Schema" in json.dumps(asked[history])


def test_the_effort_stays_beside_the_schema(tmp_path):
    wire = next(each for each in FORMATS if each.provider == "anthropic")
    model = "anthropic/claude-opus-4-6"

    async def run(url):
        async with opened(tmp_path, url) as claw:
            await claw.configuration.models.say(model, "structured_output", "true")
            return [event async for event in claw.send_message("Go.", output=A, model=model, reasoning="low")]

    with ModelServer([wire.says('{"kind":"a","x":1}')]) as server:
        asyncio.run(run(server.url))
        config = server.bodies[-1]["output_config"]
    assert (config["effort"], config["format"]["type"]) == ("low", "json_schema")


def test_gemini_before_3_is_asked_natively_without_tools_alone():
    from oneclaw_gemini.provider import GeminiProvider

    from oneclaw_core.providers import ModelRequest, ProviderConfig
    from oneclaw_core.tools import ActiveTools
    from oneclaw_core.types.tools import ToolDefinition

    provider = GeminiProvider(ProviderConfig("gemini", "gemini", api_key="k"))
    some = ActiveTools((ToolDefinition("t", "Does it."),))

    def takes(model, tools):
        request = ModelRequest(model=model, system_prompt="", messages=(), tools=tools, session_id="s")
        return provider.takes_output(request, None)

    assert [takes("gemini-2.5-pro", some), takes("gemini-2.5-pro", ActiveTools(()))] == [False, True]
    assert takes("gemini-3-pro", some)
