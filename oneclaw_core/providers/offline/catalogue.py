"""What a request offers: its tools and the tool groups in its system prompt, prepared for ranking."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.literals import Kind
from oneclaw_core.providers.offline.parameters import Parameter, read_parameters
from oneclaw_core.providers.offline.ranking import Corpus, Document
from oneclaw_core.providers.offline.terms import normal_words, stem
from oneclaw_core.providers.offline.words import STOP_WORDS, Action, action_of_tool, name_words
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.tools.definition import ToolDefinition

GROUPS_HEADING = "## Available Tool Groups"
# "For X, use other_tool" and "not for X" say what a tool does not do.
_CLAUSE = re.compile(r"(?<=[.;:])\s+")
_POINTS_ELSEWHERE = re.compile(r"\buse [a-z][a-z0-9_]*[.;:]?$|^not for\b", re.IGNORECASE)
_GROUP_LINE = re.compile(r"^- ([A-Za-z_][A-Za-z0-9_-]{0,62}): (.+)$", re.MULTILINE)
_NEXT_HEADING = re.compile(r"^#{1,2} |^---\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PreparedTool:
    """A tool definition, read once.

    Attributes:
        definition: the definition itself.
        name_terms: the words of its name.
        action: what kind of thing it does.
        parameters: in the order of the schema, required ones first.
        document: what the ranking searches.
        characters: how long the definition is when sent.
    """

    definition: ToolDefinition
    name_terms: frozenset[str]
    action: Action | None
    parameters: tuple[Parameter, ...]
    document: Document
    characters: int


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group as the system prompt lists it."""

    name: str
    description: str
    name_terms: frozenset[str]


class Identity:
    """Stands for a definition in a cache: definitions never change, and their schemas cannot be hashed.

    Holding the definition keeps its ``id`` from being given to another one.
    """

    __slots__ = ("definition",)

    def __init__(self, definition: ToolDefinition) -> None:
        self.definition = definition

    def __hash__(self) -> int:
        return id(self.definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.definition is other.definition


def content_terms(text: str) -> list[str]:
    """The stemmed words of a text that say something."""
    return [stem(word) for word in normal_words(text) if word not in STOP_WORDS]


def own_description(description: str) -> str:
    """What a description says of its own tool, without what it says other tools are for."""
    return " ".join(clause for clause in _CLAUSE.split(description) if not _POINTS_ELSEWHERE.search(clause))


def has_kind_term(kind: Kind) -> str:
    """The term that a tool's document has for taking a value of a kind; no text contains it."""
    return f"<{kind.value}>"


@lru_cache(maxsize=4096)
def prepare_tool(identity: Identity) -> PreparedTool:
    """Read a tool definition for the rules."""
    definition = identity.definition
    parameters = read_parameters(definition.parameters)
    name_terms = frozenset(content_terms(" ".join(name_words(definition.name))))
    terms: dict[str, float] = {}
    _count(terms, definition.name, 3.0)
    _count(terms, own_description(definition.description), 1.0)
    for parameter in parameters:
        _count(terms, parameter.name, 0.6)
        _count(terms, parameter.description, 0.2)
        _count(terms, " ".join(str(choice) for choice in parameter.choices), 0.3)
        if parameter.kind in {Kind.PATH, Kind.URL, Kind.EMAIL}:
            terms[has_kind_term(parameter.kind)] = 2.0 if parameter.is_required else 0.6
    text = json.dumps(definition.parameters, ensure_ascii=False, default=str)
    return PreparedTool(
        definition=definition,
        name_terms=name_terms,
        action=action_of_tool(definition.name),
        parameters=parameters,
        document=Document(f"tool {definition.name}", terms),
        characters=len(definition.name) + len(definition.description) + len(text),
    )


@lru_cache(maxsize=64)
def tools_corpus(identities: tuple[Identity, ...]) -> Corpus:
    """Index the active tools, all but the one that loads groups."""
    documents = {
        identity.definition.name: prepare_tool(identity).document
        for identity in identities
        if identity.definition.name != LOAD_TOOL_GROUP
    }
    return Corpus(documents.values())


def groups_section(system_prompt: str) -> str:
    """Cut the list of tool groups out of a system prompt; empty if there is none."""
    start = system_prompt.rfind(GROUPS_HEADING)
    if start < 0:
        return ""
    start += len(GROUPS_HEADING)
    end = _NEXT_HEADING.search(system_prompt, start)
    return system_prompt[start : end.start() if end else len(system_prompt)]


@lru_cache(maxsize=16)
def listed_groups(section: str) -> tuple[Mapping[str, ListedGroup], Corpus]:
    """Read the list of tool groups, and index it."""
    groups = {
        name: ListedGroup(name, description.strip(), frozenset(content_terms(name)))
        for name, description in _GROUP_LINE.findall(section)
    }
    documents = []
    for group in groups.values():
        terms: dict[str, float] = {}
        _count(terms, group.name, 3.0)
        _count(terms, group.description, 1.0)
        documents.append(Document(f"group {group.name}", terms))
    return groups, Corpus(documents)


def _count(terms: dict[str, float], text: str, weight: float) -> None:
    for term in set(content_terms(text[:4000])):
        terms[term] = terms.get(term, 0.0) + weight
