"""``oneclaw undo``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.cli import is_terminal, json_option, print_json, print_table, print_text, printable, run_async

if TYPE_CHECKING:
    from oneclaw_checkpoints.plan import Plan


@click.command()
@click.argument("count", required=False, type=click.IntRange(min=1))
@click.option("--to", type=click.IntRange(min=1), metavar="N", help="Go back to before your message N; see --list.")
@click.option("--session", metavar="NAME", help="The session, by name or id; by default the newest of this directory.")
@click.option("--redo", is_flag=True, help="Take back the last undo of the session.")
@click.option("--list", "lists", is_flag=True, help="List your messages with their numbers, and change nothing.")
@click.option("--overwrite", is_flag=True, help="Also restore files that someone else has changed since.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask; files that were changed since stay.")
@json_option
def undo(
    count: int | None,
    to: int | None,
    session: str | None,
    redo: bool,
    lists: bool,
    overwrite: bool,
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Take back your last message, or the last COUNT, and the changes of files by tools.

    It shows what will change, and asks. The messages and what followed are removed from the conversation, and files are
    restored. A file that you have changed since is never overwritten without your yes. --redo takes back the undo
    itself.
    """
    if sum((count is not None, to is not None, redo, lists)) > 1:
        raise click.UsageError("give one of COUNT, --to, --redo and --list")
    run_async(
        _list(session, as_json=as_json) if lists else _undo(count, to, session, redo, overwrite, is_confirmed, as_json)
    )


async def _list(session: str | None, *, as_json: bool) -> None:
    from oneclaw_checkpoints.plan import users_messages
    from oneclaw_checkpoints.shown import message_line
    from oneclaw_checkpoints.undoing import found_session
    from oneclaw_core import OneClaw

    async with OneClaw.open() as claw:
        context = await claw.plugins.context_of("checkpoints")
        found = await found_session(context, session)
        messages = users_messages(await context.services.sessions.messages(found.id))
    if as_json:
        print_json([{"number": each.number, "sequence": each.sequence, "text": each.text} for each in messages])
        return
    print_table(("number", "message"), [(each.number, message_line(each).partition(". ")[2]) for each in messages])


async def _undo(
    count: int | None,
    to: int | None,
    session: str | None,
    redo: bool,
    overwrite: bool,
    is_confirmed: bool,
    as_json: bool,
) -> None:
    from oneclaw_checkpoints.recorder import recorder_of
    from oneclaw_checkpoints.shown import outcome_lines, plan_document, write_plan
    from oneclaw_checkpoints.undoing import carry_out, found_session, planned
    from oneclaw_core import OneClaw

    async with OneClaw.open() as claw:
        context = await claw.plugins.context_of("checkpoints")
        plan = await planned(context, await found_session(context, session), count=count, to=to, redo=redo)
        recorder = context.once(recorder_of)
        if not as_json or not is_confirmed:
            write_plan(plan, recorder, sys.stderr if as_json else sys.stdout)
        if overwrite:
            plan = plan.overwriting([each.path for each in plan.conflicts])
        if not is_confirmed:
            plan = _asked(plan)
        document = plan_document(plan, recorder) if as_json else {}
        outcome = await carry_out(context, plan)
    if as_json:
        print_json(document | {"changed": outcome.changed, "left": outcome.left})
        return
    for line in outcome_lines(plan, outcome):
        print_text(line)
    if plan.undone is None:
        print_text("Take this back with: oneclaw undo --redo" + (f" --session {session}" if session else ""))


def _asked(plan: Plan) -> Plan:
    """Ask the user for the plan, and for each file with a conflict.

    Raises:
        UsageError: no person can be asked.
        OneClawError: the user says no.
    """
    if not is_terminal(sys.stdin):
        raise UsageError("no one can be asked here whether to do this: add --yes")
    question = "Take back the undo?" if plan.undone is not None else "Take this back?"
    if not click.confirm(question, err=True):
        raise OneClawError("nothing was changed")
    chosen = [
        each.path
        for each in plan.conflicts
        if click.confirm(f"Overwrite {printable(each.path)}, though {each.conflict}?", err=True)
    ]
    return plan.overwriting(chosen)
