"""The tools of the group ``google_slides`` that change something."""

import pytest
from google_desk import sign_in
from google_slides_pages import Element, Text
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.slides.new_slides import moved

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def slides(google):
    return google.services["slides"]


def ids(slides, deck):
    return [slide.id for slide in slides.presentations[deck].slides]


def test_a_presentation_is_made_with_its_slides_and_notes(google, slides, desk):
    made = desk(
        "slides_create",
        title="Plan 😀",
        subtitle="for spring",
        slides=[
            {"title": "Goals", "body": "one\n\ttwo", "bullets": True, "notes": "smile"},
            {"layout": "BIG_NUMBER", "title": "42", "body": "why"},
            {"layout": "BLANK"},
        ],
    )

    deck = made["presentation_id"]
    assert slides.texts(deck) == [["Plan 😀", "for spring"], ["Goals", "one\ntwo"], ["42", "why"], []]
    assert slides.slide(deck, 1).elements[1].text.levels == [0, 1]
    assert slides.slide(deck, 1).notes.text.value == "smile"
    assert [slide.layout for slide in slides.presentations[deck].slides] == [
        "TITLE",
        "TITLE_AND_BODY",
        "BIG_NUMBER",
        "BLANK",
    ]
    assert made["slides"] == [
        {"slide_id": slide_id, "index": index, **({"title": title} if title else {})}
        for index, (slide_id, title) in enumerate(zip(ids(slides, deck), ["Plan 😀", "Goals", "42", ""], strict=True))
    ]
    assert made["link"] == f"https://docs.google.com/presentation/d/{deck}/edit"
    said = '"Goals | one two | smile; 42 | why"'
    question = f'create the presentation "Plan 😀" with 4 slides, subtitle "for spring": {said}{AS_ANA}'
    assert desk.asked == [("google.slides.write", question)]
    assert google.called("slides.") == [
        "slides.presentations.create",
        "slides.presentations.batchUpdate",
        "slides.presentations.get",
        "slides.presentations.batchUpdate",
    ]


def test_a_presentation_goes_into_a_folder(google, slides, desk):
    drive = google.services["drive"]
    folder = drive.add_folder("Work")

    made = desk("slides_create", title="Plan", folder_id=folder)

    assert drive.parent(made["presentation_id"]) == made["folder_id"] == folder
    assert desk.asked[0][1] == f'create the presentation "Plan" in the folder "Work"{AS_ANA}'
    google.fail("drive.files.update", status=403, reason="forbidden")
    made = desk("slides_create", title="Other", folder_id=folder)
    assert (made["failed"][0]["what"], "folder_id" in made) == ("moving it into the folder", False)


def test_a_presentation_without_its_slides_is_told(google, slides, desk):
    google.fail("slides.presentations.batchUpdate", status=400, reason="invalid")

    error_type, message = desk.error("slides_create", title="Plan")

    (deck,) = slides.presentations
    assert error_type == "validation_error"
    assert message.startswith(f"The presentation {deck} was created, but its slides could not be filled.")


def test_a_creation_whose_outcome_no_one_knows_is_not_repeated(google, slides, desk):
    google.fail("slides.presentations.create", status=0, is_after=True)

    error_type, message = desk.error("slides_create", title="Plan")

    assert (error_type, len(slides.presentations), "drive_search_files" in message) == ("unknown_outcome", 1, True)


@pytest.mark.long
def test_a_slide_is_added_where_it_is_wanted(slides, desk):
    deck = slides.add("Deck", {"title": "A"}, {"title": "B"})

    made = desk("slides_add_slide", presentation_id=deck, title="x", body="x", bullets=True, notes="note", index=1)

    slide = slides.slide(deck, 1)
    assert (slide.id, made["index"], made["notes_set"]) == (made["slide_id"], 1, True)
    assert [element.text.value for element in slide.elements] == ["x", "x"]
    assert [element.text.levels for element in slide.elements] == [[None], [0]]
    assert made["placeholders"] == [
        {"object_id": element.id, "type": kind} for element, kind in zip(slide.elements, ("TITLE", "BODY"), strict=True)
    ]
    assert made["link"].endswith(f"#slide=id.{slide.id}")
    assert desk.asked == [
        ("google.slides.write", f'add a slide "x" to the presentation "Deck", body "x", notes "note"{AS_ANA}')
    ]
    last = desk("slides_add_slide", presentation_id=deck, layout="TITLE_AND_TWO_COLUMNS", body="left")
    assert (last["index"], last["notes_set"]) == (3, False)
    assert [each["type"] for each in last["placeholders"]] == ["TITLE", "BODY", "BODY"]
    desk("slides_update_text", presentation_id=deck, object_id=last["placeholders"][2]["object_id"], text="right")
    assert slides.texts(deck)[3] == ["left", "right"]


def test_texts_without_a_placeholder_go_into_boxes(slides, desk):
    deck = slides.add("Deck", {"title": "A"})
    slides.presentations[deck].layouts = ["TITLE_ONLY", "BLANK"]

    lacking = desk("slides_add_slide", presentation_id=deck, layout="MAIN_POINT", title="T", body="B")
    partly = desk("slides_add_slide", presentation_id=deck, layout_id="layout-TITLE_ONLY", title="T", body="B")

    assert slides.texts(deck)[1:] == [["T", "B"], ["T", "B"]]
    assert ("note" in lacking, "note" in partly) == (True, False)
    box = slides.slide(deck, 2).elements[1]
    assert (box.shape_type, box.properties["transform"]["translateX"]) == ("TEXT_BOX", 36)
    assert desk.error("slides_add_slide", presentation_id=deck, layout_id="nope")[0] == "not_found"
    assert "at most 3" in desk.error("slides_add_slide", presentation_id=deck, index=4)[1]


def test_a_slide_is_not_added_twice(google, slides, desk):
    deck = slides.add("Deck")
    google.fail("slides.presentations.batchUpdate", status=503, is_after=True)

    made = desk("slides_add_slide", presentation_id=deck, title="T")

    assert ids(slides, deck) == [made["slide_id"]]
    google.fail("slides.presentations.batchUpdate", status=503)
    desk("slides_add_slide", presentation_id=deck, title="T", index=0)
    assert ids(slides, deck)[1:] == [made["slide_id"]]
    google.fail("slides.presentations.batchUpdate", status=503, times=9)
    error_type, message = desk.error("slides_add_slide", presentation_id=deck, title="T")
    assert (error_type, "nothing was changed" in message) == ("service_unavailable", True)
    assert len(ids(slides, deck)) == 2


def test_when_no_one_can_find_out_the_outcome_stays_unknown(google, slides, desk):
    deck = slides.add("Deck")
    original = type(slides).get

    def broken(call):
        if google.called("slides.presentations.batchUpdate"):
            slides.presentations.clear()
        return original(slides, call)

    google._handlers["slides.presentations.get"] = broken
    google.fail("slides.presentations.batchUpdate", status=503, times=9)

    assert desk.error("slides_add_slide", presentation_id=deck, title="T")[0] == "unknown_outcome"


@pytest.mark.long
def test_a_slide_without_its_notes_is_told(google, slides, desk):
    deck = slides.add("Deck")
    original = type(slides).batch_update

    def broken(call):
        if "insertText" in call.body["requests"][0]:
            slides.touch(deck)
        return original(slides, call)

    google._handlers["slides.presentations.batchUpdate"] = broken
    made = desk("slides_add_slide", presentation_id=deck, notes="note")

    assert (made["notes_set"], made["failed"][0]["what"]) == (False, "speaker notes")
    assert ids(slides, deck) == [made["slide_id"]]


def test_texts_are_replaced_throughout_or_on_some_slides(slides, desk):
    table = Element("table", "table", cells=[[Text("tea 7")]])
    deck = slides.add("Deck", {"title": "Tea", "elements": [table]}, {"title": "Tea"})
    pairs = [{"find": "tea", "replace": "milk", "match_case": False}, {"find": r"\d", "replace": "#", "regex": True}]

    answer = desk("slides_update_text", presentation_id=deck, replacements=pairs)

    assert slides.texts(deck) == [["milk", "milk #"], ["milk"]]
    assert answer["replaced"] == [{"find": "tea", "count": 3}, {"find": r"\d", "count": 1}]
    second = slides.slide(deck, 1).id
    pair = [{"find": "milk", "replace": "rum"}]
    desk("slides_update_text", presentation_id=deck, replacements=pair, slide_ids=[second])
    assert slides.texts(deck) == [["milk", "milk #"], ["rum"]]
    assert [detail for _, detail in desk.asked] == [
        f'replace "tea" by "milk", the regular expression "\\d" by "#" throughout the presentation "Deck"{AS_ANA}',
        f'replace "milk" by "rum" on 1 slide of the presentation "Deck"{AS_ANA}',
    ]
    assert desk.error("slides_update_text", presentation_id=deck, replacements=pair, slide_ids=["x"])[0] == "not_found"


@pytest.mark.long
def test_the_text_of_a_shape_is_set_and_appended_to(google, slides, desk):
    deck = slides.add("Deck", {"title": "Old 😀"})
    title, body = (element.id for element in slides.slide(deck, 0).elements)

    desk("slides_update_text", presentation_id=deck, object_id=title, text=" more", mode="append")
    assert slides.texts(deck) == [["Old 😀 more"]]
    desk("slides_update_text", presentation_id=deck, object_id=title, text="New")
    desk("slides_update_text", presentation_id=deck, object_id=body, text="one\n\ttwo", bullets=True)
    assert slides.texts(deck) == [["New", "one\ntwo"]]
    answer = desk("slides_update_text", presentation_id=deck, object_id=body, text="")
    assert slides.texts(deck) == [["New"]]
    assert answer["revision_id"] == slides.presentations[deck].revision
    assert [detail for _, detail in desk.asked][:2] == [
        f'append "more" to "Old 😀" in a shape of the presentation "Deck"{AS_ANA}',
        f'replace "Old 😀 more" by "New" in a shape of the presentation "Deck"{AS_ANA}',
    ]


def test_only_what_is_appended_becomes_a_list(slides, desk):
    deck = slides.add("Deck", {"title": "T", "body": "plain"})
    body = slides.slide(deck, 0).elements[1]

    desk("slides_update_text", presentation_id=deck, object_id=body.id, text="\none\ntwo", mode="append", bullets=True)

    body = slides.slide(deck, 0).elements[1]
    assert (body.text.value, body.text.levels) == ("plain\none\ntwo", [None, 0, 0])


def test_cells_groups_and_notes_have_texts_too(slides, desk):
    table = Element("table", "table", cells=[[Text("a"), Text("")]])
    group = Element("group", "group", children=[Element("inner", text=Text("deep")), Element("image", "image")])
    deck = slides.add("Deck", {"title": "T", "elements": [table, group]}, {"title": "U", "notes": "old"})

    desk("slides_update_text", presentation_id=deck, object_id="table", row=0, column=1, text="b")
    desk("slides_update_text", presentation_id=deck, object_id="inner", text="deeper")
    for number in (0, 1):
        notes = slides.slide(deck, number).notes_id
        desk("slides_update_text", presentation_id=deck, object_id=notes, text=f"note {number}")

    assert slides.texts(deck) == [["T", "a", "b", "deeper"], ["U"]]
    assert [slides.slide(deck, number).notes.text.value for number in (0, 1)] == ["note 0", "note 1"]
    for arguments, expected in (
        ({"object_id": "table"}, "This is a table of 1 x 2 cells"),
        ({"object_id": "table", "row": 1, "column": 0}, "This is a table of 1 x 2 cells"),
        ({"object_id": "inner", "row": 0, "column": 0}, "This is a shape and no table"),
        ({"object_id": "image"}, "This element holds no text"),
        ({"object_id": "nope"}, "There is no element of that object_id"),
    ):
        assert expected in desk.error("slides_update_text", presentation_id=deck, text="x", **arguments)[1]


@pytest.mark.long
def test_a_change_of_a_text_is_not_made_twice_nor_over_others(google, slides, desk):
    deck = slides.add("Deck", {"title": "Old"})
    title = slides.slide(deck, 0).elements[0].id
    google.fail("slides.presentations.batchUpdate", status=503, is_after=True)

    arguments = {"presentation_id": deck, "object_id": title, "text": "!", "mode": "append"}
    assert desk.error("slides_update_text", **arguments)[0] == "unknown_outcome"
    assert slides.texts(deck) == [["Old!"]]
    google.fail("slides.presentations.batchUpdate", status=503, is_after=True)
    pair = [{"find": "Old", "replace": "Older"}]
    assert desk.error("slides_update_text", presentation_id=deck, replacements=pair)[0] == "unknown_outcome"
    assert slides.texts(deck) == [["Older!"]]
    original = type(slides).batch_update

    def changed_before(call):
        slides.touch(deck)
        return original(slides, call)

    google._handlers["slides.presentations.batchUpdate"] = changed_before
    assert desk.error("slides_update_text", **arguments)[0] == "conflict"
    assert slides.texts(deck) == [["Older!"]]


def test_shapes_images_and_tables_are_put_on_a_slide(slides, desk):
    deck = slides.add("Deck", {"title": "T"})
    where = {"presentation_id": deck, "slide_id": slides.slide(deck, 0).id}

    box = desk("slides_add_element", **where, element="text_box", text="Hi", font_size=20, text_color="#ff0000")
    shape = desk(
        "slides_add_element", **where, element="shape", shape_type="CLOUD", fill_color="#00ff00", x=1, height=9.5
    )
    image = desk("slides_add_element", **where, element="image", image_url="https://a.test/x.png", alt_text="A cat")
    table = desk("slides_add_element", **where, element="table", data=[["a", ""], ["b"]], bold=True)

    found = slides.element(deck, box["object_id"])
    red = {"opaqueColor": {"rgbColor": {"red": 1.0, "green": 0.0, "blue": 0.0}}}
    assert found.text.style == {"fontSize": {"magnitude": 20, "unit": "PT"}, "foregroundColor": red}
    found = slides.element(deck, shape["object_id"])
    assert (found.shape_type, found.properties["transform"]["translateX"]) == ("CLOUD", 1)
    assert found.about["shapeProperties"]["shapeBackgroundFill"]["solidFill"]["color"]["rgbColor"]["green"] == 1
    assert {"x": 1, "y": 100, "width": 400, "height": 9.5}.items() <= shape.items()
    assert slides.element(deck, image["object_id"]).about["description"] == "A cat"
    found = slides.element(deck, table["object_id"])
    assert [[cell.value for cell in row] for row in found.cells] == [["a", ""], ["b", ""]]
    assert (found.cells[1][0].style, table["rows"], table["columns"]) == ({"bold": True}, 2, 2)
    assert [detail for _, detail in desk.asked] == [
        f'put a text box with the text "Hi" on slide 1 ("T") of the presentation "Deck"{AS_ANA}',
        f'put a shape (cloud) on slide 1 ("T") of the presentation "Deck"{AS_ANA}',
        f'put the image https://a.test/x.png on slide 1 ("T") of the presentation "Deck", described as "A cat"{AS_ANA}',
        f'put a table of 2 x 2 cells: "a | ; b" on slide 1 ("T") of the presentation "Deck"{AS_ANA}',
    ]
    message = desk.error("slides_add_element", **where, element="image", image_url="https://private.test/x")[1]
    assert "publicly accessible" in message
    assert desk.error("slides_add_element", presentation_id=deck, slide_id="x", element="text_box")[0] == "not_found"


def test_slides_are_deleted_after_the_user_has_seen_which(slides, desk):
    group = Element("group", "group", children=[Element("inner", text=Text("deep")), Element("other")])
    deck = slides.add("Deck", {"title": "A", "elements": [group]}, {"title": "B"}, {})
    first, second, third = ids(slides, deck)
    title = slides.slide(deck, 0).elements[0].id

    answer = desk("slides_manage_slides", presentation_id=deck, action="delete", object_ids=["inner", "group", title])
    assert (answer["object_ids"], slides.texts(deck)) == (["group", title], [[], ["B"], []])
    answer = desk("slides_manage_slides", presentation_id=deck, action="delete", object_ids=[second, third, second])
    assert ids(slides, deck) == answer["order"] == [first]
    desk("slides_manage_slides", presentation_id=deck, action="delete", object_ids=[first])
    assert [detail for _, detail in desk.asked] == [
        f'delete 2 objects of the presentation "Deck" permanently: "group on slide 1", '
        f'"text_box on slide 1: A"{AS_ANA}',
        f'delete 2 slides of the presentation "Deck" permanently: "slide 2: B", "slide 3"{AS_ANA}',
        f'delete 1 slide of the presentation "Deck" permanently: "slide 1"; these are all of its slides{AS_ANA}',
    ]


def test_slides_and_elements_are_duplicated(google, slides, desk):
    deck = slides.add("Deck", {"title": "A"}, {"title": "B"})
    first, second = ids(slides, deck)
    title = slides.slide(deck, 0).elements[0].id

    answer = desk("slides_manage_slides", presentation_id=deck, action="duplicate", object_ids=[first, second, title])

    assert slides.texts(deck) == [["A", "A"], ["A"], ["B"], ["B"]]
    assert ids(slides, deck) == answer["order"]
    assert answer["new_ids"][second] == ids(slides, deck)[3]
    google.fail("slides.presentations.batchUpdate", status=503, is_after=True)
    error_type, _ = desk.error("slides_manage_slides", presentation_id=deck, action="duplicate", object_ids=[first])
    assert (error_type, len(ids(slides, deck))) == ("unknown_outcome", 5)


def test_slides_are_moved_hidden_and_shown(slides, desk):
    deck = slides.add("Deck", *({"title": title} for title in "ABCD"))
    a, b, c, d = ids(slides, deck)

    answer = desk("slides_manage_slides", presentation_id=deck, action="move", object_ids=[d, b], to_index=1)
    assert ids(slides, deck) == answer["order"] == [a, b, d, c]
    desk("slides_manage_slides", presentation_id=deck, action="skip", object_ids=[a, c])
    assert [slide.is_skipped for slide in slides.presentations[deck].slides] == [True, False, False, True]
    desk("slides_manage_slides", presentation_id=deck, action="unskip", object_ids=[a])
    assert not slides.slide(deck, 0).is_skipped
    assert desk.asked[0][1] == (
        f'move 2 slides of the presentation "Deck" before slide 2: "slide 2: B", "slide 4: D"{AS_ANA}'
    )
    assert desk.asked[1][1] == f'hide 2 slides of the presentation "Deck": "slide 1: A", "slide 4: C"{AS_ANA}'
    title = slides.slide(deck, 0).elements[0].id
    for arguments, expected in (
        ({"action": "move", "object_ids": [a]}, "to_index goes with action move"),
        ({"action": "skip", "object_ids": [a], "to_index": 1}, "to_index goes with action move"),
        ({"action": "move", "object_ids": [a], "to_index": 5}, "to_index must be at most 4"),
        ({"action": "skip", "object_ids": [title]}, "only slides can be moved, hidden and shown"),
        ({"action": "delete", "object_ids": ["nope"]}, "nothing of the id 'nope'"),
    ):
        assert expected in desk.error("slides_manage_slides", presentation_id=deck, **arguments)[1]


@given(st.permutations("abcde"), st.sets(st.sampled_from("abcde"), min_size=1), st.integers(0, 5))
def test_the_new_order_is_the_one_that_google_makes(order, chosen, to_index):
    wanted = [each for each in order if each in chosen]
    marked = [*order[:to_index], "|", *order[to_index:]]
    expected = "".join(each for each in marked if each not in chosen).replace("|", "".join(wanted))

    assert "".join(moved(order, wanted, to_index)) == expected


def test_whoever_says_no_keeps_everything_as_it_is(google, slides, desk):
    deck = slides.add("Deck", {"title": "A"})
    slide, title = slides.slide(deck, 0).id, slides.slide(deck, 0).elements[0].id
    desk.answer = PermissionAnswer.NO

    for tool, arguments in (
        ("slides_create", {"title": "X"}),
        ("slides_add_slide", {"presentation_id": deck}),
        ("slides_update_text", {"presentation_id": deck, "replacements": [{"find": "A", "replace": "B"}]}),
        ("slides_update_text", {"presentation_id": deck, "object_id": title, "text": "B"}),
        ("slides_add_element", {"presentation_id": deck, "slide_id": slide, "element": "text_box"}),
        ("slides_manage_slides", {"presentation_id": deck, "action": "delete", "object_ids": [slide]}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert (list(slides.presentations), slides.texts(deck)) == ([deck], [["A"]])
    assert len(desk.asked) == 6
    assert set(google.called("slides.")) == {"slides.presentations.get"}


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("slides_create", {"title": " "}, "A presentation needs a title"),
            ("slides_update_text", {}, "Give either replacements, or object_id and text"),
            (
                "slides_update_text",
                {"replacements": [{"find": "a", "replace": "b"}], "text": "x"},
                "Give either replacements",
            ),
            ("slides_update_text", {"replacements": [{"find": "", "replace": "b"}]}, "find must not be empty"),
            ("slides_update_text", {"object_id": "x"}, "Give object_id and text"),
            ("slides_update_text", {"object_id": "x", "text": "y", "row": 1}, "row and column"),
            (
                "slides_update_text",
                {"object_id": "x", "text": "y", "slide_ids": ["z"]},
                "slide_ids go with replacements",
            ),
            ("slides_update_text", {"object_id": "x", "text": "", "mode": "append"}, "Give the text"),
            ("slides_add_element", {"element": "image"}, "Give image_url"),
            ("slides_add_element", {"element": "table"}, "A table needs data"),
            ("slides_add_element", {"element": "table", "data": [["x"] * 26] * 20}, "500 cells at most"),
            ("slides_add_element", {"element": "image", "text": "x"}, "text cannot be given for element image"),
            ("slides_add_element", {"element": "table", "fill_color": "#000000"}, "fill_color cannot be given"),
            ("slides_add_element", {"element": "shape", "bold": True}, "bold and text_color need a text"),
            ("slides_add_element", {"element": "shape", "fill_color": "red"}, "fill_color must be a colour"),
        ],
        5,
    ),
)
def test_what_cannot_be_is_refused_with_what_to_do(google, desk, tool, arguments, message):
    given = {} if tool == "slides_create" else {"presentation_id": "some-id"}
    if tool == "slides_add_element":
        given["slide_id"] = "slide"
    error_type, said = desk.error(tool, **given, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


@pytest.mark.long
def test_a_folder_of_others_needs_a_broader_consent(google, empty_home, tmp_path, slides):
    from google_desk import Desk

    sign_in(google, empty_home, services=("slides",))
    (tmp_path / "project").mkdir()
    desk = Desk(empty_home, tmp_path / "project")

    assert desk("slides_create", title="Plan")["title"] == "Plan"
    error_type, message = desk.error("slides_create", title="Plan", folder_id="folder-of-others")
    assert (error_type, "--services drive" in message) == ("not_available", True)
    assert len(slides.presentations) == 1
