"""Choosing a tool or a tool group for a message."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.arguments import fill
from oneclaw_core.providers.offline.catalogue import (
    Identity,
    ListedGroup,
    PreparedTool,
    content_terms,
    groups_section,
    has_kind_term,
    listed_groups,
    prepare_tool,
    tools_corpus,
)
from oneclaw_core.providers.offline.filling import Filling
from oneclaw_core.providers.offline.literals import Kind, file_extension, find_literals, without_literals
from oneclaw_core.providers.offline.ranking import QueryTerm, Score, rank
from oneclaw_core.providers.offline.words import (
    GENERIC_VERBS,
    LOAD_OBJECTS,
    LOAD_WORDS,
    SYNONYMS,
    Action,
    asked_action,
)
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.providers.offline.conversation import Turn

LOADS_LIMIT = 3
_ROUTED_CHARACTERS = 8_000
_TERMS_LIMIT = 60
_CANDIDATES_TRIED = 6
# A short message may match in one word of many; one word of a long one is chance.
_WEAKEST_SHARE = 0.1
_ENOUGH_WEIGHT = 1.5
_LISTED_TOOL = re.compile(r"^- ([\w-]+):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Offer:
    """The parts of a request that can be chosen from."""

    tools: Mapping[str, PreparedTool]
    identities: tuple[Identity, ...]
    section: str
    can_load: bool

    @property
    def groups(self) -> Mapping[str, ListedGroup]:
        """The groups that can be loaded, by name."""
        return listed_groups(self.section)[0] if self.can_load else {}


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool with what the message gives it, or else a group to load.

    Attributes:
        score: comparable between all choices for one message.
        tool: the tool, ``None`` for a group.
        filling: the tool's parameters.
        group: the name of the group, empty for a tool.
    """

    score: float
    tool: PreparedTool | None = None
    filling: Filling = field(default_factory=Filling)
    group: str = ""


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a message says about the tool it wants.

    Attributes:
        message: the message itself.
        action: the kind of thing it asks for.
        meanings: its words, each with its synonyms.
        extensions: of the files it names.
    """

    message: str
    action: Action | None
    meanings: Sequence[frozenset[str]]
    extensions: frozenset[str]


def read_offer(request: ModelRequest) -> Offer:
    """Find what a request lets a model choose from."""
    identities = tuple(Identity(definition) for definition in request.tools)
    tools = {each.definition.name: prepare_tool(each) for each in identities}
    can_load = tools.pop(LOAD_TOOL_GROUP, None) is not None
    return Offer(tools, identities, groups_section(request.system_prompt), can_load)


def group_to_load(message: str, offer: Offer) -> str | None:
    """The group that a message such as "Load the PDF tools" asks to load, if it asks for nothing else."""
    if not offer.can_load:
        return None
    terms = content_terms(message[:500])
    if not terms or terms[0] not in LOAD_WORDS:
        return None
    named = frozenset(terms) - LOAD_WORDS - LOAD_OBJECTS
    fitting = [group for group in offer.groups.values() if named and named <= group.name_terms]
    if not fitting:
        return None
    return min(fitting, key=lambda group: len(group.name_terms)).name


def choose(turn: Turn, message: str, offer: Offer) -> Choice | None:
    """Choose the tool or group that fits a message best; ``None`` if nothing fits."""
    query = _query(message)
    if not query:
        return None
    corpora = [tools_corpus(offer.identities)]
    if offer.can_load:
        corpora.append(listed_groups(offer.section)[1])
    newest = frozenset(name for load in turn.loads for name in _LISTED_TOOL.findall(load.text))
    enough = min(_WEAKEST_SHARE * sum(term.weight for term in query), _ENOUGH_WEIGHT)
    scores = {key: score for key, score in rank(query, corpora).items() if score.weight >= enough}
    wish = _read_wish(message)
    tools = _tool_choices(wish, offer, scores, newest)
    if newest and any(each.tool is not None and each.tool.definition.name in newest for each in tools):
        groups = []
    else:
        groups = _group_choices(turn, wish, offer, scores)
    return max([*tools, *groups], key=lambda choice: choice.score, default=None)


def _read_wish(message: str) -> _Wish:
    text = message[:_ROUTED_CHARACTERS]
    terms = dict.fromkeys(content_terms(text))
    paths = (literal.value for literal in find_literals(text) if literal.kind is Kind.PATH)
    return _Wish(
        message=message,
        action=asked_action(message),
        meanings=[frozenset((term, *SYNONYMS.get(term, ()))) for term in terms],
        extensions=frozenset(extension for extension in map(file_extension, paths) if extension is not None),
    )


def _query(message: str) -> list[QueryTerm]:
    """What to look for: the words outside the literals, and what the literals say about themselves."""
    text = message[:_ROUTED_CHARACTERS]
    literals = find_literals(text)
    terms = list(dict.fromkeys(content_terms(without_literals(text))))
    if not terms:
        terms = list(dict.fromkeys(content_terms(" ".join(each.value for each in literals if each.kind is Kind.TEXT))))
    query = {}
    for term in terms[:_TERMS_LIMIT]:
        others = tuple((other, 0.6 - 0.05 * at) for at, other in enumerate(SYNONYMS.get(term, ())))
        is_generic = term in GENERIC_VERBS or term.isdigit() or (len(term) == 1 and term.isascii())
        weight = 0.25 if term.isdigit() else 0.4 if is_generic else 1.0
        query[term] = QueryTerm(term, weight, others, not is_generic, GENERIC_VERBS)
    if re.search(r"\bhow many\b", text[:2000], re.IGNORECASE):
        query.setdefault("count", QueryTerm("count", 0.4, (("info", 0.8), ("number", 0.7)), is_telling=False))
    for literal in literals:
        if literal.kind in {Kind.PATH, Kind.URL, Kind.EMAIL}:
            term = has_kind_term(literal.kind)
            query[term] = QueryTerm(term, 0.5 if literal.kind is Kind.PATH else 1.0)
        if literal.kind in {Kind.PATH, Kind.URL} and (extension := file_extension(literal.value)) is not None:
            query[extension] = QueryTerm(extension, 2.5 if literal.kind is Kind.PATH else 0.5)
    return list(query.values())


def _tool_choices(wish: _Wish, offer: Offer, scores: Mapping[str, Score], newest: frozenset[str]) -> list[Choice]:
    rated: list[tuple[float, PreparedTool]] = []
    for name, tool in offer.tools.items():
        score = scores.get(tool.document.key)
        # The group of a tool just loaded was chosen for this message, so a common verb is enough for it.
        if score is not None and (score.is_telling or name in newest):
            factor = _name_factor(tool.name_terms, wish) * _action_factor(wish.action, tool.action)
            rated.append((score.total * factor, tool))
    rated.sort(key=lambda each: -each[0])
    choices = []
    for value, tool in rated[:_CANDIDATES_TRIED]:
        filling = fill(tool, wish.message)
        choices.append(Choice(value * _filling_factor(filling), tool, filling))
    return choices


def _group_choices(turn: Turn, wish: _Wish, offer: Offer, scores: Mapping[str, Score]) -> list[Choice]:
    if len(turn.loads) >= LOADS_LIMIT:
        return []
    choices = []
    for name, group in offer.groups.items():
        score = scores.get(f"group {name}")
        if score is not None and score.is_telling and name not in turn.loaded and name not in turn.just_loaded:
            # A tool that fits has gained as much by its verb and its parameters.
            choices.append(Choice(1.2 * score.total * _name_factor(group.name_terms, wish), group=name))
    return choices


def _name_factor(name_terms: frozenset[str], wish: _Wish) -> float:
    """Favour what is named in full, and what bears the extension of the file in its name.

    Of ``add_model`` and ``create_provider``, a new provider means the second.
    """
    if not name_terms:
        return 0.7
    covered = sum(not name_terms.isdisjoint(meaning) for meaning in wish.meanings)
    special = 1.0 if name_terms.isdisjoint(wish.extensions) else 1.5
    return special * (0.7 + 0.3 * min(1.0, covered / len(name_terms)))


def _filling_factor(filling: Filling) -> float:
    """Of two tools, favour the one that has a use for more of what the message gives, and gives in so many words."""
    if filling.missing:
        return 0.5
    return (0.8 if filling.is_guess else 1.0) * (1 + 0.15 * len(filling.calls[0]))


def _action_factor(asked: Action | None, action: Action | None) -> float:
    """Keep a question from changing anything, and an order from being answered with the wrong kind of deed."""
    if asked is None or action is None:
        return 1.0
    if asked is action:
        return 1.2
    if asked is Action.LOOK:
        return 0.95 if action is Action.DRAW else 0.1
    return 0.4
