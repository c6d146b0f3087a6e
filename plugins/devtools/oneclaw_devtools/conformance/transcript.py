"""Reading what a child process said; in it the plugin may have spoken itself, so nothing is taken for granted."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from oneclaw_core import PluginError
from oneclaw_devtools.conformance.facts import CallFacts, StepFacts, plugin_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_core.process import ProbeOutcome
    from oneclaw_devtools.conformance.facts import PluginFacts


def facts_of(outcome: ProbeOutcome, name: str) -> PluginFacts:
    """What loading the plugin brought.

    Args:
        outcome: of ``look``, complete.
        name: of the plugin.

    Raises:
        PluginError: it is not said as it should be.
    """
    with _reading(f"plugin {name}"):
        return plugin_facts(next(each["plugin"] for each in outcome.messages if "plugin" in each))


def steps_of(outcome: ProbeOutcome) -> list[StepFacts]:
    """The steps that came to an end.

    Raises:
        PluginError: one is not told as it should be.
    """
    with _reading("the plugin"):
        return [
            StepFacts(
                str(each["end"]), float(each["milliseconds"]), str(each["printed"]), tuple(map(str, each["changes"]))
            )
            for each in outcome.messages
            if "end" in each
        ]


def open_step(outcome: ProbeOutcome) -> str | None:
    """The step in which the process ended, ``None`` if it was in none."""
    begun: list[str] = []
    for each in outcome.messages:
        if "begin" in each:
            begun.append(str(each["begin"]))
        elif "end" in each and each["end"] in begun:
            begun.remove(str(each["end"]))
    return begun[-1] if begun else None


def called_from(document: Mapping[str, Any]) -> CallFacts:
    """A call that was answered.

    Raises:
        PluginError: it is not told as it should be.
    """
    with _reading("a tool"):
        fields = {key: tuple(document[key]) for key in ("changes", "guarded", "leaks")}
        return CallFacts(**{**document, **fields})


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, StopIteration) as error:
        raise PluginError(f"{what} disturbed the process that looked at it: {error!r}") from None
