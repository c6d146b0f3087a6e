"""Clients of the gateway that want more than they were given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from how_long import some
from http_gateway import served
from oneclaw_mcp.importing import read_servers
from oneclaw_mcp.offer import Offer

from oneclaw_core import ToolResult, ToolSelection, tool

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_oneclaw import HomeFactory, HomeUnderTest


@tool
def paint(color: str) -> str:
    """Paint something.

    Args:
        color: of the paint.
    """
    return f"painted in {color}"


@tool(read_only=True)
def look() -> str:
    """Look at something."""
    return "seen"


@pytest.fixture
def painting(oneclaw_factory: HomeFactory) -> HomeUnderTest:
    """A home with two tools in the group art."""
    oneclaw = oneclaw_factory(["mcp"])
    oneclaw.app.add_tools(look, paint, group="art")
    return oneclaw


def test_long_query_holds_up_no_other_client(painting: HomeUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    from oneclaw_core.search import names

    query = " ".join(f"word{number}" for number in range(300_000))
    looked_at: list[str] = []
    term = names._term

    def noted(word: str) -> str:
        looked_at.append(word)
        return term(word)

    async def use() -> None:
        async with served(painting.app) as server, server.client(await server.token()) as client:
            await client.call_tool("find_tools", {"query": "look"})  # makes the index
            monkeypatch.setattr(names, "_term", noted)
            found = await client.call_tool("find_tools", {"query": f"look {query}"})
            assert "- look (art)" in found.content[0].text

    painting.run(use())
    assert 1 < len(looked_at) < 1_000


def test_client_does_not_drive_the_calls_of_others_out_of_the_journal(
    painting: HomeUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oneclaw_mcp.journal.MAX_CALLS", 3)
    monkeypatch.setattr("oneclaw_mcp.journal._TRIM_EVERY", 2)

    async def use() -> None:
        async with served(painting.app) as server:
            journal = server.journal
            for client, count in (("mcp:laptop", 2), ("mcp:evil", 11)):
                for number in range(count):
                    await journal.end(await journal.begin(client, f"tool_{number}", "{}"), ToolResult.success(), 1.0)
            kept = [(each.client, each.tool) for each in await journal.last(100)]
        assert [tool for client, tool in kept if client == "mcp:laptop"] == ["tool_1", "tool_0"]
        assert kept[0] == ("mcp:evil", "tool_10")
        assert len([client for client, _ in kept if client == "mcp:evil"]) <= 4

    painting.run(use())


@pytest.mark.long
def test_client_forges_no_line_of_the_journal(painting: HomeUnderTest) -> None:
    async def use() -> None:
        from mcp import MCPError

        async with served(painting.app) as server, server.client(await server.token()) as client:
            with pytest.raises(MCPError, match="there is no prompt"):
                await client.get_prompt("x\x1b[2K\n2026-01-01 mcp:laptop look success\u202e")
            (noted,) = await server.journal.last(1)
        assert noted.tool == "/x[2K 2026-01-01 mcp:laptop look success"
        assert noted.outcome == "not_found"

    painting.run(use())


@pytest.mark.parametrize("is_direct", some([False, True], 2))
def test_agent_that_loses_a_tool_loses_it_for_clients_at_once(painting: HomeUnderTest, is_direct: bool) -> None:
    async def use() -> None:
        from mcp import MCPError

        agents = painting.app.agents
        agent = await agents.create("Artist", "You paint.", selection=ToolSelection.naming(tools=["look", "paint"]))

        async with (
            served(painting.app, Offer(agent=agent), is_direct=is_direct) as server,
            server.client(await server.token()) as client,
        ):

            async def call(name: str) -> Any:
                if is_direct:
                    return await client.call_tool(name, {})
                return await client.call_tool("call_tool", {"name": name})

            assert not (await call("look")).is_error
            await agents.update(agent.name, selection=ToolSelection.naming(tools=["paint"]))
            if is_direct:
                with pytest.raises(MCPError, match="there is no tool 'look'"):
                    await call("look")
            else:
                assert "There is no tool 'look'" in (await call("look")).content[0].text
            await agents.delete(agent.name)
            with pytest.raises(MCPError, match="no agent"):
                await call("paint")

    painting.run(use())


def test_gateway_is_not_imported_as_a_server_of_itself(tmp_path: Path) -> None:
    """Clients that have it in the place of their servers would make it call itself."""
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"a": {"command": "oneclaw", "args": ["mcp", "serve", "--read-only"]},'
        ' "b": {"command": "/usr/bin/python3", "args": ["-m", "oneclaw_core", "mcp", "serve"]},'
        ' "c": {"command": "uvx", "args": ["--from", "oneclaw-core[standard]", "oneclaw", "mcp", "serve"]},'
        ' "d": {"command": "other", "args": ["mcp", "serve"]}}}'
    )
    found = {each.name: each.problem for each in read_servers(path, tmp_path)}
    assert found == {**dict.fromkeys("abc", "it is OneClaw itself"), "d": ""}


@pytest.mark.long
def test_calls_at_once_share_no_answer(painting: HomeUnderTest) -> None:
    """Two calls wait for a person; the answer to one lets no other run."""
    from mcp_types import ElicitResult

    asked: list[str] = []

    @tool(required_permissions=["acme.paint"])
    def spray(color: str) -> str:
        """Spray.

        Args:
            color: of the paint.
        """
        return f"sprayed {color}"

    painting.app.add_tools(spray, group="art")

    async def answer(context: Any, parameters: Any) -> ElicitResult:
        asked.append(parameters.message)
        if "red" in parameters.message:
            return ElicitResult(action="accept", content={"answer": "once"})
        return ElicitResult(action="decline")

    async def use() -> None:
        for mode in ("legacy", "auto"):
            async with (
                served(painting.app) as server,
                server.client(await server.token(name=mode), mode, elicitation_callback=answer) as client,
            ):
                calls = ({"name": "spray", "arguments": {"color": each}} for each in ("red", "blue", "red"))
                done = await asyncio.gather(*(client.call_tool("call_tool", each) for each in calls))
                assert [each.is_error for each in done] == [False, True, False]

    painting.run(use())
    assert len(asked) == 6
