"""The services behind ``ToolContext`` for one running call."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError, PermissionDeniedError
from oneclaw_core.http.clients import (
    create_guarded_client,
    create_guarded_sync_client,
    is_public_address,
    refuse_on_loop,
)
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_core.http.clients import SyncAddressGate

    InnerCall = Callable[[str, dict[str, Any]], AbstractAsyncContextManager[dict[str, Any]]]

# Of each piece of news about a call: thousands of them may wait to be shown.
MAX_PROGRESS_CHARACTERS = 1_000


class RunningCall:
    """Keeps the time of one call, asks the user on its behalf, and owns its HTTP clients.

    The time that the user takes to answer a question does not count against the tool.

    Args:
        timeout_seconds: how long the tool may run.
        require_permission: asks for a permission, with a detail for the user, and what it is needed for.
        report_progress: passes on how far the tool has come.
        inner_call: has plugins decide on what a program of the tool does; ``None`` if no plugin does.
    """

    def __init__(
        self,
        timeout_seconds: float,
        require_permission: Callable[[str, str, str | None], Awaitable[None]],
        report_progress: Callable[[str, float | None], None],
        inner_call: InnerCall | None = None,
    ) -> None:
        self._deadline = time.monotonic() + timeout_seconds
        self._require_permission = require_permission
        self._report_progress = report_progress
        self._inner_call = inner_call
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._questions_since: float | None = None
        self._asked_seconds = 0.0
        self._questions = 0
        self._is_closed = False
        self._questions_of_threads: set[Future[None]] = set()
        # A host with two addresses is no reason to ask twice.
        self._allowed_hosts: set[str] = set()
        self._changed: asyncio.Future[None] = self._loop.create_future()
        self._client: httpx.AsyncClient | None = None
        self._sync_client: httpx.Client | None = None

    def remaining_seconds(self) -> float | None:
        """How long the tool may still run; ``None`` while the user is being asked."""
        return None if self._questions else self._deadline - time.monotonic()

    def asked_seconds(self) -> float:
        """How long the user has been asked questions so far, in seconds."""
        if not self._questions or self._questions_since is None:
            return self._asked_seconds
        return self._asked_seconds + time.monotonic() - self._questions_since

    def changed(self) -> asyncio.Future[None]:
        """Is done when ``remaining_seconds`` has started or stopped to count."""
        if self._changed.done():
            self._changed = self._loop.create_future()
        return self._changed

    def progress(self, message: str, fraction: float | None) -> None:
        """Pass on how far the tool has come, from whatever thread."""
        if fraction is not None:
            is_number = isinstance(fraction, int | float) and math.isfinite(fraction)
            fraction = min(max(fraction, 0.0), 1.0) if is_number else None
        self._loop.call_soon_threadsafe(self._pass_on, clean_text(str(message)[:MAX_PROGRESS_CHARACTERS]), fraction)

    async def ask_permission(self, permission: str, detail: str, subject: str | None = None) -> None:
        """Go on if the user grants the permission.

        Raises:
            PermissionDeniedError: the user does not.
        """
        self._check_open()
        with self.paused():
            await self._require_permission(permission, detail, subject)

    def ask_permission_sync(self, permission: str, detail: str, subject: str | None = None) -> None:
        """Do what :meth:`ask_permission` does, from a thread.

        Raises:
            PermissionDeniedError: the user does not grant it.
            OneClawError: this is the event loop's own thread, which would wait for itself.
        """
        if threading.get_ident() == self._loop_thread:
            raise OneClawError("an async tool asks with: await context.ask_permission(...)")
        self._wait_for(self.ask_permission(permission, detail, subject))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time stand still, because the user is being asked."""
        if not self._questions:
            self._questions_since = time.monotonic()
        self._questions += 1
        self._notify()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions and self._questions_since is not None:
                asked_seconds = time.monotonic() - self._questions_since
                self._deadline += asked_seconds
                self._asked_seconds += asked_seconds
            self._notify()

    def inner_call(self, tool: str, arguments: dict[str, Any]) -> AbstractAsyncContextManager[dict[str, Any]]:
        """Have plugins decide on what a program of the tool does.

        Raises:
            PermissionDeniedError: one refuses it.
        """
        self._check_open()
        return nullcontext(arguments) if self._inner_call is None else self._inner_call(tool, arguments)

    async def allow_address(self, host: str, address: str) -> None:
        """Go on if the tool may connect to an address.

        Raises:
            PermissionDeniedError: it may not.
        """
        await (self._allow_public if is_public_address(address) else self._allow_private)(host, address)

    def http_client(self) -> httpx.AsyncClient:
        """The guarded client of this call."""
        self._check_open()
        if self._client is None:
            self._client = create_guarded_client(self._allow_private, self._allow_public)
        return self._client

    def sync_http_client(self) -> httpx.Client:
        """The guarded client of this call for a synchronous tool, which runs in a thread."""
        self._check_open()
        if self._sync_client is None:
            self._sync_client = create_guarded_sync_client(
                self._from_thread(self._allow_private), self._from_thread(self._allow_public)
            )
        return self._sync_client

    async def aclose(self) -> None:
        """Close the clients that the tool used, and take back its questions: a thread may go on after its call."""
        self._is_closed = True
        for question in list(self._questions_of_threads):
            question.cancel()
        if self._client is not None:
            await self._client.aclose()
        if self._sync_client is not None:
            self._sync_client.close()

    def _pass_on(self, message: str, fraction: float | None) -> None:
        if not self._is_closed:  # a thread that was left to itself may go on, and its call has its outcome
            self._report_progress(message, fraction)

    def _from_thread(self, gate: Callable[[str, str], Coroutine[Any, Any, None]]) -> SyncAddressGate:
        def allow(host: str, address: str) -> None:
            refuse_on_loop(self._loop)
            self._wait_for(gate(host, address))

        return allow

    def _wait_for(self, answer: Coroutine[Any, Any, None]) -> None:
        """Have the event loop ask, and wait in this thread."""
        question = asyncio.run_coroutine_threadsafe(answer, self._loop)
        self._questions_of_threads.add(question)
        try:
            question.result()
        finally:
            self._questions_of_threads.discard(question)

    async def _allow_public(self, host: str, address: str) -> None:
        await self.ask_permission("network.public", f"connect to {host} at the public address {address}")

    async def _allow_private(self, host: str, address: str) -> None:
        if host in self._allowed_hosts:
            return
        try:
            await self.ask_permission("network.private", f"connect to {host} at the private address {address}")
        except PermissionDeniedError as error:
            raise PermissionDeniedError(
                f"{host} is at the private address {address}. {error}", "network.private"
            ) from None
        self._allowed_hosts.add(host)

    def _check_open(self) -> None:
        if self._is_closed:
            raise OneClawError("this call has ended: a tool cannot ask or connect after its timeout")

    def _notify(self) -> None:
        if not self._changed.done():
            self._changed.set_result(None)
