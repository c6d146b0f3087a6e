"""Recall of the search for tools and groups, over the Berkeley Function Calling Leaderboard.

``python -m benchmarks.environments bfcl-eval`` downloads the corpus, ``python -m benchmarks.find_tools`` prints the
tables. The functions of all questions are the tools. Functions whose names begin with the same word are a group, with
the description that a group of an MCP server without instructions has. A tool is found if the question, word for word,
ranks the function that answers it among the first; a group is found if it has that function.

Values are chosen on one half of the questions. The other half shows what they are worth.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock
from zlib import crc32

from benchmarks.environments import FOLDER
from oneclaw_core import ToolDefinition, ToolGroupDefinition
from oneclaw_core.search import tool_search
from oneclaw_core.search.names import ToolIndex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DATA = "bfcl-eval/lib/python*/site-packages/bfcl_eval/data"
# With one function that answers.
_FILES = ("simple_python", "simple_java", "simple_javascript", "multiple", "live_simple", "live_multiple")
_AT = (1, 5)
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_WEIGHTS = (1, 2, 3, 5)
_FEWEST_IN_A_GROUP = 2
_DESCRIPTION_CHARACTERS = 200


@dataclass(frozen=True)
class Question:
    """The question of a user, and the function that answers it.

    Attributes:
        text: of the user's messages.
        answer: the name of the function.
        is_held_out: True for the half on which no value is chosen.
    """

    text: str
    answer: str
    is_held_out: bool


def read_corpus(folder: Path) -> tuple[dict[str, ToolDefinition], list[Question]]:
    """Read the functions by their names, and the questions."""
    tools: dict[str, ToolDefinition] = {}
    questions = []
    for name in _FILES:
        answers = {
            each["id"]: next(iter(each["ground_truth"][0]))
            for each in _lines(folder / "possible_answer" / f"BFCL_v4_{name}.json")
        }
        for each in _lines(folder / f"BFCL_v4_{name}.json"):
            for function in each["function"]:
                tools.setdefault(_name(function["name"]), _definition(function))
            messages = [
                message["content"] for turn in each["question"] for message in turn if message["role"] == "user"
            ]
            answer = _name(answers[each["id"]])
            questions.append(Question("\n".join(messages), answer, bool(crc32(each["id"].encode()) % 2)))
    return tools, questions


def grouped(tools: dict[str, ToolDefinition]) -> tuple[dict[str, str], list[ToolGroupDefinition]]:
    """Return the group of each tool by the first word of its name, and the groups."""
    by_word = defaultdict(list)
    for name in tools:
        by_word[re.split(r"[._]|(?<=[a-z])(?=[A-Z])", name)[0].lower() or "other"].append(name)
    members: dict[str, list[str]] = defaultdict(list)
    for word, names in by_word.items():
        members[f"mcp_{word}" if len(names) >= _FEWEST_IN_A_GROUP else "mcp_other"] += names
    definitions = [
        ToolGroupDefinition(group, f"MCP {group[4:]}", f"Tools {', '.join(names)}"[:_DESCRIPTION_CHARACTERS])
        for group, names in members.items()
    ]
    return {name: group for group, names in members.items() for name in names}, definitions


def recall_of_tools(index: ToolIndex, questions: Sequence[Question]) -> list[float]:
    """Return the share of the questions whose function is among the first, for each count."""
    found = [index.find(each.text, max(_AT)) for each in questions]
    return [_share(each.answer in names[:at] for each, names in zip(questions, found, strict=True)) for at in _AT]


def recall_of_groups(index: ToolIndex, groups: dict[str, str], questions: Sequence[Question]) -> list[float]:
    """Return the share of the questions whose function is in one of the first groups, for each count."""
    found = [[name for name, _ in index.find_groups(each.text, max(_AT), lambda *_: True)] for each in questions]
    return [
        _share(groups[each.answer] in names[:at] for each, names in zip(questions, found, strict=True)) for at in _AT
    ]


def main() -> None:
    """Print the tables."""
    folder = next(FOLDER.glob(_DATA), None)
    if folder is None:
        sys.exit("The corpus is missing: python -m benchmarks.environments bfcl-eval")
    tools, questions = read_corpus(folder)
    groups, definitions = grouped(tools)
    halves = [[each for each in questions if each.is_held_out is held_out] for held_out in (False, True)]
    print(
        f"{len(tools):,} functions in {len(definitions)} groups, {len(halves[0]):,} and {len(halves[1]):,} questions\n"
    )
    titles = [f"{half}: recall at {at}" for half in ("chosen on", "held out") for at in _AT]
    print(f"| | {' | '.join(titles)} |\n|---|{'--:|' * len(titles)}")

    def index() -> ToolIndex:
        return ToolIndex([(each, groups[name]) for name, each in tools.items()], definitions)

    for weight in _WEIGHTS:
        with mock.patch.object(tool_search, "_NAME_WEIGHT", weight):
            _row(f"tools, weight of a name {weight}", [recall_of_tools(index(), half) for half in halves])
    found = index()
    for share in _SHARES:
        with mock.patch.object(tool_search, "_DESCRIPTION_SHARE", share):
            _row(
                f"groups, share of a description {share:g}", [recall_of_groups(found, groups, half) for half in halves]
            )
    seconds = []
    for each in halves[0]:
        started = time.process_time()
        found.find(each.text, max(_AT))
        seconds.append(time.process_time() - started)
    print(f"\nA search takes {statistics.median(seconds) * 1e3:.2f} ms of a processor (median).")


def _row(title: str, recalls: list[list[float]]) -> None:
    print(f"| {title} | {' | '.join(f'{each:.1%}' for half in recalls for each in half)} |", flush=True)


def _share(found: Any) -> float:
    return statistics.fmean(map(float, found))


def _name(name: str) -> str:
    """Return a name that a tool can have."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:63].lstrip("-0123456789") or "tool"


def _definition(function: dict[str, Any]) -> ToolDefinition:
    properties = function["parameters"].get("properties") or {}
    described = {
        name: {"description": str(each.get("description", ""))} if isinstance(each, dict) else {}
        for name, each in properties.items()
    }
    description = function["description"] or function["name"]
    return ToolDefinition(_name(function["name"]), description, {"type": "object", "properties": described})


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    main()
