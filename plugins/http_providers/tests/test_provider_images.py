"""Images that a service does not take are made smaller before they are sent."""

import asyncio
import io
import json
import logging
import struct
import sys
import zlib
from dataclasses import replace

import messages_stream
import pytest
from history_entries import user
from model_server import ModelServer, text
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_http_providers import ImageLimits
from oneclaw_http_providers.images import ImageFitter, UnfitImageError, fit_image
from oneclaw_openai.chat import OpenAIChatProvider
from PIL import Image
from provider_session import hello

from oneclaw_core import Attachment, OneClaw
from oneclaw_core.providers import ProviderConfig

LIMITS = ImageLimits(max_bytes=100_000, max_side_pixels=400, most_images=6, many_images=3, many_side_pixels=100)


def picture(width=1_000, height=500, kind="PNG", mode="RGB", *, noise=False, **options):
    made = Image.effect_noise((width, height), 90).convert(mode) if noise else Image.new(mode, (width, height), "red")
    written = io.BytesIO()
    made.save(written, kind, **options)
    return Attachment(f"a.{kind.lower()}", f"image/{kind.lower()}", written.getvalue())


def size_of(file):
    with Image.open(io.BytesIO(file.data)) as opened:
        opened.load()
        return opened.format, opened.size


def bomb(side=60_000):
    """A PNG file of a hundred bytes that claims to have billions of pixels."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return Attachment("bomb.png", "image/png", data)


def request(*attachments, each=1):
    messages = (user(f"{n}", *attachments[n : n + each]) for n in range(0, len(attachments), each))
    return hello("m", messages=tuple(messages))


def files(fitted):
    return [file for message in fitted.messages for file in message.attachments]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_within_the_limits_is_sent_as_it_is(kind):
    small = picture(400, 300, kind)
    assert fit_image(small, 100_000, 400) is small


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (picture(1_000, 500), ("PNG", (400, 200))),
        (picture(500, 1_000, "JPEG"), ("JPEG", (200, 400))),
        (picture(1_000, 500, "GIF"), ("PNG", (400, 200))),
        (picture(1_000, 500, "WEBP"), ("PNG", (400, 200))),
        (picture(1_000, 500, mode="P"), ("PNG", (400, 200))),
        (picture(1_000, 500, mode="L"), ("PNG", (400, 200))),
        (picture(1_000, 500, mode="RGBA"), ("PNG", (400, 200))),
        (picture(1_000, 500, "JPEG", mode="CMYK"), ("JPEG", (400, 200))),
        (picture(90_000, 1), ("PNG", (400, 1))),
    ],
)
def test_an_image_with_too_many_pixels_is_scaled_down(given, expected):
    made = fit_image(given, None, 400)
    assert size_of(made) == expected
    assert made.media_type == f"image/{expected[0].lower()}"


@pytest.mark.parametrize("given", [picture(noise=True), picture(kind="JPEG", noise=True, quality=95)])
def test_an_image_that_is_too_long_is_made_shorter(given):
    assert len(given.data) > 60_000
    made = fit_image(given, 60_000, None)
    assert len(made.data) <= 60_000
    assert size_of(made)[0] == "JPEG"


def test_a_photograph_stays_upright():
    turned = Image.Exif()
    turned[0x0112] = 6
    assert size_of(fit_image(picture(1_000, 500, "JPEG", exif=turned.tobytes()), None, 400)) == ("JPEG", (200, 400))


def test_what_cannot_be_made_short_enough_is_not_sent():
    with pytest.raises(UnfitImageError, match="cannot be made smaller than 100 bytes"):
        fit_image(picture(noise=True), 100, None)


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_an_image_that_claims_to_be_huge_is_never_unpacked(side, recwarn):
    with pytest.raises(UnfitImageError, match="more than the 89,000,000 that are unpacked"):
        fit_image(bomb(side), None, 400)


def test_a_damaged_image_within_the_bytes_is_left_to_the_service_and_a_longer_one_is_not_sent():
    damaged = Attachment("a.png", "image/png", picture().data[:60])
    assert fit_image(damaged, 1_000, 400) is damaged
    with pytest.raises(UnfitImageError, match="cannot be read"):
        fit_image(Attachment("a.png", "image/png", b"no image" * 1_000), 1_000, 400)


def test_without_pillow_what_is_within_the_bytes_is_sent_and_else_the_extra_is_named(monkeypatch):
    wide, long = picture(1_000, 500), picture(noise=True)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert fit_image(wide, 100_000, 400) is wide
    with pytest.raises(UnfitImageError, match=r"pip install \"oneclaw-core\[images\]\""):
        fit_image(long, 100_000, 400)


def test_a_request_with_many_images_has_smaller_ones():
    large = [picture(1_000 + n, 500) for n in range(4)]
    fitter = ImageFitter()
    few, _ = fitter.fit(request(*large[:3]), LIMITS)
    many, _ = fitter.fit(request(*large), LIMITS)
    assert {max(size_of(file)[1]) for file in files(few)} == {400}
    assert {max(size_of(file)[1]) for file in files(many)} == {100}


def test_the_oldest_of_too_many_images_are_left_out_with_a_note():
    given = request(*[picture(50 + n, 50) for n in range(7)])
    fitted, told = ImageFitter().fit(given, LIMITS)
    assert [len(message.attachments) for message in fitted.messages] == [0, 0, 0, 0, 1, 1, 1]
    assert fitted.messages[0].content == (
        "0\n[a.png (image/png) is not sent: a request has at most 6 images; ask for it again]"
    )
    assert len(told) == 4
    assert given.messages[0].attachments


def test_an_eighth_image_leaves_the_beginning_of_the_request_as_it_was():
    images = [picture(50 + n, 50) for n in range(8)]
    first, _ = ImageFitter().fit(request(*images[:7]), LIMITS)
    second, _ = ImageFitter().fit(request(*images), LIMITS)
    assert second.messages[:7] == first.messages


def test_the_same_request_gives_the_same_bytes_and_the_work_is_done_once(monkeypatch):
    given = request(picture(noise=True), picture(kind="JPEG", noise=True), bomb())
    fitter = ImageFitter()
    first = fitter.fit(given, LIMITS)
    assert ImageFitter().fit(given, LIMITS) == first
    monkeypatch.setattr(Image, "open", None)
    assert fitter.fit(given, LIMITS) == first
    renamed = Attachment("other.png", "image/png", files(given)[0].data)
    assert files(fitter.fit(request(renamed), LIMITS)[0])[0].name == "other.png"


def test_other_files_and_requests_without_images_are_left_alone():
    pdf = Attachment("a.pdf", "application/pdf", b"%PDF-" + b"x" * 200_000)
    for given in (request(pdf), hello("m")):
        assert ImageFitter().fit(given, LIMITS) == (given, [])


def test_a_provider_sends_what_its_service_takes_and_says_once_what_it_does_not_send(caplog):
    config = ProviderConfig("acme", "anthropic", max_retries=0)
    given = request(picture(9_000, 90), bomb(), each=2)
    ok = messages_stream.reply(messages_stream.text("ok"))

    async def ask(provider):
        for _ in range(2):
            assert [event async for event in provider.stream(given)][-1].text == "ok"
        shown = provider.wire_request(given).body
        await provider.aclose()
        return shown

    with caplog.at_level(logging.WARNING), ModelServer([ok, ok]) as server:
        shown = asyncio.run(ask(AnthropicProvider(replace(config, base_url=server.url))))
    first, second = server.contents
    assert first == second == shown
    [image] = [block for block in json.loads(first)["messages"][0]["content"] if block["type"] == "image"]
    assert image["source"]["media_type"] == "image/png"
    assert [record.message for record in caplog.records] == [
        "bomb.png is not sent: it claims to have too many pixels, more than the 89,000,000 that are unpacked"
    ]
    assert b"[bomb.png (image/png) is not sent: it claims" in first


def test_a_server_whose_limits_are_not_known_gets_the_original():
    with ModelServer([text("ok")]) as server:
        provider = OpenAIChatProvider(ProviderConfig("lab", "openai_compatible", server.url))
        assert provider.image_limits is None
    assert OpenAIChatProvider(ProviderConfig("x", "openai_compatible", None, "k")).image_limits.most_images == 500


def test_the_history_keeps_the_original(tmp_path):
    large = picture(9_000, 90)

    async def send(server):
        environ = {"ANTHROPIC_BASE_URL": server.url, "ONECLAW_DISABLED_PLUGINS": "web,shell,browser,javascript,skills"}
        async with OneClaw.open(tmp_path, environ=environ) as claw:
            sent = claw.send_message("Look", session="s", model="anthropic/claude-x", attachments=[large])
            async for _ in sent:
                pass
            session = await claw.store.find_session("s")
            return (await claw.store.messages(session.id))[0].attachments

    with ModelServer([messages_stream.reply(messages_stream.text("ok"))]) as server:
        assert asyncio.run(send(server)) == (large,)
    assert large.data not in server.contents[0]
