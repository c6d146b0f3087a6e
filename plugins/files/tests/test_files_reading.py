"""Listing, finding, searching and viewing files."""

from __future__ import annotations

import pytest
from pytest_oneclaw import assert_tool_error, assert_tool_succeeded

from oneclaw_core import Attachment

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def tree(project):
    files = {
        ".gitignore": "build/\n*.log\n",
        "src/app.py": "def main():\n    return total(1)\n",
        "src/total.py": "def total(x):\n    # TODO: tax\n    return x\n",
        "build/app.py": "def main(): generated\n",
        "debug.log": "total 1\n",
        ".hidden.py": "total = 0\n",
        "data.bin": "total\0\1",
    }
    for name, content in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("[core] total\n")
    return project


def test_a_directory_is_listed_with_sizes(call_tool, tree):
    lines = assert_tool_succeeded(call_tool("list_directory")).splitlines()

    assert lines[0] == f"{tree}: 7 entries"
    assert "src/" in lines
    assert "data.bin  7 bytes" in lines


def test_listing_a_file_or_nothing_is_an_error(call_tool, tree):
    assert "Not a directory" in assert_tool_error(call_tool("list_directory", path="debug.log"), "execution_error")
    assert "Directory not found" in assert_tool_error(call_tool("list_directory", path="gone"), "execution_error")
    assert_tool_error(call_tool("list_directory", path="/etc"), "permission_denied")


@pytest.mark.long
def test_files_are_found_by_name_without_ignored_ones(call_tool, tree):
    assert assert_tool_succeeded(call_tool("find_files", glob="*.py")).splitlines() == [
        f"{tree}: 2 files",
        "src/app.py",
        "src/total.py",
    ]
    assert "src/total.py" in assert_tool_succeeded(call_tool("find_files", glob="src/**/t*.py"))


def test_ignored_files_are_found_on_request_but_not_those_of_git(call_tool, tree):
    found = assert_tool_succeeded(call_tool("find_files", glob="*", include_ignored=True))

    assert {"build/app.py", "debug.log", ".hidden.py"} <= set(found.splitlines())
    assert ".git/config" not in found


def test_a_glob_that_stands_for_too_many_patterns_is_refused(call_tool, tree):
    error = assert_tool_error(call_tool("find_files", glob="{1..99999}"), "validation_error")

    assert "glob cannot be used" in error


@pytest.mark.long
def test_links_that_lead_out_are_not_followed(call_tool, tree, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "secret.py").write_text("total = 'secret'\n")
    (tree / "way-out").symlink_to(elsewhere)
    (tree / "way-out.py").symlink_to(elsewhere / "secret.py")

    assert "way-out" not in assert_tool_succeeded(call_tool("find_files", glob="*.py", include_ignored=True))
    assert "secret" not in assert_tool_succeeded(call_tool("search_files", pattern="total"))


def test_matching_lines_are_reported_with_their_place(call_tool, tree):
    assert assert_tool_succeeded(call_tool("search_files", pattern=r"total\(")).splitlines() == [
        f"{tree}: 2 matches in 2 files, 2 searched",
        "src/app.py:2:     return total(1)",
        "src/total.py:1: def total(x):",
    ]


def test_lines_around_a_match_are_shown_once(call_tool, tree):
    (tree / "a.txt").write_text("1\nx\n3\nx\n5\n6\n7\n8\nx\n")

    found = assert_tool_succeeded(call_tool("search_files", pattern="x", glob="a.txt", context_lines=1))

    assert found.splitlines()[1:] == [
        *("a.txt-1- 1", "a.txt:2: x", "a.txt-3- 3", "a.txt:4: x", "a.txt-5- 5"),
        *("--", "a.txt-8- 8", "a.txt:9: x"),
    ]


def test_plain_text_and_case(call_tool, tree):
    assert "1 match in 1 file" in assert_tool_succeeded(call_tool("search_files", pattern="total(1)", literal=True))
    assert "1 match in" in assert_tool_succeeded(call_tool("search_files", pattern="todo", ignore_case=True))
    assert "0 matches in 0 files" in assert_tool_succeeded(call_tool("search_files", pattern="todo"))


def test_a_search_of_one_file(call_tool, tree):
    found = assert_tool_succeeded(call_tool("search_files", pattern="return", path="src/app.py"))

    assert found.splitlines()[1:] == ["app.py:2:     return total(1)"]


def test_a_search_ends_at_its_limit_and_says_so(call_tool, tree):
    (tree / "many.txt").write_text("x\n" * 50)

    found = assert_tool_succeeded(call_tool("search_files", pattern="^x$", max_matches=10))

    assert found.count("many.txt:") == 10
    assert "[the search ended after 10 matches; use a narrower pattern, glob or path]" in found


def test_an_expression_that_takes_for_ever_ends(call_tool, tree, monkeypatch):
    monkeypatch.setattr("oneclaw_files.tools._WALK_SECONDS", 0.2)
    (tree / "long.txt").write_text("a" * 5_000 + "b")

    found = assert_tool_succeeded(call_tool("search_files", pattern="(a|aa)+$", glob="long.txt"))

    assert "[there was no time for all; use a narrower glob or path]" in found


def test_a_wrong_expression_is_explained(call_tool, tree):
    message = assert_tool_error(call_tool("search_files", pattern="(a"), "validation_error")

    assert "pattern is not a regular expression: missing )" in message
    assert "Set literal" in message


def test_a_picture_is_shown_to_the_model(call_tool, project):
    (project / "a.png").write_bytes(PNG)
    (project / "a.txt").write_text("text")

    shown = call_tool("view_image", path="a.png")

    assert assert_tool_succeeded(shown) == f"{project / 'a.png'}: image/png, 28 bytes"
    assert (shown.attachments[0].media_type, shown.attachments[0].data) == ("image/png", PNG)
    assert "no PNG, JPEG, GIF or WebP" in assert_tool_error(call_tool("view_image", path="a.txt"), "execution_error")
    assert "File not found" in assert_tool_error(call_tool("view_image", path="gone.png"), "execution_error")


def test_a_file_is_sent_to_the_user_and_not_to_the_model(project, call_tool):
    (project / "sales.csv").write_text("a,b")
    (project / "empty").touch()

    sent = call_tool("send_file", path="sales.csv")
    renamed = call_tool("send_file", path="sales.csv", name="../of\n2026.PDF")

    assert assert_tool_succeeded(sent) == "Sent sales.csv (text/csv, 3 bytes) to the user."
    assert sent.attachments == (Attachment("sales.csv", "text/csv", b"a,b", is_for_user=True),)
    assert (renamed.attachments[0].name, renamed.attachments[0].media_type) == ("of_2026.PDF", "application/pdf")
    assert "is empty" in assert_tool_error(call_tool("send_file", path="empty"), "execution_error")
    assert "File not found" in assert_tool_error(call_tool("send_file", path="gone"), "execution_error")


def test_what_it_registers(definitions_snapshot):
    definitions_snapshot()


@pytest.mark.long
def test_all_tools_count_lines_in_the_same_way(call_tool, project):
    (project / "feeds.txt").write_bytes(b"one\x0c\ntwo\xe2\x80\xa8still two\nthree\n")
    (project / "mac.txt").write_bytes(b"one\rtwo\rthree\r")
    for name in ("feeds.txt", "mac.txt"):
        assert f"{name}:3: three" in assert_tool_succeeded(call_tool("search_files", pattern="three", path=name))
        lines = assert_tool_succeeded(call_tool("read_file", path=name, start_line=3, line_count=1))
        assert lines.startswith("three")
        assert "[lines 3-3 of 3 in" in lines
