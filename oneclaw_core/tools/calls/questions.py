"""Questions of a running tool to the user; the time of the call stands still meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import NobodyToAskError, OneClawError
from oneclaw_core.types.provenance import Mark, MarkKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future

    from oneclaw_core.permissions.requests import RequirePermission
    from oneclaw_core.tools.calls.clock import CallClock
    from oneclaw_core.tools.calls.home_loop import HomeLoop
    from oneclaw_core.types.user_question import UserQuestion

    AskUser = Callable[[UserQuestion, float | None], Awaitable[str | None]]

_Value = TypeVar("_Value")


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
        self,
        loop: HomeLoop,
        clock: CallClock,
        require: RequirePermission,
        ask_user: AskUser | None,
        marks: list[Mark],
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
