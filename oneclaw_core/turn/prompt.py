"""The part of a system prompt that is kept with a session."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.turn.request import TOOL_GROUPS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.types.tools import ToolSelection


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The parts of the system prompt that are kept with a session, so that its prompt cache lasts.

    Attributes:
        sections: of plugins, as one text.
        toolset: the tools that the lists are about, as a text.
        shown: the lists that the session began with, as :func:`oneclaw_core.turn.request.prompt_lists` writes them.
        told: the lists as the model knows them, with all that it was told since.
        news: to be told with the user's message; empty for nothing.
    """

    sections: str
    toolset: str
    shown: Mapping[str, str]
    told: Mapping[str, str]
    news: str = ""

    def lists(self) -> str:
        """Return what is stored of the lists, as JSON."""
        told = {} if self.told == self.shown else {"told": self.told}
        return json.dumps({"toolset": self.toolset, "shown": self.shown, **told}, ensure_ascii=False)


def read_prompt(sections: str, lists: str) -> TurnPrompt | None:
    """Read what :meth:`TurnPrompt.lists` has written; ``None`` if it is something else."""
    try:
        found = json.loads(lists)
        shown = found["shown"]
        prompt = TurnPrompt(sections, found["toolset"], shown, found.get("told", shown))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    all_lists = (prompt.shown, prompt.told)
    is_whole = all(isinstance(each, dict) and {TOOL_GROUPS, TOOLS} <= each.keys() for each in all_lists)
    return prompt if is_whole and all(isinstance(text, str) for each in all_lists for text in each.values()) else None


def selection_text(selection: ToolSelection) -> str:
    """Write a selection of tools as a text, the same for the same selection."""
    parts = [None if names is None else sorted(names) for names in (selection.tools, selection.groups)]
    within = "" if selection.within is None else selection_text(selection.within)
    return f"{json.dumps(parts)}{within}"


def news_of(told: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Tell a model what has changed in its lists; an entry of a list is a line that begins with ``- ``."""
    parts = ["This has changed since the conversation began."]
    for name in {**told, **now}:
        before, after = told.get(name, "").split("\n"), now.get(name, "").split("\n")
        if before == after:
            continue
        title = next(line for line in (*after, *before) if line).lstrip("# ")
        # A new tool comes with its definition.
        added = [line for line in after if line.startswith("- ") and line not in before and name != TOOLS]
        names = {_entry_name(line) for line in after}
        removed = [_entry_name(line) for line in before if line.startswith("- ") and _entry_name(line) not in names]
        if after == [""]:
            parts.append(f"There is no longer: {title}")
        elif before == [""] or not (added or removed or name == TOOLS):
            parts.append("\n".join(after))
        else:
            parts += ["\n".join([f"New in {title}:", *added])] if added else []
            parts += [f"No longer in {title}: {', '.join(removed)}"] if removed else []
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _entry_name(line: str) -> str:
    return line.removeprefix("- ").split(": ", 1)[0]
