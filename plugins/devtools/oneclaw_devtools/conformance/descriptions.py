"""Checks: would a model know by the descriptions what a tool or group does and when to use it?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core.tools import LISTED_DESCRIPTION_CHARACTERS
from oneclaw_devtools.conformance.finding import Check, Finding, Severity, summarised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_devtools.conformance.facts import PluginFacts, ToolFacts

_W, _N = Severity.WARNING, Severity.NOTE

SHORT = Check(
    "descriptions.short",
    _W,
    "a tool's description of fewer than four words",
    "say what the tool does and when to use it, in a sentence or two",
)
LONG = Check(
    "descriptions.long",
    _W,
    "a tool's description of more than 1,024 characters, as which some services cut or refuse it",
    "keep what decides whether to use the tool; move the rest to the parameters, or into a skill",
)
WHEN = Check(
    "descriptions.when",
    _N,
    "descriptions of one sentence that do not say when to use the tool",
    "add when to use the tool, and when not, where the name does not say it all",
)
SAME = Check(
    "descriptions.same", _W, "two tools with the same description", "say what each does that the other does not"
)
CONTROL = Check(
    "descriptions.control",
    _W,
    "control characters, or characters that turn or hide text",
    "write plain text",
)
ORDERS = Check(
    "descriptions.orders",
    _W,
    "a description that gives the model orders beyond the tool",
    "describe the tool; say nothing of other tools' rules or of what to hide from the user",
)
GROUP_GENERATED = Check(
    "groups.no-description",
    _W,
    "a group whose description is made of its tools' names",
    "declare it with register_groups or a _meta entry, in words that users would use",
)
GROUP_LONG = Check(
    "groups.long-description",
    _N,
    f"a group's description of more than {LISTED_DESCRIPTION_CHARACTERS} characters, of which the rest is not listed",
    "put what matters first, and shorten it",
)
GROUP_EMPTY = Check(
    "groups.empty", _W, "a declared group without tools", "register its tools with group=, or remove the group"
)

_SHORTEST_WORDS = 4
_LONGEST_CHARACTERS = 1024
_WHEN = re.compile(
    r"\b(when|use[ds]?|using|for|if|before|after|instead|only|unless|whenever|must|need)\b", re.IGNORECASE
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_ORDERS = re.compile(
    r"\b(ignore|disregard|forget) (all |any |the )?(previous|prior|other|earlier|above)\b"
    r"|\b(do not|don't|never) (tell|mention|reveal|show)\b[^.]{0,40}\buser\b|<(important|system)>",
    re.IGNORECASE,
)


def description_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the descriptions of tools and groups."""
    seen: dict[str, str] = {}
    silent = [tool.name for tool in facts.tools if _says_not_when(tool.description)]
    yield from summarised(WHEN, silent, "the description says what is done, and not when to use it")
    for tool in facts.tools:
        other = seen.setdefault(" ".join(tool.description.lower().split()), tool.name)
        if other != tool.name:
            yield SAME.found(tool.where, f"its description is that of {other!r}")
        yield from _of_tool(tool)
    for group in facts.groups:
        where = f"group {group.name}"
        if not group.tools and not any(problem.is_error for problem in facts.problems):
            yield GROUP_EMPTY.found(where, "it has no tools")
        if not group.is_declared:
            yield GROUP_GENERATED.found(where, f"a model is told: {group.description[:150]}")
        elif len(group.description) > LISTED_DESCRIPTION_CHARACTERS:
            yield GROUP_LONG.found(where, f"its description has {len(group.description)} characters")
        yield from _of_text(where, group.description)


def _says_not_when(description: str) -> bool:
    is_one_sentence = ". " not in description.rstrip(". ")
    return is_one_sentence and len(description.split()) >= _SHORTEST_WORDS and not _WHEN.search(description)


def _of_tool(tool: ToolFacts) -> Iterator[Finding]:
    words = tool.description.split()
    if len(words) < _SHORTEST_WORDS:
        yield SHORT.found(tool.where, f"all that a model is told is {tool.description[:100]!r}")
    elif len(tool.description) > _LONGEST_CHARACTERS:
        yield LONG.found(tool.where, f"its description has {len(tool.description):,} characters")
    yield from _of_text(tool.where, tool.description)


def _of_text(where: str, text: str) -> Iterator[Finding]:
    odd = _CONTROL.search(text)
    if odd is not None:
        yield CONTROL.found(where, f"its description has the character U+{ord(odd[0]):04X}")
    orders = _ORDERS.search(text)
    if orders is not None:
        yield ORDERS.found(where, f"its description says {orders[0]!r}")
