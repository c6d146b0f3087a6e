"""The stand-in's Google Sheets."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from google_discovery import Misfit
from google_service import ApiError, Call, Service, bad_request, handles, not_found
from google_sheets_cells import Box, Cell, Sheet, a1, box_of, places_of, read_box, rendered, trimmed, typed

EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass
class Spreadsheet:
    """A spreadsheet with its tabs in order."""

    id: str
    title: str
    sheets: list[Sheet]
    locale: str = "en_US"
    time_zone: str = "Europe/Berlin"
    names: dict[str, dict[str, Any]] = field(default_factory=dict)
    name_ids: dict[str, str] = field(default_factory=dict)

    def name_of(self, name_id: str) -> str:
        for name in self.names:
            if self.name_ids.get(name, f"name-{name}") == name_id:
                return name
        raise _bad(f"No named range with id: {name_id}")

    def sheet(self, wanted: int | str) -> Sheet:
        for sheet in self.sheets:
            if wanted in (sheet.id, sheet.title):
                return sheet
        raise _bad(f"No grid with id: {wanted}")


class Sheets(Service):
    """Spreadsheets by id; Drive knows them, too."""

    def start(self) -> None:
        self.books: dict[str, Spreadsheet] = {}

    # Arranging

    def add(self, title: str, *, owner: str = "ana@example.com", **tabs: list[list[Any]]) -> str:
        """Have a spreadsheet, with rows as they would be typed into its tabs; gives its id."""
        book_id = self._make(
            title, [Sheet(n and 1000 + n, name) for n, name in enumerate(tabs or {"Sheet1": []})], owner
        )
        for name, rows in tabs.items():
            self.type(book_id, name, rows)
        return book_id

    def add_excel(self, name: str) -> str:
        """Have an Excel file in Drive."""
        return self.server.services["drive"].add(name, b"PK", mime_type=EXCEL)

    def type(self, book_id: str, tab: str, rows: list[list[Any]], at: tuple[int, int] = (0, 0)) -> None:
        """Type values into a tab, as somebody at the screen would."""
        self._write(self.books[book_id].sheet(tab), at, rows, "USER_ENTERED")

    def shown(self, book_id: str, tab: str) -> list[list[Any]]:
        """What somebody at the screen sees in a tab."""
        sheet = self.books[book_id].sheet(tab)
        return self._rows(sheet, (0, sheet.rows, 0, sheet.columns), "FORMATTED_VALUE", "SERIAL_NUMBER")

    def formulas(self, book_id: str, tab: str) -> list[list[Any]]:
        sheet = self.books[book_id].sheet(tab)
        return self._rows(sheet, (0, sheet.rows, 0, sheet.columns), "FORMULA", "SERIAL_NUMBER")

    def titles(self, book_id: str) -> list[str]:
        return [sheet.title for sheet in self.books[book_id].sheets]

    def _make(self, title: str, sheets: list[Sheet], owner: str, **values: Any) -> str:
        book_id = self.new_id("1spreadsheet")
        self.books[book_id] = Spreadsheet(book_id, title, sheets, **values)
        self.server.services["drive"].add_google_file(title, "spreadsheet", book_id, owner=owner)
        return book_id

    def _find(self, call: Call, *, book_id: str | None = None, is_writing: bool = False) -> Spreadsheet:
        book_id = book_id or call["spreadsheetId"]
        drive = self.server.services["drive"]
        role = drive.access(book_id).get(call.user) if book_id in drive.files else None
        if role is None:
            raise not_found("Requested entity was")
        if book_id not in self.books:
            raise ApiError(400, "FAILED_PRECONDITION", "This operation is not supported for this document")
        if is_writing and role not in ("owner", "writer"):
            raise ApiError(403, "PERMISSION_DENIED", "The caller does not have permission")
        return self.books[book_id]

    # Cells

    def _place(self, book: Spreadsheet, text: str) -> tuple[Sheet, Box]:
        """Find what a range means: a named one first, then a tab."""
        if text in book.names:
            grid_range = book.names[text]
            sheet = book.sheet(grid_range.get("sheetId", 0))
            return sheet, box_of(sheet, grid_range)
        if text.startswith("'"):
            end = 1
            while not (text[end] == "'" and text[end + 1 : end + 2] != "'"):
                end += 2 if text[end] == "'" else 1
            title, cells = text[1:end].replace("''", "'"), text[end + 1 :].removeprefix("!")
        else:
            title, _, cells = text.rpartition("!")
            if not title:
                found = [sheet for sheet in book.sheets if sheet.title == text]
                title, cells = (text, "") if found else ("", text)
        if title:
            sheets = [sheet for sheet in book.sheets if sheet.title.casefold() == title.casefold()]
        else:
            sheets = [sheet for sheet in book.sheets if not sheet.is_hidden]
        if not sheets or sheets[0].is_chart:
            raise _bad(f"Unable to parse range: {text}")
        sheet = sheets[0]
        return sheet, read_box(sheet, cells, text) if cells else (0, sheet.rows, 0, sheet.columns)

    @staticmethod
    def _rows(sheet: Sheet, box: Box, how: str, dates: str) -> list[list[Any]]:
        filled = sheet.filled(box)
        bottom = max((row for row, _ in filled), default=box[0] - 1) + 1
        right = max((column for _, column in filled), default=box[2] - 1) + 1
        return trimmed(
            [
                [rendered(sheet, (row, column), how, dates) for column in range(box[2], right)]
                for row in range(box[0], bottom)
            ]
        )

    @staticmethod
    def _write(sheet: Sheet, at: tuple[int, int], rows: list[list[Any]], option: str) -> int:
        count = 0
        for row_number, row in enumerate(rows):
            for column, value in enumerate(row):
                if value is None:
                    continue
                if isinstance(value, list | dict):
                    raise _bad("Invalid values: list_value")
                count += 1
                place = (at[0] + row_number, at[1] + column)
                sheet.cells[place] = typed(value, option)
                if value == "":
                    del sheet.cells[place]
        return count

    def _update(self, book: Spreadsheet, part: dict[str, Any], option: str, values: dict[str, Any]) -> dict[str, Any]:
        sheet, box = self._place(book, part["range"])
        rows = part.get("values", [])
        width = max((len(row) for row in rows), default=0)
        is_cell = box[1] - box[0] == 1 and box[3] - box[2] == 1
        if not is_cell and box[0] + len(rows) > box[1]:
            raise _bad(f"Requested writing within range [{part['range']}], but tried writing to row [{box[1] + 1}]")
        if not is_cell and box[2] + width > box[3]:
            raise _bad(f"Requested writing within range [{part['range']}], but tried writing to another column")
        if box[0] + len(rows) > sheet.rows or box[2] + width > sheet.columns:
            raise _bad(f"Range ({part['range']}) exceeds grid limits. Max rows: {sheet.rows}")
        count = self._write(sheet, (box[0], box[2]), rows, option)
        written = (box[0], box[0] + max(len(rows), 1), box[2], box[2] + max(width, 1))
        answer = {
            "spreadsheetId": book.id,
            "updatedRange": a1(sheet, written),
            "updatedRows": len(rows),
            "updatedColumns": width,
            "updatedCells": count,
        }
        if values.get("includeValuesInResponse"):
            shown = self._rows(sheet, written, values.get("responseValueRenderOption", "FORMATTED_VALUE"), "")
            answer["updatedData"] = {"range": a1(sheet, written), "majorDimension": "ROWS", "values": shown}
        return answer

    @handles("sheets.spreadsheets.values.batchGet")
    def read(self, call: Call) -> dict[str, Any]:
        book = self._find(call)
        found = []
        for text in call["ranges"]:
            sheet, box = self._place(book, text)
            how = call.get("valueRenderOption", "FORMATTED_VALUE")
            rows = self._rows(sheet, box, how, call.get("dateTimeRenderOption", "SERIAL_NUMBER"))
            part: dict[str, Any] = {"range": a1(sheet, box), "majorDimension": "ROWS"}
            found.append({**part, "values": rows} if rows else part)
        return {"spreadsheetId": book.id, "valueRanges": found}

    @handles("sheets.spreadsheets.values.update")
    def update(self, call: Call) -> dict[str, Any]:
        book = self._find(call, is_writing=True)
        if call.body.get("range") not in (None, call["range"]):
            raise _bad(f"Requested range {call['range']} does not match value range {call.body['range']}")
        part = {**call.body, "range": call["range"]}
        return self._update(book, part, _option(call.get("valueInputOption")), call.parameters)

    @handles("sheets.spreadsheets.values.batchUpdate")
    def update_many(self, call: Call) -> dict[str, Any]:
        book = self._find(call, is_writing=True)
        option = _option(call.body.get("valueInputOption"))
        with _Whole(book):
            found = [self._update(book, part, option, call.body) for part in call.body["data"]]
        return {
            "spreadsheetId": book.id,
            "responses": found,
            "totalUpdatedCells": sum(each["updatedCells"] for each in found),
        }

    @handles("sheets.spreadsheets.values.append")
    def append(self, call: Call) -> dict[str, Any]:
        book = self._find(call, is_writing=True)
        option = _option(call.get("valueInputOption"))
        sheet, box = self._place(book, call["range"])
        rows = call.body["values"]
        table = _last_table(sheet, box)
        at = (table[1], table[2]) if table else (box[0], box[2])
        if call.get("insertDataOption") == "INSERT_ROWS" and table:
            sheet.shift(True, at[0], len(rows))
        sheet.rows = max(sheet.rows, at[0] + len(rows))
        sheet.columns = max(sheet.columns, at[1] + max(map(len, rows)))
        count = self._write(sheet, at, rows, option)
        written = (at[0], at[0] + len(rows), at[1], at[1] + max(max(map(len, rows)), 1))
        updates = {"updatedRange": a1(sheet, written), "updatedRows": len(rows), "updatedCells": count}
        answer: dict[str, Any] = {"spreadsheetId": book.id, "updates": {"spreadsheetId": book.id, **updates}}
        return {**answer, "tableRange": a1(sheet, table)} if table else answer

    @handles("sheets.spreadsheets.values.batchClear")
    def clear(self, call: Call) -> dict[str, Any]:
        book = self._find(call, is_writing=True)
        found = [self._place(book, text) for text in call.body["ranges"]]
        for sheet, box in found:
            for place in sheet.filled(box):
                del sheet.cells[place]
        return {"spreadsheetId": book.id, "clearedRanges": [a1(sheet, box) for sheet, box in found]}

    # Structure

    @staticmethod
    def _resource(book: Spreadsheet) -> dict[str, Any]:
        return {
            "spreadsheetId": book.id,
            "spreadsheetUrl": f"https://docs.google.com/spreadsheets/d/{book.id}/edit",
            "properties": {"title": book.title, "locale": book.locale, "timeZone": book.time_zone},
            "sheets": [_sheet_resource(sheet, index) for index, sheet in enumerate(book.sheets)],
            "namedRanges": [
                {"namedRangeId": book.name_ids.get(name, f"name-{name}"), "name": name, "range": grid_range}
                for name, grid_range in book.names.items()
            ],
        }

    @handles("sheets.spreadsheets.create")
    def create(self, call: Call) -> dict[str, Any]:
        wanted = [each.get("properties", {}) for each in call.body.get("sheets", [])] or [{}]
        sheets: list[Sheet] = []
        for number, properties in enumerate(wanted):
            sheet = Sheet(number and 1000 + number, properties.get("title", "Tabellenblatt1"))
            if sheet.title in [each.title for each in sheets]:
                raise _bad("A sheet with this name already exists.")
            _set_grid(sheet, properties.get("gridProperties", {}))
            sheets.append(sheet)
        values = call.body.get("properties", {})
        if values.get("timeZone", "Europe/Berlin").count("/") != 1:
            raise _bad("Invalid time zone")
        named = {"locale": values.get("locale", "en_US"), "time_zone": values.get("timeZone", "Europe/Berlin")}
        return self._resource(self.books[self._make(values.get("title", "Untitled"), sheets, call.user, **named)])

    @handles("sheets.spreadsheets.get")
    def get(self, call: Call) -> dict[str, Any]:
        found = self._resource(self._find(call))
        if call.get("commentsViewMode") == "COMMENTS_VIEW_MODE_INCLUDED":
            drive: Any = self.server.services["drive"]
            found["comments"] = drive.by_editor(call["spreadsheetId"], call.user)
            for sheet in found["sheets"]:
                sheet["commentAnchors"] = [
                    {"anchorId": f"kix.{each.head.id}", "range": each.place}
                    for each in drive.threads.get(call["spreadsheetId"], [])
                    if each.place is not None and each.place.get("sheetId", 0) == sheet["properties"]["sheetId"]
                ]
        return found

    def _insert_comment(self, call: Call, book: Spreadsheet, body: dict[str, Any]) -> dict[str, Any]:
        where = body["coordinate"]
        row, column, sheet = where.get("rowIndex", 0), where.get("columnIndex", 0), book.sheet(where.get("sheetId", 0))
        if row >= sheet.rows or column >= sheet.columns:
            raise _bad("Attempting to comment outside the grid.")
        box = {"startRowIndex": row, "endRowIndex": row + 1, "startColumnIndex": column, "endColumnIndex": column + 1}
        drive: Any = self.server.services["drive"]
        quote = str(rendered(sheet, (row, column), "FORMATTED_VALUE", "SERIAL_NUMBER"))
        place = {"sheetId": sheet.id, **box}
        made = drive.comment(book.id, body["content"], author=call.user, quote=quote, place=place)
        return {"insertComment": {"commentThread": made.by_editor(call.user)}}

    @handles("sheets.spreadsheets.sheets.copyTo")
    def copy_to(self, call: Call) -> dict[str, Any]:
        sheet = self._find(call).sheet(int(call["sheetId"]))
        target = self._find(call, book_id=call.body["destinationSpreadsheetId"], is_writing=True)
        copied = copy.deepcopy(sheet)
        copied.id, copied.title = 5000 + len(target.sheets), f"Copy of {sheet.title}"
        target.sheets.append(copied)
        return _sheet_resource(copied, len(target.sheets) - 1)["properties"]

    @handles("sheets.spreadsheets.batchUpdate")
    def change(self, call: Call) -> dict[str, Any]:
        book = self._find(call, is_writing=True)
        if not call.body.get("requests"):
            raise _bad("Must specify at least one request.")
        with _Whole(book):
            replies = []
            for number, request in enumerate(call.body["requests"]):
                ((name, values),) = request.items()
                if name == "insertComment":
                    replies.append(self._insert_comment(call, book, values))
                    continue
                handler = _REQUESTS.get(name)
                if handler is None:
                    raise Misfit(f"the stand-in knows no request {name}")
                try:
                    replies.append(handler(book, values) or {})
                except ApiError as error:
                    message = f"Invalid requests[{number}].{name}: {error.message}"
                    raise ApiError(error.status, error.reason, message) from None
        answer = {"spreadsheetId": book.id, "replies": replies}
        if call.body.get("includeSpreadsheetInResponse"):
            answer["updatedSpreadsheet"] = self._resource(book)
        return answer


class _Whole:
    """All of a change is made, or nothing."""

    def __init__(self, book: Spreadsheet) -> None:
        self.book = book
        self.before = copy.deepcopy((book.sheets, book.names, book.name_ids))

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.book.sheets, self.book.names, self.book.name_ids = self.before


def _bad(message: str) -> ApiError:
    return bad_request(message, "INVALID_ARGUMENT")


def _option(text: str | None) -> str:
    if text not in ("RAW", "USER_ENTERED"):
        raise _bad("'valueInputOption' is required but not specified")
    return text


def _sheet_resource(sheet: Sheet, index: int) -> dict[str, Any]:
    properties: dict[str, Any] = {"sheetId": sheet.id, "title": sheet.title, "index": index}
    if sheet.is_hidden:
        properties["hidden"] = True
    if sheet.is_chart:
        return {"properties": {**properties, "sheetType": "OBJECT"}, **sheet.extras}
    grid = {"rowCount": sheet.rows, "columnCount": sheet.columns}
    if sheet.frozen_rows:
        grid["frozenRowCount"] = sheet.frozen_rows
    if sheet.frozen_columns:
        grid["frozenColumnCount"] = sheet.frozen_columns
    found = {"properties": {**properties, "sheetType": "GRID", "gridProperties": grid}, **sheet.extras}
    if sheet.merges:
        found["merges"] = sheet.merges
    if sheet.rules:
        found["conditionalFormats"] = sheet.rules
    if sheet.charts:
        found["charts"] = sheet.charts
    if sheet.filtered:
        found["basicFilter"] = {"range": sheet.filtered}
    return found


def _set_grid(sheet: Sheet, grid: dict[str, int]) -> None:
    sheet.rows = grid.get("rowCount", sheet.rows)
    sheet.columns = grid.get("columnCount", sheet.columns)
    sheet.frozen_rows = grid.get("frozenRowCount", sheet.frozen_rows)
    sheet.frozen_columns = grid.get("frozenColumnCount", sheet.frozen_columns)
    if sheet.frozen_rows >= sheet.rows or sheet.frozen_columns >= sheet.columns:
        raise _bad("You can't freeze all visible rows or columns on the sheet.")


def _last_table(sheet: Sheet, box: Box) -> Box | None:
    """The lowest block of filled cells, bounded by empty rows and columns, that begins in a range."""
    filled = set(sheet.filled((box[0], sheet.rows, box[2], sheet.columns)))
    inside = [place for place in filled if place[0] < box[1] and place[1] < box[3]]
    if not inside:
        return None
    block, edge = set(), [max(inside)]
    while edge:
        row, column = edge.pop()
        block.add((row, column))
        near = {(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)}
        edge += (near & filled) - block
    rows, columns = [row for row, _ in block], [column for _, column in block]
    return (min(rows), max(rows) + 1, min(columns), max(columns) + 1)


def _check_new(book: Spreadsheet, sheet_id: int, title: str) -> None:
    if any(sheet.title.casefold() == title.casefold() for sheet in book.sheets):
        raise _bad(f'A sheet with the name "{title}" already exists. Please enter another name.')
    if any(sheet.id == sheet_id for sheet in book.sheets):
        raise _bad(f"A sheet with id {sheet_id} already exists.")


def _add_sheet(book: Spreadsheet, values: dict[str, Any]) -> dict[str, Any]:
    properties = values["properties"]
    sheet = Sheet(properties.get("sheetId", 9000 + len(book.sheets)), properties["title"])
    _check_new(book, sheet.id, sheet.title)
    _set_grid(sheet, properties.get("gridProperties", {}))
    index = properties.get("index", len(book.sheets))
    book.sheets.insert(index, sheet)
    return {"addSheet": _sheet_resource(sheet, index)}


def _duplicate_sheet(book: Spreadsheet, values: dict[str, Any]) -> dict[str, Any]:
    source = book.sheet(values.get("sourceSheetId", 0))
    sheet = copy.deepcopy(source)
    sheet.id = values.get("newSheetId", 9000 + len(book.sheets))
    sheet.title = values.get("newSheetName") or f"Copy of {source.title}"
    _check_new(book, sheet.id, sheet.title)
    book.sheets.insert(values.get("insertSheetIndex", 0), sheet)
    return {"duplicateSheet": {"properties": _sheet_resource(sheet, book.sheets.index(sheet))["properties"]}}


def _delete_sheet(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet = book.sheet(values.get("sheetId", 0))
    if all(each.is_hidden or each is sheet for each in book.sheets):
        raise _bad("You can't remove all the visible sheets in a document.")
    book.sheets.remove(sheet)


def _update_sheet(book: Spreadsheet, values: dict[str, Any]) -> None:
    properties, fields = values["properties"], values["fields"].split(",")
    sheet = book.sheet(properties.get("sheetId", 0))
    for name in fields:
        if name == "title":
            sheet.title = properties["title"]
        elif name == "index":
            now = book.sheets.index(sheet)
            book.sheets.remove(sheet)
            book.sheets.insert(properties["index"] - (properties["index"] > now), sheet)
        elif name in ("gridProperties.frozenRowCount", "gridProperties.frozenColumnCount"):
            key = name.partition(".")[2]
            _set_grid(sheet, {key: properties["gridProperties"].get(key, 0)})
        else:
            raise Misfit(f"the stand-in cannot change {name} of a sheet")


def _dimension(book: Spreadsheet, range_: dict[str, Any]) -> tuple[Sheet, bool, int, int]:
    sheet, is_rows = book.sheet(range_.get("sheetId", 0)), range_["dimension"] == "ROWS"
    have = sheet.rows if is_rows else sheet.columns
    start, end = range_.get("startIndex", 0), range_.get("endIndex", have)
    if start >= have or end <= start:
        raise _bad(f"range.startIndex[{start}] must be less than grid size[{have}]")
    return sheet, is_rows, start, end


def _insert(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet, is_rows, start, end = _dimension(book, values["range"])
    if start == 0 and values.get("inheritFromBefore"):
        raise _bad("inheritFromBefore cannot be true when inserting at the beginning")
    sheet.shift(is_rows, start, end - start)


def _append(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet = book.sheet(values.get("sheetId", 0))
    if values["dimension"] == "ROWS":
        sheet.rows += values["length"]
    else:
        sheet.columns += values["length"]


def _delete(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet, is_rows, start, end = _dimension(book, values["range"])
    if end - start >= (sheet.rows if is_rows else sheet.columns):
        raise _bad("You can't delete all the rows on the sheet.")
    sheet.shift(is_rows, start, start - end)


def _sort(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet = book.sheet(values["range"].get("sheetId", 0))
    top, bottom, left, right = box_of(sheet, values["range"])
    rows = [[sheet.cells.pop((row, column), Cell()) for column in range(left, right)] for row in range(top, bottom)]
    for spec in reversed(values["sortSpecs"]):
        at = spec.get("dimensionIndex", 0) - left
        if not 0 <= at < right - left:
            raise _bad("sortSpecs.dimensionIndex is outside the range")

        def key(row: list[Cell], at: int = at) -> tuple[bool, Any]:
            return (isinstance(row[at].value, str), row[at].value)

        filled = [row for row in rows if row[at].value != ""]
        filled.sort(key=key, reverse=spec.get("sortOrder") == "DESCENDING")
        rows = filled + [row for row in rows if row[at].value == ""]
    for row_number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if cell.value != "" or cell.formula:
                sheet.cells[top + row_number, left + column] = cell


def _repeat_cell(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet = book.sheet(values["range"].get("sheetId", 0))
    for name in values["fields"].split(","):
        path = name.split(".")
        if path[0] != "userEnteredFormat" or len(path) < 2 or path[1:] == ["textFormat"] or "*" in path:
            raise Misfit(f"the mask {name} would wipe what it does not mean to")
        wanted: Any = values["cell"]
        for step in path:
            wanted = wanted.get(step) if wanted is not None else None
        for place in places_of(box_of(sheet, values["range"])):
            node = sheet.formats.setdefault(place, {})
            for step in path[1:-1]:
                node = node.setdefault(step, {})
            node[path[-1]] = wanted


def _borders(book: Spreadsheet, values: dict[str, Any]) -> None:
    for side in values.keys() - {"range"}:
        if values[side]["style"] != "NONE" and "colorStyle" not in values[side]:
            raise Misfit("a border without its colour")
    book.sheet(values["range"].get("sheetId", 0)).borders.append(values)


def _merge(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet = book.sheet(values["range"].get("sheetId", 0))
    top, bottom, left, right = box_of(sheet, values["range"])
    blocks = {
        "MERGE_ALL": [(top, bottom, left, right)],
        "MERGE_COLUMNS": [(top, bottom, column, column + 1) for column in range(left, right)],
        "MERGE_ROWS": [(row, row + 1, left, right) for row in range(top, bottom)],
    }[values["mergeType"]]
    for block in blocks:
        for place in places_of(block)[1:]:
            sheet.cells.pop(place, None)
        sheet.merges.append(
            {
                "sheetId": sheet.id,
                "startRowIndex": block[0],
                "endRowIndex": block[1],
                "startColumnIndex": block[2],
                "endColumnIndex": block[3],
            }
        )


def _unmerge(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet = book.sheet(values["range"].get("sheetId", 0))
    inside = set(places_of(box_of(sheet, values["range"])))
    sheet.merges = [each for each in sheet.merges if not inside & set(places_of(box_of(sheet, each)))]


def _resize(book: Spreadsheet, values: dict[str, Any]) -> None:
    if values["fields"] not in ("pixelSize", "hiddenByUser"):
        raise Misfit(f"the stand-in cannot change {values['fields']} of a dimension")
    sheet, _, start, end = _dimension(book, values["range"])
    if values["fields"] == "hiddenByUser":
        places = {(values["range"]["dimension"], number) for number in range(start, end)}
        sheet.hidden = sheet.hidden | places if values["properties"]["hiddenByUser"] else sheet.hidden - places
        return
    for number in range(start, end):
        sheet.sizes[values["range"]["dimension"], number] = values["properties"]["pixelSize"]


def _auto_resize(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet, _, start, end = _dimension(book, values["dimensions"])
    for number in range(start, end):
        sheet.sizes[values["dimensions"]["dimension"], number] = "auto"


def _add_rule(book: Spreadsheet, values: dict[str, Any]) -> None:
    rule = values["rule"]
    book.sheet(rule["ranges"][0].get("sheetId", 0)).rules.insert(values.get("index", 0), rule)


def _update_rule(book: Spreadsheet, values: dict[str, Any]) -> None:
    rules = book.sheet(values["rule"]["ranges"][0].get("sheetId", 0)).rules
    if values.get("index", 0) >= len(rules):
        raise _bad(f"No conditional format on sheet at index: {values.get('index', 0)}")
    rules[values.get("index", 0)] = values["rule"]


def _delete_rule(book: Spreadsheet, values: dict[str, Any]) -> None:
    rules = book.sheet(values.get("sheetId", 0)).rules
    if values.get("index", 0) >= len(rules):
        raise _bad(f"No conditional format on sheet at index: {values.get('index', 0)}")
    del rules[values.get("index", 0)]


def _validate(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet, rule = book.sheet(values["range"].get("sheetId", 0)), values.get("rule")
    if rule is not None:
        condition = rule["condition"]
        counts = {"BOOLEAN": (0, 2), "ONE_OF_LIST": (1, 500), "NUMBER_BETWEEN": (2, 2)}
        least, most = counts.get(condition["type"], (1, 1))
        if not least <= len(condition.get("values", [])) <= most:
            raise _bad(f"Invalid number of values for {condition['type']}.")
        if condition["type"] == "ONE_OF_RANGE":
            _parse(book, condition["values"][0]["userEnteredValue"])
    sheet.validations.append((box_of(sheet, values["range"]), rule))


def _parse(book: Spreadsheet, text: str) -> None:
    if not text.startswith("=") or not any(
        text[1:].startswith((f"{sheet.title}!", f"'{sheet.title}'!")) for sheet in book.sheets
    ):
        raise _bad(f"Unable to parse range: {text}")


def _add_name(book: Spreadsheet, values: dict[str, Any]) -> dict[str, Any]:
    named = values["namedRange"]
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", named["name"]) or re.fullmatch(r"[A-Za-z]{1,3}\d+", named["name"]):
        raise _bad(f"Invalid named range name: {named['name']}")
    if named["name"] in book.names or named.get("namedRangeId") in book.name_ids.values():
        raise _bad("A named range with this name or id exists already.")
    book.sheet(named["range"].get("sheetId", 0))
    book.names[named["name"]] = named["range"]
    book.name_ids[named["name"]] = named["namedRangeId"]
    return {"addNamedRange": {"namedRange": named}}


def _update_name(book: Spreadsheet, values: dict[str, Any]) -> None:
    named = values["namedRange"]
    before = book.name_of(named["namedRangeId"])
    del book.names[before]
    book.name_ids.pop(before, None)
    book.names[named["name"]] = named["range"]
    book.name_ids[named["name"]] = named["namedRangeId"]


def _delete_name(book: Spreadsheet, values: dict[str, Any]) -> None:
    name = book.name_of(values["namedRangeId"])
    del book.names[name]
    book.name_ids.pop(name, None)


def _check_spec(spec: dict[str, Any]) -> None:
    if ("basicChart" in spec) == ("pieChart" in spec):
        raise _bad("A chart has one kind.")
    basic, pie = spec.get("basicChart", {}), spec.get("pieChart", {})
    data = [each["domain"] for each in basic.get("domains", [])] + [each["series"] for each in basic.get("series", [])]
    data += [pie[name] for name in ("domain", "series") if name in pie]
    sizes = set()
    for each in data:
        (source,) = each["sourceRange"]["sources"]
        if source["endColumnIndex"] - source["startColumnIndex"] != 1:
            raise _bad("Exactly one dimension must have a length of 1.")
        sizes.add((source["startRowIndex"], source["endRowIndex"]))
    if len(sizes) != 1:
        raise _bad("All sources must have the same size.")
    side = {"BAR": "BOTTOM_AXIS"}.get(basic.get("chartType"), "LEFT_AXIS")
    if any(each["targetAxis"] != side for each in basic.get("series", [])):
        raise _bad(f"The axis of a {basic['chartType']} chart is {side}.")


def _charts_of(book: Spreadsheet, chart_id: int) -> tuple[Sheet, dict[str, Any]]:
    for sheet in book.sheets:
        for chart in sheet.charts:
            if chart["chartId"] == chart_id:
                return sheet, chart
    raise _bad(f"No chart with id: {chart_id}")


def _add_chart(book: Spreadsheet, values: dict[str, Any]) -> dict[str, Any]:
    chart = values["chart"]
    anchor = chart["position"]["overlayPosition"]["anchorCell"]
    sheet = book.sheet(anchor.get("sheetId", 0))
    if anchor.get("rowIndex", 0) >= sheet.rows or anchor.get("columnIndex", 0) >= sheet.columns:
        raise _bad("The anchor cell is outside the grid.")
    if any(each["chartId"] == chart["chartId"] for other in book.sheets for each in other.charts):
        raise _bad(f"A chart with id {chart['chartId']} exists already.")
    _check_spec(chart["spec"])
    sheet.charts.append(chart)
    return {"addChart": {"chart": chart}}


def _update_chart(book: Spreadsheet, values: dict[str, Any]) -> None:
    _, chart = _charts_of(book, values["chartId"])
    _check_spec(values["spec"])
    chart["spec"] = values["spec"]


def _delete_object(book: Spreadsheet, values: dict[str, Any]) -> None:
    sheet, chart = _charts_of(book, values["objectId"])
    sheet.charts.remove(chart)


def _set_filter(book: Spreadsheet, values: dict[str, Any]) -> None:
    book.sheet(values["filter"]["range"].get("sheetId", 0)).filtered = values["filter"]["range"]


def _clear_filter(book: Spreadsheet, values: dict[str, Any]) -> None:
    book.sheet(values.get("sheetId", 0)).filtered = None


_REQUESTS = {
    "addSheet": _add_sheet,
    "duplicateSheet": _duplicate_sheet,
    "deleteSheet": _delete_sheet,
    "updateSheetProperties": _update_sheet,
    "insertDimension": _insert,
    "appendDimension": _append,
    "deleteDimension": _delete,
    "sortRange": _sort,
    "repeatCell": _repeat_cell,
    "updateBorders": _borders,
    "mergeCells": _merge,
    "unmergeCells": _unmerge,
    "updateDimensionProperties": _resize,
    "autoResizeDimensions": _auto_resize,
    "addConditionalFormatRule": _add_rule,
    "updateConditionalFormatRule": _update_rule,
    "deleteConditionalFormatRule": _delete_rule,
    "setDataValidation": _validate,
    "addNamedRange": _add_name,
    "updateNamedRange": _update_name,
    "deleteNamedRange": _delete_name,
    "addChart": _add_chart,
    "updateChartSpec": _update_chart,
    "deleteEmbeddedObject": _delete_object,
    "setBasicFilter": _set_filter,
    "clearBasicFilter": _clear_filter,
}

SERVICE = Sheets
