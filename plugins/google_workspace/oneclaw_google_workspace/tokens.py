"""A valid access token whenever one is needed, got from Google by one call at a time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from oneclaw_google_workspace.accounts import TOKEN_LOCK_SECONDS
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from oneclaw_google_workspace.accounts import AccessToken, Account, AccountBook

# A token that is about to end may end on its way.
_MARGIN_SECONDS = 60


class TokenSource:
    """Access tokens of one account.

    Args:
        book: where tokens are kept, for all calls in all processes.
        account: whose.
        make_client: gives the HTTP client for asking Google, a synchronous one.
    """

    def __init__(self, book: AccountBook, account: Account, make_client: Callable[[], httpx.Client]) -> None:
        self._book = book
        self._account = account
        self._make_client = make_client

    async def token(self, *, refused: str | None = None) -> str:
        """Give a token that is valid as far as anybody knows.

        Of any number of calls that need a new one, one asks Google, and the others wait for it.

        Args:
            refused: a token that Google has just refused.

        Raises:
            GoogleError: Google gives none; the message says what the user can do.
            OneClawError: the sign-in cannot be read.
        """
        found = self._kept(refused)
        if found is not None:
            return found.token
        from filelock import AsyncFileLock, Timeout

        lock = AsyncFileLock(self._book.token_lock(self._account.name), timeout=TOKEN_LOCK_SECONDS, mode=0o600)
        try:
            async with lock:
                found = self._kept(refused)
                return found.token if found is not None else await asyncio.to_thread(self._get_new)
        except Timeout:
            raise GoogleError(
                "service_unavailable",
                f"Another process has been asking Google for access for {self._account.name} for "
                f"{TOKEN_LOCK_SECONDS} s. Try again later.",
            ) from None

    def _kept(self, refused: str | None) -> AccessToken | None:
        found = self._book.access_token(self._account.name)
        is_usable = found is not None and found.token != refused and found.expires_at - _MARGIN_SECONDS > time.time()
        return found if is_usable else None

    def _get_new(self) -> str:
        from oneclaw_google_workspace.token_requests import HttpxTransport, request_token

        name = self._account.name
        secret = self._book.secret(name)
        token, changed, scopes = request_token(self._account, secret, HttpxTransport(self._make_client()))
        if changed != secret:
            self._book.change_secret(name, changed)
        self._book.save_access_token(name, token)
        self._book.note_scopes(name, scopes)
        return token.token
