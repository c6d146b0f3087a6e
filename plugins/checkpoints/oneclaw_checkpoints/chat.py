"""The chat commands ``/undo``, ``/redo`` and ``/retry``, for every channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_checkpoints.recorder import recorder_of
from oneclaw_checkpoints.shown import outcome_lines, plan_lines
from oneclaw_checkpoints.undoing import carry_out, planned
from oneclaw_core import ChatAnswer, UsageError

if TYPE_CHECKING:
    from oneclaw_checkpoints.plan import Plan
    from oneclaw_core import ChatCommandContext

_YES, _OVERWRITE = "yes", "overwrite"


async def undo(context: ChatCommandContext, rest: str) -> str:
    """Take back the last message, or the last N, with the changes of files."""
    words = rest.split()
    answer = _answer_in(words)
    count = None
    if words:
        if len(words) > 1 or not (words[0].isascii() and words[0].isdigit()):
            raise UsageError("/undo takes the number of messages to take back, such as /undo 2")
        count = int(words[0][:9])
    return await _done(context, await _plan(context, count=count), f"/undo {count or ''}".rstrip(), answer)


async def redo(context: ChatCommandContext, rest: str) -> str:
    """Take back the last undo."""
    words = rest.split()
    answer = _answer_in(words)
    if words:
        raise UsageError("/redo takes nothing")
    return await _done(context, await _plan(context, redo=True), "/redo", answer)


async def retry(context: ChatCommandContext, rest: str) -> str | ChatAnswer:
    """Take back the last message with the changes of files, and send it again."""
    words = rest.split()
    answer = _answer_in(words)
    if words:
        raise UsageError("/retry takes nothing")
    plan = await _plan(context)
    if plan.files or plan.gaps:
        refusal, plan = await _asked(context, plan, "/retry", answer)
        if refusal:
            return refusal
    outcome = await carry_out(context, plan)
    message = plan.messages[0]
    return ChatAnswer(
        text="\n".join(outcome_lines(plan, outcome)), send=message.text, attachments=message.message.attachments
    )


def _answer_in(words: list[str]) -> str | None:
    """Take the answer out of what is typed behind a command, as where no one can be asked."""
    found = [each for each in (_OVERWRITE, _YES) if each in words]
    words[:] = [each for each in words if each not in found]
    return found[0] if found else None


async def _plan(context: ChatCommandContext, *, count: int | None = None, redo: bool = False) -> Plan:
    if context.session is None:
        raise UsageError("there is nothing to take back: nothing was said yet")
    return await planned(context, context.session, count=count, redo=redo)


async def _done(context: ChatCommandContext, plan: Plan, command: str, answer: str | None) -> str:
    refusal, plan = await _asked(context, plan, command, answer)
    if refusal:
        return refusal
    outcome = await carry_out(context, plan)
    hint = "" if plan.undone is not None else "\n/redo takes this back."
    return "\n".join(outcome_lines(plan, outcome)) + hint


async def _asked(context: ChatCommandContext, plan: Plan, command: str, answer: str | None) -> tuple[str, Plan]:
    """Show a plan and ask for it.

    Returns:
        What to show instead of doing it, empty to do it; and the plan as the user wants it.
    """
    recorder = context.once(recorder_of)
    if answer is None:
        shown = "\n".join(line for line, _ in plan_lines(plan, recorder))
        if not await context.confirm(f"{shown}\n\n{'Restore this?' if plan.undone is not None else 'Take this back?'}"):
            before = "" if context.channel == "terminal" else f"{shown}\n\n"
            overwrite = f", {command} {_OVERWRITE} the files with a CONFLICT too" if plan.conflicts else ""
            return f"{before}Nothing is changed. {command} {_YES} does it without a question{overwrite}.", plan
        if plan.conflicts and await context.confirm("Overwrite the files with a CONFLICT, too?"):
            answer = _OVERWRITE
    if answer == _OVERWRITE:
        plan = plan.overwriting([each.path for each in plan.conflicts])
    return "", plan
