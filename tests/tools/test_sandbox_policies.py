"""Sandbox policies: the parts of this machine that commands and isolated calls read, write and see."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from oneclaw_core.errors import SandboxError
from oneclaw_core.files import PathGuard, special_files
from oneclaw_core.files.special_files import find_special_files
from oneclaw_core.process import isolation, sandbox_rules
from oneclaw_core.process.isolation import isolated_policy
from oneclaw_core.process.sandbox.policy import Network
from oneclaw_core.process.sandbox_rules import SandboxScope, sandbox_policy, temporary_directory

SYSTEM = """
    /usr /bin /sbin /lib /lib32 /lib64 /nix/store /dev/random /dev/urandom /etc/alternatives /etc/fonts /etc/group
    /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/localtime /etc/magic /etc/mime.types /etc/nsswitch.conf
    /etc/passwd /etc/ssl/certs /etc/ssl/openssl.cnf /etc/timezone /proc/cpuinfo /proc/meminfo /sys/devices/system/cpu
""".split()  # noqa: SIM905  # easier to read and to extend
NETWORK = ["/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/services", "/etc/protocols"]


@pytest.fixture
def guard(tmp_path, monkeypatch):
    for name in ("home/workspace", "start", "user", "tmp"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return PathGuard(tmp_path / "home" / "workspace", tmp_path / "start", tmp_path / "home")


def isolated(guard, *permissions, arguments=None, **changes):
    context = SimpleNamespace(paths=replace(guard, **changes), home=guard.home)
    return isolated_policy(permissions, arguments or {}, context, guard.home / "tmp")


def is_readable(policy, path):
    resolved = Path(path).resolve()
    return any(resolved.is_relative_to(each) for each in policy.read_roots)


def test_an_isolated_call_reads_the_system_and_nothing_of_the_user(guard):
    policy = isolated(guard)
    assert [each for each in SYSTEM if not is_readable(policy, each)] == []
    assert [each for each in NETWORK if is_readable(policy, each)] == []
    for path in (
        guard.home,
        guard.workspace,
        guard.start_directory,
        Path.home(),
        "/",
        "/etc/shadow",
        "/home",
        "/dev/sda",
    ):
        assert not is_readable(policy, path), path
    assert is_readable(policy, sys.prefix)
    assert list(policy.write_roots) == [Path(each) for each in ("/dev/null", "/dev/zero", "/dev/full")]
    assert (policy.network, policy.is_system_readable, policy.temporary) == (Network.NONE, False, guard.home / "tmp")
    roots = set(policy.read_roots)
    assert all(roots.isdisjoint(each.parents) for each in roots)
    assert list(policy.read_roots) == sorted(roots)


def test_an_isolated_call_gets_what_its_permissions_are_for(guard):
    for permission in ("network.public", "network.private:nas"):
        policy = isolated(guard, permission)
        assert policy.network is Network.ALL
        assert [each for each in NETWORK if not is_readable(policy, each)] == []
    for permission in ("networks", "mail.network"):
        assert isolated(guard, permission).network is Network.NONE
    written = isolated(guard, "files.write:x", granted=frozenset({"files.write:/a/b", "files.read:/c/d"})).write_roots
    assert list(written[3:]) == [guard.workspace, Path("/a")]
    assert len(isolated(guard, "files.write", denied=frozenset({"files.write"})).write_roots) == 3
    assert len(isolated(guard, "files.read").write_roots) == 3


def test_files_that_arguments_name_can_be_read(guard, monkeypatch):
    names = [guard.workspace / name for name in "abcdef"]
    for each in names:
        each.write_text("x")
    (guard.workspace / ".env").write_text("x")
    arguments = {
        "a": str(names[0]),
        "list": [names[1], {"deep": (str(names[2]),)}, {str(names[3])}, frozenset({str(names[4])})],
        "other": [7, None, "", "x\0", "y" * 4097, "z" * 4096, "/etc/shadow", ".env", str(guard.workspace), "missing"],
    }
    policy = isolated(guard, arguments=arguments)
    assert [each.name for each in names if is_readable(policy, each)] == list("abcde")
    assert not is_readable(policy, guard.workspace / ".env")
    assert not is_readable(policy, guard.workspace)
    monkeypatch.setattr(isolation, "_MOST_TEXTS", 2)
    policy = isolated(guard, arguments={"x": [str(each) for each in names]})
    assert [each.name for each in names if is_readable(policy, each)] == ["a", "b"]


def policy_of(guard, scope=None, environ=None, **changes):
    return sandbox_policy(replace(guard, **changes), scope, {"PATH": "/usr/bin"} if environ is None else environ)


def test_a_command_writes_and_reads_as_the_user_decided(guard):
    workspace, start = guard.workspace, guard.start_directory
    extra = SandboxScope((start.parent / "w",), (start.parent / "r",))
    for path in (*extra.writable, *extra.readable):
        path.mkdir()
    for scope, changes, written, read in (
        (None, {}, [workspace], [start]),
        (None, {"trusts_start": True}, [workspace, start], []),
        (extra, {}, [workspace, *extra.writable], [start, *extra.readable]),
        (None, {"denied": frozenset({"files.write"})}, [], [start, workspace]),
        (extra, {"denied": frozenset({"files.write"})}, [], [start, workspace, *extra.writable, *extra.readable]),
        (None, {"denied": frozenset({"files.read"})}, [], []),
        (extra, {"denied": frozenset({"files.read"})}, [], [*extra.readable]),
    ):
        policy = policy_of(guard, scope, **changes)
        assert list(policy.write_roots) == written
        assert list(policy.read_roots[: len(read)]) == read
        assert Path("/usr") in policy.read_roots


def test_a_private_start_directory_is_neither_read_nor_written(guard, monkeypatch):
    monkeypatch.setenv("HOME", str(guard.start_directory))
    policy = policy_of(guard, trusts_start=True)
    assert list(policy.write_roots) == [guard.workspace]
    assert guard.start_directory not in policy.read_roots


def test_what_a_sandbox_cannot_hold_is_refused(guard, monkeypatch):
    monkeypatch.setenv("HOME", str(guard.workspace / "user"))
    with pytest.raises(SandboxError) as error:
        policy_of(guard)
    assert str(error.value) == f"the workspace {guard.workspace} holds your own directory"
    monkeypatch.setenv("HOME", "/nowhere")
    link = guard.workspace / "link"
    link.symlink_to("/etc")
    for scope in (SandboxScope((link,)), SandboxScope((), (link / "hosts",))):
        with pytest.raises(SandboxError) as error:
            policy_of(guard, scope)
        assert str(error.value).endswith(" leads to another place")


def test_denied_paths_are_hidden_or_protected(guard):
    (guard.workspace / "folder").mkdir()
    (guard.workspace / "file").write_text("x")
    (guard.workspace / "readonly").write_text("x")
    denied = {
        f"files.read:{guard.workspace}/folder",
        f"files.read:{guard.workspace}/file",
        f"files.read:{guard.workspace}/missing",
        f"files.write:{guard.workspace}/readonly",
        "shell.execute:/etc",
    }
    policy = policy_of(guard, denied=frozenset(denied))
    assert guard.workspace / "folder" in policy.hidden_folders
    assert guard.workspace / "file" in policy.hidden_files
    assert guard.workspace / "missing" not in (*policy.hidden_files, *policy.hidden_folders)
    assert policy.protected == (guard.workspace / "readonly",)
    assert guard.workspace / "folder" not in policy.hidden_files


def test_secrets_in_the_workspace_are_hidden_but_for_what_was_named(guard):
    secret, repository = guard.workspace / ".env", guard.workspace / ".vscode"
    secret.write_text("x")
    repository.mkdir()
    (guard.workspace / ".ssh").mkdir()
    (guard.start_directory / "id_rsa").write_text("x")
    (guard.start_directory / ".idea").mkdir()
    policy = policy_of(guard)
    assert {secret, guard.start_directory / "id_rsa"} <= set(policy.hidden_files)
    assert guard.workspace / ".ssh" in policy.hidden_folders
    assert policy.protected == (repository,)
    named = policy_of(guard, SandboxScope((repository,), (secret,)))
    assert secret not in named.hidden_files
    assert named.protected == ()


def test_the_machine_is_hidden_where_it_holds_anything(guard, monkeypatch):
    exists = {"/boot", "/home", "/root", "/run", "/tmp", "/var/mail", "/var/spool", "/var/tmp"}
    root_only = {
        *("/etc/ssl/private", "/etc/sudoers.d", "/lost+found", "/var/backups", "/var/lib/docker", "/var/lib/private"),
        *("/var/lib/postgresql", "/var/lib/mysql", "/var/log"),
    }
    files = {
        *("/etc/gshadow", "/etc/gshadow-", "/etc/shadow", "/etc/shadow-", "/etc/sudoers", "/etc/security/opasswd"),
    }
    monkeypatch.setattr(Path, "is_dir", lambda path, **_: True)
    monkeypatch.setattr(Path, "resolve", lambda path, **_: path)
    monkeypatch.setattr(Path, "glob", lambda path, pattern: [path / pattern])
    entries = [
        SimpleNamespace(path=f"/{name}", name=name, is_dir=lambda: True) for name in ("data", "etc", "usr", "tmp")
    ]
    monkeypatch.setattr(os, "scandir", lambda path: entries)
    for user, hidden, hidden_files in (
        (1000, exists, set()),
        (0, exists | root_only, files | {"/etc/ssh/ssh_host_*_key"}),
    ):
        monkeypatch.setattr(os, "getuid", lambda user=user: user)
        found = [str(each) for each in sandbox_rules._hidden_folders(Path("/home/ada"), Path("/srv/oneclaw"))]
        assert set(found) == hidden | {"/data", "/home/ada", "/srv/oneclaw"}
        assert len(found) == len(set(found))
        assert {str(each) for each in sandbox_rules._hidden_files()} == hidden_files
    assert "/" not in [str(each) for each in sandbox_rules._hidden_folders(Path("/"), None)]
    system = "bin boot dev etc gnu lib lib32 lib64 libx32 nix opt proc sbin snap sys usr var"
    for name in system.split():
        assert sandbox_rules._is_system(Path(f"/{name}")) is (name != "boot"), name
    for path, is_system in (("/data", False), ("/usr/lib", True), ("/tmp", False), ("/", True), ("/etc/x", False)):
        assert sandbox_rules._is_system(Path(path)) is is_system, path


def test_programs_of_the_user_are_found(guard, tmp_path):
    home = tmp_path / "user"
    folders = """
        .asdf .bun/bin .cargo/bin .deno/bin .local/bin .local/lib .local/pipx .local/share/mise .local/share/pipx
        .local/share/uv/python .local/share/uv/tools .nvm .nix-profile .pyenv .rbenv .rustup .sdkman .volta/bin
        .volta/tools
    """.split()  # noqa: SIM905
    for each in (*folders, "own/bin", "own/lib", "alone/bin", ".ssh/bin"):
        (home / each).mkdir(parents=True)
    path = os.pathsep.join(
        [
            str(home / "own" / "bin"),
            str(home / "alone" / "bin"),
            "relative",
            str(home),
            "/no/such",
            str(home / ".ssh" / "bin"),
        ]
    )
    found = list(sandbox_rules._programs(home, path))
    expected = [home / each for each in folders] + [Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()]
    assert found == [*expected, home / "own", home / "alone" / "bin"]
    assert sandbox_rules._is_private(home.parent, home)
    assert sandbox_rules._is_private(Path("/"), None)
    assert not sandbox_rules._is_private(home / "own", home)
    assert sandbox_rules._is_private(home / ".SSH", None)


def test_a_command_sees_plain_variables_and_who_commits(guard, tmp_path):
    home = tmp_path / "user"
    (home / ".gitconfig").write_text('[user]\n  name = "Ada L"\n[other]\n name = x\n[User]\nEMAIL=a@b.example\n')
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "config").write_text("[user]\nname = Eve\n")
    (home / ".nvm").mkdir()
    shown = """
        CI COLUMNS CONDA_PREFIX GOROOT JAVA_HOME LANG LANGUAGE LOGNAME NODE_PATH NO_COLOR NVM_DIR PATH PYENV_ROOT
        PYENV_VERSION RUSTUP_HOME SHELL SOURCE_DATE_EPOCH TERM TZ USER VIRTUAL_ENV LC_ALL
    """.split()  # noqa: SIM905
    environ = dict.fromkeys([*shown, "SECRET", "OTHER", "HOME"], "value")
    found = dict(sandbox_rules._environment(home, environ))
    git = {
        "GIT_CONFIG_COUNT": "3",
        **{"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
        **{"GIT_CONFIG_KEY_1": "user.name", "GIT_CONFIG_VALUE_1": "Eve"},
        **{"GIT_CONFIG_KEY_2": "user.email", "GIT_CONFIG_VALUE_2": "a@b.example"},
    }
    assert found == {**dict.fromkeys(shown, "value"), **git}
    bare = dict(sandbox_rules._environment(home, {}))
    assert (bare["LANG"], bare["NVM_DIR"], "PYENV_ROOT" in bare) == ("C.UTF-8", f"{home}/.nvm", False)
    assert dict(sandbox_rules._environment(None, {})) == {
        **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "LANG": "C.UTF-8"},
    }
    for name in (".pyenv", ".rustup"):
        (home / name).mkdir()
    more = dict(sandbox_rules._environment(home, {}))
    assert (more["PYENV_ROOT"], more["RUSTUP_HOME"]) == (f"{home}/.pyenv", f"{home}/.rustup")


def test_empty_places_need_not_be_hidden(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    may_hold, has = sandbox_rules._may_hold_files, sandbox_rules._has_content
    assert [may_hold(str(tmp_path / each)) for each in ("empty", "missing", ".")] == [False, True, True]
    assert may_hold("/tmp")
    assert [has(str(tmp_path / each)) for each in ("file", "missing")] == [False, False]
    (tmp_path / "file").write_text("x")
    assert has(str(tmp_path / "file"))


def test_temporary_files_of_a_home_are_its_users_alone(tmp_path, guard, monkeypatch):
    one, two = temporary_directory(tmp_path / "one"), temporary_directory(tmp_path / "two")
    assert (one, two) == (tmp_path / "one" / "tmp", tmp_path / "two" / "tmp")
    assert temporary_directory(tmp_path / "one") == one
    one.chmod(0o777)
    assert temporary_directory(tmp_path / "one").stat().st_mode & 0o777 == 0o700
    two.rmdir()
    two.symlink_to(one)
    with pytest.raises(PermissionError) as error:
        temporary_directory(tmp_path / "two")
    assert str(error.value) == f"{two} belongs to another user"
    two.unlink()
    two.touch()
    with pytest.raises(OSError, match=r"."):
        temporary_directory(tmp_path / "two")


def special(root, *, is_written=True):
    found = find_special_files([root], []) if is_written else find_special_files([], [root])
    return tuple(
        sorted(str(each.relative_to(root)) for each in part)
        for part in (found.hidden_folders, found.hidden_files, found.protected)
    )


def test_secrets_and_what_others_run_are_found_at_any_depth(tmp_path):
    for folder in (
        "a/.ssh/inner",
        "a/b/.VSCODE",
        "__pycache__/.ssh",
        "site-packages/.ssh",
        "node_modules/.ssh",
        "c/.aws",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("a/.env", "a/b/key.pem", "c/plain.txt", "node_modules/key.pem"):
        (tmp_path / file).write_text("x")
    (tmp_path / "a" / "link").symlink_to("nowhere")
    (tmp_path / "a" / "id_rsa").symlink_to("plain")
    (tmp_path / "a" / "plain").write_text("x")
    folders, files = ["a/.ssh", "c/.aws"], ["a/.env", "a/b/key.pem", "a/plain"]
    assert special(tmp_path) == (folders, files, ["a/b/.VSCODE"])
    assert special(tmp_path, is_written=False) == (folders, files, [])
    assert find_special_files([tmp_path / "missing"], []).hidden_files == []


def test_a_search_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(special_files, "_SEARCH_SECONDS", -1.0)
    with pytest.raises(SandboxError) as error:
        find_special_files([tmp_path], [])
    assert str(error.value) == "the search for hidden files takes more than -1 seconds"


def test_settings_of_repositories_are_protected(tmp_path):
    git = tmp_path / "project" / ".git"
    for folder in ("objects", "info", "worktrees/one", "modules/sub/objects", "modules/none"):
        (git / folder).mkdir(parents=True)
    (git / "HEAD").write_text("x")
    (git / "info" / "attributes").write_text("x")
    (git / "worktrees" / "one" / "commondir").write_text("x")
    (git / "modules" / "sub" / "HEAD").write_text("x")
    (git / "modules" / "sub" / "config").write_text("[core]\n worktree = ../..\n")
    (git / "modules" / "none" / "HEAD").write_text("x")
    (tmp_path / "project" / "hooks").mkdir()
    (git / "config").write_text('[core]\n hooksPath = "hooks" \n[include]\n PATH=inner ; x\n path = /etc/passwd\n')
    (git / "inner").write_text("x")
    _, _, protected = special(tmp_path)
    sub = (f".git/modules/sub/{each}" for each in ("commondir", "config", "config.worktree", "hooks"))
    assert protected == sorted(
        f"project/{each}"
        for each in (
            *(".git/commondir", ".git/config", ".git/config.worktree", ".git/hooks", ".git/info/attributes"),
            *(".git/inner", ".git/worktrees/one/commondir", ".git/worktrees/one/config.worktree", "hooks", *sub),
        )
    )
    assert (git / "commondir").read_text() == ".\n"


def test_a_repository_that_lies_elsewhere_keeps_its_settings(tmp_path):
    for name, config, is_made in (
        ("a", "", True),
        ("b", "[core]\n bare = true\n", False),
        ("c", " worktree = /x\n", False),
    ):
        git = tmp_path / name / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("x")
        (git / "config").write_text(config)
        special(tmp_path / name)
        assert (git / "commondir").exists() is is_made
    bare = tmp_path / "d" / ".git"
    bare.mkdir(parents=True)
    special(tmp_path / "d")
    assert (bare / "hooks").is_dir()
    assert not (bare / "commondir").exists()


def test_packages_are_searched_for_repositories_to_their_depth(tmp_path):
    found = []
    for place, is_found in (
        ("node_modules/a/.git", True),
        ("node_modules/@p/a/.git", True),
        ("node_modules/a/b/.git", False),
        (".tox/a/b/c/.git", True),
        (".nox/a/b/c/.git", True),
        (".tox/a/b/c/d/.git", False),
    ):
        (tmp_path / place).mkdir(parents=True)
        found += [f"{place}/hooks"] if is_found else []
    protected = special(tmp_path)[2]
    assert [each for each in protected if each.endswith("/hooks")] == sorted(found)
