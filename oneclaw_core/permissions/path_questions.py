"""Questions of a running tool about paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from oneclaw_core.files.trusted_directory import TrustedDirectory
    from oneclaw_core.tools.calls.questions import Questions


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
