"""The core tool exec in its sandbox: what needs a question, what is blocked, and what the model is told of it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from oneclaw_core.files import PathGuard
from oneclaw_core.process import Access, ChosenSandbox, SandboxScope, Strength, choose_sandbox, sandbox_policy

CHOSEN = choose_sandbox("auto")
pytestmark = pytest.mark.needs("bubblewrap")


@pytest.fixture
def oneclaw(oneclaw_factory):
    return oneclaw_factory(("shell",))


@pytest.fixture
def run(oneclaw):
    def run(command, **arguments):
        return oneclaw.call_tool("exec", command=command, **arguments)

    return run


def facts_in(result):
    line = next(each for each in result.result.splitlines() if each.startswith("[sandbox: "))
    return json.loads(line.removeprefix("[sandbox: ").removesuffix("]"))


def test_a_command_works_in_the_workspace_without_a_question(oneclaw, run, oneclaw_home):
    assert run("pwd; echo a > made").result == f"[exit code: 0]\n\n{oneclaw_home.workspace}"
    assert (oneclaw_home.workspace / "made").read_text() == "a\n"
    assert oneclaw.user.asked == []


@pytest.mark.long
def test_temporary_files_stay_from_one_command_to_the_next(run):
    run("echo kept > /tmp/note")
    assert "kept" in run("cat /tmp/note $HOME/note").result
    assert not Path("/tmp/note").exists()


@pytest.mark.long
def test_a_place_of_the_system_is_named_and_not_asked_for(run):
    facts = facts_in(run("touch /etc/made-by-a-test"))
    denied = {"kind": "write", "target": "/etc/made-by-a-test", "permission": ""}
    assert facts == {"backend": "bubblewrap", "denied": [denied], "is_certain": False}


def test_no_name_is_resolved_by_what_passes_the_proxy_by(run):
    facts = facts_in(run("getent hosts example.com || echo 'Could not resolve host: example.com'; false"))
    assert facts["denied"] == [{"kind": "network", "target": "example.com", "permission": "unsandboxed"}]


@pytest.mark.long
def test_a_command_that_succeeds_has_nothing_reported(run):
    assert "sandbox" not in run("touch /etc/made-by-a-test || true").result


def test_hidden_files_cannot_be_read(run, oneclaw_home, oneclaw_project):
    (oneclaw_home.path / "secret").write_text("canary")
    for directory in (oneclaw_home.workspace, oneclaw_project):
        (directory / ".env").write_text("canary")
        (directory / "deep").mkdir()
        (directory / "deep" / "server.pem").write_text("canary")
    looked = run(f"cat .env deep/server.pem {oneclaw_home.path}/secret {oneclaw_project}/.env {oneclaw_project}/deep/*")
    assert "canary" not in looked.result


def test_the_start_directory_is_read_only_until_it_is_trusted(oneclaw, run, oneclaw_project):
    (oneclaw_project / "notes").write_text("seen")
    oneclaw.user.says("no")
    assert "seen" in run("cat notes; echo x > made", working_directory=str(oneclaw_project)).result
    assert not (oneclaw_project / "made").exists()


def test_writing_elsewhere_is_asked_for_with_the_reason(oneclaw, run, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    oneclaw.user.says("no")
    refused = run(f"echo x > {elsewhere}/a", needs=[f"write:{elsewhere}"], reason="to make a report")
    assert refused.error_type == "permission_denied"
    oneclaw.user.says("once")
    assert run(f"echo x > {elsewhere}/a", needs=[f"write:{elsewhere}"], reason="to make a report").is_success
    assert (elsewhere / "a").read_text() == "x\n"
    question = oneclaw.user.asked[-1]
    assert (question.permission, question.subject) == ("files.write", str(elsewhere))
    assert "to make a report" in question.detail


def test_leaving_the_sandbox_is_asked_for_each_time(oneclaw, run, tmp_path):
    oneclaw.user.says("session")
    for number in (1, 2):
        assert run(f"touch {tmp_path}/made-{number}", needs=["unsandboxed"], reason="why not").is_success
    assert [each.permission for each in oneclaw.user.asked] == ["shell.execute.unsandboxed"] * 2
    assert [each.grant_for_session for each in oneclaw.user.asked] == [None, None]
    assert (tmp_path / "made-2").exists()


@pytest.mark.parametrize("needs", [["write:relative"], ["write:/nonexistent-place"], ["write:/"], ["anything"]])
def test_a_need_that_is_none_is_refused(run, needs):
    assert run("true", needs=needs).error_type == "validation_error"


@pytest.mark.long
def test_background_processes_end_with_the_command_and_the_model_is_told(run):
    result = run("setsid sleep 600 & echo x").result
    assert "in the sandbox nothing outlives its command" in result
    assert "sleep 600" in result


@pytest.mark.parametrize(
    "strength",
    [
        Strength(is_available=False, reason="bubblewrap (bwrap) is not installed"),
        Strength(is_available=True, gaps=("it hides nothing",)),
    ],
)
def test_a_sandbox_that_does_not_enforce_all_asks_and_never_runs_free(
    oneclaw, run, oneclaw_home, monkeypatch, strength
):
    chosen = ChosenSandbox(CHOSEN.backend if strength.is_available else None, strength)
    monkeypatch.setattr("oneclaw_core.process.sandbox.choice.choose_sandbox", lambda setting: chosen)
    oneclaw.user.says("no")
    assert run("touch made").error_type == "permission_denied"
    assert not (oneclaw_home.workspace / "made").exists()
    (question,) = oneclaw.user.asked
    assert (question.permission, question.subject) == ("shell.execute", "touch made")
    assert (strength.reason or "it hides nothing") in question.detail
    assert ("always, run it outside of it" in question.detail) is strength.is_available


def test_a_sandbox_that_breaks_runs_nothing(run, oneclaw_home, monkeypatch):
    monkeypatch.setattr(type(CHOSEN.backend), "_namespaces", lambda *_: ["--no-such-option"])
    result = run("touch made")
    assert result.error_type == "execution_error"
    assert "has not run" in result.error_message
    assert not (oneclaw_home.workspace / "made").exists()


def guard_for(tmp_path, **options):
    for name in ("home/workspace", "project"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    return PathGuard(tmp_path / "home" / "workspace", tmp_path / "project", tmp_path / "home", **options)


@pytest.mark.needs("git")
def test_settings_of_git_are_protected_and_hooks_are_made(tmp_path):
    guard = guard_for(tmp_path, trusts_start=True)
    for repository in (guard.start_directory, guard.start_directory / "below"):
        subprocess.run(["git", "init", "-q", "--template=", repository], check=True)
    protected = sandbox_policy(guard).protected
    for git in (guard.start_directory / ".git", guard.start_directory / "below" / ".git"):
        assert {git / "config", git / "hooks"} <= {*protected}


@pytest.mark.long
@pytest.mark.needs("git")
def test_no_command_has_git_take_its_settings_from_elsewhere(run, oneclaw_home, tmp_path):
    repository, planted = oneclaw_home.workspace / "a", tmp_path / "planted"
    subprocess.run(["git", "init", "-q", repository], check=True)
    git = ["git", "-C", repository, "-c", "user.name=A", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "../b"], check=True)
    run(
        "cd a && mkdir evil && cp -r .git/config .git/objects .git/refs evil && "
        f"git config -f evil/config core.fsmonitor 'touch {planted}; false'; "
        f"rm -f .git/commondir; for each in .git .git/worktrees/b; do echo {repository}/evil > $each/commondir; done"
    )
    for name in ("a", "b"):
        status = ["git", "-C", oneclaw_home.workspace / name, "status"]
        assert subprocess.run(status, capture_output=True, check=False).returncode == 0
    assert not planted.exists()


@pytest.mark.long
def test_a_command_that_writes_into_the_report_of_its_end_ends_as_it_says(run):
    assert run("echo junk > /proc/2/fd/9; sleep 600").result.startswith("[exit code: 255]")


def test_only_repositories_that_can_be_written_get_hooks(tmp_path):
    guard = guard_for(tmp_path)
    for root in (guard.start_directory, guard.workspace):
        module = root / ".git" / "modules" / "part"
        for name in ("objects", "logs"):
            (module / name).mkdir(parents=True)
        for name in ("HEAD", "logs/HEAD", "config"):
            (module / name).write_text("x")
    sandbox_policy(guard)
    made = [each.relative_to(tmp_path) for each in tmp_path.rglob("hooks")]
    assert {str(each) for each in made} == {
        "home/workspace/.git/hooks",
        "home/workspace/.git/modules/part/hooks",
    }
    assert not (guard.start_directory / ".git/modules/part/commondir").exists()


def test_a_hidden_file_is_found_though_a_command_sets_back_the_time_of_its_directory(tmp_path, monkeypatch):
    monkeypatch.setattr("oneclaw_core.files.special_files._SETTLED_SECONDS", -60)
    guard = guard_for(tmp_path)
    before = guard.workspace.stat()
    sandbox_policy(guard)
    (guard.workspace / ".env").write_text("x")
    while guard.workspace.stat().st_ctime_ns == before.st_ctime_ns:
        os.utime(guard.workspace, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(guard.workspace, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert guard.workspace / ".env" in sandbox_policy(guard).hidden_files


def test_a_hidden_name_that_leads_nowhere_hides_nothing(tmp_path):
    guard = guard_for(tmp_path)
    (guard.workspace / ".env").symlink_to(".env")
    assert not any(each.is_relative_to(guard.workspace) for each in sandbox_policy(guard).hidden_files)


def test_a_hidden_name_that_leads_to_a_folder_elsewhere_does_not_close_it(tmp_path):
    guard = guard_for(tmp_path)
    (guard.workspace / "a.pem").symlink_to("/usr")
    assert Path("/usr") not in sandbox_policy(guard).hidden_folders


def test_what_was_asked_for_is_not_followed_to_another_place(tmp_path):
    from oneclaw_core.process import SandboxError

    guard = guard_for(tmp_path)
    (guard.workspace / "asked").symlink_to(guard.start_directory)
    with pytest.raises(SandboxError, match="another place"):
        sandbox_policy(guard, SandboxScope(writable=(guard.workspace / "asked",)))


@pytest.mark.needs("git")
def test_no_command_plants_settings_that_git_may_read_later(run, oneclaw_home, tmp_path):
    planted, git = tmp_path / "planted", ["git", "-C", oneclaw_home.workspace / "a"]
    subprocess.run(["git", "init", "-q", oneclaw_home.workspace / "a"], check=True)
    (oneclaw_home.workspace / "a/.githooks").mkdir()
    (oneclaw_home.workspace / "a/shared.ini").touch()
    subprocess.run([*git, "config", "core.hooksPath", ".githooks"], check=True)
    subprocess.run([*git, "config", "include.path", "../shared.ini"], check=True)
    monitor = f"[core]\n  fsmonitor = touch {planted}; false\n"
    (oneclaw_home.workspace / "settings").write_text(monitor)
    run(
        f"cd a; cp ../settings .git/config.worktree; cp ../settings shared.ini; echo 'touch {planted}' "
        "> .githooks/pre-commit; chmod +x .githooks/pre-commit"
    )
    subprocess.run([*git, "config", "extensions.worktreeConfig", "true"], check=True)
    commit = [*git, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(commit, check=True)
    assert not planted.exists()


def test_packages_are_searched_for_repositories_alone(tmp_path):
    guard = guard_for(tmp_path)
    start, repositories = guard.workspace, ["node_modules/@a/b", "node_modules/c", ".tox/py/src/e"]
    for name in repositories:
        (start / name / ".git").mkdir(parents=True)
        (start / name / "key.pem").write_text("x")
    policy = sandbox_policy(guard)
    assert {start / each / ".git/hooks" for each in repositories} <= {*policy.protected}
    assert not any(each.is_relative_to(start) for each in policy.hidden_files)


def test_a_search_that_takes_too_long_gives_no_policy(tmp_path, monkeypatch):
    from oneclaw_core.process import SandboxError

    guard = guard_for(tmp_path)
    (guard.workspace / "a").mkdir()
    monkeypatch.setattr("oneclaw_core.files.special_files._SEARCH_SECONDS", 0)
    with pytest.raises(SandboxError, match="for hidden files takes more than 0 seconds"):
        sandbox_policy(guard)


@pytest.mark.needs("git")
def test_a_repository_whose_files_lie_elsewhere_is_left_as_it_is(tmp_path):
    guard = guard_for(tmp_path)
    subprocess.run(["git", "init", "-q", guard.workspace], check=True)
    subprocess.run(["git", "-C", guard.workspace, "config", "core.worktree", guard.start_directory], check=True)
    sandbox_policy(guard)
    assert not (guard.workspace / ".git" / "commondir").exists()


def test_the_environment_is_clean(tmp_path):
    environ = {"PATH": "/usr/bin", "LANG": "C", "DATABASE": "x", "OPENAI_API_KEY": "sk-123", "LC_ALL": "C"}
    names = dict(sandbox_policy(guard_for(tmp_path), environ=environ).environment)
    assert not {"DATABASE", "OPENAI_API_KEY"} & names.keys()
    assert {"PATH", "LANG", "LC_ALL"} <= names.keys()


def test_a_trusted_project_with_programs_in_it_can_be_written(tmp_path):
    guard = guard_for(tmp_path, trusts_start=True)
    for name in ("bin", "lib"):
        (guard.start_directory / name).mkdir()
    policy = sandbox_policy(guard, environ={"PATH": f"{guard.start_directory}/bin:/usr/bin"})
    assert policy.access(guard.start_directory) is Access.WRITE


def test_what_the_user_denied_is_closed(tmp_path):
    guard = guard_for(tmp_path)
    private = guard.workspace / "private"
    private.mkdir()
    denied = guard_for(tmp_path, denied=frozenset({f"files.read:{private}"}))
    assert private.resolve() in sandbox_policy(denied).hidden_folders
    assert sandbox_policy(guard_for(tmp_path, denied=frozenset({"files.write"}))).write_roots == ()


def test_a_named_hidden_file_is_shown(tmp_path):
    guard = guard_for(tmp_path)
    secret = guard.workspace / ".env"
    secret.write_text("x")
    assert secret.resolve() in sandbox_policy(guard).hidden_files
    assert secret.resolve() not in sandbox_policy(guard, SandboxScope(readable=(secret,))).hidden_files


def test_a_workspace_that_holds_the_user_s_directory_gets_no_sandbox(tmp_path, monkeypatch):
    from oneclaw_core.process import SandboxError

    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    with pytest.raises(SandboxError, match="your own directory"):
        sandbox_policy(PathGuard(tmp_path, tmp_path, None))


def test_the_temporary_directory_belongs_to_this_user_alone(tmp_path):
    temporary = sandbox_policy(guard_for(tmp_path)).temporary
    assert (temporary.stat().st_uid, temporary.stat().st_mode & 0o777) == (os.getuid(), 0o700)


@pytest.mark.needs("git")
def test_a_hidden_file_of_a_repository_in_the_workspace_stays_hidden(run, oneclaw_home):
    for name in ("a", "a/b"):
        subprocess.run(["git", "init", "-q", oneclaw_home.workspace / name], check=True)
        (oneclaw_home.workspace / name / ".env").write_text("canary")
    assert "canary" not in run("cat a/.env a/b/.env").result


def test_no_folder_is_moved_so_that_hidden_files_in_it_can_be_read(run, oneclaw_home):
    (oneclaw_home.workspace / "a/b").mkdir(parents=True)
    (oneclaw_home.workspace / "a/b/.env").write_text("canary")
    run("mv a/b venv; mv a node_modules")
    assert "canary" not in run("cat venv/.env node_modules/b/.env a/b/.env").result


def test_a_place_in_settings_of_git_that_no_path_can_name_is_left_aside(tmp_path):
    guard = guard_for(tmp_path)
    repository = guard.workspace / "a" / ".git"
    repository.mkdir(parents=True)
    (repository / "config").write_bytes(b"[core]\n  hooksPath = a\0b\n")

    assert sandbox_policy(guard) is not None
