"""Secrets by name: in the system keyring, or where there is none in a file for their owner alone.

The keyring is that of GNOME, KDE or macOS, through the package ``keyring`` where it is installed. It is imported when
it is needed: the import alone takes 0.2 s, and a locked keyring waits for its owner to unlock it.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import OneClawError
from oneclaw_core.secrets.redaction import redact, remember_secret
from oneclaw_core.system.private_files import changing_private, read_private, write_private
from oneclaw_core.system.threads import start_in_background

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


_MAX_FILE_BYTES = 1_000_000

SERVICE = "oneclaw"
# Time enough to type the password that unlocks it.
ANSWER_SECONDS = 60.0
# In an entry, beside its secret.
_ADDRESS = "address"

Value = TypeVar("Value")


class SecretUnreadableError(OneClawError):
    """The system keyring does not give a secret away."""


class SecretPlace(StrEnum):
    """The place of a secret."""

    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class SecretWords:
    """The name for the secrets of a store in its messages.

    Attributes:
        one: one of them, with ``{name}`` in it, such as ``the key of {name}``.
        all: all of them, such as ``the keys``.
        short: one of them without its name, such as ``key``.
        how_to_set: the command that sets one anew, with ``{name}`` in it.
    """

    one: str
    all: str
    short: str
    how_to_set: str


class SecretStore:
    """Secrets of one user and one purpose, by name.

    The file says of which names a secret is stored, and holds the secrets that are not in the system keyring; the
    keyring is asked for a secret that it is said to have, never otherwise. Whatever is read or stored is kept out of
    logs and errors from then on.

    Args:
        path: the file, readable by its owner alone.
        locks: the directory for the lock file.
        words: for messages.
    """

    def __init__(self, path: Path, locks: Path, words: SecretWords) -> None:
        self._path = path
        self._locks = locks
        self._words = words
        self._log = logging.getLogger(f"oneclaw.{path.stem}")
        # By account; a secret that is set anew gets another account, so nothing here grows old.
        self._from_keyring: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """Find a secret, ``None`` if there is none; the keyring may make this wait until its owner has unlocked it.

        Raises:
            SecretUnreadableError: the keyring refuses.
            OneClawError: the file is open to others or damaged.
        """
        entry = self._read().get(name)
        if entry is None:
            return None
        secret = entry.get("key") or self._read_from_keyring(name, entry["account"])
        self._remember(name, secret)
        return secret

    def stored(self) -> dict[str, SecretPlace]:
        """Say of which names a secret is stored, and where; no keyring is asked.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return {name: _place(entry) for name, entry in self._read().items()}

    def remember_stored(self) -> None:
        """Have the secrets in the file redacted from now on; those in the keyring are once it has given them.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        for name, entry in self._read().items():
            if "key" in entry:
                self._remember(name, entry["key"])

    def _remember(self, name: str, secret: str) -> None:
        remember_secret(secret, f"{self._path} {name}")

    def addresses(self) -> dict[str, str]:
        """Return the addresses that secrets are for, by name; no keyring is asked.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return {name: entry[_ADDRESS] for name, entry in self._read().items() if _ADDRESS in entry}

    def bind(self, name: str, address: str) -> None:
        """Say which address a secret is for, if that is not said yet.

        Raises:
            OneClawError: the file cannot be written.
        """
        if _ADDRESS in self._read().get(name, {_ADDRESS: ""}):
            return
        with self._changing() as entries:
            if name in entries:
                entries[name] = {_ADDRESS: address, **entries[name]}

    def set(self, name: str, secret: str, *, in_file: bool = False, address: str | None = None) -> SecretPlace:
        """Store a secret in the place of what was stored.

        Args:
            name: of the secret.
            secret: not empty.
            in_file: do not use the system keyring.
            address: the only one that the secret is for, ``None`` if it is for none.

        Returns:
            Where it is now: in the keyring, or in the file if there is no keyring to be used.

        Raises:
            OneClawError: the keyring refuses, or the file cannot be written.
        """
        self._remember(name, secret)
        entry = {"key": secret} if in_file else self._keyring_entry(name, secret)
        if address is not None:
            entry[_ADDRESS] = address
        try:
            with self._changing() as entries:
                old = entries.pop(name, None)
                entries[name] = entry
        except BaseException:
            self._delete(entry)
            raise
        if old is not None and not self._delete(old):
            self._log.warning(
                "the system keyring still has the old %s of %s, as account %s", self._words.short, name, old["account"]
            )
        return _place(entry)

    def remove(self, name: str) -> SecretPlace | None:
        """Forget a secret.

        Returns:
            Where it was; ``None`` if none was stored.

        Raises:
            OneClawError: the file cannot be written, or the keyring would not delete the secret.
        """
        with self._changing() as entries:
            entry = entries.pop(name, None)
        if entry is None:
            return None
        if not self._delete(entry):
            raise OneClawError(
                f"{self._one(name)} is not used any more, but the system keyring did not delete it: delete the "
                f"account {entry['account']} of the service oneclaw there"
            )
        return _place(entry)

    def _one(self, name: str) -> str:
        return self._words.one.format(name=name)

    def _keyring_entry(self, name: str, secret: str) -> dict[str, str]:
        account = f"{name}-{token_hex(4)}"

        def store(keyring: Any) -> None:
            keyring.set_password(SERVICE, account, secret)
            # Some that are set up to store nothing take a password without a word.
            if keyring.get_password(SERVICE, account) != secret:
                raise NoKeyringError("the system keyring does not keep what is stored in it")

        try:
            _ask_keyring(store)
        except NoKeyringError as error:
            self._log.info("%s is stored in a file: %s", self._one(name), error)
            return {"key": secret}
        return {"account": account}

    def _read_from_keyring(self, name: str, account: str) -> str:
        if account in self._from_keyring:
            return self._from_keyring[account]
        try:
            secret = _ask_keyring(lambda keyring: keyring.get_password(SERVICE, account))
        except OneClawError as error:
            raise SecretUnreadableError(f"{self._one(name)} cannot be read: {error}") from None
        if not secret:
            how = self._words.how_to_set.format(name=name)
            raise OneClawError(
                f"the system keyring has no {self._words.short} of {name} any more: set it again with: {how}"
            )
        self._from_keyring[account] = str(secret)
        return self._from_keyring[account]

    def _delete(self, entry: Mapping[str, str]) -> bool:
        """Delete what the keyring has of an entry; whether that went well."""
        account = entry.get("account")
        if account is None:
            return True
        self._from_keyring.pop(account, None)

        def delete(keyring: Any) -> None:
            if keyring.get_password(SERVICE, account) is not None:
                keyring.delete_password(SERVICE, account)

        try:
            _ask_keyring(delete)
        except OneClawError as error:
            self._log.info("deleting from the system keyring: %s", error)
            return False
        return True

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, str]]]:
        """Read the entries, and write them as they are at the end; no one else changes them meanwhile."""
        with changing_private(self._path, self._locks / f"{self._path.stem}.lock", self._words.all):
            entries = self._read()
            yield entries
            self._write(entries)

    def _write(self, entries: Mapping[str, Mapping[str, str]]) -> None:
        content = json.dumps({self._path.stem: entries}, indent=2).encode()
        if len(content) > _MAX_FILE_BYTES:  # no one could read it any more, nor take anything out of it
            raise OneClawError(
                f"{self._words.all} together would take more than {_MAX_FILE_BYTES // 1_000_000} MB in {self._path}: "
                "remove those that are not needed first"
            )
        write_private(self._path, content)

    def _read(self) -> dict[str, dict[str, str]]:
        path = self._path
        content = read_private(path, _MAX_FILE_BYTES)
        if content is None:
            return {}
        with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            entries = json.loads(content)[path.stem]
            if all(_is_entry(entry) for entry in entries.values()):
                return dict(entries)
        how = self._words.how_to_set.format(name="NAME")
        raise OneClawError(
            f"{path} is damaged: put a backup copy in its place, or delete it and set {self._words.all} again "
            f"with: {how}"
        )


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or len(entry.keys() - {_ADDRESS}) != 1:
        return False
    is_text = all(isinstance(value, str) and value for value in entry.values())
    return is_text and ("key" in entry or "account" in entry)


def _place(entry: Mapping[str, str]) -> SecretPlace:
    return SecretPlace.FILE if "key" in entry else SecretPlace.KEYRING


class NoKeyringError(OneClawError):
    """This machine has no keyring that could be used."""


def _usable_keyring() -> Any:
    try:
        keyring = import_module("keyring").get_keyring()
    except ImportError:
        raise NoKeyringError("the package keyring is not installed: install oneclaw-core[keyring]") from None
    except Exception as error:  # choosing one runs whatever backends are installed  # noqa: BLE001
        raise NoKeyringError(f"no system keyring can be used: {_reason(error)}") from None
    return keyring


def _ask_keyring(call: Callable[[Any], Value]) -> Value:
    """Do it in a thread that is left behind if the keyring never answers, and so keeps nothing from ending."""
    try:
        return start_in_background(lambda: call(_usable_keyring()), "oneclaw keyring").result(ANSWER_SECONDS)
    except TimeoutError:
        raise OneClawError(
            f"the system keyring did not answer within {ANSWER_SECONDS:.0f} s: unlock it and try again"
        ) from None
    except OneClawError:
        raise
    except Exception as error:  # noqa: BLE001  # backends raise anything
        if type(error).__name__ == "NoKeyringError":  # of the package keyring
            raise NoKeyringError("this machine has no system keyring") from None
        raise OneClawError(f"the system keyring refused ({_reason(error)}): unlock it and try again") from None


def _reason(error: Exception) -> str:
    message = " ".join(redact(str(error)).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
