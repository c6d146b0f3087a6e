"""The settings about plugins that are read before settings are validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.plugin import MAX_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping


def disabled_plugins(stored: Mapping[str, Any], environ: Mapping[str, str]) -> frozenset[str]:
    """Read the one setting that is needed before anything else.

    An invalid value counts as none, so that listings work whatever is stored.
    """
    return frozenset(listed_setting(stored, environ, "disabled_plugins"))


def review_required(stored: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Read the setting ``reviewed_plugins_only`` before settings are validated; an invalid value counts as on."""
    value = environ.get("ONECLAW_REVIEWED_PLUGINS_ONLY") or stored.get("reviewed_plugins_only", False)
    return value is not False and str(value).strip().casefold() not in ("false", "no", "off", "0")


def sandbox_setting(stored: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Read the setting ``sandbox`` before settings are validated; an unknown value counts as ``auto``."""
    from oneclaw_core.process.sandbox.choice import AUTO, SANDBOXES

    value = environ.get("ONECLAW_SANDBOX") or stored.get("sandbox")
    return value if value in SANDBOXES else AUTO


def listed_setting(stored: Mapping[str, Any], environ: Mapping[str, str], key: str) -> list[str]:
    """Read a setting that is a list of texts, before settings are validated."""
    value = environ.get(f"ONECLAW_{key.upper()}") or stored.get(key, ())
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return [str(each).strip() for each in items if str(each).strip()]


def plugin_order(stored: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """Return the names of the plugins whose hooks run first, in this order."""
    return listed_setting(stored, environ, "plugin_order")


def hook_timeouts(stored: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, float]:
    """Return the user's time limits of hooks in seconds, by plugin; what cannot be read is left out."""
    limits = {}
    for each in listed_setting(stored, environ, "hook_timeouts"):
        read = read_timeout(each)
        if read is not None:
            limits[read[0]] = read[1]
    return limits


def read_timeout(text: str) -> tuple[str, float] | None:
    """Read ``NAME=SECONDS``; return ``None`` if it is something else."""
    name, _, number = text.partition("=")
    try:
        seconds = float(number)
    except ValueError:
        return None
    return (name.strip(), seconds) if name.strip() and 0 < seconds <= MAX_TIMEOUT_SECONDS else None
