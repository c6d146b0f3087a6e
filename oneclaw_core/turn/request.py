"""Requests to a model: the history as it is shown, the kept part of the system prompt, and the request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.text import shown_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.tool_groups import ActiveTools

TOOL_GROUPS = "tool groups"
TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The parts of the system prompt that are kept with a session, so that its prompt cache lasts.

    Attributes:
        sections: of plugins, as one text.
        toolset: the tools that the lists are about, as a text.
        shown: the lists that the session began with, by their names: sections of plugins, the list of tool groups
            (``TOOL_GROUPS``), and the names of the core tools (``TOOLS``), which stand in no system prompt, since a
            request has the tools themselves.
        told: the lists as the model knows them, with all that it was told since.
        news: to be told with the user's message; empty for nothing.
    """

    sections: str = ""
    toolset: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    news: str = ""

    def lists(self) -> str:
        """Return what is stored of the lists, as JSON."""
        told = {} if self.told == self.shown else {"told": self.told}
        return json.dumps({"toolset": self.toolset, "shown": self.shown, **told}, ensure_ascii=False)

    def core_tools(self) -> frozenset[str] | None:
        """Return the names of the core tools that the session began with; ``None`` if that is not kept."""
        return frozenset(self.shown[TOOLS].split("\n- ")[1:]) if TOOLS in self.shown else None

    def behind(self, instructions: str) -> str:
        """Return a system prompt: the instructions of an agent, the sections, and the list of tool groups."""
        current = (text for name, text in self.shown.items() if name not in (TOOL_GROUPS, TOOLS))
        prompt = "\n\n".join(part for part in (instructions, self.sections, *current) if part.strip())
        listed = self.shown.get(TOOL_GROUPS)
        return f"{prompt}\n\n---\n\n{listed}" if listed else prompt


SUMMARY_HEADING = "[Summary of the earlier conversation]"
SUMMARY_END = "[End of the summary; the conversation goes on here]"


def shown_history(messages: Iterable[Message]) -> list[Message]:
    """Cut the results in a history to what a model is shown of them, and put them in the order of their calls.

    They were stored in the order in which they came, which a turn does not keep to either. An answer that broke off is
    shown where the user replied to it; where the turn was resumed, the model answered anew. A message that a service
    refused is left out.
    """
    shown: list[Message] = []
    broken_off: Message | None = None
    places: dict[str | None, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.provider_data and (reason := message.not_sent) is not None:
            if message.type is MessageType.USER:
                continue
            message = left_out(message, reason)
        if message.type is MessageType.TOOL_RESULT:
            if message.shown_characters is not None:
                message = cut_result(message)
            results.append(message)
            continue
        if results:
            shown += _in_call_order(results, places)
            results = []
        if broken_off is not None and message.type is MessageType.USER:
            shown.append(broken_off)
        broken_off = message if message.is_incomplete else None
        if broken_off is not None:
            continue
        if message.type is MessageType.TOOL_CALL:
            places[message.tool_call_id] = len(places)
        shown.append(message)
    return shown + _in_call_order(results, places)


def cut_result(message: Message) -> Message:
    """Put what a model is shown of a long result in the place of the result."""
    if message.shown is not None:
        return replace(message, content=message.shown)
    return replace(message, content=shown_part(message.content, message.shown_characters), is_json=False)


def left_out(message: Message, reason: str) -> Message:
    """Put a note in the place of a message that a service refused."""
    return replace(message, content=not_sent_note(reason), shown_characters=None, is_json=False, attachments=())


def not_sent_note(reason: str) -> str:
    """Return what stands for a message that a service refused."""
    return f"[This message is left out, for the model service refused it: {reason}]"


def _in_call_order(results: list[Message], places: Mapping[str | None, int]) -> list[Message]:
    if len(results) > 1:
        results.sort(key=lambda result: places.get(result.tool_call_id, -1))
    return results


def with_summary(history: Sequence[Message], summary: str | None) -> list[Message]:
    """Put the summary before the history, as a message of the user, which every wire format can begin with.

    Args:
        history: what follows on the part that is summarised.
        summary: ``None`` for none.
    """
    if summary is None:
        return list(history)
    content = f"{SUMMARY_HEADING}\n{summary}\n{SUMMARY_END}"
    return [Message(type=MessageType.USER, content=content), *history]


def model_request(
    agent: Agent, tools: ActiveTools, model: str, session_id: str, history: Sequence[Message], prompt: TurnPrompt
) -> ModelRequest:
    """Put together everything a model is sent.

    Args:
        agent: its instructions and parameters.
        tools: that the model can call.
        model: its name at its provider.
        session_id: the conversation.
        history: as it is shown to a model.
        prompt: what stands in the system prompt behind the instructions.
    """
    return ModelRequest(
        model=model,
        system_prompt=prompt.behind(agent.system_prompt),
        messages=tuple(history),
        tools=tools,
        session_id=session_id,
        parameters=agent.parameters,
    )
