"""The model as the attacker: paths."""

import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from oneclaw_core import PermissionDeniedError
from oneclaw_core.files import PathGuard

SECRET = "canary-of-a-file-outside"

PATHS = (
    "../secret.txt",
    "a/../../secret.txt",
    "./.././secret.txt",
    "sub/../../secret.txt",
    "//etc/passwd",
    "/etc/passwd",
    "/etc/../etc/passwd",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/fd/0",
    "/proc/self/cwd/../secret.txt",
    "/proc/self/root/etc/passwd",
    "/proc/thread-self/environ",
    "/proc/1/environ",
    "/dev/zero",
    "/dev/stdin",
    "/dev/fd/0",
    "/dev/tty",
    "/sys/kernel/notes",
    "/",
    "..",
    ".",
    "",
    "~",
    "~/.ssh/id_rsa",
    "~root/.profile",
    "$HOME/.profile",
    "file:///etc/passwd",
    "pipe",
    "socket",
    "link",
    "directory-link/secret.txt",
    "chain",
    "loop",
    "loop/secret.txt",
    "link/",
    "link/.",
    "sub/link-up/secret.txt",
    "x" * 5_000,
    "x/" * 3_000 + "y",
    "../" * 2_000 + "etc/passwd",
    "\0",
    "plain.txt\0../secret.txt",
    "\ud800",
    "\u2024\u2024/secret.txt",  # one dot leaders
    "\uff0e\uff0e/secret.txt",  # full-width full stops
    "..\u2215secret.txt",  # a division slash
    "..\\secret.txt",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    " ../secret.txt",
    "../secret.txt ",
    "../SECRET.TXT",
    "../secre\u0074\u0300.txt",
    "\u202e../secret.txt",
    "..;/secret.txt",
    "C:\\Windows\\win.ini",
    "\\\\host\\share\\x",
    "{HOME}/keys.json",
    "{HOME}/oneclaw.db",
    "{HOME}/logs/oneclaw.log",
    "{HOME}/workspace/../keys.json",
    "{HOME}/workspace/../MEMORY.md",
    "{HOME}/tools/evil.js",
    "{HOME}/skills/evil/SKILL.md",
)


@pytest.fixture
def places(oneclaw_project, oneclaw_home, tmp_path):
    """Traps in the start directory and in the workspace, and secrets around them."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (oneclaw_home.path / "keys.json").write_text(SECRET)
    sockets = []
    for directory in (oneclaw_project, oneclaw_home.workspace):
        (directory / "plain.txt").write_text("plain")
        (directory / "sub").mkdir()
        os.mkfifo(directory / "pipe")
        (directory / "link").symlink_to(tmp_path / "secret.txt")
        (directory / "directory-link").symlink_to(tmp_path)
        (directory / "chain").symlink_to(directory / "link")
        (directory / "loop").symlink_to(directory / "loop")
        (directory / "sub" / "link-up").symlink_to("../..")
        before = Path.cwd()
        os.chdir(directory)  # the address of a socket is short
        try:
            sockets.append(socket.socket(socket.AF_UNIX))
            sockets[-1].bind("socket")
        finally:
            os.chdir(before)
    yield
    for each in sockets:
        each.close()


def files_outside(tmp_path, oneclaw_home):
    """All that is there but for the workspace, with contents."""
    found = {}
    for path in tmp_path.rglob("*"):
        is_database = path.name.startswith("oneclaw.db") or "locks" in path.parts
        if path.is_relative_to(oneclaw_home.workspace) or path.is_symlink() or not path.is_file() or is_database:
            continue
        found[path] = path.read_bytes()
    return found


CALLS = {
    "read_file": lambda path: {"path": path},
    "write_file": lambda path: {"path": path, "content": "overwritten"},
    "pdf_extract_text": lambda path: {"path": path},
    "js_eval": lambda path: {
        "code": f"""
            const path = {json.dumps(path)}; const said = [];
            for (const act of [() => fs.readFile(path), () => fs.writeFile(path, "overwritten"),
                               () => fs.appendFile(path, "overwritten"), () => fs.exists(path)]) {{
                try {{ said.push(String(await act())); }} catch (error) {{ said.push(String(error)); }}
            }}
            return said.join("\\n");
        """
    },
    "load_skill": lambda path: {"name": "create-tool-plugin", "file": path or "."},
}


# In a separate process each, the tools for PDFs and JavaScript take their time.
SLOW = {"pdf_extract_text", "js_eval"}
SOME = (
    "../secret.txt",
    "/etc/passwd",
    "/proc/self/environ",
    "link",
    "pipe",
    "plain.txt\0../secret.txt",
    "{HOME}/keys.json",
)


@pytest.mark.parametrize(
    "tool", ["read_file", *(pytest.param(each, marks=pytest.mark.long) for each in CALLS if each != "read_file")]
)
def test_no_path_leads_outside(oneclaw_factory, oneclaw_home, tmp_path, places, tool):
    oneclaw = oneclaw_factory(["pdf"] if tool.startswith("pdf") else ())
    before = files_outside(tmp_path, oneclaw_home)

    for path in SOME if tool in SLOW else PATHS:
        written = path.replace("{HOME}", str(oneclaw_home.path))
        result = oneclaw.call_tool(tool, json.dumps(CALLS[tool](written)))

        assert SECRET not in result.text(), path
        assert "root:" not in result.text(), path
        assert len(result.text()) < 8_000, path
        # A name such as "$HOME" or "..\\x" is one like any other, and may be written in the workspace.
        assert not result.is_success or tool in ("write_file", "js_eval"), path
    assert files_outside(tmp_path, oneclaw_home) == before


@pytest.mark.long
def test_a_file_that_becomes_a_link_at_any_moment_leads_nowhere(oneclaw_factory, oneclaw_project, tmp_path):
    oneclaw = oneclaw_factory(())
    (tmp_path / "secret.txt").write_text(SECRET)
    (oneclaw_project / "sub").mkdir()
    (oneclaw_project / "sub" / "secret.txt").write_text("harmless")
    is_over = threading.Event()

    directory, away = oneclaw_project / "sub", oneclaw_project / "away"

    def swap():
        while not is_over.is_set():
            directory.rename(away)
            directory.symlink_to(tmp_path)
            directory.unlink()
            away.rename(directory)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        seen = set()
        reads, deadline = 0, time.monotonic() + 10
        # Until both states were met, and a while beyond.
        while (reads < 100 or len(seen) < 2 or "harmless" not in seen) and time.monotonic() < deadline:
            seen.add(oneclaw.call_tool("read_file", path="sub/secret.txt").text())
            reads += 1
    finally:
        is_over.set()
        swapping.join()

    assert all(SECRET not in text for text in seen)
    assert "harmless" in seen


def test_a_second_name_for_the_home_does_not_open_it(tmp_path):
    """As on a file system that takes ``Home`` and ``home`` for the same; here by a second mount."""
    program = """
        import sys
        from pathlib import Path
        from oneclaw_core import PermissionDeniedError
        from oneclaw_core.files import PathGuard
        start = Path(sys.argv[1])
        guard = PathGuard(start / "home" / "workspace", start, start / "home")
        try:
            found = guard.readable(start / "alias" / "keys.json")
        except PermissionDeniedError:
            print("denied")
        else:
            print(found.read_text())
    """
    for name in ("home/workspace", "alias"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home" / "keys.json").write_text(SECRET)
    mount = 'mount --bind "$1/home" "$1/alias" || exit 77; exec "$2" -c "$3" "$1"'
    shell = ["sh", "-c", mount, "sh", str(tmp_path), sys.executable, textwrap.dedent(program)]
    try:
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", *shell],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare here, so no second mount can be made")
    if done.returncode in (1, 77) and "denied" not in done.stdout and SECRET not in done.stdout:
        pytest.skip(f"no second mount can be made here: {done.stderr.strip()}")
    assert done.stdout == "denied\n"


def test_the_home_is_closed_by_what_it_is_and_not_by_its_name(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    (home / "keys.json").write_text(SECRET)
    (tmp_path / "HOME").mkdir()
    guard = PathGuard(home / "workspace", tmp_path, home)
    assert guard.readable(tmp_path / "HOME").name == "HOME"
    plain_stat = Path.stat

    def as_on_a_mac(path, **options):
        return plain_stat(Path(str(path).replace("/HOME", "/home")), **options)

    monkeypatch.setattr(Path, "stat", as_on_a_mac)
    with pytest.raises(PermissionDeniedError):
        guard.readable(tmp_path / "HOME" / "keys.json")
