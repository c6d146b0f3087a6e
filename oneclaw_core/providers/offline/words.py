"""What the rules know of English: words that say nothing, what verbs ask for, and words that mean the same.

Other languages are routed by the words that a message shares with the tools' descriptions.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.terms import normal_words, stem, stem_set, word_set

if TYPE_CHECKING:
    from collections.abc import Sequence


class Action(Enum):
    """The kind of thing that a message asks for, or that a tool does."""

    LOOK = "look"
    MAKE = "make"
    DRAW = "draw"
    CHANGE = "change"
    REMOVE = "remove"
    SEND = "send"
    RUN = "run"


STOP_WORDS = word_set(
    """
    a about actually after also am an and any anything are as at be been before being but by can could currently
    did do does doing don down each either else etc every everything few for from further give had has have
    having he hello help her here hey hi him his how i if in into is isn it its itself just kindly know let like
    ll lot many maybe me more most much must my myself need no nor not now of off oh ok okay on one ones only
    onto or other our out over own per please quite rather re really s said same shall she should so some
    something still such t tell than thank thanks that the their them then there these they thing this those
    through to too under until up upon us use used using ve very via want was we well were what whats when where
    whether which while who whom whose why will with without would yes yet you your
    """
)

# A question that begins so only wants to know; "can you" and "could you" are polite orders.
QUESTION_WORDS = word_set("what whats who whom whose when where which how why is are was were does do did has")
LEADING_WORDS = word_set("and so then now also ok okay please hey hi hello well but")

_VERBS = {
    Action.LOOK: "check count describe display explain extract fetch find get info inspect list look open print query "
    "read retrieve search see show summarize summarise tell view say lookup",
    Action.MAKE: "add build compose create draft generate insert make new note prepare register remember save schedule "
    "upload write append record plan store",
    Action.DRAW: "convert draw export plot render",
    Action.CHANGE: "change disable edit enable fill format manage modify move rename replace set toggle update",
    Action.REMOVE: "archive clear delete discard drop erase forget remove trash uninstall",
    Action.SEND: "forward post reply send share",
    Action.RUN: "eval evaluate exec execute launch run start",
}
# Shorter ones end too many other words, as in "thread" and "outlook".
_COMPOUND = re.compile(
    rf"(?<=...)(?:{'|'.join(verb for verbs in _VERBS.values() for verb in verbs.split() if len(verb) > 4)})$"
)
ACTIONS: dict[str, Action] = {stem(verb): action for action, verbs in _VERBS.items() for verb in verbs.split()}

# Verbs found in so many tools that they decide between tools, but never speak for one on their own.
GENERIC_VERBS = stem_set(
    """
    add build change check count create delete display edit explain find generate get info insert list look lookup make
    manage modify new open query read remove save say search see set show store update view work write
    """
)

LOAD_WORDS = stem_set("load activate enable")
LOAD_OBJECTS = stem_set("tool tools toolset group groups all")

# From the nearest meaning to the farthest.
_SYNONYMS = {
    "add": "create insert new",
    "appointment": "event calendar",
    "article": "page",
    "build": "create",
    "change": "update set edit",
    "check": "search list get read info",
    "clock": "time",
    "compose": "write draft create",
    "count": "info number total",
    "day": "date time",
    "delete": "remove trash clear",
    "describe": "info get",
    "display": "show view get",
    "download": "fetch get",
    "edit": "update change",
    "email": "mail gmail",
    "eval": "evaluate execute",
    "evaluate": "eval execute",
    "exec": "execute run",
    "execute": "exec run",
    "fetch": "request get download",
    "find": "search list",
    "hour": "time",
    "javascript": "js",
    "js": "javascript",
    "list": "search get",
    "look": "search get read",
    "mail": "email gmail",
    "make": "create",
    "meeting": "event calendar",
    "modify": "update edit",
    "new": "create add",
    "note": "save write",
    "open": "read get",
    "picture": "image",
    "plan": "schedule",
    "post": "send request",
    "print": "read get",
    "recall": "history memory search",
    "remember": "save memory",
    "remove": "delete trash clear",
    "retrieve": "get fetch",
    "run": "execute exec",
    "say": "text content read",
    "see": "read get list",
    "sheet": "spreadsheet",
    "shell": "command",
    "show": "get list read",
    "slide": "presentation",
    "summarise": "text read",
    "summarize": "text read",
    "today": "date time",
    "view": "read get",
    "website": "web page",
    "write": "create",
}
SYNONYMS: dict[str, tuple[str, ...]] = {
    stem(word): tuple(stem(other) for other in others.split()) for word, others in _SYNONYMS.items()
}


def is_question(message: str) -> bool:
    """Whether a message begins with a word that asks; "can you" and "could you" are polite orders."""
    return _begins_with_question(normal_words(message[:2000]))


def asked_action(message: str) -> Action | None:
    """Tell what kind of thing a message asks for; ``None`` if no word says so."""
    words = normal_words(message[:2000])
    if _begins_with_question(words):
        return Action.LOOK
    for word in [word for word in words if word not in LEADING_WORDS][:12]:
        action = ACTIONS.get(stem(word))
        if action is not None:
            return action
    is_asking = message.rstrip().endswith(("?", "？", "؟"))  # noqa: RUF001  # Chinese and Arabic question marks
    return Action.LOOK if is_asking else None


def _begins_with_question(words: Sequence[str]) -> bool:
    return next((word for word in words if word not in LEADING_WORDS), "") in QUESTION_WORDS


def action_of_tool(name: str) -> Action | None:
    """Tell what kind of thing a tool does, by the first verb in its name."""
    return next((ACTIONS[word] for word in map(stem, name_words(name)) if word in ACTIONS), None)


def name_words(name: str) -> list[str]:
    """The words of a tool's name, a verb at the end of a compound apart: ``webfetch`` is about fetching."""
    return [part for word in normal_words(name) for part in _COMPOUND.sub(r" \g<0>", word).split()]
