"""How much of a range is shown, and how it goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.sheets.book import Area
from oneclaw_google_workspace.sheets.values import CELL_CHARACTERS, records, window

CELLS = st.text(max_size=30) | st.integers() | st.booleans()


def trimmed(rows):
    """Without what Google leaves out."""
    for row in rows:
        while row and row[-1] == "":
            row.pop()
    while rows and not rows[-1]:
        rows.pop()
    return rows


ROWS = st.lists(st.lists(CELLS, max_size=6), max_size=12).map(trimmed)


@pytest.mark.long
@given(ROWS, st.integers(1, 12), st.integers(1, 400), st.integers(0, 20), st.integers(0, 20))
def test_every_cell_is_shown_or_named_as_not_shown(values, max_rows, characters, row, column):
    wanted = Area(row, row + 40, column, column + 10)
    asked = Area(row, row + max_rows + 1, column, column + 10)
    values = trimmed(values[: max_rows + 1])

    shown = window(wanted, asked, values, max_rows, characters)

    def is_named(down, right):
        place = (row + down, column + right)
        return any(
            area.start_row <= place[0] < area.end_row and area.start_column <= place[1] < area.end_column
            for area in shown.rest
        )

    for down, cells in enumerate(values):
        for right, cell in enumerate(cells):
            is_shown = down < len(shown.rows) and right < len(shown.rows[down])
            assert is_shown is not is_named(down, right)
            assert not is_shown or shown.rows[down][right] == cell
    assert len(shown.rows) <= max_rows
    assert len({len(each) for each in shown.rows}) <= 1
    assert is_named(40 - 1, 0)  # what was not asked for
    assert not values or shown.rows
    assert shown.is_cut is any(
        is_named(down, right) for down, cells in enumerate(values) for right in range(len(cells))
    )


def test_all_of_a_small_range_leaves_nothing_to_ask_for():
    area = Area(0, 100, 0, 3)

    shown = window(area, area, [["a"], [], ["b", "c"]], 500, 1000)

    assert (shown.rows, shown.rest, shown.is_cut) == ([["a", ""], ["", ""], ["b", "c"]], (), False)
    assert shown.area == Area(0, 3, 0, 2)


def test_a_long_text_is_cut_unless_its_cell_is_asked_for_alone():
    text = "x" * 10_000
    area = Area(4, 5, 0, 2)

    shown = window(area, area, [["a", text]], 5, 20_000)
    alone = window(area.cell(0, 1), area.cell(0, 1), [[text]], 5, 100)

    assert shown.rows == [["a", "x" * CELL_CHARACTERS + "..."]]
    assert shown.cut_cells == (Area(4, 5, 1, 2),)
    assert (alone.rows, alone.cut_cells) == ([[text]], ())


def test_rows_become_records_whose_keys_are_all_different():
    rows = [["Name", "", "Name"], ["Ana", 3, ""], ["", "", ""], ["Bo", "", "B"]]

    assert records(rows, 1) == [{"Name": "Ana", "C": 3}, {}, {"Name": "Bo", "Name (D)": "B"}]
    assert records([], 0) == []


@given(st.lists(st.text(max_size=3), min_size=1, max_size=8), st.integers(0, 700))
def test_no_column_gets_lost_in_a_record(titles, first_column):
    values = [f"value {number}" for number in range(len(titles))]

    (record,) = records([titles, values], first_column)

    assert list(record.values()) == values
