"""Configuring OneClaw by talking to it: providers, models, agents, settings, tools and environment variables."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``config``; its functions are imported when they first run."""
    register.manifest(files(__name__) / "config.json")
