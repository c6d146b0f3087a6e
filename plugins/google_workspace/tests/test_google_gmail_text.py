"""Reading and writing mails without any I/O."""

from base64 import urlsafe_b64encode
from datetime import datetime
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from google_gmail_mime import payload, written_mail
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.gmail.bodies import html_to_text
from oneclaw_google_workspace.gmail.messages import with_exact_dates
from oneclaw_google_workspace.gmail.mime import (
    MailAddress,
    addresses_in,
    decoded,
    decoded_text,
    file_name,
    mail_address,
    moment,
    preview,
    readable,
    shown_addresses,
    take_apart,
)
from oneclaw_google_workspace.gmail.outgoing import AttachedFile, OutgoingMail, Thread, thread_of, written

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


def raw_of(mail):
    """A mail as it is sent."""
    return b"".join(written(mail))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("<!-- only a comment -->", ""),
        ("plain <b>and</b> bold", "plain **and** bold"),
        ('<?xml version="1.0" encoding="utf-8"?><p>a</p><p>b</p>', "a\n\nb"),
        ("<script>x()</script><style>p{}</style><p>a</p>", "a"),
        (
            "<p>a<span style='visibility:hidden'>b</span><span hidden>c</span><span style='font-size:1px'>d</span></p>",
            "a",
        ),
        ("<div style='opacity:0;'>a</div><div style='opacity:0.9'>b</div>", "b"),
        ("<table><tr><td><h2>Hi</h2><p>a</p></td></tr></table>", "## Hi\n\na"),
        (
            "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Milk</td><td>2</td></tr></table>",
            "| Item | Price |\n| --- | --- |\n| Milk | 2 |",
        ),
        ("a<img src='x' alt='b'>c<img src='y'>", "abc"),
        ("<p>x &lt;b&gt; &amp; y</p>", "x <b> & y"),
        ("<p>Hi&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;</p>", "Hi"),
        ("<p>a\0b</p>", "ab"),
    ],
)
def test_html_mails_are_read(html, text):
    assert html_to_text(html) == text


@pytest.mark.long
@pytest.mark.parametrize(
    "html",
    some(
        [
            "<div>" * 50_000 + "word",
            "<table><tr><td>" * 30_000 + "word",
            "<b><i>" * 20_000 + "word",
            "<p>word</p>" * 60_000,
            "word <a href='" + "x" * 300_000,
            "<pre>word" + " " * 300_000 + "x</pre>",
            "word " + "<!--" * 50_000,
            "word " + "<style>" * 30_000,
        ],
        3,
    ),
    ids=lambda html: html[:12],
)
def test_hostile_html_neither_hangs_nor_hides_what_it_says(html):
    assert "word" in html_to_text(html)


@pytest.mark.long
@given(st.text(max_size=300))
def test_no_html_breaks_it(html):
    html_to_text(html.encode("utf-8", "replace").decode())


@pytest.mark.long
@given(TEXTS, TEXTS, st.lists(st.tuples(TEXTS, st.binary(max_size=50)), max_size=3))
def test_what_is_written_is_read_again(subject, body, files):
    subject = " ".join("".join(c for c in subject if c.isprintable()).split())
    with TemporaryDirectory() as folder:
        attachments = []
        for number, (_, content) in enumerate(files):
            path = Path(folder) / str(number)
            path.write_bytes(content)
            attachments.append(AttachedFile.read(f"{number}.bin", path, 1000))
        mail = OutgoingMail([MailAddress("bo@example.net", subject)], subject, body, attachments=attachments)
        raw = raw_of(mail)

    assert raw.isascii()
    read = message_from_bytes(raw, policy=default)
    assert read["Subject"] == subject
    assert [address.addr_spec for address in read["To"].addresses] == ["bo@example.net"]
    contents: list[bytes] = []
    parts = take_apart(payload(raw, lambda content: contents.append(content) or "id", 10_000))
    (text,) = parts.texts if body else (None,) if not parts.texts else parts.texts
    if text is not None:
        found = decoded_text(decoded(text.data), text.charset)
        assert found.splitlines() == body.replace("\0", "\ufffd").splitlines() or found.strip() == body.strip()
    assert contents == [content for _, content in files]


@given(st.binary(max_size=200), st.sampled_from(["", "utf-8", "iso-2022-jp", "utf-7", "utf-16", "hz", "rot13", "x"]))
def test_every_body_has_a_text(content, charset):
    text = decoded_text(content, charset)

    assert "\r" not in text
    assert "\0" not in text


@given(st.binary(max_size=100))
def test_googles_base64_is_decoded_with_and_without_padding(content):
    text = urlsafe_b64encode(content).decode()

    assert decoded(text) == decoded(text.rstrip("=")) == content


@given(st.text(max_size=300), st.text(max_size=20))
def test_a_name_of_a_file_is_only_a_name(wanted, part_id):
    name = file_name(wanted, "application/pdf", part_id)

    assert name
    assert name not in (".", "..")
    assert len(name.encode()) <= 200
    assert not set(name) & set("/\\\0\n\r:")
    assert not name.startswith(".")


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("", "attachment-0.1.pdf"),
        ("...", "attachment-0.1.pdf"),
        ("a/b\\c.txt", "c.txt"),
        ("report\u202efdp.exe", "report-fdp.exe"),
        ("x" * 300 + ".pdf", "x" * 146 + ".pdf"),
    ],
)
def test_names_that_mislead_are_changed(wanted, name):
    assert file_name(wanted, "application/pdf", "0.1") == name


@given(st.text(max_size=100))
def test_whatever_is_taken_for_an_address_is_one(text):
    try:
        address = mail_address("to", text)
    except GoogleError:
        return
    assert (
        message_from_bytes(raw_of(OutgoingMail([address], "x", "x")), policy=default)["To"].addresses[0].addr_spec
        == address.email
    )
    assert not set(address.name) & set('\r\n<>"')


@pytest.mark.long
@given(st.text(max_size=200))
def test_whatever_a_header_holds_gives_addresses_that_can_be_written_to(value):
    for address in addresses_in(value):
        assert mail_address("to", str(address)).email == address.email
    assert "\n" not in shown_addresses(value)


@given(st.text(max_size=200))
def test_every_header_can_be_shown(value):
    assert readable(value) == " ".join(readable(value).split())


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_original_can_put_anything_else_into_references(message_id, references):
    thread = thread_of("1", message_id, references, "")
    raw = raw_of(OutgoingMail([], "x", "x", thread=thread))

    assert {name.lower() for name in message_from_bytes(raw)} <= {
        *("subject", "in-reply-to", "references", "content-type", "content-transfer-encoding", "mime-version"),
    }


@pytest.mark.long
def test_lines_of_a_header_are_short_enough():
    ids = tuple(f"<{'x' * 200}{number}@example.net>" for number in range(30))
    mail = OutgoingMail(
        [MailAddress(f"bo{number}@example.net", "Bö " * 20) for number in range(12)],
        "ü" * 900,
        "x" * 2_000,
        thread=Thread("1", ids[-1], ids),
    )

    assert max(map(len, raw_of(mail).split(b"\r\n"))) <= 998


@pytest.mark.parametrize("depth", some([61, 300, 5_000], 3))
def test_a_text_nested_deep_in_messages_within_parts_is_found(depth):
    part = {"mimeType": "text/plain", "body": {"data": "SGVsbG8"}}
    for number in range(depth):
        kind = "message/rfc822" if number % 2 else "multipart/mixed"
        part = {"mimeType": kind, "parts": [part]}

    texts = [text for text in take_apart(part).texts if not text.heading]

    assert [decoded(text.data) for text in texts] == [b"Hello"]


def test_parts_that_are_no_text_are_attachments_also_without_a_name():
    raw = written_mail("a@example.net", "x", "hello", seconds=0, files=(("i.ics", b"BEGIN", "text/calendar"),))
    whole = payload(raw, lambda _: "id", 1_000)
    whole["parts"][1]["filename"] = ""

    (attached,) = take_apart(whole).attachments

    assert (attached.filename, attached.media_type) == ("attachment-1.ics", "text/calendar")


def test_days_of_a_search_are_turned_into_moments():
    midnight = round(datetime(2026, 3, 31).astimezone().timestamp())

    assert with_exact_dates("after:2026/03/31 older:2026-3-31") == f"after:{midnight} older:{midnight}"
    for query in ("after:2026/13/31", '"after:2026/03/31"', "after:1767225600", "newer_than:2d", "before:1/2/2026"):
        assert with_exact_dates(query) == query


def test_moments_that_no_calendar_has_are_left_out():
    assert moment("9" * 30) is None
    assert moment("nonsense") is None
    assert moment(None) is None
    assert datetime.fromisoformat(moment("1767225600000")).timestamp() == 1767225600


def test_a_preview_is_plain():
    assert preview("It&#39;s &lt;new&gt; \u034f\u200c\u034f\u200c  now") == "It's <new> now"
