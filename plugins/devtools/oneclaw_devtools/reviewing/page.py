"""The page that shows what a plugin may do, before it is installed and when it is reviewed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from oneclaw_core.capabilities import DECLARED_KINDS, HOOK, UNDECLARED, beyond
from oneclaw_core.cli import definition_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core.capabilities import Capability, Declaration
    from oneclaw_core.plugins import Registration

_ENFORCED = (
    "Enforced by OneClaw: tools, permissions, hooks, services, pages, secrets, and the hosts and files that tools use "
    "through their context."
)
_NOT_ENFORCED = (
    "Not enforced: a plugin runs in OneClaw's process with your rights. Code that opens files, sockets or programs by "
    "itself is held by no rule; only a box holds it: oneclaw plugins box NAME"
)
_NOT_LOOKED_AT = "not looked at ({reason}): what it registers is not known before it is installed"


@dataclass(frozen=True, slots=True)
class TokenCost:
    """The estimated tokens of a plugin's tool definitions.

    Attributes:
        core: in every request.
        groups: of each tool group, sent once the group is loaded.
    """

    core: int
    groups: Mapping[str, int]


def token_cost(rows: Iterable[Registration]) -> TokenCost:
    """Estimate the tokens of a plugin's tools."""
    core, groups = 0, dict[str, int]()
    for row in rows:
        if row.definition is None:
            continue
        tokens, group = definition_tokens(row.definition), row.options.get("group")
        if group:
            groups[group] = groups.get(group, 0) + tokens
        else:
            core += tokens
    return TokenCost(core, groups)


@dataclass(frozen=True, slots=True)
class ReviewedPlugin:
    """A plugin with its capabilities, for the page.

    Attributes:
        name: of the plugin.
        package: the distribution with its version.
        derived: what its registrations show; ``None`` if nothing has looked at it.
        declared: what it declares.
        cost: the tokens of its tools.
        reviewed: what the user reviewed before; ``None`` for nothing.
        tools: how many it registers.
        unseen: why nothing has looked at it.
        problems: what keeps it from working, as far as the look has shown.
    """

    name: str
    package: str
    derived: frozenset[Capability] | None
    declared: Declaration
    cost: TokenCost = field(default_factory=lambda: TokenCost(0, {}))
    reviewed: frozenset[Capability] | None = None
    tools: int = 0
    unseen: str = ""
    problems: tuple[str, ...] = ()

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All that is known of what it may do."""
        return (self.derived or frozenset()) | self.declared.capabilities

    @property
    def new(self) -> frozenset[Capability]:
        """The capabilities that the user has not reviewed."""
        return beyond(self.capabilities, self.reviewed or frozenset())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        reasons = self.declared.reasons or {}
        return {
            "plugin": self.name,
            "package": self.package,
            "is_looked_at": self.derived is not None,
            "capabilities": [
                {"kind": each.kind, "name": each.name, "is_new": each in self.new, "reason": reasons.get(each)}
                for each in sorted(self.capabilities)
            ],
            "declares": self.declared.reasons is not None,
            "tools": self.tools,
            "tokens": {"core": self.cost.core, "groups": dict(self.cost.groups)},
            "problems": list(self.problems),
        }


def page_lines(plugins: Sequence[ReviewedPlugin]) -> Iterator[str]:
    """Yield the page of plugins; of one that was reviewed before, only what is new.

    Args:
        plugins: the plugins.
    """
    for plugin in plugins:
        yield from _lines_of(plugin)
    if plugins:
        yield _ENFORCED
        yield _NOT_ENFORCED


def _lines_of(plugin: ReviewedPlugin) -> Iterator[str]:
    yield f"plugin {plugin.name} ({plugin.package})"
    if plugin.derived is None:
        yield f"  {_NOT_LOOKED_AT.format(reason=plugin.unseen)}"
    else:
        yield f"  {_cost(plugin.tools, plugin.cost)}"
    for problem in plugin.problems:
        yield f"  does not work: {problem}"
    shown = plugin.capabilities if plugin.reviewed is None else plugin.new
    if plugin.reviewed is not None:
        yield "  new since you reviewed it:" if shown else "  nothing new since you reviewed it"
    reasons: Mapping[Capability, str] = plugin.declared.reasons or {}
    declared = [each for each in sorted(shown) if each.kind in (*DECLARED_KINDS, UNDECLARED.kind)]
    derived = [each for each in sorted(shown) if each not in declared]
    for kind, group in groupby(derived, lambda each: each.kind):
        same = list(group)
        if kind == HOOK:
            yield from (f"  - {each}" for each in same)
        else:  # many have dozens of permissions
            yield f"  - {same[0]}{''.join(f', {each.name}' for each in same[1:])}"
    for each in declared:
        reason = f" ({reasons[each]})" if reasons.get(each) else ""
        yield f"  - {each}{reason}"
    if not shown and plugin.reviewed is None:
        yield "  - nothing beside its tools"


def _cost(tools: int, cost: TokenCost) -> str:
    if not tools:
        return "no tools"
    loaded = sum(cost.groups.values())
    groups = ", ".join(f"{name} {tokens:,}" for name, tokens in cost.groups.items())
    counted = "1 tool" if tools == 1 else f"{tools} tools"
    later = f"; {loaded:,} once its groups are loaded ({groups})" if groups else ""
    return f"{counted}: about {cost.core:,} tokens in every request{later}"
