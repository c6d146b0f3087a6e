"""Programs are told which files a tool has changed."""

import asyncio

import pytest

from oneclaw_core import OneClaw, ToolResult, tool
from oneclaw_core.tools import FileChange
from oneclaw_core.types.tools import MAX_CHANGED_FILE_CHARACTERS


def results(tmp_path, *calls, tools=()):
    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}, allow=["files.write"], plugins=["builtin"]) as claw:
            claw.add_tools(*tools)
            return [(await claw.call_tool(name, arguments)).result for name, arguments in calls]

    return asyncio.run(run())


def write(content, mode="overwrite", path="a.txt"):
    return "write_file", {"path": path, "content": content, "mode": mode}


def test_a_written_file_with_its_text_before_and_after(tmp_path):
    path = str(tmp_path / "home" / "workspace" / "a.txt")
    found = results(tmp_path, write("one\n"), write("two\n"), write("three\n", "append"))
    assert [each.changes for each in found] == [
        (FileChange(path, None, "one\n"),),
        (FileChange(path, "one\n", "two\n"),),
        (FileChange(path, "two\n", "two\nthree\n"),),
    ]


@pytest.mark.parametrize("before", [b"\xff\xfe\x00", b"x" * (MAX_CHANGED_FILE_CHARACTERS + 1)], ids=["binary", "long"])
def test_the_texts_of_a_file_that_no_one_would_read_are_left_out(tmp_path, before):
    path = tmp_path / "home" / "workspace" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(before)
    (result,) = results(tmp_path, write("new"))
    assert result.changes == (FileChange(str(path), "", "", is_whole=False),)


def test_changes_are_bounded_and_checked(tmp_path):
    @tool
    def many() -> ToolResult:
        """Change many files."""
        text = "x" * (MAX_CHANGED_FILE_CHARACTERS // 2)
        return ToolResult.success("done", changes=tuple(FileChange(f"/{n}", None, text) for n in range(20)))

    @tool
    def wrong() -> ToolResult:
        """Change nothing."""
        return ToolResult.success("done", changes=("/a",))

    first, second = results(tmp_path, ("many", {}), ("wrong", {}), tools=[many, wrong])
    assert [each.is_whole for each in first.changes] == [True] * 10 + [False] * 10
    assert (first.changes[-1].before, first.changes[-1].after) == (None, "")
    assert second.error_message == "The tool returned changes that are no tuple of FileChange objects."


def test_a_file_that_was_not_written_has_not_changed(tmp_path):
    (result,) = results(tmp_path, write("x", path="/etc/oneclaw-test"))
    assert (result.is_success, result.changes) == (False, ())
