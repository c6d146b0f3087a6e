"""The options with which an agent is made and changed."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.agents import selection_of
from oneclaw_core.errors import UsageError
from oneclaw_core.types.agents import MAX_SYSTEM_PROMPT_CHARACTERS
from oneclaw_core.types.tools import ALL_TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.types.tools import ToolSelection

# What takes a value away again.
NONE = "none"
# A character takes four bytes at most; what is longer is refused before it is read whole.
_MAX_PROMPT_BYTES = 4 * MAX_SYSTEM_PROMPT_CHARACTERS + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenOptions:
    """What the user gave, ``None`` for what not.

    Attributes:
        description: a line.
        system_prompt: the text.
        system_prompt_file: where it is; ``-`` for standard input.
        model: ``PROVIDER/MODEL`` or ``none``.
        temperature: a number or ``none``.
        parameter: texts ``NAME=VALUE``.
        max_tool_rounds: a number or ``none``, like the next two.
        turn_max_tokens: likewise.
        turn_max_cost: likewise.
        tools: names with commas between them, or ``*``.
        groups: likewise.
        all_tools: whether it is to have everything.
    """

    description: str | None
    system_prompt: str | None
    system_prompt_file: str | None
    model: str | None
    temperature: str | None
    parameter: tuple[str, ...]
    max_tool_rounds: str | None
    turn_max_tokens: str | None
    turn_max_cost: str | None
    tools: str | None
    groups: str | None
    all_tools: bool


_OPTIONS = (
    click.option("--description", metavar="TEXT", help="One line for people."),
    click.option("--system-prompt", metavar="TEXT", help="The instructions that open every request."),
    click.option("--system-prompt-file", metavar="FILE", help="Read them from a file; - for standard input."),
    click.option("--model", metavar="PROVIDER/MODEL", help="The model it prefers; none for the default."),
    click.option("--temperature", metavar="NUMBER", help="From 0 to 2; none for the service's own."),
    click.option(
        "--parameter",
        metavar="NAME=VALUE",
        multiple=True,
        help="Another parameter for the model, the value as JSON or text; may be repeated.",
    ),
    click.option("--max-tool-rounds", metavar="NUMBER", help="How many rounds of tool calls a turn may take; or none."),
    click.option("--turn-max-tokens", metavar="NUMBER", help="How many tokens a turn may use; or none."),
    click.option("--turn-max-cost", metavar="DOLLARS", help="How much a turn may cost; or none."),
    click.option(
        "--tools", metavar="NAME,...", help="Its tools outside groups, and single tools of groups; * for all."
    ),
    click.option("--groups", metavar="NAME,...", help="Its tool groups; * for all."),
    click.option("--all-tools", is_flag=True, help="Let it have all tools and groups."),
)


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the parameter ``given``."""

    @wraps(command)
    def run(**values: Any) -> Any:
        given = GivenOptions(**{name: values.pop(name) for name in GivenOptions.__dataclass_fields__})
        return command(given=given, **values)

    decorated: Callable[..., Any] = run
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def changes_of(given: GivenOptions, selection: ToolSelection) -> dict[str, Any]:
    """Put what the user gave into the words of :class:`oneclaw_core.agents.AgentChanges`.

    Args:
        given: the options.
        selection: the tools that the agent has now.

    Raises:
        UsageError: an option does not fit.
    """
    changes: dict[str, Any] = {}
    if given.description is not None:
        changes["description"] = given.description
    prompt = _system_prompt(given)
    if prompt is not None:
        changes["system_prompt"] = prompt
    if given.model is not None:
        changes["model"] = None if given.model == NONE else given.model
    parameters = _parameters(given)
    if parameters:
        changes["parameters"] = parameters
    for name in ("max_tool_rounds", "turn_max_tokens"):
        value = getattr(given, name)
        if value is not None:
            changes[name] = _number(name, value, is_whole=True)
    if given.turn_max_cost is not None:
        changes["turn_max_cost"] = _number("turn_max_cost", given.turn_max_cost)
    if given.all_tools:
        if given.tools is not None or given.groups is not None:
            raise UsageError("--all-tools goes with neither --tools nor --groups: they name single ones")
        changes["selection"] = ALL_TOOLS
    elif given.tools is not None or given.groups is not None:
        changes["selection"] = selection_of(_names(given.tools), _names(given.groups), selection)
    return changes


def _system_prompt(given: GivenOptions) -> str | None:
    if given.system_prompt_file is None:
        return given.system_prompt
    if given.system_prompt is not None:
        raise UsageError("give --system-prompt or --system-prompt-file, not both")
    try:
        if given.system_prompt_file == "-":
            content = sys.stdin.buffer.read(_MAX_PROMPT_BYTES)
        else:
            with Path(given.system_prompt_file).open("rb") as file:
                content = file.read(_MAX_PROMPT_BYTES)
        return content.decode("utf-8")
    except UnicodeDecodeError:
        if len(content) == _MAX_PROMPT_BYTES:
            raise UsageError(f"a system prompt has at most {MAX_SYSTEM_PROMPT_CHARACTERS:,} characters") from None
        raise UsageError(f"{given.system_prompt_file} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{given.system_prompt_file} cannot be read: {reason}") from None


def _parameters(given: GivenOptions) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for text in given.parameter:
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"--parameter takes NAME=VALUE, such as top_p=0.9, not {text[:100]!r}")
        parameters[name.strip()] = None if value == NONE else _json_or_text(value)
    if given.temperature is not None:
        parameters["temperature"] = _number("temperature", given.temperature)
    return parameters


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _number(name: str, text: str, *, is_whole: bool = False) -> float | None:
    if text == NONE:
        return None
    try:
        number = int(text) if is_whole else float(text)
        if is_whole or math.isfinite(number):
            return number
    except ValueError:
        pass
    kind = "a whole number" if is_whole else "a number"
    raise UsageError(f"--{name.replace('_', '-')} takes {kind} or none, not {text[:100]!r}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
