"""The type that a program wants the answer of a turn in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from oneclaw_core.errors import UsageError
from oneclaw_core.types.tools import NAME_PATTERN

OutputMode = Literal["native", "tool", "prompted"]
OUTPUT_MODES = ("auto", "native", "tool", "prompted")


@dataclass(frozen=True, slots=True)
class Output:
    """The form of a turn's answer, with the way in which a model is asked for it.

    Attributes:
        type: what pydantic can validate: a model, a dataclass, a ``TypedDict``, a union, ``list[int]`` and the like; or
            a JSON Schema as a dictionary, for plain JSON.
        mode: ``native`` to have the service keep to the schema, ``tool`` to have the model call a tool with the result,
            ``prompted`` to say in the message that JSON is wanted; ``auto`` for the best that the model takes.
        name: of the tool, and of the schema; 1 to 63 letters, digits, ``_`` and ``-``.
        description: what the result is, for the model; empty for what the type says.

    Raises:
        UsageError: the mode or the name is not acceptable.
    """

    type: Any
    mode: Literal["auto", "native", "tool", "prompted"] = "auto"
    name: str = "final_result"
    description: str = ""

    def __post_init__(self) -> None:
        if self.mode not in OUTPUT_MODES:
            raise UsageError(f"the mode of an output is one of {', '.join(OUTPUT_MODES)}, not {str(self.mode)[:100]!a}")
        if not isinstance(self.name, str) or not NAME_PATTERN.fullmatch(self.name):
            raise UsageError(
                f"the name of an output has 1 to 63 letters, digits, _ and -, and begins with none of the latter, not "
                f"{str(self.name)[:100]!a}"
            )
        if not isinstance(self.description, str):
            raise UsageError(f"the description of an output is a text, not {type(self.description).__name__}")
