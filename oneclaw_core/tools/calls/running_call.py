"""The services of a running call, which its context offers to the tool: its clock, its questions to the user.

They may be used on any event loop and in any thread; :class:`HomeLoop` is the one place of crossings.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oneclaw_core.errors import NobodyToAskError, OneClawError
from oneclaw_core.system.loops import is_worker_thread, run_on
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
    from concurrent.futures import Future

    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.permissions.call_network import CallNetwork, Sources
    from oneclaw_core.permissions.requests import RequirePermission
    from oneclaw_core.types.tools import Act, ToolResult
    from oneclaw_core.types.user_question import UserQuestion

    AskUser = Callable[[UserQuestion, float | None], Awaitable[str | None]]

_Value = TypeVar("_Value")


class HomeLoop:
    """Runs coroutines on the event loop that it is made on."""

    __slots__ = ("_thread", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    async def run(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Await a coroutine there, from any event loop."""
        return await run_on(self.loop, work)

    async def run_in_task(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """The same in a task: what it sets among the context variables is not the caller's."""
        if asyncio.get_running_loop() is self.loop:
            return await asyncio.create_task(work)
        return await self.run(work)

    def submit(self, work: Coroutine[Any, Any, _Value]) -> Future[_Value]:
        """Run a coroutine there, for a thread that waits."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def refuse_on_loops(self, instead: str) -> None:
        """Refuse to block an event loop.

        Raises:
            OneClawError: this is the thread of one; it says what to do instead.
        """
        if threading.get_ident() == self._thread or is_worker_thread():
            raise OneClawError(f"an async tool asks with: {instead}")

    def call_soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function there, at once if this is its thread."""
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self.loop.call_soon_threadsafe(function, *arguments)

    @asynccontextmanager
    async def entered(self, manager: AbstractAsyncContextManager[_Value]) -> AsyncIterator[_Value]:
        """Enter and leave a context manager there, from any event loop."""
        value = await self.run(manager.__aenter__())
        try:
            yield value
        except BaseException as error:
            if not await self.run(manager.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            await self.run(manager.__aexit__(None, None, None))


class CallClock:
    """Counts the time of a tool; questions may be asked in any thread.

    Args:
        timeout_seconds: how long the tool may run.
        outer: the clock of the call that the tool is run within, which stands still too; ``None`` for none.

    Attributes:
        changed: called when the clock is stopped or goes on.
    """

    def __init__(self, timeout_seconds: float, outer: CallClock | None = None) -> None:
        self.timeout_seconds = timeout_seconds
        self._outer = outer
        self.changed: Callable[[], None] = lambda: None
        self._deadline = time.monotonic() + timeout_seconds
        self._stopped_at = 0.0
        self._asked_seconds = 0.0
        self._questions = 0
        self._counting = threading.Lock()

    def remaining_seconds(self) -> float | None:
        """Return the seconds until the timeout of the tool; ``None`` while the user is asked."""
        return None if self._questions else self._deadline - time.monotonic()

    def asked_seconds(self) -> float:
        """Return the seconds that questions to the user took so far."""
        return self._asked_seconds + (time.monotonic() - self._stopped_at if self._questions else 0.0)

    def extend(self, seconds: float) -> None:
        """Give the tool back time in which it could not run."""
        self._deadline += seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time stand still, because the user is being asked."""
        with self._counting:
            if not self._questions:
                self._stopped_at = time.monotonic()
            self._questions += 1
        self.changed()
        try:
            with self._outer.paused() if self._outer is not None else nullcontext():
                yield
        finally:
            with self._counting:
                self._questions -= 1
                if not self._questions:
                    seconds = time.monotonic() - self._stopped_at
                    self._deadline += seconds
                    self._asked_seconds += seconds
            self.changed()


class Questions:
    """Asks the user on behalf of a call, until that has ended.

    Args:
        loop: where permissions are decided.
        clock: of the call.
        require: asks for a permission.
        ask_user: asks a question, with a time limit; ``None`` if no one can be asked.
        marks: of the result.
    """

    def __init__(
        self, loop: HomeLoop, clock: CallClock, require: RequirePermission, ask_user: AskUser | None, marks: list[Mark]
    ) -> None:
        self.loop = loop
        self.clock = clock
        self.require = require
        self.is_closed = False
        self._ask_user = ask_user
        self._marks = marks
        self._waiting: set[Future[Any]] = set()

    def check_open(self) -> None:
        """Refuse what is asked for too late.

        Raises:
            OneClawError: the call has ended.
        """
        if self.is_closed:
            raise OneClawError("this call has ended: a tool cannot ask or connect after its timeout")

    async def permission(
        self,
        permission: str,
        detail: str,
        subject: str | None = None,
        directory: str | None = None,
        *,
        as_a_whole: bool = False,
    ) -> None:
        """Go on if the user grants a permission.

        Raises:
            PermissionDeniedError: the user does not.
        """
        await self.loop.run(
            self._paused(lambda: self.require(permission, detail, subject, directory, as_a_whole=as_a_whole))
        )

    async def _paused(self, ask: Callable[[], Awaitable[_Value]]) -> _Value:
        self.check_open()
        with self.clock.paused():
            return await ask()

    async def is_granted(
        self, permission: str, subject: str, directory: str | None, sandbox: str, *, as_a_whole: bool = False
    ) -> bool:
        """Return True if a permission is granted already, False if the call goes on in a sandbox without it.

        Raises:
            PermissionDeniedError: it is denied.
        """
        detail = "outside the sandbox"
        return await self.loop.run(self.require(permission, detail, subject, directory, sandbox, as_a_whole=as_a_whole))

    async def user(self, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        """Ask the user a question; an answer in the user's own words marks the result.

        Raises:
            NobodyToAskError: there is no one.
            TimeoutError: the time is up.
        """
        return await self.loop.run(self._user(question, timeout_seconds))

    async def _user(self, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        ask_user = self._ask_user
        self.check_open()
        if ask_user is None:
            raise NobodyToAskError("no one can be asked here")
        answer = await self._paused(lambda: ask_user(question, timeout_seconds))
        # What a choice says, a model has written.
        if answer and answer not in question.choices:
            self._marks.append(Mark(MarkKind.USER, ""))
        return answer

    def in_thread(self, instead: str, question: Coroutine[Any, Any, _Value]) -> _Value:
        """Ask, and wait for the answer in a thread.

        Raises:
            OneClawError: this is the thread of an event loop; it says what to do instead.
        """
        try:
            self.loop.refuse_on_loops(instead)
        except OneClawError:
            question.close()
            raise
        return self.wait_for(question)

    def wait_for(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Run a coroutine on the event loop of the home, and wait for it in a thread, until the call has ended."""
        future = self.loop.submit(work)
        self._waiting.add(future)
        try:
            return future.result()
        finally:
            self._waiting.discard(future)

    def close(self) -> None:
        """Ask no more: a thread may go on after its call."""
        self.is_closed = True
        if self._waiting:
            for each in list(self._waiting):
                each.cancel()


# Of each piece of news about a call: thousands of them may wait to be shown.
MAX_PROGRESS_CHARACTERS = 1_000


class ToolCalls(Protocol):
    """Runs the calls that a running tool makes; see :class:`oneclaw_core.scripts.inner_calls.InnerCalls`."""

    async def call(
        self, name: str, arguments: Mapping[str, Any], act: Act | None = None, *, is_repeatable: bool = False
    ) -> ToolResult:
        """Run one, with ``act`` in place of its tool; ``is_repeatable`` if this call can be repeated anyway."""
        ...

    def with_files(self, result: ToolResult) -> ToolResult:
        """Return the result of the running tool with the files for the user that its calls had."""
        ...


class RunningCall:
    """The services of a running call, which its context offers to the tool.

    Args:
        questions: to the user.
        report: passes on how far the tool has come.
        provenance: of its result; ``None`` where none is recorded.
        inner: runs the calls that the tool makes; ``None`` if it can make none.
        declaration: what the plugin of the tool may do; ``None`` if nothing holds it.
    """

    def __init__(
        self,
        questions: Questions,
        report: Callable[[str, float | None], None],
        provenance: Sources | None = None,
        inner: ToolCalls | None = None,
        declaration: Declaration | None = None,
    ) -> None:
        self.questions = questions
        self.clock = questions.clock
        self.provenance = provenance
        self.inner = inner
        self._declaration = declaration
        self._report = report
        self._network: CallNetwork | None = None

    @property
    def network(self) -> CallNetwork:
        """Its HTTP clients; most tools need none."""
        from oneclaw_core.permissions.call_network import CallNetwork

        if self._network is None:
            self._network = CallNetwork(self.questions, self.provenance, self._declaration)
        return self._network

    def progress(self, message: str, fraction: float | None) -> None:
        """Pass on how far the tool has come, from whatever thread."""
        if fraction is not None:
            is_number = isinstance(fraction, int | float) and math.isfinite(fraction)
            fraction = min(max(fraction, 0.0), 1.0) if is_number else None
        text = clean_text(str(message)[:MAX_PROGRESS_CHARACTERS])
        self.questions.loop.call_soon(self._pass_on, text, fraction)

    def _pass_on(self, message: str, fraction: float | None) -> None:
        if not self.questions.is_closed:  # a thread that was left to itself may go on, and its call has its outcome
            self._report(message, fraction)

    def close(self) -> CallNetwork | None:
        """Ask no more; return the network, if the tool used it, whose clients are still to be closed."""
        self.questions.close()
        return self._network
