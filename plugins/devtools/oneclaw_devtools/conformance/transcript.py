"""Messages of a child process, validated: the plugin in it may have sent some itself."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from oneclaw_core import PluginError
from oneclaw_devtools.conformance.facts import CallFacts, PluginFacts, StepFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_devtools.conformance.probe import ProbeOutcome


def facts_of(outcome: ProbeOutcome, name: str) -> PluginFacts:
    """Read the facts about a plugin.

    Args:
        outcome: Outcome of ``look``, complete.
        name: Name of the plugin.

    Raises:
        PluginError: The message is missing or invalid.
    """
    with _reading(f"plugin {name}"):
        facts = next(each["plugin"] for each in outcome.messages if "plugin" in each)
        return _adapter(PluginFacts).validate_python(facts)  # type: ignore[no-any-return]


def steps_of(outcome: ProbeOutcome) -> list[StepFacts]:
    """Read the steps that came to an end.

    Raises:
        PluginError: A message is invalid.
    """
    ended = [{**each, "name": each["end"]} for each in outcome.messages if "end" in each]
    with _reading("the plugin"):
        return _adapter(list[StepFacts]).validate_python(ended)  # type: ignore[no-any-return]


def open_step(outcome: ProbeOutcome) -> str | None:
    """Find the step in which the process ended, ``None`` if it was in none."""
    begun: list[str] = []
    for each in outcome.messages:
        if "begin" in each:
            begun.append(str(each["begin"]))
        elif "end" in each and each["end"] in begun:
            begun.remove(str(each["end"]))
    return begun[-1] if begun else None


def called_from(document: Mapping[str, Any]) -> CallFacts:
    """Read a call that was answered.

    Raises:
        PluginError: The message is invalid.
    """
    with _reading("a tool"):
        return _adapter(CallFacts).validate_python(document)  # type: ignore[no-any-return]


@cache  # making one takes longer than the rest of a check
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, StopIteration) as error:
        raise PluginError(f"{what} disturbed the process that looked at it: {error!r}") from None
