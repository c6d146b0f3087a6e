"""Opening PDF files with PDFium, and telling what is wrong with those that cannot be opened."""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pypdfium2  # type: ignore[import-untyped]  # ships no types
from pypdfium2 import raw

from oneclaw_pdf.errors import PdfProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

    from oneclaw_core import ToolContext

# Readers accept a header that stands anywhere in the first 1024 bytes.
_HEADER_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Document:
    """An open PDF file.

    Attributes:
        path: absolute, without symbolic links.
        shown: the path as a tool should name it.
        size_bytes: of the file.
        pdf: PDFium's document.
    """

    path: Path
    shown: str
    size_bytes: int
    pdf: pypdfium2.PdfDocument

    @property
    def name(self) -> str:
        """The name of the file, on one line whatever it contains."""
        return on_one_line(self.path.name)

    @property
    def page_count(self) -> int:
        """The number of pages that the file states."""
        return len(self.pdf)

    @property
    def is_encrypted(self) -> bool:
        """True if the file is encrypted, by a password for opening or for its use."""
        return bool(raw.FPDF_GetSecurityHandlerRevision(self.pdf) != -1)

    def load_page(self, number: int) -> pypdfium2.PdfPage:
        """Load a page by its number from 1.

        Raises:
            PdfProblem: ``pdf_error``; the page is damaged.
        """
        try:
            return self.pdf[number - 1]
        except pypdfium2.PdfiumError:
            raise PdfProblem("pdf_error", f"Page {number} of {self.shown} is damaged and cannot be read.") from None


@contextmanager
def open_document(path: str, password: str | None, context: ToolContext) -> Iterator[Document]:
    """Open a PDF file for a tool.

    Args:
        path: as the model gave it.
        password: for an encrypted file.
        context: of the call; its ``paths`` decide what may be read.

    Raises:
        PermissionDeniedError: the path is outside the directories that tools may read.
        PdfProblem: ``file_not_found``, ``permission_denied`` (by the system), ``password_required``,
            ``wrong_password``, or ``pdf_error`` for what is no intact PDF file.
    """
    resolved, stream = _open_file(path, context)
    shown = on_one_line(context.paths.display(resolved))
    with stream:
        pdf = _load(stream, shown, password)
        try:
            if pdf.get_formtype() != raw.FORMTYPE_NONE:
                pdf.init_forms()  # before any page is loaded: else nothing gives or draws the values of fields
            yield Document(resolved, shown, os.fstat(stream.fileno()).st_size, pdf)
        except pypdfium2.PdfiumError as error:
            raise PdfProblem("pdf_error", f"{shown} is damaged: {error}") from error
        finally:
            pdf.close()


def on_one_line(name: str) -> str:
    """Write a file name without what ends a line or steers a terminal."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", name)


def _load(stream: BufferedReader, shown: str, password: str | None) -> pypdfium2.PdfDocument:
    if b"%PDF-" not in stream.read(_HEADER_BYTES):
        raise PdfProblem("pdf_error", f"{shown} is not a PDF file: it does not begin like one.")
    try:
        return pypdfium2.PdfDocument(stream, password=password)
    except pypdfium2.PdfiumError as error:
        problem = _loading_problem(getattr(error, "err_code", None), shown, is_password_given=bool(password))
        raise problem from None
    except UnicodeEncodeError:
        raise _loading_problem(raw.FPDF_ERR_PASSWORD, shown, is_password_given=True) from None


def _loading_problem(code: int | None, shown: str, *, is_password_given: bool) -> PdfProblem:
    if code == raw.FPDF_ERR_PASSWORD and is_password_given:
        return PdfProblem("wrong_password", f"The password does not open {shown}. Ask the user for the right one.")
    if code == raw.FPDF_ERR_PASSWORD:
        return PdfProblem(
            "password_required", f"{shown} is encrypted. Ask the user for its password and call again with password."
        )
    if code == raw.FPDF_ERR_SECURITY:
        return PdfProblem("pdf_error", f"{shown} is encrypted in a way that is not supported, such as by certificate.")
    return PdfProblem("pdf_error", f"{shown} is damaged or incomplete: no pages can be read from it.")


def _open_file(path: str, context: ToolContext) -> tuple[Path, BufferedReader]:
    named = repr(path if len(path) <= 300 else path[:300] + "…")
    try:
        resolved = context.paths.readable(path)
        _require_regular(resolved.lstat(), named)
        # No symbolic link is followed, and no named pipe waited for, that was put there just now.
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise PdfProblem("file_not_found", f"File not found: {path}") from None
    except PermissionError:
        raise PdfProblem("permission_denied", f"The system does not let you read {named}.") from None
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise PdfProblem("file_not_found", f"Cannot open {named}: {reason}") from None
    stream = os.fdopen(descriptor, "rb")
    try:
        _require_regular(os.fstat(descriptor), named)
    except PdfProblem:
        stream.close()
        raise
    return resolved, stream


def _require_regular(found: os.stat_result, named: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise PdfProblem("pdf_error", f"{named} is a directory, not a PDF file.")
    if not stat.S_ISREG(found.st_mode):
        raise PdfProblem("pdf_error", f"{named} is a device, pipe or link, not a PDF file.")
