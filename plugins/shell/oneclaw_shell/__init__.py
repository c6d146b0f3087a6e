"""A shell for OneClaw: run commands."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tool ``exec``."""
    register.manifest(files(__name__) / "exec.json")
