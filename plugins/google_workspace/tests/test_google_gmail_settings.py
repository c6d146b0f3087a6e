"""The tools of the group ``google_gmail_settings``."""

import re
import time
from datetime import datetime, timedelta

import pytest
from google_desk import Desk, sign_in, sign_in_service_account
from google_gmail_settings import palette
from google_oauth import CLIENT_ID, CLIENT_SECRET
from how_long import some
from oneclaw_google_workspace.accounts import USER, Account, AccountBook
from oneclaw_google_workspace.gmail import filters
from oneclaw_google_workspace.gmail.filters import described
from oneclaw_google_workspace.gmail.labels import MailLabels, _palette

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
WRITE = "google.gmail_settings.write"
FILTERS_CREATE = "gmail.users.settings.filters.create"


@pytest.fixture
def gmail(google):
    return google.services["gmail"]


def local(year, month, day, hour=0):
    return datetime(year, month, day, hour).astimezone()


def test_all_settings_are_shown_in_the_words_of_the_tools(gmail, desk):
    shop = gmail.add_label(
        "Shop", labelListVisibility="labelHide", color={"backgroundColor": "#16a766", "textColor": "#ffffff"}
    )
    found = gmail.add_filter(
        {"from": "shop@example.net", "hasAttachment": True, "size": 1000, "sizeComparison": "larger"},
        {"addLabelIds": [shop, "STARRED"], "removeLabelIds": ["INBOX", "SPAM"], "forward": "cy@example.net"},
    )
    gmail.add_alias("ana@shop.example", "Anas Laden", "pending")
    gmail.send_as["ana@example.com"]["signature"] = "<p>Best, <b>Ana</b></p>"
    gmail.forwarding_addresses = {"cy@example.net": "accepted", "dee@example.net": "pending"}
    gmail.auto_forwarding = {"enabled": True, "emailAddress": "cy@example.net", "disposition": "archive"}
    start = local(2026, 12, 24)
    gmail.vacation = {
        "enableAutoReply": True,
        "responseSubject": "Away",
        "responseBodyHtml": "<p>Back soon</p>",
        "restrictToContacts": True,
        "startTime": str(round(start.timestamp() * 1000)),
    }

    answer = desk("gmail_settings_get")

    assert answer["labels"]["own"] == [
        {
            "id": shop,
            "name": "Shop",
            "label_list_visibility": "labelHide",
            "background_color": "#16a766",
            "text_color": "#ffffff",
        }
    ]
    assert "INBOX" in answer["labels"]["of_gmail"]
    assert answer["filters"] == [
        {
            "filter_id": found,
            "criteria": {
                "sender": "shop@example.net",
                "has_attachment": True,
                "size_bytes": 1000,
                "size_comparison": "larger",
            },
            "actions": {
                "add_labels": ["Shop"],
                "archive": True,
                "star": True,
                "never_spam": True,
                "forward_to": "cy@example.net",
            },
        }
    ]
    assert answer["forwarding"] == {
        "enabled": True,
        "forward_to": "cy@example.net",
        "disposition": "archive",
        "addresses": [
            {"email": "cy@example.net", "status": "accepted"},
            {"email": "dee@example.net", "status": "pending"},
        ],
    }
    assert answer["signatures"] == [
        {
            "address": "ana@example.com",
            "name": "Ana Alm",
            "signature": "Best, **Ana**",
            "default": True,
            "primary": True,
            "verified": True,
        },
        {"address": "ana@shop.example", "name": "Anas Laden", "default": False, "primary": False, "verified": False},
    ]
    assert answer["vacation"] == {
        "enabled": True,
        "subject": "Away",
        "body": "Back soon",
        "start": start.isoformat(timespec="seconds"),
        "contacts_only": True,
        "domain_only": False,
    }
    assert desk.asked == []


def test_only_the_sections_that_are_wanted_are_asked_for(google, desk):
    assert desk("gmail_settings_get", sections=["vacation"]) == {
        "vacation": {"enabled": False, "contacts_only": False, "domain_only": False}
    }
    assert google.called("gmail.") == ["gmail.users.settings.getVacation"]
    assert desk("gmail_settings_get", sections=["filters"]) == {"filters": []}


def test_a_section_that_cannot_be_had_is_told_in_its_place(google, desk):
    google.fail("gmail.users.settings.filters.list", status=403, reason="forbidden", times=2)

    answer = desk("gmail_settings_get", sections=["filters", "vacation"])

    assert answer["filters"]["error"].startswith("work (ana@example.com) may not do this.")
    assert answer["vacation"]["enabled"] is False
    assert desk.error("gmail_settings_get", sections=["filters"])[0] == "permission_denied"


def test_a_filter_is_made_as_the_user_was_told_and_works(google, gmail, desk):
    shop = gmail.add_label("Shop")

    answer = desk(
        "gmail_filter_manage",
        action="create",
        sender="shop@example.net",
        subject="Your bill",
        has_attachment=True,
        exclude_chats=True,
        size_bytes=100,
        size_comparison="larger",
        add_labels=["shop"],
        archive=True,
        mark_read=True,
        star=True,
        never_spam=True,
    )

    assert google.bodies(FILTERS_CREATE) == [
        {
            "criteria": {
                "from": "shop@example.net",
                "subject": "Your bill",
                "hasAttachment": True,
                "excludeChats": True,
                "size": 100,
                "sizeComparison": "larger",
            },
            "action": {"addLabelIds": [shop, "STARRED"], "removeLabelIds": ["INBOX", "UNREAD", "SPAM"]},
        }
    ]
    assert (answer["status"], answer["filter_id"] in gmail.filters) == ("created", True)
    assert answer["actions"] == {
        "add_labels": ["Shop"],
        "archive": True,
        "mark_read": True,
        "star": True,
        "never_spam": True,
    }
    assert desk.asked == [
        (
            WRITE,
            'create a filter for new mail: mail with sender "shop@example.net", subject "Your bill", has attachment, '
            'exclude chats, larger than 100 bytes gets "Shop", skips the inbox, is marked as read, is starred, never '
            f"goes to Spam{AS_ANA}",
        )
    ]
    bill = gmail.deliver("shop@example.net", "Your bill", "x" * 200, files=(("b.pdf", b"x", "application/pdf"),))
    assert gmail.labels_of(bill) == {shop, "STARRED"}


def test_a_filter_that_there_is_already_is_not_made_again(google, gmail, desk):
    found = gmail.add_filter({"from": "a@example.net", "hasAttachment": False}, {"removeLabelIds": ["UNREAD", "INBOX"]})

    answer = desk("gmail_filter_manage", action="create", sender="a@example.net", archive=True, mark_read=True)

    assert (answer["status"], answer["filter_id"]) == ("exists", found)
    assert desk.asked == []


def test_mail_is_forwarded_only_to_a_verified_address_which_the_user_sees(gmail, desk):
    gmail.forwarding_addresses = {"Cy@example.net": "accepted", "dee@example.net": "pending"}

    desk("gmail_filter_manage", action="create", query="is:important", forward_to="cy@example.net".replace("c", "C", 1))
    error_type, message = desk.error("gmail_filter_manage", action="create", query="x", forward_to="dee@example.net")

    assert desk.asked[0][1].endswith(f'mail with query "is:important" is forwarded to Cy@example.net{AS_ANA}')
    assert error_type == "validation_error"
    assert message.startswith("dee@example.net is not a verified forwarding address. There are: Cy@example.net.")
    assert len(gmail.filters) == len(desk.asked) == 1


def test_a_filter_is_deleted_after_the_user_has_seen_what_it_does(google, gmail, desk):
    found = gmail.add_filter({"from": "a@example.net"}, {"addLabelIds": ["TRASH"]})

    answer = desk("gmail_filter_manage", action="delete", filter_id=found)

    assert (answer["status"], gmail.filters) == ("deleted", {})
    assert desk.asked == [
        ("google.gmail_settings.delete", f'delete the filter: mail with sender "a@example.net" gets "TRASH"{AS_ANA}')
    ]
    assert desk.error("gmail_filter_manage", action="delete", filter_id=found)[0] == "not_found"


@pytest.mark.long
def test_a_filter_of_which_no_one_knows_whether_it_was_made_is_not_made_again(google, gmail, desk):
    google.fail(FILTERS_CREATE, status=503, is_after=True)

    error_type, message = desk.error("gmail_filter_manage", action="create", sender="a@example.net", archive=True)

    assert error_type == "unknown_outcome"
    assert message.endswith("Look for it with gmail_settings_get before trying again.")
    assert len(gmail.filters) == 1


def test_every_filter_can_be_described():
    labels = MailLabels({"Label_1": "Shop"}, ["Label_1"])

    assert described({}, labels) == "mail with anything stays as it is"
    assert described({"criteria": {"size": 1}, "action": {"addLabelIds": ["Label_9"]}}, labels) == (
        'mail with than 1 bytes gets "Label_9"'
    )


def test_a_label_is_made_once(google, gmail, desk):
    made = desk("gmail_label_manage", action="create", name=" House/Roof ", label_list_visibility="labelHide")
    again = desk("gmail_label_manage", action="create", name="house/roof")

    assert made == {
        "status": "created",
        "id": made["id"],
        "name": "House/Roof",
        "label_list_visibility": "labelHide",
        "message_list_visibility": "show",
    }
    assert again == {"status": "exists", "id": made["id"], "name": "House/Roof"}
    assert desk.asked == [
        ("google.gmail_settings.organize", f'create the label "House/Roof" (label_list_visibility labelHide){AS_ANA}')
    ]


@pytest.mark.long
def test_a_label_that_was_made_although_the_answer_got_lost_is_found(google, gmail, desk):
    google.fail("gmail.users.labels.create", status=500, is_after=True)

    answer = desk("gmail_label_manage", action="create", name="New")

    assert gmail.labels[answer["id"]]["name"] == "New"


def test_a_label_is_renamed_recoloured_and_deleted_with_its_mail_kept(gmail, desk):
    shop = gmail.add_label("Shop")
    mail = gmail.deliver("a@example.net", "x", labels=("INBOX", shop))

    answer = desk(
        "gmail_label_manage",
        action="update",
        label="shop",
        name="Store",
        background_color="#16A766",
        text_color="#ffffff",
    )

    assert answer["changed"] == ["name", "colours"]
    assert gmail.labels[shop]["color"] == {"backgroundColor": "#16a766", "textColor": "#ffffff"}
    assert desk("gmail_label_manage", action="delete", label=shop)["status"] == "deleted"
    assert shop not in gmail.labels
    assert gmail.labels_of(mail) == {"INBOX"}
    assert [detail for _, detail in desk.asked] == [
        f'change the label "Shop": name "Store", text #ffffff on #16a766{AS_ANA}',
        f'delete the label "Store" permanently, taking it off all its mail, which stays{AS_ANA}',
    ]


def test_a_colour_that_gmail_does_not_have_is_answered_with_those_it_has(gmail, desk):
    gmail.add_label("Shop")
    colors = {"background_color": "#123456", "text_color": "#ffffff"}

    for arguments in ({"action": "update", "label": "Shop"}, {"action": "create", "name": "New"}):
        error_type, message = desk.error("gmail_label_manage", **arguments, **colors)
        assert error_type == "validation_error"
        assert "Colours must be of Gmail's palette: #000000 " in message
    assert _palette() <= palette()


def test_the_signature_is_changed_and_removed(gmail, desk):
    gmail.add_alias("ana@shop.example")

    answer = desk("gmail_settings_update", setting="signature", signature_html="<p>Best,<br>Ana</p>")
    desk("gmail_settings_update", setting="signature", signature_html="Shop", send_as_email="Ana@shop.example")
    gone = desk("gmail_settings_update", setting="signature", signature_html="")

    assert (answer["send_as_email"], answer["before"], answer["after"]) == (
        "ana@example.com",
        "",
        "Best,\nAna",
    )
    assert (gone["before"], gone["after"]) == (answer["after"], "")
    assert gmail.send_as["ana@shop.example"]["signature"] == "Shop"
    assert [detail for _, detail in desk.asked] == [
        f'set the signature of ana@example.com to "Best, Ana" (HTML of 19 characters){AS_ANA}',
        f'set the signature of ana@shop.example to "Shop" (HTML of 4 characters){AS_ANA}',
        f"remove the signature of ana@example.com{AS_ANA}",
    ]
    assert (
        "is not a send-as address. There are: ana@example.com, ana@shop.example."
        in desk.error("gmail_settings_update", setting="signature", signature_html="x", send_as_email="bo@example.net")[
            1
        ]
    )


def test_the_vacation_responder_is_turned_on_for_whole_days_here_and_off(gmail, desk):
    year = datetime.now().year + 1
    answer = desk(
        "gmail_settings_update",
        setting="vacation",
        enabled=True,
        subject="Away",
        body="Back on\nMonday",
        start=f"{year}-07-01",
        end=f"{year}-07-14",
        restrict_to_contacts=True,
    )

    assert gmail.vacation == {
        "enableAutoReply": True,
        "restrictToContacts": True,
        "responseSubject": "Away",
        "responseBodyPlainText": "Back on\nMonday",
        "startTime": str(round(local(year, 7, 1).timestamp() * 1000)),
        "endTime": str(round(local(year, 7, 15).timestamp() * 1000)),
    }
    first, last = (local(year, 7, day).isoformat(timespec="seconds") for day in (1, 15))
    assert (answer["before"]["enabled"], answer["after"]["start"], answer["after"]["end"]) == (False, first, last)
    assert desk.asked == [
        (
            WRITE,
            f'let the vacation responder answer contacts from {first} until {last}: subject "Away", '
            f'body "Back on Monday"{AS_ANA}',
        )
    ]

    desk("gmail_settings_update", setting="vacation", enabled=False)

    assert (gmail.vacation["enableAutoReply"], gmail.vacation["responseSubject"]) == (False, "Away")
    assert desk.asked[1][1] == f"turn the vacation responder off{AS_ANA}"
    desk("gmail_settings_update", setting="vacation", subject="", body="Soon", restrict_to_contacts=False)
    assert desk.asked[2][1] == (
        f'change the vacation responder, which stays off: no subject, body "Soon", not contacts only{AS_ANA}'
    )


@pytest.mark.long
def test_what_is_not_given_of_the_responder_stays_and_one_body_takes_the_place_of_the_other(gmail, desk):
    gmail.vacation = {
        "enableAutoReply": True,
        "responseSubject": "Away",
        "responseBodyHtml": "<p>Old</p>",
        "restrictToDomain": True,
    }

    desk(
        "gmail_settings_update",
        setting="vacation",
        body="New",
        restrict_to_domain=False,
        end="2999-01-01T12:00:00+02:00",
    )
    assert gmail.vacation == {
        "enableAutoReply": True,
        "responseSubject": "Away",
        "responseBodyPlainText": "New",
        "restrictToDomain": False,
        "endTime": str(round(datetime.fromisoformat("2999-01-01T12:00:00+02:00").timestamp() * 1000)),
    }
    answer = desk("gmail_settings_update", setting="vacation", body="<b>x</b>", body_format="html", end="", subject="")
    assert gmail.vacation == {"enableAutoReply": True, "responseBodyHtml": "<b>x</b>", "restrictToDomain": False}
    assert (answer["before"]["body"], answer["after"]["body"]) == ("New", "**x**")


def test_the_days_of_the_last_vacation_do_not_keep_the_next_one_off(gmail, desk):
    past = round(time.time() * 1000)
    gmail.vacation = {
        "enableAutoReply": False,
        "responseSubject": "Away",
        "startTime": str(past - 10_000),
        "endTime": str(past - 5_000),
    }

    desk("gmail_settings_update", setting="vacation", enabled=True)

    assert gmail.vacation == {"enableAutoReply": True, "responseSubject": "Away"}


def test_an_ordinary_user_is_told_where_forwarding_is_changed(google, desk):
    error_type, message = desk.error("gmail_settings_update", setting="forwarding", enabled=True, forward_to="a@b.c")

    assert error_type == "not_available"
    assert "a filter with forward_to, by gmail_filter_manage, works, too" in message
    assert (desk.asked, google.requests) == ([], [])


@pytest.fixture
def organisation(google, empty_home, tmp_path, service_key):
    """Runs the tools by a service account that acts for Ana, whose scopes are given."""

    def signed_in(*scopes):
        sign_in_service_account(google, empty_home, service_key, *scopes)
        return Desk(empty_home, tmp_path)

    return signed_in


def test_an_organisation_can_forward_mail_to_a_verified_address(gmail, organisation):
    desk = organisation("gmail.settings.basic", "gmail.settings.sharing")
    gmail.forwarding_addresses = {"cy@example.net": "accepted", "dee@example.net": "pending"}
    change = {"setting": "forwarding"}

    answer = desk("gmail_settings_update", **change, enabled=True, forward_to="cy@example.net")
    assert gmail.auto_forwarding == {"enabled": True, "emailAddress": "cy@example.net", "disposition": "leaveInInbox"}
    assert (answer["before"], answer["after"]["forward_to"]) == ({"enabled": False}, "cy@example.net")
    desk("gmail_settings_update", **change, disposition="archive")
    desk("gmail_settings_update", **change, enabled=False)
    assert gmail.auto_forwarding == {"enabled": False, "emailAddress": "cy@example.net", "disposition": "archive"}
    assert (
        "not a verified" in desk.error("gmail_settings_update", **change, enabled=True, forward_to="dee@example.net")[1]
    )
    assert [detail for _, detail in desk.asked] == [
        f"forward all new mail to cy@example.net, keeping it in the inbox{AS_ANA}",
        f"forward all new mail to cy@example.net, archiving it{AS_ANA}",
        f"forward no mail automatically{AS_ANA}",
    ]


def test_forwarding_needs_a_scope_of_its_own(google, organisation):
    desk = organisation("gmail.settings.basic")

    error_type, message = desk.error("gmail_settings_update", setting="forwarding", enabled=False)

    assert error_type == "not_available"
    assert message.endswith("--scope gmail.settings.sharing")


def test_whoever_says_no_keeps_all_settings(gmail, desk):
    gmail.add_label("Shop")
    found = gmail.add_filter({"from": "a@example.net"}, {"addLabelIds": ["TRASH"]})
    desk.answer = PermissionAnswer.NO
    before = repr((gmail.labels, gmail.filters, gmail.send_as, gmail.vacation))

    for tool, arguments in (
        ("gmail_filter_manage", {"action": "create", "sender": "x", "archive": True}),
        ("gmail_filter_manage", {"action": "delete", "filter_id": found}),
        ("gmail_label_manage", {"action": "create", "name": "New"}),
        ("gmail_label_manage", {"action": "update", "label": "Shop", "name": "New"}),
        ("gmail_label_manage", {"action": "delete", "label": "Shop"}),
        ("gmail_settings_update", {"setting": "signature", "signature_html": "x"}),
        ("gmail_settings_update", {"setting": "vacation", "enabled": True, "subject": "x"}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert repr((gmail.labels, gmail.filters, gmail.send_as, gmail.vacation)) == before
    assert len(desk.asked) == 7


FILTER, LABEL, UPDATE = "gmail_filter_manage", "gmail_label_manage", "gmail_settings_update"
LONG_AGO = "2001-01-01"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            (FILTER, {"action": "delete"}, "Give filter_id"),
            (FILTER, {"action": "create", "filter_id": "x", "sender": "x"}, "A filter cannot be changed"),
            (FILTER, {"action": "create", "archive": True}, "would match all mail"),
            (
                FILTER,
                {"action": "create", "archive": True, "exclude_chats": True, "sender": " "},
                "would match all mail",
            ),
            (FILTER, {"action": "create", "archive": True, "has_attachment": False}, "would match all mail"),
            (FILTER, {"action": "create", "sender": "x"}, "Say what happens to the mail"),
            (
                FILTER,
                {"action": "create", "sender": "x", "size_bytes": 5},
                "size_bytes and size_comparison go together",
            ),
            (FILTER, {"action": "create", "sender": "x", "add_labels": ["Nope"]}, "There is no label 'Nope'"),
            (
                FILTER,
                {"action": "create", "sender": "x", "star": True, "remove_labels": ["starred"]},
                "put on and taken off",
            ),
            (FILTER, {"action": "create", "sender": "x", "forward_to": "a@b\n"}, "control character"),
            (LABEL, {"action": "create"}, "give its name"),
            (LABEL, {"action": "create", "name": "x", "label": "y"}, "and no label"),
            (LABEL, {"action": "create", "name": " "}, "1 to 225 characters"),
            (LABEL, {"action": "create", "name": "x\ny"}, "no line ends"),
            (LABEL, {"action": "create", "name": "x//y"}, "has an empty part"),
            (LABEL, {"action": "update", "name": "x"}, "Give label"),
            (LABEL, {"action": "update", "label": "x"}, "Give what to change"),
            (LABEL, {"action": "update", "label": "Nope", "name": "x"}, "There is no label 'Nope'"),
            (LABEL, {"action": "update", "label": "inbox", "name": "x"}, "INBOX is one of Gmail's own labels"),
            (LABEL, {"action": "delete", "label": "SPAM"}, "cannot be changed or deleted"),
            (LABEL, {"action": "delete", "label": "x", "name": "y"}, "give nothing but label"),
            (LABEL, {"action": "create", "name": "x", "text_color": "#ffffff"}, "go together"),
            (LABEL, {"action": "create", "name": "x", "text_color": "red", "background_color": "blue"}, "like #16a766"),
            (UPDATE, {"setting": "signature"}, "Give signature_html"),
            (UPDATE, {"setting": "signature", "signature_html": "x", "enabled": True}, "enabled does not go with"),
            (
                UPDATE,
                {"setting": "vacation", "forward_to": "a@b.c"},
                "forward_to does not go with the setting vacation",
            ),
            (UPDATE, {"setting": "vacation"}, "Give what to change about the vacation responder"),
            (UPDATE, {"setting": "vacation", "enabled": True}, "needs a subject or a body"),
            (UPDATE, {"setting": "vacation", "subject": "x\nBcc: y"}, "control character"),
            (
                UPDATE,
                {"setting": "vacation", "start": "soon"},
                "start must be a time such as 2026-03-31T14:00:00+02:00 or a day",
            ),
            (UPDATE, {"setting": "vacation", "end": "9999-12-31"}, "end must be a time such as"),
            (UPDATE, {"setting": "vacation", "start": "2999-01-02", "end": "2999-01-01"}, "must start before it ends"),
            (UPDATE, {"setting": "vacation", "enabled": True, "subject": "x", "end": LONG_AGO}, "has ended already"),
        ],
        8,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    error_type, said = desk.error(tool, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert all(re.search(r"\.(list|getVacation)$", each) for each in google.called("gmail."))


@pytest.mark.long
def test_the_settings_need_no_right_to_read_mail(google, empty_home, tmp_path):
    account = sign_in(google, empty_home, services=("gmail_settings",))
    desk = Desk(empty_home, tmp_path)

    assert set(account.scopes) == {"gmail.labels", "gmail.settings.basic"}
    assert set(desk("gmail_settings_get")) == {"labels", "filters", "forwarding", "signatures", "vacation"}
    desk(FILTER, action="create", sender="x@example.net", archive=True)
    desk(LABEL, action="create", name="New")
    desk(
        UPDATE,
        setting="vacation",
        enabled=True,
        subject="Away",
        end=(datetime.now() + timedelta(days=3)).date().isoformat(),
    )
    assert desk.error("gmail_search")[0] == "not_available"


def test_a_filter_takes_no_size_beyond_what_google_takes(google, desk):
    size = {"size_bytes": 2**31, "size_comparison": "larger"}

    assert desk.error("gmail_filter_manage", action="create", star=True, **size)[0] == "validation_error"
    assert google.requests == []


# Applying filters to mail that is there


def test_a_new_filter_is_applied_to_mail_that_is_there(google, gmail, desk):
    shop = gmail.add_label("Shop")
    fits = [gmail.deliver("Shop <news@shop.example>", f"Sale {number}", days_ago=number) for number in range(3)]
    other = gmail.deliver("bo@example.net", "Sale")
    trashed = gmail.deliver("news@shop.example", "Sale", labels=("TRASH",))

    answer = desk(
        "gmail_filter_manage", action="create", sender="news@shop.example", subject="sale", add_labels=["Shop"],
        archive=True, apply_to_existing=True,
    )  # fmt: skip

    assert (answer["status"], answer["applied_to_messages"]) == ("created", 3)
    assert all(gmail.labels_of(each) == {"UNREAD", shop} for each in fits)
    assert gmail.labels_of(other) == {"INBOX", "UNREAD"}
    assert gmail.labels_of(trashed) == {"TRASH"}
    assert desk.asked == [
        (
            WRITE,
            "create a filter for new mail, and apply it to 3 messages that are there: mail with sender "
            f'"news@shop.example", subject "sale" gets "Shop", skips the inbox{AS_ANA}',
        )
    ]

    again = desk(
        "gmail_filter_manage", action="create", sender="news@shop.example", subject="sale", add_labels=["Shop"],
        archive=True, apply_to_existing=True,
    )  # fmt: skip

    assert (again["status"], again["applied_to_messages"], len(gmail.filters)) == ("exists", 3, 1)


@pytest.mark.long
def test_a_filter_that_is_there_is_applied(gmail, desk):
    filter_id = gmail.add_filter(
        {"query": "roof OR house", "negatedQuery": "leaks", "hasAttachment": True, "excludeChats": True},
        {"addLabelIds": ["STARRED"]},
    )
    plan = (("plan.pdf", b"x" * 100, "application/pdf"),)
    before = [gmail.deliver("bo@example.net", subject, files=plan) for subject in ("House", "Roof leaks", "Garden")]
    for each in before:
        gmail.mails[each].labels = ["INBOX"]

    answer = desk("gmail_filter_manage", action="apply", filter_id=filter_id)

    assert (answer["status"], answer["applied_to_messages"], answer["filter_id"]) == ("applied", 1, filter_id)
    assert [gmail.labels_of(each) for each in before] == [{"INBOX", "STARRED"}, {"INBOX"}, {"INBOX"}]
    assert "apply a filter to 1 message that is there: mail with query" in desk.asked[0][1]


def test_many_messages_are_changed_in_parts_and_failures_named(google, gmail, desk, monkeypatch):
    monkeypatch.setattr(filters, "_MOST_AT_ONCE", 2)
    monkeypatch.setattr(filters, "_MOST_APPLIED", 5)
    monkeypatch.setattr(filters, "_PAGE", 4)
    filter_id = gmail.add_filter({"from": "bo@example.net"}, {"removeLabelIds": ["INBOX"]})
    for number in range(7):
        gmail.mails[gmail.deliver("bo@example.net", "x", days_ago=number)].labels = ["INBOX"]

    answer = desk("gmail_filter_manage", action="apply", filter_id=filter_id)

    assert answer["applied_to_messages"] == 5
    assert "newest 5" in answer["incomplete"]
    assert "the newest 5 messages of those" in desk.asked[0][1]

    google.fail("gmail.users.messages.batchModify", status=403, reason="forbidden", times=1)
    answer = desk("gmail_filter_manage", action="apply", filter_id=filter_id)

    assert answer["applied_to_messages"] == 0
    assert answer["not_applied"].startswith("5 messages are unchanged")


def test_what_only_forwards_is_not_applied(gmail, desk):
    filter_id = gmail.add_filter({"from": "bo@example.net"}, {"forward": "cy@example.net"})

    assert desk.error("gmail_filter_manage", action="apply", filter_id=filter_id) == (
        "validation_error",
        "Google forwards new mail only, so there is nothing to apply to mail that is there.",
    )


def test_a_filter_is_applied_only_where_mail_may_be_changed(google, gmail, empty_home, tmp_path):
    desk = Desk(empty_home, tmp_path)
    filter_id = gmail.add_filter({"from": "bo@example.net"}, {"addLabelIds": ["STARRED"]})
    sign_in(google, empty_home, services=("gmail_settings",))

    error_type, message = desk.error("gmail_filter_manage", action="apply", filter_id=filter_id)

    assert (error_type, "gmail.modify" in message) == ("not_available", True)


def test_a_filter_is_not_applied_to_mail_that_is_for_reading_only(google, gmail, empty_home, tmp_path):
    desk = Desk(empty_home, tmp_path)
    filter_id = gmail.add_filter({"from": "bo@example.net"}, {"addLabelIds": ["STARRED"]})
    book = AccountBook(empty_home)
    scopes = ("gmail.modify", "gmail.labels", "gmail.settings.basic")
    grant = google.oauth.grant(*scopes)
    account = Account("work", USER, grant.user, scopes, ("gmail", "gmail_settings"), ("gmail",))
    secret = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "refresh_token": grant.refresh_token}
    book.save(account, secret, in_file=True)

    error_type, message = desk.error("gmail_filter_manage", action="apply", filter_id=filter_id)

    assert error_type == "not_available"
    assert "for reading only" in message
