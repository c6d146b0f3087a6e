"""Refusals of a turn, word for word: each message says what is wrong and what to do."""

import asyncio
from datetime import date
from types import SimpleNamespace

import pytest

from oneclaw_core.errors import OneClawError, TurnDeadlineError, TurnStoppedError, UsageError
from oneclaw_core.files import attachments
from oneclaw_core.files.attachments import media_type_of, read_attachment, size_text
from oneclaw_core.models.attachments import accepted_media_types, check_attachments, media_type_names
from oneclaw_core.sessions.conversations import Sessions, no_session, shortened
from oneclaw_core.turn.call_records import INTERRUPTED
from oneclaw_core.turn.request import with_summary
from oneclaw_core.turn.stream import Deadline, TurnTracker
from oneclaw_core.turn.turn import readable
from oneclaw_core.turn.turn_request import checked_attachments
from oneclaw_core.types.messages import Attachment, Message, MessageType, ToolCallStatus

GIF, PDF = b"GIF89a", b"%PDF-1.4"


def refused(work):
    with pytest.raises(OneClawError) as caught:
        work()
    return str(caught.value)


def test_a_file_that_cannot_be_attached_is_named_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(attachments, "MAX_ATTACHMENT_BYTES", 2_000_000)
    cases = {
        "missing.gif": (None, "No such file or directory"),
        "empty.gif": (b"", "it is empty"),
        "notes.txt": (
            b"Notes",
            "accepted are PNG, JPEG, GIF and WebP images, and PDF files; the text of another file can be put into the "
            "message",
        ),
        "long.gif": (GIF.ljust(2_000_001), "it is larger than 2 MB"),
    }
    for name, (data, reason) in cases.items():
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        assert refused(lambda path=path: read_attachment(path)) == f"{path} cannot be attached: {reason}"
    assert refused(lambda: read_attachment("/dev/null")) == "/dev/null cannot be attached: it is not a file"
    assert refused(lambda: read_attachment("a\0b")) == "a\0b cannot be attached: embedded null byte"


def test_a_file_is_known_by_its_first_bytes(tmp_path):
    kinds = {
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF87a": "image/gif",
        GIF: "image/gif",
        b"RIFF1234WEBP": "image/webp",
        PDF: "application/pdf",
        b"RIFF1234WAVE": None,
        b"XXXX1234WEBP": None,
        b"": None,
    }
    assert {data: media_type_of(data) for data in kinds} == kinds
    path = tmp_path / "a\tcat.txt"
    path.write_bytes(GIF)
    assert read_attachment(path) == Attachment("a_cat.txt", "image/gif", GIF)


def test_what_a_model_does_not_take_is_named_with_what_it_takes():
    cat, book = Attachment("cat.gif", "image/gif", GIF), Attachment("book.pdf", "application/pdf", PDF)
    hint = "choose another model with --model PROVIDER/MODEL"
    for accepted, said in (
        ((), "takes no attachments, not cat.gif (image/gif), book.pdf (application/pdf)"),
        (("image/",), "takes images only, not book.pdf (application/pdf)"),
        (("application/pdf",), "takes PDF files only, not cat.gif (image/gif)"),
        (
            ("audio/", "image/png"),
            "takes audio/ and image/png only, not cat.gif (image/gif), book.pdf (application/pdf)",
        ),
    ):
        assert (
            refused(lambda accepted=accepted: check_attachments([cat, book], accepted, "a/b")) == f"a/b {said}: {hint}"
        )
    check_attachments([cat, book], ("image/", "application/"), "a/b")
    check_attachments([], (), "a/b")


def test_attachments_of_programs_are_checked():
    said = "attachments must be a list of Attachment objects, with texts as name and media type and bytes as data"
    wrong = (
        5,
        ["cat.gif"],
        [Attachment(5, "image/gif", GIF)],
        [Attachment("a", None, GIF)],
        [Attachment("a", "b", "c")],
    )
    for given in wrong:
        assert refused(lambda given=given: checked_attachments(given)) == said
    right = [Attachment("a", "image/gif", kind(GIF)) for kind in (bytes, bytearray, memoryview)]
    assert checked_attachments(iter(right)) == tuple(right)


def test_media_types_are_named_for_people():
    images = ["image/png", "image/jpeg", "image/gif", "image/webp"]
    assert media_type_names([*images, "application/pdf"]) == "images and PDF files"
    assert media_type_names(images[:3]) == "image/png and image/jpeg and image/gif"
    assert media_type_names(["application/pdf", *images, "text/plain"]) == "images and PDF files and text/plain"
    assert accepted_media_types(("image/", "application/pdf"), None) == ("image/", "application/pdf")
    assert accepted_media_types(("image/",), ("image/png", "image/png", "text/")) == ("image/png",)
    sizes = {0: "0 kB", 1: "1 kB", 1_000: "1 kB", 1_001: "2 kB", 999_999: "1000 kB", 1_000_000: "1.0 MB"}
    assert {size: size_text(Attachment("a", "b", b"x" * size)) for size in sizes} == sizes


def test_a_summary_is_marked_for_the_model():
    (summary,) = with_summary((), "They met.")
    assert summary == Message(
        type=MessageType.USER,
        content="[Summary of the earlier conversation]\nThey met.\n[End of the summary; the conversation goes on here]",
    )


def test_a_search_that_cannot_be_says_why():
    reader = Sessions(None)

    def search(query="tea", **options):
        return refused(lambda: asyncio.run(reader.search(query, **options)))

    assert search(max_results=0) == "max_results must be from 1 to 50, not 0"
    assert search(max_results=51) == "max_results must be from 1 to 50, not 51"
    assert search(since=date(2026, 1, 2), until=date(2026, 1, 1)) == (
        "the first day, 2026-01-02, is after the last, 2026-01-01"
    )
    assert search("?!") == "the query has no word to search for: write words, such as a name or a topic"
    assert str(no_session("tale")) == "there is no session 'tale'; list them with: oneclaw sessions list"
    assert shortened("Once\nupon  a time") == "Once upon a time"
    assert len(shortened("word " * 20)) <= 50


@pytest.mark.parametrize(
    ("seconds", "is_stopped", "error", "said"),
    [
        (
            0.01,
            False,
            TurnDeadlineError,
            "the turn was stopped after 0.01 seconds; send another message to go on, or raise the setting "
            "turn_deadline_seconds",
        ),
        (60, True, TurnStoppedError, "the turn was stopped by the user; send another message to go on"),
    ],
)
def test_the_end_of_a_turns_time_is_told(seconds, is_stopped, error, said):
    async def run():
        deadline = Deadline(seconds)
        if is_stopped:
            asyncio.get_running_loop().call_later(0.001, deadline.stop)
        async with deadline.limit():
            await asyncio.Event().wait()

    with pytest.raises(error) as caught:
        asyncio.run(run())
    assert str(caught.value) == said


def test_a_home_that_is_closed_begins_no_turn():
    async def run():
        tracker = TurnTracker()
        await tracker.end()
        async for _ in tracker.stream(lambda emit: emit(SimpleNamespace())):
            pass

    with pytest.raises(UsageError, match=r"^this home is closed: open it again with OneClaw\.open\(\)$"):
        asyncio.run(run())


def test_an_interrupted_call_says_what_to_do():
    assert INTERRUPTED.content == (
        "This call was interrupted before its outcome was known; it may or may not have had its effect. Do not repeat "
        "it without asking the user."
    )
    assert (INTERRUPTED.type, INTERRUPTED.tool_status, INTERRUPTED.error_type) == (
        MessageType.TOOL_RESULT,
        ToolCallStatus.ERROR,
        "interrupted",
    )
    assert [readable(text) for text in ('{"a": 1}', "{oops", "")] == [{"a": 1}, "{oops", {}]
