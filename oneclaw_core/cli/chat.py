"""A conversation in the terminal: `oneclaw chat`."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import click

from oneclaw_core._version import __version__
from oneclaw_core.cli.options import allow_option, attach_option, conversation_options, reasoning_option
from oneclaw_core.cli.output import has_no_room, is_terminal, print_error, print_text, printable_name, reserved_stdout
from oneclaw_core.cli.running import run_async
from oneclaw_core.errors import OneClawError
from oneclaw_core.services.manager import SERVICE_HOOK, ServiceChange, ServiceManager
from oneclaw_core.turn.attachments import read_attachment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from oneclaw_core.app import OneClaw
    from oneclaw_core.cli.chat_input import ChatInput
    from oneclaw_core.cli.conversation import Conversation
    from oneclaw_core.cli.rendering import EventLines, TurnView
    from oneclaw_core.services.manager import ServiceNews
    from oneclaw_core.types.agents import ReasoningLevel
    from oneclaw_core.types.messages import Attachment

_PROMPT_POLL_SECONDS = 0.3
_SHOWN = (ServiceChange.SHOWS, ServiceChange.FAILED, ServiceChange.LEFT)

_log = logging.getLogger("oneclaw.cli")


@click.command()
@conversation_options
@reasoning_option
@attach_option
@allow_option
@click.option("--json", "as_json", is_flag=True, help="Print what happens, one JSON object a line.")
@click.option("--no-worker", is_flag=True, help="Run no services, such as the worker for scheduled tasks.")
@click.pass_context
def chat(
    context: click.Context,
    session: str | None,
    agent: str | None,
    model: str | None,
    reasoning: ReasoningLevel | None,
    attach: tuple[str, ...],
    allow: tuple[str, ...],
    as_json: bool,
    no_worker: bool,
) -> None:
    """Talk with a model. /help lists what can be typed beside messages.

    When standard input is no terminal, each of its lines is a message or command, and nothing is asked. What is
    attached goes with the first message. With --json, what commands print goes to standard error.
    """
    from oneclaw_core.cli.rendering import failures_as_events

    with reserved_stdout() if as_json else nullcontext() as stdout, failures_as_events(stdout):
        attachments = [read_attachment(path) for path in attach]
        chatting = _chat(
            _view(stdout), session, agent, model, attachments, allow, reasoning=reasoning, has_services=not no_worker
        )
        is_all_well = run_async(chatting)
    if not is_all_well:
        context.exit(1)


def _view(stdout: TextIO | None) -> TurnView | EventLines:
    """Choose how turns are shown: to people, or as lines of JSON on a stream."""
    if stdout is None:
        from oneclaw_core.cli.rendering import TurnView

        return TurnView(sys.stdout)
    from oneclaw_core.cli.rendering import EventLines

    return EventLines(stdout)


def _tell_programs(view: TurnView | EventLines, error: Exception) -> None:
    from oneclaw_core.cli.rendering import EventLines

    if isinstance(view, EventLines):
        view.fail(error)


async def _chat(
    view: TurnView | EventLines,
    session: str | None,
    agent: str | None,
    model: str | None,
    attachments: list[Attachment],
    allow: tuple[str, ...],
    *,
    reasoning: ReasoningLevel | None,
    has_services: bool,
) -> bool:
    """Go on until there are no more lines.

    Returns:
        Whether all went well; always, if somebody sat at the terminal and saw what did not.
    """
    from oneclaw_core.cli.asking import terminal_asker
    from oneclaw_core.cli.chat_input import PipedInput, TerminalInput
    from oneclaw_core.cli.conversation import Conversation, completions
    from oneclaw_core.cli.options import note_missing_parts, open_allowing
    from oneclaw_core.cli.questions import terminal_questioner
    from oneclaw_core.config.providers import OFFLINE_MODEL
    from oneclaw_core.http.clients import prepare_clients

    is_interactive = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    async with open_allowing(allow, terminal_asker(view.giving_way), terminal_questioner(view.giving_way)) as claw:
        conversation = Conversation(claw, view, session, agent, model, attachments, reasoning)
        await note_missing_parts(claw)
        # A model or agent that there is not is told at once, not after the first message is typed.
        _, full_model = await conversation.next_request()
        if not is_interactive:
            return await _go_through(PipedInput(), conversation, is_interactive=False)
        await _greet(conversation, full_model)
        lines = TerminalInput(claw.home.chat_history, partial(completions, claw))
        if full_model != OFFLINE_MODEL:
            # Typing a message takes longer than this, which the first request would wait for.
            asyncio.get_running_loop().run_in_executor(None, prepare_clients)
        async with services_running(claw) if has_services else nullcontext():
            await _go_through(lines, conversation, is_interactive=True)
        return True


async def _greet(conversation: Conversation, full_model: str) -> None:
    print_text(f"OneClaw {__version__}, model {full_model}. /help lists the commands, Ctrl-D leaves.")
    for notice in await conversation.claw.plugins.chat_notices():
        print_text(notice)
    session = await conversation.session()
    if session is not None:
        count = await conversation.claw.store.count_messages(session.id)
        print_text(f"Going on with session {printable_name(session.name or session.id)}, {count} messages.")


async def _go_through(lines: ChatInput, conversation: Conversation, *, is_interactive: bool) -> bool:
    from oneclaw_core.cli.conversation import QuitChat, expandable_command, is_slash_command, run_slash_command

    is_all_well = True
    while (line := await lines.read()) is not None:
        try:
            expandable = await expandable_command(conversation.claw, line)
            if is_slash_command(line) and expandable is None:
                work = run_slash_command(conversation, line)
            else:
                command, text = expandable or (None, line)
                files: tuple[str, ...] = ()
                if is_interactive and "@" in text:
                    text, files = _with_mentioned_files(conversation, text)
                work = conversation.send(text, command=command, files=files)
            await (_cancellably(work) if is_interactive else work)
        except QuitChat:
            break
        except OneClawError as error:
            is_all_well = False
            _tell_programs(conversation.view, error)
            print_error(str(error))
        except BrokenPipeError:
            raise
        except Exception as error:
            if has_no_room(error):
                raise
            # One turn that broke is no reason to lose the conversation.
            is_all_well = False
            _log.error("unexpected %s", type(error).__name__, exc_info=error)
            _tell_programs(conversation.view, error)
            print_error(f"unexpected {type(error).__name__}; the traceback is in {conversation.claw.home.log_file}")
    return is_all_well


def _with_mentioned_files(conversation: Conversation, text: str) -> tuple[str, tuple[str, ...]]:
    """Attach what a typed message names as ``@PATH``, and say so."""
    from oneclaw_core.channels.mentions import with_mentioned_files

    directory = conversation.claw.services.project.directory
    if directory is None:
        return text, ()
    found = with_mentioned_files(text, directory, is_typed=True)
    for notice in found.notices:
        print_text(notice)
    conversation.attachments += found.attachments
    return found.text, found.files


async def _cancellably(work: Coroutine[Any, Any, None]) -> None:
    """Send a message, or do what a slash command says; Ctrl-C ends that, and keeps the session and the chat."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await asyncio.wait({task})
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if not task.done():  # the program is told to end
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled():
        # The carriage return takes the place of the "^C" that the terminal shows.
        click.echo("\r(stopped; the session is kept)", err=True)
    else:
        task.result()


@asynccontextmanager
async def services_running(claw: OneClaw) -> AsyncGenerator[None, None]:
    """Run the services that belong to a chat until the end of the block."""
    services = [each for each in claw.plugins.registrations(SERVICE_HOOK) if "chat" in each.options["runs_in"]]
    if not services:
        yield
        return
    texts: asyncio.Queue[str] = asyncio.Queue()

    def report(news: ServiceNews) -> None:
        if news.change in _SHOWN:
            texts.put_nowait(str(news))

    showing = asyncio.create_task(_show(texts))
    try:
        async with ServiceManager(claw, services, "chat", report).running():
            yield
    finally:
        showing.cancel()
        await asyncio.wait({showing})


async def _show(texts: asyncio.Queue[str]) -> None:
    """Show texts above the line that the user types, and nothing in the middle of an answer."""
    from prompt_toolkit.application import get_app_or_none, run_in_terminal

    while True:
        text = await texts.get()
        while (app := get_app_or_none()) is None or not app.is_running:  # noqa: ASYNC110  # it has no event to wait for
            await asyncio.sleep(_PROMPT_POLL_SECONDS)
        await run_in_terminal(lambda text=text: print_text(text))  # type: ignore[misc]
