"""Do what a line of `oneclaw chat` says: send a message, or run a command."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click
from oneclaw_channels import SlashCommands, follow

from oneclaw_core import OneClawError
from oneclaw_core.channels import expandable_command, is_slash_command, with_mentioned_files
from oneclaw_core.cli import EventLines, has_no_room, print_error, print_text, reserved_stdout
from oneclaw_terminal.clipboard import copy_sequence
from oneclaw_terminal.slash_commands import TERMINAL
from oneclaw_terminal.wrapping import print_wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_channels import Conversation

    from oneclaw_core import ChatAnswer
    from oneclaw_terminal.lines import ChatInput
    from oneclaw_terminal.reloading import Reloader

_log = logging.getLogger("oneclaw.terminal")


class Talk:
    """One conversation at the terminal, or through a pipe.

    Args:
        conversation: that the lines belong to.
        is_typed: True if a person types them.
        write_raw: writes an escape sequence that shows nothing; ``None`` where no terminal is.
        reloader: loads a plugin anew before a line; ``None`` for no plugin.

    Attributes:
        commands: all that can follow a slash.
        is_all_well: False once a line failed.
        has_left: True once the user wants to leave.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        is_typed: bool = False,
        write_raw: Callable[[str], None] | None = None,
        reloader: Reloader | None = None,
    ) -> None:
        self.commands = SlashCommands(conversation.claw, TERMINAL)
        self.is_all_well = True
        self.has_left = False
        self._conversation = conversation
        self._is_typed = is_typed
        self._write_raw = write_raw
        self._reloader = reloader

    async def go_through(self, lines: ChatInput) -> bool:
        """Do what lines say, one after the other, to their end.

        Returns:
            Whether all went well.
        """
        while not self.has_left and (line := await lines.read()) is not None:
            await self.do(line)
        return self.is_all_well

    async def do(self, line: str) -> None:
        """Do what one line says, and report what fails.

        Raises:
            BrokenPipeError: no one reads the output any more.
            OSError: there is no room for the output.
        """
        try:
            await self._do(line)
        except OneClawError as error:
            self._fail(error)
            print_error(str(error))
        except BrokenPipeError:
            raise
        except asyncio.CancelledError:
            # The carriage return takes the place of the "^C" that a terminal shows.
            click.echo("\r(stopped; the session is kept)", err=True)
            raise
        except Exception as error:
            if has_no_room(error):
                raise
            # One turn that broke is no reason to lose the conversation.
            self._fail(error)
            _log.error("unexpected %s", type(error).__name__, exc_info=error)
            log_file = self._conversation.claw.home.log_file
            print_error(f"unexpected {type(error).__name__}; the traceback is in {log_file}")

    async def _do(self, line: str) -> None:
        conversation = self._conversation
        if self._reloader is not None and await self._reloader.refresh(conversation):
            self.commands.claw = conversation.claw
        expandable = await expandable_command(conversation.claw, line)
        if is_slash_command(line) and expandable is None:
            is_own = line.split(maxsplit=1)[0].lower() in TERMINAL
            with nullcontext() if is_own else reserved_stdout():
                answer = await self.commands.run(conversation, line)
            await self._follow(answer)
            return
        command, text = expandable or (None, line)
        files: tuple[str, ...] = ()
        if self._is_typed and "@" in text:
            text, files = _with_mentioned_files(conversation, text)
        with reserved_stdout():
            await conversation.send(text, command=command, files=files)

    async def _follow(self, answer: ChatAnswer) -> None:
        if answer.text:
            print_wrapped(answer.text)
        if answer.copy is not None:
            print_wrapped(self._copy(answer.copy))
        with reserved_stdout():
            await follow(self._conversation, answer)
        self.has_left |= answer.leave

    def _copy(self, text: str) -> str:
        sequence, notice = copy_sequence(text)
        if self._write_raw is None:
            return "There is no terminal to copy to; oneclaw sessions show NAME prints a session."
        if sequence:
            self._write_raw(sequence)
        return notice

    def _fail(self, error: Exception) -> None:
        self.is_all_well = False
        if isinstance(self._conversation.view, EventLines):
            self._conversation.view.fail(error)


def _with_mentioned_files(conversation: Conversation, text: str) -> tuple[str, tuple[str, ...]]:
    """Attach what a typed message names as ``@PATH``, and say so."""
    directory = conversation.claw.services.project.directory
    if directory is None:
        return text, ()
    found = with_mentioned_files(text, directory, is_typed=True)
    for notice in found.notices:
        print_text(notice)
    conversation.attachments += found.attachments
    return found.text, found.files


def write_to_terminal(sequence: str) -> None:
    """Write an escape sequence to the terminal at once."""
    sys.stdout.write(sequence)
    sys.stdout.flush()
