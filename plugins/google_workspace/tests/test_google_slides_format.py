"""Formatting what is on slides, and charts of spreadsheets."""

import pytest
from google_slides_pages import Element, Text
from how_long import some

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def slides(google):
    return google.services["slides"]


@pytest.fixture
def deck(slides):
    table = Element("table-1", kind="table", cells=[[Text("What"), Text("Price")], [Text("Tea"), Text("")]])
    group = Element("group-1", kind="group", children=[Element("inner-1", text=Text("in"))])
    image = Element("image-1", kind="image", properties={"size": {}, "transform": {"scaleX": 1, "scaleY": 1}})
    return slides.add("Talk", {"title": "Goals", "body": "tea", "elements": [table, group, image]})


@pytest.fixture
def style(deck, desk):
    return lambda object_id, **look: desk("slides_format", presentation_id=deck, object_id=object_id, **look)


def test_a_text_is_formatted_as_a_whole(slides, deck, desk, style):
    title = slides.slide(deck, 0).elements[0]

    answer = style(
        title.id, bold=True, font_size=30, text_color="#ff0000", alignment="CENTER", link_url="https://x.org"
    )
    style(title.id, bold=False, link_url="")

    title = slides.element(deck, title.id)
    assert title.text.style == {
        "bold": False,
        "fontSize": {"magnitude": 30, "unit": "PT"},
        "foregroundColor": {"opaqueColor": {"rgbColor": {"red": 1.0, "green": 0.0, "blue": 0.0}}},
    }
    assert title.text.alignment == "CENTER"
    assert answer["applied"] == ["bold", "font_size", "text_color", "alignment", "link_url"]
    assert desk.asked[1][1] == (
        f'format the text box "Goals" on slide 1 ("Goals") of the presentation "Talk": no bold, no link_url{AS_ANA}'
    )


def test_an_element_is_moved_and_resized_and_the_rest_stays(slides, deck, desk, style):
    title = slides.slide(deck, 0).elements[0]

    style(title.id, x=20, width=300)

    (row, *_) = desk("slides_read", presentation_id=deck, include_elements=True)["slides"][0]["elements"]
    assert (row["x"], row["y"], row["w"]) == (20.0, 0.0, 300.0)


def test_shapes_cells_and_slides_are_coloured(slides, deck, style):
    slide = slides.slide(deck, 0)
    title = slide.elements[0].id

    style(title, fill_color="#ff0000")
    style("table-1", fill_color="#00ff00", row=1, column=0)
    style(slide.id, fill_color="#0000ff")

    assert "shapeBackgroundFill" in slides.element(deck, title).about["shapeProperties"]
    cells = slides.element(deck, "table-1").cells
    assert [[cell.fill is not None for cell in row] for row in cells] == [[False, False], [True, False]]
    color = slides.slide(deck, 0).background["solidFill"]["color"]["rgbColor"]
    assert color == {"red": 0.0, "green": 0.0, "blue": 1.0}


def test_all_filled_cells_of_a_table_are_formatted_or_one(slides, deck, desk, style):
    style("table-1", italic=True)
    style("table-1", bold=True, row=0, column=1)

    cells = slides.element(deck, "table-1").cells
    assert [[sorted(cell.style) for cell in row] for row in cells] == [
        [["italic"], ["bold", "italic"]],
        [["italic"], []],
    ]
    assert "cell 0, 1 of the table" in desk.asked[1][1]


@pytest.mark.parametrize(
    ("object_id", "look", "message"),
    some(
        [
            ("table-1", {}, "at least one format"),
            ("table-1", {"bold": True, "row": 1}, "needs row and column"),
            ("table-1", {"bold": True, "row": 9, "column": 0}, "no such cell"),
            ("table-1", {"bold": True, "row": 1, "column": 1}, "no text to format"),
            ("image-1", {"bold": True}, "no text and no fill"),
            ("image-1", {"width": 10}, "no width or height"),
            ("inner-1", {"x": 10}, "in a group"),
            ("inner-1", {"bold": True, "row": 0, "column": 0}, "not a table"),
            ("nothing", {"bold": True}, "no element of that object_id"),
            ("table-1", {"text_color": "red"}, "must be a colour"),
            ("table-1", {"link_url": "javascript:x"}, "must begin with https"),
        ],
        5,
    ),
)
def test_formats_that_cannot_be_are_refused(deck, desk, object_id, look, message):
    error = desk.error("slides_format", presentation_id=deck, object_id=object_id, **look)

    assert (message in error[1], desk.asked) == (True, []), error


def test_of_a_slide_only_the_background_is_coloured(slides, deck, desk):
    slide = slides.slide(deck, 0).id

    error = desk.error("slides_format", presentation_id=deck, object_id=slide, fill_color="#fff", bold=True)

    assert "only fill_color" in error[1]


def test_a_chart_of_a_spreadsheet_is_put_on_a_slide(google, slides, deck, desk):
    book = google.services["sheets"].add("Budget", Sales=[["What", "Price"], ["Milk", 2]])
    chart = desk("sheets_manage_structure", spreadsheet_id=book, action="add_chart", range="Sales!A1:B2")["chart_id"]
    slide = slides.slide(deck, 0).id
    place = {"presentation_id": deck, "slide_id": slide, "element": "chart"}

    made = desk("slides_add_element", **place, spreadsheet_id=book, chart_id=chart, alt_text="Prices")

    element = slides.element(deck, made["object_id"])
    assert element.about["source"] == {"spreadsheetId": book, "chartId": chart}
    assert "[chart: Prices]" in desk("slides_read", presentation_id=deck)["slides"][0]["text"]
    assert "linked to it" in desk.asked[1][1]
    assert "needs spreadsheet_id and chart_id" in desk.error("slides_add_element", **place, chart_id=chart)[1]
    assert "cannot be given" in desk.error("slides_add_element", **place, chart_id=chart, text="x")[1]
