"""A user who answers questions for permissions as the test says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.tools.permissions import PermissionAnswer

if TYPE_CHECKING:
    from oneclaw_core.tools.permissions import PermissionRequest


class ScriptedUser:
    """Answers questions for permissions.

    Attributes:
        asked: all questions so far.
    """

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []
        self._answers: dict[str | None, list[PermissionAnswer]] = {}

    def says(self, answer: PermissionAnswer | str, *more: PermissionAnswer | str, to: str | None = None) -> None:
        """Say how questions are answered from now on.

        Args:
            answer: ``once``, ``session``, ``exactly``, ``always``, ``no`` or ``never``.
            more: given one after the other; the last one stays.
            to: the permission that is asked for; by default any that has no answer of its own.

        Raises:
            ValueError: there is no such answer.
        """
        self._answers[to] = [PermissionAnswer(each) for each in (answer, *more)]

    async def answer(self, request: PermissionRequest) -> PermissionAnswer:
        """Answer a question.

        Raises:
            PermissionDeniedError: the test did not say how.
        """
        self.asked.append(request)
        answers = self._answers.get(request.permission) or self._answers.get(None)
        if not answers:
            permission = request.permission
            raise PermissionDeniedError(
                f"Permission '{permission}' is not granted, and the test does not say how the user answers: "
                f'oneclaw.user.says("once", to="{permission}")',
                permission,
            )
        return answers.pop(0) if len(answers) > 1 else answers[0]
