"""`oneclaw sessions rename`, `branch` and `prune`, `--continue`, and the words on how to go on."""

import sys

import pytest

from oneclaw_core.cli.options import session_hint


@pytest.fixture
def told(ok):
    """Sessions of the offline model, by what is said in them: ``told("work", "hello")``."""

    def tell(name, *texts):
        for text in texts:
            ok("run", "--session", name, "--model", "offline/rules", text)

    return tell


def messages(ok, name):
    return [each["content"] for each in ok("sessions", "show", name, "--json")["messages"] if each["type"] == "user"]


def test_a_session_is_renamed(ok, oneclaw, told):
    told("old", "hello")
    assert ok("sessions", "rename", "old", "new") == "session old is called new now\n"
    assert messages(ok, "new") == ["hello"]
    assert "no session 'old'" in oneclaw("sessions", "rename", "old", "newer").stderr


def test_a_branch_goes_on_by_itself(ok, oneclaw, told):
    told("work", "one", "two")
    assert "session other goes on" in ok("sessions", "branch", "work", "other", "--to", "2")
    told("other", "three")
    assert messages(ok, "other") == ["one", "three"]
    assert messages(ok, "work") == ["one", "two"]
    refused = oneclaw("sessions", "branch", "work", "--to", "9")
    assert (refused.status, "messages 1 to 2" in refused.stderr) == (2, True)


def test_old_sessions_are_listed_and_deleted(ok, oneclaw, told):
    told("kept", "hello")
    ok("run", "--model", "offline/rules", "first")
    ok("run", "--model", "offline/rules", "second")
    refused = oneclaw("sessions", "prune", "--keep", "1")
    assert (refused.status, "add --yes" in refused.stderr) == (2, True)
    assert "first" in refused.stdout
    assert "kept" not in refused.stdout
    assert ok("sessions", "prune", "--older-than", "1", "--yes").endswith("0 sessions deleted\n")
    assert ok("sessions", "prune", "--keep", "1", "--yes").endswith("1 session deleted\n")
    assert [each["title"] for each in ok("sessions", "list", "--json")] == ["second", "hello"]
    assert oneclaw("sessions", "prune").status == 2
    assert len(ok("sessions", "prune", "--keep", "0", "--named", "--yes", "--json")) == 2


def test_the_newest_session_of_the_directory_is_continued(ok, oneclaw, told, tmp_path, monkeypatch):
    assert "no session to continue" in oneclaw("run", "--continue", "hello").stderr
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        told(name, "hello")
    monkeypatch.chdir(tmp_path / "here")
    ok("run", "--continue", "--model", "offline/rules", "again")
    assert messages(ok, "here") == ["hello", "again"]
    monkeypatch.chdir(tmp_path)
    ok("run", "--continue", "--model", "offline/rules", "elsewhere")
    assert messages(ok, "here")[-1] == "elsewhere"  # the newest of all
    assert oneclaw("run", "--continue", "--session", "here", "hello").status == 2


@pytest.mark.long
def test_a_terminal_is_told_how_to_go_on_and_a_pipe_is_not(oneclaw, monkeypatch):
    quiet = oneclaw("run", "--session", "my work", "--model", "offline/rules", "hello")
    assert quiet.stderr == ""
    monkeypatch.setattr("oneclaw_core.cli.run.is_terminal", lambda stream: stream is sys.stderr)
    told = oneclaw("run", "--session", "my work", "--model", "offline/rules", "hello")
    assert told.stderr.endswith(session_hint("my work") + "\n")
    assert "oneclaw chat --session 'my work'" in told.stderr
    assert "0123456789ab:" in session_hint("0123456789abcdef0123456789abcdef")
