"""``oneclaw undo``, and ``/undo``, ``/redo`` and ``/retry`` in a chat."""

from __future__ import annotations

import json

import pytest
from oneclaw_channels import ChatCommands

from oneclaw_core import Attachment, SessionInfo
from oneclaw_core.cli.main import main

PICTURE = Attachment("a.png", "image/png", b"\x89PNG\r\n\x1a\n")


@pytest.fixture
def written(home, project):
    """A file that the last message had written."""
    home.model.calls("write_file", path="a.txt", content="new\n").says("written")
    home.send("write it", attachments=[PICTURE])
    return project / "a.txt"


@pytest.fixture
def questions():
    """Questions that the user was asked in a chat."""
    return []


@pytest.fixture
def say(home, questions):
    """Type a chat command: ``say("/undo", True)``; the answer of the chat, given what the user says to questions."""

    async def run(line, replies):
        async def confirm(question):
            questions.append(question)
            return replies[len(questions) - 1]

        name, _, rest = line.removeprefix("/").partition(" ")
        session = await home.app.store.find_session("test")
        info = SessionInfo(id=session.id, name="test", agent=session.agent)
        commands = ChatCommands(home.app.plugins, home.app.catalog.plugins, ())
        return await commands.run(name, rest, channel="messenger", session=info, confirm=confirm if replies else None)

    def say(line, *replies):
        questions.clear()
        return home.run(run(line, replies))

    return say


def test_the_chat_shows_what_changes_and_asks(written, say, questions):
    assert "Nothing is changed." in say("/undo", False).text
    assert "1. write it" in questions[0]
    assert "-new" in questions[0]
    assert say("/undo", True).text == "Took back 1 message and the changes of 1 file.\n/redo takes this back."
    assert not written.exists()
    assert say("/redo", True).text.startswith("Restored the messages")
    assert written.read_text() == "new\n"


def test_files_with_a_conflict_are_asked_about_by_themselves(written, say, questions):
    written.write_text("the user's")
    assert "CONFLICT" in say("/undo", False).text
    assert say("/undo", True, True).text.startswith("Took back 1 message")
    assert questions[1] == "Overwrite the files with a CONFLICT, too?"
    assert not written.exists()


def test_where_no_one_can_be_asked_the_answer_is_typed_behind_the_command(written, say):
    shown = say("/undo").text
    assert "1. write it" in shown
    assert "/undo yes does it" in shown
    assert written.exists()
    assert say("/undo yes").text.startswith("Took back 1 message")
    assert not written.exists()


def test_retry_sends_the_message_again_with_its_attachments(written, say):
    again = say("/retry", True)
    assert (again.send, again.attachments) == ("write it", (PICTURE,))
    assert not written.exists()


def test_the_program_takes_back_and_restores(home, written, monkeypatch, capsys, project):
    monkeypatch.chdir(project)
    home.close()

    assert main(["undo"]) == 2
    said = capsys.readouterr()
    assert "-new" in said.out
    assert "add --yes" in said.err
    assert written.exists()

    assert main(["undo", "--list", "--json"]) == 0
    assert [each["text"] for each in json.loads(capsys.readouterr().out)] == ["write it"]

    assert main(["undo", "--yes", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changed"] == [str(written)]
    assert (document["files"][0]["change"], document["messages"][0]["text"]) == ("remove", "write it")
    assert not written.exists()

    assert main(["undo", "--yes"]) == 2
    assert "no message" in capsys.readouterr().err
    assert main(["undo", "--redo", "--yes"]) == 0
    assert written.exists()
    assert main(["undo", "--redo", "--yes"]) == 2
    assert "no undo" in capsys.readouterr().err
