"""Web pages for OneClaw: fetch a page as Markdown, or open it in a browser."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tools ``webfetch`` and ``browser``."""
    for name in ("webfetch", "browser"):
        register.manifest(files(__name__) / f"{name}.json")
