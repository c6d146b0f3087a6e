"""In a project, tools work where the program was started, and say so."""

import json

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "a.py").write_text("x = 1\n")
    monkeypatch.chdir(directory)
    return directory


def call(run, tool, *options, **arguments):
    return run("call", *options, tool, json.dumps(arguments))


@pytest.mark.long
def test_relative_paths_of_all_tools_lie_in_a_trusted_project(ok, project):
    ok("trust")
    written = json.loads(call(ok, "write_file", "--allow", "files.write", path="a.py", content="x = 2\n"))
    assert written["result"] == f"Wrote 6 bytes to {project / 'a.py'}"
    assert (project / "a.py").read_text() == "x = 2\n"
    assert "x = 2" in call(ok, "read_file", path="a.py")
    ran = json.loads(call(ok, "exec", "--allow", "shell.execute", command="pwd; cat a.py"))
    assert f"{project}\nx = 2" in ran["result"]
    program = "return fs.readFile('a.py')"
    assert "x = 2" in call(ok, "js_eval", code=program)


def test_a_project_that_is_not_trusted_is_not_written_to_elsewhere(oneclaw, home, project):
    refused = call(oneclaw, "write_file", "--allow", "files.write", path="a.py", content="x = 2\n")
    assert refused.status == 1
    document = refused.json
    assert document["error_type"] == "permission_denied"
    assert f"oneclaw trust {project}" in document["message"]
    assert (project / "a.py").read_text() == "x = 1\n"
    assert not (home / "workspace" / "a.py").exists()
