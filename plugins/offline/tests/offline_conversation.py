"""Conversations with ``offline/rules``, with requests such as a turn makes them."""

import json

from offline_tools import CORE, GROUPS, LISTED
from oneclaw_offline.rules import decide

from oneclaw_core.tools.registry import build_system_prompt_with_tool_groups
from oneclaw_core.types.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup, ToolGroupDefinition


class Conversation:
    """Plays the turn: keeps the history, runs ``load_tool_group``, and sends the active tools."""

    def __init__(self, core=CORE, listed=LISTED, groups=GROUPS):
        self.core, self.groups = core, groups
        definitions = [ToolGroupDefinition(name, name, description) for name, description in listed.items()]
        self.system_prompt = build_system_prompt_with_tool_groups("You are helpful.", definitions)
        self.messages = []
        self.loaded = []

    def request(self):
        return ModelRequest(
            model="rules",
            system_prompt=self.system_prompt,
            messages=list(self.messages),
            tools=ActiveTools(self.core, tuple(LoadedGroup(name, self.groups[name]) for name in self.loaded)),
            session_id="s",
        )

    def decide(self):
        answer = decide(self.request())
        if answer.text:
            self._add(MessageType.ASSISTANT, content=answer.text)
        return answer

    def say(self, message):
        """Send a message; loads are carried out, the first other answer comes back with the groups loaded."""
        self._add(MessageType.USER, content=message)
        loads = []
        for _ in range(5):
            answer = self.decide()
            if [call.name for call in answer.tool_calls] != ["load_tool_group"]:
                return loads, answer
            (call,) = answer.tool_calls
            name = json.loads(call.arguments)["group_name"]
            loads.append(name)
            lines = "\n".join(f"- {tool.name}: {tool.description}" for tool in self.groups[name])
            self.finish(answer, f"Loaded {len(self.groups[name])} tools from group '{name}':\n{lines}")
            self.loaded.append(name)
        raise AssertionError("kept loading groups")

    def decide_nothing(self, message):
        """Send a message that is never answered."""
        self._add(MessageType.USER, content=message)

    def finish(self, answer, *results, status=ToolCallStatus.SUCCESS, error_type=None):
        for call in answer.tool_calls:
            self._add(
                MessageType.TOOL_CALL,
                tool_call_id=call.id,
                tool_name=call.name,
                tool_input=call.arguments,
                tool_status=status,
            )
        for call, result in zip(answer.tool_calls, results, strict=True):
            self._add(
                MessageType.TOOL_RESULT,
                content=result,
                tool_call_id=call.id,
                tool_name=call.name,
                tool_status=status,
                error_type=error_type,
            )

    def _add(self, message_type, **values):
        self.messages.append(Message(type=message_type, sequence=len(self.messages) + 1, **values))


def calls_of(answer):
    return [(call.name, json.loads(call.arguments)) for call in answer.tool_calls]


def ask(message, **options):
    loads, answer = Conversation(**options).say(message)
    return loads, calls_of(answer) or answer.text
