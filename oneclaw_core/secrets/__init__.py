"""Secrets: kept in the keyring or a private file, and out of output and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.secrets.redaction import SHORTEST_KEY_CHARACTERS as SHORTEST_KEY_CHARACTERS

__getattr__, __dir__, __all__ = lazy_names(__name__)
