"""Files that the user changes between two turns of a session."""

import json

import pytest
from model_server import ModelServer, calls, text
from program import home, oneclaw

__all__ = ["home", "oneclaw"]


@pytest.fixture
def say(oneclaw, monkeypatch):
    """Send a message in one session, each time as a new start of the program."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")

    def run(server, message):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return oneclaw("run", "--session", "x", "--model", "openai_compatible/m", message)

    return run


def test_a_change_of_the_user_is_not_lost_in_a_later_turn(say, home):
    home.mkdir()
    workspace = home / "workspace"
    workspace.mkdir()
    notes = workspace / "notes.txt"
    notes.write_text("one\n")
    write = {"path": str(notes), "content": "one\ntwo\n"}
    script = [
        calls(("read_file", {"path": str(notes)})),
        text("One line."),
        calls(("write_file", write)),
        calls(("read_file", {"path": str(notes)})),
        calls(("write_file", write)),
        text("Done."),
    ]
    with ModelServer(script) as server:
        assert say(server, "What is in it?").status == 0
        notes.write_text("one\nof the user\n")
        assert say(server, "Add a line").status == 0
    results = [each["content"] for each in server.bodies[-1]["messages"] if each["role"] == "tool"]
    assert "changed since you read it last" in results[1]
    assert "of the user" in results[2]
    assert json.loads(results[3])["status"] == "success"
