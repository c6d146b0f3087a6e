"""The tool of the group ``google_sheets`` that formats cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.sheets.book import read_book
from oneclaw_google_workspace.sheets.formats import Format, requests_for
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_core import ToolContext


@google_tool
async def sheets_format_cells(
    spreadsheet_id: str,
    range: str,  # noqa: A002  # the parameter's name in the manifest
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    strikethrough: bool | None = None,
    font_family: str | None = None,
    font_size: int | None = None,
    text_color: str | None = None,
    background_color: str | None = None,
    number_format: str | None = None,
    number_pattern: str | None = None,
    horizontal_alignment: str | None = None,
    vertical_alignment: str | None = None,
    wrap: str | None = None,
    borders: str | None = None,
    border_style: str = "SOLID",
    border_color: str = "#000000",
    merge: str | None = None,
    column_width: int | None = None,
    row_height: int | None = None,
    auto_resize_columns: bool = False,
    conditional_rule: dict[str, Any] | None = None,
    validation: dict[str, Any] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Format cells."""
    google = connect(context)
    format_ = Format(
        bold,
        italic,
        underline,
        strikethrough,
        font_family,
        font_size,
        text_color,
        background_color,
        number_format,
        number_pattern,
        horizontal_alignment,
        vertical_alignment,
        wrap,
        borders,
        border_style,
        border_color,
        merge,
        column_width,
        row_height,
        auto_resize_columns,
        conditional_rule,
        validation,
    )
    book = await read_book(google, spreadsheet_id)
    place = book.place(range)
    _ = place.inside
    requests = requests_for(format_, place)
    applied = format_.applied
    loss = " (of each block of merged cells only the first value stays)" if merge not in (None, "UNMERGE") else ""
    await google.ask(f"format {place.text} of the spreadsheet {listing([book.title])}: {format_.described}{loss}")
    await google.call(
        "sheets.spreadsheets.batchUpdate",
        spreadsheetId=book.id,
        body={"requests": requests},
        fields="spreadsheetId",
        # A rule that is added a second time is there twice; all else only sets what it is to be.
        is_repeatable=conditional_rule is None or conditional_rule.get("index") is not None,
        unclear_hint="Look for the rule with sheets_get_info and include conditional_formats",
    )
    return {"range": place.text, "applied": applied}
