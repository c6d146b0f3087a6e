"""The client for Google's APIs: one for each tool call."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_google_workspace.accounts import AccountBook, TokenSource, google_oauth
from oneclaw_google_workspace.answers import FILE_SERVICES, chosen_account, files_named, one_line
from oneclaw_google_workspace.failures import (
    GoogleError,
    Patience,
    changes_sent,
    error_for,
    lacking_scopes,
    note_change,
    read_failure,
    reading_only,
    unclear,
)
from oneclaw_google_workspace.methods import ApiRequest, address, api_request
from oneclaw_google_workspace.scopes import Need, login_options, missing_scopes

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    import httpx

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.accounts import Account
    from oneclaw_google_workspace.failures import Failure
    from oneclaw_google_workspace.transfers import Download

MAX_ANSWER_BYTES = 64 * 1024 * 1024
CONNECT_SECONDS = 10
ALONE_SECONDS = 25
SILENCE_SECONDS = 60
# What is left of the tool's timeout when a call stops waiting by itself, to say what may have been done.
MARGIN_SECONDS = 3

Harm = Literal["organize", "write", "send", "share", "forward", "delete"]
"""The harm that a change can do; the last part of its permission."""


class GoogleClient:
    """Calls methods of Google's APIs for one account; made by :func:`connect`.

    Attributes:
        context: of the tool call.
        account: for whom.
        need: what the call needs of the sign-in.
        patience: what is left of the time for waiting.
        headers: sent along with every request; the key of a file that only those with its link may open belongs here.
    """

    def __init__(
        self, context: ToolContext, account: Account, need: Need, tokens: TokenSource, *, is_usual: bool = True
    ) -> None:
        self.context = context
        self.account = account
        self.need = need
        self.patience = Patience()
        self.headers: dict[str, str] = {}
        self._tokens = tokens
        self._is_usual = is_usual
        self._may_write = False
        self._may_read = False

    def require_scopes(self, *scopes: str) -> None:
        """Go on only if the user has consented to more than the tool always needs.

        Args:
            scopes: such as ``directory.readonly``.

        Raises:
            GoogleError: they have not; the message names the command that adds it.
        """
        if missing_scopes(scopes, self.account.scopes):
            raise GoogleError("not_available", lacking_scopes(self.account, self.need, scopes))

    def require_write_access(self) -> None:
        """Go on only if the user has signed in for changes by this call, and they were granted.

        Raises:
            GoogleError: they have not; the message names the command that allows it.
        """
        if self.need.service in self.account.read_only:
            raise GoogleError("not_available", reading_only(self.account, self.need))
        if missing_scopes(self.need.scopes, self.account.writing_scopes):
            raise GoogleError("not_available", lacking_scopes(self.account, self.need, self.need.scopes))

    async def check_reading(self) -> None:
        """Go on unless the user has denied reading from the service, or from it with this account.

        Raises:
            PermissionDeniedError: so it is; let it pass.
        """
        if not self._may_read:
            await self.context.is_granted(f"google.{self.need.service}.read", f"as {self.account.name}", None, "")
            self._may_read = True

    async def ask(
        self, detail: str, harm: Harm = "write", subject: str | None = None, files: Sequence[str] | None = None
    ) -> None:
        """Go on only if the user agrees with a change; without it this client sends nothing that changes anything.

        Args:
            detail: what is about to be done and to whom, such as ``delete the tasks "Milk", "Bread"``; what others or
                the model wrote stands in it by the functions of :mod:`~oneclaw_google_workspace.answers`.
            harm: what kind of change it is, the last part of the permission.
            subject: to whom it goes, such as ``bo@example.com, cy@example.com``: a lasting answer is for them alone.
            files: ids of the files that it is about, for which a lasting answer is where it goes to no one; by default
                those that the arguments of the call name.

        Raises:
            PermissionDeniedError: they do not; let it pass.
            GoogleError: the account is signed in to the service for reading only, although Google would let it write.
        """
        self.require_write_access()
        permission = f"google.{self.need.service}.{harm}"
        whole = self._subject(subject, files_named() if files is None else files)
        await self.context.ask_permission(permission, one_line(f"{detail}, as {self.account.label}"), whole)
        self._may_write = True

    def _subject(self, whom: str | None, files: Sequence[str]) -> str:
        """Say what a change is for: people or files, and the account where nothing else or another one is used."""
        what = whom or (", ".join(files) if self.need.service in FILE_SERVICES else "")
        if what and self._is_usual:
            return what
        return ", ".join([*([what] if what else []), f"as {self.account.name}"])

    async def call(
        self,
        method_id: str,
        *,
        body: Mapping[str, Any] | None = None,
        fields: str | None = None,
        is_repeatable: bool | None = None,
        unclear_hint: str = "",
        **parameters: Any,
    ) -> dict[str, Any]:
        """Call a method.

        Args:
            method_id: such as ``tasks.tasks.list``.
            body: of the request, as JSON data.
            fields: the parts of the answer that are wanted, such as ``items(id,title),nextPageToken``.
            is_repeatable: see :func:`~oneclaw_google_workspace.methods.api_request`.
            unclear_hint: the same.
            parameters: of path and query, by the names that Google gives them; ``None`` is left out.

        Returns:
            The answer; empty if there is none.

        Raises:
            GoogleError: it did not work out.
        """
        return await self.send(
            api_request(
                method_id,
                body=body,
                fields=fields,
                is_repeatable=is_repeatable,
                unclear_hint=unclear_hint,
                **parameters,
            )
        )

    async def delete(self, method_id: str, **parameters: Any) -> None:
        """Call a method that deletes something; that it is gone already is as good.

        Args:
            method_id: such as ``tasks.tasklists.delete``.
            parameters: as for :meth:`call`.

        Raises:
            GoogleError: it did not work out.
        """
        try:
            await self.call(method_id, **parameters)
        except GoogleError as error:
            if error.status not in (404, 410):
                raise

    async def send(self, request: ApiRequest, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Send a request that was built before, with further headers if need be; otherwise like :meth:`call`."""
        sent = {"Content-Type": "application/json"} if request.body is not None else {}
        status, _, content = await self.exchange(
            request, request.url, headers={**sent, **(headers or {})}, content=request.content
        )
        return answer_to(request, content, status)

    async def all_items(
        self, method_id: str, items: str, *, fields: str, limit: int, **parameters: Any
    ) -> tuple[list[dict[str, Any]], bool]:
        """Page through a list, for tools that need all of it.

        Args:
            method_id: of a list.
            items: the key of the answer that holds the items.
            fields: of an answer; ``nextPageToken`` is added.
            limit: stop after so many.
            parameters: as for :meth:`call`.

        Returns:
            The items, and whether there are more than the limit.

        Raises:
            GoogleError: it did not work out.
        """
        found: list[dict[str, Any]] = []
        token: str | None = None
        while True:
            page = await self.call(method_id, fields=f"{fields},nextPageToken", pageToken=token, **parameters)
            found += page.get(items, [])
            following = page.get("nextPageToken")
            # A token that comes back unchanged would go round for ever.
            if not following or following == token or len(found) >= limit:
                return found[:limit], len(found) > limit or bool(following and following != token)
            token = following

    async def batch(self, requests: Sequence[ApiRequest]) -> list[dict[str, Any] | GoogleError]:
        """Send many requests at once, all to one API; each has a separate outcome.

        Args:
            requests: made by :func:`~oneclaw_google_workspace.methods.api_request`, any number.

        Returns:
            For each, in order, the answer or the error.

        Raises:
            GoogleError: nothing worked out at all, such as for want of a sign-in.
        """
        from oneclaw_google_workspace.transfers import send_batch

        return await send_batch(self, requests)

    async def upload(self, request: ApiRequest, source: Path | bytes, media_type: str) -> dict[str, Any]:
        """Call a method that takes a file, which is sent piece by piece and taken up again where it broke off.

        Args:
            request: made by :func:`~oneclaw_google_workspace.methods.api_request`; its body is the file's metadata.
            source: the file, or its content.
            media_type: of the content, such as ``text/csv``.

        Raises:
            GoogleError: it did not work out.
        """
        from oneclaw_google_workspace.transfers import send_upload

        return await send_upload(self, request, source, media_type)

    async def download(
        self,
        request: ApiRequest,
        target: Path,
        *,
        max_bytes: int | None = None,
        check: Callable[[Path], Awaitable[None]] | None = None,
    ) -> Download:
        """Save what a method answers, such as ``drive.files.get`` with ``alt="media"``, piece by piece.

        Args:
            request: made by :func:`~oneclaw_google_workspace.methods.api_request`.
            target: the file, from ``context.paths.writable``; nothing is there until all of it is.
            max_bytes: refuse more.
            check: is given what has arrived before it takes its place; if it raises, ``target`` stays as it was.

        Raises:
            GoogleError: it did not work out.
        """
        from oneclaw_google_workspace.transfers import receive

        return await receive(self, request, request.url, target, max_bytes=max_bytes, check=check)

    async def download_link(
        self, request: ApiRequest, link: str, target: Path, *, max_bytes: int | None = None
    ) -> Download:
        """Save what is behind a link that Google has answered, such as that of a thumbnail or of an export.

        The access token goes along to Google's own hosts only.

        Args:
            request: the one that was answered with the link, for messages.
            link: an ``https`` URL.
            target: as for :meth:`download`.
            max_bytes: as for :meth:`download`.

        Raises:
            GoogleError: it did not work out.
        """
        from oneclaw_google_workspace.transfers import receive

        return await receive(self, request, link, target, max_bytes=max_bytes)

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncIterator[None]:
        """Do something while no other call for this account does the same, in whatever process.

        Args:
            what: such as ``contacts``, whose changes Google wants one after the other.

        Raises:
            GoogleError: others take too long.
        """
        from filelock import AsyncFileLock, Timeout

        path = self.context.services.home.locks / f"google_{what}-{self.account.name}.lock"
        lock = AsyncFileLock(path, timeout=ALONE_SECONDS, mode=0o600)
        try:
            await lock.acquire()
        except Timeout:
            raise GoogleError(
                "service_unavailable", f"Other calls have been changing {what} for {ALONE_SECONDS} s. Try again."
            ) from None
        try:
            yield
        finally:
            await lock.release()

    async def exchange(
        self,
        request: ApiRequest,
        url: str,
        *,
        verb: str | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        accepted: Sequence[int] = (),
    ) -> tuple[int, httpx.Headers, bytes]:
        """Send something and receive the answer, with everything that can be tried again tried again.

        Args:
            request: what it belongs to: says whether it can be repeated, and what to call it.
            url: as Google's documentation has it.
            verb: of HTTP; by default the method's.
            headers: beside the access token.
            content: the body.
            accepted: statuses beside 200 to 299 that are no failure.

        Returns:
            Status, headers and content of the answer.

        Raises:
            GoogleError: it did not work out.
        """
        async with self.in_time(request):
            return await self._exchange(request, url, verb, headers or {}, content, accepted)

    @asynccontextmanager
    async def in_time(self, request: ApiRequest) -> AsyncIterator[None]:
        """Give a request up before the tool's timeout, which could not say whether anything was changed.

        Args:
            request: what is sent.

        Raises:
            GoogleError: the time is up.
        """
        left = self.context.remaining_seconds() - MARGIN_SECONDS
        try:
            if left <= 0:
                raise TimeoutError
            async with asyncio.timeout(left):
                yield
        except TimeoutError:
            if changes_sent():
                raise unclear(request, "The time of this call was up before Google had answered") from None
            message = "Google has not answered in time, and nothing was changed. Try again later."
            raise GoogleError("timeout", message) from None

    async def _exchange(
        self,
        request: ApiRequest,
        url: str,
        verb: str | None,
        headers: Mapping[str, str],
        content: bytes | None,
        accepted: Sequence[int],
    ) -> tuple[int, httpx.Headers, bytes]:
        import httpx

        tries, refused, was_unclear = 0, None, False
        while True:
            tries += 1
            token = await self._token(request, refused)
            try:
                status, received, body = await self._once(request, verb, url, token, headers, content)
            except httpx.HTTPError as error:
                if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) or request.is_repeatable:
                    was_unclear = was_unclear or not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                    if await self.patience.wait(tries, None):
                        continue
                    raise _given_up(request, _unreachable(error), was_unclear=was_unclear) from None
                raise unclear(request, f"The connection to Google broke off ({_reason(error)})") from None
            if 200 <= status < 300 or status in accepted:
                return status, received, body
            failure = read_failure(status, received, body)
            if failure.is_unauthorized and refused is None:
                refused = token
                tries -= 1
            elif was_unclear and request.method.verb == "DELETE" and status in (404, 410):
                return 204, received, b""  # the first request was carried out after all
            elif not await self.should_retry(failure, request, tries):
                was_unclear = was_unclear or failure.is_transient
                final = self.error(failure, request)
                if failure.is_transient or failure.is_rate_limit or failure.is_unauthorized:
                    final = _given_up(request, final, was_unclear=was_unclear)
                final.was_unclear = was_unclear
                raise final
            was_unclear = was_unclear or failure.is_transient

    async def should_retry(self, failure: Failure, request: ApiRequest, tries: int) -> bool:
        """Wait and say whether to send a request again; if not, nothing was waited for."""
        if not (failure.is_rate_limit or (failure.is_transient and request.is_repeatable)):
            return False
        return await self.patience.wait(tries, failure.retry_after_seconds)

    def error(self, failure: Failure, request: ApiRequest) -> GoogleError:
        """Make the error for a failure that is final."""
        return error_for(failure, request, self.account, self.need)

    async def authorization(self, request: ApiRequest, refused: str | None = None) -> str:
        """The value of the header ``Authorization``.

        Args:
            request: what is about to be sent; one that changes something needs :meth:`ask` before.
            refused: the value that Google has just refused.
        """
        token = await self._token(request, refused and refused.removeprefix("Bearer "))
        return f"Bearer {token}"

    async def _token(self, request: ApiRequest, refused: str | None) -> str:
        if self.need.reads_only:
            await self.check_reading()
        if not (self._may_write or request.method.is_reading):
            raise RuntimeError(f"{request.method.id} changes something: await google.ask(...) comes before it")
        token = await self._tokens.token(refused=refused)
        if not request.method.is_reading:
            note_change(request.method.id)
        return token

    async def _once(
        self,
        request: ApiRequest,
        verb: str | None,
        url: str,
        token: str,
        headers: Mapping[str, str],
        content: bytes | AsyncIterable[bytes] | None,
    ) -> tuple[int, httpx.Headers, bytes]:
        async with self.context.service_http.stream(
            verb or request.method.verb,
            address(url),
            headers={**self.headers, **headers, "Authorization": f"Bearer {token}"},
            content=content,
            timeout=timeouts(),
            follow_redirects=False,
        ) as response:
            return response.status_code, response.headers, await read_limited(response)


def timeouts() -> httpx.Timeout:
    """Return the time without an answer from Google that is allowed, in seconds; the tool's timeout is longer."""
    import httpx

    return httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)


async def read_limited(response: httpx.Response) -> bytes:
    """Read a body that is not a file.

    Raises:
        GoogleError: it is so long that it cannot be what was asked for.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise GoogleError(
                "execution_error",
                f"Google's answer is longer than {MAX_ANSWER_BYTES // 1024 // 1024} MB. Ask for a smaller part.",
            )
        pieces.append(piece)
    return b"".join(pieces)


def answer_to(request: ApiRequest, content: bytes, status: int) -> dict[str, Any]:
    """Read the answer to a request that was carried out.

    Raises:
        GoogleError: it is not a JSON object; of a change, then, no one knows what has come of it.
    """
    try:
        return json_object(content, status)
    except GoogleError:
        if request.method.is_reading:
            raise
        raise unclear(request, f"Google's answer cannot be read (status {status})") from None


def json_object(content: bytes, status: int) -> dict[str, Any]:
    """Read an answer; nothing at all counts as an empty one.

    Raises:
        GoogleError: it is not a JSON object.
    """
    if not content.strip():
        return {}
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise GoogleError("execution_error", f"Google's answer cannot be read (status {status}).", status=status)
    return value


def _given_up(request: ApiRequest, error: GoogleError, *, was_unclear: bool) -> GoogleError:
    """Return the message after the last try.

    A request that can be repeated because of an id or a revision of our own can be so within this call only: a model
    that tried again would send another one.
    """
    if was_unclear and request.is_repeatable and not request.method.is_repeatable:
        error = unclear(request, str(error).rstrip("."))
    error.was_unclear = was_unclear
    return error


def _unreachable(error: httpx.HTTPError) -> GoogleError:
    return GoogleError("service_unavailable", f"Google cannot be reached: {_reason(error)}. Try again later.")


def _reason(error: httpx.HTTPError) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def connect(context: ToolContext, need: Need | None = None) -> GoogleClient:
    """Make the client of a tool call, for the account that it names or the default one; nothing is sent yet.

    Args:
        context: of the call.
        need: what it needs of the sign-in; by default, what the tool always does.

    Raises:
        GoogleError: no one is signed in, or not for what the tool needs, or the user has not released the account; the
            message names the command to run.
        OneClawError: the sign-in cannot be read.
    """
    need = need or Need.of_tool(context.tool_name)
    book = AccountBook(context.services.home)
    account = book.for_tools(login_options(need.service, need.scopes), chosen_account())
    if missing_scopes(need.scopes, account.scopes):
        raise GoogleError("not_available", lacking_scopes(account, need, need.scopes))
    oauth = google_oauth(book, open_http=lambda: nullcontext(context.service_http))
    return GoogleClient(context, account, need, TokenSource(oauth, account), is_usual=account.name == book.default_name)
