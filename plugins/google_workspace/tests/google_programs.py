"""Running ``oneclaw`` in processes of its own, as often as a story needs them.

Most of what a process costs is importing libraries. Where the system can fork, they are imported once, in a process
that does nothing else, and each run of the program is a fork of it: a process with a memory, an environment, a
directory and files of its own. A test of how the program starts begins it with ``python -m oneclaw_core`` itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 120
CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
IMPORTED = (
    "anyio.to_thread",
    "genai_prices.data",
    "httpcore",
    "httpx",
    "httpx_sse",
    "jsonschema",
    "oneclaw_core.app",
    "oneclaw_core.builtin",
    "oneclaw_core.cli.main",
    "oneclaw_core.cli.run",
    "oneclaw_core.providers.openai_chat",
    "oneclaw_core.store.migrations",
    "oneclaw_core.store.sqlite_backend",
    "oneclaw_core.tools.function",
    "oneclaw_google_workspace.connecting",
    "oneclaw_google_workspace.token_requests",
    "yaml",
)
_STREAMS = ("stdin", "stdout", "stderr")


class Programs:
    """Runs ``oneclaw``, from entering to leaving the context."""

    def __enter__(self) -> Programs:
        self._server = None
        if CAN_FORK:
            command = [sys.executable, __file__]
            # The keyring is chosen as it is imported.
            environ = os.environ | {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
            self._server = subprocess.Popen(
                command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.communicate()  # it ends with its input

    def run(
        self, *arguments: str, environ: dict[str, str] | None = None, directory: Path | None = None, typed: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run ``oneclaw`` with these arguments.

        Args:
            arguments: of the program.
            environ: added to the environment.
            directory: where it is started, by default the current one.
            typed: its standard input.
        """
        return self.run_at_once([arguments], environ=environ, directory=directory, typed=typed)[0]

    def run_at_once(
        self,
        programs: Sequence[Sequence[str]],
        *,
        environ: dict[str, str] | None = None,
        directory: Path | None = None,
        typed: str = "",
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run ``oneclaw`` several times at once, each with arguments of its own; otherwise like :meth:`run`."""
        shared = {"environ": os.environ | (environ or {}), "directory": str(directory or Path.cwd())}
        with tempfile.TemporaryDirectory() as folder:
            started = []
            for number, arguments in enumerate(programs):
                files = {stream: str(Path(folder, f"{number}.{stream}")) for stream in _STREAMS}
                Path(files["stdin"]).write_text(typed, encoding="utf-8")
                started.append({"arguments": list(arguments), "files": files, **shared})
            codes = self._codes(started)
            return [
                subprocess.CompletedProcess(
                    each["arguments"],
                    code,
                    *(Path(each["files"][stream]).read_text(encoding="utf-8") for stream in _STREAMS[1:]),
                )
                for each, code in zip(started, codes, strict=True)
            ]

    def _codes(self, started: list[dict[str, Any]]) -> list[int]:
        if self._server is not None:
            self._server.stdin.write(json.dumps(started) + "\n")
            self._server.stdin.flush()
            return json.loads(self._server.stdout.readline())
        running = []
        for each in started:
            with (
                Path(each["files"]["stdin"]).open("rb") as stdin,
                Path(each["files"]["stdout"]).open("wb") as stdout,
                Path(each["files"]["stderr"]).open("wb") as stderr,
            ):
                running.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "oneclaw_core", *each["arguments"]],
                        env=each["environ"],
                        cwd=each["directory"],
                        stdin=stdin,
                        stdout=stdout,
                        stderr=stderr,
                    )
                )
        return [each.wait(timeout=SECONDS) for each in running]


def _import() -> None:
    """Import what nearly every run does; what is not in the list is imported by the runs themselves."""
    for name in IMPORTED:
        import_module(name)


def _serve() -> dict[str, Any] | None:
    """Fork for every program that is asked for; gives it in the fork, and ``None`` at the end of the input."""
    for line in iter(sys.stdin.readline, ""):
        running = []
        for program in json.loads(line):
            process_id = os.fork()
            if process_id == 0:
                return program
            running.append(process_id)
        codes = [_code_of(process_id) for process_id in running]
        sys.stdout.write(json.dumps(codes) + "\n")
        sys.stdout.flush()
    return None


def _code_of(process_id: int) -> int:
    descriptor = os.pidfd_open(process_id)
    if not select.select([descriptor], [], [], SECONDS)[0]:
        os.kill(process_id, signal.SIGKILL)
    os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1])


def _become(program: dict[str, Any]) -> None:
    """Make this process one in which the program can begin."""
    os.environ.clear()
    os.environ.update(program["environ"])
    os.chdir(program["directory"])
    for number, (name, path) in enumerate(program["files"].items()):
        descriptor = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
        setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    sys.argv = ["oneclaw", *program["arguments"]]


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of the tests
    _import()
    asked = _serve()
    if asked is not None:
        _become(asked)
        from oneclaw_core.cli.main import main

        sys.exit(main())
