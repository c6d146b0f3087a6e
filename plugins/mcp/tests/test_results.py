"""Results of servers: content of each kind, resources, prompts, and questions to the user."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from http_gateway import served
from mcp_homes import HERE, McpHome, plain
from oneclaw_mcp.manifest import KnownPrompt
from oneclaw_mcp.prompts import read_arguments
from pytest_oneclaw import HomeFactory, HomeUnderTest

from oneclaw_core import ToolContext, UsageError, tool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpHome]:
    """A home with a server of each era, which are started once."""
    folder = tmp_path_factory.mktemp("servers")
    project = folder / "project"
    project.mkdir()
    oneclaw = HomeUnderTest(folder / "home", project, ["mcp"], allow=["mcp.sdk.*", "mcp.plain.*"])
    home = McpHome(oneclaw)
    home.add("sdk", sys.executable, str(HERE / "sdk_server.py"), "stdio")
    home.add("plain", *plain())
    yield home
    oneclaw.close()


def returned(servers: McpHome, *blocks: dict[str, Any], **more: Any) -> Any:
    return servers.call("plain__content", content=list(blocks), **more)


def test_content_of_each_kind(servers: McpHome) -> None:
    picture = servers.call("sdk__picture")
    assert picture.result == "[picture sdk-1.png]"
    assert [(each.media_type, each.data[:4]) for each in picture.attachments] == [("image/png", b"\x89PNG")]

    first, audio, link, *_ = str(servers.call("sdk__files").result).split("\n\n")
    assert first == "first"
    path = Path(audio.removeprefix("[file ").partition(": ")[0])
    assert (path.suffix, path.read_bytes()) == (".wav", b"RIFF....WAVE")
    assert path.parent == servers.oneclaw.home.workspace / "mcp" / "sdk"
    assert link == "[resource note://1] notes: My notes"

    embedded = {"uri": "file:///a", "mimeType": "application/pdf", "blob": base64.b64encode(b"%PDF").decode()}
    assert ".pdf: 4 bytes" in str(returned(servers, {"type": "resource", "resource": embedded}).result)
    broken = {"type": "audio", "data": "!", "mimeType": "audio/wav"}
    assert returned(servers, broken).result == "[the server sent audio data that is not base64]"


def test_structured_content_is_the_result(servers: McpHome) -> None:
    text = {"type": "text", "text": '{"a": 1}'}
    assert returned(servers, text, structuredContent={"a": 1}).result == {"a": 1}
    assert servers.call("sdk__add", a=1, b=2).result == {"result": 3}
    failed = returned(servers, {"type": "text", "text": "no such city"}, isError=True)
    assert (failed.error_type, failed.error_message) == ("execution_error", "no such city")


@tool
async def inside(result: dict[str, Any], context: ToolContext) -> list[Any]:
    """Call the server as a script does."""
    found = await context.call_tool("plain__content", result)
    return [found.result, [each.name for each in found.attachments]]


def test_scripts_get_the_value_that_the_schema_of_results_declares(
    oneclaw_factory: HomeFactory, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    declared = {"name": "content", "inputSchema": {"type": "object"}, "outputSchema": schema}
    (tmp_path / "tools.json").write_text(json.dumps([declared]))
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.plain.*"]))
    home.add("plain", *plain(f"tools={tmp_path / 'tools.json'}"))
    home.oneclaw.app.add_tools(inside)
    model = home.oneclaw.model.calls("load_tool_group", group_name="mcp_plain")
    written, other = {"type": "text", "text": '{"a": 1}'}, {"type": "text", "text": "one more"}
    answers: list[tuple[dict[str, Any], Any]] = [
        ({"content": [written], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [other], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [written]}, {"a": 1}),
        ({"content": [other]}, "one more"),
        ({"content": [{"type": "text", "text": '{"b": 1}'}]}, '{"b": 1}'),
        ({"content": [other], "structuredContent": {"a": "no number"}}, {"a": "no number"}),
    ]
    for answer, _ in answers:
        model = model.calls("inside", result=answer)
    model.says("done")

    results = [each.result.result[0] for each in home.oneclaw.send("go").tool_calls if each.name == "inside"]

    assert results == [expected for _, expected in answers]
    assert home.call("plain__content", content=[other], structuredContent={"a": 1}).result == '{"a": 1}\n\none more'


def test_long_text_goes_to_a_file_that_the_model_is_told_of(servers: McpHome) -> None:
    model = servers.oneclaw.model
    model.calls("load_tool_group", group_name="mcp_sdk").calls("sdk__files").says("done")
    (result,) = [each.result for each in servers.oneclaw.send("go").tool_calls if each.name == "sdk__files"]
    path = Path(str(result.result).rpartition("[file ")[2].partition(": ")[0])
    assert "all of it is a] [file " in str(result.result)
    assert len(path.read_text()) > 50_000 > len(str(result.result))


def test_resources_are_listed_and_read(servers: McpHome) -> None:
    assert "- note://{number}: note Read a note." in str(servers.call("sdk__read_resource").result)
    assert servers.call("sdk__read_resource", uri="note://7").result == "[resource note://7]\nnote 7"
    assert servers.call("sdk__read_resource", uri="other://7").error_type in ("validation_error", "execution_error")


def test_prompt_is_a_chat_command(servers: McpHome) -> None:
    servers.oneclaw.model.says("fine")
    sent = servers.oneclaw.send("x = 1", session="prompts", command="sdk__review")
    assert list(sent.loaded_groups) == ["mcp_sdk"]
    request = servers.oneclaw.model.requests[-1]
    assert "[Prompt review of the MCP server sdk]\nPlease review: x = 1" in [each.content for each in request.messages]
    prompt = KnownPrompt("p", "sdk__p", "", ("a*", "b"))
    assert read_arguments(prompt, "a='1 2' b=3") == {"a": "1 2", "b": "3"}
    with pytest.raises(UsageError, match=r"/sdk__p is missing a: /sdk__p a=\.\.\. b=\.\.\."):
        read_arguments(prompt, "b=3")


def test_form_of_a_server_is_asked_field_by_field(servers: McpHome) -> None:
    user = servers.oneclaw.user
    user.replies("answer", "Ada", "many", "3", "yes")
    assert servers.call("sdk__book").result == "Ada stays 3 nights, breakfast: True"
    asked = [each.question for each in user.questions]
    assert asked[0].startswith("The MCP server sdk asks (never give it a password or a key): Who comes?")
    assert asked[1] == "Name (string), for the MCP server sdk: Who comes"
    assert "Not accepted: " in asked[3]


def test_answer_that_the_protocol_does_not_allow_is_used_as_far_as_it_goes(servers: McpHome) -> None:
    before = servers.call("plain__pids").result
    assert servers.call("plain__content", content="no list").result == "no list"
    assert servers.call("plain__pids").result == before


def test_questions_in_the_old_era_can_be_declined(servers: McpHome) -> None:
    user = servers.oneclaw.user
    form = {"message": "Size?", "requestedSchema": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    user.replies("do not answer")
    assert json.loads(str(servers.call("plain__ask", **form).result)) == {"action": "decline"}
    user.replies("answer", "12")
    assert json.loads(str(servers.call("plain__ask", **form).result)) == {"action": "accept", "content": {"size": 12}}
    address = {"mode": "url", "message": "Pay", "url": "https://pay.example.com/x", "elicitationId": "1"}
    user.replies("I have opened it")
    assert json.loads(str(servers.call("plain__ask", **address).result)) == {"action": "accept"}
    assert "at the host pay.example.com" in user.questions[-1].question
    assert "\nhttps://pay.example.com/x\n" in user.questions[-1].question
    user.replies("do not answer")
    names = {f"{number} {'n' * 200}": {"type": ["x" * 3_000]} for number in range(20)}
    long = {"message": "m" * 5_000, "requestedSchema": {"type": "object", "properties": names}}
    assert json.loads(str(servers.call("plain__ask", **long).result)) == {"action": "decline"}
    assert json.loads(str(servers.call("plain__ask", **address | {"url": "https://["}).result)) == {"action": "decline"}
    # No one can be asked.
    assert json.loads(str(servers.call("plain__ask", **form).result)) == {"action": "cancel"}


def test_texts_of_a_server_do_not_count_as_the_users(servers: McpHome) -> None:
    """Neither a prompt nor a result that holds an answer of the user lets links be followed without a question."""
    model = servers.oneclaw.model
    model.says("fine").calls("sdk__book").says("booked")
    servers.oneclaw.user.replies("answer", "https://name.example/", "3", "yes")
    servers.oneclaw.send("x = 'https://prompt.example/'", session="outside", command="sdk__review")
    servers.oneclaw.send("book it at https://typed.example/", session="outside")

    async def known() -> tuple[str, str]:
        store = servers.oneclaw.app.store
        session = await store.find_session("outside")
        assert session is not None
        history = await store.messages(session.id)
        links = " ".join(content for _, content, _ in await store.link_sources(session.id, 0))
        return links, " ".join(each.origin for each in history[0].marks)

    links, marks = servers.oneclaw.run(known())
    assert "typed.example" in links
    assert "name.example" not in links
    assert "prompt.example" not in links
    assert "the MCP server sdk" in marks


def test_prompts_of_servers_need_a_person(servers: McpHome) -> None:
    """They start a server and send it arguments, and no permission stands before them but that a person chose them."""

    async def use() -> None:
        from mcp import MCPError

        async with served(servers.oneclaw.app) as server:
            async with server.client(await server.token("mcp.call", name="robot")) as client:
                assert "sdk__review" not in [each.name for each in (await client.list_prompts()).prompts]
                with pytest.raises(MCPError, match="there is no prompt"):
                    await client.get_prompt("sdk__review", {"code": "what was read elsewhere"})
            async with server.client(await server.token()) as client:
                assert "sdk__review" in [each.name for each in (await client.list_prompts()).prompts]

    servers.oneclaw.run(use())
