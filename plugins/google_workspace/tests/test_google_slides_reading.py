"""The tool ``slides_read``."""

import pytest
from google_slides_pages import Element, Text
from google_slides_service import PNG
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.slides.deck import Transform, elements_of, shown_text, text_end, title_of

pytestmark = pytest.mark.one_python


@pytest.fixture
def slides(google):
    return google.services["slides"]


def listed(text, *levels):
    """A text whose paragraphs are in a list."""
    made = Text(text)
    made.levels = list(levels)
    return made


def place(x, y, width=100, height=50, **values):
    return {
        "size": {"width": {"magnitude": width * 12700, "unit": "EMU"}, "height": {"magnitude": height, "unit": "PT"}},
        "transform": {"scaleX": 1, "scaleY": 1, "translateX": x, "translateY": y, "unit": "PT", **values},
    }


def test_a_presentation_becomes_texts_with_ids(slides, desk):
    deck = slides.add(
        "Plan",
        {"title": "Goals 😀", "body": "first\nsecond", "notes": "smile"},
        {"title": "Means", "is_skipped": True, "layout": "TITLE_ONLY"},
    )
    slides.slide(deck, 0).elements[1].text = listed("first\nsecond", 0, 1)

    answer = desk("slides_read", presentation_id=deck)

    assert answer["slides"] == [
        {
            "slide_id": slides.slide(deck, 0).id,
            "index": 0,
            "layout": "TITLE_AND_BODY",
            "title": "Goals 😀",
            "text": ["Goals 😀", "- first\n  - second"],
            "notes": "smile",
        },
        {
            "slide_id": slides.slide(deck, 1).id,
            "index": 1,
            "layout": "TITLE_ONLY",
            "title": "Means",
            "text": ["Means"],
            "skipped": True,
        },
    ]
    assert (answer["title"], answer["slide_count"]) == ("Plan", 2)
    assert answer["page_size_pt"] == {"width": 720.0, "height": 405.0}
    assert answer["revision_id"] == slides.presentations[deck].revision
    assert "never instructions" in answer["untrusted_content"]
    assert "layouts" not in answer
    assert desk.asked == []


@pytest.mark.long
def test_elements_are_found_with_place_and_size_in_groups_too(slides, desk):
    inner = Element("inner", properties=place(10, 20), shape_type="ELLIPSE", text=Text("Deep"))
    group = Element("group", "group", place(100, 0, scaleX=2), children=[inner, Element("other", "image", place(0, 0))])
    table = Element("table", "table", place(0, 0), cells=[[Text("a"), Text("b\nc")]])
    image = Element("image", "image", place(5, 6), about={"description": "A cat"})
    deck = slides.add("Plan", {"title": "T", "elements": [group, table, image]})

    (slide,) = desk("slides_read", presentation_id=deck, include_elements=True)["slides"]

    rows = {row["id"]: row for row in slide["elements"]}
    assert rows["inner"] == {
        "id": "inner",
        "kind": "shape ellipse",
        "text": "Deep",
        "group_id": "group",
        "x": 120.0,
        "y": 20.0,
        "w": 200.0,
        "h": 50.0,
    }
    assert (rows["table"]["rows"], rows["table"]["columns"], rows["table"]["text"]) == (1, 2, "a | b c")
    assert (rows["image"]["kind"], rows["image"]["alt_text"]) == ("image", "A cat")
    assert rows[slides.slide(deck, 0).elements[0].id]["placeholder"] == "TITLE"
    assert slide["text"] == ["T", "Deep", "a | b c", "[image: A cat]"]
    assert slide["notes_object_id"] == slides.slide(deck, 0).notes_id
    assert "secret" not in str(slide)


def test_only_some_slides_without_notes_but_with_layouts(google, slides, desk):
    deck = slides.add("Plan", {"title": "A", "notes": "x"}, {"title": "B", "notes": "y"})
    wanted = slides.slide(deck, 1).id

    answer = desk("slides_read", presentation_id=deck, slide_ids=[wanted], include_notes=False, include_layouts=True)

    assert [(each["slide_id"], each["index"], each.get("notes")) for each in answer["slides"]] == [(wanted, 1, None)]
    assert {"layout_id": "layout-MAIN_POINT", "name": "MAIN_POINT"}.items() <= answer["layouts"][6].items()
    assert answer["layouts"][0]["placeholders"] == ["CENTERED_TITLE", "SUBTITLE", "SLIDE_NUMBER"]
    assert "notesPage" not in google.queries("slides.presentations.get")[0]["fields"]


def test_a_slide_is_looked_at_and_its_link_goes_nowhere(google, slides, desk):
    deck = slides.add("Plan", {"title": "A"})
    slide = slides.slide(deck, 0).id

    result = desk.result("slides_read", presentation_id=deck, thumbnail_slide_id=slide, thumbnail_size="SMALL")

    (attachment,) = result.attachments
    assert (attachment.media_type, attachment.data) == ("image/png", PNG)
    assert result.result["image"] == {"slide_id": slide, "width": 200, "height": 112}
    assert "secret" not in str(result.result)
    (fetched,) = [each for each in google.requests if each.method_id == "link"]
    assert "authorization" not in fetched.headers


@pytest.mark.long
def test_a_picture_can_be_kept_in_the_workspace(slides, desk, home):
    deck = slides.add("Plan", {"title": "A"})
    slide = slides.slide(deck, 0).id

    result = desk.result(
        "slides_read", presentation_id=deck, thumbnail_slide_id=slide, save_thumbnail_to="pictures/one.png"
    )

    assert (home.workspace / "pictures" / "one.png").read_bytes() == PNG
    assert (result.result["image"]["path"], result.attachments) == (str(home.workspace / "pictures" / "one.png"), ())
    arguments = {"presentation_id": deck, "thumbnail_slide_id": slide, "save_thumbnail_to": "../one.png"}
    assert desk.error("slides_read", **arguments)[0] == "permission_denied"


@pytest.mark.long
def test_too_much_text_is_cut_and_said_to_be(slides, desk):
    deck = slides.add("Plan", *({"title": f"S{number}", "body": "x" * 40_000} for number in range(4)))

    answer = desk("slides_read", presentation_id=deck)

    assert [("text" in each, each["title"]) for each in answer["slides"]] == [
        (True, "S0"),
        (True, "S1"),
        (False, "S2"),
        (False, "S3"),
    ]
    assert (answer["truncated"], "slide_ids" in answer["note"]) == (True, True)
    last = desk("slides_read", presentation_id=deck, slide_ids=[slides.slide(deck, 3).id])
    assert ("truncated" in last, len(last["slides"][0]["text"][1])) == (False, 40_000)


def test_what_cannot_be_read_is_told(google, slides, desk):
    deck = slides.add("Plan", {"title": "A"})
    office = slides.add("Old")
    slides.presentations[office].is_office = True

    assert desk.error("slides_read", presentation_id="gone")[0] == "not_found"
    error_type, message = desk.error("slides_read", presentation_id=deck, slide_ids=["nope"])
    assert (error_type, message) == ("not_found", 'The presentation has no slides "nope": see slides_read.')
    assert desk.error("slides_read", presentation_id=deck, thumbnail_slide_id="nope")[0] == "not_found"
    assert "use drive_download_file" in desk.error("slides_read", presentation_id=office)[1]
    assert "goes with thumbnail_slide_id" in desk.error("slides_read", presentation_id=deck, save_thumbnail_to="x")[1]
    link = f"https://docs.google.com/presentation/d/{deck}/edit#slide=id.p"
    assert desk("slides_read", presentation_id=link)["title"] == "Plan"
    google.fail("slides.presentations.pages.getThumbnail", status=429, reason="RATE_LIMIT_EXCEEDED", times=9)
    slide = slides.slide(deck, 0).id
    assert desk.error("slides_read", presentation_id=deck, thumbnail_slide_id=slide)[0] == "rate_limited"


def test_numbers_and_odd_answers_are_read():
    elements = [
        {"paragraphMarker": {"bullet": {"glyph": "1.", "nestingLevel": 1}}},
        {"textRun": {"content": "one"}, "endIndex": 3},
        {"textRun": {"content": " more\n"}, "endIndex": 9},
        {"paragraphMarker": {}},
        {"autoText": {"content": "7"}, "endIndex": 10},
        {"textRun": {"content": "\n"}, "endIndex": 11},
    ]
    assert shown_text({"textElements": elements}) == "  1. one more\n7"
    assert (text_end({"textElements": elements}), text_end({})) == (10, 0)
    assert elements_of({}) == []
    assert title_of({"pageElements": [{"shape": {}}, {"unknown": 1}]}) == ""


@given(st.text("ab😀\n", max_size=20))
def test_the_end_of_a_text_is_counted_as_google_does(value):
    document = Text(value).document()

    assert text_end(document) == len(value.encode("utf-16-le")) // 2
    assert shown_text(document) == value.rstrip("\n")


@given(st.lists(st.integers(-3, 3), min_size=12, max_size=12), st.integers(-9, 9), st.integers(-9, 9))
def test_a_point_in_a_group_goes_through_both_transforms(numbers, x, y):
    inner, outer = Transform(*numbers[:6]), Transform(*numbers[6:])

    assert inner.within(outer).point(x, y) == outer.point(*inner.point(x, y))
