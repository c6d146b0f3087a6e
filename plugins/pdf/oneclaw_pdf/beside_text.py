"""Content that is not in the text layer: values of form fields, comments, stamps, attached files."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pypdfium2 import raw  # type: ignore[import-untyped]  # ships no types

from oneclaw_pdf.errors import PdfProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pypdfium2

    from oneclaw_pdf.document import Document

MAX_VALUE_CHARACTERS = 2_000
MAX_ANNOTATIONS = 1_000
_PASSWORD_FLAG = 1 << 13
_CHECKED = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
_NO_VALUE = (raw.FPDF_FORMFIELD_PUSHBUTTON, raw.FPDF_FORMFIELD_UNKNOWN)
# Parts of the page itself, and the windows that comments open in.
_NO_COMMENTS = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_XFAWIDGET, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
_DRAWN = {
    raw.FPDF_ANNOT_STAMP: "stamp",
    raw.FPDF_ANNOT_INK: "drawing",
    raw.FPDF_ANNOT_FILEATTACHMENT: "attached file",
    raw.FPDF_ANNOT_SOUND: "sound",
    raw.FPDF_ANNOT_REDACT: "redaction",
}
_XFA = (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)


@dataclass(frozen=True, slots=True)
class BesideText:
    """Content of a page beside its text layer.

    Attributes:
        fields: name and value of each form field that is filled in.
        empty_fields: how many are not.
        comments: author, may be empty, and text of each.
        drawn: how many of each kind have no text.
    """

    fields: tuple[tuple[str, str], ...] = ()
    empty_fields: int = 0
    comments: tuple[tuple[str, str], ...] = ()
    drawn: tuple[tuple[str, int], ...] = ()

    def lines(self) -> list[str]:
        """Return it as lines to put behind the text of the page."""
        lines = [f"[form field] {name}: {value}" for name, value in self.fields]
        lines += [f"[comment{f' by {author}' if author else ''}] {text}" for author, text in self.comments]
        if self.drawn:
            counted = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in self.drawn)
            lines.append(f"[not in this text: {counted}; look at this page with pdf_render_page]")
        return lines


def beside_text(pdf: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> BesideText:
    """Read what a page shows beside its text layer."""
    fields: dict[tuple[str, str], None] = {}
    comments: list[tuple[str, str]] = []
    drawn: Counter[str] = Counter()
    empty = 0
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
        with _annotation(page, index) as annotation:
            if not annotation:
                continue
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == raw.FPDF_ANNOT_WIDGET and pdf.formenv is not None:
                field = _field(pdf.formenv, annotation)
                fields |= {field: None} if field and field[1] else {}
                empty += field is not None and not field[1]
            elif kind not in _NO_COMMENTS:
                text = _text(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
                if text:
                    comments.append((_text(raw.FPDFAnnot_GetStringValue, annotation, b"T"), text))
                elif kind in _DRAWN:
                    drawn[_DRAWN[kind]] += 1
    return BesideText(tuple(fields), empty, tuple(comments), tuple(sorted(drawn.items())))


def attached_files(pdf: pypdfium2.PdfDocument) -> list[str]:
    """Return the names of the files that are attached to a document."""
    return [_clean(pdf.get_attachment(index).get_name()) for index in range(pdf.count_attachments())]


def unreadable_parts(pdf: pypdfium2.PdfDocument) -> Iterator[str]:
    """Name what a document has that no page shows."""
    count = pdf.count_attachments()
    if count:
        yield f"{count} attached file{'s' if count > 1 else ''}, which pdf_info names"
    if is_xfa(pdf):
        yield "an XFA form, whose content may be missing from the pages: ask the user for a printed copy"


def is_xfa(pdf: pypdfium2.PdfDocument) -> bool:
    """Return True if the form is in a format that few programs show; its pages may only say so."""
    return pdf.get_formtype() in _XFA


def describe_beside(document: Document, numbers: Iterator[int]) -> Iterator[str]:
    """Describe in lines ``Key: value`` what some pages show beside their text layer."""
    filled = empty = 0
    commented: list[int] = []
    drawn: Counter[str] = Counter()
    for number in numbers:
        try:
            page = document.load_page(number)
        except PdfProblem:
            continue
        found = beside_text(document.pdf, page)
        page.close()
        filled, empty = filled + len(found.fields), empty + found.empty_fields
        commented += [number] * bool(found.comments)
        drawn.update(dict(found.drawn))
    if filled or empty:
        yield f"Form fields: {filled} filled in, {empty} empty; pdf_extract_text gives their values"
    if is_xfa(document.pdf):
        yield "XFA form: yes; its content may be missing from the pages, ask the user for a printed copy"
    if commented:
        pages = ", ".join(map(str, commented[:20]))
        yield f"Comments: on pages {pages}{' and others' if len(commented) > 20 else ''}; pdf_extract_text gives them"
    for kind, count in sorted(drawn.items()):
        yield f"Not in the text: {count} {kind}{'s' if count > 1 else ''}; look at the pages with pdf_render_page"


@contextmanager
def _annotation(page: pypdfium2.PdfPage, index: int) -> Iterator[Any]:
    annotation = raw.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation
    finally:
        if annotation:
            raw.FPDFPage_CloseAnnot(annotation)


def _field(forms: Any, annotation: Any) -> tuple[str, str] | None:
    kind = raw.FPDFAnnot_GetFormFieldType(forms, annotation)
    if kind in _NO_VALUE or kind < 0:
        return None
    name = _text(raw.FPDFAnnot_GetFormFieldName, forms, annotation) or "without a name"
    if raw.FPDFAnnot_GetFormFieldFlags(forms, annotation) & _PASSWORD_FLAG:
        return name, "(hidden)"
    if kind in _CHECKED:
        if not raw.FPDFAnnot_IsChecked(forms, annotation):
            return name, ""
        chosen = _text(raw.FPDFAnnot_GetFormFieldExportValue, forms, annotation)
        return name, f"checked ({chosen})" if chosen else "checked"
    if kind == raw.FPDF_FORMFIELD_SIGNATURE:
        is_signed = raw.FPDFAnnot_HasKey(annotation, b"V")
        return name, "signed" if is_signed else ""
    return name, _text(raw.FPDFAnnot_GetFormFieldValue, forms, annotation)


def _text(read: Callable[..., int], *arguments: Any) -> str:
    """Call a function of PDFium that writes a text into a buffer."""
    size = read(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(*arguments, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return _clean(buffer.raw[:size].decode("utf-16-le", "replace"))


def _clean(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f\s]+", " ", text).strip()[:MAX_VALUE_CHARACTERS]
