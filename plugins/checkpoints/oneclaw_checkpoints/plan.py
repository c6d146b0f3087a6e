"""Plan of an undo or a redo, computed and shown before anything changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_checkpoints.states import FileState, Kind, is_in_place, read_state
from oneclaw_core import MessageType, NotFoundError, SessionBusyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from oneclaw_checkpoints.database import Undo
    from oneclaw_checkpoints.recorder import Recorder
    from oneclaw_core import Message, SessionInfo


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A message of the user.

    Attributes:
        number: its place among the user's messages of the session, from 1.
        sequence: of the message.
        message: as it is stored.
    """

    number: int
    sequence: int
    message: Message

    @property
    def text(self) -> str:
        """Return the user's text without what plugins sent with it."""
        return self.message.content.split('\n\n<context plugin="', 1)[0]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is put back.

    Attributes:
        path: absolute.
        current: what stands there.
        target: what is to stand there.
        conflict: why it is not put back without a question; empty if it is.
        is_possible: False if the content that it had was not kept.
    """

    path: str
    current: FileState
    target: FileState
    conflict: str = ""
    is_possible: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """An undo, or taking one back.

    Attributes:
        session: the conversation.
        messages: of the user, which are taken back or restored.
        entry_count: of the history, their answers included.
        files: that are put back, in the order of their paths.
        gaps: what was not followed, so that it is not put back.
        first: the ``sequence`` of the first message that is taken back.
        call_numbers: the calls whose changes are taken back.
        undone: the undo that is taken back; ``None`` for an undo.
    """

    session: SessionInfo
    messages: tuple[TakenBack, ...]
    entry_count: int
    files: tuple[FileChange, ...]
    gaps: tuple[str, ...] = ()
    first: int = 0
    call_numbers: tuple[int, ...] = ()
    undone: Undo | None = None

    @property
    def conflicts(self) -> tuple[FileChange, ...]:
        """The files that somebody else has changed since."""
        return tuple(each for each in self.files if each.conflict and each.is_possible)

    def overwriting(self, paths: Collection[str]) -> Plan:
        """Return the plan in which some conflicts are put back, too."""
        settled = (
            replace(each, conflict="") if each.path in paths and each.is_possible else each for each in self.files
        )
        return replace(self, files=tuple(settled))


@dataclass(slots=True)
class _Path:
    """The changes of one path by calls, in their order."""

    target: FileState
    expected: FileState | None
    is_certain: bool
    faults: list[str] = field(default_factory=list)


def users_messages(history: Sequence[Message]) -> list[TakenBack]:
    """Return the user's messages of a history, numbered."""
    found = [each for each in history if each.type is MessageType.USER]
    return [TakenBack(number, each.sequence or 0, each) for number, each in enumerate(found, 1)]


def first_taken_back(messages: Sequence[TakenBack], count: int | None, to: int | None) -> TakenBack:
    """Return the first message that is taken back.

    Args:
        messages: of the user.
        count: how many, from the last one.
        to: the number of the first one instead.

    Raises:
        UsageError: there is no such message.
    """
    if not messages:
        raise UsageError("there is nothing to take back: the session has no message")
    if to is not None:
        if not 1 <= to <= len(messages):
            raise UsageError(f"there is no message {to}: the session has messages 1 to {len(messages)}")
        return messages[to - 1]
    count = 1 if count is None else count
    if count < 1:
        raise UsageError("give the number of messages to take back, from 1 on")
    if count > len(messages):
        raise UsageError(f"the session has {len(messages)} messages to take back, not {count}")
    return messages[-count]


def plan_undo(
    recorder: Recorder, session: SessionInfo, history: Sequence[Message], count: int | None, to: int | None
) -> Plan:
    """Find out what an undo would change.

    Args:
        recorder: of the home.
        session: the conversation.
        history: all of it.
        count: how many of the user's messages are taken back; ``None`` for the last one.
        to: the number of the first one instead.

    Raises:
        UsageError: there are no such messages.
        SessionBusyError: a call of the session still runs.
    """
    messages = users_messages(history)
    first = first_taken_back(messages, count, to)
    part = [each for each in history if (each.sequence or 0) >= first.sequence]
    call_ids = {each.tool_call_id for each in part if each.type is MessageType.TOOL_CALL and each.tool_call_id}
    files: tuple[FileChange, ...] = ()
    numbers: tuple[int, ...] = ()
    gaps: tuple[str, ...] = ()
    if recorder.exists:
        recorder.close_dead(session_id=session.id)
        calls = recorder.database.calls_of(session.id, call_ids)
        if any(each.is_open for each in calls):
            raise SessionBusyError("a tool of this session is still running: wait for it, or stop it, and try again")
        numbers = tuple(each.id for each in calls)
        gaps = tuple(dict.fromkeys(each.gap for each in calls if each.gap))
        files = tuple(_file_changes(recorder, numbers))
    return Plan(
        session=session,
        messages=tuple(each for each in messages if each.sequence >= first.sequence),
        entry_count=len(part),
        files=files,
        gaps=gaps,
        first=first.sequence,
        call_numbers=numbers,
    )


def plan_redo(recorder: Recorder, session: SessionInfo) -> Plan:
    """Find out what taking back the last undo of a session would change.

    Raises:
        NotFoundError: nothing was undone, or it is too long ago.
    """
    undos = recorder.database.undos(session.id) if recorder.exists else []
    if not undos:
        raise NotFoundError("there is no undo of this session to take back")
    undo = undos[0]
    files = [
        _file_change(recorder, path, was, target, "")
        for path, (was, target) in recorder.database.undone_files(undo.id).items()
    ]
    return Plan(session=session, messages=(), entry_count=0, files=tuple(_without_links(files)), undone=undo)


def _file_changes(recorder: Recorder, numbers: Sequence[int]) -> list[FileChange]:
    paths: dict[str, _Path] = {}
    for number in numbers:
        for change in recorder.database.changes_of(number):
            known = paths.get(change.path)
            if known is None:
                paths[change.path] = _Path(change.before, change.after, change.is_certain)
                continue
            if known.expected != change.before and change.before.kind is not Kind.UNKNOWN:
                known.faults.append("somebody else changed it in between")
            known.expected, known.is_certain = change.after, known.is_certain and change.is_certain
    found = []
    for path, each in sorted(paths.items()):
        if not each.is_certain:
            each.faults.append("somebody else may have changed it: the call that did was killed")
        found.append(_file_change(recorder, path, each.target, each.expected, ", ".join(dict.fromkeys(each.faults))))
    return _without_links(found)


def _without_links(files: Iterable[FileChange | None]) -> list[FileChange]:
    """Leave out files that lie behind a symbolic link now, unless the link itself is put back."""
    changes = [each for each in files if each is not None]
    paths = {each.path for each in changes}
    return [
        each
        if is_in_place(each.path) or not paths.isdisjoint(map(str, Path(each.path).parents))
        else replace(each, conflict="its directory is a symbolic link now", is_possible=False)
        for each in changes
    ]


def _file_change(
    recorder: Recorder, path: str, target: FileState, expected: FileState | None, fault: str
) -> FileChange | None:
    """Compare what stands at a path with what was left there; ``None`` if it is what it is to be."""
    current = read_state(path, recorder.max_file_bytes)
    if current == target:
        return None
    if target.kind is Kind.UNKNOWN:
        return FileChange(path, current, target, "what it was is not kept: it was too large", is_possible=False)
    if current != expected:
        fault = "it was changed since"
    elif current.kind is Kind.UNKNOWN:
        fault = fault or "it is too large to be kept: this could not be taken back"
    return FileChange(path, current, target, fault)
