"""The secrets that a user stores: keys of model services, and environment variables of the user's own tools.

A key comes from the environment, else from the system keyring or a file of the home. The variables lie in another file,
which no listing shows. Only their owner can read the files.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core.config.provider_options import is_same_place, place_at, place_of, read_headers, secrets_in
from oneclaw_core.errors import NotFoundError, OneClawError, SettingsError, UsageError
from oneclaw_core.private_files import changing_private, read_private, write_private
from oneclaw_core.providers.known import KnownProviders
from oneclaw_core.secrets.redaction import redact, remember_secret, remember_secrets_of
from oneclaw_core.secrets.store import SecretPlace, SecretStore, SecretUnreadableError, SecretWords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from oneclaw_core.home import Home
    from oneclaw_core.providers.base import ProviderConfig


MAX_KEY_CHARACTERS = 8_192
_WORDS = SecretWords("the key of {name}", "the keys", "key", "oneclaw keys set {name}")

# Behind the name of a provider, where its headers are stored; no provider and no plugin has such a name.
_HEADERS = ":headers"
MAX_VALUE_CHARACTERS = 65_536
_MAX_FILE_BYTES = 4_000_000
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


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
        return self._environ.get(self._known.key_variable_of(provider)) or self._get_stored(provider)

    def _get_stored(self, provider: str) -> str | None:
        try:
            return self._secrets.get(provider)
        except SecretUnreadableError as error:
            variable = self._known.key_variable_of(provider)
            raise OneClawError(f"{error}; or set it in the environment variable {variable}") from None

    async def find(self, config: ProviderConfig) -> str | None:
        """Find the stored key of a provider, for the server that it was set for, without blocking the event loop.

        A key of an earlier version, which says no server, is for the provider's address at this first use, and for the
        vendor's own address if a plugin brings the provider.

        Args:
            config: the provider as it is now.

        Raises:
            OneClawError: the key was set for another server, or cannot be read.
        """
        name = config.name
        stored_in = self._secrets.stored().get(name)
        if stored_in is None:
            return None
        place = place_of(config)
        if config.takes_environment_key:
            known = self._known.preconfigured.get(name)
            # One with the key of another, such as openai_compatible, is no vendor's: it is where the user has set it.
            is_vendor = known is not None and known.key_variable is None
            self.bind(name, place_at(known.base_url, known.type) if known is not None and is_vendor else place)
        stored_for = self.places().get(name)
        if stored_for is None or not is_same_place(stored_for, place):
            where = "before a tool changed its address" if stored_for is None else f"for {stored_for}"
            raise SettingsError(
                f"the key of {name} was set {where}, and {name} is at {place} now, so the key is not sent: if "
                f"it is for that server too, set it again with: oneclaw keys set {name}; otherwise take it away with: "
                f"oneclaw keys remove {name}"
            )
        return await self._read(stored_in, lambda: self._get_stored(name))

    def places(self) -> dict[str, str]:
        """Return the servers that stored keys are for, by provider; keys of earlier versions are not in it.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return self._secrets.addresses()

    def bind(self, provider: str, place: str) -> None:
        """Say which server a stored key is for, if an earlier version has not said so.

        Args:
            provider: its name.
            place: from ``provider_options.place_of``.

        Raises:
            OneClawError: the file cannot be written.
        """
        self._secrets.bind(provider, place)

    async def _read(self, place: SecretPlace, get: Callable[[], str | None]) -> str | None:
        if place is SecretPlace.FILE:
            return get()
        from oneclaw_core.threads import run_in_thread

        return await run_in_thread(get)

    async def find_headers(self, provider: str, place: str) -> dict[str, str]:
        """Find the stored headers of a provider; like a key, they belong to the server that they were set for.

        Args:
            provider: its name.
            place: where it is now, from ``provider_options.place_of``.

        Raises:
            OneClawError: they are not stored, were set for another place, or cannot be read.
        """
        name = provider + _HEADERS
        hint = f"set them again with: oneclaw providers set {provider} --header NAME"
        stored_in = self._secrets.stored().get(name)
        text = None if stored_in is None else await self._read(stored_in, lambda: self._secrets.get(name))
        try:
            headers, stored_for = read_headers(text or "")
        except ValueError:
            raise SettingsError(f"the headers of {provider} are not in the secret store: {hint}") from None
        for secret in secrets_in(headers):
            remember_secret(secret)
        if not is_same_place(stored_for, place):
            raise SettingsError(
                f"the headers of {provider} were set for {stored_for}, and it is at {place} now: {hint}"
            )
        return headers

    def set_headers(self, provider: str, text: str | None) -> None:
        """Store the headers of a provider in the place of those that were stored.

        Args:
            provider: its name.
            text: the headers as one secret; ``None`` to remove them.

        Raises:
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        name = provider + _HEADERS
        if text is not None:
            self._home.create()
            self._secrets.set(name, text)
        elif name in self._secrets.stored():
            self._secrets.remove(name)

    def remember_stored(self) -> None:
        """Have the keys in the file redacted from now on; those in the keyring are once it has given them.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        self._secrets.remember_stored()
        for name, place in self._secrets.stored().items():
            if name.endswith(_HEADERS) and place is SecretPlace.FILE:
                with suppress(ValueError):
                    headers, _ = read_headers(self._secrets.get(name) or "")
                    for secret in secrets_in(headers):
                        remember_secret(secret)

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
        stored = self._secrets.stored().items()
        return {name: KeySource(place) for name, place in stored if not name.endswith(_HEADERS)}

    def set(self, provider: str, key: str, *, in_file: bool = False, place: str | None = None) -> KeySource:
        """Store a key in the place of what was stored.

        Args:
            provider: its name.
            key: as :func:`check_key` gives it.
            in_file: do not use the system keyring.
            place: the server that it is for, from ``provider_options.place_of``.

        Returns:
            Where it is now: in the keyring, or in the file if there is no keyring to be used.

        Raises:
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        self._home.create()
        return KeySource(self._secrets.set(provider, key, in_file=in_file, address=place))

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


class EnvironmentVariables:
    """The environment variables that the user's own tools see.

    Args:
        home: whose variables.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.path / "environment.json"

    def names(self) -> list[str]:
        """The names, in alphabetical order.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return sorted(self._read())

    def values(self) -> dict[str, str]:
        """All values by their names, each remembered as a secret that no log or error may show.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        values = self._read()
        for value in values.values():
            remember_secret(value)
        return values

    def set(self, name: str, value: str) -> bool:
        """Store a value.

        Returns:
            Whether it replaced another one.

        Raises:
            UsageError: the name or the value does not fit, or all values together are too long.
            OneClawError: the file cannot be written.
        """
        self.check(name, value)
        remember_secret(value)
        with self._changing() as values:
            was_set = name in values
            values[name] = value
        return was_set

    def check(self, name: str, value: str) -> None:
        """Refuse what :meth:`set` would refuse.

        Raises:
            UsageError: the name or the value does not fit.
        """
        if not _VARIABLE_NAME.fullmatch(name):
            raise UsageError(
                f"{name[:200]!r} is no name for a variable: use 1 to 128 letters, digits and '_', not beginning with a "
                "digit"
            )
        if len(value) > MAX_VALUE_CHARACTERS or "\0" in value:
            raise UsageError(f"a value has at most {MAX_VALUE_CHARACTERS} characters, and no NUL among them")

    def remove(self, name: str) -> bool:
        """Forget a value.

        Returns:
            Whether there was one.
        """
        with self._changing() as values:
            return values.pop(name, None) is not None

    def require(self, name: str) -> None:
        """Refuse a name that is not set.

        Raises:
            NotFoundError: it is not.
        """
        if name not in self._read():
            raise NotFoundError(f"no variable {name!r} is set; see: oneclaw env list")

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        self._home.create()
        with changing_private(self._path, self._home.locks / "environment.lock", "the variables"):
            values = self._read()
            before = dict(values)
            yield values
            if values != before:
                self._write(values)

    def _write(self, values: dict[str, str]) -> None:
        content = json.dumps({"variables": values}, indent=2).encode()
        if len(content) > _MAX_FILE_BYTES:  # nobody could read it any more, nor take anything out of it
            raise UsageError(
                f"all variables together would take more than {_MAX_FILE_BYTES // 1_000_000} MB: remove one first, "
                "with: oneclaw env remove NAME"
            )
        write_private(self._path, content)

    def _read(self) -> dict[str, str]:
        content = read_private(self._path, _MAX_FILE_BYTES)
        if content is None:
            return {}
        with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            values = json.loads(content)["variables"]
            if all(isinstance(value, str) for value in values.values()):
                return dict(values)
        raise OneClawError(
            f"{self._path} is damaged: put a backup copy in its place, or delete it and set the variables again"
        )


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
