"""The secrets that a user stores: keys of model services, secrets of plugins, variables of the user's own tools.

A key comes from the environment, else from the system keyring or a file of the home, which only its owner can read. A
service can have several: where one is refused, the next is used (``http_providers.retry``).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.capabilities.declaration import STORED_SECRET, Declaration
from oneclaw_core.config.provider_options import is_same_place, place_at, place_of, read_headers, secrets_in
from oneclaw_core.config.setting_fields import secret_key, variable_of
from oneclaw_core.errors import DuplicateError, NotFoundError, OneClawError, SettingsError, UsageError
from oneclaw_core.providers.known import KnownProviders
from oneclaw_core.secrets.redaction import redact, remember_secret, remember_secrets_of
from oneclaw_core.secrets.store import SecretPlace, SecretStore, SecretUnreadableError, SecretWords
from oneclaw_core.shipped.missing import EARLIER_KEYS
from oneclaw_core.system.private_files import changing_private, read_private, write_private
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from oneclaw_core.providers.base import ProviderConfig
    from oneclaw_core.system.home import Home


MAX_KEY_CHARACTERS = 8_192
_WORDS = SecretWords("the key of {name}", "the keys", "key", "oneclaw keys set {name}")

# Behind the name of a provider, where its headers are stored; no provider and no plugin has such a name.
_HEADERS = ":headers"
# Between the name of a provider and the fingerprint of a further key.
_MORE = ":key-"
MOST_KEYS = 20


class KeySource(StrEnum):
    """The source of a key."""

    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"


def check_key(text: str) -> str:
    """Check what somebody typed or piped as a key; it is never repeated.

    Returns:
        The key, without spaces around it.
    """
    key = text.strip()
    if not key:
        raise UsageError("the key is empty: nothing is stored")
    if len(key) > MAX_KEY_CHARACTERS or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            "that is not a key, and is not stored: a key is one line of visible ASCII characters without spaces, "
            f"{MAX_KEY_CHARACTERS} at most"
        )
    return key


def keys_in(text: str | None) -> tuple[str, ...]:
    """Return the keys in an environment variable, which has several with commas between."""
    if not text or "," not in text:
        return (text,) if text else ()
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))


def fingerprint(key: str) -> str:
    """Return what tells the keys of a provider apart, and says nothing of them."""
    return hashlib.sha256(f"key of oneclaw {key}".encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that a provider has.

    Attributes:
        source: where it comes from.
        fingerprint: tells it from others; ``None`` if the keyring alone could say.
    """

    source: KeySource
    fingerprint: str | None


def secret_store(home: Home) -> SecretStore:
    """Return the keys of providers, by their names, and the secrets of plugins, by ``PLUGIN.NAME``."""
    return SecretStore(home.path / "keys.json", home.locks, _WORDS)


class KeyStore:
    """The keys of one user.

    The file ``keys.json`` in the home says of which providers a key is stored, and holds the keys that are not in the
    system keyring; the keyring is asked for a key that it is said to have, never otherwise. Each method raises a
    ``OneClawError`` if the file is open to others, damaged or cannot be written, or the keyring refuses.

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
        remember_secrets_of(environ, str(home.path))

    def get(self, provider: str) -> str | None:
        """Find a provider's key; the keyring may make this wait until its owner has unlocked it."""
        given = keys_in(self._environ.get(self._known.key_variable_of(provider)))
        return given[0] if given else self._get_stored(provider)

    def _get_stored(self, name: str) -> str | None:
        try:
            return self._secrets.get(name)
        except SecretUnreadableError as error:
            variable = self._known.key_variable_of(name.partition(_MORE)[0])
            raise OneClawError(f"{error}; or set it in the environment variable {variable}") from None

    def _stored_of(self, provider: str) -> dict[str, SecretPlace]:
        """Return the places of a provider's keys by their names in the secret store."""
        return {name: place for name, place in self._secrets.stored().items() if name.partition(_MORE)[0] == provider}

    async def find(self, config: ProviderConfig) -> tuple[str, ...]:
        """Find the stored keys of a provider, for the server that they were set for, without blocking the event loop.

        A key of an earlier version, which says no server, is for the provider's address at this first use, and for the
        vendor's own address if a plugin brings the provider.

        Raises:
            OneClawError: the key was set for another server, or cannot be read.
        """
        name = config.name
        stored = self._stored_of(name)
        if not stored:
            return ()
        place = place_of(config)
        if config.takes_environment_key and name in stored:
            known = self._known.preconfigured.get(name)
            # One with the key of another, such as openai_compatible, is no vendor's: it is where the user has set it.
            is_vendor = known is not None and known.key_variable is None
            self.bind(name, place_at(known.base_url, known.type) if known is not None and is_vendor else place)
        places = self.places()
        fitting = [each for each in stored if each in places and is_same_place(places[each], place)]
        if not fitting:
            stored_for = places.get(next(iter(stored)))
            where = "before a tool changed its address" if stored_for is None else f"for {stored_for}"
            raise SettingsError(
                f"the key of {name} was set {where}, and {name} is at {place} now, so the key is not sent: if "
                f"it is for that server too, set it again with: oneclaw keys set {name}; otherwise remove it with: "
                f"oneclaw keys remove {name}"
            )
        found = [await run_in_thread(partial(self._get_stored, each)) for each in fitting]
        return tuple(key for key in found if key is not None)

    def places(self) -> dict[str, str]:
        """Return the servers that stored keys are for, by provider; keys of earlier versions are not in it."""
        return self._secrets.addresses()

    def bind(self, provider: str, place: str) -> None:
        """Say which server a stored key is for, if an earlier version has not said so."""
        self._secrets.bind(provider, place)

    async def find_headers(self, provider: str, place: str) -> dict[str, str]:
        """Find the stored headers of a provider; like a key, they belong to the server that they were set for.

        Raises:
            OneClawError: they are not stored, were set for another place, or cannot be read.
        """
        name = provider + _HEADERS
        hint = f"set them again with: oneclaw providers set {provider} --header NAME"
        text = await run_in_thread(partial(self._secrets.get, name))
        try:
            headers, stored_for = read_headers(text or "")
        except ValueError:
            raise SettingsError(f"the headers of {provider} are not in the secret store: {hint}") from None
        self._remember_headers(name, headers)
        if not is_same_place(stored_for, place):
            raise SettingsError(
                f"the headers of {provider} were set for {stored_for}, and it is at {place} now: {hint}"
            )
        return headers

    def set_headers(self, provider: str, text: str | None) -> None:
        """Store the headers of a provider, written as one secret, in the place of those that were stored."""
        name = provider + _HEADERS
        if text is not None:
            self._home.create()
            self._secrets.set(name, text)
        elif name in self._secrets.stored():
            self._secrets.remove(name)

    def remember_stored(self) -> None:
        """Have the keys in the file redacted from now on; those in the keyring are once it has given them."""
        self._secrets.remember_stored()
        for name, place in self._secrets.stored().items():
            if name.endswith(_HEADERS) and place is SecretPlace.FILE:
                with suppress(ValueError):
                    headers, _ = read_headers(self._secrets.get(name) or "")
                    self._remember_headers(name, headers)

    def _remember_headers(self, name: str, headers: Mapping[str, str]) -> None:
        for number, secret in enumerate(secrets_in(headers)):
            remember_secret(secret, f"{self._home.path} {name} {number}")

    def source(self, provider: str) -> KeySource | None:
        """Say where a provider's key comes from, ``None`` if it has none; no keyring is asked."""
        if self._environ.get(self._known.key_variable_of(provider)):
            return KeySource.ENVIRONMENT
        return self.stored().get(provider)

    def stored(self) -> dict[str, KeySource]:
        """Say of which providers a key is stored, and where; what the environment has does not count."""
        found: dict[str, KeySource] = {}
        for name, place in self._secrets.stored().items():
            if not name.endswith(_HEADERS):
                found.setdefault(name.partition(_MORE)[0], KeySource(place))
        return found

    def known(self, provider: str, *, is_from_environment: bool = True) -> list[KnownKey]:
        """List the keys that a provider has, without showing them; no keyring is asked.

        Args:
            provider: its name.
            is_from_environment: False to list the stored ones, though the environment has others that are used.
        """
        given = keys_in(self._environ.get(self._known.key_variable_of(provider))) if is_from_environment else ()
        if given:
            return [KnownKey(KeySource.ENVIRONMENT, fingerprint(each)) for each in given]
        return [
            KnownKey(
                KeySource(place), None if place is SecretPlace.KEYRING and name == provider else self._mark_of(name)
            )
            for name, place in self._stored_of(provider).items()
        ]

    def _mark_of(self, name: str) -> str:
        return name.partition(_MORE)[2] or fingerprint(self._secrets.get(name) or "")

    def add(self, provider: str, key: str, *, in_file: bool = False, place: str | None = None) -> KeySource:
        """Store a key beside those that are stored; see :meth:`set`.

        Raises:
            DuplicateError: it is stored already.
            UsageError: the others are for another server, or there are too many.
        """
        stored = self._stored_of(provider)
        if provider not in stored:
            name = provider
        elif len(stored) >= MOST_KEYS:
            raise UsageError(f"a provider has at most {MOST_KEYS} keys: remove one first")
        else:
            name = provider + _MORE + fingerprint(key)
        if name in stored or any(self._secrets.get(each) == key for each in stored):
            raise DuplicateError(f"that key of {provider} is stored already")
        places = self.places()
        other = next((places[each] for each in stored if each in places and places[each] != place), None)
        if other is not None:
            raise UsageError(
                f"the keys of {provider} are for {other}, and it is at {place} now: replace them with: "
                f"oneclaw keys set {provider}"
            )
        self._home.create()
        return KeySource(self._secrets.set(name, key, in_file=in_file, address=place))

    def set(self, provider: str, key: str, *, in_file: bool = False, place: str | None = None) -> KeySource:
        """Store a key in the place of all that were stored.

        Args:
            provider: its name.
            key: as :func:`check_key` gives it.
            in_file: do not use the system keyring.
            place: the server that it is for, from ``provider_options.place_of``.

        Returns:
            Where it is now: in the keyring, or in the file if there is no keyring to be used.
        """
        self._home.create()
        source = KeySource(self._secrets.set(provider, key, in_file=in_file, address=place))
        for name in self._stored_of(provider):
            if name != provider:
                self._secrets.remove(name)
        return source

    def remove(self, provider: str, key: str | None = None) -> KeySource | None:
        """Forget the stored keys of a provider.

        Args:
            provider: its name.
            key: the fingerprint of the only one to be forgotten; ``None`` for all.

        Returns:
            Where the first was; ``None`` if none was stored.

        Raises:
            NotFoundError: no key has that fingerprint.
        """
        self._home.create()
        names = [*self._stored_of(provider)]
        if key is not None:
            names = [each for each in names if self._mark_of(each) == key]
            if not names:
                raise NotFoundError(f"no key of {provider} has the fingerprint {key[:100]!a}; see: oneclaw keys list")
        places = [self._secrets.remove(each) for each in names]
        return KeySource(places[0]) if places and places[0] is not None else None


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
        # A keyring may have to be unlocked.
        return await run_in_thread(lambda: self._store.get(key) or self._store.get(EARLIER_KEYS.get(key, key)))

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
        return await run_in_thread(partial(self._store.remove, key)) is not None

    def _key(self, name: str) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UsageError(f"the name of a secret is made of letters, digits and _ . @ + -, not {name!r}")
        if self._declaration is not None and name not in self._fields:
            self._declaration.require(STORED_SECRET, name)
        return secret_key(self._plugin, name)


MAX_VALUE_CHARACTERS = 65_536
_MAX_FILE_BYTES = 4_000_000
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


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
        for name, value in values.items():
            remember_secret(value, f"{self._path} {name}")
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
        remember_secret(value, f"{self._path} {name}")
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
                f"{name[:200]!r} is not a valid name for a variable: use 1 to 128 letters, digits and '_', not "
                "beginning with a digit"
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

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        self._home.create()
        with changing_private(self._path, self._home.locks / "environment.lock", "the variables"):
            values = self._read()
            yield values
            content = json.dumps({"variables": values}, indent=2).encode()
            if len(content) > _MAX_FILE_BYTES:  # no one could read it any more, nor take anything out of it
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
