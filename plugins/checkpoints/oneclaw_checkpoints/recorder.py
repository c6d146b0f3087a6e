"""Record what calls change: a snapshot before a call, a comparison after it."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_checkpoints.database import Change, CheckpointDatabase, Known
from oneclaw_checkpoints.paths import may_change_files, named_paths, resolved, with_new_parents
from oneclaw_checkpoints.states import NOTHING, FileState, Kind, read_state
from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from oneclaw_checkpoints.settings import CheckpointSettings
    from oneclaw_checkpoints.tree import Scan
    from oneclaw_core import CallInfo, PluginContext

DATABASE = "checkpoints.db"
_SCAN_SECONDS = 5.0
_MEGABYTE = 1_000_000
# A half of the room is for the files as they are, the rest for what they were.
_SHARE_OF_ONE_DIRECTORY = 0.5
_PRUNED_EVERY = 20


@dataclass(slots=True)
class _Open:
    """A call that runs.

    Attributes:
        number: in the database.
        root: the directory that is followed; ``None`` for none.
        files: what stood in it.
        named: what stood at the paths that the call names.
        gap: what is not followed.
    """

    number: int
    root: str | None
    files: Known
    named: dict[str, FileState]
    gap: str = ""


@dataclass(slots=True)
class Recorder:
    """The checkpoints of a home; all methods may be called in any thread.

    Attributes:
        context: of the plugin.
    """

    context: PluginContext
    _database: CheckpointDatabase | None = None
    _open: dict[tuple[str, str], _Open] = field(default_factory=dict)
    # By the session of a sub-agent, the session and the call that it works for.
    _parents: dict[str, tuple[str, str]] = field(default_factory=dict)
    # By the key of a call that a running tool made, the key of the call that the model made.
    _outer: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    _using: threading.RLock = field(default_factory=threading.RLock)
    _finished: int = 0
    # By directory, the version of the database and what is known then.
    _known: dict[str, tuple[int, Known]] = field(default_factory=dict)

    @property
    def database(self) -> CheckpointDatabase:
        """The database, opened when it is first needed.

        Raises:
            OneClawError: it cannot be used.
        """
        with self._using:
            if self._database is None:
                self._database = CheckpointDatabase(self.context.folder / DATABASE)
            return self._database

    @property
    def exists(self) -> bool:
        """True if there is a database."""
        return (self.context.folder / DATABASE).exists()

    @property
    def has_unfinished_undo(self) -> bool:
        """True if an undo was cut off."""
        try:
            return self.exists and self.database.has_unfinished_undo()
        except OneClawError as error:
            self.context.logger.warning("%s", error)
            return False

    @property
    def settings(self) -> CheckpointSettings:
        """The settings of now."""
        settings: CheckpointSettings = self.context.settings
        return settings

    @property
    def max_file_bytes(self) -> int:
        """The largest file whose content is kept."""
        return self.settings.max_file_megabytes * _MEGABYTE

    def close(self) -> None:
        """Close the database; calls that still run are closed by who comes next."""
        with self._using:
            if self._database is not None:
                self._database.close()
                self._database = None

    def begin(self, call: CallInfo) -> None:
        """Snapshot what a call may change."""
        try:
            self._begin(call)
        except Exception as error:  # a call must not fail for want of a checkpoint
            self.context.logger.warning("no checkpoint for a call of %s: %s", call.tool, error, exc_info=True)

    def finish(self, call: CallInfo) -> None:
        """Store what a call has changed; done already, it does nothing."""
        try:
            with self._using:
                opened = self._open.pop(_key(call), None)
                self._outer.pop(_key(call), None)
                if opened is not None:
                    self._finish(opened)
        except Exception as error:  # noqa: BLE001  # the call has run
            self.context.logger.warning("the checkpoint of a call of %s is incomplete: %s", call.tool, error)

    def forget(self, session_id: str) -> None:
        """Remove the checkpoints of a session that was deleted."""
        if self.exists:
            self.database.forget_session(session_id)

    def _begin(self, call: CallInfo) -> None:
        if call.turn is None or not self.settings.enabled:
            return
        turn = call.turn
        if turn.parent_call_id is not None and turn.session.parent_id is not None:
            self._parents[turn.session.id] = (turn.session.parent_id, turn.parent_call_id)
        names = named_paths(call)
        call_id = call.id
        if call.parent_call_id is not None:
            key = self._outer.get((turn.session.id, call.parent_call_id), (turn.session.id, call.parent_call_id))
            self._outer[_key(call)] = key
            if (outer := self._open.get(key)) is not None:
                self._add_named(outer, names or ())
                return
            call_id = key[1]  # what a call changes is undone with the one that the model made
        services = self.context.services
        if names is None and not may_change_files(call, services.registry):
            return
        project = services.project
        root = None if names is not None else project.path if project.is_trusted else str(services.home.workspace)
        with self._using:
            self.close_dead(root)
            contents: dict[str, bytes] = {}
            opened = _Open(0, root, {}, self._named(names or (), contents))
            if root is not None:
                found = self._scanned(root, {})
                opened.files, opened.gap = found.files, found.gap
            session, call_id = self._asked_in(turn.session.id, call_id)
            opened.number = self.database.begin_call(
                session=session,
                call=call_id,
                tool=call.tool,
                root=root,
                gap=opened.gap,
                contents=contents,
                before=opened.named,
            )
            self._open[_key(call)] = opened

    def _add_named(self, opened: _Open, names: list[str] | tuple[str, ...]) -> None:
        """Read what stands at the paths that a call names, for the checkpoint of the call that it is a part of."""
        with self._using:
            found = self._named(names, {})
            opened.named |= {path: state for path, state in found.items() if path not in opened.named}

    def _asked_in(self, session_id: str, call_id: str) -> tuple[str, str]:
        """Return the session that the user talks in, and the call there that a call is a part of."""
        seen = {session_id}
        while (outer := self._parents.get(session_id)) is not None and outer[0] not in seen:
            session_id, call_id = outer
            seen.add(session_id)
        return session_id, call_id

    def _named(self, names: list[str] | tuple[str, ...], contents: dict[str, bytes]) -> dict[str, FileState]:
        """Read what stands at paths, as far as tools may write there."""
        services = self.context.services
        workspace, home = os.path.realpath(services.home.workspace), os.path.realpath(services.home.path)
        project = services.project.path
        found: dict[str, FileState] = {}
        for path in resolved(names, [each for each in (project, workspace) if each]):
            in_project = bool(project) and _is_in(path, project) and not _is_in(path, home)
            if in_project or _is_in(path, workspace):
                for each in with_new_parents(path):
                    found[each] = read_state(each, self.max_file_bytes, contents.__setitem__)
        return found

    def _scanned(self, root: str, known: Known, *, stores: bool = True) -> Scan:
        """Look at a directory, and store what is new as it goes."""
        from oneclaw_checkpoints.tree import scan

        settings, home = self.settings, os.path.realpath(self.context.services.home.path)
        if not known:
            version, known = self._known.get(root, (-1, {}))
            if version != self.database.version:
                known = self.database.known_files(root)

        def flush(found: Scan) -> None:
            self.database.learn(root, found.learned, found.contents)
            found.learned, found.contents = {}, {}

        found = scan(
            root,
            known,
            max_files=settings.max_files,
            max_bytes=self.max_file_bytes,
            max_room=round(settings.max_megabytes * _MEGABYTE * _SHARE_OF_ONE_DIRECTORY),
            deadline=time.monotonic() + _SCAN_SECONDS,
            # To open and close a database of this process would drop its locks; and no undo may put it back.
            left_out=None if _is_in(root, home) else home,
            flush=flush if stores else None,
        )
        if stores and (found.learned or found.contents):
            flush(found)
        if stores:
            self._known[root] = self.database.version, found.files
        return found

    def _finish(self, opened: _Open, *, is_certain: bool = True) -> None:
        contents: dict[str, bytes] = {}
        changes = {
            path: Change(opened.number, path, before, after, is_certain)
            for path, before in opened.named.items()
            if (after := read_state(path, self.max_file_bytes, contents.__setitem__)) != before
        }
        gap, learned, found = opened.gap, None, None
        if opened.root is not None and Path(opened.root).is_dir():
            found = self._scanned(opened.root, opened.files, stores=False)
            self._known.pop(opened.root, None)
            gap, learned, contents = gap or found.gap, found.learned, contents | found.contents
            is_whole = len(opened.files) < self.settings.max_files and len(found.files) < self.settings.max_files
            for path, before, after in _differences(opened.files, found.files) if is_whole else ():
                changes[path] = Change(opened.number, path, before, after, is_certain)
        self.database.finish_call(
            opened.number,
            changes.values(),
            root=opened.root,
            gap=gap,
            contents=contents,
            learned=learned,
        )
        if opened.root is not None and found is not None:
            self._known[opened.root] = self.database.version, found.files
        if self._finished % _PRUNED_EVERY == 0:
            self.prune()
        self._finished += 1

    def prune(self) -> None:
        """Remove checkpoints for which there is no room, or that are too old."""
        self._known.clear()
        self.database.prune(self.settings.max_megabytes * _MEGABYTE, self.settings.max_days)

    def close_dead(self, root: str | None = None, session_id: str | None = None) -> None:
        """Find out what calls have changed whose process was killed.

        Args:
            root: calls that followed this directory.
            session_id: calls of this session.
        """
        with self._using:
            running = {each.number for each in self._open.values()}
            for call in self.database.open_calls():
                if (call.root != root or root is None) and call.session != session_id:
                    continue
                if call.id not in running and not call.process.is_other_and_runs:
                    files = self.database.known_files(call.root) if call.root is not None else {}
                    named = {each.path: each.before for each in self.database.changes_of(call.id)}
                    self._finish(_Open(call.id, call.root, files, named, call.gap), is_certain=False)


def recorder_of(context: PluginContext) -> Recorder:
    """Make the recorder of a home."""
    return Recorder(context)


def _key(call: CallInfo) -> tuple[str, str]:
    return (call.turn.session.id if call.turn is not None else "", call.id)


def _is_in(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def _differences(before: Known, after: Known) -> list[tuple[str, FileState, FileState]]:
    """Compare two looks at a directory."""
    found: list[tuple[str, FileState, FileState]] = []
    for path in before.keys() | after.keys():
        old = before[path][1] if path in before else NOTHING
        new = after[path][1] if path in after else NOTHING
        if old != new and not _was_unread(path, old, new):
            found.append((path, old, new))
    return found


def _was_unread(path: str, old: FileState, new: FileState) -> bool:
    """Return True for a file that did not change, but was read only now."""
    return old.kind is Kind.UNKNOWN and new.kind is Kind.FILE and read_state(path, -1) == old
