"""`oneclaw memory`, and /memory in the chat."""

import io
import sys

import pytest


@pytest.mark.long
def test_what_is_remembered_is_shown(ok, home):
    assert ok("memory", "show") == "nothing is remembered yet\n"
    assert ok("memory", "path") == f"{home / 'MEMORY.md'}\n"
    assert ok("memory", "show", "--json") == {"path": str(home / "MEMORY.md"), "characters": 0, "sections": []}
    assert ok("memory", "add", "Likes tea") == "remembered under Notes\n"
    assert ok("memory", "add", "--category", "Projects", "--", "- one\n- two") == "remembered under Projects\n"
    assert ok("memory", "show", "--json")["sections"] == [
        {"section": "Projects", "entries": ["one", "two"]},
        {"section": "Notes", "entries": ["Likes tea"]},
    ]
    assert ok("memory", "show") == (home / "MEMORY.md").read_text()


def test_entries_come_from_standard_input_too(ok, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Likes Käse\n".encode())))
    ok("memory", "add", "-")
    assert ok("memory", "show", "--json")["sections"] == [{"section": "Notes", "entries": ["Likes Käse"]}]


def test_an_entry_is_removed(ok):
    ok("memory", "add", "--", "- Likes tea\n- Likes cats")
    assert ok("memory", "remove", "Likes tea") == "forgotten\n"
    assert ok("memory", "show", "--json")["sections"] == [{"section": "Notes", "entries": ["Likes cats"]}]


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (("add", "Likes tea"), 1, "remembered already"),
        (("add", "  "), 1, "empty"),
        (("add", f"The key is ghp_{'a1B2' * 9}"), 1, "GitHub token"),
        (("add", "--category", "food", "x"), 2, "food"),
        (("remove", "coffee"), 1, "not remembered"),
        (("remove", " "), 2, "say what to forget"),
        (("remove", "ea"), 1, "more than once"),
    ],
)
def test_what_cannot_be_done_is_told(oneclaw, ok, arguments, status, part):
    ok("memory", "add", "--", "- Likes tea\n- Eats peas")
    outcome = oneclaw("memory", *arguments)
    assert outcome.status == status
    assert part in outcome.stderr


def test_a_stored_key_is_refused(oneclaw, ok, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"plain-words\n")))
    ok("keys", "set", "openai", "--file")
    outcome = oneclaw("memory", "add", "It is plain-words")
    assert outcome.status == 1
    assert "plain-words" not in outcome.stderr


def test_without_a_terminal_there_is_no_editor(oneclaw, home):
    outcome = oneclaw("memory", "edit")
    assert (outcome.status, str(home / "MEMORY.md") in outcome.stderr) == (2, True)


def test_the_editor_gets_a_file_with_all_sections(ok, home, tmp_path, monkeypatch):
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\nprintf -- "- by hand\\n" >> "$1"\n')
    editor.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"'{editor}'")
    monkeypatch.setattr("oneclaw_memory.commands.is_terminal", lambda stream: True)
    ok("memory", "edit")
    assert (home / "MEMORY.md").read_text().endswith("## Notes\n- by hand\n")


def test_a_damaged_memory_is_an_error_on_one_line(oneclaw, home):
    (home / "MEMORY.md").mkdir(parents=True)
    outcome = oneclaw("memory", "show")
    assert (outcome.status, outcome.stderr.count("\n")) == (1, 1)
