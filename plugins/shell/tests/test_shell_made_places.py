"""Places that other programs run or obey: a command in the sandbox changes none, and makes none without a question."""

import subprocess

import pytest

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


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_is_there_is_read_only(oneclaw, workspace, place):
    path = workspace / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("before")
    result = oneclaw.call_tool("exec", command=f"echo x >> {place}; rm {place}; mv {place} y; true")
    assert "Read-only file system" in result.result or "busy" in result.result
    assert path.read_text() == "before"
    assert oneclaw.user.asked == []


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_a_command_makes_is_asked_for_and_moved_away(oneclaw, oneclaw_home, workspace, place):
    oneclaw.user.says("no")
    result = oneclaw.call_tool("exec", command=f"mkdir -p $(dirname {place}); echo evil > {place}")
    (question,) = oneclaw.user.asked
    assert question.permission == "files.write"
    assert not (workspace / place).exists()
    assert "the user did not agree" in result.result
    (kept,) = [each for each in (oneclaw_home.path / "withheld").rglob("*") if each.is_file()]
    assert kept.read_text() == "evil\n"


def test_a_place_that_the_user_agrees_to_stays(oneclaw, workspace):
    oneclaw.user.says("once")
    oneclaw.call_tool("exec", command="echo ok > CLAUDE.md")
    assert (workspace / "CLAUDE.md").read_text() == "ok\n"


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
