"""Take back messages and files together; after a crash, the next start finishes or drops the undo.

The planned changes are stored first. Then the history ends, in one transaction, and the undo counts. The files are put
back last; if this process is killed before, the next one that opens the home does so.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_checkpoints.database import Undo
from oneclaw_checkpoints.plan import Plan, plan_redo, plan_undo
from oneclaw_checkpoints.recorder import recorder_of
from oneclaw_checkpoints.shown import message_line
from oneclaw_checkpoints.states import FileState, clean_up, is_in_place, put_back, read_state, sort_key
from oneclaw_core import NotFoundError, OneClawError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_checkpoints.recorder import Recorder
    from oneclaw_core import PluginContext, SessionInfo

BEGUN, DONE, REDOING = "begun", "done", "redoing"


@dataclass(slots=True)
class Outcome:
    """Outcome of an undo or a redo.

    Attributes:
        changed: the files that were put back.
        left: those that were not, each with the reason.
    """

    changed: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


async def planned(
    context: PluginContext, session: SessionInfo, *, count: int | None = None, to: int | None = None, redo: bool = False
) -> Plan:
    """Find out what would change; see :func:`plan_undo` and :func:`plan_redo`."""
    import asyncio

    recorder = context.once(recorder_of)
    if redo:
        return await asyncio.to_thread(plan_redo, recorder, session)
    history = await context.services.sessions.messages(session.id)
    return await asyncio.to_thread(plan_undo, recorder, session, history, count, to)


async def found_session(context: PluginContext, name: str | None) -> SessionInfo:
    """Find a session by its name; without one, the newest of this directory, else the newest.

    Raises:
        NotFoundError: there is none.
    """
    sessions = context.services.sessions
    found = await (sessions.find(name) if name is not None else sessions.last_used(context.services.project.path))
    if found is None:
        raise NotFoundError(
            f"there is no session {name!r}; list them with: oneclaw sessions list"
            if name is not None
            else "there is no session yet, and so nothing to take back"
        )
    return found


async def carry_out(context: PluginContext, plan: Plan) -> Outcome:
    """Do what a plan says; files with a conflict are left.

    Raises:
        SessionBusyError: a turn of the session is under way; nothing has changed.
        UsageError: the session went on since; nothing has changed.
    """
    import asyncio

    recorder = context.once(recorder_of)
    sessions = context.services.sessions
    outcome = Outcome(left={each.path: each.conflict for each in plan.files if each.conflict})
    if plan.undone is not None:
        undo = plan.undone
        await asyncio.to_thread(recorder.database.set_status, undo.id, REDOING)
        files = {each.path: (each.current, each.target) for each in plan.files if not each.conflict}

        def finish_redo() -> None:
            _put_all_back(recorder, files, outcome)
            recorder.database.remove_undo(undo.id)

        try:
            await sessions.restore_history(undo.session, undo.id, finish_redo)
        except OneClawError:
            if undo.id in await sessions.ended_parts(undo.session):
                await asyncio.to_thread(recorder.database.set_status, undo.id, DONE)
            raise
        return outcome
    undo = Undo(uuid.uuid4().hex, plan.session.id, plan.first, BEGUN, "\n".join(map(message_line, plan.messages)))
    files = await asyncio.to_thread(_begun, recorder, plan, undo, outcome)

    def finish() -> None:
        _put_all_back(recorder, files, outcome)
        recorder.database.leave_files(undo.id, outcome.left)
        recorder.database.set_status(undo.id, DONE)

    try:
        await sessions.end_history(undo.session, undo.first, undo.id, finish)
    except OneClawError:
        if undo.id not in await sessions.ended_parts(undo.session):
            await asyncio.to_thread(recorder.database.remove_undo, undo.id)
        raise
    return outcome


async def finish_interrupted(context: PluginContext) -> None:
    """Finish or drop what a killed process began; one that runs still carries out its undo itself."""
    import asyncio

    recorder = context.once(recorder_of)
    if not recorder.exists:
        return
    for undo in await asyncio.to_thread(recorder.database.undos):
        if undo.status == DONE or undo.process.is_other_and_runs:
            continue
        is_ended = undo.id in await context.services.sessions.ended_parts(undo.session)
        if is_ended == (undo.status == BEGUN):
            outcome = await asyncio.to_thread(_finished_files, recorder, undo)
            for path, reason in outcome.left.items():
                context.logger.warning("undo: %s is left as it is: %s", path, reason)
        if is_ended:
            await asyncio.to_thread(recorder.database.set_status, undo.id, DONE)
        else:
            await asyncio.to_thread(recorder.database.remove_undo, undo.id)


def _begun(recorder: Recorder, plan: Plan, undo: Undo, outcome: Outcome) -> dict[str, tuple[FileState, FileState]]:
    """Store what is about to be taken back; return it by path."""
    contents: dict[str, bytes] = {}
    files: dict[str, tuple[FileState, FileState]] = {}
    for each in plan.files:
        if each.conflict:
            continue
        if read_state(each.path, recorder.max_file_bytes, contents.__setitem__) == each.current:
            files[each.path] = (each.current, each.target)
        else:
            outcome.left[each.path] = "it was changed meanwhile"
    recorder.database.begin_undo(undo, files, contents, plan.call_numbers)
    return files


def _finished_files(recorder: Recorder, undo: Undo) -> Outcome:
    """Put the rest of the files of an undo back that was interrupted."""
    files = recorder.database.undone_files(undo.id)
    if undo.status == REDOING:
        files = {path: (target, was) for path, (was, target) in files.items()}
    outcome = Outcome()
    for path in files:
        clean_up(path)
    _put_all_back(recorder, files, outcome)
    return outcome


def _put_all_back(recorder: Recorder, files: Mapping[str, tuple[FileState, FileState]], outcome: Outcome) -> None:
    """Put files back that stand as they are known to; each is changed as a whole."""
    for path, (current, target) in sorted(files.items(), key=lambda each: sort_key(each[0], each[1][1])):
        now = read_state(path, recorder.max_file_bytes)
        if now == target:
            outcome.changed.append(path)
        elif not is_in_place(path):
            outcome.left[path] = "its directory is a symbolic link now"
        elif now != current:
            outcome.left[path] = "it was changed meanwhile"
        else:
            try:
                put_back(path, target, recorder.database.content)
            except (OSError, OneClawError) as error:
                outcome.left[path] = str(getattr(error, "strerror", None) or error)
            else:
                outcome.changed.append(path)
