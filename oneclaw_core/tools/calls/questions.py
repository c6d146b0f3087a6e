"""Questions of a running tool to the user; the time of the call stands still meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oneclaw_core.errors import NobodyToAskError, OneClawError
from oneclaw_core.types.provenance import Mark, MarkKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future
    from pathlib import Path

    from oneclaw_core.permissions.requests import RequirePermission
    from oneclaw_core.tools.calls.clock import CallClock
    from oneclaw_core.tools.calls.home_loop import HomeLoop
    from oneclaw_core.types.user_question import UserQuestion

    AskUser = Callable[[UserQuestion, float | None], Awaitable[str | None]]

_Value = TypeVar("_Value")


class TrustedDirectory(Protocol):
    """The start directory: see :class:`oneclaw_core.project.trust.Project`."""

    @property
    def path(self) -> str:
        """The directory."""
        ...

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


class QuestionsOfPaths:
    """Asks the user about paths, in a thread; see :class:`oneclaw_core.files.paths.PathQuestions`.

    Args:
        questions: of the call.
        project: the start directory; ``None`` for one that is never trusted.
        can_ask: returns True if a person can be asked.
        granted_places: returns the places that a permission is granted for.
    """

    def __init__(
        self,
        questions: Questions,
        project: TrustedDirectory | None,
        can_ask: Callable[[], bool],
        granted_places: Callable[[str], frozenset[str]] = lambda permission: frozenset(),
    ) -> None:
        self._questions = questions
        self._project = project
        self._can_ask = can_ask
        self.granted_places = granted_places
        self._agreed: set[str] = set()

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts the start directory."""
        return self._project is not None and self._project.is_trusted

    def ask_trust(self, detail: str) -> bool:
        """Ask once whether to trust the start directory; return True if it is trusted now."""
        project = self._project
        if project is not None and not project.is_trusted and project.can_be_asked and self._can_ask():
            self._questions.in_thread("await context.writable(path)", self._ask_trust(project, detail))
        return self.is_trusted

    async def _ask_trust(self, project: TrustedDirectory, detail: str) -> None:
        self._questions.check_open()
        with self._questions.clock.paused():
            if await project.ask_trust(self._questions.require, detail):
                self._agreed.add(detail)

    def ask(self, permission: str, detail: str, path: Path, directory: Path | None) -> None:
        """Go on if the user grants a permission for a path.

        Raises:
            PermissionDeniedError: the user does not.
            OneClawError: this is the thread of an event loop, which would wait for itself.
        """
        name = f"{permission}:{path}"
        # Who trusts a directory to have a file written in it has agreed to that.
        if name in self._agreed or (directory is not None and detail in self._agreed):
            return
        place = None if directory is None else str(directory)
        question = self._questions.permission(permission, detail, str(path), place)
        self._questions.in_thread("await context.readable(path), or writable", question)
        self._agreed.add(name)
