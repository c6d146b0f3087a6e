"""The user's settings about the hooks of plugins, which have to be known before anything is validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.registration.implementations import MAX_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping


def plugin_order(stored: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """Return the names of the plugins whose hooks run first, in this order."""
    return _listed(stored, environ, "plugin_order")


def hook_timeouts(stored: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, float]:
    """Return the user's time limits of hooks in seconds, by plugin; what cannot be read is left out."""
    limits = {}
    for each in _listed(stored, environ, "hook_timeouts"):
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


def _listed(stored: Mapping[str, Any], environ: Mapping[str, str], key: str) -> list[str]:
    value = environ.get(f"ONECLAW_{key.upper()}") or stored.get(key, ())
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return [str(each).strip() for each in items if str(each).strip()]
