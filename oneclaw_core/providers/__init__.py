"""What authors of providers use beside ``oneclaw_core``: requests over HTTP, events, errors, retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.providers.http_provider import HttpProvider as HttpProvider

_NAMES = {
    "http_provider": "HttpProvider",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
