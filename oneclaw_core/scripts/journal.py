"""The journal of a script: what it did is not done again when the script is run again."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import UsageError
from oneclaw_core.secrets.redaction import REDACTED, SHORTEST_SECRET_CHARACTERS, Redaction, redact
from oneclaw_core.types.provenance import Mark, marks_of_text, marks_to_text
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class ScriptCallState(StrEnum):
    """The state of a row.

    ``OPEN`` and ``ENDED`` are of the row of a script itself, which has the number 0. ``STARTED``: the call may or may
    not have had its effect. ``DONE``: it has its result. ``READ``: the same of a call that can be repeated, or that had
    no effect.
    """

    OPEN = "open"
    ENDED = "ended"
    STARTED = "started"
    DONE = "done"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCall:
    """A call of a script.

    Attributes:
        call_id: of the call of the model that began the script.
        key: the same for calls of the same tool with the same arguments; empty for the script itself.
        occurrence: counts those, from 0.
        number: counts the calls of a script, from 1; 0 for the script itself.
        tool: its name.
        arguments: JSON; of the script itself, what it was begun with.
        state: of the call.
        result: JSON, or the message of an error; ``None`` as long as there is none.
        error_type: of an error, else ``None``.
        marks: where the result comes from, as it is stored; ``None`` for none.
        duration_ms: how long it took, in milliseconds.
    """

    call_id: str
    key: str
    occurrence: int
    number: int
    tool: str
    arguments: str
    state: ScriptCallState
    result: str | None = None
    error_type: str | None = None
    marks: str | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStart:
    """Data that a script is begun with, and has again whenever it is run.

    Attributes:
        code: the program.
        purpose: what it is for, in the words of a model; ``""`` for nothing said.
        engine: what else its outcome depends on.
        started_ms: when it was first begun, in milliseconds since 1970.
        seed: of its random numbers, four numbers of 32 bits.
    """

    code: str
    purpose: str
    engine: str
    started_ms: int
    seed: tuple[int, ...]

    def to_text(self) -> str:
        """Return it as it is stored."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> ScriptStart:
        """Read what :meth:`to_text` wrote."""
        stored = json.loads(text)
        return cls(**stored | {"seed": tuple(stored["seed"])})


def continuing_text(call_id: str) -> str:
    """Say how a script that was interrupted can go on."""
    return (
        f'The calls that it finished are kept. To go on where it was interrupted: js_eval with continues "{call_id}".'
    )


# As long as a script may calculate between its calls while it is run again.
DIVERGENCE_SECONDS = 3.0

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

    Each call is written with its result; one that cannot be repeated, before its tool runs too. Known secrets are
    hidden in what is written.

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
        self, call: ScriptCall, open_calls: Callable[[], int], *, is_repeatable: bool
    ) -> tuple[ToolResult, tuple[Mark, ...]] | None:
        """Return the result of a call that was made before, with its marks; ``None`` for one that is to be made.

        Args:
            call: the call.
            open_calls: returns how many calls the script waits for.
            is_repeatable: True if the call can be repeated.

        Raises:
            DivergedError: the script no longer makes the calls that it made.
        """
        key, place = call.key, (call.key, call.occurrence)
        found = self._known.get(place)
        if found is not None:
            self._unclaimed.discard(place)
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

    async def write(self, call: ScriptCall) -> None:
        """Write a call: without a result, that it may have its effect from now on."""
        result = None if call.result is None else self._hidden.hide(call.result)
        hidden = replace(call, arguments=self._hidden.hide(call.arguments), result=result)
        await self._records.note_script_calls(self._session_id, [hidden])

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
        await self.write(done)

    async def end(self) -> None:
        """Note that the script has finished."""
        await self._records.end_script(self._session_id, self.call_id, [])


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


# A text that has the first character itself has ``⟪!`` in its place, so that no one else's text is a placeholder.
_BEGIN = "⟪"
_PLACEHOLDER = re.compile(r"⟪(?:!|redacted ([0-9a-f]{4})⟫)")
# Tells secrets of one home apart, and is too short to find out a secret by trying.
_DIGEST_BYTES = 2


class HiddenSecrets:
    """Hides known secrets in texts that are stored, and restores them as long as they are known.

    Args:
        salt: makes placeholders those of one script.
    """

    def __init__(self, salt: str) -> None:
        self._salt = blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self._redaction = Redaction()

    def hide(self, text: str) -> str:
        """Return a text with placeholders for the secrets in it."""
        found = sorted((each for each in self._known() if each in text), key=len, reverse=True)
        if not found and _BEGIN not in text:
            return text
        pattern = "|".join(map(re.escape, (*found, _BEGIN)))
        return re.sub(pattern, lambda match: self._in_place_of(match[0]), text)

    def restore(self, text: str) -> str | None:
        """Return the text that was hidden; ``None`` if a secret in it is not known any more."""
        if _BEGIN not in text:
            return text
        secrets: dict[str, set[str]] = {}
        for each in self._known():
            secrets.setdefault(self._digest(each), set()).add(each)
        wanted = {match[1] for match in _PLACEHOLDER.finditer(text) if match[1]}
        if any(len(secrets.get(each, ())) != 1 for each in wanted):
            return None
        return _PLACEHOLDER.sub(lambda match: next(iter(secrets[match[1]])) if match[1] else _BEGIN, text)

    def _in_place_of(self, found: str) -> str:
        return f"{_BEGIN}!" if found == _BEGIN else f"{_BEGIN}redacted {self._digest(found)}⟫"

    def _known(self) -> Iterator[str]:
        """Yield the known secrets as they stand in a text and in JSON."""
        for secret in self._redaction.secrets:
            if len(secret) >= SHORTEST_SECRET_CHARACTERS:
                yield from {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}

    def _digest(self, secret: str) -> str:
        return blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=self._salt).hexdigest()


def without_placeholders(text: str) -> str:
    """Return a text of the journal for people."""
    return _PLACEHOLDER.sub(lambda match: REDACTED if match[1] else _BEGIN, text)


_SHOWN_CHARACTERS = 2_000


def script_documents(rows: Iterable[ScriptCall]) -> list[dict[str, Any]]:
    """Return stored scripts with their calls as JSON data, without known keys.

    Args:
        rows: of a session, as they are stored.
    """
    scripts: dict[str, dict[str, Any]] = {}
    for row in rows:
        script = scripts.setdefault(row.call_id, {"call": row.call_id, "calls": []})
        if row.number == 0:
            about = json.loads(row.arguments)
            script |= {"state": str(row.state), "purpose": about.get("purpose", "")}
            if "continues" in about:
                script["continues"] = about["continues"]
            continue
        call = {name: value for name, value in asdict(row).items() if name not in ("call_id", "key", "marks")}
        is_unknown = row.state is ScriptCallState.STARTED
        status = "unknown" if is_unknown else "success" if row.error_type is None else "error"
        call |= {"state": str(row.state), "status": status, "arguments": shown_text(row.arguments)}
        script["calls"].append(call | {"result": None if row.result is None else shown_text(row.result)})
        scripts[row.call_id] = script
    return list(scripts.values())


def shown_text(text: str) -> str:
    """Return the beginning of a text of a call, without known keys."""
    text = without_placeholders(text)
    return redact(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")
