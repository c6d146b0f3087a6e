"""Services that users sign in to by OAuth, and the accounts there: their public data, secrets and access tokens."""

from __future__ import annotations

import base64
import json
import re
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from oneclaw_core.errors import NotFoundError, OAuthUnavailableError, OneClawError, SettingsError, UsageError
from oneclaw_core.http.messages import shown_url
from oneclaw_core.secrets.redaction import remember_secret
from oneclaw_core.secrets.store import SecretPlace, SecretStore, SecretWords
from oneclaw_core.system.private_files import changing_private, make_private_directory, read_private, write_private

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from pathlib import Path

DEFAULT_ACCOUNT = "default"
# A process that holds the lock of an account may be waiting for the service.
TOKEN_LOCK_SECONDS = 90
_SERVICE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Scopes of OpenID Connect; services that give their own scopes a prefix leave these without.
_OPENID_SCOPES = frozenset({"openid", "profile", "email", "address", "phone", "offline_access"})
_IDENTITY_SCOPES = frozenset({"openid", "profile", "email"})
_ACCOUNT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
_MAX_FILE_BYTES = 1_000_000
_SECRET_KEYS = ("client_secret", "refresh_token", "access_token", "private_key")
_LONGEST_LIFETIME_SECONDS = 10 * 366 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthService:
    """A service that users sign in to, and the OAuth client that OneClaw is there.

    Scopes are written without ``scope_prefix``, here and with every account.

    Attributes:
        name: of files and locks, such as ``google``: lower-case letters, digits, ``_`` and ``-``.
        title: for people, such as ``Google``.
        sign_in_command: the command that signs in, for messages; ``{account}`` stands for the account's name.
        authorization_endpoint: where the user agrees; ``https``, or ``http`` on this machine.
        token_endpoint: where tokens come from; ``https``, or ``http`` on this machine.
        client_id: of the OAuth client. May be empty if no one signs in: a stored sign-in knows its client.
        client_secret: of the client, ``None`` for a public one.
        client_authentication: how the client proves itself: in the form (``post``) or in a header (``basic``).
        scopes: what is asked for by default.
        identity_scopes: what is asked for besides, so that the service says whose account it is. Not listed with an
            account.
        scope_prefix: what scopes begin with on the wire, such as ``https://www.googleapis.com/auth/``.
        authorization_parameters: further parameters of the authorization request, such as ``{"prompt": "consent"}``.
        revocation_endpoint: where a token is revoked (RFC 7009), ``None`` if there is no such place.
        issuer: compared with ``iss`` of the answer (RFC 9207). A stored sign-in is only used with the issuer that gave
            it, or without one, with the host of the token endpoint.
        sends_issuer: True if an answer without ``iss`` is refused; the service's metadata says so as
            ``authorization_response_iss_parameter_supported``.
        redirect_host: what the address that the browser is sent to is registered with.
        redirect_port: a fixed port, for services that compare it; ``None`` takes a free one.
        redirect_path: the path of that address.
        ended_codes: the service's own error codes for a sign-in that has ended, besides ``invalid_grant``.
    """

    name: str
    title: str
    sign_in_command: str
    authorization_endpoint: str
    token_endpoint: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    client_authentication: Literal["post", "basic"] = "post"
    scopes: tuple[str, ...] = ()
    identity_scopes: tuple[str, ...] = ()
    scope_prefix: str = ""
    authorization_parameters: Mapping[str, str] = field(default_factory=dict)
    revocation_endpoint: str | None = None
    issuer: str | None = None
    sends_issuer: bool = False
    redirect_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    redirect_port: int | None = None
    redirect_path: str = "/"
    ended_codes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not _SERVICE_NAME.fullmatch(self.name):
            raise SettingsError(
                f"{self.name[:100]!r} cannot be the name of an OAuth service: use lower-case letters, digits, _ and -"
            )
        for endpoint in (self.authorization_endpoint, self.token_endpoint, self.revocation_endpoint):
            if endpoint is not None and not _is_protected(endpoint):
                raise SettingsError(
                    f"{shown_url(endpoint)!r} cannot be an OAuth endpoint of {self.title}: give an https URL, or an "
                    "http URL on this machine, without user name and password"
                )
        if not self.redirect_path.startswith("/"):
            raise SettingsError(f"the redirect path {self.redirect_path[:100]!r} must begin with /")

    @property
    def authority(self) -> str:
        """The origin of sign-ins: the issuer, or else scheme and host of the token endpoint."""
        if self.issuer:
            return self.issuer
        parts = urlsplit(self.token_endpoint)
        return f"{parts.scheme}://{parts.netloc}"

    def command(self, account: str | None = None) -> str:
        """Return the command that signs in, for messages."""
        return self.sign_in_command.replace("{account}", account or DEFAULT_ACCOUNT)

    def full_scope(self, scope: str) -> str:
        """Return a scope as it is on the wire."""
        is_full = "://" in scope or scope in _OPENID_SCOPES
        return scope if is_full else self.scope_prefix + scope

    def asked_scopes(self, scopes: Iterable[str]) -> str:
        """Return the parameter that asks for these scopes, and for whose account it is."""
        return " ".join(dict.fromkeys(map(self.full_scope, (*self.identity_scopes, *scopes))))

    def granted_scopes(self, wire: str) -> tuple[str, ...]:
        """Read the parameter that lists granted scopes; some services separate them by commas."""
        found = {scope.removeprefix(self.scope_prefix) for scope in re.split(r"[\s,]+", wire) if scope}
        return tuple(sorted(found - _IDENTITY_SCOPES - set(self.identity_scopes)))


def _is_protected(url: str) -> bool:
    try:
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:  # a person would take it for another host
            return False
        return (parts.scheme == "https" and bool(parts.hostname)) or (
            parts.scheme == "http" and parts.hostname in _LOOPBACK
        )
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token that opens a service for a while.

    Attributes:
        token: the secret.
        expires_at: in seconds since 1970; ``None`` if the service does not say.
    """

    token: str = field(repr=False)
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """Tokens that a service has just given.

    Attributes:
        access_token: opens the service.
        refresh_token: for the next access token; ``None`` if the service gave none.
        scopes: what is granted, ``None`` if the service does not say, which means what was asked for.
        claims: about the user, from the ID token of OpenID Connect; empty if there is none. It comes straight from the
            token endpoint, so its signature needs no check (OpenID Connect Core, section 3.1.3.7).
        response: the whole answer, for what else a service puts there, such as a workspace.
    """

    access_token: AccessToken
    refresh_token: str | None = field(repr=False)
    scopes: tuple[str, ...] | None
    claims: Mapping[str, Any]
    response: Mapping[str, Any] = field(repr=False)

    @property
    def email(self) -> str | None:
        """The user's address, if the service says it."""
        email = self.claims.get("email")
        return email if isinstance(email, str) and email else None


def read_grant(service: OAuthService, document: Mapping[str, Any]) -> OAuthGrant:
    """Read an answer of the token endpoint (RFC 6749, section 5.1).

    Raises:
        ValueError: it holds no tokens.
    """
    token, refresh_token, scope = (document.get(key) for key in ("access_token", "refresh_token", "scope"))
    token, refresh_token = _secret(token), refresh_token and _secret(refresh_token)
    scopes = service.granted_scopes(scope) if isinstance(scope, str) and scope.strip() else None
    expires_at = _expiry(document.get("expires_in"))
    return OAuthGrant(AccessToken(token, expires_at), refresh_token, scopes, _claims(document), document)


def _secret(value: object) -> str:
    if not (isinstance(value, str) and value and value.isascii() and value.isprintable()):
        raise ValueError("no token")
    remember_secret(value)
    return value


def _expiry(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, str) and seconds.isdecimal():  # as some services write it
        seconds = int(seconds[:20])
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ValueError("no lifetime")
    if not 0 <= seconds <= _LONGEST_LIFETIME_SECONDS:
        raise ValueError("no lifetime")
    return time.time() + seconds


def _claims(document: Mapping[str, Any]) -> dict[str, Any]:
    try:
        payload = document["id_token"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


@dataclass(frozen=True, slots=True)
class OAuthAccount:
    """An account at a service.

    Attributes:
        name: the user's word for it.
        scopes: what was granted, without the service's prefix.
        email: whose account it is; ``None`` if the service did not say.
        details: what else a plugin knows of it, as JSON data that is not secret.
    """

    name: str
    scopes: tuple[str, ...] = ()
    email: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name, and whose account it is; for people."""
        return f"{self.name} ({self.email})" if self.email and self.email != self.name else self.name


class OAuthAccounts:
    """The accounts of one service in one home, and which of them is the default.

    Public data lies in ``accounts.json``, in a file for its owner alone. Refresh tokens lie in the system keyring, or
    without one in such a file; access tokens, which expire, in such a file each.

    Args:
        service: for names and messages.
        folder: where the files lie; made when something is stored.
        locks: where lock files lie, by default in the folder.
    """

    def __init__(self, service: OAuthService, folder: Path, locks: Path | None = None) -> None:
        self._service = service
        self._folder = folder
        self._path = folder / "accounts.json"
        self._locks = locks or folder / "locks"
        title = service.title
        words = SecretWords(
            f"the {title} sign-in of {{name}}", f"the {title} sign-ins", "sign-in", service.command("{name}")
        )
        self._secrets = SecretStore(folder / f"{service.name}_sign_ins.json", self._locks, words)

    def list(self) -> dict[str, OAuthAccount]:
        """List all accounts by name, in the order of signing in.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return self._read()[1]

    def get(self, name: str) -> OAuthAccount:
        """Find an account.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: the file is open to others or damaged.
        """
        accounts = self.list()
        if name not in accounts:
            known = f"signed in are: {', '.join(accounts)}" if accounts else "none is signed in"
            raise NotFoundError(f"there is no {self._service.title} account {name[:100]!r}; {known}")
        return accounts[name]

    @property
    def default_name(self) -> str | None:
        """The account used when none is named; ``None`` if there is no account."""
        return self._read()[0]

    def set_default(self, name: str) -> None:
        """Choose the default account.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: it cannot be stored.
        """
        self.get(name)
        with self._changing() as (_, accounts):
            self._write(name, accounts)

    def check_name(self, name: str) -> str:
        """Check a name for an account, new or known.

        Raises:
            UsageError: it cannot be a name, or differs from another account's in nothing but the case of letters:
                where files are found in any case, the two would share one access token.
        """
        if not _ACCOUNT_NAME.fullmatch(name):
            raise UsageError(
                f"{name[:100]!r} cannot be an account's name: use letters, digits, and . _ @ + - behind the first"
            )
        for known in self.list():
            if known != name and known.casefold() == name.casefold():
                raise UsageError(f"there is an account {known}: give that name, or one that differs in more than case")
        return name

    def save(self, account: OAuthAccount, secret: Mapping[str, Any], *, in_file: bool = False) -> SecretPlace:
        """Add an account, or replace the one of its name; the first account becomes the default.

        Args:
            account: its public data.
            secret: JSON data that access tokens can be had with.
            in_file: do not use the system keyring.

        Returns:
            Where the secret is.

        Raises:
            OneClawError: it cannot be stored.
        """
        self.check_name(account.name)
        place = self._secrets.set(account.name, json.dumps(dict(secret)), in_file=in_file)
        self.forget_access_token(account.name)
        with self._changing() as (default, accounts):
            accounts[account.name] = account
            self._write(default or account.name, accounts)
        return place

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
        except OneClawError as error:  # raised once everything else is forgotten
            problem = error
        with self._changing() as (default, accounts):
            accounts.pop(name, None)
            self._write(default if default in accounts else next(iter(accounts), None), accounts)
        # A call that holds it now works for an account that is gone.
        with suppress(FileNotFoundError):
            self._token_lock(name).unlink()
        if problem is not None:
            raise problem

    def note_scopes(self, name: str, scopes: tuple[str, ...]) -> None:
        """Store what is granted by now, if it has changed."""
        account = self.list().get(name)
        if account is None or set(account.scopes) == set(scopes):
            return
        with self._changing() as (default, accounts):
            if name in accounts:
                accounts[name] = replace(accounts[name], scopes=scopes)
                self._write(default, accounts)

    def update_details(self, name: str, changes: Mapping[str, Any]) -> None:
        """Change what a plugin knows of an account; other details stay.

        Args:
            name: of the account.
            changes: JSON data that is not secret, by key.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: it cannot be stored.
        """
        self.get(name)
        with self._changing() as (default, accounts):
            if name in accounts:
                accounts[name] = replace(accounts[name], details={**accounts[name].details, **changes})
                self._write(default, accounts)

    def places(self) -> dict[str, SecretPlace]:
        """Return where the secret of each account is; no keyring is asked.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return self._secrets.stored()

    def secret(self, name: str) -> dict[str, Any]:
        """Read the data that access tokens of an account can be had with; the keyring may make this wait.

        Raises:
            OneClawError: it cannot be read.
        """
        with suppress(ValueError, TypeError, RecursionError):
            secret = json.loads(self._secrets.get(name) or "")
            if isinstance(secret, dict):
                for key in _SECRET_KEYS:
                    if secret.get(key):
                        remember_secret(str(secret[key]), f"{self._path} {name} {key}")
                return secret
        raise self.damaged(name)

    def change_secret(self, name: str, secret: Mapping[str, Any]) -> None:
        """Replace an account's secret where it is, for instance when the service has replaced a refresh token.

        Raises:
            OneClawError: it cannot be stored.
        """
        in_file = self._secrets.stored().get(name) is SecretPlace.FILE
        self._secrets.set(name, json.dumps(dict(secret)), in_file=in_file)

    def damaged(self, name: str) -> OneClawError:
        """Make the error for a secret that lacks something."""
        return OneClawError(
            f"the {self._service.title} sign-in of {name} is lost or damaged: sign in again with: "
            f"{self._service.command(name)}"
        )

    def access_token(self, name: str) -> AccessToken | None:
        """Read the access token that was stored last; it may have expired."""
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            content = read_private(self._token_path(name), _MAX_FILE_BYTES)
            if content is not None:
                values = json.loads(content)
                expires_at = values["expires_at"]
                found = AccessToken(str(values["token"]), None if expires_at is None else float(expires_at))
                remember_secret(found.token, str(self._token_path(name)))
                return found
        return None

    def save_access_token(self, name: str, token: AccessToken) -> None:
        """Store an access token for the next call, in any process.

        Raises:
            OneClawError: it cannot be stored.
        """
        remember_secret(token.token, str(self._token_path(name)))
        try:
            document = {"token": token.token, "expires_at": token.expires_at}
            write_private(self._token_path(name), json.dumps(document).encode())
        except OSError as error:
            raise self._not_writable(error) from None

    def forget_access_token(self, name: str) -> None:
        """Have the next call get a new access token."""
        with suppress(FileNotFoundError):
            self._token_path(name).unlink()

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Keep all other calls in all processes from refreshing or changing the sign-in of an account.

        Raises:
            OAuthUnavailableError: others take too long.
            OneClawError: there can be no lock file.
        """
        from filelock import AsyncFileLock, Timeout

        lock = AsyncFileLock(self._token_lock(name), timeout=TOKEN_LOCK_SECONDS, mode=0o600)
        try:
            make_private_directory(self._locks)
            await lock.acquire()
        except Timeout:
            raise OAuthUnavailableError(
                f"Another process has been asking {self._service.title} for access for {name} for "
                f"{TOKEN_LOCK_SECONDS} s. Try again later."
            ) from None
        except OSError as error:
            raise self._not_writable(error) from None
        try:
            yield
        finally:
            await lock.release()

    def _token_lock(self, name: str) -> Path:
        return self._locks / f"{self._service.name}_token-{name}.lock"

    def _token_path(self, name: str) -> Path:
        return self._folder / f"access_token-{name}.json"

    @contextmanager
    def _changing(self) -> Iterator[tuple[str | None, dict[str, OAuthAccount]]]:
        """Read the accounts while no other process changes them."""
        lock = self._locks / f"{self._service.name}_accounts.lock"
        with changing_private(self._path, lock, f"the {self._service.title} accounts"):
            yield self._read()

    def _write(self, default: str | None, accounts: Mapping[str, OAuthAccount]) -> None:
        entries = {name: _entry(account) for name, account in accounts.items()}
        write_private(self._path, json.dumps({"default": default, "accounts": entries}, indent=2).encode())

    def _read(self) -> tuple[str | None, dict[str, OAuthAccount]]:
        content = read_private(self._path, _MAX_FILE_BYTES)
        if content is None:
            return None, {}
        with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            document = json.loads(content)
            accounts = {name: _account(name, entry) for name, entry in document["accounts"].items()}
            default = document["default"]
            if default is None or default in accounts:
                return default, accounts
        raise OneClawError(
            f"{self._path} is damaged: put a backup copy in its place, or delete it and sign in again with: "
            f"{self._service.command()}"
        )

    def _not_writable(self, error: OSError) -> OneClawError:
        return OneClawError(
            f"the {self._service.title} accounts cannot be stored in {self._folder}: {error.strerror or error}; make "
            "it writable"
        )


def _entry(account: OAuthAccount) -> dict[str, Any]:
    return {**account.details, "name": account.name, "email": account.email, "scopes": list(account.scopes)}


def _account(name: str, entry: Mapping[str, Any]) -> OAuthAccount:
    details = {key: value for key, value in entry.items() if key not in ("name", "email", "scopes")}
    email = entry["email"]
    if entry["name"] != name or not _ACCOUNT_NAME.fullmatch(name):
        raise ValueError(name)
    return OAuthAccount(name, tuple(map(str, entry["scopes"])), email and str(email), details)
