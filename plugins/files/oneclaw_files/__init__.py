"""Project files for OneClaw: edit, patch, list, find, search and view them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``files``; its functions are imported when they first run."""
    register.manifest(files(__name__) / "files.json")
