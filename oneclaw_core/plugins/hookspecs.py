"""The former place of :mod:`oneclaw_core.hookspecs`."""

from oneclaw_core._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, "oneclaw_core.hookspecs")
