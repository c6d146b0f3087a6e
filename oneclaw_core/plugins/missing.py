"""Plugins that are not installed: which distribution brings them."""

from __future__ import annotations

OUR_DISTRIBUTIONS = {
    "config": "oneclaw-config",
    "google_workspace": "oneclaw-google-workspace",
    "js_tool_management": "oneclaw-js-tool-management",
    "pdf": "oneclaw-pdf",
    "scheduled_tasks": "oneclaw-scheduled-tasks",
}
"""OneClaw's own plugins; a test compares them with the repository."""


def how_to_install(plugin: str) -> str:
    """Say how to install a plugin that something belongs to, as the end of a sentence."""
    distribution = OUR_DISTRIBUTIONS.get(plugin)
    if distribution is None:
        return f"install the package that brings the plugin {plugin}, with: oneclaw plugins install PACKAGE"
    return f"install it with: oneclaw plugins install {distribution}"
