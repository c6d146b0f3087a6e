"""The keys of model services: from the environment, else from the system keyring or from a file of the home."""

from __future__ import annotations

import json
import logging
import re
from contextlib import contextmanager, suppress
from enum import StrEnum
from secrets import token_hex
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.owner_files import read_private, write_private
from oneclaw_core.secrets import remember_secret
from oneclaw_core.system_keyring import NoKeyringError, delete_from_keyring, read_from_keyring, store_in_keyring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_core.home import Home

MAX_KEY_CHARACTERS = 8_192
_MAX_FILE_BYTES = 1_000_000
_LOCK_SECONDS = 10
# The vendor's variable where it is not the provider's name; the vendors' own SDKs read the same ones.
_VARIABLES = {"openai_compatible": "OPENAI_API_KEY"}

_log = logging.getLogger("oneclaw.keys")


class KeySource(StrEnum):
    """Where a key comes from."""

    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    FILE = "file"


def key_variable_of(provider: str) -> str:
    """The environment variable that holds a provider's key."""
    return _VARIABLES.get(provider) or re.sub(r"[^A-Z0-9]", "_", provider.upper()) + "_API_KEY"


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


class KeyStore:
    """The keys of one user.

    The file ``keys.json`` in the home says of which providers a key is stored, and holds the keys that are not in the
    system keyring; the keyring is asked for a key that it is said to have, never otherwise.

    Args:
        home: whose keys.
        environ: the environment, which goes before what is stored.
    """

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home = home
        self._path = home.path / "keys.json"
        self._environ = environ
        # By account; a key that is set anew gets another account, so nothing here grows old.
        self._from_keyring: dict[str, str] = {}

    def get(self, provider: str) -> str | None:
        """Find a provider's key; the keyring may make this wait until its owner has unlocked it.

        Raises:
            OneClawError: the file is open to others or damaged, or the keyring refuses.
        """
        key = self._environ.get(key_variable_of(provider))
        if key:
            return key
        entry = self._read().get(provider)
        if entry is None:
            return None
        key = entry.get("key") or self._read_from_keyring(provider, entry["account"])
        remember_secret(key)
        return key

    async def find(self, provider: str) -> str | None:
        """The same as :meth:`get`, without holding up the event loop while a keyring is being unlocked."""
        if self.source(provider) is not KeySource.KEYRING:
            return self.get(provider)
        from oneclaw_core.tools.threads import run_in_thread

        return await run_in_thread(lambda: self.get(provider))

    def source(self, provider: str) -> KeySource | None:
        """Say where a provider's key comes from, ``None`` if it has none; no keyring is asked.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        if self._environ.get(key_variable_of(provider)):
            return KeySource.ENVIRONMENT
        return self.stored().get(provider)

    def stored(self) -> dict[str, KeySource]:
        """Say of which providers a key is stored, and where; what the environment has does not count.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return {name: _place(entry) for name, entry in self._read().items()}

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
        remember_secret(key)
        entry = {"key": key} if in_file else self._keyring_entry(provider, key)
        try:
            with self._changing() as entries:
                old = entries.pop(provider, None)
                entries[provider] = entry
        except BaseException:
            self._delete(entry)
            raise
        if old is not None and not self._delete(old):
            _log.warning("the system keyring still has the old key of %s, as account %s", provider, old["account"])
        return _place(entry)

    def remove(self, provider: str) -> KeySource | None:
        """Forget a stored key.

        Returns:
            Where it was; ``None`` if none was stored.

        Raises:
            OneClawError: the file cannot be written, or the keyring would not delete the key.
        """
        with self._changing() as entries:
            entry = entries.pop(provider, None)
        if entry is None:
            return None
        if not self._delete(entry):
            raise OneClawError(
                f"the key of {provider} is not used any more, but the system keyring did not delete it: delete the "
                f"account {entry['account']} of the service oneclaw there"
            )
        return _place(entry)

    def _keyring_entry(self, provider: str, key: str) -> dict[str, str]:
        account = f"{provider}-{token_hex(4)}"
        try:
            store_in_keyring(account, key)
        except NoKeyringError as error:
            _log.info("the key of %s is stored in a file: %s", provider, error)
            return {"key": key}
        return {"account": account}

    def _read_from_keyring(self, provider: str, account: str) -> str:
        if account in self._from_keyring:
            return self._from_keyring[account]
        variable = key_variable_of(provider)
        try:
            key = read_from_keyring(account)
        except OneClawError as error:
            raise OneClawError(
                f"the key of {provider} cannot be read: {error}; or set it in the environment variable {variable}"
            ) from None
        if not key:
            raise OneClawError(
                f"the system keyring has no key of {provider} any more: set it again with: oneclaw keys set {provider}"
            )
        self._from_keyring[account] = key
        return key

    def _delete(self, entry: Mapping[str, str]) -> bool:
        """Delete what the keyring has of an entry; whether that went well."""
        if "account" not in entry:
            return True
        self._from_keyring.pop(entry["account"], None)
        try:
            delete_from_keyring(entry["account"])
        except OneClawError as error:
            _log.info("deleting from the system keyring: %s", error)
            return False
        return True

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, str]]]:
        """Read the entries, and write them as they are at the end; nobody else changes them meanwhile."""
        from filelock import FileLock, Timeout

        self._home.create()
        try:
            with FileLock(self._home.locks / "keys.lock", timeout=_LOCK_SECONDS, mode=0o600):
                entries = self._read()
                yield entries
                write_private(self._path, json.dumps({"keys": entries}, indent=2).encode())
        except Timeout:
            raise OneClawError("another process is changing the keys: try again when it is done") from None
        except OSError as error:
            raise OneClawError(
                f"the keys cannot be stored in {self._path}: {error.strerror or error}; make its directory writable"
            ) from None

    def _read(self) -> dict[str, dict[str, str]]:
        content = read_private(self._path, _MAX_FILE_BYTES)
        if content is None:
            return {}
        with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            entries = json.loads(content)["keys"]
            if all(_is_entry(entry) for entry in entries.values()):
                return dict(entries)
        raise OneClawError(
            f"{self._path} is damaged: put a backup copy in its place, or delete it and set the keys again with: "
            "oneclaw keys set NAME"
        )


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or len(entry) != 1:
        return False
    ((name, value),) = entry.items()
    return name in ("key", "account") and isinstance(value, str) and bool(value)


def _place(entry: Mapping[str, str]) -> KeySource:
    return KeySource.FILE if "key" in entry else KeySource.KEYRING
