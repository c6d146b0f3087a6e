"""Files that are not sent: a note stands for each."""

from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core import Attachment, Message, MessageType
from oneclaw_core.sessions.history import SENT_FILES_BYTES, sent_files
from oneclaw_core.turn.shown_files import with_files_taken

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
