"""Which files a tool may touch."""

from pathlib import Path

import pytest

from oneclaw_core import PermissionDeniedError
from oneclaw_core.tools import PathGuard


@pytest.fixture
def guard(tmp_path):
    for name in ("workspace", "start", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("secret")
    return PathGuard(tmp_path / "workspace", tmp_path / "start")


def test_a_relative_path_is_read_from_the_start_directory_then_from_the_workspace(guard):
    (guard.workspace / "a.txt").write_text("workspace")
    assert guard.readable("a.txt") == guard.workspace / "a.txt"
    (guard.start_directory / "a.txt").write_text("start")
    assert guard.readable("a.txt") == guard.start_directory / "a.txt"
    assert guard.readable("missing.txt") == guard.start_directory / "missing.txt"


def test_absolute_paths_inside_are_read(guard):
    for directory in (guard.workspace, guard.start_directory):
        assert guard.readable(directory / "sub" / "a.txt") == directory / "sub" / "a.txt"


@pytest.mark.parametrize(
    "path",
    ["../elsewhere/secret.txt", "sub/../../elsewhere/secret.txt", "/etc/passwd", "..", "link/secret.txt", "a\x00b"],
)
def test_nothing_outside_is_read_or_written(guard, path):
    for directory in (guard.workspace, guard.start_directory):
        (directory / "link").symlink_to(guard.workspace.parent / "elsewhere")
    with pytest.raises(PermissionDeniedError):
        guard.readable(path)
    with pytest.raises(PermissionDeniedError):
        guard.writable(path)


def test_writing_is_confined_to_the_workspace(guard):
    assert guard.writable("sub/new.txt") == guard.workspace / "sub" / "new.txt"
    assert guard.writable(guard.workspace / "new.txt") == guard.workspace / "new.txt"
    for refused in (guard.start_directory.parent / "a.txt", ".", guard.workspace, guard.start_directory):
        with pytest.raises(PermissionDeniedError, match="is not a file in the directories that tools may write"):
            guard.writable(refused)
    with pytest.raises(PermissionDeniedError, match=r"which the user does not trust.*oneclaw trust"):
        guard.writable(guard.start_directory / "a.txt")


@pytest.mark.parametrize("path", ["a" * 5000, "a/" * 2100 + "b"])
def test_a_name_that_no_file_system_takes_is_refused_in_a_few_words(guard, path):
    for judge in (guard.readable, guard.writable):
        with pytest.raises(PermissionDeniedError, match=r"…' cannot be opened: File name too long$") as caught:
            judge(path)
        assert len(str(caught.value)) < 200
        # Tools that catch what opening files raises go on doing so.
        assert isinstance(caught.value, OSError)
        assert caught.value.strerror == "File name too long"


def test_a_loop_of_links_is_refused_not_followed(guard):
    (guard.workspace / "loop").symlink_to(guard.workspace / "loop")
    for judge in (guard.readable, guard.writable):
        try:
            resolved = judge(guard.workspace / "loop" / "a")
        except PermissionDeniedError:
            continue
        assert resolved.is_relative_to(guard.workspace)


def test_a_workspace_that_is_itself_a_link_works(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "workspace").symlink_to(tmp_path / "real")
    guard = PathGuard(tmp_path / "workspace", tmp_path / "start")
    assert guard.writable("a.txt") == tmp_path / "real" / "a.txt"


def test_display_is_relative_where_it_can_be(guard):
    assert guard.display(guard.workspace / "sub" / "a.txt") == "sub/a.txt"
    assert guard.display(guard.start_directory / "b.txt") == "b.txt"


def test_the_home_is_closed_also_where_it_lies_in_the_start_directory(tmp_path):
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    (home / "oneclaw.db").write_text("private")
    (tmp_path / "notes.txt").write_text("mine")
    guard = PathGuard(home / "workspace", tmp_path, home)
    assert guard.readable("notes.txt") == tmp_path / "notes.txt"
    assert guard.readable(home / "workspace" / "a.txt") == home / "workspace" / "a.txt"
    assert guard.readable("home/oneclaw.db") == home / "workspace" / "home" / "oneclaw.db"
    for closed in (home / "oneclaw.db", home / "logs" / "oneclaw.log", home):
        with pytest.raises(PermissionDeniedError):
            guard.readable(closed)


def test_what_the_user_has_denied_is_denied_to_every_tool(guard):
    no_reading = PathGuard(guard.workspace, guard.start_directory, denied=frozenset({"files.read"}))
    assert no_reading.writable("a.txt")
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset files\.read"):
        no_reading.readable("a.txt")
    no_writing = PathGuard(guard.workspace, guard.start_directory, denied=frozenset({"files.write"}))
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset files\.write"):
        no_writing.writable("a.txt")


def test_a_denied_path_is_denied_with_all_below(guard):
    secret = guard.workspace / "secret"
    (secret / "deep").mkdir(parents=True)
    (secret / "deep" / "a.txt").write_text("a")
    (guard.workspace / "link").symlink_to(secret)
    (guard.workspace / "secretary").write_text("b")
    denied = frozenset({f"files.read:{secret.resolve()}", f"files.write:{secret.resolve()}"})
    limited = PathGuard(guard.workspace, guard.start_directory, denied=denied)

    for path in ("secret", "secret/deep/a.txt", "link/deep/a.txt", secret / "missing"):
        with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset files\.read:"):
            limited.readable(path)
        with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset files\.write:"):
            limited.writable(path)
    assert limited.readable("secretary")
    assert limited.writable("secretary")


def test_kernel_directories_are_closed_also_when_started_at_the_root(tmp_path):
    guard = PathGuard(tmp_path, Path("/"), trusts_start=True)
    assert guard.readable(__file__) == Path(__file__).resolve()
    for closed in ("/proc/self/environ", "/sys/kernel", "/dev/null"):
        with pytest.raises(PermissionDeniedError):
            guard.readable(closed)


def test_a_directory_that_is_not_there_is_named_and_cut_if_it_is_long(guard):
    from oneclaw_core.errors import UsageError

    with pytest.raises(UsageError, match="'nowhere'"):
        guard.working_directory("nowhere")
    with pytest.raises(UsageError, match=r"'n{200}…'"):
        guard.working_directory("n" * 250)
