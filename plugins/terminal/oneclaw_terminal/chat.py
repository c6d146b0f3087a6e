"""A conversation in the terminal: `oneclaw chat`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
from oneclaw_channels import Conversation

from oneclaw_core import __version__
from oneclaw_core.cli import (
    EventLines,
    TurnView,
    chat_services,
    conversation_options,
    failures_as_events,
    is_terminal,
    note_cut_off,
    note_missing_parts,
    open_asking,
    print_text,
    printable_line,
    printable_name,
    reserved_stdout,
    run_async,
    session_hint,
    styled,
    terminal_confirmer,
    warn,
)
from oneclaw_core.http import prepare_clients
from oneclaw_terminal.lines import PipedInput, PlainInput, hidden_typing
from oneclaw_terminal.talk import Talk, write_to_terminal
from oneclaw_terminal.wrapping import print_wrapped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from oneclaw_core import OneClaw
    from oneclaw_core.cli import ConversationChoice
    from oneclaw_core.sessions import BackgroundWork
    from oneclaw_terminal.reloading import Reloader
    from oneclaw_terminal.view import ChatView

_TWICE_SECONDS = 2.0
_TITLE_CHARACTERS = 60

_Value = TypeVar("_Value")


@click.command()
@conversation_options
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@click.option("--plain", is_flag=True, help="Do not redraw, and use words for symbols, such as for a screen reader.")
@click.option("--no-worker", is_flag=True, help="Run no services, such as the worker for scheduled tasks.")
@click.option("--reload", metavar="NAME", help="Load a plugin anew when its files change, for its author.")
@click.pass_context
def chat(
    context: click.Context,
    choice: ConversationChoice,
    as_json: bool,
    plain: bool,
    no_worker: bool,
    reload: str | None,
) -> None:
    """Talk with a model. /help lists the commands.

    While the model answers, your messages wait for the end of the answer. /steer sends one after the next tool call.
    Ctrl-C stops the answer; a second Ctrl-C leaves the chat.

    If standard input is not a terminal, each line is a message or command, and there are no questions. Attachments are
    sent with the first message. With --json, the output of commands goes to standard error.

    With --reload, the plugin's modules are imported anew before the next message or command, where its files have
    changed. If that fails, the version before stays.
    """
    with reserved_stdout() if as_json else nullcontext() as stdout, failures_as_events(stdout):
        is_all_well = run_async(_chat(choice, stdout, is_plain=plain, has_services=not no_worker, plugin=reload))
    if not is_all_well:
        context.exit(1)


async def _chat(
    choice: ConversationChoice, stdout: TextIO | None, *, is_plain: bool, has_services: bool, plugin: str | None
) -> bool:
    """Go on until there are no more lines.

    Args:
        choice: the options of the conversation.
        stdout: for events as JSON; ``None`` for people.
        is_plain: True to draw nothing anew.
        has_services: True to run the services that belong to a chat.
        plugin: to load anew when its files change; ``None`` for none.

    Returns:
        True if all went well; always, if somebody sat at the terminal and saw what did not.
    """
    attachments = choice.attachments()
    is_interactive = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    is_plain = is_plain or (is_interactive and os.environ.get("TERM", "dumb") in ("", "dumb", "unknown"))
    drawn: ChatView | None = None
    view: TurnView | EventLines | ChatView
    if stdout is not None:
        view = EventLines(stdout)
    elif is_interactive and not is_plain:
        from oneclaw_terminal.view import ChatView

        view = drawn = ChatView()
    else:
        view = TurnView(sys.stdout, is_plain=is_plain)
    with hidden_typing() if drawn is not None else nullcontext():
        opened = _opened(choice, view, has_services=has_services and is_interactive, plugin=plugin)
        async with opened as (claw, reloader):
            conversation = Conversation(
                claw=claw,
                view=view,
                notify=warn,
                session_name=await choice.session_name(claw),
                agent=choice.agent,
                model=choice.model,
                attachments=attachments,
                reasoning=choice.reasoning,
            )
            has_services = has_services and reloader is None
            return await _talk(conversation, drawn, reloader, is_interactive=is_interactive, has_services=has_services)


@asynccontextmanager
async def _opened(
    choice: ConversationChoice, view: TurnView | EventLines | ChatView, *, has_services: bool, plugin: str | None
) -> AsyncGenerator[tuple[OneClaw, Reloader | None], None]:
    """Open the home, with what loads a plugin of it anew; then the services of a chat belong to the home."""

    @asynccontextmanager
    async def open_home() -> AsyncGenerator[OneClaw, None]:
        async with (
            open_asking(choice.allow, view.giving_way) as claw,
            chat_services(claw, print_text) if has_services else nullcontext(),
        ):
            yield claw

    if plugin is None:
        async with open_asking(choice.allow, view.giving_way) as claw:
            yield claw, None
        return
    from oneclaw_terminal.reloading import Reloader

    async with Reloader(open_home, plugin).running() as reloader:
        yield reloader.claw, reloader


async def _talk(
    conversation: Conversation,
    drawn: ChatView | None,
    reloader: Reloader | None,
    *,
    is_interactive: bool,
    has_services: bool,
) -> bool:
    claw = conversation.claw
    await note_missing_parts(claw)
    # A model or agent that there is not is told at once, not after the first message is typed.
    _, full_model = await conversation.next_request()
    if not is_interactive:
        return await Talk(conversation, reloader=reloader).go_through(PipedInput())
    conversation.confirm = terminal_confirmer(drawn.giving_way) if drawn is not None else terminal_confirmer()
    await _greet(conversation, full_model)
    if not full_model.startswith("offline/"):
        # Typing a message takes longer than this, which the first request would wait for.
        asyncio.get_running_loop().run_in_executor(None, prepare_clients)
    show_end = partial(_show_end, drawn.tell if drawn is not None else print_text)
    claw.background.listen(show_end)
    if reloader is not None:
        reloader.prepare = lambda new: new.background.listen(show_end)
    async with chat_services(claw, print_text) if has_services else nullcontext():
        if drawn is None:
            await _chat_plainly(conversation, reloader)
        else:
            from oneclaw_terminal.screen_chat import chat_on_screen

            await chat_on_screen(conversation, drawn, reloader)
    claw = conversation.claw
    note_cut_off(claw)
    session = await conversation.session()
    if session is not None and await claw.store.count_messages(session.id):
        click.echo(styled(session_hint(session.name or session.id), sys.stderr, dim=True), err=True)
    return True


def _show_end(tell: Callable[[str], None], work: BackgroundWork) -> None:
    tell(f"{work.end_in_words()} ({printable_line(work.title, _TITLE_CHARACTERS)})")


async def _chat_plainly(conversation: Conversation, reloader: Reloader | None) -> None:
    """Talk line by line, and draw nothing anew."""
    talk = Talk(conversation, is_typed=True, write_raw=write_to_terminal, reloader=reloader)
    lines = PlainInput()
    interrupted_at = float("-inf")
    try:
        while not talk.has_left:
            try:
                line = await _cancellably(lines.read())
            except asyncio.CancelledError:
                now = time.monotonic()
                if now - interrupted_at < _TWICE_SECONDS:
                    return
                interrupted_at = now
                print_text("(Ctrl-C again, /exit or Ctrl-D leaves)")
                continue
            if line is None:
                return
            try:
                await _cancellably(talk.do(line))
            except asyncio.CancelledError:
                interrupted_at = time.monotonic()
    finally:
        lines.close()


async def _cancellably(work: Coroutine[Any, Any, _Value]) -> _Value:
    """Await something that Ctrl-C cancels.

    Raises:
        asyncio.CancelledError: it did, or the program is told to end.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        return await task
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _greet(conversation: Conversation, full_model: str) -> None:
    print_wrapped(f"OneClaw {__version__}, model {full_model}. /help lists the commands, Ctrl-D leaves.", "")
    for notice in await conversation.claw.plugins.chat_notices():
        print_wrapped(f"{notice.text}: {notice.command}" if notice.command else notice.text, "")
    session = await conversation.session()
    if session is not None:
        count = await conversation.claw.store.count_messages(session.id)
        print_text(f"Going on with session {printable_name(session.name or session.id)}, {count} messages.")
