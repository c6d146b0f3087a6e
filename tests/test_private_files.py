"""What was made of a file is kept as long as the file is the same."""

import os
import time

import pytest

from oneclaw_core import OneClawError
from oneclaw_core.system.home import find_home
from oneclaw_core.system.private_files import KeptFiles, read_private, write_private

pytestmark = pytest.mark.every_python

LONG_AGO = time.time() - 3600


@pytest.fixture
def reading():
    """What reads a file, with the list of what it has read."""
    seen = []

    def read(path):
        seen.append(path.read_bytes())
        return seen[-1]

    read.seen = seen
    return read


def aged(path, monkeypatch):
    """Let the file be an hour old, whatever its times say."""
    now = time.time_ns()
    monkeypatch.setattr("oneclaw_core.system.private_files.time.time_ns", lambda: now + 3_600_000_000_000)
    return path


def test_an_unchanged_file_is_read_once(tmp_path, monkeypatch, reading):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    files = KeptFiles()
    aged(path, monkeypatch)
    assert [files.get(path, reading) for _ in range(3)] == [b"one"] * 3
    assert reading.seen == [b"one"]


def test_a_file_that_was_just_written_is_read_again(tmp_path, reading):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    files = KeptFiles()
    assert files.get(path, reading) == b"one"
    path.write_bytes(b"two")  # as long, and maybe within the same tick of the file system's clock
    assert files.get(path, reading) == b"two"


def test_every_kind_of_change_is_seen(tmp_path, monkeypatch, reading):
    path = aged(tmp_path / "file", monkeypatch)
    path.write_bytes(b"one")
    files = KeptFiles()
    files.get(path, reading)
    write_private(path, b"two")
    assert files.get(path, reading) == b"two"
    path.write_bytes(b"three")
    assert files.get(path, reading) == b"three"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        files.get(path, reading)
    path.write_bytes(b"four")
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert files.get(path, reading) == b"four"


def test_a_private_file_that_is_opened_to_others_is_refused_although_its_content_is_the_same(tmp_path, monkeypatch):
    path = aged(tmp_path / "file", monkeypatch)
    write_private(path, b"secret")
    files = KeptFiles()
    assert files.get(path, lambda it: read_private(it, 100)) == b"secret"
    path.chmod(0o644)
    with pytest.raises(OneClawError, match="open to other users"):
        files.get(path, lambda it: read_private(it, 100))


def test_what_fails_is_not_kept(tmp_path, monkeypatch, reading):
    path = aged(tmp_path / "file", monkeypatch)
    path.write_bytes(b"one")
    files = KeptFiles()

    def fails(path):
        raise OSError("not now")

    with pytest.raises(OSError, match="not now"):
        files.get(path, fails)
    assert files.get(path, reading) == b"one"


def test_a_missing_file_is_looked_for_each_time(tmp_path, monkeypatch):
    path = aged(tmp_path / "file", monkeypatch)
    files = KeptFiles()
    assert files.get(path, lambda it: read_private(it, 100)) is None
    write_private(path, b"there")
    assert files.get(path, lambda it: read_private(it, 100)) == b"there"


def test_all_directories_above_a_new_home_belong_to_its_owner_alone(tmp_path):
    home = find_home({}, tmp_path / "homes" / "ada")
    home.create()
    modes = {each: each.stat().st_mode & 0o777 for each in (home.path.parent, home.path, home.locks)}
    assert set(modes.values()) == {0o700}, modes
