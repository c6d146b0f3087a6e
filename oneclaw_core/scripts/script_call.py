"""The calls of scripts, as they are stored."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


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
