"""The tools of the group ``pdf``, as ``pdf.json`` declares them."""

from __future__ import annotations

from oneclaw_core import ToolContext, ToolResult, untrusted
from oneclaw_pdf.beside_text import unreadable_parts
from oneclaw_pdf.document import open_document
from oneclaw_pdf.errors import PdfProblem
from oneclaw_pdf.extraction import Extraction, extract
from oneclaw_pdf.information import describe
from oneclaw_pdf.page_lists import format_page_list, parse_page_list
from oneclaw_pdf.rendering import MAX_DPI, MIN_DPI, render_page

# Room in what a model is shown for the notes at the end.
_NOTES_CHARACTERS = 400
_LEAST_CHARACTERS = 200


def pdf_info(path: str, password: str | None = None, *, context: ToolContext) -> ToolResult:
    """Tell what a PDF file says about itself.

    Args:
        path: absolute, or relative to the start directory, else to the workspace.
        password: for an encrypted file.
        context: of the call.

    Raises:
        PermissionDeniedError: the path lies outside both directories.
    """
    try:
        with open_document(path, password, context) as document:
            return ToolResult.success(describe(document))
    except PdfProblem as problem:
        return ToolResult.error(problem.error_type, str(problem))


def pdf_extract_text(
    path: str,
    pages: str = "all",
    max_chars: int = 50_000,
    offset: int = 0,
    password: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Extract text from a PDF file.

    Args:
        path: absolute, or relative to the start directory, else to the workspace.
        pages: such as ``1,3,5-7``, or ``all``.
        max_chars: how many characters of text to return, of those that the model is shown.
        offset: how many to leave out before them.
        password: for an encrypted file.
        context: of the call.

    Raises:
        PermissionDeniedError: the path lies outside both directories.
    """
    if max_chars < 1:
        return ToolResult.error("validation_error", f"max_chars must be 1 or more, not {max_chars}.")
    if offset < 0:
        return ToolResult.error("validation_error", f"offset must be 0 or more, not {offset}.")
    try:
        with open_document(path, password, context) as document:
            numbers = parse_page_list(pages, document.page_count)
            asked = format_page_list(numbers)
            header = f"File: {document.name}\nPages asked for: {asked}\nTotal pages: {document.page_count}"
            if context.shown_characters is not None:
                # The notes, too, may list all the pages.
                beside = len(header) + len(untrusted("", _source(document.name))) + len(asked) + _NOTES_CHARACTERS
                max_chars = min(max_chars, max(context.shown_characters - beside, _LEAST_CHARACTERS))
            extraction = extract(document, numbers, max_chars, offset)
            unread_parts = list(unreadable_parts(document.pdf))
    except PdfProblem as problem:
        return ToolResult.error(problem.error_type, str(problem))
    if offset and not extraction.text:
        wrong = f"offset must be below {extraction.full_length}, the number of characters of the text"
        late = f" that there was time for: ask for the pages {format_page_list(extraction.unread)} without offset"
        return ToolResult.error("validation_error", f"{wrong}{late if extraction.unread else ''}.")
    return ToolResult.success(f"{header}\n\n{_body(extraction, offset, document.name, unread_parts)}")


def pdf_render_page(
    path: str, page: int, dpi: int = 150, password: str | None = None, *, context: ToolContext
) -> ToolResult:
    """Render a page of a PDF file to a PNG file in the workspace, and show it to the model.

    Args:
        path: absolute, or relative to the start directory, else to the workspace.
        page: its number, from 1.
        dpi: the resolution, taken into the range of 72 to 300.
        password: for an encrypted file.
        context: of the call.

    Raises:
        PermissionDeniedError: the path lies outside both directories.
    """
    try:
        with open_document(path, password, context) as document:
            render = render_page(document, page, dpi, context)
    except PdfProblem as problem:
        return ToolResult.error(problem.error_type, str(problem))
    except OSError as error:
        return ToolResult.error("execution_error", f"The image cannot be written: {error.strerror or error}")
    if render.dpi == dpi:
        note = ""
    elif dpi < MIN_DPI or (dpi > MAX_DPI and render.dpi == MAX_DPI):
        note = f" ({dpi} was asked for; possible are {MIN_DPI} to {MAX_DPI})"
    else:
        note = f" ({dpi} was asked for; lowered because the page is very large)"
    return ToolResult.success(
        f"Image: {render.path}\n"
        f"Size: {render.width} x {render.height} pixels\n"
        f"DPI: {render.dpi}{note}\n"
        f"Bytes: {render.size_bytes}",
        (render.shown,),
    )


def _body(extraction: Extraction, offset: int, name: str, unread_parts: list[str]) -> str:
    notes = [f"[not in this text: {each}]" for each in unread_parts]
    if extraction.is_without_text:
        scanned = (
            "These pages have no text layer; they are probably scanned. "
            "Render them with pdf_render_page and look at the images."
        )
        return "\n\n".join([scanned, *notes])
    if extraction.cut_page is not None:
        end = offset + len(extraction.text)
        notes.append(
            f"[cut here, on page {extraction.cut_page}: characters {offset + 1} to {end} of {extraction.full_length} "
            f"are shown; go on with offset {end} and the same pages]"
        )
    if extraction.unread:
        notes.append(f"[there was no time for the pages {format_page_list(extraction.unread)}; ask for them again]")
    return "\n\n".join([untrusted(extraction.text, _source(name)), *notes])


def _source(name: str) -> str:
    return f"the document {name}"
