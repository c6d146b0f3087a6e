"""Uses a home on a disk that is full or not to be written to; a program for test_full_and_readonly_disks.py.

Arguments: a directory, and what to try: ``full`` and ``readonly`` mount something there, which has to be done in a
mount namespace of the program's own; ``limited`` has files that cannot grow. It prints a JSON document.
"""

import asyncio
import contextlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

from audit import faults_of, faults_of_file

from oneclaw_core import OneClaw
from oneclaw_core.cli.main import main
from oneclaw_core.errors import OneClawError
from oneclaw_core.turn import call_records

SESSION = "story"
DISK_KILOBYTES = 4_096
# What is left of the disk when something is tried: from nothing to enough for a turn, by way of the middle of one.
LEFT_KILOBYTES = (0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
COMMANDS = (
    ("run", "--model", "offline/rules", "--session", SESSION, "What time is it in Tokyo?"),
    ("run", "--model", "offline/rules", "What time is it in Tokyo?"),
    ("sessions", "list"),
    ("sessions", "show", SESSION),
    ("sessions", "delete", "--yes", "no-such"),
    ("tools", "list"),
    ("tools", "disable", "webfetch"),
    ("config", "set", "turn_max_tool_rounds", "7"),
    ("permissions", "grant", "network.private"),
    ("agents", "list"),
    ("usage",),
    ("memory", "show"),
    ("memory", "add", "likes tea"),
    ("db", "status"),
    ("call", "write_file", json.dumps({"path": "notes.txt", "content": "new " * 30_000})),
    ("call", "write_file", json.dumps({"path": "notes.txt", "content": "new " * 30_000, "mode": "append"})),
    ("call", "js_eval", json.dumps({"code": "6 * 7"})),
    ("doctor",),
)


def run(*command):
    """Run a command of the program in this process; give its exit status and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*command])
    return {"command": " ".join(command)[:80], "status": status, "out": out.getvalue(), "err": err.getvalue()}


def fill(disk, left_kilobytes):
    """Leave so much of a disk."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    free = os.statvfs(disk)
    size = free.f_bavail * free.f_frsize - left_kilobytes * 1024
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while size > 0:
            size -= file.write(b"\0" * min(size, 65_536))


async def turns(home, disk):
    """Take a turn with so much of the disk left, and another one once there is room again, in one open home."""
    found = []
    async with OneClaw.open(home, environ={}, start_directory=home, plugins=None) as claw:

        async def turn():
            try:
                async with aclosing(
                    claw.send_message("What time is it in Tokyo?", session=SESSION, model="offline/rules")
                ) as events:
                    async for _ in events:
                        pass
            except OneClawError as error:
                return str(error)
            return ""

        for left in LEFT_KILOBYTES:
            fill(disk, left)
            before = await turn()
            (disk / "filler").unlink(missing_ok=True)
            found.append({"left": left, "error": before, "after": await turn()})
        session = await claw.store.find_session(SESSION)
        faults = faults_of(await claw.store.messages(session.id))
    return {"turns": found, "faults": faults + faults_of_file(home / "oneclaw.db")}


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def full(disk):
    mount("-t", "tmpfs", "-o", f"size={DISK_KILOBYTES}k", "tmpfs", str(disk))
    home = Path(os.environ["ONECLAW_HOME"])
    report = {"before": [run(*COMMANDS[0])]}
    notes = home / "workspace" / "notes.txt"
    notes.write_text("old")
    report["turns"] = asyncio.run(turns(home, disk))
    fill(disk, 0)
    report["commands"] = [run(*command) for command in COMMANDS]
    report["notes"] = notes.read_text()
    shutil.rmtree(home / "logs", ignore_errors=True)
    fill(disk, 0)
    report["new home"] = run_in(disk / "another", COMMANDS[0])
    (disk / "filler").unlink()
    report["after"] = [run(*command) for command in COMMANDS]
    report["faults"] = faults_of_file(home / "oneclaw.db")
    report["left"] = sorted(str(path.relative_to(home)) for path in home.rglob("*.tmp"))
    return report


def limited(directory):
    """Files that cannot grow beyond a size, wherever in a turn they come to it; this needs no rights."""
    home = Path(os.environ["ONECLAW_HOME"])
    run(*COMMANDS[0])
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    errors = []
    for kilobytes in (1, 4, 40, 60, 80, 100, 120, 140, 160, 200, 240, 280):
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, hard))
        errors.append(run(*COMMANDS[0]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    return {"commands": errors, "after": [run(*COMMANDS[0])], "faults": faults_of_file(home / "oneclaw.db")}


def run_in(home, command):
    before = os.environ["ONECLAW_HOME"]
    os.environ["ONECLAW_HOME"] = str(home)
    try:
        return run(*command)
    finally:
        os.environ["ONECLAW_HOME"] = before


def readonly(disk):
    home = Path(os.environ["ONECLAW_HOME"])
    run(*COMMANDS[0])
    content = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    mount("--bind", str(disk), str(disk))
    mount("-o", "remount,ro,bind", str(disk))
    report = {"commands": [run(*command) for command in COMMANDS]}
    report["new home"] = run_in(disk / "another", COMMANDS[0])
    report["changed"] = [str(path) for path, before in content.items() if path.read_bytes() != before]
    return report


if __name__ == "__main__":
    call_records.STORE_RETRY_SECONDS = 0.1
    mount_point, kind = Path(sys.argv[1]), sys.argv[2]
    sys.stdout.write(json.dumps({"full": full, "readonly": readonly, "limited": limited}[kind](mount_point)))
