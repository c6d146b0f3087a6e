"""The Google accounts that the user has signed in to: what is known of each, and its secrets."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core import (
    NotFoundError,
    OneClawError,
    SecretPlace,
    SecretStore,
    SecretWords,
    UsageError,
    read_private,
    remember_secret,
    write_private,
)
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from oneclaw_core import Home

ACCOUNT_VARIABLE = "ONECLAW_GOOGLE_ACCOUNT"
DEFAULT_NAME = "default"
USER = "user"
SERVICE_ACCOUNT = "service_account"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
_MAX_FILE_BYTES = 1_000_000
_LOCK_SECONDS = 10
# Whoever has the lock of an account may be waiting for Google.
TOKEN_LOCK_SECONDS = 90
# What there must be to get access tokens: of a user, and of a service account.
_SECRET_KEYS = (("client_id", "client_secret", "refresh_token"), ("client_email", "private_key"))
_WORDS = SecretWords(
    "the Google sign-in of {name}", "the Google sign-ins", "sign-in", "oneclaw google login --account {name}"
)


@dataclass(frozen=True, slots=True)
class Account:
    """A Google account, or a service account that acts for one.

    Attributes:
        name: what the user calls it.
        kind: ``user`` or ``service_account``.
        email: whose data the tools see; ``None`` if Google did not say.
        scopes: what was granted, without ``https://www.googleapis.com/auth/``.
        services: what the user signed in for, as ``--services`` names it.
        is_read_only: whether the user signed in for reading only.
    """

    name: str
    kind: str
    email: str | None
    scopes: tuple[str, ...]
    services: tuple[str, ...]
    is_read_only: bool = False

    @property
    def label(self) -> str:
        """For people: the name, and whose it is."""
        return f"{self.name} ({self.email})" if self.email and self.email != self.name else self.name


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What Google lets in for about an hour.

    Attributes:
        token: the secret.
        expires_at: in seconds since 1970.
    """

    token: str
    expires_at: float


def check_account_name(name: str) -> str:
    """Check what an account is to be called.

    Raises:
        UsageError: it cannot be called that.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:100]!r} cannot be an account's name: use letters, digits, and . _ @ + - behind the first"
        )
    return name


class AccountBook:
    """The accounts of one home, and which of them is the default.

    What is no secret lies in ``google_workspace/accounts.json``, in a file for its owner alone; refresh tokens and the
    keys of service accounts lie in the system keyring, or where there is none in a file for their owner alone; access
    tokens, which end after an hour, in such a file each.

    Args:
        home: whose accounts.
        environ: the environment; ``ONECLAW_GOOGLE_ACCOUNT`` goes before the stored default.
    """

    def __init__(self, home: Home, environ: Mapping[str, str] = os.environ) -> None:
        self._home = home
        self._environ = environ
        self._folder = home.path / "google_workspace"
        self._path = self._folder / "accounts.json"
        self._secrets = SecretStore(self._folder / "google_sign_ins.json", home.locks, _WORDS)

    def list(self) -> dict[str, Account]:
        """All accounts by name, in the order of signing in.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return self._read()[1]

    def get(self, name: str) -> Account:
        """Find an account.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: the file is open to others or damaged.
        """
        accounts = self.list()
        if name not in accounts:
            known = f"signed in are: {', '.join(accounts)}" if accounts else "none is signed in"
            raise NotFoundError(f"there is no Google account {name[:100]!r}; {known}")
        return accounts[name]

    @property
    def default_name(self) -> str | None:
        """The account that tools use: of the environment, else the stored one; ``None`` if there is none at all."""
        return self._environ.get(ACCOUNT_VARIABLE) or self._read()[0]

    def for_tools(self, login_options: str) -> Account:
        """The account that tools use.

        Args:
            login_options: of ``oneclaw google login``, for the message if nobody is signed in.

        Raises:
            GoogleError: nobody is signed in.
        """
        name = self.default_name
        if name is None:
            raise GoogleError(
                "not_available",
                f"No Google account is signed in. The user can sign in with: oneclaw google login {login_options}",
            )
        account = self.list().get(name)
        if account is None:
            raise GoogleError(
                "not_available",
                f"{ACCOUNT_VARIABLE} names the Google account {name[:100]!r}, which is not signed in. The user can "
                f"sign in with: oneclaw google login --account {name[:100]} {login_options}",
            )
        return account

    def places(self) -> dict[str, SecretPlace]:
        """Where the secret of each account is.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return self._secrets.stored()

    def save(self, account: Account, secret: Mapping[str, Any], *, in_file: bool = False) -> SecretPlace:
        """Add an account, or put it in the place of the one of its name; the first one becomes the default.

        Args:
            account: what is no secret.
            secret: JSON data from which access tokens can be had.
            in_file: do not use the system keyring.

        Returns:
            Where the secret is.

        Raises:
            OneClawError: it cannot be stored.
        """
        self._home.create()
        place = self._secrets.set(account.name, json.dumps(dict(secret)), in_file=in_file)
        self.forget_access_token(account.name)
        with self._changing() as (default, accounts):
            accounts[account.name] = account
            self._write(default or account.name, accounts)
        return place

    def check_new_name(self, name: str) -> None:
        """Refuse a name that differs from that of an account in nothing but the case of letters.

        Raises:
            UsageError: so it does: where files are found in any case, the two would share one access token.
        """
        for known in self.list():
            if known != name and known.casefold() == name.casefold():
                raise UsageError(f"there is an account {known}: give that name, or one that differs in more than case")

    def set_default(self, name: str) -> None:
        """Choose the account that tools use.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: it cannot be stored.
        """
        self.get(name)
        with self._changing() as (_, accounts):
            self._write(name, accounts)

    def remove(self, name: str) -> None:
        """Forget an account and its secrets; if it was the default, the next one is.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: it cannot be forgotten.
        """
        self.get(name)
        self.forget_access_token(name)
        problem = None
        try:
            self._secrets.remove(name)
        except OneClawError as error:  # of which the user must hear, once all that can be is forgotten
            problem = error
        with self._changing() as (default, accounts):
            accounts.pop(name, None)
            self._write(default if default in accounts else next(iter(accounts), None), accounts)
        if problem is not None:
            raise problem

    def note_scopes(self, name: str, scopes: tuple[str, ...]) -> None:
        """Remember what is granted by now, if it has changed."""
        account = self.list().get(name)
        if account is None or set(account.scopes) == set(scopes):
            return
        with self._changing() as (default, accounts):
            if name in accounts:
                accounts[name] = replace(accounts[name], scopes=scopes)
                self._write(default, accounts)

    def secret(self, name: str) -> dict[str, Any]:
        """The data from which access tokens of an account can be had; the keyring may make this wait.

        Raises:
            OneClawError: it cannot be read.
        """
        with suppress(ValueError, TypeError):
            made = json.loads(self._secrets.get(name) or "")
            if isinstance(made, dict) and any(_has_all(made, keys) for keys in _SECRET_KEYS):
                for key in ("client_secret", "refresh_token", "private_key"):
                    if made.get(key):
                        remember_secret(str(made[key]))
                return made
        raise OneClawError(
            f"the Google sign-in of {name} is lost or damaged: sign in again with: oneclaw google login --account "
            f"{name}"
        )

    def change_secret(self, name: str, secret: Mapping[str, Any]) -> None:
        """Store an account's data anew where they were, such as a refresh token that Google has replaced."""
        in_file = self._secrets.stored().get(name) is SecretPlace.FILE
        self._secrets.set(name, json.dumps(dict(secret)), in_file=in_file)

    def token_lock(self, name: str) -> Path:
        """The lock file of whoever gets access tokens of an account, or changes its sign-in."""
        return self._home.locks / f"google_token-{name}.lock"

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Let nobody else get access tokens of an account meanwhile, lest one of an old sign-in outlives it.

        Raises:
            OneClawError: others take too long.
        """
        from filelock import FileLock, Timeout

        self._home.create()
        lock = FileLock(self.token_lock(name), timeout=TOKEN_LOCK_SECONDS, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise OneClawError(f"another process is asking Google for access for {name}: try again later") from None
        except OSError as error:
            raise self._not_writable(error) from None
        try:
            yield
        finally:
            lock.release()

    def access_token(self, name: str) -> AccessToken | None:
        """The access token that somebody has got before, ``None`` if there is none; it may have expired."""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            content = read_private(self._token_path(name), _MAX_FILE_BYTES)
            if content is not None:
                values = json.loads(content)
                found = AccessToken(str(values["token"]), float(values["expires_at"]))
                remember_secret(found.token)
                return found
        return None

    def save_access_token(self, name: str, token: AccessToken) -> None:
        """Keep an access token for the next call, in whatever process it runs.

        Raises:
            OneClawError: it cannot be stored.
        """
        remember_secret(token.token)
        try:
            write_private(self._token_path(name), json.dumps(asdict(token)).encode())
        except OSError as error:
            raise self._not_writable(error) from None

    def forget_access_token(self, name: str) -> None:
        """Have the next call get a new one."""
        with suppress(FileNotFoundError):
            self._token_path(name).unlink()

    def _token_path(self, name: str) -> Any:
        return self._folder / f"access_token-{name}.json"

    @contextmanager
    def _changing(self) -> Iterator[tuple[str | None, dict[str, Account]]]:
        """Read the accounts while nobody else changes them."""
        from filelock import FileLock, Timeout

        self._home.create()
        try:
            with FileLock(self._home.locks / "google_accounts.lock", timeout=_LOCK_SECONDS, mode=0o600):
                yield self._read()
        except Timeout:
            raise OneClawError("another process is changing the Google accounts: try again when it is done") from None
        except OSError as error:
            raise self._not_writable(error) from None

    def _write(self, default: str | None, accounts: Mapping[str, Account]) -> None:
        entries = {name: asdict(account) for name, account in accounts.items()}
        write_private(self._path, json.dumps({"default": default, "accounts": entries}, indent=2).encode())

    def _read(self) -> tuple[str | None, dict[str, Account]]:
        content = read_private(self._path, _MAX_FILE_BYTES)
        if content is None:
            return None, {}
        with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            document = json.loads(content)
            accounts = {name: _account(entry) for name, entry in document["accounts"].items()}
            default = document["default"]
            if default is None or default in accounts:
                return default, accounts
        raise OneClawError(
            f"{self._path} is damaged: put a backup copy in its place, or delete it and sign in again with: "
            "oneclaw google login"
        )

    def _not_writable(self, error: OSError) -> OneClawError:
        return OneClawError(
            f"the Google accounts cannot be stored in {self._folder}: {error.strerror or error}; make it writable"
        )


def _has_all(secret: Mapping[str, Any], keys: Iterable[str]) -> bool:
    return all(isinstance(secret.get(key), str) and secret[key] for key in keys)


def _account(entry: Mapping[str, Any]) -> Account:
    lists = {key: tuple(map(str, entry[key])) for key in ("scopes", "services")}
    return Account(
        name=check_account_name(entry["name"]),
        kind=str(entry["kind"]),
        email=entry["email"] and str(entry["email"]),
        is_read_only=bool(entry["is_read_only"]),
        **lists,
    )
