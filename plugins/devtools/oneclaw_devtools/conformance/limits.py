"""Checks: permissions and timeouts that tools declare, and what their definitions cost."""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING

from oneclaw_core import ToolDefinition
from oneclaw_core.cli import definition_tokens
from oneclaw_core.permissions import KNOWN_PERMISSIONS
from oneclaw_devtools.conformance.finding import Check, Finding, Severity, ToolCost, shortened, summarised
from oneclaw_devtools.fixed_names import BUILTIN_PLUGIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oneclaw_devtools.conformance.facts import PluginFacts, ToolFacts

_W, _N = Severity.WARNING, Severity.NOTE

TOOL_TOKENS = 1_000
CORE_TOKENS = 500
OWN_CORE_TOKENS = 2_200
GROUP_TOKENS = 10_000
LONGEST_SECONDS = 600
SHORTEST_SECONDS = 1

FORM = Check(
    "permissions.form",
    _W,
    "a permission whose name has no form that users can read",
    "use lower-case words joined by a dot, such as tables.delete",
)
UNKNOWN = Check(
    "permissions.unknown",
    _W,
    "a permission much like one of OneClaw's, or in its part of the names",
    "correct it, or begin it with a word for your plugin",
)
UNEXPLAINED = Check(
    "permissions.unexplained",
    _N,
    "permissions of the plugin's own that no group says the meaning of: users are asked for a bare name",
    'say it in a group: "permissions": {"tables.delete": "delete tables"} in its _meta entry or ToolGroupDefinition',
)
WRITING = Check(
    "permissions.none-for-writing",
    _N,
    "tools that look as if they changed something, without a permission",
    "declare what must be granted, unless the tool asks for it itself (context.ask_permission)",
)
LONG_TIMEOUT = Check(
    "timeouts.long",
    _W,
    "a timeout of more than 10 minutes",
    "the turn waits as long: return what there is, and let the model ask again",
)
SHORT_TIMEOUT = Check(
    "timeouts.short",
    _W,
    "a timeout of less than a second, within which a busy machine may not even start",
    "give it more",
)
TOOL_COST = Check(
    "tokens.tool",
    _W,
    f"a definition of more than {TOOL_TOKENS:,} tokens",
    "shorten descriptions, take out rarely used parameters, or make two tools of it",
)
CORE_COST = Check(
    "tokens.core-tools",
    _W,
    f"tools in no group that together cost more than {CORE_TOKENS} tokens: every request carries them",
    "put them into a tool group",
)
GROUP_COST = Check(
    "tokens.group",
    _W,
    f"a group of more than {GROUP_TOKENS:,} tokens, which are all sent once it is loaded",
    "make several groups of it, each for one kind of task",
)

_PERMISSION = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
_WRITING_WORDS = re.compile(
    r"append|archive|cancel|change|clear|copy|create|delete|edit|erase|execute|insert|install|kill|modify|"
    r"move|overwrite|post|publish|purge|put|remove|rename|replace|reset|revoke|run|send|set|share|trash|"
    r"uninstall|update|upload|write"
)


def permission_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the permissions that tools declare."""
    own_parts = {name.partition(".")[0] for name in KNOWN_PERMISSIONS}
    is_builtin = facts.name == BUILTIN_PLUGIN
    changing: list[str] = []
    unexplained: dict[str, None] = {}
    for tool in facts.tools:
        for permission in tool.required_permissions:
            if permission in KNOWN_PERMISSIONS:
                continue
            close = get_close_matches(permission, KNOWN_PERMISSIONS, n=1, cutoff=0.8)
            if close or permission.partition(".")[0] in own_parts:
                hint = f"; did you mean {close[0]}?" if close else f"; those there are: {', '.join(KNOWN_PERMISSIONS)}"
                yield UNKNOWN.found(tool.where, f"OneClaw has no permission {permission[:80]!r}{hint}")
            elif not _PERMISSION.fullmatch(permission):
                yield FORM.found(tool.where, f"{permission[:80]!r} is hard to read and to type")
            elif permission not in facts.meanings:
                unexplained[permission] = None
        words = [each for each in re.split("[_-]", tool.name.lower()) if _WRITING_WORDS.fullmatch(each)]
        if words and not (tool.required_permissions or tool.is_asking or is_builtin):
            changing.append(tool.name)
    if unexplained:
        yield UNEXPLAINED.found(f"plugin {facts.name}", f"nothing says what is meant by {shortened(unexplained)}")
    yield from summarised(WRITING, changing, "the name speaks of changing something, and no permission is declared")


def timeout_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the timeouts of tools."""
    for tool in facts.tools:
        if tool.timeout_seconds > LONGEST_SECONDS:
            yield LONG_TIMEOUT.found(tool.where, f"its timeout is {tool.timeout_seconds:,g} s")
        elif tool.timeout_seconds < SHORTEST_SECONDS:
            yield SHORT_TIMEOUT.found(tool.where, f"its timeout is {tool.timeout_seconds:g} s")


def tool_costs(tools: Sequence[ToolFacts]) -> tuple[ToolCost, ...]:
    """Estimate what each tool's definition costs."""
    return tuple(ToolCost(tool.name, tool.group, _tokens(tool)) for tool in tools)


def cost_findings(costs: Sequence[ToolCost], *, is_builtin: bool) -> Iterator[Finding]:
    """Compare what definitions cost with what they may.

    Args:
        costs: of all tools of a plugin.
        is_builtin: whether they are the core's own, which have a separate budget.
    """
    groups: Counter[str | None] = Counter()
    for cost in costs:
        groups[cost.group] += cost.tokens
        if cost.tokens > TOOL_TOKENS:
            yield TOOL_COST.found(f"tool {cost.name}", f"its definition costs about {cost.tokens:,} tokens")
    for group, tokens in groups.items():
        if group is None and tokens > (OWN_CORE_TOKENS if is_builtin else CORE_TOKENS):
            yield CORE_COST.found("tools in no group", f"they cost about {tokens:,} tokens with every request")
        elif group is not None and tokens > GROUP_TOKENS:
            yield GROUP_COST.found(f"group {group}", f"its tools cost about {tokens:,} tokens")


def _tokens(tool: ToolFacts) -> int:
    return definition_tokens(ToolDefinition(tool.name, tool.description, tool.parameters or {}))
