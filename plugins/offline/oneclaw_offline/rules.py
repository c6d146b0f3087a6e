"""The decision of ``offline/rules``: the answer to a request, from the request alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import ToolCall
from oneclaw_core.tools import LOAD_TOOL_GROUP
from oneclaw_offline.arguments import Filling, fill
from oneclaw_offline.conversation import Turn, question_for, read_turn
from oneclaw_offline.parameters import read_parameters
from oneclaw_offline.report import report
from oneclaw_offline.routing import choose, group_to_load
from oneclaw_offline.words import is_question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolDefinition
    from oneclaw_core.providers import ModelRequest

_MOST_LOADS = 3
_NAMES_SHOWN = 20
_LISTED_TOOL = re.compile(r"^- ([\w-]+):", re.MULTILINE)
_GROUPS_HEADING = "## Available Tool Groups"
_GROUP_LINE = re.compile(r"^- ([A-Za-z_][A-Za-z0-9_-]{0,62}): (.+)$", re.MULTILINE)
_NEXT_HEADING = re.compile(r"^#{1,2} |^---\s*$", re.MULTILINE)
# The message of a user who has chosen a skill: the command, then the skill with its instructions.
_SENT_SKILL = re.compile(r"/([\w-]{1,64})\b.*?\n\nSkill '\1': ", re.DOTALL)

WHO_I_AM = (
    "I am `offline/rules`, a rule-based model and not a language model: I compare your words with the descriptions "
    "of the tools. To talk to a language model, choose one with `--model PROVIDER/MODEL` or set ONECLAW_MODEL."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: text, or calls of tools."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


def decide(request: ModelRequest) -> Answer:
    """Decide on the answer to a request; equal requests get equal answers."""
    turn = read_turn(request.messages)
    if turn.message is None:
        return Answer(f"There is no message to answer. {WHO_I_AM}")
    sent = _SENT_SKILL.match(turn.message)
    if sent is not None:
        return Answer(f"The skill `{sent[1]}` is here, but it takes a language model to follow it. {WHO_I_AM}")
    failed = [load for load in turn.loads if not load.is_success]
    if turn.results or failed:
        return Answer(report(turn.message, turn.results or failed))
    tools = {definition.name: definition for definition in request.tools}
    groups = _listed_groups(request.system_prompt) if tools.pop(LOAD_TOOL_GROUP, None) is not None else {}
    loaded = turn.loaded | {group.name for group in request.tools.groups}
    return _act(turn, turn.message, tools, groups, loaded)


def _act(
    turn: Turn, message: str, tools: Mapping[str, ToolDefinition], groups: Mapping[str, str], loaded: frozenset[str]
) -> Answer:
    loadable = {name: about for name, about in groups.items() if name not in loaded and len(turn.loads) < _MOST_LOADS}
    newest = frozenset(name for load in turn.loads for name in _LISTED_TOOL.findall(load.result.content))
    choice = choose(message, tools, loadable, newest)
    asked = tools.get(turn.asked_tool)
    if asked is not None:
        filling = fill(asked, turn.request, turn.answers)
        is_answer = turn.answers[-1][0] not in {parameter.name for parameter in filling.missing}
        if (is_answer and not is_question(message)) or choice is None:
            return _call_or_ask(turn, asked, filling)
    group = group_to_load(message, groups)
    if group is not None:
        done = next((load for load in turn.loads if load.arguments.get("group_name") == group), None)
        return (
            Answer(done.result.content) if done is not None else _call(turn, LOAD_TOOL_GROUP, [{"group_name": group}])
        )
    if choice is None:
        return _nothing_found(turn, list(tools), list(loadable))
    if choice.tool is None:
        return _call(turn, LOAD_TOOL_GROUP, [{"group_name": choice.group}])
    return _call_or_ask(turn, choice.tool, choice.filling)


def _listed_groups(system_prompt: str) -> dict[str, str]:
    """Read the names and descriptions of the tool groups that a system prompt lists last."""
    start = system_prompt.rfind(_GROUPS_HEADING)
    if start < 0:
        return {}
    end = _NEXT_HEADING.search(system_prompt, start + len(_GROUPS_HEADING))
    return dict(_GROUP_LINE.findall(system_prompt, start, end.start() if end else len(system_prompt)))


def _call_or_ask(turn: Turn, tool: ToolDefinition, filling: Filling) -> Answer:
    filling = _validated(tool, filling)
    if filling.missing:
        return Answer(question_for(tool.name, filling.missing[0].name, filling.missing[0].description))
    if not filling.calls:
        return Answer(f"I cannot fill in the parameters of `{tool.name}` from your message. {WHO_I_AM}")
    return _call(turn, tool.name, filling.calls)


def _call(turn: Turn, name: str, arguments: Sequence[Mapping[str, Any]]) -> Answer:
    numbered = enumerate(arguments, start=turn.next_call_number)
    return Answer(
        "", tuple(ToolCall(f"call_{at}", name, json.dumps(each, ensure_ascii=False)) for at, each in numbered)
    )


def _validated(tool: ToolDefinition, filling: Filling) -> Filling:
    """Drop optional values that do not match the schema; required ones count as missing."""
    from oneclaw_core.tools import argument_faults, compile_schema

    validator = compile_schema(tool.parameters)
    calls = []
    for found in filling.calls:
        faults = argument_faults(validator, found)
        wrong = {name for name in found for fault in faults if fault.startswith((f"/{name}:", f"/{name}/"))}
        arguments = {name: value for name, value in found.items() if name not in wrong}
        if faults and argument_faults(validator, arguments):
            return Filling(missing=[each for each in read_parameters(tool.parameters) if each.name not in arguments])
        calls.append(arguments)
    return Filling(calls, filling.missing)


def _nothing_found(turn: Turn, tools: Sequence[str], groups: Sequence[str]) -> Answer:
    if turn.loads:
        results = "\n\n".join(load.result.content for load in turn.loads)
        return Answer(f"I loaded tools, but found none among them for this. {WHO_I_AM}\n\n{results}")
    offered = [f"use the {_listed('tool', tools)}"] if tools else []
    offered += [f"load the {_listed('tool group', groups)}"] if groups else []
    can_use = f"Here I can {', and '.join(offered)}." if offered else "I was given no tools here."
    return Answer(f"I found no tool for this. {can_use} {WHO_I_AM}")


def _listed(noun: str, names: Sequence[str]) -> str:
    """Name things in running text: "tool `a`", "tools `a`, `b` and `c`"."""
    shown = [f"`{name}`" for name in names[:_NAMES_SHOWN]]
    shown += [f"{len(names) - _NAMES_SHOWN} more"] if len(names) > _NAMES_SHOWN else []
    return f"{noun} {shown[0]}" if len(shown) == 1 else f"{noun}s {', '.join(shown[:-1])} and {shown[-1]}"
