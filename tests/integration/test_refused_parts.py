"""Sessions go on when a service refuses a part of a request: it is sent again without that part, and says so."""

import asyncio
import json

import pytest
from how_long import some
from model_server import ModelServer
from oneclaw_openai.chat import OpenAIChatProvider
from test_every_model import (
    EXAMPLES,
    INFO,
    LOAD,
    PNG,
    WIRES,
    addresses,
    every_format,
    is_native,
    native_formats,
    of_type,
    override,
    said,
    stored,
)
from wire_formats import SEAL, THOUGHT

from oneclaw_core import Attachment, OneClaw, RetryEvent, ToolResult, ToolResultEvent, tool
from oneclaw_core.providers import ProviderConfig

# How each service says that it does not take an image, in its own words.
IMAGE_REFUSALS = {
    "openai_compatible": "You uploaded an unsupported image. Please make sure your image is valid.",
    "openai": "The image data you provided does not represent a valid image. Please check your input and try again.",
    "anthropic": "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
    "gemini": "Unable to process input image. Please retry or report in https://example.org/issues",
}


def refusing_files(wire, *answers):
    """A service that refuses every request with an image, wherever it stands, and else answers from a list."""
    left = iter(answers)

    def script(body):
        return wire.refuses(400, IMAGE_REFUSALS[wire.provider]) if has_image(body) else next(left)

    return ModelServer(script)


def has_image(body):
    text = json.dumps(body)
    return any(mark in text for mark in ("image_url", "input_image", '"type": "image"', "inlineData"))


@pytest.mark.long
@every_format
def test_an_image_that_the_service_refuses_does_not_stop_the_session(tmp_path, wire):
    with refusing_files(wire, wire.says("I see no image."), wire.says("Hello.")) as server:
        first = said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
        again = said(tmp_path, addresses(server), wire, "Hello")
    assert first[-1].text == "I see no image."
    assert again[-1].text == "Hello."
    [notice] = of_type(RetryEvent, first)
    assert "chart.png" in notice.reason
    assert "image" in notice.reason
    assert of_type(RetryEvent, again) == []
    # Asked once in vain, and never again in another process.
    assert [has_image(body) for body in server.bodies] == [True, False, False]
    assert b"[chart.png (image/png) is not sent: the model service refused it" in server.contents[1]
    wire.assert_goes_on(*server.contents[1:])


@every_format
def test_only_the_refused_image_is_left_out(tmp_path, wire):
    good = Attachment("good.png", "image/png", PNG.data + b"good")
    script = [
        wire.says("A chart."),
        wire.refuses(400, IMAGE_REFUSALS[wire.provider]),
        wire.says("Cannot see it."),
        wire.says("Bye."),
    ]
    with ModelServer(script) as server:
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[good])
        said(tmp_path, addresses(server), wire, "And this?", attachments=[PNG])
        said(tmp_path, addresses(server), wire, "Bye")
    for body in (server.bodies[2], server.bodies[3]):
        assert wire.files(body) == [("image/png", good.data)]
    assert b"[good.png" not in server.contents[3]


@pytest.mark.long
@native_formats
def test_two_refusals_of_one_request_are_both_remembered(tmp_path, wire):
    asked = []

    def script(body):
        asked.append((is_native(wire, body), has_image(body)))
        if asked[-1][0]:
            return wire.refuses(400, wire.native_refusal)
        return wire.refuses(400, IMAGE_REFUSALS[wire.provider]) if asked[-1][1] else next(answers)

    with ModelServer(script) as server:
        answers = iter([wire.calls(LOAD), wire.says("Loaded.")])
        override(tmp_path, wire, "tool_loading", "append")
        said(tmp_path, addresses(server), wire, "Load it.")
        override(tmp_path, wire, "tool_loading", "native")
        answers = iter([wire.says("I see no image."), wire.says("Hello.")])
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
        del asked[:]
        said(tmp_path, addresses(server), wire, "Hello")
    assert asked == [(False, False)]


@pytest.mark.long
@every_format
def test_a_structured_result_whose_image_is_refused_stays_a_valid_result(tmp_path, wire):
    @tool
    def look() -> ToolResult:
        """Look at something."""
        return ToolResult.success({"width": 8}, [PNG])

    async def turn(server):
        async with OneClaw.open(tmp_path, environ=addresses(server)) as claw:
            claw.add_tools(look)
            return [each async for each in claw.send_message("Look.", model=wire.full_model)]

    with refusing_files(wire, wire.calls(("look", {})), wire.says("I see no image.")) as server:
        assert asyncio.run(turn(server))[-1].text == "I see no image."
    [shown] = [text for text in texts_in(server.bodies[-1]) if "[chart.png (image/png) is not sent" in text]
    if shown.startswith('{"status'):
        shown = json.loads(shown)["result"]
    assert shown.startswith('{"width":8}\n[chart.png (image/png) is not sent')


def texts_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [text for each in value for text in texts_in(each)]
        if isinstance(value, list)
        else [value] * isinstance(value, str)
    )


@pytest.mark.long
@every_format
def test_a_session_that_a_file_has_stopped_before_goes_on(tmp_path, wire):
    # An older version has stored the message, and failed.
    with ModelServer([wire.refuses(401, "not today")]) as server, pytest.raises(Exception, match="401"):
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
    with refusing_files(wire, wire.says("Hello.")) as server:
        assert said(tmp_path, addresses(server), wire, "Hello")[-1].text == "Hello."


@every_format
def test_what_is_refused_without_the_file_too_teaches_nothing(tmp_path, wire):
    refusal = wire.refuses(400, IMAGE_REFUSALS[wire.provider])
    with ModelServer(lambda _: refusal) as server, pytest.raises(Exception, match="image"):
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
    assert len(server.bodies) == 3  # the last one without the message
    assert f"learned:{wire.full_model}" not in stored(tmp_path)[1]


CHAT, GEMINI = WIRES["openai_compatible"], WIRES["gemini"]


def test_a_server_that_refuses_stream_options_is_asked_without_them(tmp_path):
    def script(body):
        if "stream_options" in body:
            return CHAT.refuses(400, "Unrecognized request argument supplied: stream_options")
        return CHAT.says("Hello.")

    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), CHAT, "Hello")
        again = said(tmp_path, addresses(server), CHAT, "Hello again")
    assert [turn[-1].text for turn in (first, again)] == ["Hello.", "Hello."]
    assert ["stream_options" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "refusal"),
    some(
        [
            (400, "registry.ollama.ai/library/tiny:latest does not support tools"),
            (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
            (404, "No endpoints found that support tool use."),
        ],
        3,
    ),
)
def test_a_model_without_tools_answers_without_them_and_knows(tmp_path, status, refusal):
    def script(body):
        return CHAT.refuses(status, refusal) if "tools" in body else CHAT.says("Hello.")

    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), CHAT, "Hello")
        said(tmp_path, addresses(server), CHAT, "Hello again")
    assert first[-1].text == "Hello."
    assert ["tools" in body for body in server.bodies] == [True, False, False]
    assert "No tool can be called" in CHAT.system_prompt(server.bodies[1])


def test_reasoning_that_a_server_does_not_know_is_not_sent_back(tmp_path):
    def script(body):
        if any("reasoning_content" in message for message in body["messages"]):
            return CHAT.refuses(400, "'messages.2' : property 'reasoning_content' is unsupported")
        return CHAT.says("Hello.", thought=THOUGHT)

    with ModelServer(script) as server:
        for message in ("Hello", "Again", "And again"):
            assert said(tmp_path, addresses(server), CHAT, message)[-1].text == "Hello."
    assert len(server.bodies) == 4


@pytest.mark.parametrize(
    ("wire", "refusal"),
    some(
        [
            (GEMINI, "Thought signature is not valid"),
            (WIRES["openai"], "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
            (WIRES["openai"], "The encrypted content of input item rs_1 could not be verified."),
            (WIRES["anthropic"], "messages.1.content.0: Invalid `signature` in `thinking` block"),
            (
                WIRES["anthropic"],
                "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message "
                "cannot be modified. These blocks must remain as they were in the original response.",
            ),
        ],
        6,
    ),
)
def test_thoughts_that_are_refused_are_left_out_and_new_ones_are_sent(tmp_path, wire, refusal):
    script = [
        wire.calls(LOAD, thought=THOUGHT),
        wire.refuses(400, refusal),
        wire.calls(INFO, thought=THOUGHT),
        wire.says("Six."),
        wire.says("Bye."),
    ]
    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), wire, "How many pages?")
        again = said(tmp_path, addresses(server), wire, "Bye")
    assert [turn[-1].text for turn in (first, again)] == ["Six.", "Bye."]
    assert "left out: earlier reasoning" in of_type(RetryEvent, first)[0].reason
    # The next process knows it.
    assert of_type(RetryEvent, again) == []
    assert [content.count(SEAL.encode()) for content in server.contents] == [0, 1, 0, 1, 1]


@pytest.mark.long
def test_a_model_without_encrypted_reasoning_is_not_asked_for_it_again(tmp_path):
    wire = WIRES["openai"]

    def script(body):
        if "include" in body:
            return wire.refuses(400, "Encrypted content is not supported with this model.")
        return wire.says("Hello.")

    with ModelServer(script) as server:
        turns = [said(tmp_path, addresses(server), wire, "Hello", session=name) for name in ("s", "s", "other")]
    assert [turn[-1].text for turn in turns] == ["Hello."] * 3
    assert ["include" in body for body in server.bodies] == [True, False, False, False]


# The number of tools


def talk(home, server, wire, *messages, tools=130):
    """Send messages to an agent with a group of many tools, and give the events of each turn."""

    def made(number):
        def run(text: str) -> str:
            """Do something."""
            return f"{number} {text}"

        return tool(run, name=f"tool_{number}")

    async def main():
        async with OneClaw.open(home, environ=addresses(server), start_directory=EXAMPLES) as claw:
            claw.add_tools(*map(made, range(tools)), group="many")
            return [
                [event async for event in claw.send_message(each, session="s", model=wire.full_model)]
                for each in messages
            ]

    return asyncio.run(main())


LOAD_MANY = ("load_tool_group", {"group_name": "many"})
USE_TOOL = ("use_tool", {"name": "tool_129", "arguments": {"text": "it"}})
TOOL_LIMITS = [
    (
        CHAT,
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 143"
        " instead.",
    ),
    (WIRES["openai"], "Invalid 'tools': array too long. Expected an array with maximum length 128, got 143."),
    (WIRES["anthropic"], "tools: List should have at most 128 items after validation, not 143"),
    (GEMINI, "tools[0].function_declarations: [FIELD_INVALID] At most 128 function declarations can be specified."),
]


@pytest.mark.parametrize(("wire", "refusal"), TOOL_LIMITS, ids=[wire.provider for wire, _ in TOOL_LIMITS])
def test_tools_beyond_what_a_service_takes_are_called_through_the_dispatcher(tmp_path, wire, refusal):
    answers = iter([wire.calls(LOAD_MANY), wire.calls(USE_TOOL), wire.says("Done."), wire.says("Bye.")])

    def script(body):
        is_refused = len(wire.at_hand(body)) > 128
        return wire.refuses(400, refusal) if is_refused else next(answers)

    with ModelServer(script) as server:
        override(tmp_path, wire, "tool_loading", "append")
        [events] = talk(tmp_path, server, wire, "Do it")
        [again] = talk(tmp_path, server, wire, "Bye")
    [result] = [event.result.text() for event in of_type(ToolResultEvent, events) if event.name == "tool_129"]
    assert "129 it" in result
    assert again[-1].text == "Bye."
    counts = [len(wire.at_hand(body)) for body in server.bodies]
    assert counts == [12, 142, 13, 13, 13]
    assert [len(of_type(RetryEvent, turn)) for turn in (events, again)] == [1, 0]


@pytest.mark.long
def test_a_known_limit_is_kept_before_it_is_met(monkeypatch, tmp_path):
    assert OpenAIChatProvider(ProviderConfig("openai", "openai_compatible")).most_tools == 128
    monkeypatch.setattr(OpenAIChatProvider, "most_tools", 128)  # as of the server on loopback
    answers = [CHAT.calls(LOAD_MANY), CHAT.calls(USE_TOOL), CHAT.says("Done.")]
    with ModelServer(answers) as server:
        [events] = talk(tmp_path, server, CHAT, "Do it")
    assert events[-1].text == "Done."
    assert [len(CHAT.at_hand(body)) for body in server.bodies] == [12, 13, 13]


@pytest.mark.long
def test_more_than_gemini_takes_are_dispatched(tmp_path):
    answers = [GEMINI.calls(LOAD_MANY), GEMINI.calls(USE_TOOL), GEMINI.says("Done.")]
    with ModelServer(answers) as server:
        [events] = talk(tmp_path, server, GEMINI, "Do it", tools=510)
    assert events[-1].text == "Done."
    assert [len(GEMINI.at_hand(body)) for body in server.bodies] == [12, 13, 13]


@pytest.mark.long
@pytest.mark.parametrize(
    ("status", "words"),
    some(
        [
            (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
            (403, "This model does not accept image input."),
            (404, "No endpoints found that support image input"),
            (413, "The image is too large"),
            (415, "Unsupported media type: image"),
            (422, "Bildeingabe wird nicht unterstützt (images)"),
            (400, "nope"),
        ],
        3,
    ),
)
def test_an_image_is_left_out_under_any_status(tmp_path, status, words):
    wire = WIRES["openai_compatible"]

    def script(body):
        return wire.refuses(status, words) if has_image(body) else wire.says("Fine.")

    with ModelServer(script) as server:
        first = said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
        again = said(tmp_path, addresses(server), wire, "Hello")
    assert (first[-1].text, again[-1].text) == ("Fine.", "Fine.")
    assert [has_image(body) for body in server.bodies] == [True, False, False]
    [notice] = of_type(RetryEvent, first)
    assert "left out: chart.png" in notice.reason
