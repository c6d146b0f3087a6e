"""The decision of ``offline/rules``: what to answer to a request, from nothing but what the request holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.messages import ToolCall
from oneclaw_core.providers.offline.arguments import fill
from oneclaw_core.providers.offline.checking import checked
from oneclaw_core.providers.offline.conversation import Outcome, Turn, question_for, read_turn
from oneclaw_core.providers.offline.recall import SEARCH_HISTORY, recalled_topic
from oneclaw_core.providers.offline.reminders import (
    GET_CURRENT_TIME,
    SCHEDULE_TASK,
    SCHEDULED_TASKS,
    asked_reminder,
    date_in,
)
from oneclaw_core.providers.offline.report import report, report_error
from oneclaw_core.providers.offline.routing import Offer, choose, group_to_load, read_offer
from oneclaw_core.providers.offline.skills import LOAD_SKILL, sent_skill, skill_to_load
from oneclaw_core.providers.offline.terms import normal_words, stem
from oneclaw_core.providers.offline.words import ACTIONS, QUESTION_WORDS, SYNONYMS
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.providers.offline.catalogue import PreparedTool
    from oneclaw_core.providers.offline.filling import Filling

_NAMES_SHOWN = 20

WHO_I_AM = (
    "I am `offline/rules`, a rule-based model and not a language model: I compare your words with the descriptions "
    "of the tools. To talk to a language model, choose one with `--model PROVIDER/MODEL` or set ONECLAW_MODEL."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules answer: text, or calls of tools."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


def decide(request: ModelRequest) -> Answer:
    """Decide on the answer to a request; the same request always gets the same one."""
    turn = read_turn(request.messages)
    message = turn.message
    if message is None:
        return Answer(f"There is no message to answer. {WHO_I_AM}")
    sent = sent_skill(message)
    if sent is not None:
        return Answer(f"The skill `{sent}` is here, but it takes a language model to follow it. {WHO_I_AM}")
    turn = replace(turn, loaded=turn.loaded | {group.name for group in request.tools.groups})
    offer = read_offer(request)
    reminding = _remind(turn, message, offer)
    if reminding is not None:
        return reminding
    if turn.results:
        spent = frozenset().union(*(_spent_terms(offer, result) for result in turn.results))
        return Answer(report(message, turn.results, spent))
    failed = [load for load in turn.loads if not load.is_success]
    if failed:
        return Answer(" ".join(report_error(load) for load in failed))
    skill = skill_to_load(message, request.system_prompt) if LOAD_SKILL in offer.tools else None
    if skill is not None:
        return Answer(tool_calls=_calls(turn, LOAD_SKILL, [{"name": skill}]))
    return _act(turn, message, offer)


def _remind(turn: Turn, message: str, offer: Offer) -> Answer | None:
    """Schedule what the user wants to be reminded of: load the group, look at the clock if need be, call the tool."""
    reminder = asked_reminder(message)
    if reminder is None or any(each.tool_name != GET_CURRENT_TIME for each in turn.results):
        return None
    if SCHEDULE_TASK not in offer.tools:
        return _load(turn, SCHEDULED_TASKS) if SCHEDULED_TASKS in offer.groups and not turn.loads else None
    today = next((found for each in turn.results if (found := date_in(each.text)) is not None), None)
    if reminder.days_ahead is not None and today is None:
        is_useful = GET_CURRENT_TIME in offer.tools and not turn.results
        return Answer(tool_calls=_calls(turn, GET_CURRENT_TIME, [{}])) if is_useful else None
    return Answer(tool_calls=_calls(turn, SCHEDULE_TASK, [reminder.call(today)]))


def _act(turn: Turn, message: str, offer: Offer) -> Answer:
    if turn.answers:
        tool = offer.tools.get(turn.answers[-1].tool_name)
        if tool is not None:
            filling = fill(tool, turn.base_message, turn.answers)
            is_answer = turn.answers[-1].parameter not in {parameter.name for parameter in filling.missing}
            if (is_answer and not message.rstrip().endswith("?")) or not _is_new_request(turn, message, offer):
                return _call_or_ask(turn, tool, filling)
    wanted_group = group_to_load(message, offer)
    if wanted_group is not None:
        done = next((load for load in turn.loads if load.arguments.get("group_name") == wanted_group), None)
        return Answer(done.text) if done is not None else _load(turn, wanted_group)
    topic = recalled_topic(message) if SEARCH_HISTORY in offer.tools else None
    if topic is not None:
        return Answer(tool_calls=_calls(turn, SEARCH_HISTORY, [{"query": topic}]))
    choice = choose(turn, message, offer)
    if choice is None:
        return _nothing_found(turn, offer)
    if choice.tool is None:
        return _load(turn, choice.group)
    return _call_or_ask(turn, choice.tool, choice.filling)


def _is_new_request(turn: Turn, message: str, offer: Offer) -> bool:
    """Whether the user, asked for a parameter, has moved on to something else."""
    words = normal_words(message[:2000])
    if not words or not (stem(words[0]) in ACTIONS or words[0] in QUESTION_WORDS or message.rstrip().endswith("?")):
        return False
    return choose(turn, message, offer) is not None


def _call_or_ask(turn: Turn, tool: PreparedTool, filling: Filling) -> Answer:
    name = tool.definition.name
    filling = checked(tool, filling)
    if filling.missing:
        parameter = filling.missing[0]
        return Answer(question_for(name, parameter.name, parameter.description))
    if not filling.calls:
        return Answer(f"I cannot fill in the parameters of `{name}` from your message. {WHO_I_AM}")
    return Answer(tool_calls=_calls(turn, name, filling.calls))


def _load(turn: Turn, group: str) -> Answer:
    return Answer(tool_calls=_calls(turn, LOAD_TOOL_GROUP, [{"group_name": group}]))


def _calls(turn: Turn, name: str, arguments: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"call_{number}", name, json.dumps(each, ensure_ascii=False))
        for number, each in enumerate(arguments, start=turn.next_call_number)
    )


def _spent_terms(offer: Offer, result: Outcome) -> frozenset[str]:
    tool = offer.tools.get(result.tool_name)
    if tool is None:
        return frozenset()
    spent = frozenset(term for term, count in tool.document.terms.items() if count >= 1)
    return spent | frozenset(term for term, others in SYNONYMS.items() if spent & set(others))


def _nothing_found(turn: Turn, offer: Offer) -> Answer:
    loaded = [load.text for load in turn.loads]
    if loaded:
        return Answer(f"I loaded tools, but found none among them for this. {WHO_I_AM}\n\n" + "\n\n".join(loaded))
    groups = [name for name in offer.groups if name not in turn.loaded]
    offered = []
    if offer.tools:
        offered.append(f"use the {_listed('tool', list(offer.tools))}")
    if groups:
        offered.append(f"load the {_listed('tool group', groups)}")
    can_use = f"Here I can {', and '.join(offered)}." if offered else "I was given no tools here."
    return Answer(f"I found no tool for this. {can_use} {WHO_I_AM}")


def _listed(noun: str, names: Sequence[str]) -> str:
    """Name things in running text: "tool `a`", "tools `a`, `b` and `c`"."""
    shown = [f"`{name}`" for name in names[:_NAMES_SHOWN]]
    if len(names) > _NAMES_SHOWN:
        shown.append(f"{len(names) - _NAMES_SHOWN} more")
    if len(shown) == 1:
        return f"{noun} {shown[0]}"
    return f"{noun}s {', '.join(shown[:-1])} and {shown[-1]}"
