"""The names of ``oneclaw_http_providers``, which this module held before; version 0.4 removes it."""

from __future__ import annotations

from oneclaw_core._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, "oneclaw_http_providers")
