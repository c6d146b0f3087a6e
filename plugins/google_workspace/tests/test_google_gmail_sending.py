"""The tools of the group ``google_gmail`` that send mails and write drafts."""

import asyncio
import shutil
import tracemalloc
from dataclasses import replace
from email import message_from_bytes
from email.policy import default
from functools import partial

import pytest
from google_desk import Desk, sign_in
from how_long import some
from oneclaw_google_workspace.accounts import AccountBook
from oneclaw_google_workspace.gmail import sending
from oneclaw_google_workspace.gmail.outgoing import MAX_FILES_BYTES, AttachedFile, OutgoingMail, written
from oneclaw_google_workspace.gmail.sending import MAX_MESSAGE_BYTES

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
BO = "Bo Berg <bo@example.net>"
SEND, UPLOAD = "gmail.users.messages.send", "upload"


@pytest.fixture
def gmail(google):
    return google.services["gmail"]


def parsed(raw):
    return message_from_bytes(raw, policy=default)


def text(mail, kind="plain"):
    return mail.get_body((kind,)).get_content().replace("\r\n", "\n").strip()


def files(mail):
    return {part.get_filename(): part.get_payload(decode=True) for part in mail.iter_attachments()}


def test_a_mail_goes_to_whom_the_user_was_told(google, gmail, desk):
    (desk.start_directory / "offer.pdf").write_bytes(b"%PDF" * 500)

    answer = desk(
        "gmail_send",
        to=["Bo Bärg <bo@example.net>", "BO@example.net"],
        cc=["cy@example.net"],
        bcc=["dee@example.net", "cy@example.net"],
        subject="Grüße aus Köln",
        body="Hallo Bo,\n\nschönes Dach!\n",
        attachments=["offer.pdf"],
    )

    (sent,) = gmail.sent
    mail = parsed(sent.raw)
    assert sent.recipients == ["bo@example.net", "cy@example.net", "dee@example.net"]
    assert (mail["To"], mail["Cc"], mail["Bcc"]) == ("Bo Bärg <bo@example.net>", "cy@example.net", "dee@example.net")
    assert (mail["Subject"], text(mail)) == ("Grüße aus Köln", "Hallo Bo,\n\nschönes Dach!")
    assert files(mail) == {"offer.pdf": b"%PDF" * 500}
    assert sent.raw.isascii()
    assert answer == {
        "status": "sent",
        "id": answer["id"],
        "thread_id": answer["id"],
        "to": ["Bo Bärg <bo@example.net>"],
        "cc": ["cy@example.net"],
        "bcc": ["dee@example.net"],
        "subject": "Grüße aus Köln",
        "attachments": ["offer.pdf"],
    }
    assert gmail.labels_of(answer["id"]) == {"SENT"}
    assert desk.asked == [
        (
            "google.gmail.send",
            "send a mail to 3 addresses, bo@example.net, cc cy@example.net, bcc dee@example.net: "
            f'"Grüße aus Köln", with "offer.pdf" (2 kB), saying "Hallo Bo, schönes Dach!"{AS_ANA}',
        )
    ]


@pytest.mark.long
def test_an_html_mail_has_its_text_too(gmail, desk):
    desk("gmail_send", to=["bo@example.net"], subject="x", body="<p>Hello <b>Bo</b></p>", body_format="html")

    mail = parsed(gmail.sent[0].raw)
    assert mail.get_content_type() == "multipart/alternative"
    assert (text(mail), text(mail, "html")) == ("Hello **Bo**", "<p>Hello <b>Bo</b></p>")


@pytest.mark.long
def test_an_answer_stays_in_its_thread_and_goes_to_whoever_is_to_be_answered(gmail, desk):
    first = gmail.deliver(BO, "Roof", "It leaks.", message_id="<one@example.net>", days_ago=2)
    second = gmail.deliver(
        BO,
        "Re: Roof",
        "Well?",
        message_id="<two@example.net>",
        references="<one@example.net>",
        reply_to="Office <office@example.net>",
    )

    answer = desk("gmail_send", reply_to_message_id=second, body="On Monday.")

    (sent,) = gmail.sent
    assert sent.recipients == ["office@example.net"]
    assert sent.headers["In-Reply-To"] == "<two@example.net>"
    assert sent.headers["References"] == "<one@example.net> <two@example.net>"
    assert sent.headers["Subject"] == "Re: Roof"
    assert answer["thread_id"] == first
    assert [mail.id for mail in gmail.thread(first)] == [first, second, answer["id"]]
    assert desk.asked[0][1] == f'send an answer to office@example.net: "Re: Roof", saying "On Monday."{AS_ANA}'


@pytest.mark.long
def test_an_answer_to_all_leaves_out_the_user_and_doubles(gmail, desk):
    gmail.add_alias("ana@shop.example")
    mail = gmail.deliver(
        BO,
        "Roof",
        to="Ana <ANA@example.com>, Cy <cy@example.net>, bo@example.net",
        cc="ana@shop.example, Dee <dee@example.net>, cy@example.net",
    )

    desk("gmail_send", reply_to_message_id=mail, reply_all=True, cc=["eve@example.net"], body="All right.")
    desk("gmail_send", reply_to_message_id=mail, to=["eve@example.net"], body="Only you.")

    assert gmail.sent[0].recipients == [f"{name}@example.net" for name in ("bo", "cy", "eve", "dee")]
    assert gmail.sent[0].headers["Cc"] == "eve@example.net, Dee <dee@example.net>"
    assert gmail.sent[1].recipients == ["eve@example.net"]


def test_an_answer_to_ones_own_mail_goes_where_that_went(gmail, desk):
    mail = gmail.deliver("Ana <ana@example.com>", "Roof", to=BO, labels=("SENT",))

    desk("gmail_send", reply_to_message_id=mail, body="One more thing.")

    assert gmail.sent[0].recipients == ["bo@example.net"]


@pytest.mark.parametrize(
    ("original", "sent"),
    some([("Roof", "Re: Roof"), ("RE: re: Roof", "RE: re: Roof"), ("Fwd: AW: Roof", "Re: Fwd: AW: Roof")], 3),
)
def test_the_subject_of_an_answer_is_kept(gmail, desk, original, sent):
    mail = gmail.deliver(BO, original)

    for subject in (None, "roof", "Re: Roof"):
        arguments = {} if subject is None else {"subject": subject}
        answer = desk("gmail_send", reply_to_message_id=mail, body="x", **arguments)
        assert (answer["subject"], answer["thread_id"]) == (sent, mail)
    error_type, message = desk.error("gmail_send", reply_to_message_id=mail, body="x", subject="Lunch")
    assert error_type == "validation_error"
    assert f"An answer keeps the subject of its thread, {original!r}" in message


@pytest.mark.parametrize("is_encoded", [False, True])
def test_long_references_stay_whole(gmail, desk, is_encoded):
    ids = [f"<{number:03d}.{'x' * 120}@mail.example.net>" for number in range(60)]
    # Python's own library encodes what is too long for a line, also where that is not allowed.
    references = "\r\n ".join(f"=?utf-8?q?{each}?=" if is_encoded else each for each in ids[:-1])
    head = f"From: {BO}\r\nSubject: Roof\r\nMessage-ID: {ids[-1]}\r\nReferences: {references}\r\n\r\nHi"
    mail = gmail.deliver("", "", raw=head.encode())

    answer = desk("gmail_send", reply_to_message_id=mail, body="x")

    known = gmail.sent[0].headers["References"].split()
    assert known == [ids[0], *ids[-29:]]
    assert gmail.sent[0].headers["In-Reply-To"] == ids[-1]
    assert answer["thread_id"] == mail


def test_an_original_without_or_with_a_hostile_id_is_answered_all_the_same(gmail, desk):
    raw = b"From: bo@example.net\r\nSubject: x\r\nMessage-ID: nonsense\r\n\r\nHi"
    mail = gmail.deliver("", "", raw=raw)

    desk("gmail_send", reply_to_message_id=mail, body="x")

    assert "In-Reply-To" not in gmail.sent[0].headers
    assert gmail.sent[0].recipients == ["bo@example.net"]


@pytest.mark.long
def test_a_large_attachment_goes_in_pieces_that_are_taken_up(google, gmail, desk):
    content = bytes(range(256)) * 1024 * 18  # 4.7 MB, 6.5 MB in the mail
    (desk.start_directory / "film.bin").write_bytes(content)
    mail = gmail.deliver(BO, "Film?", "Send it!")
    google.fail(UPLOAD, status=503, cut_at=3_000_000)

    answer = desk("gmail_send", reply_to_message_id=mail, body="Here.", attachments=["film.bin"])

    assert answer["thread_id"] == mail
    assert files(parsed(gmail.sent[0].raw))["film.bin"] == content
    assert google.bodies(SEND) == [{"threadId": mail}]
    assert len(google.called(UPLOAD)) >= 3
    assert '"film.bin" (4.72 MB)' in desk.asked[0][1]


@pytest.mark.long
def test_large_attachments_are_never_in_memory_as_a_whole(gmail, desk, tmp_path, monkeypatch):
    content = bytes(range(256)) * 1024 * 96  # 25.2 MB, 34 MB in the mail
    (desk.start_directory / "film.bin").write_bytes(content)

    def keep(path, _):
        shutil.copy(path, tmp_path / "arrived.eml")
        return {"id": "1", "threadId": "1"}

    # The stand-in would read the mail as a whole, and is in this process, too.
    monkeypatch.setattr(gmail, "_handed_over", lambda call, _: (call.media, None))
    monkeypatch.setattr(gmail, "_send", keep)
    desk("gmail_search")  # loads what is loaded once

    tracemalloc.start()
    try:
        desk("gmail_send", to=["bo@example.net"], subject="x", body="Grüße", attachments=["film.bin"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 24 * 1024 * 1024
    mail = parsed((tmp_path / "arrived.eml").read_bytes())
    assert (text(mail), files(mail)) == ("Grüße", {"film.bin": content})


def test_attachments_may_not_be_larger_than_mails_take(google, desk):
    with (desk.start_directory / "huge.bin").open("wb") as file:
        file.truncate(26 * 1024 * 1024)

    error_type, message = desk.error(
        "gmail_send", to=["bo@example.net"], subject="x", body="x", attachments=["huge.bin"]
    )

    assert error_type == "validation_error"
    assert message.startswith("The attachments have 27.3 MB; mails take 26.2 MB. Upload them to Drive")
    assert (desk.asked, google.requests) == ([], [])


def test_the_largest_attachments_fit(tmp_path):
    (tmp_path / "large.bin").write_bytes(bytes(MAX_FILES_BYTES // 10))
    tenth = AttachedFile.read("large.bin", tmp_path / "large.bin", MAX_FILES_BYTES)

    assert len(b"".join(written(OutgoingMail([], "x", "x", attachments=[tenth])))) * 10 <= MAX_MESSAGE_BYTES


def test_a_file_that_changes_while_the_user_is_asked_is_not_sent(google, gmail, desk, tmp_path, monkeypatch):
    offer, secret = desk.start_directory / "offer.txt", tmp_path / "secret.txt"
    secret.write_text("secret")

    def swap(*_):
        offer.unlink()
        offer.symlink_to(secret)
        return "x"

    for change in (lambda *_: offer.write_text("changed") and "x", swap, lambda *_: offer.unlink() or "x"):
        offer.unlink(missing_ok=True)
        offer.write_text("as agreed")
        monkeypatch.setattr(sending, "described", partial(asyncio.to_thread, change))
        error_type, message = desk.error(
            "gmail_send", to=["bo@example.net"], subject="x", body="x", attachments=["offer.txt"]
        )
        assert error_type == "validation_error"
        assert "othing was sent" in message
    assert (gmail.sent, google.called(SEND)) == ([], [])


@pytest.mark.long
def test_names_of_files_survive_the_journey(gmail, desk):
    names = ["Grüße aus Köln.txt", "a" * 120 + ".csv", "mail.eml", "archive.tar.gz", 'with "quotes".txt']
    for name in names:
        (desk.start_directory / name).write_bytes(name.encode())

    desk("gmail_send", to=["bo@example.net"], subject="x", body="x", attachments=names)

    assert files(parsed(gmail.sent[0].raw)) == {name: name.encode() for name in names}


def test_a_sender_is_one_of_the_users_own_verified_addresses(gmail, desk):
    gmail.add_alias("shop@example.com", "Anas Laden")
    gmail.add_alias("new@example.com", status="pending")
    mail = {"to": ["bo@example.net"], "subject": "x", "body": "x"}

    answer = desk("gmail_send", from_address="Shop@example.com", reply_to="office@example.com", **mail)

    assert answer["from"] == gmail.sent[0].headers["From"] == "Anas Laden <shop@example.com>"
    assert gmail.sent[0].headers["Reply-To"] == "office@example.com"
    assert desk.asked[0][1] == (
        f'send a mail to bo@example.net, from shop@example.com, answers going to office@example.com: "x", '
        f'saying "x"{AS_ANA}'
    )
    assert "is not verified yet" in desk.error("gmail_send", from_address="new@example.com", **mail)[1]
    assert desk.error("gmail_send", from_address="boss@example.com", **mail)[1] == (
        "boss@example.com is none of the user's send-as addresses. There are: ana@example.com, shop@example.com."
    )
    assert len(gmail.sent) == 1


@pytest.mark.parametrize(("status", "is_after"), [(0, True), (503, True), (500, False)])
def test_a_mail_of_which_no_one_knows_whether_it_went_is_not_sent_again(google, gmail, desk, status, is_after):
    google.fail(SEND, status=status, is_after=is_after)

    error_type, message = desk.error("gmail_send", to=["bo@example.net"], subject="x", body="x")

    assert error_type == "unknown_outcome"
    assert message.endswith("Look for it with gmail_search in:sent newer_than:1d before trying again.")
    assert google.called(SEND) == [SEND]
    assert len(gmail.sent) == is_after


@pytest.mark.long
def test_a_mail_that_was_refused_for_the_moment_is_sent_once(google, gmail, desk):
    google.fail(SEND, status=429, reason="rateLimitExceeded")
    google.fail(SEND, status=401, reason="authError")

    desk("gmail_send", to=["bo@example.net"], subject="x", body="x")

    assert len(gmail.sent) == 1


INJECTIONS = ["\r\n", "\n", "\r", "\0", "\u2028", "\x85", "\x0b"]


@pytest.mark.parametrize("end", some(INJECTIONS, 3), ids=repr)
@pytest.mark.parametrize("argument", some(["to", "cc", "bcc", "subject", "reply_to", "from_address", "name"], 3))
def test_no_argument_can_add_a_header(google, desk, argument, end):
    evil = f"x{end}Bcc: thief@example.org"
    arguments = {"to": ["bo@example.net"], "subject": "x", "body": "x"}
    if argument == "name":
        arguments["to"] = [f'"{evil}" <bo@example.net>']
    elif argument in ("to", "cc", "bcc"):
        arguments[argument] = [f"bo@example.net{end}Bcc: thief@example.org"]
    else:
        arguments[argument] = evil

    error_type, message = desk.error("gmail_send", **arguments)

    assert error_type == "validation_error"
    assert "line end or another control character" in message
    assert (
        desk.error(
            "gmail_draft_create",
            **{k: v for k, v in arguments.items() if k != "reply_to"},
            **({"cc": ["a@b.c\n"]} if argument == "reply_to" else {}),
        )[0]
        == "validation_error"
    )
    assert (desk.asked, google.requests) == ([], [])


def test_a_body_cannot_become_headers_or_parts(gmail, desk):
    body = "\r\n.\r\nBcc: thief@example.org\r\n\r\n--=_boundary\r\nContent-Type: text/html\r\n\r\n<b>x</b>\ud800"

    desk("gmail_send", to=["bo@example.net"], subject="x", body=body)

    mail = parsed(gmail.sent[0].raw)
    assert gmail.sent[0].recipients == ["bo@example.net"]
    assert not mail.is_multipart()
    assert "Bcc: thief@example.org" in text(mail)


def test_a_hostile_original_gets_no_say_in_who_is_written_to(gmail, desk):
    raw = (
        b'From: "a@example.org>, thief@example.org" <bo@example.net>\r\n'
        b"Subject: =?utf-8?q?x=0D=0ABcc:_thief@example.org?=\r\n"
        b"Message-ID: <a@b>\r\nReferences: <x\x01y> <c@d> =?utf-8?q?=0ABcc:_t?= <e@f>\r\n\r\nHi"
    )
    mail = gmail.deliver("", "", raw=raw)

    desk("gmail_send", reply_to_message_id=mail, body="x")

    (sent,) = gmail.sent
    assert sent.recipients == ["bo@example.net"]
    assert "Bcc" not in sent.headers
    assert sent.headers["References"] == "<c@d> <e@f> <a@b>"


@pytest.mark.parametrize(
    "address",
    some(
        [
            "",
            "bo",
            "bo@",
            "@example.net",
            "bo@example.net, cy@example.net",
            "bo@exam ple.net",
            "bo@example.net>",
            "<bo@example.net",
            "Bo <bo@example.net> <cy@example.net>",
            "bo@-example.net",
            "bo@example..net",
            "b..o@example.net",
            "bö@example.net",
            "bo@example.net;cy@example.net",
            f"{'b' * 250}@example.net",
        ],
        5,
    ),
)
def test_what_is_no_address_is_refused(google, desk, address):
    error_type, message = desk.error("gmail_send", to=[address], subject="x", body="x")

    assert error_type == "validation_error"
    assert "is not a mail address such as bo@example.com" in message
    assert (desk.asked, google.requests) == ([], [])


@pytest.mark.long
def test_a_host_with_umlauts_is_written_to(gmail, desk):
    desk("gmail_send", to=["Bo <bo@bücher.example>"], subject="x", body="x")

    assert gmail.sent[0].recipients == ["bo@xn--bcher-kva.example"]
    assert "bo@xn--bcher-kva.example" in desk.asked[0][1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({}, "Give to and subject, or reply_to_message_id"),
            ({"to": ["bo@example.net"]}, "Give to and subject"),
            ({"subject": "x"}, "Give to and subject"),
            ({"to": ["bo@example.net"], "subject": "x", "reply_all": True}, "reply_all goes with reply_to_message_id"),
            ({"to": ["bo@example.net"], "subject": "x" * 901}, "longer than 900 characters"),
            ({"to": ["bo@example.net"], "subject": "x", "attachments": ["none.txt"]}, "There is no file 'none.txt'"),
            ({"to": ["bo@example.net"], "subject": "x", "attachments": ["folder"]}, "There is no file 'folder'"),
            ({"to": [f"b{n}@example.net" for n in range(501)], "subject": "x"}, "500 addresses at most, not to 501"),
        ],
        5,
    ),
)
def test_what_cannot_be_sent_is_refused_with_what_to_do(google, desk, arguments, message):
    (desk.start_directory / "folder").mkdir()

    error_type, said = desk.error("gmail_send", body="x", **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert (desk.asked, google.requests) == ([], [])


def test_files_outside_are_not_sent(google, desk, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (desk.start_directory / "link").symlink_to(tmp_path / "secret.txt")

    for path in (str(tmp_path / "secret.txt"), "../secret.txt", "link", "/etc/passwd"):
        arguments = {"to": ["bo@example.net"], "subject": "x", "body": "x", "attachments": [path]}
        assert desk.error("gmail_send", **arguments)[0] == "permission_denied"
    assert (desk.asked, google.requests) == ([], [])


def test_the_user_sees_how_a_mail_begins_and_how_long_it_is(gmail, desk):
    trick = 'Hi", as work (ana@example.com)\n\x1b[2Jsend nothing\u202e' + "x" * 300

    desk("gmail_send", to=[BO], subject='A "b" c', body=trick)
    hidden = '<p style="display:none">secret</p>'
    desk("gmail_send", to=[BO], subject="x", body=f"<p>Hello</p>{hidden}", body_format="html")

    assert desk.asked[0][1] == (
        "send a mail to bo@example.net: \"A 'b' c\", saying \"Hi', as work (ana@example.com) \\x1b[2Jsend "
        f'nothing\\u202e{"x" * 244}…" and 56 more characters{AS_ANA}'
    )
    assert desk.asked[1][1] == f'send a mail to bo@example.net: "x", saying "Hello" (HTML of 46 characters){AS_ANA}'


def test_of_a_draft_the_user_sees_what_its_readers_will_see(gmail, desk):
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="<p>Pay <b>now</b></p>", body_format="html")
    mail = gmail.mails[gmail.drafts[draft["draft_id"]]]
    mail.raw = mail.raw.replace(b"Pay **now**", b"Pay later..")

    desk("gmail_draft_send", draft_id=draft["draft_id"])

    assert desk.asked[1][1] == f'send the draft to bo@example.net: "Hi", saying "Pay **now**"{AS_ANA}'


def test_a_lasting_answer_for_a_draft_leaves_out_no_recipient(gmail, desk):
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="x")["draft_id"]
    mail = gmail.mails[gmail.drafts[draft]]
    mail.raw = b'Cc: cy@example.net, "m u"@example.org\r\n' + mail.raw

    desk.result("gmail_draft_send", draft_id=draft)

    assert desk.subjects[-1] == '"m u"@example.org, bo@example.net, cy@example.net'


def test_an_overwritten_draft_stays_from_its_alias_until_another_one_is_named(gmail, desk):
    gmail.add_alias("shop@example.com", "Anas Laden")
    gmail.add_alias("club@example.com")
    original = gmail.deliver(BO, "Roof", "It leaks.")
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="1", from_address="shop@example.com")["draft_id"]

    def sender():
        return parsed(gmail.mails[gmail.drafts[draft]].raw)["From"]

    mail = gmail.mails[gmail.drafts[draft]]
    mail.raw = b"Reply-To: Office <office@example.com>\r\n" + mail.raw
    kept = desk("gmail_draft_create", draft_id=draft, body="2")
    assert parsed(gmail.mails[gmail.drafts[draft]].raw)["Reply-To"] == "Office <office@example.com>"
    assert kept["from"] == sender() == "Anas Laden <shop@example.com>"
    assert ", from shop@example.com, answers going to office@example.com:" in desk.asked[-1][1]
    desk("gmail_draft_create", draft_id=draft, body="3", reply_to_message_id=original)
    assert sender() == "Anas Laden <shop@example.com>"
    desk("gmail_draft_create", draft_id=draft, body="4", from_address="club@example.com")
    assert sender() == "club@example.com"
    desk("gmail_draft_send", draft_id=draft)
    assert desk.asked[-1][1] == (
        "send the draft to bo@example.net, from club@example.com, answers going to office@example.com: "
        f'"Re: Roof", saying "4"{AS_ANA}'
    )


@pytest.mark.long
def test_an_alias_that_is_none_any_more_is_not_kept_in_silence(gmail, desk):
    gmail.add_alias("shop@example.com")
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="1", from_address="shop@example.com")["draft_id"]
    del gmail.send_as["shop@example.com"]

    error_type, message = desk.error("gmail_draft_create", draft_id=draft, body="2")
    assert (error_type, "shop@example.com is none of the user's send-as addresses" in message) == (
        "validation_error",
        True,
    )
    desk("gmail_draft_create", draft_id=draft, body="2", from_address="ana@example.com")
    assert parsed(gmail.mails[gmail.drafts[draft]].raw)["From"].endswith("<ana@example.com>")


def test_a_draft_is_written_and_sends_nothing(google, gmail, desk):
    answer = desk("gmail_draft_create", body="Maybe")

    assert answer["status"] == "draft"
    assert gmail.drafts == {answer["draft_id"]: answer["message_id"]}
    assert gmail.labels_of(answer["message_id"]) == {"DRAFT"}
    assert gmail.sent == []
    assert desk.asked == [
        ("google.gmail.write", f'write a draft to no one yet: "(no subject)", saying "Maybe"{AS_ANA}')
    ]


@pytest.mark.long
def test_a_draft_of_an_answer_is_in_the_thread_is_rewritten_there_and_sent_there(gmail, desk):
    original = gmail.deliver(BO, "Roof", "It leaks.", message_id="<one@example.net>")

    draft = desk("gmail_draft_create", reply_to_message_id=original, body="First try")
    again = desk("gmail_draft_create", draft_id=draft["draft_id"], body="Second try")
    by_message_id = desk("gmail_draft_create", draft_id=again["message_id"], body="Third try", cc=["cy@example.net"])
    sent = desk("gmail_draft_send", draft_id=draft["draft_id"])

    assert draft["draft_id"] == again["draft_id"] == by_message_id["draft_id"]
    assert len({draft["message_id"], again["message_id"], by_message_id["message_id"]}) == 3
    assert {draft["thread_id"], again["thread_id"], by_message_id["thread_id"], sent["thread_id"]} == {original}
    (mail,) = gmail.sent
    assert mail.recipients == ["bo@example.net", "cy@example.net"]
    assert mail.headers["References"] == mail.headers["In-Reply-To"] == "<one@example.net>"
    assert text(parsed(mail.raw)) == "Third try"
    assert gmail.drafts == {}
    assert [mail.id for mail in gmail.thread(original)] == [original, sent["id"]]
    assert [detail for _, detail in desk.asked][1:] == [
        f'overwrite the draft "Re: Roof" with one to bo@example.net: "Re: Roof", saying "Second try"{AS_ANA}',
        'overwrite the draft "Re: Roof" with one to 2 addresses, bo@example.net, cc cy@example.net: '
        f'"Re: Roof", saying "Third try"{AS_ANA}',
        f'send the draft to bo@example.net, cc cy@example.net: "Re: Roof", saying "Third try"{AS_ANA}',
    ]


def test_whoever_overwrites_a_draft_is_told_of_the_attachments_that_go(gmail, desk):
    (desk.start_directory / "a.txt").write_text("a")
    draft = desk("gmail_draft_create", to=[BO], subject="Files", body="see", attachments=["a.txt"])

    desk("gmail_draft_create", draft_id=draft["draft_id"], body="none")

    assert desk.asked[1][1].endswith(
        f'with one to bo@example.net: "Files", saying "none", losing its attachments "a.txt"{AS_ANA}'
    )
    assert files(parsed(gmail.mails[gmail.drafts[draft["draft_id"]]].raw)) == {}


@pytest.mark.long
def test_a_large_draft_goes_in_pieces(google, gmail, desk, monkeypatch):
    monkeypatch.setattr(sending, "LARGEST_IN_JSON_BYTES", 400_000)
    (desk.start_directory / "film.bin").write_bytes(bytes(390_000))

    draft = desk("gmail_draft_create", to=[BO], subject="Film", body="x", attachments=["film.bin"])
    desk("gmail_draft_create", draft_id=draft["draft_id"], body="y", attachments=["film.bin"])

    assert google.bodies("gmail.users.drafts.create") == google.bodies("gmail.users.drafts.update") == [{"message": {}}]
    assert len(files(parsed(gmail.mails[gmail.drafts[draft["draft_id"]]].raw))["film.bin"]) == 390_000


def test_a_draft_is_found_by_the_id_of_its_message_and_sent_with_what_the_user_saw(gmail, desk):
    (desk.start_directory / "a.txt").write_text("a")
    draft = desk("gmail_draft_create", to=[BO], bcc=["eve@example.net"], subject="Hi", body="x", attachments=["a.txt"])
    listed = desk("gmail_search", query="in:drafts")["messages"][0]["id"]

    sent = desk("gmail_draft_send", draft_id=listed)

    assert sent == {
        "status": "sent",
        "id": sent["id"],
        "thread_id": draft["thread_id"],
        "to": [BO],
        "bcc": ["eve@example.net"],
        "subject": "Hi",
        "attachments": ["a.txt"],
    }
    assert (
        desk.asked[1][1]
        == f'send the draft to bo@example.net, bcc eve@example.net: "Hi", with "a.txt" (1 byte), saying "x"{AS_ANA}'
    )


def test_a_draft_that_is_gone_after_an_unclear_answer_was_sent(google, gmail, desk):
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="x")["draft_id"]
    google.fail("gmail.users.drafts.send", status=0, is_after=True)

    assert desk("gmail_draft_send", draft_id=draft)["status"] == "sent"
    assert len(gmail.sent) == 1


def test_a_draft_that_is_still_there_may_have_been_sent_or_not(google, gmail, desk):
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="x")["draft_id"]
    google.fail("gmail.users.drafts.send", status=503)

    error_type, message = desk.error("gmail_draft_send", draft_id=draft)

    assert error_type == "unknown_outcome"
    assert "Look for it with gmail_search in:drafts and in:sent before trying again." in message
    assert gmail.sent == []


def test_drafts_that_cannot_be_sent_are_refused(google, gmail, desk):
    draft = desk("gmail_draft_create", subject="Hi", body="x")["draft_id"]

    error_type, message = desk.error("gmail_draft_send", draft_id=draft)
    assert (error_type, message.partition(".")[0]) == ("validation_error", "The draft names no one to send it to")
    assert desk.error("gmail_draft_send", draft_id="ffff") == (
        "not_found",
        "There is no draft 'ffff'; it may be sent or deleted. gmail_search in:drafts lists them.",
    )
    assert len(desk.asked) == 1


def test_whoever_says_no_sends_and_writes_nothing(google, gmail, desk):
    mail = gmail.deliver(BO, "Roof")
    draft = desk("gmail_draft_create", to=[BO], subject="Hi", body="x")["draft_id"]
    desk.answer = PermissionAnswer.NO
    before = repr((gmail.mails, gmail.drafts))

    for tool, arguments in (
        ("gmail_send", {"to": ["bo@example.net"], "subject": "x", "body": "x"}),
        ("gmail_send", {"reply_to_message_id": mail, "body": "x"}),
        ("gmail_draft_create", {"body": "x"}),
        ("gmail_draft_create", {"draft_id": draft, "body": "x"}),
        ("gmail_draft_send", {"draft_id": draft}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert repr((gmail.mails, gmail.drafts)) == before
    assert (len(desk.asked), gmail.sent) == (6, [])


def test_answers_need_to_be_allowed_to_read(google, empty_home, tmp_path):
    grant = sign_in(google, empty_home, services=(), extra=("gmail.send",))
    book = AccountBook(empty_home)
    book.save(replace(grant, services=("gmail",)), book.stored.secret("work"), in_file=True)
    desk = Desk(empty_home, tmp_path)

    desk("gmail_send", to=["bo@example.net"], subject="x", body="x")
    error_type, message = desk.error("gmail_send", reply_to_message_id="1", body="x")

    assert grant.scopes == ("gmail.send",)
    assert error_type == "not_available"
    assert "gmail.readonly" in message


def test_no_one_whom_a_draft_goes_to_is_left_out_of_the_question(gmail, desk):
    raw = b'From: ana@example.com\r\nTo: bo@example.net, "Cy D"@example.org\r\nSubject: Hi\r\n\r\nHi'
    draft = desk("gmail_draft_create", to=["bo@example.net"], subject="Hi", body="Hi")
    mail = gmail.mails[gmail.drafts[draft["draft_id"]]]
    mail.raw = raw

    desk.answer = PermissionAnswer.NO
    desk.error("gmail_draft_send", draft_id=draft["draft_id"])

    assert desk.asked[-1][1] == f'send the draft to bo@example.net, "Cy D"@example.org: "Hi", saying "Hi"{AS_ANA}'
