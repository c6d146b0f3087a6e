"""A running call for tests of tools and of what they use: a context whose services work."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.files.paths import PathGuard
from oneclaw_core.permissions.asking import QuestionsOfPaths, fitting_answer
from oneclaw_core.tools.calls.running_call import CallClock, HomeLoop, Questions, RunningCall
from oneclaw_core.tools.context import ToolContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from oneclaw_core.files.paths import TrustedDirectory
    from oneclaw_core.permissions.requests import RequirePermission
    from oneclaw_core.tools.calls.running_call import AskUser, ToolCalls
    from oneclaw_core.types.user_question import UserQuestion


@asynccontextmanager
async def running_call(
    home: Path,
    *,
    require: RequirePermission | None = None,
    ask_user: AskUser | None = None,
    project: TrustedDirectory | None = None,
    inner: ToolCalls | None = None,
    report: Callable[[str, float | None], None] = lambda message, fraction: None,
    timeout_seconds: float = 30.0,
) -> AsyncIterator[ToolContext]:
    """Yield the context of a call of the tool ``probe``; the call ends with the block, which a tool can outlive.

    Args:
        home: the home, the workspace and the start directory in one.
        require: called with each permission that is asked for; by default all are granted.
        ask_user: called with each question, and its time limit; ``None`` if no one can be asked.
        project: the start directory; ``None`` for one that is never trusted.
        inner: runs the calls that the tool makes; by default it can make none.
        report: called with the progress of the tool.
        timeout_seconds: the time of the call.
    """
    context = ToolContext(home, "session", "test", "probe", "call_1", PathGuard(home, home))
    fitting = None if ask_user is None else _fitting(ask_user)
    asked = Questions(HomeLoop(), CallClock(timeout_seconds), require or _granted, fitting, context.marks)
    context.paths = replace(context.paths, questions=QuestionsOfPaths(asked, project, lambda: ask_user is not None))
    running = context._call = RunningCall(asked, report, inner=inner)
    try:
        yield context
    finally:
        if (network := running.close()) is not None:
            await network.aclose(None)


async def _granted(
    permission: str,
    detail: str = "",
    subject: str | None = None,
    directory: str | None = None,
    sandbox: str | None = None,
    *,
    as_a_whole: bool = False,
) -> bool:
    return True


def _fitting(ask_user: AskUser) -> AskUser:
    """Return the same without values that do not fit the form of a question, as in a home."""

    async def ask(question: UserQuestion, timeout_seconds: float | None) -> str | None:
        return fitting_answer(question, await ask_user(question, timeout_seconds))

    return ask
