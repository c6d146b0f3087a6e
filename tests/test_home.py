"""Projects that the user trusts."""

from oneclaw_core.home import is_trusted, trusted_projects


def test_which_projects_are_trusted(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    stored = {"trusted_projects": [str(tmp_path), 7]}
    assert trusted_projects(stored) == [str(tmp_path)]
    assert is_trusted(tmp_path, stored)
    assert is_trusted(tmp_path / "link", stored)
    assert not is_trusted(tmp_path.parent, stored)
    assert not is_trusted(tmp_path / "below", stored)
    assert not is_trusted(None, stored)
    for odd in (None, "all", {"a": 1}, 7, True):
        assert trusted_projects({"trusted_projects": odd}) == []
