"""Access tokens for the servers of OneClaw: named, scoped, stored as hashes."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import DuplicateError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_LIFETIME_DAYS = 3_650
_PREFIX = "oneclaw"
_KEY = "server_token/"
_SECRET_BYTES = 32
_MAX_CHARACTERS = 200
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SCOPE = re.compile(r"[a-z][a-z0-9_.-]*(?::[!-~]{1,200})?")


class TokenStorage(Protocol):
    """The part of a plugin's storage that holds tokens; ``context.storage`` is one."""

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a value."""
        ...

    async def set_if_absent(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> bool:
        """Store a value unless there is one; return True if it was stored."""
        ...

    async def delete(self, key: str) -> bool:
        """Delete a value; return True if there was one."""
        ...

    async def list(self, prefix: str = "") -> dict[str, Any]:
        """Read the values whose keys begin with a prefix."""
        ...


@dataclass(frozen=True, slots=True)
class ServerToken:
    """A token, without its secret.

    Attributes:
        name: unique in its storage.
        scopes: the rights of its bearer: ``ACTION`` or ``ACTION:SUBJECT``.
        created_at: the time of creation.
        expires_at: the time it becomes invalid; ``None`` for never.
    """

    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None

    def allows(self, scope: str) -> bool:
        """Return True if the token has this scope, or the one without a subject that includes it."""
        return scope in self.scopes or scope.partition(":")[0] in self.scopes


class ServerTokens:
    """The tokens of one server.

    A token reads ``oneclaw_NAME_SECRET``. Its secret has 256 random bits and is stored as a SHA-256 hash, so it is
    shown once, when it is made.

    Args:
        storage: where they are kept; ``context.storage`` of a plugin, which all processes of a home share.
    """

    def __init__(self, storage: TokenStorage) -> None:
        self._storage = storage

    async def create(self, name: str, scopes: Iterable[str], *, lifetime_days: float | None = None) -> str:
        """Make a token and return it; it cannot be read again.

        Args:
            name: 1 to 63 lowercase letters, digits and hyphens.
            scopes: at least one; which ones mean something is up to the server.
            lifetime_days: the time after which it is invalid; ``None`` for never.

        Raises:
            DuplicateError: there is a token of that name.
            UsageError: the name, a scope or the time is not acceptable.
        """
        found = tuple(sorted(set(scopes)))
        _check(name, found, lifetime_days)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        created = datetime.now(UTC)
        expires = created + timedelta(days=lifetime_days) if lifetime_days is not None else None
        stored = {
            "digest": _digest(secret),
            "scopes": list(found),
            "created_at": created.isoformat(),
            "expires_at": expires.isoformat() if expires is not None else None,
        }
        seconds = lifetime_days * 86_400 if lifetime_days is not None else None
        if not await self._storage.set_if_absent(f"{_KEY}{name}", stored, ttl_seconds=seconds):
            raise DuplicateError(f"there is a token {name!r} already: revoke it first, or choose another name")
        return f"{_PREFIX}_{name}_{secret}"

    @staticmethod
    def is_token(text: str) -> bool:
        """Return True if a text has the form of a token, whether it is valid or not."""
        prefix, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        return prefix == _PREFIX and bool(secret) and _NAME.fullmatch(name) is not None

    async def list(self) -> Sequence[ServerToken]:
        """Return all valid tokens in the order of their names."""
        stored = await self._storage.list(_KEY)
        return [_token(key.removeprefix(_KEY), value) for key, value in stored.items()]

    async def revoke(self, name: str) -> None:
        """Make a token invalid.

        Raises:
            NotFoundError: there is no token of that name.
        """
        if not _NAME.fullmatch(name) or not await self._storage.delete(f"{_KEY}{name}"):
            raise NotFoundError(f"there is no token {name!r}")

    async def find(self, token: str | None) -> ServerToken | None:
        """Return the token that a client has sent; ``None`` if it is invalid."""
        if token is None or len(token) > _MAX_CHARACTERS or not token.isascii() or not self.is_token(token):
            return None
        _, name, secret = token.split("_", 2)
        stored = await self._storage.get(f"{_KEY}{name}")
        if stored is None or not hmac.compare_digest(str(stored["digest"]), _digest(secret)):
            return None
        return _token(name, stored)


def _digest(secret: str) -> str:
    # A secret of 256 random bits cannot be guessed, so the hash need not be slow.
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(name: str, stored: Mapping[str, Any]) -> ServerToken:
    expires = stored["expires_at"]
    return ServerToken(
        name,
        tuple(stored["scopes"]),
        datetime.fromisoformat(stored["created_at"]),
        datetime.fromisoformat(expires) if expires is not None else None,
    )


def _check(name: str, scopes: tuple[str, ...], lifetime_days: float | None) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a token cannot be named {name!r}: use 1 to 63 lowercase letters, digits and hyphens, such as laptop"
        )
    if not scopes:
        raise UsageError(f"the token {name!r} needs a scope")
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise UsageError(f"{scope!r} is not a scope: it reads ACTION or ACTION:SUBJECT")
    if lifetime_days is not None and not 0 < lifetime_days <= MAX_LIFETIME_DAYS:
        raise UsageError(f"a token lasts more than 0 and at most {MAX_LIFETIME_DAYS} days, not {lifetime_days:g}")
