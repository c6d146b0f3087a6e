"""Writing a tool's two files: a crash at any point leaves the old pair or the new one."""

import json
import signal
import subprocess
import sys

import pytest
from oneclaw_javascript.user_tools.atomic_pair import ToolFiles

from oneclaw_core import OneClawError

# Has a child process write the pair, and kills it at each step that changes the file system in turn, until one is done.
KILLER = """
import json, os, signal, sys
from pathlib import Path
from oneclaw_javascript.user_tools.atomic_pair import ToolFiles

files = ToolFiles(Path(sys.argv[1]), Path(sys.argv[1] + ".lock"))
old = [each.encode() for each in sys.argv[2:]] or [None, None]
with files.locked():  # imports what it needs
    pass

def write(steps_left):
    def count(event, args):
        nonlocal steps_left
        is_opened_to_write = event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT
        if is_opened_to_write or event in ("os.rename", "os.rmdir", "os.mkdir"):
            if steps_left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            steps_left -= 1

    sys.addaudithook(count)
    with files.locked():
        files.put("tool", b"new manifest", b"new code")
    os._exit(0)

states = []
for step in range(50):
    for name, content in zip(("tool.json", "tool.js"), old):
        (files.folder / name).unlink(missing_ok=True)
        if content is not None:
            (files.folder / name).write_bytes(content)
    child = os.fork()
    if child == 0:
        write(step)
    status = os.waitpid(child, 0)[1]
    files.finish_commits()
    pair = [each and each.decode() for each in files.read("tool")]
    states.append([status, *pair, *sorted(path.name for path in files.folder.iterdir())])
    if status == 0:
        break
print(json.dumps(states))
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "tools").mkdir()
    return ToolFiles(tmp_path / "tools", tmp_path / "tools.lock")


@pytest.mark.long
@pytest.mark.one_python
@pytest.mark.parametrize("old", [("old manifest", "old code"), ()])
def test_killed_at_every_step(files, old):
    command = [sys.executable, "-c", KILLER, str(files.folder), *old]
    states = json.loads(subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=True).stdout)

    before = [*old, "tool.js", "tool.json"] if old else [None, None]
    after = ["new manifest", "new code", "tool.js", "tool.json"]
    assert [state[0] for state in states] == [signal.SIGKILL] * (len(states) - 1) + [0]
    count = [state[1:] for state in states].count(before)
    assert count >= 3
    assert [state[1:] for state in states] == [before] * count + [after] * (len(states) - count)
    assert len(states) - count >= 4, "no kill came between putting the two files into their places"


def test_a_change_that_was_cut_off_is_finished_by_whoever_looks(own):
    own.write("tool", "function execute() { return 'old' }")
    commit = own.folder / ".tool.commit"
    commit.mkdir()
    (own.folder / "tool.js").rename(commit / "tool.js")
    (commit / "tool.js").write_text("function execute() { return 'new' }")
    (own.folder / "tool.json").rename(commit / "tool.json")

    (result,) = own.call(("tool", {}))

    assert result.result == "new"
    assert sorted(path.name for path in own.folder.iterdir()) == ["tool.js", "tool.json"]


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "tools").write_text("no folder")
    files = ToolFiles(tmp_path / "tools", tmp_path / "tools.lock")

    with pytest.raises(OneClawError, match="make the folder writable"), files.locked():
        files.put("tool", b"x", b"y")


def test_what_is_in_the_way_says_so_and_is_left_alone(files):
    (files.folder / "tool.js").mkdir()

    with pytest.raises(OneClawError, match=r"tool\.js is not a file|cannot be read"):
        files.read("tool")


def test_files_are_for_their_owner_alone(files):
    with files.locked():
        files.put("tool", b"{}", b"code")

    assert [path.stat().st_mode & 0o777 for path in files.folder.iterdir()] == [0o600, 0o600]
