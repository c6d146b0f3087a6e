"""Long texts in a whole turn: what a model is shown page by page is all of the text, whatever stands in it."""

import json

import pytest
from how_long import some
from oneclaw_google_workspace.drive import transfers
from pytest_oneclaw import HomeUnderTest

from oneclaw_core import ToolCall
from oneclaw_core.providers import ModelResponse

pytestmark = pytest.mark.one_python

# Line breaks, quotes and backslashes take more room in an answer than in the text.
SENTENCE = 'Item {}: "so" they \\ said, größer als zuvor 🙂\ttab. '
PARAGRAPHS = ["".join(SENTENCE.format(20 * number + place) for place in range(20)).strip() for number in range(70)]
LONG = "\n".join(PARAGRAPHS)
SHOWN = 30_000


@pytest.fixture
def reader(home, tmp_path):
    """Has a model read by a tool, in one turn, as long as what it is shown says how to go on."""
    (tmp_path / "project").mkdir()
    under_test = HomeUnderTest(home.path, tmp_path / "project", ["google_workspace"], allow=["network.private"])

    def read(group, tool, first, onward, most=SHOWN):
        """Give the answers, as the model is shown them; ``onward`` makes the next arguments of an answer."""
        model, shown = under_test.model, []
        settings = under_test.app.configuration.settings
        under_test.run(settings.set("tool_result_max_characters", str(most)))

        def go_on(request):
            text = request.messages[-1].content
            assert len(text) <= most
            shown.append(json.loads(text))
            following = onward(shown[-1])
            if following is None:
                return "That was all."
            model.then(go_on)
            arguments = json.dumps({**first, **following})
            return ModelResponse(tool_calls=(ToolCall(f"more_{len(shown)}", tool, arguments),))

        model.calls("load_tool_group", group_name=group).calls(tool, first).then(go_on)
        under_test.send("Read it")
        return shown

    yield read
    under_test.close()


def inner(text):
    """The text between the marks."""
    return text.split("\n", 2)[2].rpartition("\n")[0]


def by_offset(answer):
    return {"offset": answer["next_offset"]} if "next_offset" in answer else None


LENGTHS = [{}, {"max_chars": 500_000}, {"max_chars": 7_001}, {"include_comments": True}]


@pytest.mark.long
@pytest.mark.parametrize("arguments", some(LENGTHS, 2))
def test_a_document(google, reader, arguments):
    docs = google.services["docs"]
    document = docs.add("Plan", *PARAGRAPHS)
    comment = {"content": "Why? " * 50, "author": {"displayName": "Bo"}}
    docs.documents[document].comments += [
        {"commentId": f"c{number}", "status": "OPEN", "plainTextQuote": "Item", "headPost": comment}
        for number in range(150)
    ]

    answers = reader("google_docs", "docs_read", {"document_id": document, "format": "text", **arguments}, by_offset)

    assert "".join(inner(each["text"]) for each in answers) == LONG
    assert len(answers) > 2
    assert all(each["total_chars"] == len(LONG) for each in answers)


@pytest.mark.long
@pytest.mark.parametrize("most", [1_000, 1_700])
def test_a_user_who_has_models_shown_little(google, reader, most):
    text = LONG[:2_000]
    document = google.services["docs"].add("Plan", *text.split("\n"))
    file = google.services["drive"].add("plan.txt", text.encode(), mime_type="text/plain")

    first = {"document_id": document, "format": "text"}
    answers = reader("google_docs", "docs_read", first, by_offset, most)
    parts = reader("google_drive", "drive_download_file", {"file_id": file}, by_offset, most)

    assert "".join(inner(each["text"]) for each in answers) == text
    assert "".join(inner(each["text"]) for each in parts) == text


@pytest.mark.long
@pytest.mark.parametrize("is_google_file", [False, True])
def test_a_file(google, reader, is_google_file):
    drive = google.services["drive"]
    if is_google_file:
        file = drive.add_google_file("Long", "document", exports={"text/markdown": LONG.encode()})
    else:
        file = drive.add("long.txt", LONG.encode(), mime_type="text/plain")

    answers = reader("google_drive", "drive_download_file", {"file_id": file}, by_offset)

    assert "".join(inner(each["text"]) for each in answers) == LONG
    assert len(answers) > 2
    assert ["truncated" in each for each in answers] == [True] * (len(answers) - 1) + [False]


def test_what_is_too_far_from_the_beginning_of_a_file_is_left_to_saving_it(google, desk, monkeypatch):
    monkeypatch.setattr(transfers, "MAX_OFFSET", 1_500)
    file = google.services["drive"].add("long.txt", LONG.encode(), mime_type="text/plain")

    first = desk("drive_download_file", file_id=file, max_chars=1_000)
    second = desk("drive_download_file", file_id=file, max_chars=1_000, offset=first["next_offset"])

    assert inner(first["text"]) + inner(second["text"]) == LONG[:2_000]
    assert ("next_offset" in second, "save_path" in second["note"]) == (False, True)
    message = desk.error("drive_download_file", file_id=file, offset=len(LONG))[1]
    assert message == f"offset must be below {len(LONG):,}, the number of characters of the text."


@pytest.mark.long
def test_a_mail(google, reader):
    mail = google.services["gmail"].deliver("Bo <bo@example.com>", "Long", LONG)

    def onward(answer):
        (row,) = answer["messages"]
        return {"body_offset": row["next_body_offset"]} if "next_body_offset" in row else None

    first = {"message_ids": [mail], "max_body_chars": 200_000}
    answers = reader("google_gmail", "gmail_read", first, onward)

    assert "".join(inner(each["messages"][0]["body"]) for each in answers) == LONG
    assert len(answers) > 2


@pytest.mark.long
def test_the_mails_of_a_thread_share_what_is_shown(google, reader):
    """A short mail is whole; of each long one there is a part, and where it goes on."""
    gmail = google.services["gmail"]
    bodies = [LONG if number % 3 else "Just so." for number in range(10)]
    mails = [gmail.deliver("Bo <bo@example.com>", f"Mail {number}", body) for number, body in enumerate(bodies)]

    (answer,) = reader("google_gmail", "gmail_read", {"message_ids": mails}, lambda _: None)

    assert len(answer["messages"]) == len(mails)
    for row, body in zip(answer["messages"], bodies, strict=True):
        part = inner(row["body"])
        assert body.startswith(part)
        assert len(part) == (row["next_body_offset"] if body == LONG else len(body))
        assert len(part) > 1_000 or part == body


def test_a_mail_is_read_on_alone(google, desk):
    mail = google.services["gmail"].deliver("Bo <bo@example.com>", "Hello", "Hi")

    assert "the one message id" in desk.error("gmail_read", message_ids=[mail, "b"], body_offset=1)[1]
    assert "the one message id" in desk.error("gmail_read", thread_id="t", body_offset=1)[1]
    assert desk.error("gmail_read", message_ids=[mail], body_offset=2) == (
        "validation_error",
        "body_offset must be below 2, the number of characters of the body.",
    )


@pytest.mark.long
@pytest.mark.parametrize(("count", "length"), [(50, 1_000), (320, 30)], ids=["long slides", "many slides"])
def test_a_presentation(google, reader, count, length):
    """Of many slides not even the titles have room: there are the ids to go on by."""
    slides = google.services["slides"]
    texts = [LONG[number * 20 :][:length].strip() for number in range(count)]
    deck = slides.add("Plan", *({"title": f"The title of {n}", "body": text} for n, text in enumerate(texts)))

    def onward(answer):
        left = [row["slide_id"] for row in answer["slides"] if "text" not in row]
        return {"slide_ids": left} if left else None

    first = {"presentation_id": deck, "include_notes": False}
    answers = reader("google_slides", "slides_read", first, onward)

    read = [row for answer in answers for row in answer["slides"] if "text" in row]
    assert [row["index"] for row in read] == list(range(count))
    assert all(text in row["text"][1] for row, text in zip(read, texts, strict=True))
    assert len(answers) > 1


def test_a_slide_that_is_too_long_says_where_the_rest_is(google, reader):
    slides = google.services["slides"]
    deck = slides.add("Plan", {"title": "S0", "body": LONG}, {"title": "S1", "body": "short"})

    (answer,) = reader("google_slides", "slides_read", {"presentation_id": deck}, lambda _: None)

    assert [("text" in row, "cut" in row) for row in answer["slides"]] == [(True, True), (False, False)]
    assert len(answer["slides"][0]["text"][0]) > 20_000
    assert "drive_download_file" in answer["note"]


@pytest.mark.long
@pytest.mark.parametrize("as_records", [False, True])
def test_a_table(google, reader, as_records):
    """As records, a table is several times as long as its cells."""
    titles = [f'a rather "long" title {column}' for column in range(5)]
    cells = [[str(row * 5 + column) for column in range(5)] for row in range(900)]
    book = google.services["sheets"].add("Plan", Sheet1=[titles, *cells])

    def onward(answer):
        (shown,) = answer["ranges"]
        if "continue_with" not in shown:
            return None
        return {"ranges": shown["continue_with"]}

    first = {"spreadsheet_id": book, "ranges": ["Sheet1!A1:E901"], "as_records": as_records, "max_rows": 5_000}
    answers = reader("google_sheets", "sheets_read_values", first, (lambda _: None) if as_records else onward)

    shown = [row for answer in answers for row in answer["ranges"]]
    if as_records:
        (part,) = shown
        read = [[row[title] for title in titles] for row in part["rows"]]
        assert read == cells[: len(read)]
        assert part["continue_with"] == [f"Sheet1!A{len(read) + 2}:E901"]
        assert 100 < len(read) < 300
    else:
        assert [row for part in shown for row in part["rows"]] == [titles, *cells]
        assert len(answers) > 1
