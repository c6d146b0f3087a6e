"""Running ``oneclaw`` in its own processes, as often as a story needs them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 120
_PROGRAM = "import sys; from oneclaw_core.cli.main import main; sys.exit(main())"
_STREAMS = ("stdin", "stdout", "stderr")


class Programs:
    """Runs ``oneclaw``."""

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
        """Run ``oneclaw`` several times at once, each with its own arguments; otherwise like :meth:`run`."""
        with tempfile.TemporaryDirectory() as name:
            folders = [Path(name, str(number)) for number in range(len(programs))]
            running = []
            for folder, arguments in zip(folders, programs, strict=True):
                folder.mkdir()
                (folder / "stdin").write_text(typed, encoding="utf-8")
                with ExitStack() as files:
                    streams = {
                        stream: files.enter_context((folder / stream).open("rb" if stream == "stdin" else "wb"))
                        for stream in _STREAMS
                    }
                    command = [sys.executable, "-P", "-c", _PROGRAM, *arguments]
                    environment = os.environ | (environ or {})
                    running.append(subprocess.Popen(command, cwd=directory, env=environment, **streams))
            return [
                subprocess.CompletedProcess(
                    list(arguments),
                    _code_of(process),
                    *((folder / stream).read_text(encoding="utf-8") for stream in _STREAMS[1:]),
                )
                for folder, arguments, process in zip(folders, programs, running, strict=True)
            ]


def _code_of(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
