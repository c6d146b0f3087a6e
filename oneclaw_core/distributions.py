"""Distributions of OneClaw: which one brings a plugin or a core tool that is not installed."""

from __future__ import annotations

import re

OUR_DISTRIBUTIONS = {
    "anthropic": "oneclaw-anthropic",
    "browser": "oneclaw-browser",
    "config": "oneclaw-config",
    "devtools": "oneclaw-devtools",
    "gemini": "oneclaw-gemini",
    "google_workspace": "oneclaw-google-workspace",
    "javascript": "oneclaw-javascript",
    "js_tool_management": "oneclaw-javascript",
    "memory": "oneclaw-memory",
    "offline": "oneclaw-offline",
    "openai": "oneclaw-openai",
    "pdf": "oneclaw-pdf",
    "postgres": "oneclaw-postgres",
    "scheduled_tasks": "oneclaw-scheduled-tasks",
    "shell": "oneclaw-shell",
    "skills": "oneclaw-skills",
    "web": "oneclaw-web",
}
"""OneClaw's own plugins; a test compares them with the repository."""

CORE_TOOLS = {
    "load_tool_group": "builtin",
    "get_current_time": "builtin",
    "read_file": "builtin",
    "write_file": "builtin",
    "webfetch": "web",
    "http_request": "builtin",
    "exec": "shell",
    "js_eval": "javascript",
    "load_skill": "skills",
    "create_agent": "builtin",
    "save_memory": "memory",
    "search_history": "memory",
    "browser": "browser",
}
"""OneClaw's own core tools and their plugins, in the order in which every request lists them.

The order is fixed: a request must begin with the bytes of the one before, also after an upgrade.
"""

_OTHER_KEYS = {"memory_max_characters": "memory", "user_tools_python": "javascript"}
"""Plugins of settings whose keys are older than the plugins."""

_PLUGIN_KEY = re.compile(r"([A-Za-z0-9_-][A-Za-z0-9_.-]*)\.\w+")


def plugin_of(key: str) -> str | None:
    """Return the plugin that a key like ``PLUGIN.FIELD`` belongs to, ``None`` for a key of OneClaw itself."""
    if key in _OTHER_KEYS:
        return _OTHER_KEYS[key]
    match = _PLUGIN_KEY.fullmatch(key)
    return match[1] if match else None


def how_to_install(plugin: str) -> str:
    """Say how to install a plugin that something belongs to, as the end of a sentence."""
    distribution = OUR_DISTRIBUTIONS.get(plugin)
    if distribution is None:
        return f"install the package that brings the plugin {plugin}, with: oneclaw plugins install PACKAGE"
    return f"install it with: oneclaw plugins install {distribution}"
