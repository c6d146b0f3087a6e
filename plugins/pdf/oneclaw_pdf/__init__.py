"""PDF tools for OneClaw: what a PDF file says about itself, its text, and pictures of its pages."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``pdf``; its functions, and PDFium with them, are imported when they first run."""
    register.manifest(files(__name__) / "pdf.json")
