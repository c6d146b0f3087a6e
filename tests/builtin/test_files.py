"""read_file and write_file: FEAT-004, "Built-in Tools", "Test Points" and "Edge Cases"."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordinary_user import ordinary_user

from oneclaw_core import PermissionDeniedError, ToolContext, ToolResult, builtin
from oneclaw_core.builtin.files import read_file, write_file
from oneclaw_core.files import PathGuard, text_content

pytestmark = pytest.mark.every_python

MANIFESTS = Path(builtin.__file__).parent / "manifests"


@pytest.fixture
def context(tmp_path):
    for name in ("home/workspace", "project", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return make_context(tmp_path)


def make_context(root: Path) -> ToolContext:
    guard = PathGuard(root / "home" / "workspace", root / "project")
    return ToolContext(root / "home", None, "test", "read_file", "call_1", guard)


@pytest.fixture
def workspace(context) -> Path:
    return context.paths.workspace


@pytest.fixture
def project(context) -> Path:
    return context.paths.start_directory


def error_of(result: ToolResult, error_type: str = "execution_error") -> str:
    assert not result.is_success, result
    assert result.error_type == error_type
    assert result.error_message
    assert "\n" not in result.error_message
    return result.error_message


# --- read_file ---


def test_read_file_reads_file_contents_correctly(context, workspace):
    (workspace / "notes.txt").write_text("Grüße\n\n  two\r\n", newline="")

    assert read_file("notes.txt", context=context).result == "Grüße\n\n  two\r\n"


def test_a_relative_path_is_looked_for_in_the_start_directory_then_in_the_workspace(context, workspace, project):
    (workspace / "notes.txt").write_text("workspace")
    assert read_file("notes.txt", context=context).result == "workspace"

    (project / "notes.txt").write_text("project")
    assert read_file("notes.txt", context=context).result == "project"


def test_an_absolute_path_inside_is_read(context, project):
    (project / "sub").mkdir()
    (project / "sub" / "a.txt").write_text("a")

    assert read_file(str(project / "sub" / "a.txt"), context=context).result == "a"


def test_read_file_returns_error_for_non_existent_file(context):
    assert error_of(read_file("sub/missing.txt", context=context)) == "File not found: sub/missing.txt"


def test_a_directory_is_no_file(context, project):
    (project / "sub").mkdir()

    assert error_of(read_file("sub", context=context)) == "Cannot read sub: it is a directory, not a file; it is empty"
    assert "it is a directory, not a file; it holds sub/" in error_of(read_file(".", context=context))


def test_some_of_what_a_directory_holds_is_listed(context, project):
    (project / "many").mkdir()
    for number in range(25):
        (project / "many" / f"{number:02}.txt").touch()
    (project / "many" / "00\nline").touch()

    message = error_of(read_file("many", context=context))

    assert "it holds '00\\nline', 00.txt, 01.txt, " in message
    assert message.endswith("18.txt and 6 more")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"%PDF-1.4\nplain", "is a PDF document, not text"),
        (b"\x89PNG\r\n\x1a\n....", "is a PNG image, not text: look at it with view_image"),
        (b"PK\x03\x04....", "is a ZIP archive or an office document, not text"),
        (b"text\x00more", "is binary, not text"),
        (b"caf\xe9", "is not UTF-8 text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "is an old office document, not text"),
        (b"\xff\xfe\x00\xd8\x00\x00", "is not UTF-8 text"),
    ],
)
def test_binary_files_are_refused_with_another_way(context, project, content, said):
    (project / "data.bin").write_bytes(content)

    assert said in error_of(read_file("data.bin", context=context))
    assert said in error_of(read_file("data.bin", start_line=1, context=context))


@pytest.mark.parametrize("encoding", ["UTF-16", "utf-16-le", "windows-1252", "ISO-8859-1", "UTF-8"])
def test_the_encoding_is_honoured(context, project, encoding):
    text = "Crème brûlée\nà la carte\n"
    (project / "menu.txt").write_bytes(text.encode(encoding))

    assert read_file("menu.txt", encoding, context=context).result == text
    assert read_file("menu.txt", encoding, 2, 1, context=context).result.startswith("à la carte\n[lines 2-2 ")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(context, project, encoding):
    text = "Crème\nbrûlée\n"
    (project / "menu.txt").write_bytes(text.encode(encoding))

    assert read_file("menu.txt", context=context).result == text
    assert read_file("menu.txt", start_line=2, context=context).result == (
        f"brûlée\n[lines 2-2 of 2 in {project}/menu.txt; end of the file]"
    )


def test_a_byte_order_mark_is_no_part_of_a_text_whose_encoding_is_named_with_its_order(context, project):
    (project / "a.txt").write_bytes("\ufeffa\nb\n".encode("utf-16-le"))

    assert read_file("a.txt", "utf-16-le", context=context).result == "a\nb\n"
    assert read_file("a.txt", "utf-16-le", 1, 1, context=context).result.startswith("a\n[lines 1-1 of 2 ")


def test_lines_before_what_is_no_text_are_read(context, project):
    (project / "a.log").write_bytes(b"line\n" * 300_000 + b"\xff\x00")

    text = read_file("a.log", start_line=3, line_count=1, context=context).result

    assert text == f"line\n[lines 3-3 in {project}/a.log; more follow: start_line 4]"


@pytest.mark.long
def test_counting_has_an_end(context, project, monkeypatch):
    monkeypatch.setattr(text_content, "MAX_COUNTED_CHARACTERS", 1000)
    (project / "a.txt").write_text("line\n" * 500_000)

    text = read_file("a.txt", start_line=2, line_count=1, context=context).result

    assert text == f"line\n[lines 2-2 in {project}/a.txt; more follow: start_line 3]"


def test_a_byte_order_mark_is_no_part_of_the_text(context, project):
    (project / "windows.csv").write_bytes(b"\xef\xbb\xbfid;name\n")

    assert read_file("windows.csv", context=context).result == "id;name\n"


@pytest.mark.parametrize("encoding", ["klingon", "hex", "zlib", "punycode", "undefined", "", "a\x00b", "\ud800"])
def test_an_unknown_encoding_is_a_validation_error(context, project, encoding):
    (project / "a.txt").write_text("a")

    assert "is no known text encoding" in error_of(read_file("a.txt", encoding, context=context), "validation_error")


def test_file_read_on_a_very_large_file(context, project):
    with (project / "large.log").open("wb") as file:
        file.truncate(1 << 40)
        file.write(b"begin\n" * 200_000)

    message = error_of(read_file("large.log", context=context))

    assert message.startswith("large.log has 1,099,511,627,776 bytes; more than 1048576 bytes are not read at once")
    assert "start_line and line_count" in message


def test_the_lines_of_a_file_too_long_to_be_read_at_once_are_told(context, project):
    (project / "long.log").write_text("größe\n" * 200_000 + "end")

    message = error_of(read_file("long.log", context=context))

    assert message.startswith("long.log has 1,600,003 bytes and 200,001 lines; ")


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("content", "said"), [(b"a\x00" * 10**6, "is binary"), (b"caf\xe9\n" * 10**6, "is not UTF-8 text")]
)
def test_a_large_file_that_is_no_text_is_refused_as_a_small_one(context, project, content, said):
    (project / "data").write_bytes(content)

    assert said in error_of(read_file("data", context=context))
    assert said in error_of(read_file("data", start_line=1, context=context))


def test_a_file_of_the_largest_size_is_read_whole(context, project):
    (project / "a.txt").write_bytes(b"x" * text_content.MAX_BYTES)

    assert len(read_file("a.txt", context=context).result) == text_content.MAX_BYTES


@pytest.mark.long
def test_a_part_of_a_long_file_is_read_by_lines(context, project):
    (project / "long.log").write_text("".join(f"line {number}\n" for number in range(1, 400_001)))

    middle = read_file("long.log", start_line=300_000, line_count=2, context=context).result
    end = read_file("long.log", start_line=400_000, context=context).result

    assert middle == (
        f"line 300000\nline 300001\n[lines 300000-300001 of 400000 in {project}/long.log; "
        "more follow: start_line 300002]"
    )
    assert end == f"line 400000\n[lines 400000-400000 of 400000 in {project}/long.log; end of the file]"


def test_a_part_without_line_count_ends_at_the_largest_size(context, project):
    (project / "long.log").write_text("0123456789\n" * 200_000)

    text = read_file("long.log", start_line=1, context=context).result
    *lines, note = text.splitlines()

    assert len(lines) == text_content.MAX_BYTES // 11
    assert note == f"[lines 1-{len(lines)} of 200000 in {project}/long.log; more follow: start_line {len(lines) + 1}]"


@pytest.mark.parametrize(("content", "count"), [("a\nb\n", 2), ("a\nb", 2), ("a", 1), ("\n", 1)])
def test_a_line_behind_the_end_is_a_validation_error(context, project, content, count):
    (project / "a.txt").write_text(content)

    message = error_of(read_file("a.txt", start_line=count + 1, context=context), "validation_error")

    assert message == f"a.txt has only {count} lines; start_line was {count + 1}."


def test_an_empty_file(context, project):
    (project / "a.txt").touch()

    assert read_file("a.txt", context=context) == ToolResult.success("")
    assert read_file("a.txt", start_line=1, context=context) == ToolResult.success(f"[{project}/a.txt is empty]")


def test_a_line_that_is_too_long_is_refused(context, project):
    (project / "a.txt").write_text("a\n" + "x" * (text_content.MAX_BYTES + 1))

    assert "has a line 2 of more than" in error_of(read_file("a.txt", start_line=2, context=context))


def test_skipping_has_an_end(context, project, monkeypatch):
    monkeypatch.setattr(text_content, "MAX_SKIPPED_CHARACTERS", 1000)
    (project / "a.txt").write_text("x" * 2000)

    assert "is too long to be read from line 5" in error_of(read_file("a.txt", start_line=5, context=context))


@pytest.mark.parametrize("arguments", [{"start_line": 0}, {"line_count": 0}, {"start_line": -3}])
def test_line_numbers_begin_at_one(context, arguments):
    assert "must be 1 or more" in error_of(read_file("a.txt", **arguments, context=context), "validation_error")


@pytest.mark.long
@given(text=st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=300))
def test_parts_put_together_are_the_whole(tmp_path_factory, text):
    directory = tmp_path_factory.mktemp("parts")
    path = directory / "a.txt"
    path.write_bytes(text.encode())
    if path.read_bytes().startswith((b"\xef\xbb\xbf", b"%PDF-")):
        return
    parts, start, is_end = [], 1, not text
    while not is_end:
        with path.open("rb") as stream:
            lines = text_content.read_lines(stream, "UTF-8", start, 2)
        parts.append(lines.text)
        start, is_end = lines.last + 1, lines.is_end
        assert lines.last - lines.first < 2

    assert "".join(parts) == text


@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "/etc/passwd", "sub/../../outside/secret.txt", "/proc/self/environ", "a\x00b"]
)
@pytest.mark.parametrize("tool", [read_file, lambda path, context: write_file(path, "x", context=context)])
def test_paths_outside_are_denied(context, path, tool):
    with pytest.raises(PermissionDeniedError):
        tool(path, context=context)


@pytest.mark.parametrize("path", ["a" * 300, "a/" * 2100, "\ud800.txt"])
@pytest.mark.parametrize("tool", [read_file, lambda path, context: write_file(path, "x", context=context)])
def test_impossible_paths_are_errors(context, path, tool):
    error_of(tool(path, context=context))


def test_a_symbolic_link_that_leads_outside_is_denied(context, project, workspace, tmp_path):
    for directory in (project, workspace):
        (directory / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
        (directory / "linked").symlink_to(tmp_path / "outside")

    for path in ("link.txt", "linked/secret.txt", "linked/new.txt"):
        with pytest.raises(PermissionDeniedError):
            read_file(path, context=context)
        with pytest.raises(PermissionDeniedError):
            write_file(path, "x", context=context)
    assert [each.name for each in (tmp_path / "outside").iterdir()] == ["secret.txt"]
    assert (tmp_path / "outside" / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("path", ["link.txt", "linked/missing.txt"])
def test_a_link_in_the_start_directory_that_leads_outside_is_denied_and_not_called_missing(
    context, project, tmp_path, path
):
    (project / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (project / "linked").symlink_to(tmp_path / "outside")

    with pytest.raises(PermissionDeniedError, match="is outside"):
        read_file(path, context=context)


def test_a_dangling_link_is_a_missing_file(context, project):
    (project / "link.txt").symlink_to("nowhere.txt")

    assert error_of(read_file("link.txt", context=context)) == "File not found: nowhere.txt"


def test_writing_through_a_link_inside_keeps_the_link(context, workspace):
    (workspace / "real.txt").write_text("old")
    (workspace / "link.txt").symlink_to("real.txt")

    assert write_file("link.txt", "new", context=context).is_success
    assert (workspace / "link.txt").is_symlink()
    assert (workspace / "real.txt").read_text() == "new"


def test_a_symbolic_link_that_stays_inside_is_followed(context, workspace):
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")

    assert write_file("link/a.txt", "a", context=context).is_success
    assert read_file("link/a.txt", context=context).result == "a"
    assert (workspace / "real" / "a.txt").read_text() == "a"


class SwappingGuard:
    """Puts a symbolic link that leads outside in place of what was just judged."""

    def __init__(self, guard: PathGuard, victim: Path, target: Path) -> None:
        self.workspace, self.start_directory, self.display = guard.workspace, guard.start_directory, guard.display
        self.views = guard.views
        self._guard, self._victim, self._target = guard, victim, target

    def _swap(self, judged: Path) -> Path:
        if self._victim.is_dir():
            shutil.rmtree(self._victim)
        else:
            self._victim.unlink(missing_ok=True)
        self._victim.symlink_to(self._target)
        return judged

    def readable(self, path: str) -> Path:
        return self._swap(self._guard.readable(path))

    def writable(self, path: str) -> Path:
        return self._swap(self._guard.writable(path))


@pytest.mark.parametrize(("victim", "path"), [("sub", "sub/secret.txt"), ("secret.txt", "secret.txt")])
@pytest.mark.parametrize("mode", ["read", "overwrite", "append"])
def test_a_link_swapped_in_after_the_check_leads_nowhere(context, workspace, tmp_path, victim, path, mode):
    secret = tmp_path / "outside" / "secret.txt"
    (workspace / path).parent.mkdir(exist_ok=True)
    (workspace / path).write_text("harmless")
    target = secret.parent if victim == "sub" else secret
    context.paths = SwappingGuard(context.paths, workspace / victim, target)

    if mode == "read":
        error_of(read_file(path, context=context))
    else:
        error_of(write_file(path, "x", mode, context=context))

    assert (workspace / path).read_text() == "secret"  # the link is there and was not followed
    assert secret.read_text() == "secret"
    assert list(secret.parent.iterdir()) == [secret]


def test_a_named_pipe_is_refused_and_does_not_hang(context, workspace):
    os.mkfifo(workspace / "pipe")

    assert "it is a named pipe" in error_of(read_file("pipe", context=context))
    for mode in ("overwrite", "append"):
        assert "it is a named pipe" in error_of(write_file("pipe", "x", mode, context=context))


def test_a_socket_is_refused(context, workspace, monkeypatch):
    monkeypatch.chdir(workspace)  # the path of a socket may have 108 bytes only
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

        assert "it is a socket" in error_of(read_file("socket", context=context))
        assert "it is a socket" in error_of(write_file("socket", "x", context=context))


def test_a_device_is_refused():
    guard = PathGuard(Path("/dev"), Path("/dev"))
    context = ToolContext(Path("/dev"), None, "test", "read_file", "call_1", guard)

    assert "it is a device" in error_of(read_file("/dev/zero", context=context))
    assert "it is a device" in error_of(write_file("/dev/null", "x", context=context))


# --- write_file ---


def test_write_file_writes_content_correctly_overwrite_and_append(context, workspace):
    written = workspace / "a" / "b" / "notes.txt"
    assert write_file("a/b/notes.txt", "Grüße\n", context=context).result == f"Wrote 8 bytes to {written}"
    assert (workspace / "a/b/notes.txt").read_bytes() == "Grüße\n".encode()

    appended = write_file("a/b/notes.txt", "!", "append", context=context)
    assert appended.result == f"Wrote 1 byte to {written} (appended; it has 9 bytes now)"
    assert (workspace / "a/b/notes.txt").read_text() == "Grüße\n!"

    assert write_file("a/b/notes.txt", "", context=context).result == f"Wrote 0 bytes to {written}"
    assert (workspace / "a/b/notes.txt").read_bytes() == b""
    assert [each.name for each in (workspace / "a/b").iterdir()] == ["notes.txt"]


def test_append_makes_a_file_that_is_missing(context, workspace):
    assert write_file("new.txt", "x", "append", context=context).is_success
    assert (workspace / "new.txt").read_text() == "x"


def test_the_workspace_itself_is_made(context, workspace):
    workspace.rmdir()

    assert write_file("a.txt", "x", context=context).is_success
    assert (workspace / "a.txt").read_text() == "x"


def test_the_permission_bits_of_a_file_are_kept(context, workspace):
    (workspace / "run.sh").touch()
    (workspace / "run.sh").chmod(0o750)

    assert write_file("run.sh", "echo", context=context).is_success
    assert (workspace / "run.sh").stat().st_mode & 0o777 == 0o750


def test_a_new_file_has_the_permission_bits_of_the_user(context, workspace):
    before = os.umask(0o027)
    try:
        assert write_file("a.txt", "x", context=context).is_success
    finally:
        os.umask(before)

    assert (workspace / "a.txt").stat().st_mode & 0o777 == 0o640


def test_a_start_directory_that_is_not_trusted_is_read_only(context, project):
    with pytest.raises(PermissionDeniedError, match=r"which the user does not trust.*oneclaw trust"):
        write_file(str(project / "a.txt"), "x", context=context)


def test_a_directory_cannot_be_written(context, workspace):
    (workspace / "sub").mkdir()

    for path, mode in (("sub", "overwrite"), ("sub", "append"), ("new/", "overwrite")):
        assert "a directory, not a file" in error_of(write_file(path, "x", mode, context=context))
    for path in (".", ""):
        with pytest.raises(PermissionDeniedError):
            write_file(path, "x", context=context)


def test_a_file_in_place_of_a_directory(context, workspace):
    (workspace / "a").write_text("a")

    assert error_of(write_file("a/b.txt", "x", context=context)) == "Cannot write a/b.txt: Not a directory"


@pytest.mark.parametrize("mode", ["prepend", "", "Overwrite"])
def test_an_unknown_mode_is_a_validation_error(context, workspace, mode):
    error_of(write_file("a.txt", "x", mode, context=context), "validation_error")
    assert not list(workspace.iterdir())


def test_half_a_surrogate_pair_cannot_be_written(context, workspace):
    assert "character 3" in error_of(write_file("a.txt", "ab\ud800", context=context), "validation_error")
    assert not list(workspace.iterdir())


@pytest.fixture
def context_of_everybody():
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "home" / "workspace").mkdir(parents=True)
        (root / "home" / "workspace").chmod(0o777)
        (root / "project").mkdir()
        yield make_context(root)


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_file_write_to_a_read_only_path(context_of_everybody, mode):
    workspace = context_of_everybody.paths.workspace
    (workspace / "read_only.txt").write_text("old")
    (workspace / "read_only.txt").chmod(0o444)
    (workspace / "read_only").mkdir(mode=0o555)
    with ordinary_user():
        in_file = write_file("read_only.txt", "new", mode, context=context_of_everybody)
        in_directory = write_file("read_only/a.txt", "new", mode, context=context_of_everybody)
        deeper = write_file("read_only/sub/a.txt", "new", mode, context=context_of_everybody)

    assert error_of(in_file) == "Cannot write read_only.txt: Permission denied"
    assert error_of(in_directory) == "Cannot write read_only/a.txt: Permission denied"
    assert error_of(deeper) == "Cannot write read_only/sub/a.txt: Permission denied"
    assert (workspace / "read_only.txt").read_text() == "old"
    assert not list((workspace / "read_only").iterdir())
    (workspace / "read_only").chmod(0o755)


def test_a_file_that_may_not_be_read(context_of_everybody):
    file = context_of_everybody.paths.workspace / "private.txt"
    file.touch(mode=0o600)
    if os.geteuid() != 0:
        file.chmod(0)
    with ordinary_user():
        result = read_file("private.txt", context=context_of_everybody)

    assert error_of(result) == "Cannot read private.txt: Permission denied"


@contextmanager
def at_most_bytes_in_a_file(limit: int):
    """Stands for a full disk: the system writes a part and refuses the rest."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_failure_while_writing_leaves_the_old_content(context, workspace, mode):
    (workspace / "a.txt").write_text("old")
    with at_most_bytes_in_a_file(4096):
        result = write_file("a.txt", "x" * 100_000, mode, context=context)

    assert error_of(result) == "Cannot write a.txt: File too large"
    assert (workspace / "a.txt").read_text() == "old"
    assert [each.name for each in workspace.iterdir()] == ["a.txt"]


def test_parallel_writers_make_their_directories_and_leave_one_whole_content(context, workspace):
    contents = [str(number) * 50_000 for number in range(8)]
    start = threading.Barrier(len(contents))
    results = []

    def write(content: str) -> None:
        start.wait()
        results.append(write_file("deep/er/a.txt", content, context=context).is_success)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * len(contents)
    assert (workspace / "deep/er/a.txt").read_text() in contents


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list open files in /proc")
def test_nothing_stays_open(context, workspace):
    (workspace / "a.txt").write_text("a\x00")
    os.mkfifo(workspace / "pipe")
    before = open_files()
    for path in ("a.txt", "missing", "sub/missing", "pipe", "."):
        read_file(path, context=context)
        read_file(path, start_line=1, context=context)
    for path in ("b.txt", "pipe", "sub/b.txt"):
        write_file(path, "b", context=context)
        write_file(path, "b", "append", context=context)

    assert open_files() == before


@pytest.mark.parametrize("function", [read_file, write_file])
def test_the_manifests_name_these_functions(function):
    name = function.__name__
    manifest = json.loads((MANIFESTS / f"{name}.json").read_text())

    assert manifest["name"] == name
    assert manifest["function"] == f"oneclaw_core.builtin.files:{name}"
    parameters = set(manifest["parameters"]["properties"])
    assert parameters == set(function.__annotations__) - {"context", "return"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_nothing_is_appended_to_a_file_in_a_wide_encoding(context, workspace, encoding):
    file = workspace / "wide.txt"
    before = "Preis\n".encode(encoding)
    file.write_bytes(before)
    assert encoding in error_of(write_file(str(file), "more\n", "append", context=context))
    assert file.read_bytes() == before
