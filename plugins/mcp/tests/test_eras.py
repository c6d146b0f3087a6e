"""Both eras of the protocol over HTTP: questions, changes of the list, and servers that end in the middle of a call."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from mcp_homes import HERE, McpHome, free_port, plain, running_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from oneclaw_mcp.source import ServerSource
    from pytest_oneclaw import HomeFactory

    from oneclaw_core.types.user_question import UserQuestion

OLD, NEW = "2025-11-25", "2026-07-28"


def speak(home: McpHome, era: str) -> None:
    """Go on as with a server of an era; this one speaks both."""
    server = home.source.book.get("sdk")
    manifest = home.source.manifests.read(server)
    assert manifest is not None
    home.oneclaw.run(home.source.close("sdk"))
    discovered = manifest.discovered if era == NEW else None
    home.source.manifests.write("sdk", replace(manifest, era=era, discovered=discovered))


async def reply(question: UserQuestion) -> str | None:
    """Answer as a guest who stays for three nights."""
    if "answer" in question.choices:
        return "answer"
    if question.question.startswith("Name"):
        return "Ada"
    return "yes" if "yes" in question.choices else "3"


@pytest.mark.long
@pytest.mark.parametrize("era", [NEW, OLD])
def test_server_over_http_in_each_era(era: str, oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.sdk.*"]))
    home.oneclaw.user.reply = reply  # type: ignore[method-assign]
    port = free_port()
    program = (sys.executable, str(HERE / "sdk_server.py"), "http", str(port))
    with running_server(*program):
        home.add("sdk", transport="http", url=f"http://127.0.0.1:{port}/mcp")
        speak(home, era)

        app = home.oneclaw.app

        async def book_twice() -> list[object]:
            outcomes = await asyncio.gather(*(app.call_tool("sdk__book") for _ in range(2)))
            return [each.result.result for each in outcomes]

        # Each question reaches the user of the call that it belongs to.
        assert home.oneclaw.run(book_twice()) == ["Ada stays 3 nights, breakfast: True"] * 2

        died = home.call("sdk__leave")
        assert died.error_type == "interrupted"
        assert "The MCP server sdk ended during the call" in str(died.error_message)
    with running_server(*program):
        assert home.call("sdk__add", a=1, b=2).result == {"result": 3}
        if era == NEW:
            home.oneclaw.close()
            return
    with running_server(*program):  # restarted between two calls: it does not know the session
        assert home.call("sdk__add", a=2, b=2).result == {"result": 4}
        home.oneclaw.close()


async def new_tools(source: ServerSource) -> list[str]:
    """Wait until a server has tools that it did not have, and return them."""
    server = source.book.get("sdk")
    async with asyncio.timeout(20):
        while not (known := source.manifests.read(server)) or not known.pending.new:
            await asyncio.sleep(0.05)
        return [each.wire for each in known.pending.new]


@pytest.mark.long
@pytest.mark.one_python
def test_new_tools_are_noticed_in_the_new_era(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.sdk.*"]))
    manifest = home.add("sdk", sys.executable, str(HERE / "sdk_server.py"), "stdio")
    assert manifest is not None
    assert manifest.era == NEW
    assert home.call("sdk__grow").result == "grown"
    assert home.oneclaw.run(new_tools(home.source)) == ["grown"]


@pytest.mark.long
@pytest.mark.one_python
@pytest.mark.parametrize("waited_seconds", [10.0, 0.05])
def test_new_tools_are_noticed_however_late_the_subscription_comes(
    oneclaw_factory: HomeFactory, monkeypatch: pytest.MonkeyPatch, waited_seconds: float
) -> None:
    from mcp import Client

    listen = Client.listen

    @asynccontextmanager
    async def listen_late(client: Client, **wanted: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0.5)
        async with listen(client, **wanted) as changes:
            yield changes

    monkeypatch.setattr(Client, "listen", listen_late)
    monkeypatch.setattr("oneclaw_mcp.connection._SUBSCRIBED_SECONDS", waited_seconds)
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.sdk.*"]))
    home.add("sdk", sys.executable, str(HERE / "sdk_server.py"), "stdio")
    assert home.call("sdk__grow").result == "grown"
    assert home.oneclaw.run(new_tools(home.source)) == ["grown"]


def test_question_that_could_be_of_two_conversations_is_refused(oneclaw_factory: HomeFactory) -> None:
    """Over standard input and output, a server of the old era does not say which call it asks for."""
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.plain.*"]))
    home.add("plain", *plain("hang"), call_seconds=0.5)

    app = home.oneclaw.app

    form = {"message": "Size?", "requestedSchema": {"type": "object", "properties": {"size": {"type": "integer"}}}}

    async def both() -> str:
        _, asked = await asyncio.gather(app.call_tool("plain__hang"), app.call_tool("plain__ask", form))
        return str(asked.result.result)

    assert "calls of several conversations are under way" in home.oneclaw.run(both())
    assert home.oneclaw.user.questions == []
