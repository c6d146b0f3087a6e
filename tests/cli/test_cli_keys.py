"""`oneclaw keys`, and that no key is ever shown."""

import io
import json
import logging
import os
import stat
import sys

import pytest
from how_long import some
from model_server import calls, status, text
from pseudo_terminal import CTRL_C, PseudoTerminal
from system_keyrings import MemoryKeyring, system_keyring

from oneclaw_core.secrets import redaction

CANARY = "sk-canary-4f9d1c7e55aa"
MODEL = ("--model", "openai_compatible/test")


@pytest.fixture
def give(monkeypatch):
    """Give the program something to read: ``give("text")``."""

    def to_stdin(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode()), encoding="utf-8"))

    return to_stdin


@pytest.fixture
def set_key(oneclaw, give):
    """Store a key through a pipe: ``set_key("openai")``."""

    def store(name, key=CANARY + "\n", *options):
        give(key)
        outcome = oneclaw("keys", "set", *options, name)
        assert key.strip() == "" or key.strip() not in outcome.stdout + outcome.stderr
        return outcome

    return store


@pytest.fixture
def stored(home, monkeypatch):
    """A stored key that this process knows nothing of yet, as in a new process."""
    monkeypatch.setattr("oneclaw_core.secrets.redaction._remembered", redaction._Remembered())
    home.mkdir(mode=0o700)
    (home / "keys.json").write_text(json.dumps({"keys": {"openai_compatible": {"key": CANARY}}}))
    (home / "keys.json").chmod(0o600)


@pytest.fixture
def served(serve, monkeypatch):
    """The same as ``serve``, without a key in the environment."""

    def start(*script):
        server = serve(*script)
        monkeypatch.delenv("OPENAI_API_KEY")
        return server

    return start


def sources(documents):
    return {each["provider"]: each["source"] for each in documents if each["provider"] is not None}


def everything_below(directory):
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != "keys.json")


def test_a_key_from_a_pipe_is_stored_and_sent(set_key, served, ok, home):
    server = served(text("Hello."))
    outcome = set_key("openai_compatible", f"{CANARY}\r\nanother line\n")
    assert outcome.status == 0
    assert outcome.stdout.startswith("the key of openai_compatible is stored in keys.json in the home")
    assert stat.S_IMODE((home / "keys.json").stat().st_mode) == 0o600
    assert ok("run", *MODEL, "hi") == "Hello.\n"
    assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"


@pytest.mark.long
def test_a_key_typed_in_a_terminal_is_not_shown(home, ok):
    with PseudoTerminal("keys", "set", "gemini", environ=os.environ) as terminal:
        terminal.expect("Key of gemini (not shown): ")
        terminal.type(CANARY + "\n")
        terminal.expect("the key of gemini is stored")
        assert terminal.exit_status() == 0
        assert CANARY not in terminal.raw
    assert sources(ok("keys", "list", "--json"))["gemini"] == "file"
    assert json.loads((home / "keys.json").read_text()) == {"keys": {"gemini": {"key": CANARY, "address": "gemini"}}}


@pytest.mark.long
def test_ctrl_c_instead_of_a_key_stores_nothing(home):
    with PseudoTerminal("keys", "set", "gemini", environ=os.environ) as terminal:
        terminal.expect("Key of gemini (not shown): ")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130
        assert "Traceback" not in terminal.shown
    assert not (home / "keys.json").exists()


@pytest.mark.long
def test_the_system_keyring_is_preferred(set_key, served, ok, home):
    server = served(text("Hello."))
    with system_keyring(MemoryKeyring()) as backend:
        assert "is stored in the system keyring" in set_key("openai_compatible").stdout
        assert list(backend.passwords.values()) == [CANARY]
        assert sources(ok("keys", "list", "--json"))["openai_compatible"] == "keyring"
        assert ok("run", *MODEL, "hi") == "Hello.\n"
        assert "keys.json" in set_key("openai_compatible", CANARY, "--file").stdout
        assert backend.passwords == {}
    assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
    assert CANARY.encode() not in everything_below(home)


def test_keys_are_listed_by_where_they_come_from(set_key, ok, oneclaw, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    set_key("gemini")
    set_key("ollama")
    assert sources(ok("keys", "list", "--json")) == {
        "openai": None,
        "openai_compatible": None,
        "anthropic": "environment",
        "gemini": "file",
        "ollama": "file",
    }
    listing = ok("keys", "list")
    assert [line.split() for line in listing.splitlines() if line.startswith("gemini")] == [
        ["gemini", "file", "GEMINI_API_KEY"]
    ]
    assert CANARY not in listing

    set_key("anthropic")
    both = oneclaw("keys", "list")
    assert "the environment variable ANTHROPIC_API_KEY is set, and goes before the stored key" in both.stderr


def test_a_key_is_removed(set_key, ok, oneclaw, home, monkeypatch):
    set_key("gemini")
    assert ok("keys", "remove", "gemini") == "the key of gemini is removed\n"
    assert CANARY not in (home / "keys.json").read_text()
    assert oneclaw("keys", "remove", "gemini").status == 2

    set_key("gemini")
    monkeypatch.setenv("GEMINI_API_KEY", CANARY)
    assert "GEMINI_API_KEY is set, and its key is still used" in oneclaw("keys", "remove", "gemini").stderr


@pytest.mark.long
def test_the_key_of_a_provider_that_is_gone_is_listed_and_removed(set_key, ok):
    ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", "https://lab.example/v1")
    set_key("lab")
    ok("providers", "remove", "lab")
    assert sources(ok("keys", "list", "--json"))["lab"] == "file"
    ok("keys", "remove", "lab")
    assert "lab" not in sources(ok("keys", "list", "--json"))


@pytest.mark.parametrize("key", ["", "\n", "two words\n", "schl\u00fcssel\n", "a\x00b\n", "x" * 9000])
def test_what_is_no_key_is_refused(set_key, home, key):
    outcome = set_key("openai", key)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert len(outcome.stderr.splitlines()) == 1
    assert not (home / "keys.json").exists()


def test_a_key_given_as_an_argument_is_refused_and_not_repeated(oneclaw, home):
    for arguments in [("openai", CANARY), (CANARY,), (CANARY, "openai")]:
        outcome = oneclaw("keys", "set", *arguments)
        assert outcome.status == 2
        assert CANARY not in outcome.stdout + outcome.stderr
    assert oneclaw("keys", "remove", CANARY).status == 2
    assert CANARY.encode() not in everything_below(home)


def test_the_offline_model_needs_no_key(set_key):
    assert set_key("offline").status == 2


def test_a_file_that_others_can_read_stops_what_needs_it_and_nothing_else(set_key, served, oneclaw, home):
    served(text("Hello."))
    set_key("openai_compatible")
    (home / "keys.json").chmod(0o644)
    for arguments in [("run", *MODEL, "hi"), ("keys", "list"), ("keys", "remove", "openai_compatible")]:
        outcome = oneclaw(*arguments)
        assert outcome.status == 1
        assert f"chmod 600 {home}/keys.json" in outcome.stderr
    assert oneclaw("run", "What time is it?").status == 0
    checks = {each["check"]: each for each in oneclaw("doctor", "--json").json["checks"]}
    assert (checks["keys"]["status"], checks["keys"]["remedy"]) == (
        "problem",
        f"chmod 600 {home}/keys.json, and replace keys that others may have seen",
    )
    (home / "keys.json").chmod(0o600)
    checks = {each["check"]: each for each in oneclaw("doctor", "--json").json["checks"]}
    assert checks["keys"]["message"] == "0 stored in the system keyring, 1 in keys.json"


@pytest.mark.long
def test_a_model_cannot_read_the_key_file(set_key, oneclaw, home, monkeypatch):
    set_key("openai")
    for start in (home, home.parent):
        monkeypatch.chdir(start)
        for path in ("keys.json", "home/keys.json", str(home / "keys.json"), "../keys.json"):
            outcome = oneclaw("call", "read_file", json.dumps({"path": path}))
            assert outcome.json["status"] == "error"
            assert CANARY not in outcome.stdout + outcome.stderr


LEAKS = """
    import json, logging, os
    from oneclaw_core import hookimpl, tool

    def key():
        with open(os.environ["ONECLAW_HOME"] + "/keys.json") as file:
            return json.load(file)["keys"]["openai_compatible"]["key"]

    @tool
    def careless() -> str:
        "Log and raise a key."
        logging.getLogger("oneclaw.careless").warning("the key is %s", key())
        raise RuntimeError("refused with " + key())

    @hookimpl
    def register_tools(register):
        register(careless)
"""


@pytest.mark.parametrize("place", some(["file", "keyring"], 2))
def test_no_key_in_output_errors_logs_exports_or_checks(set_key, served, oneclaw, ok, home, place):
    echo = {"error": {"message": f"Incorrect API key provided: {CANARY}. Authorization: Bearer {CANARY}"}}
    served(text("Hello."), status(401, body=echo), status(400, body=echo))
    shown = []
    with system_keyring(MemoryKeyring()):
        set_key("openai_compatible", CANARY, *(["--file"] if place == "file" else []))
        for arguments in [
            ("run", *MODEL, "--session", "s", "hi"),
            ("run", *MODEL, "--session", "s", "again"),
            ("run", *MODEL, "--session", "s", "--json", "and again"),
            ("sessions", "export", "s", "--format", "json"),
            ("sessions", "show", "s"),
            ("keys", "list"),
            ("providers", "list", "--json"),
            ("models", "list", "openai_compatible"),
            ("config", "list", "--json"),
            ("prompt", *MODEL, "--json"),
            ("doctor", "--json"),
        ]:
            outcome = oneclaw(*arguments)
            shown += [outcome.stdout, outcome.stderr]
    assert "refuses the API key (HTTP 401)" in "".join(shown)
    assert CANARY not in "".join(shown)
    assert CANARY.encode() not in everything_below(home)


@pytest.mark.long
def test_a_plugin_that_logs_a_key_does_not_get_it_into_the_log(stored, served, oneclaw, home, install_plugin):
    install_plugin("careless", LEAKS)
    served(calls(("careless", {})), text("Done."))
    outcome = oneclaw("run", *MODEL, "be careless")
    log = (home / "logs" / "oneclaw.log").read_text()
    assert "the key is [redacted]" in log
    assert "warning: the key is [redacted]" in outcome.stderr
    assert CANARY not in log


def test_a_crash_does_not_get_a_key_into_the_log(stored, served, oneclaw, home, monkeypatch):
    served(text("Hello."))

    def crash(*arguments, **options):
        raise RuntimeError(f"sent {CANARY}")

    monkeypatch.setattr("oneclaw_openai.chat.OpenAIChatProvider._key_headers", crash)
    outcome = oneclaw("run", *MODEL, "hi")
    assert outcome.status == 1
    log = (home / "logs" / "oneclaw.log").read_text()
    assert "Traceback" in log
    assert "sent [redacted]" in log
    assert CANARY not in log + outcome.stdout + outcome.stderr
    assert logging.getLogger("oneclaw").handlers == []
