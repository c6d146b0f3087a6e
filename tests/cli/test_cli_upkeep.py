"""Files that a server writes for months stay in bounds."""

import logging
import os

from oneclaw_core.cli.log import HomeLog
from oneclaw_core.cli.log_file import MAX_FILE_BYTES
from oneclaw_core.cli.serve import tidy_up
from oneclaw_core.system.home import find_home


def log_to(handler, text):
    handler.handle(logging.LogRecord("oneclaw", logging.WARNING, "", 1, text, None, None))


def test_a_process_goes_on_in_the_log_that_another_has_rotated(home):
    server, command = HomeLog(), HomeLog()
    log_to(server, "it began")
    for number in range(3):
        log_to(command, f"{number} {'x' * MAX_FILE_BYTES}")
    log_to(server, "it goes on")
    logs = home / "logs"
    assert "it goes on" in (logs / "oneclaw.log").read_text()
    assert {each.name for each in logs.iterdir()} == {"oneclaw.log", "oneclaw.log.1", "oneclaw.log.2"}
    server.close()
    command.close()


def test_the_log_of_launchd_is_shortened_while_it_is_written(home):
    found = find_home(os.environ)
    found.create()
    log = home / "logs" / "serve.log"
    with log.open("ab", buffering=0) as file:
        file.write(b"early\n" + b"x" * MAX_FILE_BYTES)
        tidy_up(found)
        file.write(b"late\n")
    assert log.read_bytes() == b"late\n"
    old = log.with_name("serve.log.1")
    assert old.read_bytes().startswith(b"early")
    assert old.stat().st_mode & 0o777 == 0o600
    tidy_up(found)
    assert log.read_bytes() == b"late\n"


def test_a_server_removes_lock_files_of_killed_processes(home):
    found = find_home(os.environ)
    found.create()
    left = found.locks / f"{'a' * 32}.lock"
    left.touch()
    os.utime(left, (0, 0))
    tidy_up(found)
    assert not left.exists()
