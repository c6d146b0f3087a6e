"""Which files a tool may touch."""

from dataclasses import replace
from pathlib import Path

import pytest

from oneclaw_core import PermissionDeniedError, UsageError
from oneclaw_core.files import PathGuard


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


class Questions:
    """The user's answers to questions about paths."""

    def __init__(self, *, is_trusted=False, trusts=False):
        self.is_trusted, self.trusts, self.asked, self.trust_asked = is_trusted, trusts, [], []

    def ask_trust(self, detail):
        self.trust_asked.append(detail)
        self.is_trusted = self.is_trusted or self.trusts
        return self.is_trusted

    def ask(self, permission, detail, path, directory):
        self.asked.append((permission, detail, path, directory))


def denied(call, *arguments):
    with pytest.raises(PermissionDeniedError) as error:
        call(*arguments)
    return str(error.value)


def uses(guard):
    found = [(each.path, each.use) for each in guard.used]
    guard.used.clear()
    return found


def test_what_is_outside_says_what_is_inside(guard):
    both = f"the workspace {guard.workspace} and the start directory {guard.start_directory}"
    for judge in (guard.readable, guard.locate):
        assert denied(judge, "/etc/passwd") == (
            f"'/etc/passwd' is outside the directories that tools may read: {both}. The user can start OneClaw in "
            "another directory, or attach the file"
        )
    writable = (
        f"'/etc/x' is not a file in the directories that tools may write: the workspace {guard.workspace}, and the "
        f"start directory {guard.start_directory} if the user trusts it"
    )
    assert denied(guard.writable, "/etc/x") == denied(guard.locate_to_write, "/etc/x") == writable
    assert denied(guard.readable, "a\0b") == "a path cannot contain a NUL character"
    start = guard.start_directory
    assert denied(guard.writable, start / "a") == (
        f"'{start}/a' is in the start directory {start}, which the user does not trust, so tools may not write "
        f"there. The user can trust it with: oneclaw trust {start}. The workspace {guard.workspace} can be "
        "written: give an absolute path in it"
    )
    (start / "b").touch()
    assert denied(guard.writable, "b").startswith(f"'b' is there in the start directory {start}, which the user does")
    assert not guard.may_read(Path("/etc/passwd"))


def test_what_a_call_uses_is_noted(guard):
    (guard.workspace / "a").touch()
    path = guard.workspace / "a"
    guard.readable("a")
    assert uses(guard) == [(path, "read")]
    guard.readable("missing")
    guard.locate("a")
    assert uses(guard) == []
    assert guard.may_read(path)
    assert uses(guard) == [(path, "read")]
    guard.writable("new")
    assert uses(guard) == [(guard.workspace / "new", "write")]
    guard.working_directory(None)
    assert uses(guard) == [(guard.workspace, "run"), (guard.start_directory, "run")]
    (guard.workspace / "sub").mkdir()
    assert guard.working_directory("sub") == guard.workspace / "sub"
    assert uses(guard) == [(each, "run") for each in (guard.workspace / "sub", guard.workspace, guard.start_directory)]
    assert guard.working_directory("/") == Path("/")


def test_a_directory_to_run_in_has_to_be_one(guard, monkeypatch):
    (guard.workspace / "file").touch()
    for wanted, message in (
        ("none", "'none' does not exist"),
        ("file", "'file' is not a directory"),
        ("x\0", "'x\\x00' does not exist"),
        ("y" * 200, f"'{'y' * 200}' does not exist"),
        ("y" * 201, f"'{'y' * 200}…' does not exist"),
        ("y" * 5000, f"'{'y' * 200}…' does not exist"),
    ):
        with pytest.raises(UsageError) as error:
            guard.working_directory(wanted)
        assert str(error.value) == f"working_directory {message}"
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(UsageError) as error:
        guard.working_directory(str(guard.workspace))
    assert str(error.value) == f"working_directory '{guard.workspace}' cannot be entered: permission denied"


def test_hidden_files_are_asked_for_by_name(guard):
    questions = Questions()
    asking = replace(guard, questions=questions)
    secret = guard.workspace / ".env"
    asking.readable(".env")
    assert questions.asked == []
    secret.write_text("KEY=1")
    assert asking.readable(".env") == secret
    assert questions.asked == [("files.read", f"read {secret}, which may hold secrets", secret, None)]
    assert not asking.may_read(secret)
    granted = replace(guard, granted=frozenset({f"files.read:{secret}"}))
    assert granted.readable(".env") == secret
    assert granted.may_read(secret)
    needed = denied(guard.readable, ".env")
    assert needed == (
        f"Permission 'files.read' is needed to read {secret}, which may hold secrets, and no one can be asked here. "
        f"The user can grant it with: oneclaw permissions grant files.read:{secret}"
    )


def test_writing_in_a_trusted_directory_is_asked_for(guard):
    start, workspace = guard.start_directory, guard.workspace
    (start / ".git").mkdir()
    (workspace / ".git").mkdir()
    questions = Questions(is_trusted=True)
    asking = replace(guard, questions=questions)
    for path, change, detail, directory in (
        ("a.py", "", f"write {start}/a.py", start),
        ("a.py", "+1", f"write {start}/a.py\n+1", start),
        (".git/config", "+1", f"write {start}/.git/config, which other programs run or obey\n+1", None),
        (".env", "", f"write {start}/.env, which may hold secrets", None),
        (
            f"{workspace}/.git/config",
            "+1",
            f"write {workspace}/.git/config, which other programs run or obey\n+1",
            None,
        ),
    ):
        questions.asked.clear()
        found = asking.writable(path, change)
        assert questions.asked == [("files.write", detail, found, directory)]
    questions.asked.clear()
    asking.writable(f"{workspace}/.env")
    assert questions.asked == []
    assert asking.working_directory("") == start


def test_trust_is_asked_for_where_a_path_is_about_the_project(guard):
    start, workspace = guard.start_directory, guard.workspace
    (start / "src").mkdir()
    (start / "there").touch()
    for path, asked, place in (
        ("new.txt", [], workspace),
        ("other/new.txt", [], workspace),
        ("src/new.txt", [f"write {start}/src/new.txt"], start),
        ("there", [f"write {start}/there"], start),
        (str(start / "new"), [f"write {start}/new"], start),
    ):
        questions = Questions(trusts=True)
        assert replace(guard, questions=questions).writable(path) == place / Path(path)
        assert (questions.trust_asked, questions.is_trusted) == (asked, bool(asked))
    refusing = replace(guard, questions=Questions())
    assert refusing.writable("src/new.txt") == workspace / "src" / "new.txt"
    assert "is there in the start directory" in denied(refusing.writable, "there")
    trusted = replace(guard, trusts_start=True)
    assert trusted.asks_trust("x")
    assert not guard.asks_trust("x")
    sent = replace(guard, questions=Questions(is_trusted=True)).for_other_process(["files.read:/x"])
    assert (sent.trusts_start, sent.granted, sent.questions, sent.used) == (True, {"files.read:/x"}, None, [])


def test_a_private_start_directory_is_looked_up_last_and_asked_for(guard, monkeypatch):
    monkeypatch.setenv("HOME", str(guard.start_directory))
    questions = Questions()
    private = replace(guard, questions=questions)
    for base in (guard.start_directory, guard.workspace):
        (base / "a").touch()
    assert private.readable("a") == guard.workspace / "a"
    assert questions.asked == []
    (guard.workspace / "a").unlink()
    assert private.readable("a") == guard.start_directory / "a"
    assert [each[0] for each in questions.asked] == ["files.read"]
    assert private.writable("a") == guard.workspace / "a"
    assert questions.trust_asked == []


def test_denied_paths_are_named(guard):
    (guard.workspace / "a").mkdir()
    (guard.workspace / "a" / "b").touch()
    closed = replace(guard, denied=frozenset({f"files.read:{guard.workspace}/a", "files.write"}))
    reset = "is set to never. The user can change that with: oneclaw permissions reset"
    name = f"files.read:{guard.workspace}/a"
    assert denied(closed.readable, "a/b") == f"'{name}' {reset} {name}"
    assert denied(closed.readable, guard.workspace / "a" / "missing") == f"'{name}' {reset} {name}"
    assert denied(closed.writable, "c") == f"Permission 'files.write' {reset} files.write"
    assert denied(replace(guard, denied=frozenset({"files.read"})).locate, "c").startswith("Permission 'files.read'")
