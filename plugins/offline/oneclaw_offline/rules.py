"""The decision of ``offline/rules``: the answer to a request, from the request alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import MessageType, ToolCall, ToolCallStatus, restore_loaded_groups
from oneclaw_core.tools import LOAD_TOOL_GROUP
from oneclaw_offline.arguments import Filling, fill
from oneclaw_offline.report import Outcome, report
from oneclaw_offline.routing import choose, group_to_load
from oneclaw_offline.values import read_parameters
from oneclaw_offline.words import is_question

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from oneclaw_core import Message, ToolDefinition
    from oneclaw_core.providers import ModelRequest

_MESSAGE_CHARACTERS = 20_000
_MOST_LOADS = 3
_NAMES_SHOWN = 20
_ASKED = re.compile(r"To use `([\w-]+)` I need `([^`\n]+)`")
_CALL_ID = re.compile(r"call_(\d{1,18})")
_GROUPS_HEADING = "## Available Tool Groups"
_GROUP_LINE = re.compile(r"^- ([A-Za-z_][A-Za-z0-9_-]{0,62}): (.+)$", re.MULTILINE)
_NEXT_HEADING = re.compile(r"^#{1,2} |^---\s*$", re.MULTILINE)
# The message of a user who has chosen a skill: the command, then the skill with its instructions.
_SENT_SKILL = re.compile(r"/([\w-]{1,64})\b.*?\n\nSkill '\1': ", re.DOTALL)

_WHAT_I_AM = "a small set of rules and not a language model. I find a tool by the words that you use, and cannot chat."
_SET_UP = (
    "To talk to a language model, run `oneclaw setup`: it finds model servers on this machine, or stores the key of a "
    "service. Or name a model yourself with `--model PROVIDER/MODEL`."
)
WHO_I_AM = (
    "I am `offline/rules`, a rule-based model and not a language model: I compare your words with the descriptions "
    "of the tools. To talk to a language model, choose one with `--model PROVIDER/MODEL` or set ONECLAW_MODEL."
)
_GREETING = re.compile(
    r"\W*(?:hello|hi|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo|bonjour|salut|hola|ciao)"
    r"(?: (?:there|oneclaw|world|everyone|you))*\W*",
    re.IGNORECASE,
)
# As OneClaw asks after an interruption, and as users do.
_GO_ON = re.compile(
    r"(?:.*\. )?go on from where you were\b.*|\W*(?:please )?(?:go on|continue|carry on)\W*", re.IGNORECASE | re.DOTALL
)
_GRANTED = re.compile(r"\bhas granted\b", re.IGNORECASE)
# Each is offered if its tool or tool group is there.
_TO_TRY = (
    ("get_current_time", "What time is it in Tokyo?"),
    ("files", "List the files here"),
    ("exec", "Run the shell command: date"),
    ("pdf", "How many pages does report.pdf have?"),
    ("write_file", "Write 'buy milk' to notes.txt"),
    ("webfetch", "Fetch https://example.com"),
)
_MOST_TO_TRY = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: text, or calls of tools."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


def decide(request: ModelRequest) -> Answer:
    """Decide on the answer to a request; equal requests get equal answers."""
    messages = request.messages
    last = max((at for at, each in enumerate(messages) if each.type is MessageType.USER), default=None)
    if last is None:
        return Answer(f"There is no message to answer. {WHO_I_AM}")
    message = messages[last].content[:_MESSAGE_CHARACTERS]
    if _GO_ON.fullmatch(message):
        begun = _begun(messages[:last])
        if begun is None:
            return Answer(f"There is nothing to go on with. {WHO_I_AM}")
        earlier = [each for each in _outcomes(messages[begun:last]) if each.result.tool_name != LOAD_TOOL_GROUP]
        asked = messages[begun].content[:_MESSAGE_CHARACTERS]
        if earlier and not _GRANTED.search(message):
            return Answer(report(asked, earlier))
        message = asked
    sent = _SENT_SKILL.match(message)
    if sent is not None:
        return Answer(f"The skill `{sent[1]}` is here, but it takes a language model to follow it. {WHO_I_AM}")
    outcomes = _outcomes(messages[last + 1 :])
    loads = [each for each in outcomes if each.result.tool_name == LOAD_TOOL_GROUP]
    results = [each for each in outcomes if each not in loads]
    results = results or [each for each in loads if each.result.tool_status is not ToolCallStatus.SUCCESS]
    if results:
        return Answer(report(message, results))
    tools = {definition.name: definition for definition in request.tools}
    groups = _listed_groups(request.system_prompt) if tools.pop(LOAD_TOOL_GROUP, None) is not None else {}
    loaded = {*restore_loaded_groups(messages)} | {group.name for group in request.tools.groups}
    loadable = {name: about for name, about in groups.items() if name not in loaded and len(loads) < _MOST_LOADS}
    if _GREETING.fullmatch(message):
        return _greeting({*tools, *groups})
    choice = choose(message, tools, loadable)
    tool, answers, first = _asked_for(messages, last)
    if tool in tools:
        filling = fill(tools[tool], first, answers)
        is_answer = answers[-1][0] not in {parameter.name for parameter in filling.missing}
        if (is_answer and not is_question(message)) or choice is None:
            return _call_or_ask(messages, tools[tool], filling)
    group = group_to_load(message, groups)
    if group is not None:
        done = next((load for load in loads if load.arguments.get("group_name") == group), None)
        return Answer(done.result.content) if done else _call(messages, LOAD_TOOL_GROUP, [{"group_name": group}])
    if choice is None:
        return _nothing_found([load.result.content for load in loads], list(tools), list(loadable))
    if choice.tool is None:
        return _call(messages, LOAD_TOOL_GROUP, [{"group_name": choice.group}])
    return _call_or_ask(messages, choice.tool, choice.filling)


def _begun(messages: Sequence[Message]) -> int | None:
    """Find the last message of the user that is more than a request to go on."""
    of_user = (at for at, each in enumerate(messages) if each.type is MessageType.USER)
    return max((at for at in of_user if not _GO_ON.fullmatch(messages[at].content[:_MESSAGE_CHARACTERS])), default=None)


def _outcomes(messages: Iterable[Message]) -> list[Outcome]:
    inputs: dict[str | None, dict[str, Any]] = {}
    outcomes = []
    for each in messages:
        if each.type is MessageType.TOOL_CALL:
            try:
                arguments = json.loads(each.tool_input or "{}")
            except (ValueError, RecursionError):
                arguments = {}
            inputs[each.tool_call_id] = arguments if isinstance(arguments, dict) else {}
        elif each.type is MessageType.TOOL_RESULT:
            outcomes.append(Outcome(each, inputs.get(each.tool_call_id, {})))
    return outcomes


def _asked_for(messages: Sequence[Message], last: int) -> tuple[str, list[tuple[str, str]], str]:
    """Find the questions that the user's last messages answer.

    Returns:
        The tool that needs the parameters, each parameter with its answer, and the message that began it.
    """
    of_user = [at for at, each in enumerate(messages[: last + 1]) if each.type is MessageType.USER]
    tool = ""
    answers: list[tuple[str, str]] = []
    while of_user[-1] > 0:
        before = messages[of_user[-1] - 1]
        asked = _ASKED.match(before.content) if before.type is MessageType.ASSISTANT else None
        if asked is None or tool not in {"", asked[1]} or len(of_user) == 1:
            break
        tool = asked[1]
        answers.insert(0, (asked[2], messages[of_user.pop()].content[:_MESSAGE_CHARACTERS]))
    return tool, answers, messages[of_user[-1]].content[:_MESSAGE_CHARACTERS]


def _listed_groups(system_prompt: str) -> dict[str, str]:
    """Read the names and descriptions of the tool groups that a system prompt lists last."""
    start = system_prompt.rfind(_GROUPS_HEADING)
    if start < 0:
        return {}
    end = _NEXT_HEADING.search(system_prompt, start + len(_GROUPS_HEADING))
    return dict(_GROUP_LINE.findall(system_prompt, start, end.start() if end else len(system_prompt)))


def _call_or_ask(messages: Sequence[Message], tool: ToolDefinition, filling: Filling) -> Answer:
    filling = _validated(tool, filling)
    if filling.missing:
        missing = filling.missing[0]
        about = " ".join(missing.description[:300].split()).rstrip(".")
        about = f" ({about})" if about else ""
        # _asked_for finds these words again.
        return Answer(f"To use `{tool.name}` I need `{missing.name}`{about}. What should it be?")
    if not filling.calls:
        return Answer(f"I cannot fill in the parameters of `{tool.name}` from your message. {WHO_I_AM}")
    return _call(messages, tool.name, filling.calls)


def _call(messages: Sequence[Message], name: str, arguments: Sequence[Mapping[str, Any]]) -> Answer:
    # Numbers beyond the history's sequence are new even if the request has only the end of the history.
    numbers = [each.sequence or 0 for each in messages]
    numbers += [int(known[1]) for each in messages if (known := _CALL_ID.fullmatch(each.tool_call_id or ""))]
    numbered = enumerate(arguments, start=max(numbers) + 1)
    return Answer(
        "", tuple(ToolCall(f"call_{at}", name, json.dumps(each, ensure_ascii=False)) for at, each in numbered)
    )


def _validated(tool: ToolDefinition, filling: Filling) -> Filling:
    """Drop optional values that do not match the schema; required ones count as missing."""
    from oneclaw_core.json_schema import argument_faults, compile_schema

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


def _greeting(names: Collection[str]) -> Answer:
    tries = [f"- {message}" for name, message in _TO_TRY if name in names][:_MOST_TO_TRY]
    offered = "\n\nThings to try:\n\n" + "\n".join(tries) if tries else ""
    return Answer(f"Hello! I am `offline/rules`, {_WHAT_I_AM}{offered}\n\n{_SET_UP}")


def _nothing_found(loaded: Sequence[str], tools: Sequence[str], groups: Sequence[str]) -> Answer:
    if loaded:
        results = "\n\n".join(loaded)
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
