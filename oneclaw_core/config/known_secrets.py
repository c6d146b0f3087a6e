"""Secrets that OneClaw knows, found in texts that must not hold any."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from oneclaw_core.config.environment import EnvironmentVariables
from oneclaw_core.config.keys import KeyStore
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.config.home import Home


def known_secret_check(home: Home, environ: Mapping[str, str] | None = None) -> Callable[[str], bool]:
    """Make a function that returns True if a text holds a known secret.

    Known are the secrets of the environment, the stored keys and the variables of the user's own tools. A keyring is
    not asked; keys that it returned since the program began count.

    Args:
        home: whose keys.
        environ: the environment; by default the program's own.
    """
    environ = os.environ if environ is None else environ
    keys, variables = KeyStore(home, environ), EnvironmentVariables(home)

    def holds_known_secret(text: str) -> bool:
        keys.remember_stored()
        variables.values()
        return redact(text, environ) != text

    return holds_known_secret
