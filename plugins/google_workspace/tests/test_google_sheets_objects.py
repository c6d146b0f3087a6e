"""Dropdowns, rules, named ranges, filters and charts of spreadsheets."""

import pytest
from how_long import some

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"


@pytest.fixture
def sheets(google):
    return google.services["sheets"]


@pytest.fixture
def book_id(sheets):
    rows = [["What", "Price", "Sold"], ["Milk", 2, 9], ["Tea", 7, 4], ["Bread", 3, 6]]
    return sheets.add("Budget", Sales=rows, Lists=[["open"], ["done"]])


@pytest.fixture
def sales(sheets, book_id):
    return sheets.books[book_id].sheet("Sales")


@pytest.fixture
def change(book_id, desk):
    return lambda action, **arguments: desk(
        "sheets_manage_structure", spreadsheet_id=book_id, action=action, **arguments
    )


@pytest.fixture
def style(book_id, desk):
    return lambda place, **arguments: desk("sheets_format_cells", spreadsheet_id=book_id, range=place, **arguments)


@pytest.fixture
def info(book_id, desk):
    return lambda *include: desk("sheets_get_info", spreadsheet_id=book_id, include=list(include))


# Dropdowns


def test_a_dropdown_offers_its_choices_and_refuses_all_else(sales, desk, style):
    answer = style("Sales!D2:D4", validation={"condition": "LIST", "values": ["open", "done"]})

    (((top, bottom, left, right), rule),) = sales.validations
    assert (top, bottom, left, right) == (1, 4, 3, 4)
    assert rule == {
        "condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "open"}, {"userEnteredValue": "done"}]},
        "strict": True,
        "showCustomUi": True,
    }
    assert answer == {"range": "Sales!D2:D4", "applied": ["validation"]}
    assert desk.asked[0][1] == (
        f'format Sales!D2:D4 of the spreadsheet "Budget": accepting only LIST "open", "done"{AS_ANA}'
    )


@pytest.mark.long
def test_choices_can_come_from_a_range_and_only_warn(sales, style):
    style("Sales!D2", validation={"condition": "RANGE", "values": ["Lists!A1:A2"], "strict": False})

    ((_, rule),) = sales.validations
    assert rule["condition"]["values"] == [{"userEnteredValue": "=Lists!A1:A2"}]
    assert rule["strict"] is False


def test_cells_become_checkboxes_numbers_between_limits_or_anything_again(sales, style):
    style("Sales!D2", validation={"condition": "CHECKBOX"})
    style("Sales!B2", validation={"condition": "NUMBER_BETWEEN", "values": ["0", "99"]})
    style("Sales!D2", validation={"condition": "NONE"})

    assert [rule and rule["condition"]["type"] for _, rule in sales.validations] == ["BOOLEAN", "NUMBER_BETWEEN", None]


@pytest.mark.parametrize(
    ("validation", "message"),
    some(
        [
            ({"condition": "LIST"}, "the choices"),
            ({"condition": "LIST", "values": ["a", " "]}, "the choices"),
            ({"condition": "RANGE", "values": ["A1", "B1"]}, "one value"),
            ({"condition": "CHECKBOX", "values": ["x"]}, "no values"),
            ({"condition": "NONE", "values": ["x"]}, "no values"),
            ({"condition": "NUMBER_BETWEEN", "values": ["1"]}, "takes 2 values"),
        ],
        3,
    ),
)
def test_what_no_cell_can_accept_is_refused(book_id, desk, validation, message):
    error = desk.error("sheets_format_cells", spreadsheet_id=book_id, range="A1", validation=validation)

    assert (error[0], message in error[1], desk.asked) == ("validation_error", True, [])


# Conditional rules


def test_numbers_are_coloured_from_low_to_high(sales, desk, style, info):
    style("Sales!B2:B4", conditional_rule={"condition": "COLOR_SCALE", "values": ["#ffffff", "#ffff00", "#ff0000"]})

    gradient = sales.rules[0]["gradientRule"]
    assert [gradient[point]["type"] for point in ("minpoint", "midpoint", "maxpoint")] == ["MIN", "PERCENTILE", "MAX"]
    (row,) = info("conditional_formats")["tabs"][0]["conditional_formats"]
    assert row["condition"] == "COLOR_SCALE"
    assert 'conditional_rule COLOR_SCALE "#ffffff", "#ffff00", "#ff0000"' in desk.asked[0][1]


def test_a_rule_is_replaced_and_deleted_by_its_index(sales, book_id, desk, style, change):
    for limit in ("5", "9"):
        style("Sales!B2:B4", conditional_rule={"condition": "NUMBER_GREATER", "values": [limit], "bold": True})
    style("Sales!B2:B4", conditional_rule={"condition": "BLANK", "bold": True, "index": 0})

    answer = change("delete_rule", tab="Sales", index=1)

    assert [rule["booleanRule"]["condition"]["type"] for rule in sales.rules] == ["BLANK"]
    assert answer["changed"] == "deleted the conditional rule 1"
    assert "in place of rule 0" in desk.asked[2][1]
    assert desk.asked[3][1] == (
        'delete the conditional rule 1 (NUMBER_GREATER "5") of the tab "Sales" from the spreadsheet "Budget"' + AS_ANA
    )
    wanted = {"spreadsheet_id": book_id, "action": "delete_rule", "tab": "Sales", "index": 1}
    assert "counted from 0" in desk.error("sheets_manage_structure", **wanted)[1]


@pytest.mark.parametrize("rule", [{"values": ["#fff"]}, {"values": ["#fff", "#000"], "bold": True}])
def test_a_colour_scale_has_two_or_three_colours(book_id, desk, rule):
    wanted = {"condition": "COLOR_SCALE", **rule}

    error = desk.error("sheets_format_cells", spreadsheet_id=book_id, range="A1", conditional_rule=wanted)

    assert "2 or 3 colours" in error[1]


# Named ranges


def test_a_range_gets_a_name_which_other_tools_take(desk, book_id, change, info):
    change("name_range", title="Prices", range="Sales!B2:B4")
    change("name_range", title="prices", range="C2:C4", tab="Sales")

    assert info()["named_ranges"] == [{"name": "prices", "range": "Sales!C2:C4"}]
    values = desk("sheets_read_values", spreadsheet_id=book_id, ranges=["prices"])
    assert values["ranges"][0]["rows"] == [["9"], ["4"], ["6"]]
    assert [detail for _, detail in desk.asked] == [
        f'name Sales!B2:B4 "Prices" in the spreadsheet "Budget"{AS_ANA}',
        f'have the name "Prices" mean Sales!C2:C4 in the spreadsheet "Budget"{AS_ANA}',
    ]
    change("delete_name", title="PRICES")
    assert "named_ranges" not in info()


def test_a_name_that_is_not_there_cannot_be_deleted(book_id, desk):
    error = desk.error("sheets_manage_structure", spreadsheet_id=book_id, action="delete_name", title="Nope")

    assert error == ("validation_error", "There is no named range 'Nope'. There are: none.")


# Filters, hidden rows and columns


def test_a_filter_is_put_on_a_range_and_taken_away(sales, change, info):
    change("set_filter", range="Sales!A1:C4")
    assert info("filters")["tabs"][0]["filters"] == [{"range": "Sales!A1:C4"}]
    change("clear_filter", tab="Sales")
    assert sales.filtered is None


def test_rows_and_columns_are_hidden_and_shown(sales, desk, change):
    change("hide_rows", tab="Sales", start=2, count=2)
    change("hide_columns", tab="Sales", start=3)
    assert sales.hidden == {("ROWS", 1), ("ROWS", 2), ("COLUMNS", 2)}
    change("show_rows", tab="Sales", start=1, count=9)
    change("show_columns", tab="Sales", start=3)

    assert sales.hidden == set()
    assert desk.asked[0][1] == f'hide rows 2 to 3 of the tab "Sales" in the spreadsheet "Budget"{AS_ANA}'


# Charts


def test_a_chart_is_put_beside_its_data(sales, desk, change, info):
    answer = change("add_chart", range="Sales!A1:C4", title="Sold", chart_type="BAR")

    (chart,) = sales.charts
    assert chart["position"]["overlayPosition"]["anchorCell"] == {"sheetId": 0, "rowIndex": 0, "columnIndex": 4}
    assert answer["chart_id"] == chart["chartId"]
    assert info("charts")["tabs"][0]["charts"] == [
        {
            "chart_id": chart["chartId"],
            "title": "Sold",
            "type": "BAR",
            "data": ["Sales!A1:A4", "Sales!B1:B4", "Sales!C1:C4"],
        }
    ]
    assert desk.asked[0][1] == (
        f'add a chart "Sold" (bar) of Sales!A1:C4 at Sales!E1 to the spreadsheet "Budget"{AS_ANA}'
    )


def test_a_chart_goes_where_it_is_wanted(sheets, book_id, change):
    change("add_chart", range="Sales!A1:B4", chart_type="PIE", cell="Lists!C3")

    (chart,) = sheets.books[book_id].sheet("Lists").charts
    assert chart["position"]["overlayPosition"]["anchorCell"]["rowIndex"] == 2
    assert "pieChart" in chart["spec"]


def test_a_chart_keeps_what_is_not_changed(sales, desk, change):
    chart_id = change("add_chart", range="Sales!A1:C4", title="Sold", chart_type="LINE")["chart_id"]
    sales.charts[0]["spec"]["basicChart"]["legendPosition"] = "TOP_LEGEND"

    change("update_chart", chart_id=chart_id, range="Sales!A1:B3")
    change("update_chart", chart_id=chart_id, chart_type="AREA")
    change("update_chart", chart_id=chart_id, title="")

    spec = sales.charts[0]["spec"]
    assert (spec["title"], spec["basicChart"]["chartType"]) == ("", "AREA")
    assert spec["basicChart"]["legendPosition"] == "TOP_LEGEND"
    assert len(spec["basicChart"]["series"]) == 1
    assert desk.asked[2][1] == f'change the chart "Sold" to one as area in the spreadsheet "Budget"{AS_ANA}'


@pytest.mark.long
def test_the_axis_of_a_chart_turns_with_its_type(sales, change):
    chart_id = change("add_chart", range="Sales!A1:C4")["chart_id"]

    change("update_chart", chart_id=chart_id, chart_type="BAR")

    assert {each["targetAxis"] for each in sales.charts[0]["spec"]["basicChart"]["series"]} == {"BOTTOM_AXIS"}


def test_a_chart_is_deleted_and_its_data_stay(sheets, sales, book_id, desk, change):
    chart_id = change("add_chart", range="Sales!A1:B4", title="Sold")["chart_id"]

    change("delete_chart", chart_id=chart_id)

    assert (sales.charts, sheets.shown(book_id, "Sales")[1]) == ([], ["Milk", "2", "9"])
    assert desk.asked[1][1] == f'delete the chart "Sold", but not its data, from the spreadsheet "Budget"{AS_ANA}'


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("add_chart", {"range": "Sales!A1:B4"}),
        ("name_range", {"title": "Prices", "range": "Sales!B2:B4"}),
    ],
)
def test_what_google_did_not_confirm_is_made_once(google, sheets, sales, book_id, change, action, arguments):
    google.fail("sheets.spreadsheets.batchUpdate", status=503, is_after=True)

    assert change(action, **arguments)["action"] == action

    assert len(sales.charts) + len(sheets.books[book_id].names) == 1


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    some(
        [
            ("add_chart", {"range": "Sales!A1:A4"}, "at least"),
            ("add_chart", {"range": "Sales!A1:C4", "chart_type": "PIE"}, "one column of numbers"),
            ("update_chart", {"chart_id": 1, "title": "x"}, "There is no chart 1"),
            ("update_chart", {"chart_id": 1}, "needs a range, chart_type or title"),
            ("delete_chart", {"chart_id": 1, "title": "x"}, "does not go with title"),
            ("hide_rows", {"tab": "Sales", "start": 1, "count": 2000}, "has only 1,000 rows"),
            ("name_range", {"title": " ", "range": "A1"}, "cannot be empty"),
        ],
        3,
    ),
)
def test_what_cannot_be_is_refused_before_a_question(book_id, desk, action, arguments, message):
    error = desk.error("sheets_manage_structure", spreadsheet_id=book_id, action=action, **arguments)

    assert (message in error[1], desk.asked) == (True, []), error
