"""The tools of the group ``google_sheets`` that change tabs and formats, and stories over several tools."""

import pytest
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.sheets.book import Area, Place, Tab
from oneclaw_google_workspace.sheets.objects import Format, color_style, requests_for

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def sheets(google):
    return google.services["sheets"]


@pytest.fixture
def budget(sheets):
    rows = [["What", "Price"], ["Milk", 2], ["Tea", 7], ["Bread", 3]]
    return sheets.add("Budget", Sales=rows, Old=[["a", "b"]], Notes=[])


@pytest.fixture
def change(budget, desk):
    """Changes the structure of the spreadsheet."""

    def run(action, **arguments):
        return desk("sheets_manage_structure", spreadsheet_id=budget, action=action, **arguments)

    return run


def test_a_tab_is_added_where_it_is_wanted(sheets, budget, desk, change):
    answer = change("add_tab", title="New", index=1, rows=50, columns=4)

    sheet = sheets.books[budget].sheets[1]
    assert answer == {
        "action": "add_tab",
        "tab": {"sheet_id": sheet.id, "title": "New", "index": 1, "rows": 50, "columns": 4},
        "changed": "added the tab New",
    }
    assert sheets.titles(budget) == ["Sales", "New", "Old", "Notes"]
    assert desk.asked == [("google.sheets.write", f'add the tab "New" to the spreadsheet "Budget"{AS_ANA}')]


@pytest.mark.long
def test_a_tab_is_added_at_the_end_by_default_and_never_beyond_it(sheets, budget, change):
    change("add_tab", title="A")
    assert change("add_tab", title="B", index=99)["tab"]["index"] == 4
    assert sheets.titles(budget)[3:] == ["A", "B"]


def test_a_tab_is_renamed_by_its_title_or_its_id(sheets, budget, desk, change):
    assert change("rename_tab", tab="old", title="Older")["changed"] == "renamed from Old"
    change("rename_tab", tab="0", title="SALES")
    assert sheets.titles(budget) == ["SALES", "Older", "Notes"]
    assert desk.asked[0][1] == f'rename the tab "Old" to "Older" in the spreadsheet "Budget"{AS_ANA}'


def test_a_tab_is_duplicated_beside_itself(sheets, budget, change):
    answer = change("duplicate_tab", tab="Old")
    change("duplicate_tab", tab="Old", title="Template", index=0)

    assert sheets.titles(budget) == ["Template", "Sales", "Old", "Copy of Old", "Notes"]
    assert answer["tab"]["title"] == "Copy of Old"
    assert sheets.shown(budget, "Template") == [["a", "b"]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("tab", "index", "titles"),
    some(
        [
            ("Sales", 1, ["Old", "Sales", "Notes"]),
            ("Sales", 2, ["Old", "Notes", "Sales"]),
            ("Sales", 9, ["Old", "Notes", "Sales"]),
            ("Notes", 0, ["Notes", "Sales", "Old"]),
            ("Old", 1, ["Sales", "Old", "Notes"]),
        ],
        3,
    ),
)
def test_a_tab_is_moved_to_the_place_that_it_then_has(sheets, budget, change, tab, index, titles):
    answer = change("move_tab", tab=tab, index=index)

    assert sheets.titles(budget) == titles
    assert answer["tab"]["index"] == titles.index(tab)


def test_a_tab_is_deleted_after_the_user_has_seen_what_is_in_it(sheets, budget, desk, change):
    answer = change("delete_tab", tab="Sales")

    assert answer == {"action": "delete_tab", "changed": "deleted the tab Sales"}
    assert sheets.titles(budget) == ["Old", "Notes"]
    assert desk.asked[0][1] == (
        'delete the whole tab "Sales" with everything in it from the spreadsheet "Budget", 8 filled cells of it'
        f"{AS_ANA}"
    )


def test_the_last_tab_that_people_see_stays(sheets, budget, desk):
    sheets.books[budget].sheets[1].is_hidden = sheets.books[budget].sheets[2].is_hidden = True

    error_type, message = desk.error("sheets_manage_structure", spreadsheet_id=budget, action="delete_tab", tab="Sales")

    assert (error_type, "last visible tab" in message) == ("validation_error", True)
    assert desk.asked == []


def test_a_tab_is_copied_into_another_spreadsheet(sheets, budget, desk, change):
    other = sheets.add("Archive")

    answer = change("copy_tab_to", tab="Old", destination_spreadsheet_id=other)

    assert answer["tab"] == {"sheet_id": 5001, "title": "Copy of Old", "index": 1}
    assert answer["spreadsheet_id"] == other
    assert sheets.shown(other, "Copy of Old") == [["a", "b"]]
    assert desk.asked[0][1] == (
        f'copy the tab "Old" of the spreadsheet "Budget" into the spreadsheet "Archive"{AS_ANA}'
    )


@pytest.mark.long
def test_rows_and_columns_are_inserted_before_and_behind(google, sheets, budget, change):
    change("insert_rows", tab="Sales", start=2, count=2)
    change("insert_columns", tab="Sales", start=1)
    answer = change("insert_rows", tab="Sales", start=1003, count=10)

    assert sheets.shown(budget, "Sales")[:4] == [["", "What", "Price"], [], [], ["", "Milk", "2"]]
    assert (answer["tab"]["rows"], answer["tab"]["columns"]) == (1012, 27)
    sent = [each["requests"][0] for each in google.bodies("sheets.spreadsheets.batchUpdate")]
    assert [each.get("insertDimension", {}).get("inheritFromBefore") for each in sent] == [True, False, None]
    assert "appendDimension" in sent[2]


def test_rows_and_columns_are_deleted_after_the_user_has_seen_how_much_goes(sheets, budget, desk, change):
    change("delete_rows", tab="Sales", start=2, count=2)
    answer = change("delete_columns", tab="Sales", start=1)

    assert sheets.shown(budget, "Sales") == [["Price"], ["3"]]
    assert answer["changed"] == "deleted column A"
    assert [detail for _, detail in desk.asked] == [
        'delete rows 2 to 3 of the tab "Sales" with everything in it from the spreadsheet "Budget", 4 filled cells '
        f"of it{AS_ANA}",
        'delete column A of the tab "Sales" with everything in it from the spreadsheet "Budget", 2 filled cells '
        f"of it{AS_ANA}",
    ]


def test_a_range_is_sorted_by_columns_of_the_tab(google, sheets, budget, desk, change):
    sheets.type(budget, "Old", [["", "x", 1], ["", "y", 3], ["", "z", 2]])

    change("sort_range", range="B1:C3", tab="old", sort_by=[{"column": "c", "descending": True}])
    change("sort_range", range="Sales!A2:B4", sort_by=[{"column": "B"}, {"column": "A"}])

    assert [row[1] for row in sheets.shown(budget, "Old")] == ["y", "z", "x"]
    assert [row[0] for row in sheets.shown(budget, "Sales")] == ["What", "Milk", "Bread", "Tea"]
    assert desk.asked[0][1].startswith("sort Old!B1:C3 by C from high to low in the spreadsheet")


def test_panes_are_frozen_and_let_go(sheets, budget, change):
    change("freeze", tab="Sales", rows=1, columns=2)
    change("freeze", tab="Sales", columns=0)

    assert (sheets.books[budget].sheets[0].frozen_rows, sheets.books[budget].sheets[0].frozen_columns) == (1, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("add_tab", {"title": "New"}),
        ("duplicate_tab", {"tab": "Old", "title": "New"}),
        ("delete_tab", {"tab": "Old"}),
        ("move_tab", {"tab": "Sales", "index": 1}),
    ],
)
def test_what_went_through_unseen_is_not_done_twice(google, sheets, budget, change, action, arguments):
    google.fail("sheets.spreadsheets.batchUpdate", status=503, is_after=True)

    answer = change(action, **arguments)

    titles = {
        "add_tab": ["Sales", "Old", "Notes", "New"],
        "duplicate_tab": ["Sales", "Old", "New", "Notes"],
        "delete_tab": ["Sales", "Notes"],
        "move_tab": ["Old", "Sales", "Notes"],
    }[action]
    assert sheets.titles(budget) == titles
    assert ("tab" in answer) is (action != "delete_tab")


@pytest.mark.long
def test_a_refusal_is_no_success(google, sheets, budget, desk):
    google.fail("sheets.spreadsheets.batchUpdate", status=400, reason="INVALID_ARGUMENT", times=2)

    for arguments in ({"action": "add_tab", "title": "New"}, {"action": "delete_tab", "tab": "Old"}):
        error_type, message = desk.error("sheets_manage_structure", spreadsheet_id=budget, **arguments)
        assert (error_type, "injected" in message) == ("validation_error", True)
    assert sheets.titles(budget) == ["Sales", "Old", "Notes"]


def test_insertions_whose_outcome_no_one_knows_are_not_repeated(google, sheets, budget, desk):
    google.fail("sheets.spreadsheets.batchUpdate", status=503, is_after=True)

    error_type, message = desk.error(
        "sheets_manage_structure", spreadsheet_id=budget, action="insert_rows", tab="Sales", start=1
    )

    assert error_type == "unknown_outcome"
    assert "sheets_get_info" in message
    assert sheets.books[budget].sheets[0].rows == 1001


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    some(
        [
            ("add_tab", {}, "add_tab needs title."),
            ("rename_tab", {"tab": "a", "title": " "}, "cannot be empty"),
            ("move_tab", {"tab": "a"}, "move_tab needs index."),
            (
                "delete_tab",
                {"tab": "a", "title": "b", "rows": 1},
                "delete_tab does not go with rows, title; it takes tab.",
            ),
            ("sort_range", {"range": "A1:B2"}, "sort_range needs sort_by."),
            ("freeze", {"tab": "a"}, "freeze needs rows or columns"),
        ],
        3,
    ),
)
def test_arguments_that_do_not_go_together_are_refused(google, desk, action, arguments, message):
    error_type, said = desk.error("sheets_manage_structure", spreadsheet_id="x", action=action, **arguments)

    assert (error_type, message in said, google.requests) == ("validation_error", True, [])


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    some(
        [
            ("add_tab", {"title": "SALES"}, "There is a tab 'Sales' already"),
            ("add_tab", {"title": "x", "rows": 0}, "at least one row and one column"),
            ("rename_tab", {"tab": "x", "title": "y"}, "There is no tab 'x'. Tabs: 'Sales', 'Old', 'Notes'."),
            ("insert_rows", {"tab": "Sales", "start": 1002}, "so 1001 is the last place to insert at"),
            ("delete_rows", {"tab": "Sales", "start": 999, "count": 3}, "has only 1,000 rows"),
            ("delete_columns", {"tab": "Sales", "start": 1, "count": 26}, "cannot be without a column"),
            ("freeze", {"tab": "Sales", "rows": 1000}, "At least one row must stay free"),
            ("sort_range", {"range": "A1:B2", "sort_by": [{"column": "C"}]}, "Column C is not in Sales!A1:B2"),
            ("sort_range", {"range": "A1:B2", "sort_by": [{"column": "2"}]}, "letters of a column"),
            (
                "sort_range",
                {"range": "Old!A1:B2", "tab": "Sales", "sort_by": [{"column": "A"}]},
                "is not in the tab 'Sales'",
            ),
        ],
        5,
    ),
)
def test_what_does_not_fit_the_spreadsheet_is_refused(budget, desk, action, arguments, message):
    error_type, said = desk.error("sheets_manage_structure", spreadsheet_id=budget, action=action, **arguments)

    assert (error_type, desk.asked) == ("validation_error", [])
    assert message in said


def test_a_tab_that_holds_a_chart_has_no_rows(sheets, budget, desk):
    sheets.books[budget].sheets[1].is_chart = True

    for action, more in (("insert_rows", {"start": 1}), ("freeze", {"rows": 1})):
        _, message = desk.error("sheets_manage_structure", spreadsheet_id=budget, action=action, tab="Old", **more)
        assert "holds a chart" in message
    assert desk("sheets_manage_structure", spreadsheet_id=budget, action="delete_tab", tab="Old")


def test_cells_get_the_formats_that_are_given_and_keep_the_others(sheets, budget, desk):
    sheets.books[budget].sheets[0].formats[0, 0] = {"textFormat": {"italic": True}, "wrapStrategy": "WRAP"}

    answer = desk(
        "sheets_format_cells",
        spreadsheet_id=budget,
        range="Sales!A1:B1",
        bold=True,
        underline=False,
        font_size=14,
        text_color="#fff",
        background_color="#336699",
        horizontal_alignment="CENTER",
        column_width=200,
    )

    sheet = sheets.books[budget].sheets[0]
    assert sheet.formats[0, 0] == {
        "textFormat": {
            "italic": True,
            "bold": True,
            "underline": False,
            "fontSize": 14,
            "foregroundColorStyle": {"rgbColor": {"red": 1.0, "green": 1.0, "blue": 1.0}},
        },
        "wrapStrategy": "WRAP",
        "backgroundColorStyle": {"rgbColor": {"red": 0.2, "green": 0.4, "blue": 0.6}},
        "horizontalAlignment": "CENTER",
    }
    assert sheet.sizes == {("COLUMNS", 0): 200, ("COLUMNS", 1): 200}
    applied = ["bold", "font_size", "text_color", "background_color", "horizontal_alignment", "column_width"]
    assert answer == {"range": "Sales!A1:B1", "applied": [*applied, "underline"]}
    assert desk.asked[0][1].startswith(
        'format Sales!A1:B1 of the spreadsheet "Budget": bold, font_size "14", text_color "#fff", '
    )


def test_numbers_borders_merging_and_sizes(sheets, budget, desk):
    desk(
        "sheets_format_cells",
        spreadsheet_id=budget,
        range="Sales!A1:B2",
        number_format="PERCENT",
        number_pattern="0.0%",
        borders="outer",
        border_style="DOUBLE",
        border_color="#f00",
        merge="MERGE_ROWS",
        row_height=40,
        auto_resize_columns=True,
    )

    sheet = sheets.books[budget].sheets[0]
    assert sheet.formats[1, 1]["numberFormat"] == {"type": "PERCENT", "pattern": "0.0%"}
    (border,) = sheet.borders
    assert border.keys() == {"range", "top", "bottom", "left", "right"}
    assert border["top"] == {"style": "DOUBLE", "colorStyle": {"rgbColor": {"red": 1.0, "green": 0.0, "blue": 0.0}}}
    assert [(each["startRowIndex"], each["endColumnIndex"]) for each in sheet.merges] == [(0, 2), (1, 2)]
    assert sheet.sizes == {("ROWS", 0): 40, ("ROWS", 1): 40, ("COLUMNS", 0): "auto", ("COLUMNS", 1): "auto"}
    assert "only the first value stays" in desk.asked[0][1]
    assert 'number_format "PERCENT"' in desk.asked[0][1]
    desk("sheets_format_cells", spreadsheet_id=budget, range="Sales", merge="UNMERGE", borders="none")
    assert sheet.merges == []
    assert sheet.borders[1]["innerVertical"] == {"style": "NONE"}


def test_a_conditional_rule_is_added_once_only(google, sheets, budget, desk):
    rule = {"condition": "CUSTOM_FORMULA", "values": ["$B2>5"], "background_color": "#ffcccc", "text_color": "#900"}
    google.fail("sheets.spreadsheets.batchUpdate", status=503, is_after=True)

    error_type, message = desk.error(
        "sheets_format_cells", spreadsheet_id=budget, range="Sales!A2:B", conditional_rule=rule
    )

    assert error_type == "unknown_outcome"
    assert "conditional_formats" in message
    assert 'conditional_rule CUSTOM_FORMULA "$B2>5" (background_color "#ffcccc", text_color "#900")' in desk.asked[0][1]
    (found,) = desk("sheets_get_info", spreadsheet_id=budget, include=["conditional_formats"])["tabs"][0][
        "conditional_formats"
    ]
    assert found == {
        "index": 0,
        "ranges": ["Sales!A2:B"],
        "condition": "CUSTOM_FORMULA",
        "values": ["=$B2>5"],
        "background_color": "#ffcccc",
        "text_color": "#990000",
    }


@pytest.mark.long
def test_formats_are_set_again_after_a_failure(google, sheets, budget, desk):
    google.fail("sheets.spreadsheets.batchUpdate", status=503, is_after=True)

    assert desk("sheets_format_cells", spreadsheet_id=budget, range="A1", bold=True)["applied"] == ["bold"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    some(
        [
            ({}, "Give at least one format"),
            ({"number_pattern": "0.0"}, "number_pattern goes with number_format"),
            ({"bold": True, "text_color": "red"}, "text_color must be a colour such as #1a73e8, not 'red'"),
            ({"auto_resize_columns": True, "column_width": 5}, "column_width or auto_resize_columns"),
            ({"range": "Nope!A1", "bold": True}, "There is no tab 'Nope'"),
            ({"conditional_rule": {"condition": "BLANK"}}, "needs a background_color, text_color or bold"),
            ({"conditional_rule": {"condition": "NUMBER_BETWEEN", "values": ["1"], "bold": True}}, "takes 2 values"),
            ({"conditional_rule": {"condition": "BLANK", "values": ["1"], "bold": True}}, "takes no values"),
            ({"conditional_rule": {"condition": "TEXT_EQ", "values": [" "], "bold": True}}, "takes 1 value."),
        ],
        5,
    ),
)
def test_formats_that_cannot_be_are_refused(budget, desk, arguments, message):
    error_type, said = desk.error("sheets_format_cells", **{"spreadsheet_id": budget, "range": "A1", **arguments})

    assert (error_type, desk.asked) == ("validation_error", [])
    assert message in said


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_colours_keep_their_parts(red, green, blue):
    color = color_style(f"#{red:02X}{green:02x}{blue:02x}", "x")["rgbColor"]

    assert [round(color[part] * 255) for part in ("red", "green", "blue")] == [red, green, blue]


@pytest.mark.parametrize("text", some(["", "#12", "#1234567", "#ggg", "blue"], 3))
def test_what_is_no_colour_is_refused(text):
    with pytest.raises(GoogleError):
        color_style(text, "x")


def test_whole_rows_and_columns_are_formatted_with_open_ends():
    place = Place(Tab(0, "Sales", 0, 100, 10), Area(start_row=1, end_row=2))

    (cells, sizes) = requests_for(Format(bold=True, row_height=30), place)

    assert cells["repeatCell"]["range"] == {"sheetId": 0, "startRowIndex": 1, "endRowIndex": 2}
    assert sizes["updateDimensionProperties"]["range"] == {
        "sheetId": 0,
        "dimension": "ROWS",
        "startIndex": 1,
        "endIndex": 2,
    }


@pytest.mark.long
def test_a_spreadsheet_is_made_filled_formatted_and_read(desk):
    made = desk("sheets_create", title="Trip", tabs=["Costs"], values=[["What", "Price"]], freeze_header=True)
    book = made["spreadsheet_id"]
    added = desk("sheets_append_rows", spreadsheet_id=book, values=[["Train", 40], ["Hotel", 210]])
    desk("sheets_update_values", spreadsheet_id=book, range="Costs!A5", values=[["Sum", "=SUM(B2:B3)"]])
    desk("sheets_format_cells", spreadsheet_id=book, range="Costs!A1:B1", bold=True)
    desk("sheets_manage_structure", spreadsheet_id=book, action="rename_tab", tab="Costs", title="All costs")
    (found,) = desk("sheets_read_values", spreadsheet_id=made["link"], ranges=["'All costs'!A:B"])["ranges"]

    assert added["updated_range"] == "Costs!A2:B3"
    assert found["rows"] == [["What", "Price"], ["Train", "40"], ["Hotel", "210"], ["", ""], ["Sum", "250"]]
