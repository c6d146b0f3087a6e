"""Environments that uv tool and pipx make, and make again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from installations import Installation, find_uv, make_environ, write_core_wheel, write_wheel

pytestmark = [pytest.mark.one_python, pytest.mark.long]


def find_pipx():
    found = shutil.which("pipx", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        pytest.skip("pipx is not installed")
    return found


@pytest.fixture(params=["uv", "pipx"])
def made(request, tmp_path, wheels, index):
    """OneClaw installed as a tool, and the command that installs it anew."""
    write_core_wheel(wheels)
    environ = make_environ(tmp_path, index) | {
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_MAN_DIR": str(tmp_path / "man"),
        "PIPX_DEFAULT_BACKEND": "uv",  # with pip it needs the newest pip of an index
    }
    if request.param == "uv":
        python = ["--python", sys.executable]
        install, again = ([find_uv(), "tool", "install", *python, *more, "oneclaw-core"] for more in ([], ["--force"]))
        prefix = tmp_path / "tools" / "oneclaw-core"
    else:
        install, again = [find_pipx(), "install", "oneclaw-core"], [find_pipx(), "reinstall", "oneclaw-core"]
        prefix = tmp_path / "pipx" / "venvs" / "oneclaw-core"

    def run(command):
        subprocess.run(command, env=environ, check=True, cwd=tmp_path, timeout=300)

    run([*install, *([] if request.param == "uv" else ["--python", sys.executable])])
    return request.param, Installation(prefix, tmp_path / "home", environ), lambda: run(again)


def test_plugins_come_back_after_the_tool_was_installed_anew(made, wheels):
    tool, installation, install_anew = made
    write_wheel(wheels)
    done = installation.oneclaw("plugins", "install", "acme-tools")
    assert done.returncode == 0, done.stderr
    remover = {"uv": "uv tool upgrade", "pipx": "pipx reinstall"}[tool]
    assert f"'{remover}' will remove plugins; run 'oneclaw plugins sync' after it" in done.stderr

    install_anew()
    assert not list(installation.site().glob("acme_tools*"))
    done = installation.oneclaw("plugins", "sync")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "acme-tools 1.0 is installed"
    assert installation.oneclaw("plugins", "uninstall", "acme-tools").returncode == 0
