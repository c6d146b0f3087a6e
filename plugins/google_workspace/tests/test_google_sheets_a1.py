"""Ranges as people write them and as numbers, and what a spreadsheet makes of them."""

import pytest
from google_sheets_cells import letters, number_of
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.sheets.book import (
    MAX_COLUMNS,
    MAX_ROWS,
    Area,
    Book,
    NamedRange,
    Place,
    Reference,
    Tab,
    column_letters,
    column_number,
    format_reference,
    parse_reference,
)

ENDS = st.integers(0, 500)


@st.composite
def areas(draw):
    """Rectangles that A1 notation can write."""
    row, column = draw(st.integers(0, MAX_ROWS - 1)), draw(st.integers(0, MAX_COLUMNS - 1))
    end_row = draw(st.none() | st.integers(row + 1, MAX_ROWS))
    end_column = draw(st.none() | st.integers(column + 1, MAX_COLUMNS))
    return Area() if end_row is None and end_column is None else Area(row, end_row, column, end_column)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("B2", Reference(None, Area(1, 2, 1, 2))),
        ("$b$2:C3", Reference(None, Area(1, 3, 1, 3))),
        ("C3:B2", Reference(None, Area(1, 3, 1, 3))),
        ("Sales!A:C", Reference("Sales", Area(0, None, 0, 3))),
        ("Sales!2:5", Reference("Sales", Area(1, 5, 0, None))),
        ("Sales!A2:C", Reference("Sales", Area(1, None, 0, 3))),
        ("Sales!B2:5", Reference("Sales", Area(1, 5, 1, None))),
        ("My Tab!A1", Reference("My Tab", Area(0, 1, 0, 1))),
        ("'It''s! here'!A1", Reference("It's! here", Area(0, 1, 0, 1))),
        ("'Q1'", Reference("Q1", Area())),
        (" Prices ", Reference(name="Prices")),
        ("Jan", Reference(name="Jan")),
        ("2026", Reference(name="2026")),
        ("A10000001", Reference(name="A10000001")),
    ],
)
def test_what_people_write_is_read(text, reference):
    assert parse_reference(text) == reference


@pytest.mark.parametrize(
    "text", ["Sales!", "Sales!A", "Sales!5", "Sales!A:5", "Sales!A:C5", "Sales!A1:B2:C3", "'x'!A0"]
)
def test_what_is_no_range_is_refused(text):
    with pytest.raises(ValueError):
        parse_reference(text)


@pytest.mark.long
@given(st.text(min_size=1).filter(str.strip), areas())
def test_a_range_that_is_written_is_read_again(tab, area):
    assert parse_reference(format_reference(tab, area)) == Reference(tab, area)


@given(areas())
def test_a_range_without_its_tab_is_read_again(area):
    text = format_reference(None, area)

    assert parse_reference(text) == Reference(None, area) if text else area.is_everything


@given(st.text())
def test_no_text_brings_the_reader_down(text):
    try:
        reference = parse_reference(text)
    except ValueError:
        return
    assert reference.name is None or reference.area.is_everything


@given(st.integers(0, MAX_COLUMNS - 1))
def test_columns_have_their_letters(number):
    assert column_number(column_letters(number)) == number
    assert (column_letters(number), number_of(column_letters(number))) == (letters(number), number)


@given(areas(), st.integers(0, 2**31 - 1))
def test_googles_grid_range_is_written_and_read_again(area, sheet_id):
    grid_range = area.grid_range(sheet_id)

    assert grid_range["sheetId"] == sheet_id
    assert Area.of_grid_range(grid_range) == area
    assert ("endRowIndex" in grid_range) is (area.end_row is not None)
    assert Area.of_grid_range({key: value for key, value in grid_range.items() if value}) == area


@given(areas(), ENDS, ENDS)
def test_what_is_cut_to_a_tab_lies_in_it(area, rows, columns):
    inside = area.within(rows, columns)

    if inside is None:
        assert area.start_row >= rows or area.start_column >= columns
    else:
        assert inside.end_row <= rows
        assert inside.end_column <= columns
        assert inside.within(rows, columns) == inside


TABS = (Tab(0, "Sales", 0, 100, 10), Tab(7, "My Tab", 1, 20, 5), Tab(8, "Q1", 2, 9, 9), Tab(9, "Pie", 3, 0, 0))
NAMES = {"Prices": {"sheetId": 7, "startRowIndex": 1, "endColumnIndex": 2}, "All": {}}
BOOK = Book("id", "Budget", TABS, {name: NamedRange(f"id-{name}", name, each) for name, each in NAMES.items()})


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("A1:B2", "Sales!A1:B2"),
        ("sales!A:A", "Sales!A:A"),
        ("My Tab", "'My Tab'"),
        ("'Q1'", "'Q1'"),
        ("Q1!A1", "'Q1'!A1"),
        ("prices", "'My Tab'!A2:B"),
        ("All", "'Sales'"),
        ("Sales!2:5", "Sales!2:5"),
        ("Sales!C2:5", "Sales!C2:J5"),
    ],
)
def test_a_range_means_cells_of_a_tab(text, meaning):
    assert BOOK.place(text).text == meaning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Sale", "There is no tab or named range 'Sale'. Tabs: 'Sales', 'My Tab', 'Q1', 'Pie'; named ranges: Prices"),
        ("Sale!A1", "There is no tab 'Sale'"),
        ("Q1", "'Q1' can be a tab or cells. Write 'Q1' for the tab, Sales!Q1 for cells."),
        ("Pie!A1", "'Pie' holds a chart"),
        ("Sales!A:C5", "is not a range such as"),
    ],
)
def test_a_range_that_means_nothing_or_two_things_is_refused(text, message):
    with pytest.raises(GoogleError) as caught:
        BOOK.place(text)
    assert message in str(caught.value)


def test_a_named_range_beyond_the_end_of_its_tab_is_not_taken_for_the_whole_tab():
    place = Place(TABS[0], Area(start_row=500))

    with pytest.raises(GoogleError, match="begins outside the tab 'Sales'"):
        _ = place.text
    assert Place(TABS[0], Area(start_row=50)).text == "Sales!A51:J100"


def test_the_first_tab_that_people_see_is_meant_where_none_is_named():
    hidden = Tab(1, "Hidden", 0, 10, 10, is_hidden=True)

    assert Book("id", "x", (TABS[3], hidden, *TABS), {}).place("A1").text == "Sales!A1"
    assert Book("id", "x", (hidden,), {}).first_tab() == hidden
    with pytest.raises(GoogleError, match="no tab with cells"):
        Book("id", "x", (TABS[3],), {}).first_tab()
