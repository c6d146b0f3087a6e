"""Comments on documents, spreadsheets and presentations."""

import pytest
from google_desk import sign_in
from how_long import some

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
FILES = {
    "docs": ("docs_comment", "document_id", "document"),
    "sheets": ("sheets_comment", "spreadsheet_id", "spreadsheet"),
    "slides": ("slides_comment", "presentation_id", "presentation"),
}


@pytest.fixture
def drive(google):
    return google.services["drive"]


@pytest.fixture
def document(google, drive):
    document_id = google.services["docs"].add("Plan", "Bring tea and milk", "More tea")
    return drive.add_google_file("Plan", "document", document_id)


@pytest.fixture
def book(google):
    return google.services["sheets"].add("Budget", Sales=[["What", "Price"], ["Milk", 2]])


@pytest.fixture
def deck(google, drive):
    presentation_id = google.services["slides"].add("Talk", {"title": "Goals", "body": "tea"})
    return drive.add_google_file("Talk", "presentation", presentation_id)


@pytest.fixture(params=some(FILES, 2))
def commented(request, drive):
    """A file of each kind with a comment of Bo's and one of Ana's: how to call its tool, and both threads."""
    tool, name, kind = FILES[request.param]
    file = request.getfixturevalue({"docs": "document", "sheets": "book", "slides": "deck"}[request.param])
    bo = drive.comment(file, "Too\nmuch?", quote="milk")
    ana = drive.comment(file, "Mine", author="ana@example.com")
    drive.answer(bo, "I think so")
    return tool, {name: file}, f'the {kind} "{drive.name(file)}"', bo, ana


@pytest.mark.long
def test_a_passage_of_a_document_is_commented_on_where_it_stands(drive, document, desk):
    answer = desk("docs_comment", document_id=document, action="add", text="Green?", anchor_text="tea", occurrence=2)

    (thread,) = drive.threads[document]
    assert (thread.head.content, thread.quote, thread.place) == ("Green?", "tea", {"startIndex": 25, "endIndex": 28})
    assert answer["comment_id"] == thread.head.id
    assert desk.asked == [("google.docs.write", f'comment on "tea" in the document "Plan": "Green?"{AS_ANA}')]


def test_where_google_places_no_comments_the_passage_is_quoted(google, drive, document, desk):
    google.services["docs"].knows_comments = False

    answer = desk("docs_comment", document_id=document, action="add", text="Green?", anchor_text="tea")
    shown = desk("docs_read", document_id=document, include_comments=True)["comments"]

    assert "beside the document" in answer["note"]
    assert len(desk.asked) == 1
    assert shown == [{"id": answer["comment_id"], "quote": "tea", "author": "Ana", "text": "Green?"}]


def test_a_cell_is_commented_on(drive, book, desk):
    answer = desk("sheets_comment", spreadsheet_id=book, action="add", text="Sure?", cell="B2")
    shown = desk("sheets_get_info", spreadsheet_id=book, include=["comments"])["comments"]

    assert answer == {"action": "add", "comment_id": drive.threads[book][0].head.id, "cell": "Sales!B2"}
    assert desk.asked == [("google.sheets.write", f'comment on Sales!B2 in the spreadsheet "Budget": "Sure?"{AS_ANA}')]
    assert shown == [{"id": answer["comment_id"], "cell": "Sales!B2", "quote": "2", "author": "Ana", "text": "Sure?"}]


def test_slides_and_their_elements_are_commented_on(google, drive, deck, desk):
    slide = google.services["slides"].slide(deck, 0)
    title = slide.elements[0].id

    for object_id in (slide.id, title):
        desk("slides_comment", presentation_id=deck, action="add", text="Nice", object_id=object_id)
    shown = desk("slides_read", presentation_id=deck, include_comments=True)["comments"]

    assert [row["object_ids"] for row in shown] == [[slide.id], [title]]
    assert [row.get("quote") for row in shown] == [None, "Goals"]
    assert [detail for _, detail in desk.asked] == [
        f'comment on slide 1 ("Goals") of the presentation "Talk": "Nice"{AS_ANA}',
        f'comment on the text box on slide 1 ("Goals") of the presentation "Talk": "Nice"{AS_ANA}',
    ]


def test_a_whole_file_is_commented_on(drive, commented, desk):
    tool, file, named, *_ = commented

    answer = desk(tool, **file, action="add", text="See +bo@example.net")

    assert desk.asked[0][1] == f'comment on {named}: "See +bo@example.net", which mentions "bo@example.net"{AS_ANA}'
    assert drive.threads[next(iter(file.values()))][-1].head.id == answer["comment_id"]


def test_a_comment_is_answered_and_the_question_says_which(commented, desk):
    tool, file, named, bo, _ = commented

    answer = desk(tool, **file, action="reply", comment_id=bo.head.id, text="Yes")

    assert [each.content for each in bo.replies] == ["I think so", "Yes"]
    assert answer["reply_id"] == bo.replies[-1].id
    assert (answer["quote"], answer["comment"]) == ("milk", "Too\nmuch?")
    assert "untrusted_content" in answer
    assert desk.asked[0][1] == f'reply to the comment of "Bo" "Too much?" on "milk" in {named}: "Yes"{AS_ANA}'


@pytest.mark.long
def test_a_comment_is_resolved_once_and_opened_again(commented, desk):
    tool, file, named, bo, _ = commented
    wanted = {**file, "comment_id": bo.head.id}

    desk(tool, **wanted, action="resolve", text="Done")
    again = desk(tool, **wanted, action="resolve")
    was_resolved = bo.is_resolved
    desk(tool, **wanted, action="reopen")

    assert (was_resolved, again["unchanged"], bo.is_resolved) == (True, True, False)
    assert [detail for _, detail in desk.asked] == [
        f'resolve the comment of "Bo" "Too much?" on "milk" in {named}, saying "Done"{AS_ANA}',
        f'reopen the comment of "Bo" "Too much?" on "milk" in {named}{AS_ANA}',
    ]


@pytest.mark.long
def test_own_comments_and_replies_are_changed_and_deleted(drive, commented, desk):
    tool, file, named, bo, ana = commented
    reply = drive.answer(bo, "Hm", author="ana@example.com")

    desk(tool, **file, action="edit", comment_id=ana.head.id, text="Ours")
    desk(tool, **file, action="edit", comment_id=bo.head.id, reply_id=reply.id, text="Hmm")
    assert (ana.head.content, reply.content) == ("Ours", "Hmm")
    desk(tool, **file, action="delete", comment_id=ana.head.id)
    desk(tool, **file, action="delete", comment_id=bo.head.id, reply_id=reply.id)

    assert (ana.head.is_deleted, reply.is_deleted, bo.head.is_deleted) == (True, True, False)
    service = tool.partition("_")[0]
    assert [permission for permission, _ in desk.asked] == [f"google.{service}.{each}" for each in WRITE_THEN_DELETE]
    assert desk.asked[2][1] == f'delete your comment "Ours" in {named}{AS_ANA}'


WRITE_THEN_DELETE = ("write", "write", "delete", "delete")


def test_comments_of_others_stay(commented, desk):
    tool, file, _, bo, _ = commented

    assert desk.error(tool, **file, action="delete", comment_id=bo.head.id)[0] == "permission_denied"
    assert desk.error(tool, **file, action="edit", comment_id=bo.head.id, text="x")[0] == "permission_denied"
    assert desk.error(tool, **file, action="reply", comment_id="nothing", text="x")[0] == "not_found"
    gone = desk.error(tool, **file, action="delete", comment_id=bo.head.id, reply_id="nothing")
    assert gone == ("not_found", "The comment has no reply 'nothing'.")


def test_open_comments_are_listed_with_what_they_quote(commented, drive, desk):
    tool, file, _, bo, ana = commented
    service = tool.partition("_")[0]
    reading = {
        "docs": ("docs_read", {"include_comments": True}),
        "sheets": ("sheets_get_info", {"include": ["comments"]}),
        "slides": ("slides_read", {"include_comments": True}),
    }[service]
    ana.is_resolved = True

    answer = desk(reading[0], **file, **reading[1])

    reply = {"reply_id": bo.replies[0].id, "author": "Bo", "text": "I think so"}
    row = {"id": bo.head.id, "quote": "milk", "author": "Bo", "text": "Too\nmuch?", "replies": [reply]}
    assert answer["comments"] == [row]
    assert "untrusted_content" in answer


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"action": "add"}, "needs a text"),
            ({"action": "add", "text": "x", "comment_id": "c"}, "every action but add"),
            ({"action": "reply", "text": "x"}, "every action but add"),
            ({"action": "reply", "comment_id": "c"}, "needs a text"),
            ({"action": "reply", "comment_id": "c", "text": "x", "reply_id": "r"}, "edit and delete"),
            ({"action": "delete", "comment_id": "c", "text": "x"}, "without text"),
            ({"action": "add", "text": "ä" * 1025}, "2048 bytes"),
            ({"action": "add", "text": "x", "tab_id": "t.0"}, "goes with anchor_text"),
            ({"action": "resolve", "comment_id": "c", "anchor_text": "tea"}, "goes with action add"),
        ],
        5,
    ),
)
def test_what_does_not_go_together_is_refused_at_once(google, document, desk, arguments, message):
    error = desk.error("docs_comment", document_id=document, **arguments)

    assert (error[0], message in error[1]) == ("validation_error", True), error
    assert google.requests == []


def test_a_comment_that_google_did_not_confirm_is_not_written_twice(google, drive, document, desk):
    thread = drive.comment(document, "Why?")
    google.fail("drive.replies.create", 503, times=9)

    error = desk.error("docs_comment", document_id=document, action="reply", comment_id=thread.head.id, text="So")

    assert error[0] == "unknown_outcome"
    assert "docs_read and include_comments" in error[1]
    assert len([each for each in google.requests if each.method_id == "drive.replies.create"]) == 1


def test_without_access_to_drive_the_tool_says_what_adds_it(google, empty_home, document, tmp_path):
    from google_desk import Desk, give_database

    give_database(empty_home)
    sign_in(google, empty_home, services=("docs",))
    desk = Desk(empty_home, tmp_path)
    google.fail("drive.comments.get", 404, "notFound")

    error = desk.error("docs_comment", document_id=document, action="resolve", comment_id="c")

    assert error[0] == "not_available"
    assert error[1].endswith("oneclaw google login --account work --services drive")
