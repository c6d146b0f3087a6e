"""Messages and files are taken back together, and that can be taken back itself."""

from __future__ import annotations

import shutil

import pytest
from file_trees import tree
from how_long import some
from oneclaw_checkpoints.shown import file_lines
from oneclaw_checkpoints.states import read_state
from oneclaw_checkpoints.undoing import found_session, planned

from oneclaw_core import NotFoundError, UsageError


@pytest.fixture
def mixed_project(project):
    """A project with all kinds of files."""
    (project / "app.py").write_text("x = 1\n")
    (project / "tool.sh").write_text("#!/bin/sh\n")
    (project / "tool.sh").chmod(0o755)
    (project / "data.bin").write_bytes(bytes(range(256)))
    (project / "deep").mkdir(mode=0o750)
    (project / "deep" / "kept.txt").write_text("kept\r\n")
    (project / "link").symlink_to("deep/kept.txt")
    (project / "dangling").symlink_to("nowhere")
    (project / b"caf\xe9.txt".decode("utf-8", "surrogateescape")).write_bytes(b"a name that is not UTF-8")
    (project / ".gitignore").write_text("ignored.txt\n")
    (project / "ignored.txt").write_text("1")
    return project


def change_everything(project):
    (project / "app.py").write_text("x = 2\n")
    (project / "tool.sh").chmod(0o644)
    (project / "data.bin").unlink()
    shutil.rmtree(project / "deep")
    (project / "deep").write_text("now a file")
    (project / "link").unlink()
    (project / "link").mkdir()
    (project / "link" / "inside").write_text("new")
    (project / "dangling").unlink()
    (project / "dangling").symlink_to("elsewhere")
    (project / "new" / "directory").mkdir(parents=True)
    (project / "new" / "directory" / "file.txt").write_text("new")
    (project / "new" / "größe 1.txt").write_text("new")


def test_all_kinds_of_changes_of_a_command_are_taken_back_and_restored(home, mixed_project, program, undoing):
    before = tree(mixed_project)
    program.work = lambda: change_everything(mixed_project)
    home.model.calls("run_program").says("changed")
    home.send("change everything")
    changed = tree(mixed_project)

    assert undoing.do().left == {}

    assert tree(mixed_project) == before
    assert undoing.said() == []

    assert undoing.do(redo=True).left == {}

    assert tree(mixed_project) == changed
    assert undoing.said() == ["change everything", "done", "changed"]
    with pytest.raises(NotFoundError, match="no undo"):
        undoing.plan(redo=True)


def test_a_written_file_goes_with_its_new_directories(home, project, undoing):
    home.model.calls("write_file", path="a/b/new.txt", content="new").says("written")
    home.send("write it")
    assert (project / "a" / "b" / "new.txt").exists()

    undoing.do()

    assert tree(project) == {}


def test_what_the_calls_of_a_tool_wrote_goes_with_the_call_of_the_model(home, project, undoing):
    (project / "b.txt").write_text("old")
    before = tree(project)
    home.model.calls("write_all", paths=["a.txt", "b.txt"]).says("written")
    assert home.send("write them").tool_calls[-1].result.result == [None, None]
    changed = tree(project)

    undoing.do()

    assert tree(project) == before

    undoing.do(redo=True)

    assert tree(project) == changed


def test_what_a_sub_agent_changed_goes_with_the_message_that_it_worked_for(home, project, undoing):
    home.model.calls("delegate").calls("delegate").calls("write_file", path="a.txt", content="new")
    home.model.says("written").says("delegated").says("done")
    home.send("have it written")
    assert (project / "a.txt").read_text() == "new"

    assert undoing.do().changed == [str(project / "a.txt")]

    assert tree(project) == {}


def test_several_messages_are_taken_back_to_what_was_before_the_first(home, project, undoing):
    for number in (1, 2, 3):
        home.model.calls("write_file", path="n.txt", content=str(number)).says(f"answer {number}")
        home.send(f"message {number}")
    assert [each.text for each in undoing.plan(to=2).messages] == ["message 2", "message 3"]

    undoing.do(count=2)

    assert (project / "n.txt").read_text() == "1"
    assert undoing.said()[0] == "message 1"
    assert undoing.said()[-1] == "answer 1"
    with pytest.raises(UsageError, match="1 messages to take back, not 2"):
        undoing.plan(count=2)


@pytest.mark.long
def test_what_the_user_changed_since_is_a_conflict_and_is_left(home, project, undoing):
    (project / "mine.txt").write_text("before\n")
    (project / "other.txt").write_text("before\n")
    home.model.calls("write_file", path="mine.txt", content="tool\n")
    home.model.also_calls("write_file", path="other.txt", content="tool\n").says("written")
    home.send("write both")
    (project / "mine.txt").write_text("the user's\n")

    [conflict] = undoing.plan().conflicts
    assert (conflict.path, conflict.conflict) == (str(project / "mine.txt"), "it was changed since")
    assert undoing.do().left == {str(project / "mine.txt"): "it was changed since"}
    assert (project / "mine.txt").read_text() == "the user's\n"
    assert (project / "other.txt").read_text() == "before\n"


@pytest.mark.long
def test_a_conflict_is_overwritten_on_request_and_the_user_s_change_can_be_restored(home, project, undoing):
    (project / "mine.txt").write_text("before\n")
    home.model.calls("write_file", path="mine.txt", content="tool\n").says("written")
    home.send("write it")
    (project / "mine.txt").write_text("the user's\n")

    undoing.do(overwrite=[project / "mine.txt"])
    assert (project / "mine.txt").read_text() == "before\n"
    undoing.do(redo=True)
    assert (project / "mine.txt").read_text() == "the user's\n"


def test_a_change_of_the_user_between_two_calls_is_a_conflict(home, project, program, undoing):
    (project / "a.txt").write_text("1")
    home.model.calls("write_file", path="a.txt", content="2").says("one")
    home.send("first")
    (project / "a.txt").write_text("the user's")
    program.work = lambda: (project / "a.txt").write_text("3")
    home.model.calls("run_program").says("two")
    home.send("second")

    [conflict] = undoing.plan(count=2).conflicts
    assert conflict.conflict == "somebody else changed it in between"
    undoing.do(count=1)
    assert (project / "a.txt").read_text() == "the user's"


def test_what_is_too_large_is_named_and_left(oneclaw_factory, project, program, home, undoing):
    (project / "large.bin").write_bytes(b"\0" * 2_000_000)
    home.run(home.app.configuration.settings.set("checkpoints.max_file_megabytes", 1))
    home.model.calls("run_program").says("ran")
    program.work = lambda: (project / "large.bin").write_bytes(b"\1" * 2_000_000)
    home.send("change it")

    [file] = undoing.plan().files
    assert not file.is_possible
    [gap] = undoing.plan().gaps
    assert gap.startswith(f"1 files of {project} that are too large")
    undoing.do()
    assert (project / "large.bin").read_bytes()[:1] == b"\1"


def test_nothing_is_put_back_through_a_link_that_came_since(home, project, tmp_path, undoing):
    home.model.calls("write_file", path="sub/a.txt", content="new").says("written")
    home.send("write it")
    shutil.move(project / "sub", tmp_path / "outside")
    (project / "sub").symlink_to(tmp_path / "outside")

    undoing.do()

    assert (tmp_path / "outside" / "a.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("before", "after"),
    some(
        [
            (lambda sub: (sub / "a").write_text("old"), lambda sub: (sub / "a").write_text("new")),
            (lambda sub: (sub / "a").symlink_to("old"), lambda sub: (sub / "a").unlink()),
            (lambda sub: None, lambda sub: (sub / "a").write_text("new")),
            (lambda sub: (sub / "a").mkdir(0o700), lambda sub: (sub / "a").chmod(0o755)),
            (lambda sub: (sub / "a").mkdir(), lambda sub: (sub / "a").rmdir()),
        ],
        2,
    ),
)
def test_nothing_is_put_back_through_a_link_that_comes_during_the_undo(
    home, project, program, tmp_path, undoing, monkeypatch, before, after
):
    sub, outside = project / "sub", tmp_path / "outside"
    sub.mkdir()
    before(sub)
    program.work = lambda: after(sub)
    home.model.calls("run_program").says("ran")
    home.send("run it")
    shutil.copytree(sub, outside, symlinks=True)
    stands_outside = tree(outside)

    def swap_after_the_check(path):
        if not sub.is_symlink():
            sub.rename(project / "moved")
            sub.symlink_to(outside)
        return True

    monkeypatch.setattr("oneclaw_checkpoints.undoing.is_in_place", swap_after_the_check)
    undoing.do()

    assert sub.is_symlink()
    assert tree(outside) == stands_outside


def test_nothing_is_kept_of_what_lies_behind_a_link_that_comes_while_it_is_read(tmp_path):
    sub, outside = tmp_path / "sub", tmp_path / "outside"
    for folder in (sub, outside):
        folder.mkdir()
        (folder / "id").write_text(f"in {folder.name}")
    found, kept = (sub / "id").lstat(), {}
    sub.rename(tmp_path / "moved")
    sub.symlink_to(outside)

    for known in (found, None):
        assert read_state(str(sub / "id"), 1_000, kept.__setitem__, known).kind == "nothing"
    assert kept == {}


@pytest.mark.long
def test_the_name_of_a_file_is_one_line_of_what_an_undo_shows(home, project, program, undoing):
    name = "a\nNo file changes.\x1b[2J\u202e.txt"
    program.work = lambda: (project / name).write_text("new")
    home.model.calls("run_program").says("ran")
    home.send("run it")

    lines = [line for file in undoing.plan().files for line, _ in file_lines(file, None)]

    assert lines[0] == f"Remove {project}/a\\nNo file changes.\\x1b[2J\\u202e.txt"


def test_a_turn_of_the_session_keeps_an_undo_away(home, project, undoing, program):
    home.model.calls("write_file", path="a.txt", content="new").says("written")
    home.send("write it")

    async def during_a_turn():
        session = await home.app.store.find_session("test")
        async with home.app.store.session_lock(session.id, 0):
            context = await home.app.plugins.context_of("checkpoints")
            from oneclaw_checkpoints.undoing import carry_out, found_session, planned

            plan = await planned(context, await found_session(context, "test"))
            with pytest.raises(Exception, match="busy"):
                await carry_out(context, plan)

    home.run(during_a_turn())
    assert (project / "a.txt").read_text() == "new"
    assert undoing.do().changed == [str(project / "a.txt")]


def test_the_home_of_the_user_inside_a_project_is_left_alone(oneclaw_factory, program, project):
    """Its database changes with every message, and would be put back with the project's files."""
    allowed = ["directory.trust", "shell.execute"]
    home = oneclaw_factory(plugins=["checkpoints", program], home=project / "home", allow=allowed)
    program.work = lambda: (project / "a.txt").write_text("new")
    home.model.calls("run_program").says("ran")
    home.send("run it")

    async def changed():
        context = await home.app.plugins.context_of("checkpoints")
        plan = await planned(context, await found_session(context, "test"))
        return [each.path for each in plan.files]

    assert home.run(changed()) == [str(project / "a.txt")]
