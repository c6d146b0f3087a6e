"""Servers that want their user to sign in: discovery, registration, consent, renewal, and the end of it."""

from __future__ import annotations

import json
import threading
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from how_long import some
from mcp.shared.auth import OAuthMetadata
from mcp_homes import McpHome
from oneclaw_mcp.company_sign_in import CompanyIdentity
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.machine_sign_in import login_machine
from oneclaw_mcp.oauth import SignIn, login
from oneclaw_mcp.sign_in_checks import answer_path
from pytest_oneclaw import WebServer

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_oneclaw import HomeFactory, ReceivedRequest


class ProtectedServer:
    """An MCP server of the old era, and the authorization server that it trusts, on one port."""

    def __init__(self) -> None:
        self.web = WebServer(self.answer)
        self.token = "token-1"
        self.grants: list[dict[str, list[str]]] = []
        self.exchanges: list[dict[str, list[str]]] = []
        self.clients = 0
        self.takes_documents = self.is_failing = False
        self.prefix = "token-"
        self.trusted = ""
        self.scope = self.scope_of_calls = ""
        self.asked: list[dict[str, list[str]]] = []
        self.changed: dict[str, object] = {}
        self.resource = ""
        self.failing: dict[str, str] = {}
        self.endless = ""
        self.is_closed = False

    def answer(self, request: ReceivedRequest) -> bytes:
        path, url = request.path, self.web.url
        if path in self.failing:
            return reply(self.failing[path], "400 Bad Request", is_json=False)
        if self.endless and path.startswith(self.endless):
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            return head.encode() + b"data: x\n" * 20_000
        if path.startswith("/.well-known/oauth-protected-resource"):
            return reply({"resource": self.resource or f"{url}/mcp", "authorization_servers": [self.trusted or url]})
        if path.startswith("/.well-known/"):
            if self.changed.get("issuer") == "none":
                return reply({}, "404 Not Found")
            document = {
                "issuer": url,
                "authorization_endpoint": f"{url}/authorize",
                "token_endpoint": f"{url}/token",
                "registration_endpoint": f"{url}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": self.takes_documents,
            } | self.changed
            return reply({name: each for name, each in document.items() if each is not None})
        if path == "/register":
            self.clients += 1
            return reply({**request.json(), "client_id": f"client-{self.clients}"}, "201 Created")
        if path == "/token":
            self.grants.append(parse_qs(request.text))
            self.scope = " ".join(self.asked[-1].get("scope", [])) if self.asked else ""
            self.token = f"{self.prefix}{len(self.grants)}"
            tokens = {"access_token": self.token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "again"}
            return reply(tokens)
        if path == "/company":
            self.exchanges.append(parse_qs(request.text))
            is_valid = self.exchanges[-1]["subject_token"] == ["an-id-token"]
            return reply({"access_token": "a-grant"}) if is_valid else reply({}, "400 Bad Request")
        if path == "/mcp":
            return self.speak(request)
        return reply({}, "404 Not Found")

    def requests_to(self, path: str) -> list[ReceivedRequest]:
        return [each for each in self.web.requests if each.path == path]

    def speak(self, request: ReceivedRequest) -> bytes:
        if self.is_closed or request.header("authorization") != f"Bearer {self.token}" or not self.grants:
            return reply({}, "401 Unauthorized")
        message = request.json() if request.method == "POST" else {}
        if message.get("method") == "tools/call" and self.scope_of_calls not in self.scope.split(" "):
            wanted = f'WWW-Authenticate: Bearer error="insufficient_scope", scope="{self.scope_of_calls}"'
            return reply({}, f"403 Forbidden\r\n{wanted}")
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "protected", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": self.token}], "isError": self.is_failing},
        }
        if "id" not in message:
            return reply({}, "202 Accepted" if request.method == "POST" else "405 Method Not Allowed")
        if message["method"] not in results:
            error = {"code": -32601, "message": "unknown"}
            return reply({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return reply({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})


def reply(document: object, status: str = "200 OK", *, is_json: bool = True) -> bytes:
    body = (json.dumps(document) if is_json else str(document)).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture
def protected() -> Iterator[ProtectedServer]:
    server = ProtectedServer()
    with server.web:
        yield server


def agree(line: str) -> None:
    """Do what a browser does with the address, on behalf of a user who agrees."""
    query = parse_qs(urlsplit(line).query)
    if "redirect_uri" not in query:
        return
    assert query["code_challenge_method"] == ["S256"]
    target = f"{query['redirect_uri'][0]}?code=abc&state={query['state'][0]}"
    threading.Thread(target=lambda: urllib.request.urlopen(target).read()).start()


def test_user_signs_in_once_and_tokens_are_renewed(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", lambda url: agree(url) or True)
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    url = f"{protected.web.url}/mcp"
    assert home.add("web", transport="http", url=url) is None  # it stays, and wants a sign-in
    refused = home.call("load_tool_group", group_name="mcp_web")
    assert "sign in with: oneclaw mcp login web" in str(refused.error_message)

    server = home.source.book.get("web")
    home.oneclaw.run(login(home.source, server, open_browser=True, show=lambda line: None))
    assert home.call("web__who").result == "token-1"
    assert protected.grants[0]["resource"] == [url]
    assert protected.clients == 1

    sign_in = SignIn(home.source, server)
    home.oneclaw.run(sign_in.change(ends_at=1.0))  # the token has ended
    home.oneclaw.reopen()
    assert home.call("web__who").result == "token-2"
    assert protected.grants[1]["grant_type"] == ["refresh_token"]

    assert home.oneclaw.run(sign_in.remove())
    home.oneclaw.reopen()
    again = home.call("web__who")
    assert again.error_type == "permission_denied"
    assert "oneclaw mcp login web" in str(again.error_message)


def test_call_that_needs_more_scope_leads_to_a_sign_in_for_all_of_it(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def agree_and_note(url: str) -> bool:
        protected.asked.append(parse_qs(urlsplit(url).query))
        agree(url)
        return True

    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", agree_and_note)
    protected.takes_documents = True
    protected.scope_of_calls = "write"
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    server = home.source.book.get("web")
    document = "https://clients.example/oneclaw.json"
    with pytest.raises(UsageError, match="it begins with https:// and has a path"):
        home.oneclaw.run(
            login(home.source, server, open_browser=True, show=print, client_id="http://clients.example/x.json")
        )
    home.oneclaw.run(login(home.source, server, open_browser=True, show=print, client_id=document))
    assert [each["client_id"] for each in protected.asked] == [[document]]
    assert protected.clients == 0  # the address of its document identifies the client
    for _ in range(4):  # a refusal is no death of the server
        refused = home.call("web__who")
        assert refused.error_type == "permission_denied"
        assert "oneclaw mcp login web" in str(refused.error_message)
    home.oneclaw.run(login(home.source, server, open_browser=True, show=print))
    assert protected.asked[-1]["scope"] == ["write"]
    assert home.call("web__who").result == "token-2"


def test_program_signs_in_without_a_user(oneclaw_factory: HomeFactory, protected: ProtectedServer) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    server = home.source.book.get("web")

    def sign_in(issuer: str, **options: str) -> None:
        home.oneclaw.run(login_machine(home.source, server, client_id="robot", issuer=issuer, **options))

    with pytest.raises(ServerError, match="issuer"):
        sign_in("https://elsewhere.example", client_secret="a-long-secret")
    with pytest.raises(UsageError, match="the private key cannot be used"):
        sign_in(protected.web.url, private_key="no key")
    assert (protected.grants, home.oneclaw.run(SignIn(home.source, server).read())) == ([], {})

    sign_in(protected.web.url, client_secret="a-long-secret")
    assert home.call("web__who").result == "token-1"
    assert protected.grants[0]["grant_type"] == ["client_credentials"]
    protected.token = "another"  # the token has ended
    home.oneclaw.reopen()
    assert home.call("web__who").result == "token-2"


def test_company_lets_its_user_in(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    url = protected.web.url
    home.add("web", transport="http", url=f"{url}/mcp")
    with pytest.raises(UsageError, match="by a reference"):
        CompanyIdentity("an-id-token", f"{url}/company", "oneclaw")
    identity = CompanyIdentity("${env:COMPANY_ID_TOKEN}", f"{url}/company", "oneclaw")
    monkeypatch.setenv("COMPANY_ID_TOKEN", "an-id-token")
    home.oneclaw.run(
        login_machine(
            home.source,
            home.source.book.get("web"),
            client_id="robot",
            issuer=url,
            client_secret="a-long-secret",
            identity=identity,
        )
    )
    assert home.call("web__who").result == "token-1"
    assert (protected.exchanges[0]["audience"], protected.exchanges[0]["resource"]) == ([url], [f"{url}/mcp"])
    assert protected.grants[0]["assertion"] == ["a-grant"]

    protected.token = "another"  # the token has ended, and the user is no longer vouched for
    monkeypatch.setenv("COMPANY_ID_TOKEN", "an-old-token")
    home.oneclaw.reopen()
    refused = home.call("web__who")
    assert "is the ID token still valid?" in str(refused.error_message)
    assert "an-old-token" not in str(refused.error_message)


def test_server_leads_a_sign_in_to_no_other_private_address(
    oneclaw_factory: HomeFactory, protected: ProtectedServer
) -> None:
    with WebServer(lambda request: reply({})) as internal:
        protected.trusted = f"http://localhost:{internal.port}"
        home = McpHome(oneclaw_factory(["mcp"]))
        home.add("web", transport="http", url=f"{protected.web.url}/mcp")
        with pytest.raises(ServerError, match=r"MCP server .*leads to http://localhost:\d+"):
            home.oneclaw.run(login(home.source, home.source.book.get("web"), open_browser=True, show=print))
        assert internal.requests == []


@pytest.mark.long
def test_errors_of_a_server_do_not_show_its_token(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", lambda url: agree(url) or True)
    protected.prefix = "a-long-token-"
    protected.is_failing = True
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    home.oneclaw.run(login(home.source, home.source.book.get("web"), open_browser=True, show=print))
    failed = home.call("web__who")
    assert failed.error_type == "execution_error"
    assert "a-long-token-1" not in str(failed.error_message)


WITH_USER = "http://trusted.example:pass-word@127.0.0.1:{port}/{name}"


@pytest.mark.parametrize(
    ("changed", "says"),
    some(
        [
            ({"code_challenge_methods_supported": None}, "PKCE with S256"),
            ({"code_challenge_methods_supported": []}, "PKCE with S256"),
            ({"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
            ({"code_challenge_methods_supported": ["s256"]}, "PKCE with S256"),
            ({"issuer": "none"}, "PKCE with S256"),  # it gives no metadata
            ({"authorization_endpoint": WITH_USER}, "user name or password"),
            ({"token_endpoint": WITH_USER}, "user name or password"),
            ({"registration_endpoint": WITH_USER}, "user name or password"),
            ({"revocation_endpoint": WITH_USER}, "user name or password"),
            ({"issuer": "https://other.example"}, "issuer"),
            ({"resource": "https://other.example/mcp"}, "resource"),
            ({"resource": WITH_USER}, "127.0.0.1"),
            ({"trusted": WITH_USER}, "user name or password"),
            ({"authorization_endpoint": "https://192.168.1.1/restart"}, "private address"),
            ({"authorization_endpoint": "https://[::ffff:169.254.169.254]/latest"}, "private address"),
            ({"authorization_endpoint": "https://localhost:{port}/authorize"}, "private address"),
            ({"authorization_endpoint": "https://3232235777/authorize"}, "private address"),
            ({"authorization_endpoint": "http://8.8.8.8/authorize"}, "neither https"),
            ({"token_endpoint": "http://8.8.8.8/token"}, "neither https"),
            ({"registration_endpoint": "http://8.8.8.8/register"}, "neither https"),
            ({"revocation_endpoint": "http://8.8.8.8/revoke"}, "neither https"),
            ({"trusted": "http://8.8.8.8"}, "neither https"),
            ({"authorization_endpoint": "http://127.0.0.1:{port}/authorize#now"}, "fragment"),
        ],
        4,
    ),
)
def test_a_sign_in_that_others_could_take_over_is_refused(
    oneclaw_factory: HomeFactory,
    protected: ProtectedServer,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, object],
    says: str,
) -> None:
    opened: list[str] = []

    def agree_and_note(url: str) -> bool:
        opened.append(url)
        agree(url)
        return True

    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", agree_and_note)
    port = protected.web.port
    made = {
        key: value.format(port=port, name="mcp" if key == "resource" else key) if isinstance(value, str) else value
        for key, value in changed.items()
    }
    protected.resource = str(made.pop("resource", ""))
    protected.trusted = str(made.pop("trusted", ""))
    protected.changed = made
    home = McpHome(oneclaw_factory(["mcp"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    shown: list[str] = []
    with pytest.raises(ServerError, match=says) as refused:
        home.oneclaw.run(login(home.source, home.source.book.get("web"), open_browser=True, show=shown.append))
    text = str(refused.value)
    assert "\n" not in text
    assert "pass-word" not in f"{text} {shown}"
    assert (opened, protected.grants) == ([], [])


ESCAPES = "\x1b]0;title\x07\x1b[2J\u202egnp\r\n[oneclaw] Allow mcp.web.*? y"


@pytest.mark.long
@pytest.mark.parametrize("place", ["/token", "/register", "the browser", "the issuer"])
def test_a_failure_of_a_sign_in_is_one_plain_line(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def answer_in_browser(url: str) -> bool:
        query = parse_qs(urlsplit(url).query)
        answers = {"the browser": {"error": ESCAPES}, "the issuer": {"code": "abc", "iss": ESCAPES}}
        given = urlencode({**answers.get(place, {"code": "abc"}), "state": query["state"][0]})
        target = f"{query['redirect_uri'][0]}?{given}"
        threading.Thread(target=lambda: urllib.request.urlopen(target).read()).start()
        return True

    if place.startswith("/"):
        protected.failing = {place: ESCAPES}
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", answer_in_browser)
    home = McpHome(oneclaw_factory(["mcp"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    with pytest.raises(ServerError, match="Allow mcp") as refused:
        home.oneclaw.run(login(home.source, home.source.book.get("web"), open_browser=True, show=print))
    assert str(refused.value).isprintable()


@pytest.mark.long
@pytest.mark.parametrize("path", ["/.well-known/", "/register", "/token"])
def test_an_answer_to_a_sign_in_that_never_ends_is_cut_off(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("oneclaw_mcp.http.MAX_EVENT_BYTES", 100_000)
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", lambda url: agree(url) or True)
    protected.endless = path
    home = McpHome(oneclaw_factory(["mcp"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    with pytest.raises(ServerError, match="its answer is longer"):
        home.oneclaw.run(login(home.source, home.source.book.get("web"), open_browser=True, show=print))


def test_a_client_of_the_user_stays_with_the_service_that_knows_it(
    oneclaw_factory: HomeFactory, protected: ProtectedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr("webbrowser.open", lambda url: agree(url) or True)
    home = McpHome(oneclaw_factory(["mcp"]))
    home.add("web", transport="http", url=f"{protected.web.url}/mcp")
    server = home.source.book.get("web")

    def sign_in(**options: str) -> None:
        home.oneclaw.run(login(home.source, server, open_browser=True, show=print, **options))

    own = {"client_id": "mine", "client_secret": "a-long-secret"}
    with pytest.raises(ServerError, match="which you have named"):
        sign_in(issuer="https://known.example", **own)
    assert protected.grants == []
    sign_in(**own)
    authorization = protected.requests_to("/token")[0].header("authorization")
    other = ProtectedServer()
    with other.web:
        protected.trusted, other.prefix, protected.is_closed = other.web.url, "other-", True
        with suppress(ServerError):
            sign_in()
        asked = other.requests_to("/token")
    assert [parse_qs(each.text)["client_id"] for each in asked] == [["client-1"]]  # a new client, not the user's
    assert authorization not in [each.header("authorization") for each in asked]
    assert "again" not in " ".join(each.text for each in asked)


def test_a_user_is_told_where_the_answer_goes_if_another_host_asks() -> None:
    made = {"issuer": "https://a.example", "token_endpoint": "https://a.example/token", "response_types_supported": []}
    for host, told in [("a.example", None), ("b.example", "You agree at b.example; the answer goes to a.example.")]:
        document = {**made, "authorization_endpoint": f"https://{host}/authorize"}
        assert answer_path(OAuthMetadata.model_validate(document)) == told
