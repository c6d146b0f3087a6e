"""The send-only channel ``command``: a message on the standard input of a shell command, as JSON."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.channels import UndeliverableError
from oneclaw_core.plugins import Channel
from oneclaw_core.process import run_program, without_secrets

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import OutMessage

_SECONDS = 60.0
_SHOWN_CHARACTERS = 300
_KEPT_BYTES = 4_096
_HOME_VARIABLES = ("ONECLAW_HOME", "ONECLAW_PROFILE")


class CommandChannel(Channel):
    """Runs the shell command that a message is for."""

    def __init__(self, context: PluginContext) -> None:
        pass

    async def send(self, message: OutMessage) -> None:
        """See ``Channel``; the input is the message's data, else an object with its title and text.

        Nothing that fails is tried again: the command may have had its effect.
        """
        document = {"title": message.title, "text": message.text} if message.data is None else dict(message.data)
        written = bytearray()

        def keep_end(piece: bytes) -> None:
            written.extend(piece)
            del written[:-_KEPT_BYTES]

        # A file, as a program need not read all of a long document.
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(document).encode())
            file.seek(0)
            try:
                end = await run_program(
                    ["/bin/sh", "-c", message.to],
                    directory=Path.cwd(),  # reads no disk
                    environ=_environment(),
                    timeout_seconds=_SECONDS,
                    on_stdout=lambda _: None,
                    on_stderr=keep_end,
                    stdin=file.fileno(),
                )
            except (OSError, ValueError, OneClawError) as error:
                raise UndeliverableError(f"the command was not run: {error}") from error
        if end.exit_code is None:
            raise UndeliverableError(f"the command was stopped after {_SECONDS:g} seconds")
        if end.exit_code:
            text = " ".join(written.decode(errors="replace").split())[-_SHOWN_CHARACTERS:]
            raise UndeliverableError(f"the command ended with status {end.exit_code}" + (f": {text}" if text else ""))


def _environment() -> dict[str, str]:
    """Return an environment without keys, in which ``oneclaw`` finds the same home."""
    homes = {name: os.environ[name] for name in _HOME_VARIABLES if name in os.environ}
    return without_secrets() | homes
