"""The send-only channel ``desktop``: a notification of this machine's desktop."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.channels import UndeliverableError
from oneclaw_core.plugins import Channel
from oneclaw_core.process import run_program
from oneclaw_core.tools import printable

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import OutMessage

_SECONDS = 10.0
_SHOWN_CHARACTERS = 100


class DesktopChannel(Channel):
    """Shows the title of a message and the beginning of its text."""

    def __init__(self, context: PluginContext) -> None:
        pass

    async def send(self, message: OutMessage) -> None:
        """See ``Channel``."""
        program = shutil.which("notify-send")
        if program is None or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise UndeliverableError("there is no desktop here, or no program notify-send")
        text = " ".join(printable(message.text).split())[:_SHOWN_CHARACTERS]
        # Some desktops read the body as markup.
        body = text.replace("&", "&amp;").replace("<", "&lt;")
        command = [program, "--app-name=OneClaw", "--", printable(message.title or "OneClaw"), body]
        try:
            end = await run_program(
                command,
                directory=Path("/"),
                timeout_seconds=_SECONDS,
                on_stdout=lambda _: None,
            )
        except (OSError, ValueError) as error:
            raise UndeliverableError(f"the desktop was not notified ({error})") from error
        if end.exit_code != 0:
            raise UndeliverableError("the desktop was not notified")
