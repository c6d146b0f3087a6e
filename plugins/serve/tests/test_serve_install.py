"""Files that ``oneclaw serve install`` writes, and its commands to systemd and launchd."""

from __future__ import annotations

import asyncio
import json
import os
import plistlib
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from oneclaw_serve.autostart.definition import Autostart, variables_left_out
from oneclaw_serve.autostart.launchd import LaunchdAgent
from oneclaw_serve.autostart.systemd import SystemdUnit
from oneclaw_serve.install_commands import check_installed

from oneclaw_core import OneClaw, OneClawError, UsageError
from oneclaw_core.cli.main import main
from oneclaw_core.http import listen

ODD = ' a"b\\c%h $HOME é'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A place for units, and stand-ins for systemctl and loginctl that note how they are called."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    programs = tmp_path / "bin"
    programs.mkdir()
    script = '#!/bin/sh\necho "$(basename "$0") $*" >>"$CALLS"\n'
    script += '[ "$2" != show-environment ] || exit "$BUS"\n[ "$2" != is-active ] || echo active\n'
    for name in ("systemctl", "loginctl"):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("BUS", "0")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path / "config" / "systemd" / "user"


@pytest.fixture
def oneclaw(tmp_path, monkeypatch, capsys):
    """Run the program in a new home; return status, output and errors."""
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))

    def run(*arguments):
        status = main(arguments)
        return SimpleNamespace(status=status, stdout=(read := capsys.readouterr()).out, stderr=read.err)

    return run


@pytest.fixture
def ok(oneclaw):
    def run(*arguments):
        outcome = oneclaw(*arguments)
        assert outcome.status == 0, outcome.stderr
        return outcome.stdout

    return run


def calls(folder):
    path = folder.parents[2] / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [each.removeprefix("systemctl --user ") for each in lines if "show-" not in each]


def test_install_and_uninstall_touch_one_file(folder, ok, oneclaw):
    first = oneclaw("serve", "--port", "8400", "--only", "web", "install")
    (unit,) = folder.glob("oneclaw-*.service")
    assert first.status == 0
    assert calls(folder) == [f"enable {unit.name}", "daemon-reload", f"restart {unit.name}"]
    assert unit.stat().st_mode & 0o777 == 0o600
    assert '"serve" "--only" "web" "--port" "8400"\n' in unit.read_text()

    assert "nothing to change" in ok("serve", "--port", "8400", "--only", "web", "install")
    assert calls(folder) == [f"enable {unit.name}", "daemon-reload", f"start {unit.name}"]
    assert json.loads(ok("serve", "status", "--json"))["enabled"]

    found = list(check_installed(None))
    assert [(each.status, each.message) for each in found] == [("ok", f"the system runs it by {unit}")]
    calls(folder)

    (folder / "other.service").write_text("[Unit]\n")
    ok("serve", "uninstall")
    assert [each.name for each in folder.iterdir()] == ["other.service"]
    assert calls(folder) == [f"disable --now {unit.name}", "daemon-reload", f"reset-failed {unit.name}"]
    assert ok("serve", "uninstall") == "nothing is installed\n"


def test_without_a_running_systemd_it_says_what_to_run(folder, ok, monkeypatch):
    monkeypatch.setenv("BUS", "1")
    said = ok("serve", "install")
    assert "was not started" in said
    assert "systemctl --user daemon-reload && systemctl --user restart oneclaw-" in said
    assert calls(folder)[0].startswith("enable")


def test_a_file_of_others_stays(folder, oneclaw):
    oneclaw("serve", "install")
    (unit,) = folder.glob("*.service")
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    for command in ("install", "uninstall"):
        outcome = oneclaw("serve", command)
        assert (outcome.status, "did not write it" in outcome.stderr) == (1, True)
    assert "/bin/true" in unit.read_text()


def test_print_changes_nothing(folder, ok):
    assert "ExecStart=" in ok("serve", "install", "--print")
    assert not folder.exists()


def test_variables_that_are_not_carried_over_are_named():
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "k", "ONECLAW_MODEL": "m", "ONECLAW_HOME": "/h", "EMPTY_API_KEY": ""}
    assert variables_left_out(environ) == ["ONECLAW_MODEL", "OPENAI_API_KEY"]


def test_each_home_has_a_name_of_its_own(tmp_path):
    def name(**environ):
        return Autostart.of(environ={"HOME": "/home/a"} | environ).name

    assert name() == "oneclaw"
    assert name(ONECLAW_PROFILE="work") == "oneclaw-work"
    assert len({name(ONECLAW_HOME=each) for each in ("/x", "/y")}) == 2
    found = Autostart.of(environ={"ONECLAW_HOME": "/x", "ONECLAW_PROFILE": "work"})
    assert found.environment["ONECLAW_HOME"] == "/x"
    assert (found.environment["ONECLAW_PROFILE"], found.home) == ("work", Path("/x-profiles/work"))
    with pytest.raises(UsageError, match="control character"):
        Autostart("oneclaw", Path("/x"), ("/bin/x\n",))


@pytest.fixture
def odd(tmp_path):
    program = tmp_path / "py a%h $HOME é"  # systemd takes no quotes and backslashes here
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return Autostart("oneclaw", tmp_path / f"home{ODD}", (str(program), "serve", "--x", ODD), {"ONECLAW_HOME": ODD})


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_a_unit_with_any_characters(odd, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    unit = SystemdUnit(odd)
    unit.write()
    unit._verify()
    assert unit.program_of(unit.installed()) == Path(odd.program[0])
    unit.path.write_text(unit.path.read_text().replace("ExecStart=", "ExecStart=relative "))
    with pytest.raises(OneClawError, match="systemd refuses"):
        unit._verify()


def test_doctor_says_what_is_wrong(folder, oneclaw, monkeypatch):
    oneclaw("serve", "install")
    (unit,) = folder.glob("*.service")
    unit.write_text(unit.read_text().replace(sys.executable, "/gone/python"))
    monkeypatch.setattr(SystemdUnit, "is_tried", False)
    messages = [each.message for each in check_installed(None)]
    assert "it names /gone/python, which is gone" in messages[0]
    assert "never tried on such a system" in messages[1]


def test_the_launchd_agent_is_a_property_list(odd):
    content = LaunchdAgent(odd).content()
    found = plistlib.loads(content)
    assert found["ProgramArguments"] == list(odd.program)
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert LaunchdAgent(odd).is_ours(content)
    assert not LaunchdAgent(odd).is_ours(b"<plist/>")


@pytest.mark.long
def test_a_port_that_is_in_use_ends_it_with_one_message(tmp_path):
    notices = tmp_path / "notify"
    with (
        listen("127.0.0.1", 0, advice="") as taken,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor,
    ):
        supervisor.bind(str(notices))
        port = str(taken.getsockname()[1])
        run = subprocess.run(
            [sys.executable, "-m", "oneclaw_core", "serve", "--port", port, "--only", "web"],
            env=os.environ | {"ONECLAW_HOME": str(tmp_path / "home"), "NOTIFY_SOCKET": str(notices)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        said = supervisor.recv(100)

    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "serve: web of plugin serve starts: serves the web page and the HTTP API",
        f"oneclaw: port {port} of 127.0.0.1 cannot be used: another program listens there; "
        "end that program, or choose another port with: oneclaw serve --port PORT (0 for any free one)",
    ]
    assert said == b"STOPPING=1"  # it was never ready


@pytest.mark.long
def test_a_port_that_does_not_exist_is_refused_before_anything_starts(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "oneclaw_core", "serve", "--port", "99999999", "--only", "web"],
        env=os.environ | {"ONECLAW_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 2
    assert run.stderr.splitlines()[-1] == (
        "Error: Invalid value for '--port': 99999999 is not in the range 0<=x<=65535."
    )
    assert "starts" not in run.stderr


def test_a_link_to_a_server_that_does_not_run_comes_with_a_warning(oneclaw):
    async def served_at(port):
        async with OneClaw.open() as claw:
            await claw.store.plugin_storage("serve").set("address", {"origin": f"http://127.0.0.1:{port}"})

    with listen("127.0.0.1", 0, advice="") as server:
        port = server.getsockname()[1]
        asyncio.run(served_at(port))
        running = oneclaw("serve", "link")
    stopped = oneclaw("serve", "link")

    assert running.stdout.startswith(f"http://127.0.0.1:{port}/#code=")
    assert running.stderr == ""
    assert stopped.stdout.startswith(f"http://127.0.0.1:{port}/#code=")
    assert f"no server answers at http://127.0.0.1:{port}: start it with: oneclaw serve" in stopped.stderr
