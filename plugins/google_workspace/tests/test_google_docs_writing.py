"""The tools of the group ``google_docs`` that change something."""

import pytest
from google_desk import sign_in
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.docs.writing import fill_requests
from oneclaw_google_workspace.editors import insertable, utf16_length

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
INLINE = "SUGGESTIONS_INLINE"


@pytest.fixture
def docs(google):
    return google.services["docs"]


def body(docs, document, tab="t.0"):
    return docs.documents[document].tabs[tab].document_tab(INLINE)["body"]["content"]


def styles(docs, document):
    """Named style and text of the paragraphs."""
    return [
        (
            each["paragraph"]["paragraphStyle"]["namedStyleType"],
            "".join(part["textRun"]["content"] for part in each["paragraph"]["elements"]).rstrip("\n"),
        )
        for each in body(docs, document)
        if "paragraph" in each
    ]


def runs(docs, document):
    """Text and style of the runs that have one."""
    return [
        (part["textRun"]["content"], part["textRun"]["textStyle"])
        for each in body(docs, document)
        if "paragraph" in each
        for part in each["paragraph"]["elements"]
        if "textRun" in part and part["textRun"]["textStyle"]
    ]


def test_an_empty_document_is_made(google, docs, desk):
    made = desk("docs_create", title="Plan")

    document = made["document_id"]
    assert docs.plain(document) == "\n"
    assert made["link"] == f"https://docs.google.com/document/d/{document}/edit"
    assert google.called("docs.") == ["docs.documents.create"]
    assert desk.asked == [("google.docs.write", f'create the document "Plan"{AS_ANA}')]


def test_a_document_is_made_with_text(google, docs, desk):
    made = desk("docs_create", title="Plan", content="Hi 😀\r\nthere\x00")

    assert docs.plain(made["document_id"]) == "Hi 😀\nthere\n"
    assert made["end_index"] == 12
    assert docs.units_end(made["document_id"]) == 12
    assert desk.asked[0][1] == f'create the document "Plan" with the text "Hi 😀 there"{AS_ANA}'


@pytest.mark.long
def test_half_a_character_breaks_nothing(docs, desk):
    made = desk("docs_create", title="a\ud83d", content="b\ud83dc")

    assert (made["title"], docs.plain(made["document_id"])) == ("a?", "bc\n")


def test_markdown_and_folders_are_left_to_drive(google, docs, desk):
    drive = google.services["drive"]
    folder = drive.add_folder("Work")

    made = desk("docs_create", title="Plan", content="# Goals\n- tea", content_format="markdown", folder_id=folder)

    document = made["document_id"]
    assert (drive.parent(document), made["folder_id"]) == (folder, folder)
    assert styles_of(desk, document) == "# Goals\n\n- tea"
    assert (
        desk.asked[0][1]
        == f'create the document "Plan" in the folder "Work" with the Markdown text "# Goals - tea"{AS_ANA}'
    )
    empty = desk("docs_create", title="Empty", folder_id=f"https://drive.google.com/drive/folders/{folder}")
    assert drive.parent(empty["document_id"]) == folder


def styles_of(desk, document):
    return desk("docs_read", document_id=document)["text"].split("\n", 2)[2].rpartition("\n")[0]


def test_a_document_without_its_text_is_told(google, docs, desk):
    google.fail("docs.documents.batchUpdate", status=400, reason="invalid")

    error_type, message = desk.error("docs_create", title="Plan", content="Hello")

    (document,) = docs.documents
    assert error_type == "validation_error"
    assert message.startswith(f"The document {document} was created, but its text could not be put in.")


def test_a_creation_whose_outcome_no_one_knows_is_not_repeated(google, docs, desk):
    google.fail("docs.documents.create", status=0, is_after=True)

    error_type, message = desk.error("docs_create", title="Plan")

    assert (error_type, len(docs.documents)) == ("unknown_outcome", 1)
    assert "drive_search_files" in message


@pytest.mark.parametrize(
    ("arguments", "text", "inserted_at"),
    some(
        [
            ({}, "a😀b\ncc!\n", None),
            ({"position": "start"}, "!a😀b\ncc\n", 1),
            ({"position": "index", "index": 4}, "a😀!b\ncc\n", 4),
            ({"position": "before_text", "anchor_text": "b"}, "a😀!b\ncc\n", 4),
            ({"position": "after_text", "anchor_text": "c"}, "a😀b\nc!c\n", 7),
            ({"position": "after_text", "anchor_text": "c", "occurrence": 2}, "a😀b\ncc!\n", 8),
        ],
        3,
    ),
)
def test_text_goes_where_it_is_wanted(docs, desk, arguments, text, inserted_at):
    document = docs.add("Plan", "a😀b", "cc")

    answer = desk("docs_insert_text", document_id=document, text="!", **arguments)

    assert docs.plain(document) == text
    assert (answer.get("inserted_at"), answer["length"], answer["suggested"]) == (inserted_at, 1, False)
    assert answer["revision_id"] == docs.documents[document].revision


def test_the_user_is_asked_what_goes_where(docs, desk):
    document = docs.add("Plan", "Hello")

    desk("docs_insert_text", document_id=document, text="x\ny", position="before_text", anchor_text="Hello")
    assert desk("docs_insert_text", document_id=document, text="😀", suggest=True)["length"] == 2

    assert [detail for _, detail in desk.asked] == [
        f'insert "x y" before "Hello" in the document "Plan"{AS_ANA}',
        f'suggest inserting "😀" at the end of the document "Plan"{AS_ANA}',
    ]


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("Goals\n", "start", [("HEADING_1", "Goals"), ("NORMAL_TEXT", "old")]),
        ("\nGoals 😀", "end", [("NORMAL_TEXT", "old"), ("HEADING_1", "Goals 😀")]),
        ("\n", "end", [("NORMAL_TEXT", "old"), ("HEADING_1", "")]),
    ],
)
def test_only_the_inserted_paragraphs_get_the_style(docs, desk, text, position, expected):
    document = docs.add("Plan", "old")

    desk("docs_insert_text", document_id=document, text=text, position=position, paragraph_style="HEADING_1")

    assert styles(docs, document) == expected


@pytest.mark.long
def test_text_can_go_into_a_table_and_into_another_tab(docs, desk):
    document = docs.add("Plan", "x", {"table": [["cell", "other"]]})
    tab = docs.add_tab(document, "Notes", "cell")

    desk("docs_insert_text", document_id=document, text="!", position="after_text", anchor_text="cell")
    desk("docs_insert_text", document_id=document, text="?", position="after_text", anchor_text="cell", tab_id=tab)
    desk("docs_insert_text", document_id=document, text="end", tab_id=tab)

    assert docs.plain(document) == "x\ncell!\nother\n\n"
    assert docs.plain(document, tab) == "cell?end\n"


@pytest.mark.long
def test_lines_of_one_paragraph_are_found_and_headings_before_their_contents(docs, desk):
    document = docs.add("Plan", {"contents": ["Goals"]}, "one\vtwo", {"text": "Goals", "style": "HEADING_1"})

    desk("docs_insert_text", document_id=document, text="!", position="after_text", anchor_text="one\ntwo")
    desk("docs_insert_text", document_id=document, text="!", position="after_text", anchor_text="Goals")

    assert docs.plain(document) == "Goals\none\vtwo!\nGoals!\n"


@pytest.mark.long
def test_a_suggestion_is_no_edit(docs, desk):
    document = docs.add("Plan", "Hello")

    answer = desk("docs_insert_text", document_id=document, text=" you", suggest=True)

    assert answer["suggested"]
    assert answer["suggestion_ids"]
    assert styles_of(desk, document) == "Hello {++you++}"
    docs.knows_suggestions = False
    error_type, message = desk.error("docs_insert_text", document_id=document, text="!", suggest=True)
    assert (error_type, "perhaps this cannot be made a suggestion" in message) == ("validation_error", True)
    assert docs.plain(document) == "Hello you\n"


def test_an_append_does_not_mind_others_and_is_not_repeated(google, docs, desk):
    document = docs.add("Plan", "Hello")
    google.fail("docs.documents.batchUpdate", status=500, is_after=True)

    error_type, message = desk.error("docs_insert_text", document_id=document, text="!")

    assert (error_type, docs.plain(document)) == ("unknown_outcome", "Hello!\n")
    assert "docs_read" in message
    assert "writeControl" not in google.bodies("docs.documents.batchUpdate")[0]


@pytest.mark.long
def test_an_edit_by_index_is_repeated_once_and_for_all(google, docs, desk):
    document = docs.add("Plan", "Hello")
    google.fail("docs.documents.batchUpdate", status=503)

    desk("docs_insert_text", document_id=document, text="!", position="after_text", anchor_text="Hello")
    assert docs.plain(document) == "Hello!\n"

    google.fail("docs.documents.batchUpdate", status=503, is_after=True)
    error_type, _ = desk.error("docs_insert_text", document_id=document, text="?", position="index", index=1)
    assert (error_type, docs.plain(document)) == ("unknown_outcome", "?Hello!\n")

    google.fail("docs.documents.batchUpdate", status=503, times=9)
    error_type, _ = desk.error("docs_insert_text", document_id=document, text="?", position="index", index=1)
    assert error_type == "unknown_outcome"


def test_what_changed_meanwhile_is_not_overwritten(docs, desk):
    document = docs.add("Plan", "Hello")
    original = type(docs).batch_update

    def changed_before(call):
        docs.touch(document)
        return original(docs, call)

    docs.server._handlers["docs.documents.batchUpdate"] = changed_before
    error_type, message = desk.error("docs_format", document_id=document, match_text="Hello", bold=True)

    assert (error_type, docs.plain(document)) == ("conflict", "Hello\n")
    assert message == "It was changed by somebody else meanwhile, so nothing was done. Read it again with docs_read."


def test_several_pairs_are_replaced_in_every_tab(google, docs, desk):
    document = docs.add("Plan", "Tea and tea 😀", {"table": [["tea"]]})
    tab = docs.add_tab(document, "Notes", "TEA 12")

    answer = desk(
        "docs_replace_text",
        document_id=document,
        replacements=[
            {"find": "tea", "replace": "milk", "match_case": False},
            {"find": r"\d+", "replace": "#", "regex": True},
            {"find": "absent", "replace": ""},
        ],
    )

    assert docs.plain(document) == "milk and milk 😀\nmilk\n\n"
    assert docs.plain(document, tab) == "milk #\n"
    assert answer["replaced"] == [
        {"find": "tea", "count": 4},
        {"find": r"\d+", "count": 1},
        {"find": "absent", "count": 0},
    ]
    assert desk.asked[0][1] == (
        f'replace "tea" by "milk", the regular expression "\\d+" by "#", "absent" by "" '
        f'throughout the document "Plan"{AS_ANA}'
    )
    desk("docs_replace_text", document_id=document, tab_ids=[tab], replacements=[{"find": "milk", "replace": "rum"}])
    assert (docs.plain(document)[:4], docs.plain(document, tab)) == ("milk", "rum #\n")


def test_a_range_is_replaced_or_deleted_after_the_user_has_seen_it(docs, desk):
    document = docs.add("Plan", "One 😀 two", "three")

    answer = desk("docs_replace_text", document_id=document, start_index=5, end_index=7, text="and")
    assert docs.plain(document) == "One and two\nthree\n"
    assert (answer["range"], answer["removed_text"]) == ({"start": 5, "end": 8}, "😀")
    desk("docs_replace_text", document_id=document, start_index=4, end_index=12, text="")
    assert docs.plain(document) == "One\nthree\n"
    assert [detail for _, detail in desk.asked] == [
        f'replace "😀" by "and" in the document "Plan"{AS_ANA}',
        f'delete "and two" in the document "Plan"{AS_ANA}',
    ]
    desk("docs_replace_text", document_id=document, start_index=1, end_index=4, text="Two", suggest=True)
    assert styles_of(desk, document) == "{++Two++}{--One--}\n\nthree"


@pytest.mark.long
def test_a_range_that_cannot_go_is_told_with_the_reason(docs, desk):
    document = docs.add("Plan", "a😀", {"table": [["x"]]}, "End")

    for start, end in ((2, 3), (4, 5), (5, 9), (8, 10)):
        message = desk.error("docs_replace_text", document_id=document, start_index=start, end_index=end, text="")[1]
        assert "may not take in the last newline" in message
    assert (
        "at most 14" in desk.error("docs_replace_text", document_id=document, start_index=11, end_index=15, text="")[1]
    )
    assert docs.plain(document) == "a😀\nx\nEnd\n"


def test_a_table_is_inserted_and_filled(docs, desk):
    document = docs.add("Plan", "Before 😀", "After")

    answer = desk(
        "docs_insert_element",
        document_id=document,
        element="table",
        position="after_text",
        anchor_text="Before 😀",
        data=[["Name", "Age 😀"], ["Ann"], ["", "7"]],
        bold_header=True,
    )

    assert styles_of(desk, document) == (
        "Before 😀\n\n| **Name** | **Age 😀** |\n| --- | --- |\n| Ann |  |\n|  | 7 |\n\nAfter"
    )
    assert (answer["at_index"], answer["rows"], answer["columns"]) == (11, 3, 2)
    table = next(each for each in body(docs, document) if "table" in each)
    assert table["startIndex"] == 11
    assert desk.asked[0][1].startswith(
        'insert a table of 3 x 2 cells: "Name | Age 😀; Ann | ; | 7" after "Before 😀" in the document "Plan"'
    )


@pytest.mark.long
def test_an_empty_table_goes_to_the_end(google, docs, desk):
    document = docs.add("Plan", "Text")

    answer = desk("docs_insert_element", document_id=document, element="table", rows=1, columns=2)

    assert (docs.plain(document), answer["at_index"]) == ("Text\n\n\n\n", 6)
    assert google.called("docs.") == ["docs.documents.get", "docs.documents.batchUpdate"]


def test_a_table_that_could_not_be_filled_is_told(google, docs, desk):
    document = docs.add("Plan", "Text")
    original = type(docs).get

    def broken(call):
        if len(google.called("docs.documents.get")) > 1:
            docs.documents[document].viewers.add("ana@example.com")
        return original(docs, call)

    google._handlers["docs.documents.get"] = broken
    error_type, message = desk.error("docs_insert_element", document_id=document, element="table", data=[["a"]])

    assert error_type == "permission_denied"
    assert message.startswith("The table was inserted at index 6, but its cells could not be filled.")


def test_images_and_page_breaks_are_inserted(docs, desk):
    document = docs.add("Plan", "Text", {"table": [["cell"]]})

    image = desk(
        "docs_insert_element",
        document_id=document,
        element="image",
        image_url="https://example.com/cat.png",
        width_pt=90,
        position="start",
    )
    broken = desk(
        "docs_insert_element", document_id=document, element="page_break", position="after_text", anchor_text="Te"
    )

    about = docs.documents[document].tabs["t.0"].images[image["object_id"]]["inlineObjectProperties"]["embeddedObject"]
    assert about["size"] == {"width": {"magnitude": 90, "unit": "PT"}}
    assert styles_of(desk, document).startswith(f"![](image:{image['object_id']})Te[page break]\n\nxt")
    assert (image["at_index"], broken["at_index"]) == (1, 4)
    assert desk.asked[0][1].startswith("insert the image https://example.com/cat.png at the start of")
    message = desk.error(
        "docs_insert_element", document_id=document, element="image", image_url="https://private.test/x"
    )[1]
    assert "publicly accessible" in message
    where = {"position": "after_text", "anchor_text": "cell"}
    message = desk.error("docs_insert_element", document_id=document, element="page_break", **where)[1]
    assert "cannot go into a table" in message


@pytest.mark.long
def test_text_is_formatted_where_it_is_found(docs, desk):
    document = docs.add("Plan", "😀 tea and tea", "tea")

    answer = desk("docs_format", document_id=document, match_text="tea", occurrence=2, bold=True, text_color="#ff0000")
    assert runs(docs, document) == [
        ("tea", {"bold": True, "foregroundColor": {"color": {"rgbColor": {"red": 1.0, "green": 0.0, "blue": 0.0}}}})
    ]
    assert answer["ranges"] == [{"start": 12, "end": 15, "text": "tea"}]
    assert answer["applied"] == ["bold", "text_color"]
    answer = desk("docs_format", document_id=document, match_text="tea", all_matches=True, italic=True)
    assert (answer["range_count"], len(runs(docs, document))) == (3, 3)
    assert [detail for _, detail in desk.asked] == [
        f'format "tea" in the document "Plan" (bold, text_color "#ff0000"){AS_ANA}',
        f'format 3 places in the document "Plan" (italic){AS_ANA}',
    ]


def test_every_format_is_sent_as_google_wants_it(google, docs, desk):
    document = docs.add("Plan", {"runs": [("tea", {"link": {"url": "https://a.test"}, "backgroundColor": {}})]})

    desk(
        "docs_format",
        document_id=document,
        start_index=1,
        end_index=4,
        underline=False,
        strikethrough=True,
        font_family="Lora",
        font_size=11.5,
        highlight_color="none",
        link_url="",
        paragraph_style="HEADING_2",
        alignment="CENTER",
        line_spacing=150,
    )

    assert runs(docs, document) == [
        (
            "tea",
            {
                "underline": False,
                "strikethrough": True,
                "weightedFontFamily": {"fontFamily": "Lora"},
                "fontSize": {"magnitude": 11.5, "unit": "PT"},
            },
        )
    ]
    (paragraph,) = [each["paragraph"] for each in body(docs, document) if "paragraph" in each]
    assert paragraph["paragraphStyle"]["namedStyleType"] == "HEADING_2"
    assert (paragraph["paragraphStyle"]["alignment"], paragraph["paragraphStyle"]["lineSpacing"]) == ("CENTER", 150)
    (sent,) = google.bodies("docs.documents.batchUpdate")
    assert sent["writeControl"]["requiredRevisionId"]


def test_paragraphs_are_indented_spaced_and_shaded(docs, desk):
    document = docs.add("Notes", "A quotation")

    answer = desk(
        "docs_format",
        document_id=document,
        match_text="A quotation",
        indent_start=36,
        indent_first_line=0,
        space_above=6,
        space_below=12.5,
        shading_color="#eeeeee",
    )

    assert answer["applied"] == ["indent_start", "indent_first_line", "space_above", "space_below", "shading_color"]
    assert 'indent_start "36"' in desk.asked[-1][1]
    (paragraph,) = [each["paragraph"] for each in body(docs, document) if "paragraph" in each]
    style = paragraph["paragraphStyle"]
    points = [style[name] for name in ("indentStart", "indentFirstLine", "spaceAbove", "spaceBelow")]
    assert points == [{"magnitude": each, "unit": "PT"} for each in (36, 0, 6, 12.5)]
    color = {"red": 0.9333, "green": 0.9333, "blue": 0.9333}
    assert style["shading"] == {"backgroundColor": {"color": {"rgbColor": color}}}

    desk("docs_format", document_id=document, match_text="A quotation", shading_color="none")
    (paragraph,) = [each["paragraph"] for each in body(docs, document) if "paragraph" in each]
    assert "shading" not in paragraph["paragraphStyle"]


@pytest.mark.long
def test_lists_are_made_from_the_back_and_taken_away(docs, desk):
    document = docs.add("Plan", "one", "\ttwo", "x", "one")

    desk("docs_format", document_id=document, match_text="one", all_matches=True, list="numbers")
    desk("docs_format", document_id=document, start_index=1, end_index=8, list="bullets")
    assert styles_of(desk, document) == "- one\n    - two\n\nx\n\n1. one"
    desk("docs_format", document_id=document, start_index=1, end_index=15, list="none")
    assert styles_of(desk, document) == "one\n\ntwo\n\nx\n\none"
    document = docs.add("Tabs", "\t\to", "x", "\t\to", "y")
    desk("docs_format", document_id=document, match_text="o", all_matches=True, list="bullets")
    assert styles_of(desk, document) == "        - o\n\nx\n\n        - o\n\ny"


def test_whoever_says_no_keeps_everything_as_it_is(google, docs, desk):
    document = docs.add("Plan", "Hello")
    desk.answer = PermissionAnswer.NO

    for tool, arguments in (
        ("docs_create", {"title": "X"}),
        ("docs_create", {"title": "X", "content": "# a", "content_format": "markdown"}),
        ("docs_insert_text", {"document_id": document, "text": "x"}),
        ("docs_replace_text", {"document_id": document, "replacements": [{"find": "H", "replace": "h"}]}),
        ("docs_replace_text", {"document_id": document, "start_index": 1, "end_index": 2, "text": ""}),
        ("docs_insert_element", {"document_id": document, "element": "page_break"}),
        ("docs_format", {"document_id": document, "match_text": "H", "bold": True}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert (list(docs.documents), docs.plain(document)) == ([document], "Hello\n")
    assert len(desk.asked) == 7
    assert set(google.called("docs.")) == {"docs.documents.get"}


PAIR = [{"find": "a", "replace": "b"}]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("docs_create", {"title": " "}, "A document needs a title"),
            ("docs_insert_text", {"text": "\x00"}, "Give the text to insert"),
            ("docs_insert_text", {"text": "x", "position": "index"}, "index goes with position index"),
            ("docs_insert_text", {"text": "x", "index": 3}, "index goes with position index"),
            ("docs_insert_text", {"text": "x", "position": "after_text"}, "anchor_text goes with position before_text"),
            ("docs_insert_text", {"text": "x", "anchor_text": "y"}, "anchor_text goes with position before_text"),
            ("docs_replace_text", {}, "Give either replacements, or start_index"),
            ("docs_replace_text", {"replacements": PAIR, "text": "x"}, "Give either replacements, or start_index"),
            ("docs_replace_text", {"start_index": 1, "end_index": 2}, "an empty text deletes it"),
            (
                "docs_replace_text",
                {"start_index": 2, "end_index": 2, "text": ""},
                "end_index must be above start_index",
            ),
            (
                "docs_replace_text",
                {"start_index": 1, "end_index": 2, "text": "", "tab_ids": ["a", "b"]},
                "A range lies in one tab",
            ),
            ("docs_replace_text", {"replacements": [{"find": "", "replace": "b"}]}, "find must not be empty"),
            ("docs_replace_text", {"replacements": [{"find": "a\nb", "replace": "b"}]}, "within one paragraph"),
            ("docs_insert_element", {"element": "table"}, "A table needs data, or rows and columns"),
            (
                "docs_insert_element",
                {"element": "table", "rows": 1, "data": [["a"], ["b"]]},
                "more than rows and columns",
            ),
            ("docs_insert_element", {"element": "table", "data": [["x"] * 21]}, "20 columns at most"),
            ("docs_insert_element", {"element": "image"}, "Give image_url"),
            ("docs_insert_element", {"element": "image", "image_url": "file:///etc/passwd"}, "Give image_url"),
            (
                "docs_insert_element",
                {"element": "image", "image_url": f"https://a.test/{'x' * 2048}"},
                "longer than the 2 kB",
            ),
            ("docs_insert_element", {"element": "page_break", "rows": 2}, "rows goes with element table"),
            (
                "docs_insert_element",
                {"element": "table", "image_url": "https://a.test"},
                "image_url goes with element image",
            ),
            ("docs_format", {"match_text": "x"}, "Give at least one format"),
            ("docs_format", {"bold": True}, "Give match_text, or start_index and end_index"),
            ("docs_format", {"match_text": "x", "start_index": 1, "bold": True}, "Give match_text, or start_index"),
            ("docs_format", {"start_index": 3, "end_index": 2, "bold": True}, "end_index must be above start_index"),
            ("docs_format", {"match_text": "x", "text_color": "red"}, "text_color must be a colour such as #1a73e8"),
            ("docs_format", {"match_text": "x", "link_url": "javascript:x"}, "link_url must begin with https://"),
        ],
        8,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    ids = {} if tool == "docs_create" else {"document_id": "some-id"}
    error_type, said = desk.error(tool, **ids, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


def test_what_is_not_there_is_told_before_the_user_is_asked(docs, desk):
    document = docs.add("Plan", "tea")

    for tool, arguments in (
        ("docs_insert_text", {"text": "x", "position": "after_text", "anchor_text": "**tea**"}),
        ("docs_insert_text", {"text": "x", "position": "after_text", "anchor_text": "tea", "occurrence": 2}),
        ("docs_format", {"match_text": "milk", "all_matches": True, "bold": True}),
    ):
        assert desk.error(tool, document_id=document, **arguments)[0] == "not_found"
    error_type, message = desk.error("docs_insert_text", document_id=document, text="x", position="index", index=9)
    assert (error_type, "at most 4" in message) == ("validation_error", True)
    error_type, message = desk.error("docs_insert_element", document_id=document, element="page_break", tab_id="t.9")
    assert (error_type, "t.0 (Tab 1)" in message) == ("not_found", True)
    assert desk.asked == []


def test_a_folder_of_others_needs_a_broader_consent(google, empty_home, tmp_path, docs):
    from google_desk import Desk

    sign_in(google, empty_home, services=("docs",))
    (tmp_path / "project").mkdir()
    desk = Desk(empty_home, tmp_path / "project")

    assert desk("docs_create", title="Plan")["title"] == "Plan"
    error_type, message = desk.error("docs_create", title="Plan", folder_id="folder-of-others")
    assert (error_type, "--services drive" in message) == ("not_available", True)


@given(st.lists(st.lists(st.text("a😀", max_size=3), min_size=2, max_size=2), min_size=1, max_size=4), st.booleans())
def test_every_cell_gets_its_own_text(table, bold_header):
    from google_docs_text import TabText

    tab = TabText()
    tab.insert_table(1, len(table), 2)
    cells = [index + 1 for index, unit in enumerate(tab.units) if unit.kind == "cell"]
    starts = [cells[number : number + 2] for number in range(0, len(cells), 2)]
    for request in fill_requests(starts, table, bold_header, None):
        if "insertText" in request:
            tab.insert_text(request["insertText"]["location"]["index"], request["insertText"]["text"])
        else:
            where = request["updateTextStyle"]["range"]
            tab.style_text(where["startIndex"], where["endIndex"], {"bold": True}, ["bold"])

    assert tab.plain.split("\n")[1:-2] == [cell for row in table for cell in row]
    bold = "".join(unit.value for unit in tab.units if unit.style.get("bold") and unit.kind == "text")
    assert bold == ("".join(table[0]) if bold_header else "")


@pytest.mark.long
@given(st.text())
def test_what_can_be_inserted_takes_as_many_indexes_as_it_is_long(text):
    from google_docs_text import Unit, units_of

    kept = insertable(text)
    assert len(units_of(kept, {}, Unit("newline"))) == utf16_length(kept)
    assert insertable(kept) == kept
