"""Files and directories that belong to their owner alone."""

import pytest
from filelock import FileLock

from oneclaw_core import OneClawError
from oneclaw_core.system import private_files
from oneclaw_core.system.home import find_home
from oneclaw_core.system.private_files import read_private, write_private

pytestmark = pytest.mark.every_python


def test_a_private_file_that_is_opened_to_others_is_refused(tmp_path):
    path = tmp_path / "file"
    assert read_private(path, 100) is None
    write_private(path, b"secret")
    assert read_private(path, 100) == b"secret"
    path.chmod(0o644)
    with pytest.raises(OneClawError, match="open to other users"):
        read_private(path, 100)


def test_all_directories_above_a_new_home_belong_to_its_owner_alone(tmp_path):
    home = find_home({}, tmp_path / "homes" / "ada")
    home.create()
    modes = {each: each.stat().st_mode & 0o777 for each in (home.path.parent, home.path, home.locks)}
    assert set(modes.values()) == {0o700}, modes


def test_a_file_that_another_process_is_changing_is_left_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr(private_files, "_LOCK_SECONDS", 0)
    path, lock = tmp_path / "state.json", tmp_path / "locks" / "state.lock"
    lock.parent.mkdir()
    held = FileLock(lock)  # as version 0.2 locks it
    refused = pytest.raises(OneClawError, match="another process is changing the names: try again")
    with held, refused, private_files.changing_private(path, lock, "the names"):
        write_private(path, b"mine")
    assert not path.exists()
    with private_files.changing_private(path, lock, "the names"):
        write_private(path, b"mine")
    assert path.read_bytes() == b"mine"
