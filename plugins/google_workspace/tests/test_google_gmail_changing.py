"""The tools of the group ``google_gmail`` that change where messages are found."""

import pytest
from how_long import some

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
BO, BO_ADDRESS = "Bo Berg <bo@example.net>", "bo@example.net"
BATCH_MODIFY = "gmail.users.messages.batchModify"


@pytest.fixture
def gmail(google):
    return google.services["gmail"]


@pytest.mark.long
def test_sixty_mails_go_to_trash_in_one_call_with_one_question(google, gmail, desk):
    for number in range(60):
        gmail.deliver(f"spam{number}@example.org", f"Win {number}", labels=("SPAM", "UNREAD"), days_ago=number)
    kept = gmail.deliver(BO, "Roof")
    found = [row["id"] for row in desk("gmail_search", query="in:spam", max_results=60)["messages"]]
    before = len(google.called("batch"))

    answer = desk("gmail_trash", message_ids=found)

    assert (answer["messages"], answer["threads"], sorted(answer["trashed"])) == (60, 0, sorted(found))
    assert all("TRASH" in gmail.labels_of(each) for each in found)
    assert gmail.labels_of(kept) == {"INBOX", "UNREAD"}
    assert desk.asked == [
        (
            "google.gmail.delete",
            'move 60 messages to Trash: "Win 0 from spam0@example.org", "Win 1 from spam1@example.org", '
            '"Win 2 from spam2@example.org", "Win 3 from spam3@example.org", "Win 4 from spam4@example.org" '
            f"and 55 more{AS_ANA}",
        )
    ]
    # One batch to name some of them, and of Gmail's 25 at a time three more.
    assert len(google.called("batch")) - before == 4
    assert google.called("gmail.users.messages.trash") == ["gmail.users.messages.trash"] * 60


@pytest.mark.long
def test_mails_that_could_not_go_to_trash_are_named_and_only_they_are_tried_again(google, gmail, desk):
    mails = [gmail.deliver(BO, f"Mail {number}") for number in range(4)]
    google.fail("gmail.users.messages.trash", status=429, reason="rateLimitExceeded", times=1)
    google.fail("gmail.users.messages.trash", status=500, times=1, is_after=True)
    google.fail("gmail.users.messages.trash", status=403, reason="forbidden", times=1)

    answer = desk("gmail_trash", message_ids=[*mails, "ffff", mails[0]])

    failed = {each["id"]: each["reason"] for each in answer["failed"]}
    assert failed["ffff"].startswith("There is nothing of that id")
    assert (len(failed), answer["messages"]) == (2, 3)
    assert set(answer["trashed"]) | set(failed) == {*mails, "ffff"}
    assert {each for each in mails if "TRASH" in gmail.labels_of(each)} == set(answer["trashed"])


@pytest.mark.long
def test_threads_go_to_trash_whole_and_come_back(gmail, desk):
    first = gmail.deliver(BO, "Roof", message_id="<one@example.net>")
    second = gmail.deliver(BO, "Re: Roof", references="<one@example.net>")
    single = gmail.deliver(BO, "Lunch")

    answer = desk("gmail_trash", thread_ids=[first], message_ids=[single])

    assert answer == {"messages": 1, "threads": 1, "trashed": [single], "thread_ids": [first]}
    assert desk.asked[0][1] == (
        'move 1 message and 1 thread to Trash: "Lunch from bo@example.net", "Roof from bo@example.net"' + AS_ANA
    )
    assert "TRASH" in gmail.labels_of(second)

    back = desk("gmail_trash", message_ids=[single], thread_ids=[first], restore=True)

    assert back["restored"] == [{"id": single, "labels": ["UNREAD"]}]  # not back in the inbox
    assert back["thread_ids"] == [first]
    assert not any("TRASH" in gmail.labels_of(each) for each in (first, second, single))
    assert desk.asked[1][1].startswith("take 1 message and 1 thread out of Trash: ")


def test_nothing_of_what_is_to_go_is_there(google, desk):
    assert desk.error("gmail_trash", message_ids=["ffff"], thread_ids=["eeee"])[0] == "not_found"
    assert desk.asked == []


@pytest.mark.long
def test_labels_go_on_a_thousand_mails_in_one_call(google, gmail, desk):
    shop = gmail.add_label("Shop/Receipts")
    mails = [gmail.deliver("", "", raw=b"Subject: x\r\n\r\n", labels=("INBOX",)) for _ in range(1_000)]

    answer = desk("gmail_label_add", message_ids=mails, labels=["shop/receipts", "STARRED", shop])

    assert answer == {
        "labels": [{"id": shop, "name": "Shop/Receipts"}, {"id": "STARRED", "name": "STARRED"}],
        "messages": 1_000,
        "threads": 0,
    }
    assert google.called(BATCH_MODIFY) == [BATCH_MODIFY]
    assert all(gmail.labels_of(each) == {"INBOX", shop, "STARRED"} for each in mails)
    named = ", ".join(['"x"'] * 5)
    assert desk.asked[0][1] == (
        f'put 2 labels "Shop/Receipts", "STARRED" on 1,000 messages: {named} and 995 more{AS_ANA}'
    )


def test_missing_labels_are_made_only_if_that_is_wanted(gmail, desk):
    gmail.add_label("Receipts")
    mail = gmail.deliver(BO, "Bill")

    error_type, message = desk.error("gmail_label_add", message_ids=[mail], labels=["Reciepts", "INBOX"])
    assert (error_type, message) == ("validation_error", "There is no label 'Reciepts'. Similar ones: Receipts.")
    assert desk.asked == []

    answer = desk("gmail_label_add", message_ids=[mail], labels=["House/Roof", "house/roof"], create_missing=True)

    ((label_id, made),) = [(i, each) for i, each in gmail.labels.items() if each["name"] == "House/Roof"]
    assert answer["labels"] == [{"id": label_id, "name": "House/Roof", "created": True}]
    assert (made["labelListVisibility"], made["messageListVisibility"]) == ("labelShow", "show")
    assert label_id in gmail.labels_of(mail)
    assert (
        desk.asked[0][1]
        == f'put 1 label "House/Roof" (creating "House/Roof") on 1 message: "Bill from {BO_ADDRESS}"{AS_ANA}'
    )


@pytest.mark.long
def test_a_label_that_was_made_although_the_answer_got_lost_is_used(google, gmail, desk):
    mail = gmail.deliver(BO, "Bill")
    google.fail("gmail.users.labels.create", status=503, is_after=True)

    answer = desk("gmail_label_add", message_ids=[mail], labels=["New"], create_missing=True)

    assert [each["name"] for each in gmail.labels.values() if each["type"] == "user"] == ["New"]
    assert answer["labels"][0]["id"] in gmail.labels_of(mail)


@pytest.mark.long
def test_labels_come_off_and_threads_that_are_not_there_are_named(gmail, desk):
    shop = gmail.add_label("Shop")
    first = gmail.deliver(BO, "Roof", labels=("INBOX", "UNREAD", shop), message_id="<one@example.net>")
    second = gmail.deliver(BO, "Re: Roof", labels=("INBOX", "UNREAD", shop), references="<one@example.net>")
    single = gmail.deliver(BO, "Lunch")

    answer = desk("gmail_label_remove", thread_ids=[first, "ffff"], message_ids=[single], labels=["unread", "shop"])

    assert gmail.labels_of(first) == gmail.labels_of(second) == gmail.labels_of(single) == {"INBOX"}
    assert (answer["messages"], answer["threads"]) == (1, 1)
    assert [each["thread_id"] for each in answer["failed"]] == ["ffff"]
    assert desk.asked[0][1] == (
        f'take 2 labels "UNREAD", "Shop" off 1 message and 2 threads: "Lunch from {BO_ADDRESS}", "Roof from '
        f'{BO_ADDRESS}" and 1 more{AS_ANA}'
    )


def test_messages_that_could_not_be_changed_do_not_keep_threads_away(google, gmail, desk):
    first, second = gmail.deliver(BO, "Roof"), gmail.deliver(BO, "Lunch")
    google.fail(BATCH_MODIFY, status=400, reason="invalidArgument", times=2)

    answer = desk("gmail_archive", message_ids=[first], thread_ids=[second])

    assert (answer["archived_messages"], answer["archived_threads"]) == (0, 1)
    assert answer["failed"][0]["message_ids"] == [first]
    assert desk.error("gmail_archive", message_ids=[first])[0] == "validation_error"
    assert "INBOX" in gmail.labels_of(first)


@pytest.mark.long
def test_archived_mail_is_out_of_the_inbox_and_still_found(gmail, desk):
    first, second = gmail.deliver(BO, "Roof"), gmail.deliver(BO, "Lunch")

    desk("gmail_archive", message_ids=[first])
    answer = desk("gmail_archive", thread_ids=[second], mark_read=True)

    assert answer == {"archived_messages": 0, "archived_threads": 1}
    assert (gmail.labels_of(first), gmail.labels_of(second)) == ({"UNREAD"}, set())
    assert len(desk("gmail_search", query="from:bo -in:inbox")["messages"]) == 2
    assert [detail for _, detail in desk.asked] == [
        f'archive 1 message: "Roof from {BO_ADDRESS}"{AS_ANA}',
        f'archive and mark as read 1 thread: "Lunch from {BO_ADDRESS}"{AS_ANA}',
    ]


@pytest.mark.long
def test_a_change_that_was_not_confirmed_is_repeated(google, gmail, desk):
    mail = gmail.deliver(BO, "Roof")
    google.fail(BATCH_MODIFY, status=0, is_after=True)
    google.fail("gmail.users.threads.trash", status=503, is_after=True)

    desk("gmail_archive", message_ids=[mail])
    desk("gmail_trash", thread_ids=[mail])

    assert gmail.labels_of(mail) == {"UNREAD", "TRASH"}


def test_whoever_says_no_keeps_the_mail_where_it_is(gmail, desk):
    mail = gmail.deliver(BO, "Roof")
    desk.answer = PermissionAnswer.NO
    before = repr((gmail.mails, gmail.labels))

    for tool, arguments in (
        ("gmail_label_add", {"labels": ["New"], "create_missing": True}),
        ("gmail_label_remove", {"labels": ["INBOX"]}),
        ("gmail_archive", {}),
        ("gmail_trash", {}),
        ("gmail_trash", {"restore": True}),
    ):
        assert desk.error(tool, message_ids=[mail], **arguments)[0] == "permission_denied"

    assert repr((gmail.mails, gmail.labels)) == before
    assert len(desk.asked) == 5


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("gmail_label_add", {"labels": ["INBOX"]}, "Give message_ids or thread_ids"),
            ("gmail_label_remove", {"labels": ["INBOX"]}, "Give message_ids or thread_ids"),
            ("gmail_archive", {"message_ids": []}, "Give message_ids or thread_ids"),
            ("gmail_trash", {}, "Give message_ids or thread_ids"),
            ("gmail_trash", {"thread_ids": [" "]}, "An id must not be empty"),
            ("gmail_label_add", {"message_ids": ["1"], "labels": ["TRASH"]}, "gmail_trash moves mail to Trash"),
            ("gmail_label_add", {"message_ids": ["1"], "labels": ["sent"]}, "Gmail itself marks what was sent"),
            ("gmail_label_remove", {"message_ids": ["1"], "labels": ["DRAFT"]}, "gmail_draft_create"),
            ("gmail_label_add", {"message_ids": ["1"], "labels": [" "], "create_missing": True}, "must not be empty"),
            ("gmail_label_remove", {"message_ids": ["1"], "labels": ["Nope"]}, "There is no label 'Nope'."),
        ],
        5,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    error_type, said = desk.error(tool, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert set(google.called("gmail.")) <= {"gmail.users.labels.list"}
