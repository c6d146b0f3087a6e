"""Other users of the machine as the attacker: what they could read, and where they could connect."""

import asyncio
import base64
import json
import os
import re
import stat
from pathlib import Path

import pytest
from model_server import ModelServer, calls, text

from oneclaw_core import PermissionDeniedError
from oneclaw_core.http.proxy import USER_NAME, guarded_proxy

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_to_others(home):
    """All that others could read or write if they can enter the home itself; links have no modes."""
    found = []
    for path in [*home.iterdir(), *home.rglob("*")]:
        state = path.lstat()
        parents = [home / part for part in path.relative_to(home).parts[:1]]
        is_behind = any(not stat.S_IMODE(each.stat().st_mode) & OTHERS for each in parents if each.is_dir())
        if stat.S_ISLNK(state.st_mode) or (is_behind and path not in parents):
            continue
        if stat.S_IMODE(state.st_mode) & OTHERS:
            found.append(f"{stat.filemode(state.st_mode)} {path.relative_to(home)}")
    return found


@pytest.fixture(
    params=[
        pytest.param(0o022, id="umask 022", marks=pytest.mark.long),
        pytest.param(0o000, id="umask 000"),
    ]
)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.one_python
def test_nothing_in_a_home_is_open_to_others(program, few_plugins, home, umask, tmp_path, monkeypatch, serve_tools):
    """Neither in one that OneClaw has made, nor in one that was there and that others can enter."""
    is_made_before = not umask
    monkeypatch.chdir(tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir(mode=0o777)
    monkeypatch.setenv("TMPDIR", str(temporary))
    if is_made_before:
        home.mkdir()
        home.chmod(0o755)

    def ok(*arguments, typed=""):
        run = program(*arguments, typed=typed)
        assert run.status == 0, run

    ok("keys", "set", "openai", "--file", typed="sk-0123456789\n")
    ok("env", "set", "WEATHER_TOKEN", typed="secret-0123456789\n")
    ok("config", "set", "turn_max_tool_rounds", "50")
    ok("run", "--session", "one", "remember that I like tea")
    ok("run", "--model", "openai_compatible/x", "--session", "two", "Hello")
    ok("call", "write_file", json.dumps({"path": "a/b.txt", "content": "x"}))
    ok("call", "js_eval", json.dumps({"code": "fs.writeFile('c.txt', 'x')"}))
    ok("skills", "new", "my-skill")
    ok("agents", "create", "Writer", "--system-prompt", "Write.")
    ok("permissions", "deny", "network.private")
    ok("sessions", "export", "one", "--output", str(home / "export.md"))
    ok("sessions", "search", "tea")
    ok("usage")
    program("no-such-command")
    program("call", "http_request", json.dumps({"url": "http://127.0.0.1:9"}))
    program("doctor")
    ok("tasks", "add", "Greet", "Say hello.", "--at", "08:00")

    assert open_to_others(home) == []
    assert stat.S_IMODE(home.stat().st_mode) == (0o755 if is_made_before else 0o700)
    assert [path for path in temporary.rglob("*") if path.lstat().st_mode & OTHERS] == []


@pytest.fixture
def serve_tools(monkeypatch, home):
    with ModelServer([calls(("write_file", {"path": "d.txt", "content": "x"})), text("Done.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        yield server


@pytest.mark.long
def test_a_database_elsewhere_is_made_for_its_owner_alone(program, few_plugins, tmp_path, monkeypatch, umask):
    place = tmp_path / "elsewhere"
    place.mkdir(mode=0o755)
    monkeypatch.setenv("ONECLAW_DATABASE_URL", f"sqlite:///{place / 'shared.db'}")
    assert program("run", "--session", "one", "Hello").status == 0
    assert program("tasks", "add", "Greet", "Say hello.", "--at", "08:00").status == 0
    assert {path.name: path.stat().st_mode & OTHERS for path in place.iterdir()} == {
        "shared.db": 0,
        "shared-tasks.db": 0,
        "locks": 0,
    }


@pytest.mark.long
def test_no_secret_stands_in_a_list_of_processes(program, home, tmp_path, monkeypatch):
    """Everything that a run starts, and itself, while it runs: arguments, which all users can read."""
    monkeypatch.chdir(tmp_path)
    secrets = [f"canary-{name}-{os.urandom(8).hex()}" for name in ("environment", "stored", "variable")]
    mark = os.urandom(8).hex()
    monkeypatch.setenv("OPENAI_API_KEY", secrets[0])
    assert program("keys", "set", "openai_compatible", "--file", typed=secrets[1] + "\n").status == 0
    assert program("env", "set", "WEATHER_TOKEN", typed=secrets[2] + "\n").status == 0
    # The arguments hold the command as well, so that what is printed between both lists must not stand in it.
    look = (
        "for each in /proc/[0-9]*; do [ -r $each/environ ] && tr '\\0' ' ' < $each/cmdline; echo; done; "
        f"printf '%s-%s\\n' {mark} ends; env; tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$PPID/environ"
    )
    run = program("call", "--allow", "shell.execute", "exec", json.dumps({"command": look, "max_length": 1_000_000}))
    assert run.status == 0
    shown = json.loads(run.stdout)["result"]
    arguments, _, environment = shown.partition(f"{mark}-ends\n")
    assert "supervisor" in arguments
    for secret in secrets:
        assert secret not in shown
    # Not only redacted: it is not there.
    assert "[redacted]" not in environment
    assert "ONECLAW" not in environment


@pytest.mark.parametrize("command", ["keys set openai sk-canary", "env set WEATHER_TOKEN sk-canary"])
def test_no_command_takes_a_secret_as_an_argument(program, command):
    run = program(*command.split())
    assert run.status == 2
    assert program("keys", "list").status == 0


def listening():
    """The addresses at which this process can be connected to."""
    inodes = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink()))
        except OSError:
            continue
        if match:
            inodes.add(match[1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.append(fields[1].partition(":")[0])
    return found


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the system does not list its sockets here")
def test_an_open_home_listens_nowhere(oneclaw_factory):
    before = listening()
    oneclaw = oneclaw_factory(None)
    oneclaw.user.says("no")
    oneclaw.call_tool("js_eval", code="1 + 1")
    oneclaw.call_tool("http_request", url="http://127.0.0.1:9/")
    oneclaw.send("What time is it?", model="offline/rules")
    assert listening() == before


def test_the_browsers_proxy_serves_no_one_without_its_password():
    async def no_one(host, address, port):
        raise PermissionDeniedError("no", "network.private")

    async def ask(proxy, *headers):
        host, port = proxy.url.removeprefix("http://").split(":")
        assert host == "127.0.0.1"
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write("\r\n".join(["GET http://127.0.0.1:9/ HTTP/1.1", "Host: x", *headers, "", ""]).encode())
        answer = await asyncio.wait_for(reader.readline(), 5)
        writer.close()
        return answer

    async def main():
        async with guarded_proxy(no_one, no_one) as proxy:
            assert proxy.password not in proxy.url
            right = base64.b64encode(f"{USER_NAME}:{proxy.password}".encode()).decode()
            wrong = base64.b64encode(f"{USER_NAME}:wrong".encode()).decode()
            for headers in (
                (),
                (f"Proxy-Authorization: Basic {wrong}",),
                ("Proxy-Authorization: Basic",),
                (f"Proxy-Authorization: Bearer {right}",),
                (f"Authorization: Basic {right}",),
            ):
                assert b" 407 " in await ask(proxy, *headers)
            assert proxy.refusals == {}
            assert b" 403 " in await ask(proxy, f"Proxy-Authorization: Basic {right}")

    asyncio.run(main())


@pytest.mark.one_python
def test_a_file_of_keys_that_others_could_read_is_not_used(program, few_plugins, home):
    assert program("keys", "set", "openai", "--file", typed="sk-0123456789\n").status == 0
    for mode in (0o640, 0o604, 0o666):
        (home / "keys.json").chmod(mode)
        run = program("run", "--model", "openai/x", "Hello")
        assert run.status == 1
        assert "open to other users" in run.stderr
        assert "sk-0123456789" not in run.stderr
        assert "problem" in program("doctor").stdout


def test_links_that_others_put_into_an_open_home_are_not_written_through(program, home, tmp_path):
    """As far as a user has left the home open: what is secret is written beside its place and renamed."""
    home.mkdir()
    target = tmp_path / "target"
    target.write_text("{}")
    for name in ("keys.json", "environment.json"):
        (home / name).symlink_to(target)
    target.chmod(0o600)
    program("keys", "set", "openai", "--file", typed="sk-0123456789\n")
    program("env", "set", "WEATHER_TOKEN", typed="secret-0123456789\n")
    assert target.read_text() == "{}"
