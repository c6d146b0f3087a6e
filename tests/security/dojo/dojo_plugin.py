"""A plugin with AgentDojo's tools, which work on AgentDojo's own environment."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from dojo_declarations import DECLARATIONS

from oneclaw_core import ToolDefinition, ToolResult, hookimpl
from oneclaw_core.tools import ToolBehaviour

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ToolContext, ToolRegistrar


@dataclass
class World:
    """The environment of one task, and what was done in it.

    Attributes:
        environment: AgentDojo's; ``None`` between tasks.
        done: AgentDojo's calls that ran, in their order.
    """

    environment: Any = None
    done: list[Any] = field(default_factory=list)


class DojoTool:
    """One of AgentDojo's functions as a tool.

    Args:
        suite: with the function; tools are named after it, as some functions have the names of built-in tools.
        function: AgentDojo's.
        world: that it works on.
    """

    def __init__(self, suite: str, function: Any, world: World) -> None:
        self._function, self._world = function, world
        self._declaration = DECLARATIONS[function.name]
        self.definition = ToolDefinition(
            f"{suite}_{function.name}",
            function.description,
            function.parameters.model_json_schema(),
            required_permissions=self._declaration.permissions,
            reads=self._declaration.reads,
            # Reading goes on unless the user denies it; what is changed is asked for with its subject.
            behaviour=ToolBehaviour(asks_itself=True),
        )

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Ask for what the call needs, and do it."""
        await self._ask(arguments, context)
        return self._run(arguments, context)

    async def _ask(self, arguments: dict[str, Any], context: ToolContext) -> None:
        if self._declaration.is_web:
            await context.allow_url(_whole(arguments["url"]), arguments.get("content", ""))
            return
        permission = self._declaration.permission(arguments)
        subject = self._declaration.subject(arguments) if self._declaration.subject is not None else ""
        if permission is None:
            return
        if permission.endswith(".read"):
            await context.is_granted(permission, self._function.name, None, "")
        else:
            await context.ask_permission(permission, json.dumps(arguments, ensure_ascii=False), subject or None)

    def _run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        runtime = FunctionsRuntime([self._function])
        result, error = runtime.run_function(self._world.environment, self._function.name, arguments)
        self._world.done.append(FunctionCall(function=self._function.name, args=arguments))
        if error is not None:
            return ToolResult.error("execution_error", error)
        if self._declaration.is_web and self._declaration.reads:
            context.mark_page(_whole(arguments["url"]))
        return ToolResult.success(tool_result_to_str(result))


def _whole(url: str) -> str:
    return url if "://" in url else f"https://{url}"


class DojoPlugin:
    """The tools of one suite."""

    def __init__(self, suite: str, functions: Iterable[Any], world: World) -> None:
        self._tools = [DojoTool(suite, function, world) for function in functions]

    @hookimpl
    def register_tools(self, register: ToolRegistrar) -> None:
        """Register them all."""
        for each in self._tools:
            register(each)
