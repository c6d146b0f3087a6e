"""Places that other programs run or obey: a command in the sandbox changes none, and makes none without a question."""

import subprocess
import time
from types import SimpleNamespace

import pytest
from how_long import some
from oneclaw_shell.made_places import made_protected_places

from oneclaw_core.files import PathGuard
from oneclaw_core.process import choose_sandbox, sandbox_policy

pytestmark = pytest.mark.skipif(choose_sandbox("auto").name != "bubblewrap", reason="bubblewrap cannot run here")


@pytest.fixture
def oneclaw(oneclaw_factory):
    return oneclaw_factory(("shell",))


@pytest.fixture
def workspace(oneclaw_home):
    return oneclaw_home.workspace


PLACES = ["CLAUDE.md", ".github/workflows/ci.yml", "sub/AGENTS.md", ".mcp.json", ".pre-commit-config.yaml", "lib/x.pth"]


@pytest.mark.long
@pytest.mark.parametrize("place", some(PLACES, 3))
def test_a_place_that_is_there_is_read_only(oneclaw, workspace, place):
    path = workspace / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("before")
    result = oneclaw.call_tool("exec", command=f"echo x >> {place}; rm {place}; mv {place} y; true")
    assert "Read-only file system" in result.result or "busy" in result.result
    assert path.read_text() == "before"
    assert oneclaw.user.asked == []


@pytest.mark.long
@pytest.mark.parametrize("place", some(PLACES, 3))
def test_a_place_that_a_command_makes_is_asked_for_and_moved_away(oneclaw, oneclaw_home, workspace, place):
    oneclaw.user.says("no")
    result = oneclaw.call_tool("exec", command=f"mkdir -p $(dirname {place}); echo evil > {place}")
    (question,) = oneclaw.user.asked
    assert question.permission == "files.write"
    assert not (workspace / place).exists()
    assert "the user did not agree" in result.result
    (kept,) = [each for each in (oneclaw_home.path / "withheld").rglob("*") if each.is_file()]
    assert kept.read_text() == "evil\n"


NESTED = {
    "hooks that the settings of git name": "mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit",
    "settings that the settings of git name": "echo evil > .gitlocal",
    "repository": "cd docs && git init -q . && git config core.fsmonitor evil",
    "link of a worktree": "echo 'gitdir: ../docs' > docs/.git",
    "repository of another name": "cd docs && mkdir objects refs && echo evil > config && echo 'ref: x' > HEAD",
    "settings that are hidden, too": "echo evil > .envrc",
}


@pytest.mark.parametrize("case", some(NESTED, 3))
def test_a_command_plants_nothing_for_git_in_a_repository(oneclaw, workspace, case):
    (workspace / "docs").mkdir()
    (workspace / "docs" / "guide.md").write_text("mine")
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    settings = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../.gitlocal\n"
    with (workspace / ".git" / "config").open("a") as file:
        file.write(settings)
    oneclaw.user.says("no")
    result = oneclaw.call_tool("exec", command=NESTED[case])
    assert "the user did not agree" in result.result
    assert len(oneclaw.user.asked) == 1
    left = ("tools/hooks", ".gitlocal", "docs/.git", "docs/HEAD", ".envrc")
    assert [each for each in left if (workspace / each).exists()] == []
    assert (workspace / "docs" / "guide.md").read_text() == "mine"


def test_a_bare_repository_that_a_command_made_can_be_used(oneclaw, workspace):
    def run(command):
        return oneclaw.call_tool("exec", command=command).result

    who = "-c user.name=A -c user.email=a@b"
    assert "exit code: 0" in run(
        f"git init -q --bare r.git && git clone -q r.git w && cd w && git {who} commit -q --allow-empty -m x"
    )
    assert "exit code: 0" in run("cd w && git push -q origin HEAD && git --git-dir=../r.git log --oneline")
    assert "exit code: 0" not in run("echo x >> r.git/config")
    assert oneclaw.user.asked == []


def test_a_place_that_the_user_agrees_to_stays(oneclaw, workspace):
    oneclaw.user.says("once")
    oneclaw.call_tool("exec", command="echo ok > CLAUDE.md")
    assert (workspace / "CLAUDE.md").read_text() == "ok\n"


@pytest.mark.long
def test_a_new_repository_and_environment_are_ordinary_work(oneclaw, workspace, tmp_path):
    source = tmp_path / "source"
    (source / ".github").mkdir(parents=True)
    (source / ".github" / "x.yml").write_text("on: push")
    (source / "AGENTS.md").write_text("x")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    subprocess.run(["git", "bundle", "create", "-q", workspace / "b", "HEAD"], cwd=source, check=True)
    result = oneclaw.call_tool(
        "exec", command="git clone -q b copy && python3 -m venv --without-pip .venv-new && ls -A copy"
    )
    assert "AGENTS.md" in result.result
    assert oneclaw.user.asked == []


def test_environments_under_any_name_are_read_only(tmp_path):
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    for place in ("env", "sub/py3", ".tox/py311", "node_modules/.bin"):
        (tmp_path / "work" / place).mkdir(parents=True)
        (tmp_path / "work" / place / "pyvenv.cfg").touch()
    policy = sandbox_policy(PathGuard(tmp_path / "work", tmp_path / "work", tmp_path / "home"))
    found = {str(each.relative_to(tmp_path / "work")) for each in policy.protected}
    assert found == {"env", "sub/py3", ".tox/py311", "node_modules/.bin"}


def test_what_a_command_made_near_the_top_is_found_in_any_number_of_folders(tmp_path, monkeypatch):
    paths = PathGuard(tmp_path / "work", tmp_path / "work", tmp_path / "home")
    for folder in ("work/deep/er", "home"):
        (tmp_path / folder).mkdir(parents=True)
    policy = sandbox_policy(paths)
    for place in (tmp_path / "work", tmp_path / "work" / "deep", tmp_path / "work" / "deep" / "er"):
        (place / "CLAUDE.md").touch()
    clock = SimpleNamespace(time=time.time, time_ns=time.time_ns, monotonic=iter((0.0, 1.0, 2.0, 100.0)).__next__)
    monkeypatch.setattr("oneclaw_core.files.special_files.time", clock)
    made, is_all = made_protected_places(policy)
    assert made == [tmp_path / "work" / "CLAUDE.md", tmp_path / "work" / "deep" / "CLAUDE.md"]
    assert not is_all
