"""The keys of model services: from the environment, else from the system keyring or from a file of the home."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.providers.known import KnownProviders
from oneclaw_core.secrets.redaction import remember_secrets_of
from oneclaw_core.secrets.store import SecretStore, SecretUnreadableError, SecretWords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.config.home import Home

MAX_KEY_CHARACTERS = 8_192
_WORDS = SecretWords("the key of {name}", "the keys", "key", "oneclaw keys set {name}")


class KeySource(StrEnum):
    """Where a key comes from."""

    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"


def check_key(text: str) -> str:
    """Check what somebody typed or piped as a key; it is never repeated.

    Returns:
        The key, without spaces around it.

    Raises:
        UsageError: it can be no key.
    """
    key = text.strip()
    if not key:
        raise UsageError("the key is empty: nothing is stored")
    if len(key) > MAX_KEY_CHARACTERS or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            "that is no key, and is not stored: a key is one line of visible ASCII characters without spaces, "
            f"{MAX_KEY_CHARACTERS} at most"
        )
    return key


def secret_store(home: Home) -> SecretStore:
    """Return the keys of providers, by their names, and the secrets of plugins, by ``PLUGIN.NAME``."""
    return SecretStore(home.path / "keys.json", home.locks, _WORDS)


class KeyStore:
    """The keys of one user.

    The file ``keys.json`` in the home says of which providers a key is stored, and holds the keys that are not in the
    system keyring; the keyring is asked for a key that it is said to have, never otherwise.

    Args:
        home: whose keys.
        environ: the environment, which goes before what is stored.
        known: what plugins say about providers; not needed for what is stored alone.
    """

    def __init__(self, home: Home, environ: Mapping[str, str], known: KnownProviders | None = None) -> None:
        self._home = home
        self._secrets = secret_store(home)
        self._environ = environ
        self._known = known or KnownProviders()
        remember_secrets_of(environ)

    def get(self, provider: str) -> str | None:
        """Find a provider's key; the keyring may make this wait until its owner has unlocked it.

        Raises:
            OneClawError: the file is open to others or damaged, or the keyring refuses.
        """
        variable = self._known.key_variable_of(provider)
        key = self._environ.get(variable)
        if key:
            return key
        try:
            return self._secrets.get(provider)
        except SecretUnreadableError as error:
            raise OneClawError(f"{error}; or set it in the environment variable {variable}") from None

    async def find(self, provider: str) -> str | None:
        """The same as :meth:`get`, without holding up the event loop while a keyring is being unlocked."""
        source = self.source(provider)
        if source is None:
            return None
        if source is not KeySource.KEYRING:
            return self.get(provider)
        from oneclaw_core.process.threads import run_in_thread

        return await run_in_thread(lambda: self.get(provider))

    def remember_stored(self) -> None:
        """Have the keys in the file redacted from now on; those in the keyring are once it has given them.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        self._secrets.remember_stored()

    def source(self, provider: str) -> KeySource | None:
        """Say where a provider's key comes from, ``None`` if it has none; no keyring is asked.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        if self._environ.get(self._known.key_variable_of(provider)):
            return KeySource.ENVIRONMENT
        return self.stored().get(provider)

    def stored(self) -> dict[str, KeySource]:
        """Say of which providers a key is stored, and where; what the environment has does not count.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return {name: KeySource(place) for name, place in self._secrets.stored().items()}

    def set(self, provider: str, key: str, *, in_file: bool = False) -> KeySource:
        """Store a key in the place of what was stored.

        Args:
            provider: its name.
            key: as :func:`check_key` gives it.
            in_file: do not use the system keyring.

        Returns:
            Where it is now: in the keyring, or in the file if there is no keyring to be used.

        Raises:
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        self._home.create()
        return KeySource(self._secrets.set(provider, key, in_file=in_file))

    def remove(self, provider: str) -> KeySource | None:
        """Forget a stored key.

        Returns:
            Where it was; ``None`` if none was stored.

        Raises:
            OneClawError: the file cannot be written, or the keyring would not delete the key.
        """
        self._home.create()
        place = self._secrets.remove(provider)
        return None if place is None else KeySource(place)
