"""Forwarding mails, and quoting and signing in answers."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP, default

import pytest
from google_desk import Desk, sign_in

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

BO = "Bo Berg <bo@example.net>"
AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def gmail(google):
    return google.services["gmail"]


def sent(gmail):
    return message_from_bytes(gmail.sent[-1].raw, policy=default)


def text_of(mail):
    return mail.get_body(("plain",)).get_content().replace("\r\n", "\n").rstrip()


def html_of(mail):
    part = mail.get_body(("html",))
    return None if part is None else part.get_content().replace("\r\n", "\n").strip()


@pytest.mark.long
def test_a_mail_is_forwarded_with_its_files(google, gmail, desk):
    plan = b"%PDF" * 50_000
    mail = gmail.deliver(
        BO,
        "Roof",
        "It leaks.\nSee the plan.",
        files=(("plan.pdf", plan, "application/pdf"), ("a.txt", b"x", "text/x-log")),
    )

    answer = desk("gmail_send", to=["cy@example.org"], body="Can you look?", forward_message_id=mail)

    forwarded = sent(gmail)
    assert forwarded["Subject"] == answer["subject"] == "Fwd: Roof"
    assert "In-Reply-To" not in forwarded
    assert [(each.get_filename(), each.get_content_type()) for each in forwarded.iter_attachments()] == [
        ("plan.pdf", "application/pdf"),
        ("a.txt", "text/x-log"),
    ]
    assert next(forwarded.iter_attachments()).get_content() == plan
    assert answer["attachments"] == ["plan.pdf", "a.txt"]
    lines = text_of(forwarded).split("\n")
    assert lines[:4] == ["Can you look?", "", "---------- Forwarded message ---------", f"From: {BO}"]
    assert lines[4].startswith("Date: ")
    assert lines[5:] == ["Subject: Roof", "To: ana@example.com", "", "It leaks.", "See the plan."]
    assert html_of(forwarded) is None
    assert desk.asked == [
        (
            "google.gmail.forward",
            'forward a mail to cy@example.org: "Fwd: Roof", with "plan.pdf" (200 kB), "a.txt" (1 byte), saying '
            f'"Can you look?", and the mail that is forwarded{AS_ANA}',
        )
    ]
    assert desk.subjects == ["cy@example.org"]


def test_nothing_is_fetched_before_the_user_agrees_to_forward(google, gmail, desk):
    mail = gmail.deliver(BO, "Roof", "It leaks.", files=(("plan.pdf", b"x" * 10, "application/pdf"),))
    desk.answer = PermissionAnswer.NO

    assert desk.error("gmail_send", to=["cy@example.org"], body="", forward_message_id=mail)[0] == "permission_denied"

    assert google.called("gmail.users.messages.attachments.get") == []
    assert gmail.sent == []


def test_a_forwarded_mail_keeps_its_look_and_its_pictures(gmail, desk):
    original = EmailMessage(policy=SMTP)
    original["From"], original["To"], original["Subject"] = BO, "ana@example.com", "Fwd: Menu"
    original["Date"] = "Tue, 31 Mar 2026 10:00:00 +0200"
    original.set_content("Soup")
    original.add_alternative(
        "<html><head><style>b{color:red}</style></head><body><b>Soup</b><img src='cid:1@x'></body></html>",
        subtype="html",
    )
    original.get_payload()[1].add_related(b"GIF89a", "image", "gif", cid="<1@x>", filename="soup.gif")
    mail = gmail.deliver(BO, "Menu", raw=original.as_bytes())

    desk("gmail_send", to=["cy@example.org"], body="Hungry?\nMe <too>", forward_message_id=mail, subject="Lunch")

    forwarded = sent(gmail)
    assert forwarded["Subject"] == "Lunch"
    html = html_of(forwarded)
    assert html.startswith('<div dir="ltr">Hungry?<br>Me &lt;too&gt;</div><br><div class="gmail_quote">')
    assert "From: Bo Berg &lt;bo@example.net&gt;<br>Date: Tue, 31 Mar 2026 10:00:00 +0200<br>Subject: Fwd: Menu" in html
    assert '<style>b{color:red}</style><div><b>Soup</b><img src="cid:1@x"></div>' in html
    (picture,) = forwarded.iter_attachments()
    assert (picture["Content-ID"], picture.get_content_disposition()) == ("<1@x>", "inline")
    assert picture.get_content() == b"GIF89a"
    assert "Hungry?\nMe <too>" in text_of(forwarded)


@pytest.mark.long
def test_files_are_left_out_and_others_added_on_request(gmail, desk):
    mail = gmail.deliver(BO, "Fwd: Roof", "It leaks.", files=(("plan.pdf", b"x", "application/pdf"),))
    (desk.start_directory / "mine.txt").write_text("mine")

    answer = desk(
        "gmail_draft_create", to=["cy@example.org"], body="Look", forward_message_id=mail, forward_attachments=False,
        attachments=["mine.txt"],
    )  # fmt: skip

    assert (answer["subject"], answer["attachments"]) == ("Fwd: Roof", ["mine.txt"])
    assert desk.asked[0][0] == "google.gmail.write"


@pytest.mark.long
def test_a_mail_within_a_forwarded_one_comes_along_once(gmail, desk):
    inner = EmailMessage(policy=SMTP)
    inner["From"], inner["Subject"] = "cy@example.net", "Inner"
    inner.set_content("Hello")
    inner.add_attachment(b"x", "application", "pdf", filename="inner.pdf")
    outer = EmailMessage(policy=SMTP)
    outer["From"], outer["To"], outer["Subject"] = BO, "ana@example.com", "Outer"
    outer.set_content("See below")
    outer.add_attachment(inner)
    mail = gmail.deliver(BO, "Outer", raw=outer.as_bytes())

    answer = desk("gmail_send", to=["cy@example.org"], body="", forward_message_id=mail)

    assert answer["attachments"] == ["Inner.eml"]


def test_what_is_too_large_to_forward_is_refused(gmail, desk, monkeypatch):
    monkeypatch.setattr("oneclaw_google_workspace.gmail.outgoing.MAX_FILES_BYTES", 1_000)
    mail = gmail.deliver(BO, "Roof", files=(("plan.pdf", b"x" * 1_001, "application/pdf"),))

    error_type, message = desk.error("gmail_send", to=["cy@example.org"], body="", forward_message_id=mail)

    assert error_type == "validation_error"
    assert "drive_upload_file" in message
    assert desk.asked == []


def test_an_answer_quotes_the_original_and_is_signed(gmail, desk):
    gmail.send_as["ana@example.com"]["signature"] = "<b>Ana Alm</b><br>Roofs & more"
    mail = gmail.deliver(BO, "Roof", "It leaks.\n\n> Since when?\nMarch")

    desk("gmail_send", body="I come.", reply_to_message_id=mail, quote_original=True, add_signature=True)

    answer = sent(gmail)
    date = message_from_bytes(gmail.mails[mail].raw)["Date"]
    assert answer["Subject"] == "Re: Roof"
    assert text_of(answer).split("\n") == [
        "I come.",
        "",
        "-- ",
        "**Ana Alm**",
        "Roofs & more",
        "",
        f"On {date}, {BO} wrote:",
        "> It leaks.",
        ">",
        ">> Since when?",
        "> March",
    ]
    assert html_of(answer) is None
    assert desk.asked[0][1] == (
        'send an answer to bo@example.net: "Re: Roof", saying "I come.", with the signature, quoting the mail that is '
        f"answered{AS_ANA}"
    )


@pytest.mark.long
def test_an_answer_in_html_quotes_html(gmail, desk):
    gmail.send_as["ana@example.com"]["signature"] = "<b>Ana</b>"
    mail = gmail.deliver(BO, "Roof", "It leaks.", html="<p>It <i>leaks</i>.</p>")

    desk(
        "gmail_send", body="<p>I come.</p>", body_format="html", reply_to_message_id=mail, quote_original=True,
        add_signature=True,
    )  # fmt: skip

    html = html_of(sent(gmail))
    assert html.startswith('<p>I come.</p><br><div dir="ltr" class="gmail_signature"><b>Ana</b></div><br>')
    assert 'wrote:<br></div><blockquote class="gmail_quote"' in html
    assert "<div><p>It <i>leaks</i>.</p>\n</div></blockquote></div>" in html
    assert "> It leaks." in text_of(sent(gmail))


@pytest.mark.long
def test_the_signature_is_that_of_the_address_that_is_sent_from(gmail, desk):
    gmail.add_alias("shop@example.com", "Shop")
    gmail.send_as["shop@example.com"]["signature"] = "The shop"

    desk(
        "gmail_send",
        to=["bo@example.net"],
        subject="Hi",
        body="Open",
        from_address="shop@example.com",
        add_signature=True,
    )

    assert text_of(sent(gmail)) == "Open\n\n-- \nThe shop"
    assert desk.error("gmail_send", to=["bo@example.net"], subject="Hi", body="Open", add_signature=True) == (
        "validation_error",
        "ana@example.com has no signature. Leave add_signature out.",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quote_original": True, "to": ["bo@example.net"], "subject": "x"}, "goes with reply_to_message_id"),
        ({"forward_message_id": "1"}, "Give to, the addresses"),
        ({"forward_message_id": "1", "reply_to_message_id": "1", "to": ["bo@example.net"]}, "not both"),
    ],
)
def test_what_does_not_go_together_is_refused(desk, arguments, message):
    error_type, said = desk.error("gmail_send", body="x", **arguments)

    assert error_type == "validation_error"
    assert message in said


def test_a_sign_in_that_may_only_send_forwards_nothing(google, empty_home, tmp_path):
    desk = Desk(empty_home, tmp_path)
    sign_in(google, empty_home, services=(), extra=("gmail.send",))

    error_type, message = desk.error("gmail_send", to=["bo@example.net"], body="x", forward_message_id="1")

    assert error_type == "not_available"
    assert "gmail" in message
