"""The journal of a script: what it did is not done again when the script is run again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.errors import UsageError
from oneclaw_core.scripts.hidden_secrets import HiddenSecrets
from oneclaw_core.scripts.script_call import ScriptCall, ScriptCallState, ScriptStart
from oneclaw_core.types.provenance import marks_of_text, marks_to_text
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oneclaw_core.types.provenance import Mark

# As long as a script may calculate between its calls while it is run again.
DIVERGENCE_SECONDS = 3.0
_MAX_UNWRITTEN = 50
_MAX_UNWRITTEN_CHARACTERS = 1_000_000

_UNKNOWN = ToolResult.error(
    "interrupted",
    "This call was interrupted before its outcome was known; it may or may not have had its effect. "
    "It is not made again: look for what it did, or ask the user.",
)

_SECRET_CHANGED = ToolResult.error(
    "interrupted",
    "This call was finished, but its result cannot be given again: it held a secret that is not known any more. "
    "It is not made again: look for what it did, or ask the user.",
)


class ScriptRecords(Protocol):
    """Store of the calls of scripts; see :mod:`oneclaw_core.sessions.scripts`."""

    async def begin_script(self, session_id: str, call_id: str, about: str) -> list[ScriptCall]:
        """Begin a script; return it with its calls so far."""
        ...

    async def note_script_calls(self, session_id: str, calls: Sequence[ScriptCall]) -> None:
        """Write calls."""
        ...

    async def script_calls(self, session_id: str, call_id: str) -> list[ScriptCall]:
        """Return a script with its calls so far."""
        ...

    async def end_script(self, session_id: str, call_id: str, calls: Sequence[ScriptCall]) -> None:
        """Write the last calls of a script that has finished."""
        ...


class DivergedError(Exception):
    """A script that is run again did not make the same calls."""


class Journal:
    """The calls of one script.

    A call that can be repeated is written some time after it, but before the next one that cannot. Any other is written
    before its tool runs, and again with its result. Known secrets are hidden in what is written.

    Args:
        records: the store.
        session_id: the session.
        rows: the script with its calls so far.
        is_continued: True if the model asked to go on with it, so that refused calls are tried again.

    Attributes:
        call_id: of the call that began the script first.
        start_of_script: what it was begun with.
    """

    def __init__(
        self, records: ScriptRecords, session_id: str, rows: Sequence[ScriptCall], *, is_continued: bool
    ) -> None:
        itself, *calls = rows
        self.call_id = itself.call_id
        self._hidden = HiddenSecrets(itself.call_id)
        self.start_of_script = ScriptStart.from_text(itself.arguments)
        self._records = records
        self._session_id = session_id
        self._known = {
            (each.key, each.occurrence): each
            for each in map(self._restored, calls)
            if each is not None and not (is_continued and each.error_type == "permission_denied")
        }
        self._unclaimed = {key for key, each in self._known.items() if each.state is not ScriptCallState.READ}
        self._unknown: set[str] = set()
        self._unwritten: list[ScriptCall] = []
        self._moved = asyncio.Event()
        self._held = 0

    def _restored(self, call: ScriptCall) -> ScriptCall | None:
        """Return a stored call as it was; ``None`` for one that is made again, since a secret in it has changed."""
        if call.result is None:
            return call
        result = self._hidden.restore(call.result)
        if result is not None:
            return replace(call, result=result)
        if call.state is ScriptCallState.READ:
            return None
        return replace(call, error_type=_SECRET_CHANGED.error_type, result=_SECRET_CHANGED.text())

    @classmethod
    async def begun(
        cls, records: ScriptRecords, session_id: str, call_id: str, start: ScriptStart, continues: str | None
    ) -> Journal:
        """Begin a script, or go on with an earlier one.

        Args:
            records: the store.
            session_id: the session.
            call_id: of the call that begins it.
            start: what it is begun with.
            continues: of the call that began the earlier one.

        Raises:
            UsageError: there is no earlier one, or it cannot go on.
        """
        if continues is None:
            rows = await records.begin_script(session_id, call_id, start.to_text())
            _check_same(ScriptStart.from_text(rows[0].arguments), start, "code", "engine")
            return cls(records, session_id, rows, is_continued=False)
        rows = await _script(records, session_id, continues)
        if rows[0].state is ScriptCallState.ENDED:
            raise UsageError("that script has finished: there is nothing left to continue")
        _check_same(ScriptStart.from_text(rows[0].arguments), start, "engine")
        # So that this call can be resumed, and continued.
        await records.begin_script(session_id, call_id, json.dumps({"continues": rows[0].call_id}))
        return cls(records, session_id, rows, is_continued=True)

    async def look(
        self, key: str, occurrence: int, open_calls: Callable[[], int], *, is_repeatable: bool
    ) -> tuple[ToolResult, tuple[Mark, ...]] | None:
        """Return the result of a call that was made before, with its marks; ``None`` for one that is to be made.

        Args:
            key: of the call.
            occurrence: of the call.
            open_calls: returns how many calls the script waits for.
            is_repeatable: True if the call can be repeated.

        Raises:
            DivergedError: the script no longer makes the calls that it made.
        """
        found = self._known.get((key, occurrence))
        if found is not None:
            self._unclaimed.discard((key, occurrence))
            self._moved.set()
            if found.state is not ScriptCallState.STARTED:
                return _result(found), marks_of_text(found.marks) if found.marks else ()
            if not is_repeatable:
                self._unknown.add(key)
        if key in self._unknown and not is_repeatable:
            return _UNKNOWN, ()
        if found is None and not is_repeatable:
            await self._wait_for_known(open_calls)
        return None

    async def _wait_for_known(self, open_calls: Callable[[], int]) -> None:
        """Hold back a new call until all earlier ones have been made again."""
        self._held += 1
        try:
            while self._unclaimed:
                self._moved.clear()
                try:
                    await asyncio.wait_for(self._moved.wait(), DIVERGENCE_SECONDS)
                except TimeoutError:
                    if self._held >= open_calls():
                        raise DivergedError from None
        finally:
            self._held -= 1

    async def start(self, call: ScriptCall) -> None:
        """Write that a call that cannot be repeated is about to run, and what the script has read before."""
        await self._records.note_script_calls(self._session_id, [*self._take_unwritten(), self._without_secrets(call)])

    async def finish(self, call: ScriptCall, result: ToolResult, marks: Iterable[Mark], *, had_effect: bool) -> None:
        """Write how a call ended.

        Args:
            call: the call.
            result: of it.
            marks: of the result.
            had_effect: True if it was started and cannot be repeated.
        """
        done = replace(
            call,
            state=ScriptCallState.DONE if had_effect else ScriptCallState.READ,
            result=json.dumps(result.result) if result.is_success else result.text(),
            error_type=result.error_type,
            marks=marks_to_text(marks),
        )
        done = self._without_secrets(done)
        self._unwritten.append(done)
        size = sum(len(each.result or "") for each in self._unwritten)
        if had_effect or len(self._unwritten) > _MAX_UNWRITTEN or size > _MAX_UNWRITTEN_CHARACTERS:
            await self.write()

    async def write(self) -> None:
        """Write what is still to be written."""
        if unwritten := self._take_unwritten():
            await self._records.note_script_calls(self._session_id, unwritten)

    async def end(self) -> None:
        """Note that the script has finished."""
        await self._records.end_script(self._session_id, self.call_id, self._take_unwritten())

    def _without_secrets(self, call: ScriptCall) -> ScriptCall:
        result = None if call.result is None else self._hidden.hide(call.result)
        return replace(call, arguments=self._hidden.hide(call.arguments), result=result)

    def _take_unwritten(self) -> list[ScriptCall]:
        unwritten, self._unwritten = self._unwritten, []
        return unwritten


async def _script(records: ScriptRecords, session_id: str, call_id: str) -> list[ScriptCall]:
    """Return the script that a call began or continued, with its calls so far.

    Raises:
        UsageError: there is none.
    """
    rows = await records.script_calls(session_id, call_id)
    if rows and (first := json.loads(rows[0].arguments).get("continues")) is not None:
        rows = await records.script_calls(session_id, str(first))
    if not rows:
        raise UsageError(f"there is no script {call_id[:100]!r} in this session to continue")
    return rows


def _check_same(known: ScriptStart, wanted: ScriptStart, *names: str) -> None:
    for name in names:
        if getattr(known, name) != getattr(wanted, name):
            raise UsageError(
                f"the script cannot be run again, since its {name} is another by now: look for what it did before, "
                "and write a new script for the rest"
            )


def _result(found: ScriptCall) -> ToolResult:
    if found.error_type is not None:
        return ToolResult.error(found.error_type, found.result or "")
    return ToolResult.success(json.loads(found.result or '""'))
