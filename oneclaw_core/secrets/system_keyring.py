"""The system's keyring, such as that of GNOME, KDE or macOS, through the package ``keyring`` where it is installed.

Nothing here is imported or asked before it is needed: the import alone takes 0.2 s, and a locked keyring waits for its
owner to unlock it.
"""

from __future__ import annotations

import queue
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import OneClawError
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICE = "oneclaw"
# Time enough to type the password that unlocks it.
ANSWER_SECONDS = 60.0

Value = TypeVar("Value")


class NoKeyringError(OneClawError):
    """This machine has no keyring that could be used."""


def store_in_keyring(account: str, key: str) -> None:
    """Store a key.

    Args:
        account: what to call it in the keyring.
        key: the key.

    Raises:
        NoKeyringError: there is no keyring to be used here.
        OneClawError: there is one, and it refuses or does not answer.
    """

    def store() -> None:
        keyring = _usable_keyring()
        keyring.set_password(SERVICE, account, key)
        # Some that are set up to store nothing take a password without a word.
        if keyring.get_password(SERVICE, account) != key:
            raise NoKeyringError("the system keyring does not keep what is stored in it")

    _answer_of(store)


def read_from_keyring(account: str) -> str | None:
    """Read a key; ``None`` if the keyring has none under that account.

    Raises:
        OneClawError: the keyring cannot be used, refuses, or does not answer.
    """

    def read() -> str | None:
        found = _usable_keyring().get_password(SERVICE, account)
        return found if found is None else str(found)

    return _answer_of(read)


def delete_from_keyring(account: str) -> None:
    """Delete a key, if it is there.

    Raises:
        OneClawError: the keyring cannot be used, refuses, or does not answer.
    """

    def delete() -> None:
        keyring = _usable_keyring()
        if keyring.get_password(SERVICE, account) is not None:
            keyring.delete_password(SERVICE, account)

    _answer_of(delete)


def _usable_keyring() -> Any:
    try:
        keyring = import_module("keyring").get_keyring()
    except ImportError:
        raise NoKeyringError("the package keyring is not installed: install oneclaw-core[keyring]") from None
    except Exception as error:  # choosing one runs whatever backends are installed  # noqa: BLE001
        raise NoKeyringError(f"no system keyring can be used: {_reason(error)}") from None
    return keyring


def _answer_of(call: Callable[[], Value]) -> Value:
    """Do it in a thread that is left behind if the keyring never answers, and so keeps nothing from ending."""
    answers: queue.SimpleQueue[tuple[Value | None, BaseException | None]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:  # noqa: BLE001  # raised again where it is waited for
            answers.put((None, error))

    threading.Thread(target=ask, name="oneclaw keyring", daemon=True).start()
    try:
        value, error = answers.get(timeout=ANSWER_SECONDS)
    except queue.Empty:
        raise OneClawError(
            f"the system keyring did not answer within {ANSWER_SECONDS:.0f} s: unlock it and try again"
        ) from None
    if error is None:
        return value  # type: ignore[return-value]  # without an error it is what the call returned
    if isinstance(error, OneClawError) or not isinstance(error, Exception):
        raise error
    if type(error).__name__ == "NoKeyringError":  # of the package keyring
        raise NoKeyringError("this machine has no system keyring") from None
    raise OneClawError(f"the system keyring refused ({_reason(error)}): unlock it and try again") from None


def _reason(error: Exception) -> str:
    message = " ".join(redact(str(error)).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
