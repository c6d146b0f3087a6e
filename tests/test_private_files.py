"""Files and directories that belong to their owner alone."""

import pytest

from oneclaw_core import OneClawError
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
