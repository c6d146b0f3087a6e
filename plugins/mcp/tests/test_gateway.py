"""OneClaw as an MCP server: clients of others find and call its tools."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from mcp_homes import plain
from oneclaw_mcp.commands import mcp
from oneclaw_mcp.gateway import GATEWAY_TOOLS, Gateway
from oneclaw_mcp.offer import Offer

from oneclaw_core import ToolResult

if TYPE_CHECKING:
    from pytest_oneclaw import HomeFactory

    from oneclaw_core import Home


def text_of(result: Any) -> str:
    return "".join(each.text for each in result.content)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_client_of_the_sdk_finds_and_calls_a_tool_of_another_server(
    mode: str, oneclaw_home: Home, oneclaw_factory: HomeFactory
) -> None:
    from mcp import Client, StdioServerParameters, stdio_client
    from mcp_types import ElicitResult

    CliRunner().invoke(mcp, ["add", "plain", "--no-sandbox", "--", *plain()], catch_exceptions=False)
    log = oneclaw_home.plugin_folder("mcp") / "logs" / "plain.log"
    log.unlink()
    asked: list[str] = []

    async def agree(context: Any, parameters: Any) -> ElicitResult:
        asked.append(parameters.message)
        return ElicitResult(action="accept", content={"answer": "once"})

    async def use() -> None:
        arguments = ["-m", "oneclaw_core", "mcp", "serve", "--allow", "mcp.plain.echo"]
        environment = {"ONECLAW_HOME": str(oneclaw_home.path), "ONECLAW_DISABLED_PLUGINS": "google_workspace"}
        parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        async with Client(
            stdio_client(parameters), mode=mode, elicitation_callback=agree, read_timeout_seconds=60
        ) as c:
            assert [each.name for each in (await c.list_tools()).tools] == [each["name"] for each in GATEWAY_TOOLS]
            found = text_of(await c.call_tool("find_tools", {"query": "say something again"}))
            assert "- plain__echo (mcp_plain): Say it again." in found
            (described,) = json.loads(text_of(await c.call_tool("describe_tools", {"names": ["plain__echo"]})))
            assert described["arguments"]["properties"] == {"text": {"type": "string"}}
            assert not log.exists()  # nothing was started to find it
            call = {"name": "plain__echo", "arguments": {"text": "hi"}}
            assert text_of(await c.call_tool("call_tool", call)) == "hi"
            refused = await c.call_tool("read_with_tool", call)
            assert (refused.is_error, text_of(refused)) == (
                True,
                "plain__echo may change something: call it with call_tool.",
            )
            asked_for = await c.call_tool("call_tool", {"name": "plain__variables", "arguments": {}})
            assert not asked_for.is_error
            assert "mcp.plain.variables" in asked[0]

    oneclaw_factory(["mcp"]).run(use())


def test_read_only_gateway_shows_reading_tools_alone(oneclaw_factory: HomeFactory) -> None:
    oneclaw = oneclaw_factory(["mcp"])
    gateway = Gateway(oneclaw.app, Offer(is_read_only=True))
    called: list[str] = []

    async def call_tool(name: str, arguments: str) -> ToolResult:
        called.append(name)
        return ToolResult.success("done")

    def use(name: str, tool: str) -> Any:
        return oneclaw.run(gateway.call(name, {"name": tool}, call_tool))

    assert [each["name"] for each in gateway.tools] == ["find_tools", "describe_tools", "read_with_tool"]
    assert use("read_with_tool", "get_current_time") == ToolResult.success("done")
    assert use("read_with_tool", "write_file").is_error
    assert use("call_tool", "get_current_time").is_error
    assert called == ["get_current_time"]
