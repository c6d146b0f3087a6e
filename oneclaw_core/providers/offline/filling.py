"""What a message gives a tool: the arguments of its calls, or what is missing for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.providers.offline.parameters import Parameter

PARALLEL_CALLS_LIMIT = 8


@dataclass(slots=True)
class Filling:
    """What a message gives a tool.

    Attributes:
        calls: the arguments, one object for each call; several where one parameter has several values.
        missing: the required parameters that nothing in the message fits.
        is_guess: whether a required parameter got what the message says beyond the request, and no value of its own.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    missing: list[Parameter] = field(default_factory=list)
    is_guess: bool = False


def filled(found: Mapping[str, Sequence[Any]], *, is_guess: bool) -> Filling:
    """Make calls of the values found.

    Args:
        found: by parameter, at least one each; the first parameter that has several gives a call for each of them.
        is_guess: as in :class:`Filling`.
    """
    several = next((name for name, values in found.items() if len(values) > 1), None)
    single = {name: values[0] for name, values in found.items()}
    if several is None:
        return Filling([single], is_guess=is_guess)
    calls = [{**single, several: value} for value in found[several][:PARALLEL_CALLS_LIMIT]]
    return Filling(calls, is_guess=is_guess)
