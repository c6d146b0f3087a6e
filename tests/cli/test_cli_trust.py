"""`oneclaw trust`."""

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    directory = tmp_path / "project"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def test_a_directory_is_trusted_listed_and_forgotten(ok, project):
    assert ok("trust") == f"{project} is trusted\n"
    (listed,) = ok("trust", "--list", "--json")
    assert (listed["directory"], listed["trusted"]) == (str(project), True)
    assert str(project) in str(ok("permissions", "list", "--json"))

    assert ok("trust", "--forget") == f"what was decided on {project} is forgotten\n"
    assert ok("trust", "--list", "--json") == []
    assert ok("trust", "--forget") == f"{project} was not trusted\n"


def test_trust_is_by_the_resolved_path(ok, project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    ok("trust", str(tmp_path / "link"))
    (listed,) = ok("trust", "--list", "--json")
    assert listed["directory"] == str(project)


@pytest.mark.parametrize("directory", ["/", "~", "~/.config", "/tmp"])
def test_what_is_no_project_needs_force(oneclaw, ok, project, monkeypatch, directory):
    home = project.parent
    monkeypatch.setenv("HOME", str(home))
    (home / ".config").mkdir()
    path = directory.replace("~", str(home))
    refused = oneclaw("trust", path)
    assert refused.status == 2
    assert "is not trusted, since" in refused.stderr
    assert ok("trust", "--force", path) == f"{path} is trusted\n"


def test_a_directory_that_is_missing_is_not_trusted(oneclaw, project):
    assert "there is no directory" in oneclaw("trust", "nowhere").stderr


@pytest.mark.long
def test_a_trusted_directory_is_written_after_a_grant(oneclaw, ok, project):
    write = ("call", "write_file", '{"path": "a.txt", "content": "x"}')
    assert f"to {project}/a.txt" not in oneclaw(*write).stdout
    ok("trust")
    assert "Permission 'files.write' is not granted" in oneclaw(*write).stdout
    ok("permissions", "grant", f"files.write:{project}")
    assert f"to {project}/a.txt" in ok(*write)
    assert (project / "a.txt").read_text() == "x"
