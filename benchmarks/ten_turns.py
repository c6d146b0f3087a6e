"""A session of ten turns with tools of the plugins, and every request that a model is sent in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from oneclaw_core import LoadToolGroupTool, Message, MessageType, ToolCallStatus, build_system_prompt_with_tool_groups
from oneclaw_core.models.dispatcher import dispatched_request
from oneclaw_core.providers import ModelRequest, ToolLoading
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, ActiveTools

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core import ToolDefinition, ToolRegistry

# How the model gets to know the tools.
NONE = "no tools at all"
ALWAYS_ALL = "all tools always sent"
FORESEEN = "core tools and the groups that will be needed, nothing else"
APPENDED = "groups appended"
NATIVE = "groups loaded natively"
INLINE = "groups defined inline"
DISPATCHED = "groups behind a dispatcher"
# What the wire formats note with an answer that loads a group.
NOTED = {"openai": {"brief_loads": True}, "anthropic": {"brief_loads": True}}
_LOADING = {NATIVE: ToolLoading.NATIVE, INLINE: ToolLoading.INLINE}


@dataclass(frozen=True)
class Turn:
    """The user's message, the groups it takes, the tools called (with the length of each result), and the answer."""

    user: str
    calls: Sequence[tuple[str, dict[str, Any], int]]
    answer: str
    loads: str | None = None


TURNS = (
    Turn(
        "What did Ana write about the Lisbon offsite last week, and is anything still open?",
        [
            ("gmail_search", {"query": "from:ana@example.org offsite Lisbon after:2026/11/02"}, 1400),
            ("gmail_read", {"message_ids": ["m-81f2", "m-81f9"], "body_format": "text"}, 2600),
        ],
        "Ana wrote twice. The hotel is held until Friday for 24 people, and she needs two things from you: the final "
        "number of guests, and whether the team dinner is on the Tuesday or the Wednesday.",
        loads="google_gmail",
    ),
    Turn(
        "Which evening suits more people?",
        [("calendar_list_events", {"query": "offsite", "time_min": "2026-12-01T00:00:00Z", "max_results": 50}, 1800)],
        "Tuesday: no one has anything after 18:00. On Wednesday four people leave on the evening flight.",
        loads="google_calendar",
    ),
    Turn(
        "Put a dinner on Tuesday at 19:30 and invite everybody who is going.",
        [
            (
                "calendar_create_event",
                {"summary": "Team dinner", "start": "2026-12-01T19:30", "location": "Lisbon"},
                500,
            ),
            ("calendar_update_event", {"event_id": "e-5511", "add_attendees": ["offsite@example.org"]}, 700),
        ],
        "Done: the dinner is on Tuesday at 19:30, and the 24 guests have their invitations.",
    ),
    Turn(
        "And tell Ana: 24 guests, dinner on Tuesday.",
        [
            (
                "gmail_send",
                {"reply_to_message_id": "m-81f9", "body": "Hi Ana,\n\n24 guests, and dinner on Tuesday."},
                300,
            )
        ],
        "I wrote to Ana in the thread of her last mail.",
    ),
    Turn("What time is it in Lisbon then, compared to Berlin?", [], "An hour earlier: 19:30 there is 20:30 in Berlin."),
    Turn(
        "Make a task list for the offsite from what is open in Ana's mails.",
        [
            ("tasks_create", {"title": "Confirm the hotel", "notes": "24 guests, until Friday"}, 300),
            ("tasks_create", {"title": "Book the restaurant", "notes": "Tuesday 19:30, 24 people"}, 300),
            ("tasks_create", {"title": "Send the agenda", "notes": "A week before"}, 300),
        ],
        "Three tasks: confirm the hotel by Friday, book the restaurant, and send the agenda a week before.",
        loads="google_tasks",
    ),
    Turn(
        "Who was at the last offsite and is not coming this time?",
        [
            ("calendar_list_events", {"query": "offsite 2025", "time_max": "2026-01-01T00:00:00Z"}, 1500),
            ("calendar_get_event", {"event_id": "e-2207", "time_zone": "Europe/Lisbon"}, 1900),
        ],
        "Three people: Jonas and Mei have left the company, and Priya is on leave until January.",
    ),
    Turn(
        "Give the restaurant task to Tom, due on Thursday.",
        [("tasks_update", {"task_id": "t-903", "notes": "Tuesday 19:30, 24 people. Tom.", "due": "2026-11-26"}, 350)],
        "The task names Tom now, with Thursday as its date.",
    ),
    Turn(
        "Did Ana answer?",
        [("gmail_search", {"query": "from:ana@example.org newer_than:1d"}, 600)],
        "Yes, a minute ago: everything is confirmed, and she thanks you.",
    ),
    Turn("Great, thank you!", [], "You are welcome. The tasks for Tom and the agenda are all that is left."),
)

GROUPS_USED = [turn.loads for turn in TURNS if turn.loads]


@dataclass
class Session:
    """Plays the turns, and keeps each request that the model is sent, by turn.

    Without a list of groups, or without the requests that follow a load, it shows what these cost; no real session is
    like that.
    """

    registry: ToolRegistry
    strategy: str
    turns: Sequence[Turn] = TURNS
    has_list: bool = True
    asks_after_loads: bool = True
    history: list[Message] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    requests: list[list[ModelRequest]] = field(default_factory=list)

    async def play(self) -> list[list[ModelRequest]]:
        """Play all turns."""
        load = LoadToolGroupTool(self.registry)
        for turn in self.turns:
            self.history.append(Message(type=MessageType.USER, content=turn.user))
            self.requests.append([])
            self._ask()
            if turn.loads and self.strategy not in (NONE, ALWAYS_ALL, FORESEEN):
                arguments = {"group_name": turn.loads}
                self._call(LOAD_TOOL_GROUP, arguments, (await load.execute(arguments)).text())
                self.groups.append(turn.loads)
                if self.asks_after_loads:
                    self._ask()
            for name, given, length in turn.calls:
                self._call(name, given, _rows(length))
                self._ask()
            self.history.append(Message(type=MessageType.ASSISTANT, content=turn.answer))
        return self.requests

    def _call(self, name: str, arguments: dict[str, Any], result: str) -> None:
        about: dict[str, Any] = {
            "tool_call_id": f"call_{len(self.history):05}xT4uQm0LrW8s",
            "tool_name": name,
            "tool_status": ToolCallStatus.SUCCESS,
        }
        noted = NOTED if name == LOAD_TOOL_GROUP else None
        self.history += [
            Message(type=MessageType.ASSISTANT, provider_data=noted),
            Message(type=MessageType.TOOL_CALL, tool_input=json.dumps(arguments), **about),
            Message(type=MessageType.TOOL_RESULT, content=result, **about),
        ]

    def _ask(self) -> None:
        prompt = GENERAL_ASSISTANT.system_prompt
        if self.strategy == NONE:
            tools = ActiveTools(())
        elif self.strategy == ALWAYS_ALL:
            tools = ActiveTools(_but_for_loading(self.registry.get_all_tool_definitions()))
        elif self.strategy == FORESEEN:
            needed = [self.registry.get_group_tool_definitions(each.loads) for each in self.turns if each.loads]
            core = _but_for_loading(self.registry.get_core_tool_definitions())
            tools = ActiveTools((*core, *chain.from_iterable(needed)))
        else:
            if self.has_list:
                prompt = build_system_prompt_with_tool_groups(prompt, self.registry.get_available_group_definitions())
            tools = self.registry.toolset().active(self.groups)
        request = ModelRequest(
            model="m",
            system_prompt=prompt,
            messages=tuple(self.history),
            tools=tools,
            session_id="s",
            tool_loading=_LOADING.get(self.strategy, ToolLoading.APPEND),
        )
        self.requests[-1].append(dispatched_request(request) if self.strategy == DISPATCHED else request)


def _but_for_loading(tools: Iterable[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    return tuple(each for each in tools if each.name != LOAD_TOOL_GROUP)


def _rows(length: int) -> str:
    """The result of a tool: rows of about that many characters."""
    row = '{{"id": "x-{0:04}", "title": "Entry number {0}", "owner": "ana@example.org", "changed": "2026-11-0{1}"}}'
    rows = [row.format(number * 37, number % 9 + 1) for number in range(length // 90 + 1)]
    return f"[{', '.join(rows)}]"[:length]


def turns_with(names: Sequence[str], registry: ToolRegistry) -> list[Turn]:
    """The session with the tools of these groups alone: searches of mail stand in for those that are missing."""
    known = {tool.name for name in names for tool in registry.get_group_tool_definitions(name)}

    def of_groups(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return (
            (tool, arguments) if tool in known else ("gmail_search", {"query": " ".join(map(str, arguments.values()))})
        )

    return [
        replace(
            turn,
            loads=turn.loads if turn.loads in names else None,
            calls=[(*of_groups(name, arguments), length) for name, arguments, length in turn.calls],
        )
        for turn in TURNS
    ]
