"""Say which distribution of OneClaw brings a plugin, a tool or a command that is not installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core.plugins.distributions import CORE_TOOLS, OUR_DISTRIBUTIONS, PROVIDER_PLUGINS, SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

GROUPS: dict[str, str] = SHIPPED["groups"]
"""Tool groups of OneClaw's own plugins."""
COMMANDS: dict[str, str] = SHIPPED["commands"]
"""Commands of OneClaw's own plugins, by what stands behind ``oneclaw``."""

_OTHER_KEYS = {"memory_max_characters": "memory", "user_tools_python": "javascript"}
"""Plugins of settings whose keys are older than the plugins."""

EARLIER_KEYS = {
    "notify.mail_server": "scheduled_tasks.mail_server",
    "notify.mail_user": "scheduled_tasks.mail_user",
    "notify.mail_password": "scheduled_tasks.mail_password",
    "notify.mail_address": "scheduled_tasks.mail_address",
    "triggers.mail_server": "scheduled_tasks.mail_inbox_server",
    "triggers.mail_user": "scheduled_tasks.mail_user",
    "triggers.mail_password": "scheduled_tasks.mail_password",
}
"""Keys that settings had when another plugin had them; values under these count until others are set."""


def keys_now(earlier: str) -> str | None:
    """Name the settings that had a key earlier, ``None`` if there are none."""
    return " and ".join(key for key, before in EARLIER_KEYS.items() if before == earlier) or None


_PARTS = {
    "tool": CORE_TOOLS,
    "tool group": GROUPS,
    "chat command": SHIPPED["chat_commands"],
    "channel": SHIPPED["channels"],
    "trigger": SHIPPED["triggers"],
}

_HOME_FILES = {"MEMORY.md": "memory", "skills": "skills", "tools": "javascript"}

_PLUGIN_KEY = r"([A-Za-z0-9_-][A-Za-z0-9_.-]*)\.\w+"


def plugin_of(key: str) -> str | None:
    """Return the plugin that a key like ``PLUGIN.FIELD`` belongs to, ``None`` for a key of OneClaw itself."""
    if key in _OTHER_KEYS:
        return _OTHER_KEYS[key]
    match = re.fullmatch(_PLUGIN_KEY, key)
    return match[1] if match else None


def how_to_install(plugin: str) -> str:
    """Say how to install a plugin that something belongs to, as the end of a sentence."""
    distribution = OUR_DISTRIBUTIONS.get(plugin)
    if distribution is None:
        return f"install the package that brings the plugin {plugin}, with: {install_command('PACKAGE')}"
    return f"install it with: {install_command(distribution)}"


def why_missing(plugin: str, absent: Mapping[str, str]) -> str:
    """Say why a plugin is missing and how to get it, as the end of a sentence that names it.

    Args:
        plugin: its name.
        absent: installed plugins that are not loaded, as ``Catalog.absent_plugins`` describes them.
    """
    return absent.get(plugin) or f"is missing: {how_to_install(plugin)}"


def install_command(distribution: str) -> str:
    """Return the command that installs a distribution: pip without the plugin that has ``oneclaw plugins install``."""
    from importlib.util import find_spec

    has_installer = distribution != OUR_DISTRIBUTIONS["devtools"] and find_spec("oneclaw_devtools") is not None
    return f"{'oneclaw plugins install' if has_installer else 'pip install'} {distribution}"


def missing_part(kind: str, name: str, absent: Mapping[str, str]) -> str | None:
    """Say which plugin of OneClaw brings something that is not there, and how to get it.

    Args:
        kind: the noun: ``tool``, ``tool group``, ``chat command``, ``channel``, ``trigger`` or ``plugin``; of
            others, nothing is known.
        name: the name that no loaded plugin knows.
        absent: installed plugins that are not loaded, and why.

    Returns:
        The end of a sentence; ``None`` for a name that is not of OneClaw.
    """
    plugin = name if kind == "plugin" else _PARTS.get(kind, {}).get(name)
    if plugin is None or plugin not in OUR_DISTRIBUTIONS:
        return None
    return f"it needs the plugin {plugin}, which {why_missing(plugin, absent)}"


def unknown_name(what: str, name: str, known: Iterable[str], listing: str, absent: Mapping[str, str]) -> str:
    """Say that nothing has a name, and how to get it or which names are similar.

    Args:
        what: the noun, such as ``tool``.
        name: the unknown name.
        known: the names there are.
        listing: the command that lists them.
        absent: installed plugins that are not loaded, and why.
    """
    hint = missing_part(what, name, absent)
    if hint is None:
        close = similar_names(name, known)
        hint = f"did you mean {close}?" if close else f"list them with: {listing}"
    return f"there is no {what} {name!r}; {hint}"


def similar_names(name: str, known: Iterable[str]) -> str:
    """Return the known names that are similar, joined by ``or``; empty if there are none."""
    from difflib import get_close_matches

    return " or ".join(get_close_matches(name, list(known), cutoff=0.6))


def models_to_install() -> str:
    """Say which distributions bring a model, as the end of a sentence."""
    *others, last = (
        OUR_DISTRIBUTIONS[plugin] for plugin in sorted({*PROVIDER_PLUGINS.values()} - {"offline", "chain"})
    )
    return (
        f"with a provider of {', '.join(others)} or {last}; {OUR_DISTRIBUTIONS['offline']} brings rules that need "
        "neither a key nor a network"
    )


def missing_type(type_name: str, known: Iterable[str], absent: Mapping[str, str]) -> str:
    """Say that no loaded plugin brings a provider type, and how to get it."""
    cause = f"no plugin brings the provider type {type_name!r}"
    if type_name in PROVIDER_PLUGINS:
        plugin = PROVIDER_PLUGINS[type_name]
        return f"{cause}: it needs the plugin {plugin}, which {why_missing(plugin, absent)}"
    return f"{cause}; there are: {', '.join(known) or 'none'}"


def missing_parts(home: Path, installed: Iterable[str]) -> dict[str, str]:
    """Find files of a home that belong to plugins which are not installed.

    Args:
        home: the directory.
        installed: names of the installed plugins, disabled ones too.

    Returns:
        One line about the files by the plugin's name.
    """
    names = set(installed)
    return {
        plugin: f"{home / file} is not used, because the plugin {plugin} is not installed"
        for file, plugin in _HOME_FILES.items()
        if plugin not in names and _has_content(home / file)
    }


def _has_content(path: Path) -> bool:
    try:
        return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0
    except OSError:
        return False
