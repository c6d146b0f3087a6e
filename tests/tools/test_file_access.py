"""Files that tools open, write and remove below the directories that they may use."""

import errno
import os
import socket
import stat

import pytest

from oneclaw_core.files import PathGuard
from oneclaw_core.files import access as file_access
from oneclaw_core.files.access import (
    DirectoryInsteadError,
    NotARegularFileError,
    append_content,
    list_directory,
    new_file,
    open_for_reading,
    remove_file,
    replace_content,
)


@pytest.fixture
def guard(tmp_path):
    for name in ("workspace", "start"):
        (tmp_path / name).mkdir()
    return PathGuard(tmp_path / "workspace", tmp_path / "start")


@pytest.fixture
def odd(guard):
    """Things that are not files, by their names in messages."""
    os.mkfifo(guard.workspace / "pipe")
    (guard.workspace / "folder").mkdir()
    (guard.workspace / "file").write_text("x")
    (guard.workspace / "link").symlink_to("file")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(guard.workspace / "socket"))
    return {
        "pipe": "it is a named pipe, not a file",
        "folder": "it is a directory, not a file",
        "link": "it is a symbolic link that was put there just now, not a file",
        "socket": "it is a socket, not a file",
    }


def read(path, guard):
    with open_for_reading(path, guard) as stream:
        return stream.read()


def names(directory):
    return sorted(each.name for each in directory.iterdir())


def test_files_of_both_directories_are_read_and_written(guard):
    for base in (guard.workspace, guard.start_directory):
        path = base / "new" / "deep" / "a.txt"
        replace_content(path, b"one", guard)
        assert read(path, guard) == b"one"
        replace_content(path, b"two", guard)
        assert append_content(path, b" three", guard) == 9
        assert read(path, guard) == b"two three"
        assert names(path.parent) == ["a.txt"]
        remove_file(path, guard)
        assert names(path.parent) == []
        assert append_content(path, b"x", guard) == 1
        with pytest.raises(FileNotFoundError):
            read(base / "missing", guard)
        with pytest.raises(FileNotFoundError):
            remove_file(base / "missing", guard)


def test_what_is_no_file_is_named(guard, odd):
    for name, message in odd.items():
        path = guard.workspace / name
        for act in (
            lambda path: read(path, guard),
            lambda path: remove_file(path, guard),
            lambda path: replace_content(path, b"", guard),
            lambda path: append_content(path, b"", guard),
        ):
            with pytest.raises(NotARegularFileError) as error:
                act(path)
            assert (error.value.errno, error.value.strerror) == (errno.EINVAL, message)
            assert isinstance(error.value, DirectoryInsteadError) is (name == "folder")
    for mode, kind in ((stat.S_IFCHR, "a device"), (stat.S_IFBLK, "a device"), (0, "something else")):
        with pytest.raises(NotARegularFileError) as error:
            file_access._require_regular(os.stat_result((mode, *[0] * 9)))
        assert error.value.strerror == f"it is {kind}, not a file"
    with pytest.raises(DirectoryInsteadError):
        read(guard.workspace, guard)
    assert (guard.workspace / "file").read_text() == "x"


def test_the_mode_of_a_file_stays(guard):
    path = guard.workspace / "a.sh"
    umask = os.umask(0o027)
    try:
        replace_content(path, b"", guard)
        modes = [path.stat().st_mode & 0o777]
        with new_file(guard.workspace / "b", guard) as new:
            modes.append(new.keep().stat().st_mode & 0o777)
        append_content(guard.workspace / "c", b"", guard)
        modes.append((guard.workspace / "c").stat().st_mode & 0o777)
    finally:
        os.umask(umask)
    assert modes == [0o640] * 3
    path.chmod(0o751)
    replace_content(path, b"new", guard)
    assert path.stat().st_mode & 0o777 == 0o751


def test_a_write_that_fails_leaves_the_old_content(guard, monkeypatch):
    path = guard.workspace / "a.txt"
    path.write_bytes(b"old")

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="No space"):
                replace_content(path, b"new", guard)
        assert (path.read_bytes(), names(guard.workspace)) == (b"old", ["a.txt"])
    written = []

    def write_two(descriptor, data):
        if written:
            fail()
        written.append(bytes(data[:2]))
        return real_write(descriptor, bytes(data[:2]))

    real_write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_two)
        with pytest.raises(OSError, match="No space"):
            append_content(path, b"more", guard)
    assert (written, path.read_bytes()) == ([b"mo"], b"old")

    def write_beside(descriptor, data):
        if len(written) == 2:
            real_write(descriptor, b"other")
            fail()
        written.append(b"")
        return real_write(descriptor, bytes(data[:1]))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_beside)
        with pytest.raises(OSError, match="No space"):
            append_content(path, b"more", guard)
    assert path.read_bytes() == b"oldmother"


def test_a_long_text_is_added_piece_by_piece(guard, monkeypatch):
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, bytes(data[:3])))
    assert append_content(guard.workspace / "a", b"12345678", guard) == 8
    assert (guard.workspace / "a").read_bytes() == b"12345678"


def test_a_new_file_replaces_nothing(guard, monkeypatch):
    path = guard.workspace / "sub" / "a.tar.gz"
    kept = []
    for content in (b"1", b"2", b"3"):
        with new_file(path, guard) as new:
            new.write(content)
            assert names(path.parent)[0].startswith(".oneclaw-")
            kept.append(new.keep().name)
    assert kept == ["a.tar.gz", "a.tar-2.gz", "a.tar-3.gz"]
    assert [path.with_name(each).read_bytes() for each in kept] == [b"1", b"2", b"3"]
    with new_file(path, guard) as new:
        new.write(b"4")
    assert names(path.parent) == sorted(kept)
    for number in range(4, 100):
        path.with_name(f"a.tar-{number}.gz").touch()
    with new_file(path, guard) as new:
        assert len(new.keep().name) == len("a.tar-.gz") + 16
    monkeypatch.setattr(file_access, "_similar_names", lambda path: iter([path.name]))
    with new_file(path, guard) as new, pytest.raises(FileExistsError):
        new.keep()
    before = names(path.parent)

    def fail(*_, **__):
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with new_file(path.with_name("fresh"), guard) as new, pytest.raises(OSError, match="broken"):
            new.keep()
    assert names(path.parent) == before


def test_a_directory_is_listed_in_order_and_in_part(guard):
    for base in (guard.workspace, guard.start_directory):
        (base / "sub" / "z").mkdir(parents=True)
        (base / "sub" / "b").touch()
        (base / "sub" / "a").symlink_to("z")
        assert list_directory(base / "sub", guard, 10) == ["a", "b", "z/"]
        assert list_directory(base, guard, 10) == ["sub/"]
        assert len(list_directory(base / "sub", guard, 2)) == 2
    with pytest.raises(NotADirectoryError):
        list_directory(guard.workspace / "sub" / "b", guard, 10)
    with pytest.raises(OSError, match=r"."):
        list_directory(guard.workspace / "sub" / "a", guard, 10)


def test_directories_are_made_to_a_depth(guard):
    replace_content(guard.workspace.joinpath(*["d"] * 99, "f"), b"x", guard)
    with pytest.raises(OSError, match="it lies more than 100 directories deep") as error:
        replace_content(guard.workspace.joinpath(*["e"] * 100, "f"), b"x", guard)
    assert error.value.errno == errno.ENAMETOOLONG
    assert names(guard.workspace) == ["d"]
    with pytest.raises(FileNotFoundError):
        read(guard.workspace / "no" / "file", guard)
    assert names(guard.workspace) == ["d"]


def test_no_link_is_followed_on_the_way(guard, tmp_path):
    (guard.workspace / "link").symlink_to(tmp_path)
    (tmp_path / "x").write_text("x")
    for act in (
        lambda: read(guard.workspace / "link" / "x", guard),
        lambda: replace_content(guard.workspace / "link" / "x", b"", guard),
        lambda: remove_file(guard.workspace / "link" / "x", guard),
    ):
        with pytest.raises(OSError, match=r"."):
            act()
    assert (tmp_path / "x").read_text() == "x"


def test_a_missing_base_is_made(tmp_path):
    guard = PathGuard(tmp_path / "a" / "workspace", tmp_path / "start")
    replace_content(tmp_path / "a" / "workspace" / "f", b"x", guard)
    assert read(tmp_path / "a" / "workspace" / "f", guard) == b"x"


def test_a_pipe_that_slips_in_does_not_wait(guard, monkeypatch):
    os.mkfifo(guard.workspace / "pipe")
    calls = []
    monkeypatch.setattr(file_access, "_require_regular", lambda found: calls.append(found))
    with open_for_reading(guard.workspace / "pipe", guard, "look"):
        assert len(calls) == 2
