"""Keyrings for tests, in the place of the user's own."""

from contextlib import contextmanager

import keyring
import keyring.errors
from keyring.backend import KeyringBackend


class MemoryKeyring(KeyringBackend):
    """Keeps passwords in memory.

    Attributes:
        passwords: by service and account.
        asked: how often it was asked for a password.
        refusal: what every use raises, if anything.
    """

    priority = 1

    def __init__(self):
        super().__init__()
        self.passwords = {}
        self.asked = 0
        self.refusal = None

    def get_password(self, service, username):
        self._refuse()
        self.asked += 1
        return self.passwords.get((service, username))

    def set_password(self, service, username, password):
        self._refuse()
        self.passwords[service, username] = password

    def delete_password(self, service, username):
        self._refuse()
        del self.passwords[service, username]

    def _refuse(self):
        if self.refusal is not None:
            raise self.refusal


class ForgetfulKeyring(MemoryKeyring):
    """Takes a password and does not keep it."""

    def set_password(self, service, username, password):
        pass


@contextmanager
def system_keyring(backend):
    """Let a keyring be the system's."""
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield backend
    finally:
        keyring.set_keyring(before)
