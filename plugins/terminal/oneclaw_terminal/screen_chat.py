"""`oneclaw chat` on a terminal that can be drawn on: the user types at any time."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from oneclaw_channels import MOST_WAITING, TurnQueue

from oneclaw_core import OneClawError
from oneclaw_core.channels import is_slash_command
from oneclaw_core.cli import print_text, printable, styled
from oneclaw_terminal.lines import line_history, slash_completer
from oneclaw_terminal.screen import ChatScreen
from oneclaw_terminal.talk import Talk

if TYPE_CHECKING:
    from oneclaw_channels import Conversation

    from oneclaw_terminal.reloading import Reloader
    from oneclaw_terminal.view import ChatView


async def chat_on_screen(conversation: Conversation, view: ChatView, reloader: Reloader | None = None) -> None:
    """Talk until the user leaves.

    Args:
        conversation: to go on with.
        view: of the conversation.
        reloader: loads a plugin anew before a line; ``None`` for no plugin.
    """
    talk = Talk(conversation, is_typed=True, write_raw=lambda sequence: screen.write_raw(sequence), reloader=reloader)

    async def work(line: str) -> None:
        is_now = queue.line is not line
        if not is_now or is_slash_command(line):
            print_text(styled(f"\n> {printable(line)}", sys.stdout, bold=True), is_safe=True)
        await talk.do(line)
        if talk.has_left:
            screen.leave()
        refresh_status()

    async def update_status() -> None:
        try:
            view.status.take(await conversation.status())
            view.status.places = _places(conversation)
        except OneClawError:
            return  # the next message says it
        screen.refresh()

    def refresh_status() -> None:
        # Beside the work, which Ctrl-C would stop.
        task = asyncio.get_running_loop().create_task(update_status())
        refreshing.add(task)
        task.add_done_callback(refreshing.discard)

    refreshing: set[asyncio.Task[None]] = set()
    queue = TurnQueue(conversation, work, talk.commands.is_immediate, lambda: screen.refresh())
    conversation.stop = queue.stop
    screen = ChatScreen(
        line_history(conversation.claw.home.chat_history),
        slash_completer(talk.commands.summaries),
        view.live,
        lambda columns: view.status.text(columns, conversation, is_busy=queue.is_busy),
        queue.stop,
    )
    view.screen = screen
    async with screen.running():
        refresh_status()
        # Before the first answer needs it, and after the line to type in is there.
        asyncio.get_running_loop().run_in_executor(None, import_module, "oneclaw_terminal.markdown")
        try:
            while (line := await screen.read()) is not None:
                if not queue.put(line):
                    print_text(f"{MOST_WAITING} lines wait already; /queue lists them, /queue clear drops them")
        finally:
            await queue.close()
            for task in refreshing:
                task.cancel()
            await asyncio.gather(*refreshing, return_exceptions=True)


def _places(conversation: Conversation) -> tuple[str, ...]:
    """Return the start directory, and whether the user trusts it, in a long and a short form."""
    project = conversation.claw.services.project
    if project.directory is None:
        return ()
    path, home = str(project.directory), os.path.expanduser("~")  # noqa: PTH111  # for its text
    shown = f"~{path.removeprefix(home)}" if home != "/" and (path + "/").startswith(home + "/") else path
    trust = "trusted" if project.is_trusted else "not trusted"
    return f"{printable(shown)} ({trust})", f"{printable(project.directory.name)} ({trust})"
