"""Home, settings, secrets and keys, providers and models: what the user sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.config.keys import KeyStore as KeyStore
    from oneclaw_core.config.keys import known_secret_check as known_secret_check
    from oneclaw_core.config.plugin_settings import registered_settings as registered_settings
    from oneclaw_core.config.plugin_settings import settle_settings as settle_settings
    from oneclaw_core.config.provider_options import check_header as check_header
    from oneclaw_core.config.provider_options import check_options as check_options
    from oneclaw_core.config.provider_options import http_parts as http_parts

__getattr__, __dir__, __all__ = lazy_names(__name__)
