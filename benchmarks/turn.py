"""How long a turn of three model requests takes, and what the number of registered tools does to it.

Run it with: uv run python benchmarks/turn.py [DATABASE_URL]

The model answers at once, so what is measured is OneClaw's own: prompt, tools, engine and the store, which is a SQLite
file unless a URL of an empty PostgreSQL database is given.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import (
    ModelResponse,
    OneClaw,
    ToolCall,
    ToolDefinition,
    ToolGroupDefinition,
    ToolResult,
    ToolSourceInfo,
    ToolSourceType,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from oneclaw_core import ModelEvent, ModelInfo, ModelRequest, ToolContext

TURNS = 60
TOOLS_PER_GROUP = 50


class InstantModel:
    """Loads a group, calls its first tool, answers."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer by how far the turn has come."""
        last = request.messages[-1]
        if last.tool_name is None:
            yield _calls("load_tool_group", group_name="group_0")
        elif last.tool_name == "load_tool_group":
            yield _calls("tool_0_0", text="hello")
        else:
            yield ModelResponse(text="done")

    async def list_models(self) -> list[ModelInfo]:
        """Offer nothing."""
        return []

    async def aclose(self) -> None:
        """Nothing is open."""


def _calls(name: str, **arguments: str) -> ModelResponse:
    return ModelResponse(tool_calls=(ToolCall("c", name, json.dumps(arguments)),))


class EchoTool:
    """Gives back its text."""

    def __init__(self, name: str) -> None:
        self.definition = ToolDefinition(
            name,
            "Gives back a text.",
            {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        )

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Give it back."""
        return ToolResult.success(arguments["text"])


async def measure(tool_count: int, home: Path, environ: dict[str, str]) -> tuple[float, float]:
    """Seconds to register that many tools, and the median seconds of a turn."""
    async with OneClaw.open(home, environ=environ, plugins=_builtin_only()) as claw:
        claw.catalog.provider_types["instant"] = lambda config: InstantModel()
        await claw.store.set_setting("provider:instant", {"type": "instant"})
        registry = claw.catalog.registry
        started = time.perf_counter()
        for number in range(tool_count):
            group = f"group_{number // TOOLS_PER_GROUP}"
            tool = EchoTool(f"tool_{number // TOOLS_PER_GROUP}_{number % TOOLS_PER_GROUP}")
            registry.register(tool, ToolSourceInfo(ToolSourceType.TOOL_GROUP, group))
        registering = time.perf_counter() - started
        for group in registry.get_tool_groups():
            registry.register_group(ToolGroupDefinition(group, group, f"Everything that {group} can do for a user."))
        seconds = []
        for _ in range(TURNS):
            started = time.perf_counter()
            async for _event in claw.send_message("hello", model="instant/model"):
                pass
            seconds.append(time.perf_counter() - started)
        return registering, statistics.median(seconds)


def _builtin_only() -> list[Any]:
    from oneclaw_core.plugins import discover

    return discover()[:1]


def main() -> None:
    """Print a table."""
    environ = dict(os.environ)
    if sys.argv[1:]:
        environ["ONECLAW_DATABASE_URL"] = sys.argv[1]
    print(f"{'tools':>7} {'registering':>12} {'turn':>9} {'ratio':>6}")
    first: float | None = None
    for tool_count in (100, 1_000, 10_000):
        with tempfile.TemporaryDirectory() as home:
            registering, turn = asyncio.run(measure(tool_count, Path(home), environ))
        first = first or turn
        print(f"{tool_count:>7,} {registering * 1000:>9.1f} ms {turn * 1000:>6.2f} ms {turn / first:>6.2f}")


if __name__ == "__main__":
    main()
