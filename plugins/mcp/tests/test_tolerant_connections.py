"""Connections to servers that keep to the protocol in part: a call ends at once, and a living server stays in use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from how_long import some
from mcp_homes import McpHome, plain
from oneclaw_mcp import listing
from pytest_oneclaw import WebServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_oneclaw import HomeFactory
    from pytest_oneclaw.web_server import ReceivedRequest

ALLOWED = ["mcp.plain.*", "mcp.web.*"]
TOOL = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}
DONE = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"done"}]}}'


def initialized(**more: Any) -> str:
    result = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": "1"},
    }
    return json.dumps({"jsonrpc": "2.0", "id": "$ID", "result": {**result, **more}}).replace('"$ID"', "$ID")


def page(*names: str, **more: Any) -> str:
    result = {"tools": [{**TOOL, "name": each} for each in names], **more}
    return json.dumps({"jsonrpc": "2.0", "id": "$ID", "result": result}).replace('"$ID"', "$ID")


@pytest.fixture
def saying(oneclaw_factory: HomeFactory, tmp_path: Path) -> Callable[[dict[str, str]], McpHome]:
    """Add a server that gives raw answers."""

    def add(said: dict[str, str]) -> McpHome:
        (tmp_path / "said.json").write_text(json.dumps(said))
        home = McpHome(oneclaw_factory(["mcp"], allow=ALLOWED))
        home.add("plain", *plain(f"says={tmp_path / 'said.json'}"), call_seconds=20.0)
        return home

    return add


def tools(home: McpHome, server: str = "plain") -> list[str]:
    manifest = home.source.manifests.read(home.source.book.get(server))
    assert manifest is not None
    return [each.wire for each in manifest.tools]


@pytest.mark.long
def test_error_of_a_living_server_is_told_as_it_is(saying: Callable[[dict[str, str]], McpHome]) -> None:
    error = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"rate limited, try again in 3 s"}}'
    home = saying({"tools/call echo": error})
    answers = [home.call("plain__echo") for _ in range(4)]
    assert {each.error_type for each in answers} == {"execution_error"}
    assert {each.error_message for each in answers} == {"The MCP server plain answered: rate limited, try again in 3 s"}
    assert home.call("plain__pids").is_success  # it is still the same process


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "words"),
    some(
        [
            (
                '{"jsonrpc":"2.0","id":$ID,"error":{"code":"E_QUOTA","message":"quota exceeded"}}',
                "E_QUOTA: quota exceeded",
            ),
            ('{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001}}', "-32001"),
            ('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}', "Parse error"),
            ('{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"a "b" c"}]}}', "is no JSON"),
            ('{"jsonrpc":"2.0","result":{"content":[{"text":"a "b" c"}]},"id":$ID,"more":1}', "is no JSON"),
        ],
        3,
    ),
)
def test_answer_that_breaks_a_rule_ends_its_call(
    answer: str, words: str, saying: Callable[[dict[str, str]], McpHome]
) -> None:
    result = saying({"tools/call echo": answer}).call("plain__echo")
    assert result.error_type == "execution_error"
    assert words in str(result.error_message)


def test_answers_with_other_ids_are_those_of_the_call_that_waits(saying: Callable[[dict[str, str]], McpHome]) -> None:
    home = saying(
        {
            "initialize": initialized().replace("$ID", "0"),
            "tools/list": page("echo", "none").replace("$ID", '"$ID"'),
            "tools/call echo": DONE.replace("$ID", "0"),
            "tools/call none": DONE.replace('"id":$ID,', ""),
        }
    )
    assert home.call("plain__echo").result == "done"
    assert home.call("plain__none").result == "done"


def test_message_may_go_over_several_lines(saying: Callable[[dict[str, str]], McpHome]) -> None:
    """Servers of a few lines of shell write their answers with jq."""
    answer = json.dumps(json.loads(DONE.replace("$ID", '"$ID"')), indent=2).replace('"$ID"', "$ID")
    home = saying({"tools/call echo": f"starting {{\n{answer}"})
    assert home.call("plain__echo").result == "done"
    assert home.call("plain__pids").is_success


def test_half_of_a_character_is_replaced(saying: Callable[[dict[str, str]], McpHome]) -> None:
    home = saying({"tools/call echo": DONE.replace("done", "emoji \\ud835 cut, \\ud83d\\ude00 whole")})
    assert home.call("plain__echo").result == "emoji \ufffd cut, 😀 whole"


@pytest.mark.long
@pytest.mark.parametrize("cursor", ["x", ""])
def test_cursor_that_does_not_advance_ends_the_list(cursor: str, saying: Callable[[dict[str, str]], McpHome]) -> None:
    assert tools(saying({"tools/list": page("a", "b", nextCursor=cursor)})) == ["a", "b"]


def test_list_ends_with_what_it_has(
    saying: Callable[[dict[str, str]], McpHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_PAGES", 2)
    refused = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no such cursor"}}'
    pages = {"tools/list": page("a", nextCursor="1"), "tools/list 1": page("b", nextCursor=2), "tools/list 2": refused}
    home = saying(pages)
    assert tools(home) == ["a", "b"]
    manifest = home.source.manifests.read(home.source.book.get("plain"))
    assert manifest is not None
    assert manifest.refused == (("(all others)", "its list has more than 2 pages"),)


def test_later_oddity_leaves_the_pinned_tools_in_use(
    saying: Callable[[dict[str, str]], McpHome], tmp_path: Path
) -> None:
    home = saying({"tools/list": page("echo"), "tools/call echo": DONE})
    home.oneclaw.run(home.source.close("plain"))
    odd = page("echo").replace('"tools": [', '"tools": [3, {"name": "odd", "inputSchema": {"type": "string"}}, ')
    (tmp_path / "said.json").write_text(json.dumps({"tools/list": odd, "tools/call echo": DONE}))
    assert home.call("plain__echo").result == "done"
    manifest = home.source.manifests.read(home.source.book.get("plain"))
    assert manifest is not None
    assert sorted(name for name, _ in manifest.refused) == ["(no name)", "odd"]


@pytest.mark.parametrize(
    "answer",
    some(
        [
            initialized(protocolVersion="2024-10-07"),
            initialized(protocolVersion=3, capabilities={"tools": True, "resources": None}, serverInfo=None),
            initialized(capabilities={}),
            '{"jsonrpc":"2.0","id":$ID,"error":null,"result":{"protocolVersion":"2025-03-26"}}',
        ],
        2,
    ),
)
def test_handshake_that_is_not_whole_is_enough(answer: str, saying: Callable[[dict[str, str]], McpHome]) -> None:
    assert "echo" in tools(saying({"initialize": answer}))


@pytest.mark.long
def test_server_that_ends_at_a_probe_is_started_once_more(saying: Callable[[dict[str, str]], McpHome]) -> None:
    """Servers made with rmcp end at any request before ``initialize``."""
    home = saying({"server/discover": "exit"})
    assert home.call("plain__echo", text="hi").result == "hi"


@pytest.mark.long
def test_version_that_a_server_names_is_spoken(oneclaw_factory: HomeFactory, tmp_path: Path) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=ALLOWED))
    home.add("plain", *plain("only=2025-06-18"))
    home.oneclaw.run(home.source.close("plain"))
    assert home.call("plain__echo", text="hi").result == "hi"


class Web:
    """A server over HTTP whose answers to calls are given byte by byte."""

    def __init__(self, call: Callable[[dict[str, Any], dict[str, str]], str]) -> None:
        self.call = call
        self.sessions = 0
        self.calls = 0

    def answer(self, request: ReceivedRequest) -> bytes:
        if request.method != "POST":
            return b"HTTP/1.1 405 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        message = json.loads(request.body)
        return self.respond(message, dict(request.headers)).replace("$ID", json.dumps(message.get("id"))).encode()

    def respond(self, message: dict[str, Any], headers: dict[str, str]) -> str:
        method = message["method"]
        if "id" not in message:
            return response("", status="202 Accepted")
        if method == "initialize":
            self.sessions += 1
            return response(initialized(), session=f"s{self.sessions}")
        if method == "tools/list":
            return response(page("echo"))
        if method == "tools/call":
            self.calls += 1
            return self.call(message, headers)
        return response('{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown"}}')


def response(body: str, kind: str = "application/json", status: str = "200 OK", session: str = "") -> str:
    head = f"Mcp-Session-Id: {session}\r\n" if session else ""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{head}Connection: close\r\n\r\n{body}"


EVENTS = f": ping\r\n\r\nevent: ping\r\ndata: now\r\n\r\ndata: [DONE]\r\n\r\nid: 1\rdata:{DONE}\r\r"


@pytest.mark.parametrize(
    "answer",
    some(
        [
            response(DONE, kind="text/plain; charset=utf-8"),
            response(f"\ufeff{DONE}", kind=""),
            response(f'[{{"jsonrpc":"2.0","method":"notifications/message"}},{DONE}]'),
            response(EVENTS, kind="text/event-stream; charset=utf-8"),
            response(EVENTS, kind="text/html"),
            response(DONE, kind="text/event-stream"),
            response(f"data: {DONE}", kind="text/event-stream"),
            response(DONE, status="400 Bad Request"),
        ],
        4,
    ),
    ids=some(
        ["text", "no type", "batch", "events", "events as a page", "events that are JSON", "no blank line", "status"], 4
    ),
)
def test_body_of_an_answer_is_what_its_bytes_say(answer: str, oneclaw_factory: HomeFactory) -> None:
    server = Web(lambda message, headers: answer)
    home = McpHome(oneclaw_factory(["mcp"], allow=ALLOWED))
    with WebServer(server.answer) as web:
        home.add("web", transport="http", url=f"{web.url}/mcp")
        result = home.call("web__echo")
        home.oneclaw.close()
    # The body of a status of an error counts only if it says an error.
    assert (result.result == "done") is ("400" not in answer)


@pytest.mark.parametrize(
    "refusal",
    some(
        [
            response("", status="404 Not Found"),
            response("Unauthorized: Session not found", kind="", status="401 Unauthorized"),
            response(
                '{"jsonrpc":"2.0","id":null,'
                '"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
                status="400 Bad Request",
            ),
        ],
        3,
    ),
    ids=some(["404", "401 of rmcp", "400 of the TypeScript SDK"], 3),
)
def test_session_that_a_server_has_forgotten_is_begun_anew(refusal: str, oneclaw_factory: HomeFactory) -> None:
    server = Web(lambda message, headers: response(DONE) if headers["mcp-session-id"] == "s2" else refusal)
    home = McpHome(oneclaw_factory(["mcp"], allow=ALLOWED))
    with WebServer(server.answer) as web:
        home.add("web", transport="http", url=f"{web.url}/mcp")
        assert home.call("web__echo").result == "done"
        home.oneclaw.close()
    assert (server.sessions, server.calls) == (2, 2)


@pytest.mark.long
def test_refusal_of_the_call_itself_is_not_repeated(oneclaw_factory: HomeFactory) -> None:
    error = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"wrong unit"}}'
    server = Web(lambda message, headers: response(error, status="400 Bad Request"))
    home = McpHome(oneclaw_factory(["mcp"], allow=ALLOWED))
    with WebServer(server.answer) as web:
        home.add("web", transport="http", url=f"{web.url}/mcp")
        result = home.call("web__echo")
        home.oneclaw.close()
    assert (result.error_type, server.calls) == ("validation_error", 1)
    assert "wrong unit" in str(result.error_message)


def test_page_of_an_error_is_quoted(oneclaw_factory: HomeFactory) -> None:
    page = response("<h1>upstream is down</h1>", kind="text/html", status="503 Service Unavailable")
    home = McpHome(oneclaw_factory(["mcp"], allow=ALLOWED))
    with WebServer(Web(lambda message, headers: page).answer) as web:
        home.add("web", transport="http", url=f"{web.url}/mcp")
        result = home.call("web__echo")
        home.oneclaw.close()
    assert result.error_type == "interrupted"
    assert "status 503, text/html: <h1>upstream is down</h1>" in str(result.error_message)
