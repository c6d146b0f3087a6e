"""The part of a system prompt that is kept with a session."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
