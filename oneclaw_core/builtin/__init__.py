"""The core tools, a plugin like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from oneclaw_core.plugins.registrars import ToolRegistrar

MANIFESTS = ("get_current_time", "read_file", "write_file", "http_request")


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tools, the way to load all others among them."""
    from oneclaw_core.json_schema.compact import types_of_results
    from oneclaw_core.tools.group_tools import FindToolGroupsTool, LoadToolGroupTool

    register(LoadToolGroupTool(register.registry, types_of_results))
    register(FindToolGroupsTool(register.registry))
    for name in MANIFESTS:
        register.manifest(Path(__file__).parent / "manifests" / f"{name}.json")
