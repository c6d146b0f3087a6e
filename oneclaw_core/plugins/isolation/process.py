"""Running a child process that looks at a plugin, and telling how far it came, whatever the plugin does in it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from oneclaw_core.process.worker_process import EXIT_SECONDS, describe_end
from oneclaw_core.secrets.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_STDERR_BYTES = 8 * 1024 * 1024
_BOOTSTRAP = (
    "import json, sys; request = json.load(open(sys.argv[1], encoding='utf-8')); sys.path[:] = request['path']; "
    "from oneclaw_core.plugins.isolation.child import serve; serve(request)"
)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A directory that is thrown away, for all that a plugin does while it is checked.

    Attributes:
        root: the directory.
    """

    root: Path

    @property
    def home(self) -> Path:
        """The home of OneClaw."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The directory in which programs are started."""
        return self.root / "work"

    @property
    def secret_file(self) -> Path:
        """A file beside what tools may read."""
        return self.root / "outside" / "secret.txt"

    def make(self) -> None:
        """Make the directories."""
        for directory in (self.home, self.work, self.secret_file.parent, self.root / "tmp", self.root / "user"):
            directory.mkdir(exist_ok=True)

    def environment(self) -> dict[str, str]:
        """The environment of a child: the program's own without secrets, and with everything of the user's here."""
        user = str(self.root / "user")
        return {
            **without_secrets(),
            "HOME": user,
            "USERPROFILE": user,
            "APPDATA": user,
            "LOCALAPPDATA": user,
            "XDG_CONFIG_HOME": f"{user}/.config",
            "XDG_DATA_HOME": f"{user}/.local/share",
            "XDG_CACHE_HOME": f"{user}/.cache",
            "TMPDIR": str(self.root / "tmp"),
            "TEMP": str(self.root / "tmp"),
            "TMP": str(self.root / "tmp"),
            "ONECLAW_HOME": str(self.home),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "PYTHONDONTWRITEBYTECODE": "1",
        }


@dataclass(frozen=True, slots=True)
class ProbeEnd:
    """The end of a child process.

    Attributes:
        is_complete: whether it had said all.
        has_hung: whether it was ended because it said nothing for too long.
        how: the end of a sentence, such as ``ended with exit status 3``.
        failure: what went wrong in the probe itself, ``""`` for nothing.
        has_left_processes: whether something that it has started went on after it had ended.
    """

    is_complete: bool
    has_hung: bool
    how: str
    failure: str = ""
    has_left_processes: bool = False


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The messages of a child process, and its end.

    Attributes:
        messages: the objects, in order, without the one that says that it is complete.
        end: how it ended.
        stderr: the beginning of what stood on its standard error.
    """

    messages: tuple[dict[str, Any], ...]
    end: ProbeEnd
    stderr: str = ""


def run_probe(
    request: Mapping[str, Any],
    scratch: Scratch,
    silence_seconds: float,
    *,
    import_paths: Sequence[str] = (),
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> ProbeOutcome:
    """Run a probe to its end.

    Args:
        request: what it is to do, as JSON data: ``task``, and what that needs.
        scratch: made.
        silence_seconds: how long it may say nothing before it is killed with all it started; a message with
            ``patience_seconds`` says otherwise for the time after it.
        import_paths: directories to import from before all others.
        options: of Python.
        environment: of the process; by default that of the scratch directory.
    """
    request_file = scratch.root / "request.json"
    search_path = [*import_paths, *(str(entry) for entry in sys.path)]
    request_file.write_text(json.dumps({**request, "path": search_path}), encoding="utf-8")
    stderr_file = scratch.root / "stderr.txt"
    with stderr_file.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603  # Python itself, with a fixed program
            [sys.executable, "-P", *options, "-c", _BOOTSTRAP, str(request_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=scratch.work,
            env=dict(scratch.environment() if environment is None else environment),
            start_new_session=True,
        )
    assert process.stdout is not None
    assert process.stdin is not None
    messages: list[dict[str, Any]] = []
    is_complete, has_hung, failure = False, False, ""
    try:
        for message in _messages(process.stdout, silence_seconds):
            if message is None:
                has_hung = True
            elif "done" in message:
                is_complete = True
            elif "failed" in message:
                failure = str(message["failed"])
            else:
                messages.append(message)
        if not has_hung:
            with suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_SECONDS)
        returncode, has_left_processes = process.returncode, not has_hung and _group_lives(process.pid)
    finally:
        _kill(process)
        process.stdin.close()
        process.stdout.close()
    how = f"did not go on for {silence_seconds:g} s" if has_hung else describe_end(returncode)
    end = ProbeEnd(is_complete, has_hung, how, failure, has_left_processes)
    return ProbeOutcome(tuple(messages), end, _beginning(stderr_file))


def _messages(stream: IO[bytes], silence_seconds: float) -> Iterator[dict[str, Any] | None]:
    """Give each message as it comes, and ``None`` at the end if it was not the process that made an end."""
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        remaining = MAX_ANSWER_BYTES
        with suppress(ValueError, OSError):  # closed: there is no reader any more
            while remaining > 0 and (line := stream.readline(remaining)):
                remaining -= len(line)
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, name="conformance", daemon=True).start()
    deadline = time.monotonic() + silence_seconds
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            yield None
            return
        if line is None:
            return
        try:
            message = json.loads(line)
        except ValueError:
            continue  # the plugin has written there itself
        if isinstance(message, dict):
            patience = message.pop("patience_seconds", None)
            deadline = time.monotonic() + (patience if isinstance(patience, int | float) else silence_seconds)
            yield message
            if "done" in message or "failed" in message:
                return


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The group outlives its leader: whatever the plugin has started goes too.
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _group_lives(group: int) -> bool:
    if not hasattr(os, "killpg"):
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's by now, but there
    return True


def _beginning(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(MAX_STDERR_BYTES).decode("utf-8", "replace")
