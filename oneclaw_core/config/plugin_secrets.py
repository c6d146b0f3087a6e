"""The secrets of a plugin, kept in the user's secret store under the plugin's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core.capabilities.declaration import STORED_SECRET
from oneclaw_core.config.setting_fields import secret_key, variable_of
from oneclaw_core.errors import UsageError
from oneclaw_core.secrets.redaction import remember_secret
from oneclaw_core.secrets.store import SecretPlace
from oneclaw_core.shipped.missing import EARLIER_KEYS
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.secrets.store import SecretStore

MAX_SECRET_CHARACTERS = 8_192
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,199}")


class PluginSecrets:
    """The secrets of one plugin; those of others are out of reach. Each is kept out of logs and errors.

    Args:
        plugin: its name.
        store: the user's secrets.
        environ: the environment; ``ONECLAW_PLUGIN_NAME`` goes before what is stored.
        declaration: the secrets that it may have beside ``fields``; ``None`` if nothing holds it.
        fields: the secret fields of its settings.
    """

    def __init__(
        self,
        plugin: str,
        store: SecretStore,
        environ: Mapping[str, str],
        declaration: Declaration | None = None,
        fields: Collection[str] = (),
    ) -> None:
        self._declaration = declaration
        self._fields = fields
        self._plugin = plugin
        self._store = store
        self._environ = environ

    async def get(self, name: str) -> str | None:
        """Return a secret, ``None`` if there is none.

        Args:
            name: of the secret, or of a field of type ``SecretStr`` of the plugin's settings.

        Raises:
            OneClawError: the keyring refuses, or the file is open to others or damaged.
        """
        key = self._key(name)
        given = self._environ.get(variable_of(f"{self._plugin}.{name}"))
        if given:
            remember_secret(given, f"{key} of {id(self._environ)}")
            return given
        stored = self._store.stored()
        earlier = EARLIER_KEYS.get(key)
        if key not in stored and earlier is not None:
            key = earlier
        place = stored.get(key)
        if place is None:
            return None
        if place is SecretPlace.FILE:
            return self._store.get(key)
        # A keyring may have to be unlocked.
        return await run_in_thread(lambda: self._store.get(key))

    async def set(self, name: str, value: str) -> None:
        """Store a secret in the place of what was stored.

        Raises:
            UsageError: the name or the value is invalid.
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        key = self._key(name)
        if not isinstance(value, str) or not value or len(value) > MAX_SECRET_CHARACTERS:
            raise UsageError(f"a secret is a text of 1 to {MAX_SECRET_CHARACTERS} characters")
        await run_in_thread(lambda: self._store.set(key, value))

    async def remove(self, name: str) -> bool:
        """Remove a secret; return True if it was stored.

        Raises:
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        key = self._key(name)
        return await run_in_thread(lambda: self._store.remove(key)) is not None

    def _key(self, name: str) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UsageError(f"the name of a secret is made of letters, digits and _ . @ + -, not {name!r}")
        if self._declaration is not None and name not in self._fields:
            self._declaration.require(STORED_SECRET, name)
        return secret_key(self._plugin, name)
