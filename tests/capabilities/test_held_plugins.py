"""A plugin with a `capabilities.json` is held to it where its code goes through its context."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from how_long import some
from program import home, install_plugin, ok, oneclaw

__all__ = ["home", "install_plugin", "ok", "oneclaw"]

SOURCE = """
from oneclaw_core import ToolContext, hookimpl, tool
from pydantic import BaseModel, SecretStr

class Settings(BaseModel):
    token: SecretStr = SecretStr("")

@tool
async def parcel_fetch(context: ToolContext, url: str, place: str = "tool") -> str:
    "Fetch a page; use it when asked to."
    client = context.http if place == "tool" else context.plugin.http
    return (await client.get(url)).text

@tool
def parcel_read(context: ToolContext, path: str) -> str:
    "Read a label; use it when asked to."
    return context.paths.readable(path).read_text()

@tool
def parcel_write(context: ToolContext, path: str) -> str:
    "Write a label; use it when asked to."
    context.paths.writable(path).write_text("label")
    return "written"

@tool
async def parcel_secret(context: ToolContext, name: str) -> str:
    "Read a secret; use it when asked to."
    return str(await context.plugin.secrets.get(name))

@tool
async def parcel_service(context: ToolContext, name: str, place: str = "tool") -> str:
    "Use a service; use it when asked to."
    services = context.services if place == "tool" else context.plugin.services
    getattr(services, name)
    return "used"

@hookimpl
def register_settings(register):
    register(Settings)

@hookimpl
def register_tools(register):
    for each in (parcel_fetch, parcel_read, parcel_write, parcel_secret, parcel_service):
        register(each)
"""
DECLARED = {
    "format": 1,
    "hosts": [{"name": "127.0.0.1", "reason": "looks up parcels"}],
    "files": [{"path": "labels/*.txt", "access": "read and write", "reason": "prints labels"}],
    "services": [{"name": "sessions", "reason": "finds earlier parcels"}],
    "secrets": [{"name": "account.*", "reason": "signs in"}],
}


@pytest.fixture
def address():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"found")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def call(oneclaw, install_plugin):
    """Call a tool of a plugin that declares these capabilities: its result, or its error type and message."""

    def install(declared):
        files = {} if declared is None else {"capabilities.json": json.dumps(declared)}
        install_plugin("parcels", SOURCE, files=files)

        def run(tool, **arguments):
            options = ("--allow", "network.private")
            found = oneclaw("call", *options, tool, json.dumps(arguments)).json
            return found.get("result") or (found["error_type"], found["message"])

        return run

    return install


@pytest.mark.parametrize("place", some(["tool", "plugin"], 2))
def test_hosts_are_held(call, address, place):
    run = call(DECLARED)

    assert run("parcel_fetch", url=f"http://127.0.0.1:{address}/", place=place).find("found") >= 0
    kind, message = run("parcel_fetch", url=f"http://localhost:{address}/", place=place)
    assert kind == "permission_denied"
    assert "plugin parcels: its capabilities.json" in message
    assert "the host 'localhost'" in message


def test_files_are_held(call, home):
    run = call(DECLARED)
    labels = home / "workspace" / "labels"
    labels.mkdir(parents=True)
    (labels / "one.csv").write_text("1")

    assert run("parcel_write", path=str(labels / "one.txt")) == "written"
    assert run("parcel_read", path="labels/one.txt") == "label"
    for tool, word in (("parcel_read", "reading"), ("parcel_write", "writing")):
        kind, message = run(tool, path=str(labels / "one.csv"))
        assert kind == "permission_denied"
        assert f"does not name {word} '{labels / 'one.csv'}'" in message


def test_secrets_are_held(call):
    run = call(DECLARED)

    assert run("parcel_secret", name="token") == "None"  # a field of its settings
    assert run("parcel_secret", name="account.ada") == "None"
    assert run("parcel_secret", name="other")[0] == "permission_denied"


@pytest.mark.parametrize("place", some(["tool", "plugin"], 2))
def test_services_of_the_home_are_held(call, place):
    run = call(DECLARED)

    assert run("parcel_service", name="sessions", place=place) == "used"
    kind, message = run("parcel_service", name="configuration", place=place)
    assert kind == "permission_denied"
    assert "the home service 'configuration'" in message


@pytest.mark.long
def test_a_plugin_that_declares_nothing_works_as_before(call, address):
    run = call(None)

    assert "found" in run("parcel_fetch", url=f"http://localhost:{address}/")
    assert run("parcel_service", name="configuration") == "used"


def test_a_faulty_declaration_allows_nothing(call, address, oneclaw):
    run = call({"format": 1, "hosts": "*"})

    assert run("parcel_fetch", url=f"http://127.0.0.1:{address}/")[0] == "permission_denied"
    listed = oneclaw("plugins", "list").stdout
    assert "capabilities.json of parcels: /hosts must be a list" in listed


def test_what_was_not_reviewed_of_a_declaration_is_denied(call, address, oneclaw, tmp_path):
    run = call(DECLARED)
    assert oneclaw("plugins", "review", "parcels", "--accept").status == 0
    file = tmp_path / "site" / "oneclaw_parcels" / "capabilities.json"
    file.write_text(json.dumps({**DECLARED, "hosts": [*DECLARED["hosts"], {"name": "localhost", "reason": "more"}]}))

    assert run("parcel_fetch", url=f"http://localhost:{address}/")[0] == "permission_denied"
    assert oneclaw("plugins", "review", "parcels", "--accept").status == 0
    assert "found" in run("parcel_fetch", url=f"http://localhost:{address}/")
