"""Check where the plugins of earlier versions come from. Their tests take long: ``uv run tox -e sweep`` runs them."""

import subprocess
import tomllib

import pytest
from sweep import ROOT, UNTAGGED, main, make_plugins, releases, unpack


def test_each_release_is_known_by_a_commit_or_a_tag(monkeypatch):
    monkeypatch.setattr("sweep._git", lambda *arguments: b"v0.10.0\nv0.3.0\nv0.3.0rc1\nvendor\n")
    assert list(releases()) == ["0.2.0", "0.3.0", "0.10.0"]
    assert releases()["0.3.0"] == "v0.3.0"


def test_a_release_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match=r"there is no release 9\.9\.9"):
        main(["9.9.9"])


def test_the_plugins_are_those_of_the_release(tmp_path):
    commit = UNTAGGED["0.2.0"]
    if subprocess.run(["git", "cat-file", "-e", commit], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("this clone does not have the commits of releases")
    unpack(commit, tmp_path)
    plugins = make_plugins(tmp_path)
    assert [path.name for path in plugins] == [
        "audit_log",
        "folder_source",
        "otel",
        "policy",
        "redactor",
        "acme-greeter",
    ]
    project = tomllib.loads((plugins[-1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dependencies"] == ["oneclaw-core>=0.2,<0.3"]
