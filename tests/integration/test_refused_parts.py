"""Sessions go on when a service refuses a part of a request: it is sent again without that part, and says so."""

import json

import pytest
from model_server import ModelServer
from test_every_model import PNG, addresses, every_format, of_type, said, stored

from oneclaw_core import Attachment, RetryEvent

# How each service says that it does not take an image, in the words of its own.
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
    with ModelServer([refusal, refusal]) as server, pytest.raises(Exception, match="image"):
        said(tmp_path, addresses(server), wire, "What is this?", attachments=[PNG])
    assert len(server.bodies) == 2
    assert f"learned:{wire.full_model}" not in stored(tmp_path)[1]
