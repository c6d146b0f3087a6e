"""Distributions of OneClaw: their plugins, and the order of their core tools and providers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneclaw_core.plugins.plugin import Plugin

CORE_DISTRIBUTION = "oneclaw-core"

# Written by release/shipped_parts.py.
SHIPPED: dict[str, Any] = json.loads(Path(__file__).with_name("shipped_parts.json").read_bytes())
OUR_DISTRIBUTIONS: dict[str, str] = SHIPPED["our_distributions"]
"""OneClaw's own plugins and their distributions."""
OURS = frozenset({CORE_DISTRIBUTION, *OUR_DISTRIBUTIONS.values()})
"""OneClaw's own distributions; another one whose name begins with ``oneclaw-`` is not among them."""
CORE_TOOLS = {
    "load_tool_group": "builtin",
    "find_tool_groups": "builtin",
    "get_current_time": "builtin",
    "read_file": "builtin",
    "write_file": "builtin",
    "webfetch": "web",
    "http_request": "builtin",
    "exec": "shell",
    "js_eval": "javascript",
    "load_skill": "skills",
    "create_agent": "agents",
    "save_memory": "memory",
    "search_history": "memory",
    "browser": "web",
}
"""OneClaw's own core tools and their plugins, in the order in which every request lists them.

The order is fixed: a request must begin with the bytes of the one before, also after an upgrade.
"""

PROVIDER_PLUGINS = {
    "offline": "offline",
    "openai": "openai",
    "openai_compatible": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "openai",
    "chain": "chain",
}
"""OneClaw's own provider types and preconfigured providers, and their plugins, in the order of listings."""


def normalised(name: str) -> str:
    """Return the name of a package as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_ours(plugin: Plugin) -> bool:
    """Return True for an installed plugin of one of OneClaw's own distributions."""
    return plugin.is_builtin or (plugin.is_installed and normalised(plugin.distribution or "") in OURS)
