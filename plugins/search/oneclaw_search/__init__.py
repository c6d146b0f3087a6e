"""Web search for OneClaw: without a key, with SearXNG, Brave or Tavily, or by a model that searches."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import SettingsRegistrar, ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``search``; its function is imported when it first runs."""
    register.manifest(files(__name__) / "search.json")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the settings of the search."""
    register("oneclaw_search.settings:SearchSettings")
