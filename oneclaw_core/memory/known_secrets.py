"""Whether a text holds a secret that OneClaw itself knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.config.environment import EnvironmentVariables
from oneclaw_core.config.keys import KeyStore
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.config.home import Home


def known_secret_check(home: Home, environ: Mapping[str, str]) -> Callable[[str], bool]:
    """Make a function that says whether a text holds a secret: of the environment, of the stored keys, of the variables
    of the user's own tools. A keyring is not asked; what it has given since the program began counts.

    Args:
        home: whose keys.
        environ: the environment.
    """
    keys, variables = KeyStore(home, environ), EnvironmentVariables(home)

    def holds_known_secret(text: str) -> bool:
        keys.remember_stored()
        variables.values()
        return redact(text, environ) != text

    return holds_known_secret
