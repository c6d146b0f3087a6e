"""`--attach`, `/attach` and `/detach`."""

import base64
import json
import sqlite3
import sys

import pytest
from how_long import some
from model_server import status, text

MODEL = ("--model", "openai_compatible/test")
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
JPEG = b"\xff\xd8\xff\xe0" + b"photo"
PDF = b"%PDF-1.7\n" + b"pages"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A directory to work in, with files to attach."""
    directory = tmp_path / "work"
    directory.mkdir()
    (directory / "chart.png").write_bytes(PNG)
    (directory / "photo").write_bytes(JPEG)
    (directory / "my report.pdf").write_bytes(PDF)
    (directory / "notes.txt").write_text("plain")
    monkeypatch.chdir(directory)
    monkeypatch.setenv("HOME", str(directory))
    return directory


@pytest.fixture
def chat(oneclaw, tmp_path, monkeypatch):
    """Send lines to ``oneclaw chat`` without a terminal: ``chat("hello", "/quit", options=[...])``."""

    def talk(*lines, options=MODEL):
        (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
        with (tmp_path / "lines").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return oneclaw("chat", *options)

    return talk


def has(data, body):
    """Whether the newest message of a request carries a file."""
    newest = [message for message in body["messages"] if message["role"] == "user"][-1]
    return base64.b64encode(data).decode() in json.dumps(newest)


@pytest.mark.long
@pytest.mark.usefixtures("files")
def test_files_go_with_the_message(oneclaw, serve):
    server = serve(text("I see."))
    outcome = oneclaw("run", *MODEL, "--attach", "chart.png", "--attach", "photo", "look")
    assert (outcome.status, outcome.stdout) == (0, "I see.\n")
    assert has(PNG, server.bodies[0])
    assert has(JPEG, server.bodies[0])


@pytest.mark.parametrize(
    ("name", "reason"),
    [("notes.txt", "accepted are PNG"), ("missing.png", "No such file"), (".", "directory"), ("", "No such file")],
)
@pytest.mark.usefixtures("files")
def test_what_cannot_be_attached_is_wrong_usage_and_nothing_is_sent(oneclaw, serve, ok, name, reason):
    server = serve(text("I see."))
    for command in ("run", *MODEL, "--attach", name, "look"), ("chat", *MODEL, "--attach", name):
        outcome = oneclaw(*command)
        assert (outcome.status, outcome.stdout) == (2, "")
        assert reason.lower() in outcome.stderr.lower()
    assert server.requests == []
    assert ok("sessions", "list", "--json") == []


@pytest.mark.usefixtures("files")
def test_a_model_that_takes_no_files_says_so_before_anything_is_stored(oneclaw, ok):
    outcome = oneclaw("run", "--attach", "chart.png", "look")
    assert outcome.status == 2
    assert "offline/rules takes no attachments, not chart.png (image/png)" in outcome.stderr
    assert ok("sessions", "list", "--json") == []


@pytest.mark.long
@pytest.mark.usefixtures("files")
def test_what_the_user_says_about_a_model_counts(oneclaw, ok, serve):
    server = serve(text("I see."))
    ok("models", "set", "openai_compatible/test", "input_media_types", "image")
    refused = oneclaw("run", *MODEL, "--attach", "my report.pdf", "look")
    assert "openai_compatible/test takes images only, not my report.pdf (application/pdf)" in refused.stderr
    assert oneclaw("run", *MODEL, "--attach", "chart.png", "look").status == 0
    assert len(server.bodies) == 1


@pytest.mark.long
@pytest.mark.usefixtures("files")
def test_a_file_goes_with_the_next_message_of_a_chat_alone(chat, serve):
    server = serve(text("I see."), text("Nothing there."))
    outcome = chat("/attach chart.png", "look", "and now?", "/attach")
    assert outcome.status == 0
    assert "chart.png (image/png, 1 kB) goes with your next message\nI see.\n" in outcome.stdout
    assert outcome.stdout.endswith("nothing is attached; attach a file with: /attach FILE\n")
    assert has(PNG, server.bodies[0])
    assert not has(PNG, server.bodies[1])


@pytest.mark.long
@pytest.mark.usefixtures("files")
def test_files_given_at_the_start_go_with_the_first_message(chat, serve):
    server = serve(text("I see."), text("Nothing there."))
    chat("look", "and now?", options=[*MODEL, "--attach", "chart.png"])
    assert [has(PNG, body) for body in server.bodies] == [True, False]


@pytest.mark.parametrize(
    "typed",
    some(
        [
            "my report.pdf",
            "'my report.pdf'",
            '"my report.pdf"',
            r"my\ report.pdf",
            "~/my report.pdf",
            r"~/my\ report.pdf",
        ],
        6,
    ),
)
@pytest.mark.usefixtures("files")
def test_a_path_can_be_typed_or_dragged_into_the_terminal(chat, typed):
    outcome = chat(f"/attach {typed}")
    assert (outcome.status, outcome.stdout) == (
        0,
        "my report.pdf (application/pdf, 1 kB) goes with your next message\n",
    )


@pytest.mark.parametrize(
    "typed", some(["missing.png", "'unclosed", "~nobody-of-that-name/x.png", "notes.txt", ".", "a" * 5000], 3)
)
@pytest.mark.usefixtures("files")
def test_what_cannot_be_attached_in_a_chat_is_a_line(chat, typed):
    outcome = chat(f"/attach {typed}", "/attach")
    assert "cannot be attached" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert outcome.stdout == "nothing is attached; attach a file with: /attach FILE\n"


@pytest.mark.usefixtures("files")
def test_what_is_attached_is_taken_back(chat, serve):
    server = serve(text("Nothing there."))
    outcome = chat("/attach chart.png", "/attach my report.pdf", "/detach", "look")
    assert outcome.stdout.endswith("nothing is attached\nNothing there.\n")
    assert not has(PNG, server.bodies[0])


@pytest.mark.usefixtures("files")
def test_a_refused_file_stays_attached_for_another_model(chat, serve):
    server = serve(text("I see."))
    outcome = chat("/attach chart.png", "look", "/model openai_compatible/test", "look", options=())
    assert "offline/rules takes no attachments" in outcome.stderr
    assert "I see." in outcome.stdout
    assert has(PNG, server.bodies[0])


@pytest.mark.usefixtures("files")
def test_a_file_that_was_sent_is_not_sent_twice_because_the_service_failed(chat, serve):
    serve(status(400))
    outcome = chat("/attach chart.png", "look", "/attach")
    assert outcome.stdout.endswith("nothing is attached; attach a file with: /attach FILE\n")


def test_run_attaches_what_a_message_names(oneclaw, ok, files, home):
    (files / ".env").write_text("KEY=1")
    done = oneclaw("run", "--session", "s", "Explain @notes.txt and @.env")
    assert f"attached: {files}/notes.txt\n" in done.stderr
    assert f"not attached: {files}/.env, a hidden file" in done.stderr
    shown = ok("sessions", "show", "s")
    assert f"[The user attached the file {files}/notes.txt:]\n" in shown
    assert "KEY=1" not in shown
    with sqlite3.connect(home / "oneclaw.db") as database:
        ((marks,),) = database.execute("SELECT marks FROM sessions")
    origin = "the attached file notes.txt"
    assert json.loads(marks) == [["outside", origin], ["private", origin]]


def test_standard_input_attaches_nothing(oneclaw, ok, files, tmp_path, monkeypatch):
    (tmp_path / "message").write_text("Explain @notes.txt")
    with (tmp_path / "message").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        oneclaw("run", "--session", "s", "-")
    assert "The user attached" not in ok("sessions", "show", "s")
