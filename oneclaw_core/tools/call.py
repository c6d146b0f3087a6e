"""One running tool call: its timeout, its services, and its result."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import NobodyToAskError, OAuthError, OneClawError, PermissionDeniedError, errors_within
from oneclaw_core.http.addresses import is_public_address
from oneclaw_core.http.clients import FOLLOWED, GuardedClients
from oneclaw_core.http.messages import shown_url
from oneclaw_core.permissions.host_patterns import private_place
from oneclaw_core.permissions.provenance import SEND_PERMISSION, plain_headers, request_in_words
from oneclaw_core.secrets.redaction import redact_all
from oneclaw_core.system.threads import LoopBlockedError, ThreadWatch, started_task
from oneclaw_core.tools.function import invoke
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.text import clean_text
from oneclaw_core.types.tools import MAX_KEPT_CHARACTERS, ToolResult, of_kept_size
from oneclaw_core.worker_loop import HEARTBEAT_SECONDS, is_worker_thread, run_on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    import httpx

    InnerCall = Callable[[str, dict[str, Any]], AbstractAsyncContextManager[dict[str, Any]]]
    from oneclaw_core.permissions.provenance import CallProvenance
    from oneclaw_core.plugins.running.tool_calls import Around
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.definition import Tool
    from oneclaw_core.tools.permissions import RequirePermission
    from oneclaw_core.tools.user_question import UserQuestion
    from oneclaw_core.worker_loop import WorkerLoop

# How long a cancelled tool may take to clean up before it is left to itself.
CLEAN_UP_SECONDS = 2.0
MAX_ERROR_CHARACTERS = 2000
MAX_KEPT_ATTACHMENT_BYTES = 100_000_000
# Of each piece of news about a call: thousands of them may wait to be shown.
MAX_PROGRESS_CHARACTERS = 1_000

_log = logging.getLogger("oneclaw.executor")


class TrustedDirectory(Protocol):
    """The start directory: see :class:`oneclaw_core.project.trust.Project`."""

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts it."""
        ...

    @property
    def can_be_asked(self) -> bool:
        """True if the user may be asked to trust it, and has not been."""
        ...

    async def ask_trust(self, require: RequirePermission, detail: str) -> bool:
        """Ask the user, unless that is decided already; return True if the user was asked, and trusts it."""
        ...


class LoopBlocks:
    """Seconds for which tools of the program have blocked its event loop; one object for all calls."""

    seconds = 0.0


class RunningCall:
    """Keeps the time of one call, asks the user on its behalf, and owns its HTTP clients.

    The time that the user takes to answer a question does not count against the tool.

    Args:
        timeout_seconds: how long the tool may run.
        require_permission: asks for a permission.
        report_progress: passes on how far the tool has come.
        inner_call: has plugins decide on what a program of the tool does; ``None`` if no plugin does.
        blocks: of the program's event loop, by tools of the program.
        worker: the event loop of the tool's plugin; ``None`` if it runs on that of the program.
        provenance: knows what the call has read, and which requests the user has to agree with.
        project: the start directory; ``None`` for one that is never trusted.
        can_ask: returns True if a person can be asked.
        ask_user: asks the user a question, with a time limit; ``None`` if no one can be asked.
    """

    def __init__(
        self,
        timeout_seconds: float,
        require_permission: RequirePermission,
        report_progress: Callable[[str, float | None], None],
        inner_call: InnerCall | None = None,
        blocks: LoopBlocks | None = None,
        worker: WorkerLoop | None = None,
        provenance: CallProvenance | None = None,
        project: TrustedDirectory | None = None,
        can_ask: Callable[[], bool] | None = None,
        ask_user: Callable[[UserQuestion, float | None], Awaitable[str | None]] | None = None,
    ) -> None:
        self._ask_user = ask_user
        self._provenance = provenance
        self._worker = worker
        self._project = project
        self._can_ask = can_ask
        self._agreed: set[str] = set()
        self._tool_name = ""
        self._blocks = blocks or LoopBlocks()
        self._blocks_before = self._blocks.seconds
        self._blocked_seconds = 0.0
        self._was_late = False
        self._timeout_seconds = timeout_seconds
        self._deadline = time.monotonic() + timeout_seconds
        self._require_permission = require_permission
        self._report_progress = report_progress
        self._inner_call = inner_call
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._questions_since: float | None = None
        self._asked_seconds = 0.0
        self._questions = 0
        self._counting = threading.Lock()
        self._is_closed = False
        self._questions_of_threads: set[Future[None]] = set()
        # A host with two addresses is no reason to ask twice.
        self._allowed_places: set[str] = set()
        self._changed: asyncio.Future[None] = self._loop.create_future()
        # By whether they are for the plugin's own service.
        self._clients: dict[bool, GuardedClients] = {}

    async def run(
        self, tool: Tool, arguments: dict[str, Any], context: ToolContext, around: Around | None = None
    ) -> ToolResult:
        """Run a tool as a separate task, so that one that ignores being cancelled is left behind.

        Returns:
            Its result; ``timeout``, ``permission_denied`` or ``execution_error`` if it did not come to one.
        """
        self._tool_name = context.tool_name
        with ThreadWatch() as threads:
            task = started_task(_finish(invoke(tool, arguments, context), context.tool_name, around, self._wake))
        task.add_done_callback(self._wake)
        try:
            while not task.done():
                remaining = self.remaining_seconds()
                if remaining is not None and remaining <= 0:
                    if (lost_seconds := self._lost_seconds(-remaining)) > 0:
                        self._deadline += lost_seconds
                        continue
                    await _cancel(task, context.tool_name)
                    if isinstance(threads.block, LoopBlockedError):
                        return _lost(context.tool_name, threads.block)
                    has_ended = task.done() and not threads.are_left
                    return _timed_out(context.tool_name, self._timeout_seconds, has_ended=has_ended)
                if self._changed.done():
                    self._changed = self._loop.create_future()
                timer = None if remaining is None else self._loop.call_later(remaining, self._wake)
                try:
                    await self._changed
                finally:
                    if timer is not None:
                        timer.cancel()
            return self._blocked_program(context.tool_name, task.result()) if self._blocked_seconds else task.result()
        except asyncio.CancelledError:
            if task.done() and task.cancelled():
                return ToolResult.error("execution_error", f"Tool '{context.tool_name}' cancelled itself.")
            caller = asyncio.current_task()
            if task.done() and caller is not None:
                # Too late to stop the tool: what it did is done, and its outcome counts.
                caller.uncancel()
                return task.result()
            await _cancel(task, context.tool_name)
            raise
        finally:
            self._is_closed = True
            if self._clients or self._questions_of_threads:
                await self._close()

    def remaining_seconds(self) -> float | None:
        """Return the seconds until the timeout of the tool; ``None`` while the user is asked."""
        return None if self._questions else self._deadline - time.monotonic()

    def asked_seconds(self) -> float:
        """Return the seconds that questions to the user took so far."""
        if not self._questions or self._questions_since is None:
            return self._asked_seconds
        return self._asked_seconds + time.monotonic() - self._questions_since

    def progress(self, message: str, fraction: float | None) -> None:
        """Pass on how far the tool has come, from whatever thread."""
        if fraction is not None:
            is_number = isinstance(fraction, int | float) and math.isfinite(fraction)
            fraction = min(max(fraction, 0.0), 1.0) if is_number else None
        self._loop.call_soon_threadsafe(self._pass_on, clean_text(str(message)[:MAX_PROGRESS_CHARACTERS]), fraction)

    async def ask_permission(
        self,
        permission: str,
        detail: str,
        subject: str | None = None,
        directory: str | None = None,
        *,
        as_a_whole: bool = False,
    ) -> None:
        """Go on if the user grants the permission.

        Raises:
            PermissionDeniedError: the user does not.
        """
        await run_on(self._loop, self._ask(permission, detail, subject, directory, as_a_whole=as_a_whole))

    async def _ask(
        self, permission: str, detail: str, subject: str | None, directory: str | None, *, as_a_whole: bool
    ) -> None:
        self._check_open()
        with self.paused():
            await self._require_permission(permission, detail, subject, directory, as_a_whole=as_a_whole)

    async def ask_user(self, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        """Ask the user a question; an answer in the user's own words marks the result.

        Raises:
            NobodyToAskError: there is no one.
            TimeoutError: the time is up.
        """
        return await run_on(self._loop, self._asked_user(question, timeout_seconds))

    async def _asked_user(self, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        self._check_open()
        if self._ask_user is None:
            raise NobodyToAskError("no one can be asked here")
        with self.paused():
            answer = await self._ask_user(question, timeout_seconds)
        # What a choice says, a model has written.
        if answer and answer not in question.choices and self._provenance is not None:
            self._provenance.marks.append(Mark(MarkKind.USER, ""))
        return answer

    async def record_writes(self) -> None:
        """Note once more which files hold what the conversation holds, for what wrote them after the call."""
        if self._provenance is not None:
            await run_on(self._loop, self._provenance.finish())

    async def is_granted(
        self, permission: str, subject: str, directory: str | None, sandbox: str, *, as_a_whole: bool = False
    ) -> bool:
        """Return True if the permission is granted already, False if the call goes on in a sandbox without it.

        Raises:
            PermissionDeniedError: it is denied.
        """
        return await run_on(
            self._loop,
            self._require_permission(
                permission, "outside the sandbox", subject, directory, sandbox, as_a_whole=as_a_whole
            ),
        )

    def ask_permission_sync(
        self, permission: str, detail: str, subject: str | None = None, directory: str | None = None
    ) -> None:
        """Do what :meth:`ask_permission` does, from a thread.

        Raises:
            PermissionDeniedError: the user does not grant it.
            OneClawError: this is the event loop's own thread, which would wait for itself.
        """
        self._refuse_on_loops("await context.ask_permission(...)")
        self._wait_for(self.ask_permission(permission, detail, subject, directory))

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts the start directory; see :class:`oneclaw_core.files.paths.PathQuestions`."""
        return self._project is not None and self._project.is_trusted

    def ask_trust(self, detail: str) -> bool:
        """Ask once whether to trust the start directory, from a thread; return True if it is trusted now."""
        project = self._project
        if project is None or project.is_trusted:
            return project is not None
        if project.can_be_asked and self._can_ask is not None and self._can_ask():
            self._refuse_on_loops("await context.writable(path)")
            self._wait_for(run_on(self._loop, self._ask_trust(project, detail)))
        return project.is_trusted

    async def _ask_trust(self, project: TrustedDirectory, detail: str) -> None:
        self._check_open()
        with self.paused():
            if await project.ask_trust(self._require_permission, detail):
                self._agreed.add(detail)

    def ask(self, permission: str, detail: str, path: Path, directory: Path | None) -> None:
        """Go on if the user grants a permission for a path, from a thread.

        Raises:
            PermissionDeniedError: the user does not.
            OneClawError: this is an event loop's own thread, which would wait for itself.
        """
        name = f"{permission}:{path}"
        # Who trusts a directory to have a file written in it has agreed to that.
        if name in self._agreed or (directory is not None and detail in self._agreed):
            return
        self._refuse_on_loops("await context.readable(path), or writable")
        place = None if directory is None else str(directory)
        self._wait_for(self.ask_permission(permission, detail, str(path), place))
        self._agreed.add(name)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time stand still, because the user is being asked."""
        with self._counting:
            if not self._questions:
                self._questions_since = time.monotonic()
            self._questions += 1
        self._notify()
        try:
            yield
        finally:
            with self._counting:
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
        if self._inner_call is None:
            return nullcontext(arguments)
        decision = self._inner_call(tool, arguments)
        return _EnteredOn(self._loop, decision) if is_worker_thread() else decision

    async def allow_address(self, host: str, address: str, port: int) -> None:
        """Go on if the tool may connect to an address.

        Raises:
            PermissionDeniedError: it may not.
        """
        await (self._allow_public if is_public_address(address) else self._allow_private)(host, address, port)

    def http_client(self) -> httpx.AsyncClient:
        """The guarded client of this call."""
        return self._guarded().of_loop()

    def service_http_client(self) -> httpx.AsyncClient:
        """The guarded client of this call for the plugin's own service."""
        return self._guarded(is_service=True).of_loop()

    def sync_http_client(self) -> httpx.Client:
        """The guarded client of this call for a synchronous tool, which runs in a thread."""
        return self._guarded().of_threads()

    def _guarded(self, *, is_service: bool = False) -> GuardedClients:
        self._check_open()
        if is_service not in self._clients:
            gates = (self._allow_private, self._allow_public, *(() if is_service else (self._allow_request,)))
            self._clients[is_service] = GuardedClients(self._loop, self._wait_for, *gates)
        return self._clients[is_service]

    async def _close(self) -> None:
        """Close the clients that the tool used, and take back its questions: a thread may go on after its call."""
        for question in list(self._questions_of_threads):
            question.cancel()
        for clients in self._clients.values():
            await clients.aclose(self._worker)

    def _pass_on(self, message: str, fraction: float | None) -> None:
        if not self._is_closed:  # a thread that was left to itself may go on, and its call has its outcome
            self._report_progress(message, fraction)

    def _refuse_on_loops(self, instead: str) -> None:
        if threading.get_ident() == self._loop_thread or is_worker_thread():
            raise OneClawError(f"an async tool asks with: {instead}")

    def _wait_for(self, answer: Coroutine[Any, Any, None]) -> None:
        """Have the event loop ask, and wait in this thread."""
        question = asyncio.run_coroutine_threadsafe(answer, self._loop)
        self._questions_of_threads.add(question)
        try:
            question.result()
        finally:
            self._questions_of_threads.discard(question)

    async def allow_url(self, url: str, sends: str) -> None:
        """Go on if the tool may ask for a URL.

        Raises:
            PermissionDeniedError: it may not.
        """
        import httpx

        await self._allow_sending(httpx.Request("GET", url), url, sends.encode("utf-8", "replace"))

    async def _allow_request(self, request: httpx.Request) -> None:
        """Ask before a request that the model may have composed is sent, and mark what comes back."""
        url = str(request.url).partition("#")[0]
        await self._allow_sending(request, url, getattr(request, "_content", b""))
        if self._provenance is not None:
            self._provenance.marks.append(Mark.of(MarkKind.OUTSIDE, shown_url(url)))

    async def _allow_sending(self, request: httpx.Request, url: str, body: bytes) -> None:
        if self._provenance is None:
            return
        has_body = (
            bool(body) or request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
        )
        is_followed = FOLLOWED in request.extensions
        question = self._provenance.needs_question(
            request.method, url, plain_headers(request.headers), has_body=has_body, is_followed=is_followed
        )
        if await run_on(self._loop, question):
            detail = request_in_words(request.method, url, body)
            await self.ask_permission(SEND_PERMISSION, detail, request.url.host)

    async def _allow_public(self, host: str, address: str, port: int) -> None:
        await self.ask_permission("network.public", f"connect to {host} at the public address {address}", host)

    async def _allow_private(self, host: str, address: str, port: int) -> None:
        place = private_place(host, address, port)
        if place in self._allowed_places:
            return
        try:
            await self.ask_permission("network.private", f"connect to {host} at the private address {address}", place)
        except PermissionDeniedError as error:
            raise PermissionDeniedError(
                f"{host} is at the private address {address}. {error}", "network.private"
            ) from None
        self._allowed_places.add(place)

    def _check_open(self) -> None:
        if self._is_closed:
            raise OneClawError("this call has ended: a tool cannot ask or connect after its timeout")

    def _notify(self) -> None:
        if threading.get_ident() != self._loop_thread:
            self._loop.call_soon_threadsafe(self._wake)
        else:
            self._wake()

    def _wake(self, _: object = None) -> None:
        """Have :meth:`run` look at what has changed."""
        if not self._changed.done():
            self._changed.set_result(None)

    @coroutine
    def run_async(self, call: Callable[[], Awaitable[Any]]) -> Generator[Any, Any, Any]:
        """Run async code of the tool on the event loop of its plugin; on that of the program, note a block."""
        if self._worker is not None:
            return (yield from self._worker.run(call, f"tool {self._tool_name}").__await__())
        work: Any = call()
        if not isinstance(work, CoroutineType):
            return (yield from work.__await__())
        resume: Callable[[Any], Any] = work.send
        value: Any = None
        while True:
            began = time.monotonic()
            try:
                step = resume(value)
            except StopIteration as stop:
                return stop.value
            finally:
                if (seconds := time.monotonic() - began) > HEARTBEAT_SECONDS:
                    self._note_block(seconds)
            resume = work.send
            try:
                value = yield step
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001  # such as a cancellation: passed on, as a coroutine does
                resume, value = work.throw, error

    def _note_block(self, seconds: float) -> None:
        self._blocked_seconds += seconds
        self._blocks.seconds += seconds

    def _lost_seconds(self, late_seconds: float) -> float:
        """Return how much time others have taken from the tool: while the loop was blocked, it could not run."""
        lost = self._blocks.seconds - self._blocks_before - self._blocked_seconds
        self._blocks_before += lost
        if not lost and not self._blocked_seconds and not self._was_late and late_seconds > HEARTBEAT_SECONDS:
            self._was_late = True  # code of the program has blocked the loop; only once, since it may be slow for long
            return late_seconds + HEARTBEAT_SECONDS
        return lost

    def _blocked_program(self, tool_name: str, result: ToolResult) -> ToolResult:
        """Name a tool that has blocked the program's event loop; past its timeout, that is its result."""
        seconds = self._blocked_seconds
        _log.warning(
            "tool %s blocked the program's event loop for %.1f s: use await there, or a plain function, which runs in "
            "a thread",
            tool_name,
            seconds,
        )
        remaining = self.remaining_seconds()
        if remaining is None or remaining > 0:
            return result
        return ToolResult.error(
            "timeout",
            f"Tool '{tool_name}' blocked the program for {seconds:.1f} s, and ended after its timeout of "
            f"{self._timeout_seconds:g} s. It may have had its effect. Do not repeat it without asking the user.",
        )


class _EnteredOn:
    """An async context manager that is entered and left on another event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, manager: AbstractAsyncContextManager[dict[str, Any]]) -> None:
        self._loop = loop
        self._manager = manager

    async def __aenter__(self) -> dict[str, Any]:
        return await run_on(self._loop, self._manager.__aenter__())

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await run_on(self._loop, self._manager.__aexit__(*raised))


def _lost(tool_name: str, error: LoopBlockedError) -> ToolResult:
    return ToolResult.error(error.error_type, f"Tool '{tool_name}' did not end in time: {error}.")


def _timed_out(tool_name: str, timeout_seconds: float, *, has_ended: bool) -> ToolResult:
    text = (
        f"Tool '{tool_name}' was stopped after its timeout of {timeout_seconds:g} s."
        if has_ended
        else f"Tool '{tool_name}' has not ended within its timeout of {timeout_seconds:g} s. It cannot be stopped and "
        "may go on in the background, so it may still have its effect. Do not repeat it without asking the user."
    )
    return ToolResult.error("timeout", text)


async def _cancel(task: asyncio.Task[ToolResult], tool_name: str) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
    if not task.done():
        _log.warning("tool %s goes on although it was cancelled; it is left to itself", tool_name)
        task.add_done_callback(_look_at)
    else:
        _look_at(task)


def _look_at(task: asyncio.Task[ToolResult]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.debug("a cancelled tool ended with %r", task.exception())


async def _finish(
    work: Coroutine[Any, Any, ToolResult], tool_name: str, around: Around | None, wake: Callable[[], None]
) -> ToolResult:
    """Wait for a tool; whatever it raises becomes its result. Call ``wake`` when that is there."""
    async with around or nullcontext():
        try:
            result = await work
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001  # whatever a tool raises becomes its result, SystemExit too
            result = _failure(tool_name, error)
        if around is not None:
            around.set_result(result)
    wake()  # a turn of the event loop sooner than the callbacks of the task
    return result


def _failure(tool_name: str, error: BaseException) -> ToolResult:
    """Return the result of a tool that raised; what a task group of it raised counts as its own."""
    for each in errors_within(error):
        if isinstance(each, PermissionDeniedError):
            return ToolResult.error("permission_denied", str(each))
        if isinstance(each, OAuthError):
            return ToolResult.error(each.error_type, str(each))
        if isinstance(each, LoopBlockedError):
            return _lost(tool_name, each)
    _log.error("tool %s failed", tool_name, exc_info=error)
    return execution_error(error)


def execution_error(error: BaseException) -> ToolResult:
    """Tell the model about an exception: its type and message; the traceback stands in the log.

    Of a group of exceptions, it names each one inside.
    """
    named = dict.fromkeys(_type_and_message(each) for each in errors_within(error))
    return ToolResult.error("execution_error", "\n".join(named)[:MAX_ERROR_CHARACTERS])


def _type_and_message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        text = "(its message cannot be shown)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def presentable(result: ToolResult) -> ToolResult:
    """Make sure that a result can be stored, sent and printed; an error may quote a key that a service refused."""
    result = of_kept_size(result)
    if not result.is_success:
        said = (str(result.error_type or "execution_error"), str(result.error_message or ""))
        return ToolResult.error(*redact_all(map(clean_text, said)))
    if not all(isinstance(each, Attachment) for each in result.attachments):
        return ToolResult.error("execution_error", "The tool returned attachments that are no Attachment objects.")
    size_bytes = sum(len(each.data) for each in result.attachments)
    if size_bytes > MAX_KEPT_ATTACHMENT_BYTES:
        return ToolResult.error(
            "execution_error",
            f"The tool returned attachments of {size_bytes:,} bytes, and only {MAX_KEPT_ATTACHMENT_BYTES:,} can be "
            "kept. Ask for fewer or smaller ones.",
        )
    groups = result.loads_groups
    if not isinstance(groups, tuple) or not all(isinstance(each, str) for each in groups):
        return ToolResult.error("execution_error", "The tool returned loads_groups that are no tuple of names.")
    if isinstance(result.result, str):
        text = clean_text(result.result)
        return result if text == result.result else replace(result, result=text)
    try:
        text = json.dumps(result.result, ensure_ascii=False, allow_nan=False)
        if len(text) > MAX_KEPT_CHARACTERS:
            return ToolResult.error(
                "execution_error",
                f"The tool returned {len(text):,} characters of JSON, and only {MAX_KEPT_CHARACTERS:,} can be kept. "
                "Ask for a smaller part.",
            )
        return replace(result, result=json.loads(clean_text(text)))
    except (TypeError, ValueError, RecursionError) as error:
        return ToolResult.error(
            "execution_error",
            f"The tool returned an object of type {type(result.result).__name__}, which JSON cannot hold: {error}",
        )
