"""`oneclaw setup`: what it stores, and that it stores nothing before it is agreed to."""

import asyncio
import os
import re

import pytest
from click.testing import CliRunner
from model_server import ModelServer, raw, silence, status, text
from oneclaw_setup.asking import choose_model
from oneclaw_setup.local_servers import find_servers
from pseudo_terminal import CTRL_C, PseudoTerminal

KEY = "sk-a-key-of-a-test-0123456789"


def port_of(server):
    return int(server.url.split(":")[2].partition("/")[0])


@pytest.mark.one_python  # needs other plugins
def test_options_set_up_a_model_without_a_terminal(oneclaw, ok, server):
    outcome = oneclaw("setup", "--provider", "own", "--base-url", server.url, "--yes")

    assert (outcome.status, outcome.stderr) == (0, "")
    assert "It answers: Hello." in outcome.stdout
    assert ok("run", "hello") == "Hello.\n"
    assert ok("sessions", "list", "--json")[0]["title"] == "hello", "the test leaves no session"


@pytest.mark.one_python  # needs other plugins
def test_key_of_another_variable_is_stored_and_not_shown(oneclaw, ok, server, home, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)

    outcome = oneclaw(
        "setup", "--provider", "own", "--base-url", server.url, "--model", "m", "--key-from-env", "MY_KEY", "--yes"
    )

    assert outcome.status == 0
    assert KEY not in outcome.stdout + outcome.stderr
    assert KEY in (home / "keys.json").read_text()
    assert {each.headers["authorization"] for each in server.requests if each.method == "POST"} == {f"Bearer {KEY}"}
    monkeypatch.delenv("MY_KEY")
    assert oneclaw("setup", "--provider", "own", "--model", "other", "--yes").status == 0, "the stored key is kept"
    assert ok("models", "default") == "own/other (stored)\n"


@pytest.mark.one_python  # needs other plugins
def test_key_of_the_services_own_variable_stays_there(oneclaw, serve_openai, home):
    outcome = oneclaw("setup", "--provider", "openai", "--model", "m", "--no-test", "--yes")

    assert "in the environment variable OPENAI_API_KEY" in outcome.stdout
    assert not (home / "keys.json").exists()


@pytest.fixture
def serve_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.one_python  # needs other plugins
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no terminal to ask at"),
        (["--yes"], "say which service: --provider NAME"),
        (["--provider", "nowhere", "--yes"], "add --base-url URL"),
        (["--provider", "anthropic", "--model", "m", "--yes"], "add --key-from-env NAME, or set ANTHROPIC_API_KEY"),
        (["--provider", "openai", "--key-from-env", "NO_SUCH", "--yes"], "NO_SUCH is not set"),
        (["--provider", "own", "--base-url", "ftp://x", "--model", "m", "--yes"], "the base URL is invalid"),
        (
            ["--provider", "Own!", "--base-url", "http://localhost/v1", "--model", "m", "--yes"],
            "not a valid name for a provider",
        ),
    ],
)
def test_what_is_missing_is_said(oneclaw, arguments, message):
    outcome = oneclaw("setup", *arguments)

    assert outcome.status != 0
    assert message in outcome.stderr


@pytest.mark.one_python  # needs other plugins
def test_failed_test_stores_nothing(oneclaw, ok):
    with ModelServer([status(401)]) as refusing:
        outcome = oneclaw("setup", "--provider", "own", "--base-url", refusing.url, "--model", "m", "--yes")

    assert outcome.status == 1
    assert "401" in outcome.stderr
    assert "own" not in ok("providers", "list")
    assert ok("models", "default").startswith("offline/rules")


@pytest.mark.one_python  # needs other plugins
@pytest.mark.parametrize(("model", "key"), [("", KEY), ("m", "no key, with spaces")])
def test_what_cannot_be_stored_as_a_whole_is_not_stored_in_part(oneclaw, ok, home, monkeypatch, model, key):
    oneclaw("models", "default", "openai/before")
    monkeypatch.setenv("MY_KEY", key)

    arguments = (
        "--base-url",
        "http://localhost/v1",
        "--model",
        model,
        "--key-from-env",
        "MY_KEY",
        "--no-test",
        "--yes",
    )
    outcome = oneclaw("setup", "--provider", "own", *arguments)

    assert outcome.status != 0
    assert "own" not in ok("providers", "list")
    assert ok("models", "default") == "openai/before (stored)\n"
    assert not (home / "keys.json").exists()


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_mistakes_are_corrected_at_the_terminal(home, server):
    arguments = ("setup", "--provider", "own", "--base-url", "http://127.0.0.1:1/v1")
    with PseudoTerminal(*arguments, environ=os.environ) as terminal:
        terminal.expect("Key of own, Enter for none (not shown): ")
        terminal.type(f"{KEY}\n")
        terminal.expect("Change the address or the key, and try again?")
        terminal.type("y\n")
        terminal.expect("Address [http://127.0.0.1:1/v1]: ")
        terminal.type("ftp://here\n")
        terminal.expect("the base URL is invalid")
        terminal.expect("Address [http://127.0.0.1:1/v1]: ")
        terminal.type(server.url + "\n")
        terminal.expect("Key of own, Enter for the same (not shown): ")
        terminal.type("\n")
        terminal.expect("Model, by number or name [test]: ")
        terminal.type("\n")
        terminal.expect("It answers: Hello.")
        terminal.expect("Store this?")
        assert not (home / "keys.json").exists()
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130
        assert KEY not in terminal.shown

    assert not (home / "keys.json").exists()


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_first_start_without_a_command_offers_set_up(home):
    arguments = {**os.environ, "ONECLAW_PROFILE": "work"}
    with PseudoTerminal("--profile", "work", environ=arguments) as terminal:
        terminal.expect("Set up a model now? [Y/n]: ")
        terminal.type("n\n")
        terminal.expect("oneclaw setup")
        terminal.expect(">")
        terminal.type("\x04")
        assert terminal.exit_status() == 0

    assert (home.parent / "home-profiles" / "work" / "oneclaw.db").exists()
    assert not home.exists()


def test_servers_on_this_machine_are_found_side_by_side(unused_port):
    html = raw(b"<html>", content_type="text/html")
    with ModelServer([], models=[{"id": "a"}, {"id": "b c"}, {"id": 7}, "d"]) as good, HostileServer(html) as page:
        ports = {
            "good": ("Good", port_of(good)),
            "page": ("Page", port_of(page)),
            "none": ("None", unused_port),
        }
        found = asyncio.run(find_servers(ports))

    assert [(each.name, each.models) for each in found] == [("good", ("a",))]


@pytest.mark.parametrize("reply", [silence(), raw(b"[" * 100_000), raw(b"x" * 3_000_000), status(500)])
def test_what_is_no_model_server_is_left_out(reply, monkeypatch):
    monkeypatch.setattr("oneclaw_setup.local_servers.PROBE_SECONDS", 0.3)
    with HostileServer(reply) as server:
        assert asyncio.run(find_servers({"x": ("X", port_of(server))})) == []


class HostileServer(ModelServer):
    """Answers what it is told to, also where models are listed."""

    def __init__(self, reply):
        super().__init__([])
        self._reply = reply

    def reply_to(self, request):
        return self._reply


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_profiles_are_listed(ok, home):
    assert "there are no profiles" in ok("profiles", "list")
    ok("--profile", "work", "config", "set", "turn_max_tool_rounds", "7")

    listed = ok("--profile", "work", "profiles", "list", "--json")

    assert listed == [{"name": "work", "home": str(home.parent / "home-profiles" / "work"), "is_current": True}]
    assert ok("config", "get", "turn_max_tool_rounds") == "200\n"


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_settings_of_plugins_are_asked_by_condition(home, server):
    plugins = ",".join(["scheduled_tasks", "google_workspace"])
    environ = {**os.environ, "ONECLAW_DISABLED_PLUGINS": plugins, "SHELL": "/bin/none"}
    arguments = ("setup", "--provider", "own", "--base-url", server.url, "--model", "test", "--no-test")
    with PseudoTerminal(*arguments, environ=environ) as terminal:
        terminal.expect("Key of own, Enter for none (not shown): ")
        terminal.type("\n")
        terminal.expect("Store this?")
        terminal.type("\n")
        terminal.expect("Go through the settings of plugins?")
        terminal.type("y\n")
        terminal.expect("Value [ddgs]: ")
        terminal.type("nothing\n")
        terminal.expect("search.backend cannot be 'nothing'")
        terminal.expect("Value [ddgs]: ")
        terminal.type("tavily\n")
        terminal.expect("Key of search.api_key")
        terminal.type(f"{KEY}\n")
        terminal.expect("Ready.")
        assert terminal.exit_status() == 0
        assert "search.url" not in terminal.shown
    assert KEY in (home / "keys.json").read_text()


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_address_is_checked_before_a_name_is_asked_for(home, server):
    with PseudoTerminal("setup", environ=os.environ) as terminal:
        terminal.expect("Another service that speaks Chat Completions, by its address")
        number = re.findall(r"(\d+)  Another service", terminal.shown)[-1]
        terminal.expect("Number [1]: ")
        terminal.type(f"{number}\n")
        terminal.expect("Its address, such as http://localhost:8000/v1: ")
        terminal.type("localhost\n")
        terminal.expect("the base URL is invalid")
        terminal.expect("Its address, such as http://localhost:8000/v1: ")
        terminal.type(f"{server.url}\n")
        terminal.expect("A name for it [own]: ")
        terminal.type("Not A Name\n")
        terminal.expect("A name for it [own]: ")
        terminal.type("\n")
        terminal.expect("Key of own, Enter for none (not shown): ")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_model_is_found_by_a_part_of_its_name(home):
    names = [{"id": f"model-{number}"} for number in range(30)]
    with ModelServer(lambda _: text("Hi."), models=names) as server:
        arguments = ("setup", "--provider", "own", "--base-url", server.url, "--no-test")
        with PseudoTerminal(*arguments, environ={**os.environ, "SHELL": ""}) as terminal:
            terminal.expect("Key of own, Enter for none (not shown): ")
            terminal.type("\n")
            terminal.expect("and 10 more")
            terminal.type("model\n")
            terminal.expect("model is a part of 30 names, but no model in the list. Use it? [y/N]: ")
            terminal.type("n\n")
            terminal.type("29\n")
            terminal.expect("Model, by number or name [model-29]: ")
            terminal.type("\n")
            terminal.expect("Default model: own/model-29")


@pytest.mark.parametrize("names", [[], ["mine", "yours"]])
def test_a_blank_is_no_name_of_a_model(names):
    with CliRunner().isolation(input=" \nmine\n"):
        assert choose_model(names) == "mine"
