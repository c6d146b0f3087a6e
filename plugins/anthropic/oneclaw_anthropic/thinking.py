"""The parameters of the Messages API for a level of reasoning, by the generation of the model. No I/O.

Source: Anthropic's pages on extended thinking, adaptive thinking and effort.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# In tokens, for models before 4.6. Those of other makers imitate these.
_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 16_384}
_LEAST_BUDGET = 1_024
_VERSION = re.compile(r"claude-(?:[a-z]+-)?v?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST_WITH_EFFORT = (4, 6)
_FIRST_WITH_OUTPUT = (4, 5)
# These always think, and refuse a request that says whether to.
_ALWAYS_THINKS = re.compile(r"claude-(fable|mythos)")


def thinking_parameters(model: str, level: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Write a level of reasoning as parameters of a request.

    Args:
        model: the model's name.
        level: ``off``, ``low``, ``medium`` or ``high``.
        given: the agent's parameters; what they say beside the level is kept.
    """
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    thinking = {
        name: value for name, value in _object(given, "thinking").items() if name not in ("type", "budget_tokens")
    }
    if not takes_effort(model):
        return {"thinking": {**thinking, "type": "enabled", "budget_tokens": _BUDGETS[level]}}
    effort = {"output_config": {**_object(given, "output_config"), "effort": level}}
    return effort if _ALWAYS_THINKS.search(model) else {"thinking": {**thinking, "type": "adaptive"}, **effort}


def takes_effort(model: str) -> bool:
    """Return True if a model decides itself how long it thinks, by the effort asked of it."""
    version = _VERSION.search(model)
    if version is None:
        return "claude" in model
    return (int(version[1]), int(version[2] or 0)) >= _FIRST_WITH_EFFORT


def keeps_to_schemas(model: str) -> bool:
    """Return True if a model can be kept to a JSON Schema, also beside tools."""
    version = _VERSION.search(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= _FIRST_WITH_OUTPUT


def within_answer(thinking: Mapping[str, Any], max_tokens: int) -> dict[str, Any] | None:
    """Keep a budget below the longest answer, of which thoughts are a part; ``None`` if there is no room for any."""
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < max_tokens:
        return dict(thinking)
    room = max_tokens // 2
    return {**thinking, "budget_tokens": room} if room >= _LEAST_BUDGET else None


def _object(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = given.get(name)
    return value if isinstance(value, dict) else {}
