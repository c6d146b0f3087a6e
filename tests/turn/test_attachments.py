"""Attachments: reading them, and leaving out those that a model does not take."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core import Attachment, Message, MessageType, UsageError
from oneclaw_core.compaction.estimate import message_tokens
from oneclaw_core.files.attachments import MAX_ATTACHMENT_BYTES, media_type_of, read_attachment, size_text
from oneclaw_core.models.attachments import accepted_media_types, check_attachments, with_files_taken
from oneclaw_core.sessions.history import SENT_FILES_BYTES, sent_files

BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x24\x00\x00\x00WEBPVP8 ",
    "application/pdf": b"%PDF-1.7\n",
}
PNG = Attachment("a.png", "image/png", BEGINNINGS["image/png"])
PDF = Attachment("a.pdf", "application/pdf", BEGINNINGS["application/pdf"])


@pytest.mark.parametrize("media_type", BEGINNINGS)
def test_a_file_is_what_it_begins_like_not_what_it_is_called(tmp_path, media_type):
    data = BEGINNINGS[media_type] + b"rest"
    (tmp_path / "picture.txt").write_bytes(data)
    assert read_attachment(tmp_path / "picture.txt") == Attachment("picture.txt", media_type, data)
    assert read_attachment(str(tmp_path / "picture.txt")).name == "picture.txt"


@pytest.mark.parametrize(
    "data", [b"plain text", b"RIFF\x24\x00\x00\x00WAVE", b"GIF88a", b"\x89PN", b"<svg/>", b" %PDF-1.7", b"PK\x03\x04"]
)
def test_another_kind_is_refused_with_what_is_accepted(tmp_path, data):
    (tmp_path / "x.png").write_bytes(data)
    with pytest.raises(
        UsageError, match=r"x\.png cannot be attached: accepted are PNG, JPEG, GIF and WebP images, and PDF"
    ):
        read_attachment(tmp_path / "x.png")


@given(st.binary(max_size=40))
def test_telling_the_kind_never_fails(data):
    assert media_type_of(data) in {None, *BEGINNINGS}


def test_what_cannot_be_read_is_refused_without_hanging(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty.png").touch()
    reasons = {
        tmp_path / "missing.png": "No such file",
        tmp_path: "[Dd]irectory",
        tmp_path / "pipe": "it is not a file",
        tmp_path / "empty.png": "it is empty",
        tmp_path / "a\0b": "null",
        "/dev/zero": "it is not a file",
    }
    for path, reason in reasons.items():
        with pytest.raises(UsageError, match=f"cannot be attached: .*{reason}"):
            read_attachment(path)


def test_the_largest_file_is_taken_and_a_larger_one_is_not(tmp_path):
    path = tmp_path / "big.png"
    path.write_bytes(PNG.data)
    os.truncate(path, MAX_ATTACHMENT_BYTES)
    assert len(read_attachment(path).data) == MAX_ATTACHMENT_BYTES
    os.truncate(path, MAX_ATTACHMENT_BYTES + 1)
    with pytest.raises(UsageError, match="it is larger than 20 MB"):
        read_attachment(path)


def test_a_name_is_text_whatever_the_file_system_holds(tmp_path):
    path = tmp_path / os.fsdecode(b"a\xff\n\x1b.png")
    path.write_bytes(PNG.data)
    assert read_attachment(path).name == "a\ufffd__.png"
    os.truncate(path, 0)
    with pytest.raises(UsageError) as caught:
        read_attachment(path)
    str(caught.value).encode()


def test_the_bytes_are_not_shown_when_an_attachment_is_printed():
    assert "PNG" not in repr(PNG).replace("a.png", "")


@pytest.mark.parametrize(
    ("of_format", "of_model", "accepted"),
    [
        (("image/",), None, ("image/",)),
        (("image/", "application/pdf"), ("image/",), ("image/",)),
        (("image/",), ("image/png", "application/pdf"), ("image/png",)),
        (("image/png", "image/jpeg"), ("image/",), ("image/png", "image/jpeg")),
        (("image/",), (), ()),
        ((), ("image/",), ()),
        ((), None, ()),
    ],
)
def test_what_can_be_sent_is_what_both_the_model_and_its_format_take(of_format, of_model, accepted):
    assert accepted_media_types(of_format, of_model) == accepted


def test_what_a_model_takes_passes():
    check_attachments([PNG, PDF], ("image/", "application/pdf"), "lab/big")
    check_attachments([], (), "lab/big")


@pytest.mark.parametrize(
    ("accepted", "message"),
    [
        ((), r"lab/big takes no attachments, not a.png \(image/png\), a.pdf \(application/pdf\): choose another model"),
        (("image/",), r"lab/big takes images only, not a.pdf \(application/pdf\)"),
        (("image/png", "image/jpeg", "image/gif", "image/webp"), "lab/big takes images only, not a.pdf"),
        (("image/gif", "application/pdf"), r"lab/big takes image/gif and PDF files only, not a.png"),
    ],
)
def test_what_a_model_does_not_take_is_named(accepted, message):
    with pytest.raises(UsageError, match=message):
        check_attachments([PNG, PDF], accepted, "lab/big")


@pytest.mark.parametrize(("size", "text"), [(1, "1 kB"), (1_000, "1 kB"), (1_001, "2 kB"), (2_340_000, "2.3 MB")])
def test_sizes_are_told_in_kilobytes_or_megabytes(size, text):
    assert size_text(Attachment("x", "image/png", b"x" * size)) == text


PICTURE = Attachment("chart.png", "image/png", b"x")
REPORT = Attachment("report.pdf", "application/pdf", b"x")


def user(text, *files):
    return Message(type=MessageType.USER, content=text, attachments=files)


def big(name, megabytes):
    return Attachment(name, "image/png", b"", left_out_bytes=megabytes * 1_000_000)


def test_messages_without_files_are_passed_on_as_they_are():
    messages = [user("a"), user("b")]
    assert [id(each) for each in with_files_taken(messages, ("image/",))] == [id(each) for each in messages]


def test_a_file_that_the_model_does_not_take_is_a_note():
    [message] = with_files_taken([user("look", PICTURE, REPORT)], ("image/",))
    assert message.attachments == (PICTURE,)
    assert message.content == "look\n[report.pdf (application/pdf) cannot be shown to this model]"
    assert with_files_taken([user("look", PICTURE, REPORT)], None)[0].attachments == (PICTURE, REPORT)


def test_files_for_the_user_are_not_sent_and_cost_nothing():
    sent = Attachment("huge.zip", "application/zip", bytes(SENT_FILES_BYTES), is_for_user=True)
    [seen, result] = with_files_taken([user("look", PICTURE), user("sent", sent)], ("image/",))
    assert (seen.attachments, result.attachments, result.content) == ((PICTURE,), (), "sent")
    assert message_tokens(user("sent", sent)) == message_tokens(user("sent"))


def test_old_files_are_notes_when_there_are_too_many():
    half = Attachment("half.png", "image/png", bytes(SENT_FILES_BYTES // 2))
    sent = with_files_taken([user("first", half), user("second", half), user("third", PICTURE)], None)
    assert [len(each.attachments) for each in sent] == [0, 0, 1]
    assert sent[0].content == (
        "first\n[half.png (image/png) was shown here and is not sent again: ask for it if you need it]"
    )


def test_the_files_of_the_last_message_that_has_any_are_always_sent():
    huge = Attachment("huge.png", "image/png", bytes(SENT_FILES_BYTES + 1))
    sent = with_files_taken([user("first", PICTURE), user("second", huge, huge), user("third")], None)
    assert [len(each.attachments) for each in sent] == [0, 2, 0]


def test_a_file_whose_bytes_were_left_out_is_never_sent():
    [message] = with_files_taken([user("look", big("a.png", 1))], ("image/",))
    assert message.attachments == ()
    assert "a.png (image/png) was shown here" in message.content


sizes = st.lists(st.integers(0, 30), max_size=30)


@given(sizes)
def test_what_is_sent_keeps_within_the_limit_and_only_ever_grows_or_starts_anew(megabytes):
    messages = [user(str(number), big("f", size)) for number, size in enumerate(megabytes)]
    earlier = frozenset()
    for end in range(1, len(messages) + 1):
        sent = sent_files(messages[:end])
        total = sum(messages[place].attachments[0].size for place in sent)
        assert end - 1 in sent
        assert total <= SENT_FILES_BYTES or sent == {end - 1}
        assert sent == frozenset(range(min(sent), end))
        # Nothing that was left out comes back, and what is left out leaves room for as much again.
        assert not earlier or min(sent) >= min(earlier)
        if earlier and min(sent) > min(earlier):
            assert total <= SENT_FILES_BYTES // 2 or sent == {end - 1}
        earlier = sent
