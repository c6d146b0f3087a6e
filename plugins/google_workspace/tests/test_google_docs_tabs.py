"""Tabs of documents, and headers and footers."""

import pytest
from google_service import bad_request
from how_long import some

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def docs(google):
    return google.services["docs"]


@pytest.fixture
def document(docs):
    return docs.add("Plan", "Body")


@pytest.fixture
def manage(document, desk):
    return lambda action, **arguments: desk("docs_manage_tab", document_id=document, action=action, **arguments)


@pytest.fixture
def frame(document, desk):
    return lambda part, text, **arguments: desk(
        "docs_set_header_footer", document_id=document, part=part, text=text, **arguments
    )


def test_a_tab_is_added_with_its_text_and_written_into(docs, document, desk, manage):
    made = manage("add", title="Costs", text="Tea 😀\n", index=0)
    below = manage("add", title="Details", parent_tab_id=made["tab_id"])
    desk("docs_insert_text", document_id=document, text="More", tab_id=made["tab_id"])

    answer = desk("docs_read", document_id=document, tab_id=made["tab_id"])
    assert docs.plain(document, made["tab_id"]) == "Tea 😀\nMore\n"
    assert docs.plain(document, "t.0") == "Body\n"
    assert answer["tabs"] == [
        {"tab_id": made["tab_id"], "title": "Costs"},
        {"tab_id": below["tab_id"], "title": "Details", "parent_tab_id": made["tab_id"]},
        {"tab_id": "t.0", "title": "Tab 1"},
    ]
    assert "Body" not in answer["text"]
    assert [detail for _, detail in desk.asked[:2]] == [
        f'add the tab "Costs" to the document "Plan" with the text "Tea 😀"{AS_ANA}',
        f'add the tab "Details" below "Costs" to the document "Plan"{AS_ANA}',
    ]


@pytest.mark.long
def test_every_writing_tool_writes_into_the_given_tab(docs, document, desk, manage):
    tab = manage("add", title="Costs", text="Milk and tea")["tab_id"]

    desk("docs_replace_text", document_id=document, replacements=[{"find": "tea", "replace": "rum"}], tab_ids=[tab])
    desk("docs_insert_element", document_id=document, element="table", data=[["a"]], tab_id=tab)
    desk("docs_format", document_id=document, match_text="Milk", bold=True, tab_id=tab)

    assert "Milk and rum" in docs.plain(document, tab)
    assert docs.documents[document].tabs[tab].units[1].style == {"bold": True}
    assert docs.plain(document, "t.0") == "Body\n"


def test_a_tab_is_renamed(docs, document, desk, manage):
    manage("rename", tab_id="t.0", title="Start")

    assert docs.documents[document].names == {"t.0": "Start"}
    assert desk.asked == [("google.docs.write", f'rename the tab "Tab 1" of the document "Plan" to "Start"{AS_ANA}')]


def test_a_tab_is_deleted_with_those_below_it(docs, document, desk, manage):
    tab = docs.add_tab(document, "Old", "long ago")
    docs.add_tab(document, "Older", parent=tab)

    manage("delete", tab_id=tab)

    assert list(docs.documents[document].tabs) == ["t.0"]
    assert desk.asked == [
        (
            "google.docs.delete",
            'delete the tab "Old" and 1 tab below it with all of the text, "long ago", from the document "Plan"'
            f"{AS_ANA}",
        )
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({"action": "add"}, "add needs title"),
            ({"action": "add", "title": " "}, "needs a title"),
            ({"action": "add", "title": "x", "tab_id": "t.0"}, "does not go with tab_id"),
            ({"action": "rename", "title": "x"}, "rename needs tab_id"),
            ({"action": "delete", "tab_id": "t.0"}, "cannot be without a tab"),
            ({"action": "rename", "tab_id": "t.9", "title": "x"}, "has no tab 't.9'"),
            ({"action": "add", "title": "x", "parent_tab_id": "t.9"}, "has no tab 't.9'"),
        ],
        3,
    ),
)
def test_tabs_that_cannot_be_are_refused_without_a_question(document, desk, arguments, message):
    error = desk.error("docs_manage_tab", document_id=document, **arguments)

    assert (message in error[1], desk.asked) == (True, []), error


def test_a_header_is_made_replaced_shown_and_removed(docs, document, desk, frame):
    frame("header", "Draft 😀", alignment="CENTER")
    (made,) = docs.documents[document].tabs["t.0"].frames["header"].values()
    assert made.plain == "Draft 😀\n"
    assert made.units[-1].paragraph["alignment"] == "CENTER"

    frame("header", "Final\nversion")
    assert made.plain == "Final\nversion\n"
    assert desk("docs_read", document_id=document)["tabs"][0]["header"] == "Final version"

    answer = frame("header", "")
    assert docs.documents[document].tabs["t.0"].frames["header"] == {}
    assert answer["removed_text"] == "Final\nversion"
    assert [detail for _, detail in desk.asked] == [
        f'write the header "Draft 😀", center-aligned of the document "Plan"{AS_ANA}',
        f'replace the header "Draft 😀" by "Final version" of the document "Plan"{AS_ANA}',
        f'remove the header "Final version" of the document "Plan"{AS_ANA}',
    ]
    assert docs.plain(document) == "Body\n"


@pytest.mark.long
def test_each_tab_has_a_footer_of_its_own(docs, document, desk, frame):
    tab = docs.add_tab(document, "Costs", "1 EUR")

    frame("footer", "All in EUR", tab_id=tab)

    assert docs.documents[document].tabs["t.0"].frames["footer"] == {}
    rows = desk("docs_read", document_id=document)["tabs"]
    assert [row.get("footer") for row in rows] == [None, "All in EUR"]


def test_a_footer_that_is_not_there_cannot_be_removed(document, desk):
    error = desk.error("docs_set_header_footer", document_id=document, part="footer", text="")

    assert error == ("not_found", 'There is no footer of the document "Plan".')
    wrong = desk.error("docs_set_header_footer", document_id=document, part="footer", text="", alignment="END")
    assert wrong == ("validation_error", "alignment goes with a text.")


def test_a_header_of_which_only_the_empty_frame_was_made_is_told(docs, document, desk, monkeypatch):
    def refuse(*_):
        raise bad_request("No text today.")

    monkeypatch.setattr(docs, "_insert_text", refuse)

    error = desk.error("docs_set_header_footer", document_id=document, part="header", text="Draft")

    assert error[1].startswith("An empty header was made, but its text could not be put in.")
