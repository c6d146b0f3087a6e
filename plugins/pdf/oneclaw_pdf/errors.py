"""The errors of PDF files and of requests about them."""

from __future__ import annotations


class PdfProblem(Exception):  # noqa: N818  # becomes a tool's answer, and is caught where the tool begins
    """The tool cannot do what it was asked.

    Attributes:
        error_type: ``file_not_found``, ``permission_denied``, ``pdf_error``, ``password_required``,
            ``wrong_password``, ``invalid_page_range`` or ``invalid_page``.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
