"""Looking at a directory again, and the room that its contents take."""

from __future__ import annotations

import os
import time

import oneclaw_checkpoints.tree
import pytest
from oneclaw_checkpoints.database import Change, CheckpointDatabase
from oneclaw_checkpoints.states import read_state
from oneclaw_checkpoints.tree import scan


@pytest.fixture
def look(tmp_path, monkeypatch):
    """Look at the directory of the test, knowing what was found the last time."""
    monkeypatch.setattr("oneclaw_checkpoints.states._UNSETTLED_NS", 0)
    last = {"known": {}}

    def look(max_files=100):
        found = scan(
            str(tmp_path),
            last["known"],
            max_files=max_files,
            max_bytes=1_000,
            max_room=10_000,
            deadline=time.monotonic() + 60,
        )
        last["known"] = found.files
        return found

    return look


def settle(directory):
    """Let all changes be a while ago, so that times tell them apart."""
    for path in [directory, *directory.rglob("*")]:
        os.utime(path, (1, 1))


def test_what_has_not_changed_is_neither_read_nor_searched_again(tmp_path, look, monkeypatch):
    (tmp_path / "deep").mkdir()
    for name in ("a.txt", "deep/b.txt", ".gitignore"):
        (tmp_path / name).write_text(f"# {name}")
    settle(tmp_path)
    assert len(look().contents) == 3
    monkeypatch.setattr(oneclaw_checkpoints.tree, "_walk", None)
    assert look().learned == {}
    (tmp_path / "deep" / "b.txt").write_text("changed")
    assert list(look().learned) == [str(tmp_path / "deep" / "b.txt")]


def test_new_files_and_new_rules_are_noticed(tmp_path, look):
    (tmp_path / ".gitignore").write_text("")
    (tmp_path / "a.log").write_text("1")
    settle(tmp_path)
    look()
    (tmp_path / "new.txt").write_text("new")
    assert str(tmp_path / "new.txt") in look().learned
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert look().learned[str(tmp_path / "a.log")] is None


def test_a_gap_is_reported_each_time(tmp_path, look):
    (tmp_path / "large.bin").write_bytes(b"x" * 2_000)
    settle(tmp_path)
    assert [look().gap for _ in range(2)] == [
        f"1 files of {tmp_path} that are too large, may not be read, or have names that are no UTF-8"
    ] * 2
    assert "more than 1 files" in look(max_files=1).gap


def test_the_oldest_checkpoints_go_where_there_is_no_room(tmp_path):
    database = CheckpointDatabase(tmp_path / "checkpoints.db")
    contents: dict[str, bytes] = {}
    for number in range(40):
        path = tmp_path / "file"
        path.write_bytes(os.urandom(1_000) + bytes([number]))
        state = read_state(str(path), 10_000, contents.__setitem__)
        made = database.begin_call(
            session="s", call=str(number), tool="t", root=None, gap="", contents=contents, before={str(path): state}
        )
        database.finish_call(made, [Change(made, str(path), state, state)])
        contents.clear()
    assert database.room()[1] == 40

    database.prune(20_000, 30)

    room, count = database.room()
    assert room <= 20_000
    assert 0 < count < 40
    assert [each.call for each in database.calls_of("s", [str(each) for each in range(40)])][-1] == "39"
    database.close()
