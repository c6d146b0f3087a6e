"""One message or one tool call: `oneclaw run` and `oneclaw call`."""

from __future__ import annotations

import json
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from oneclaw_core.channels.commands import expandable_command
from oneclaw_core.channels.mentions import with_mentioned_files
from oneclaw_core.cli.options import (
    allow_option,
    conversation_options,
    note_cut_off,
    note_missing_parts,
    open_asking,
    session_hint,
)
from oneclaw_core.cli.output import is_terminal, print_json, printable_name, reserved_stdout, styled, warn
from oneclaw_core.cli.rendering import EventLines, TurnView, failures_as_events
from oneclaw_core.cli.running import run_async
from oneclaw_core.config.providers import OFFLINE_MODEL
from oneclaw_core.errors import UsageError
from oneclaw_core.types.events import TextEvent, TextWithdrawnEvent, TurnEvent, TurnFinishedEvent, UsageEvent
from oneclaw_core.types.messages import StopReason

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.cli.options import ConversationChoice

    Sender = Callable[[OneClaw], Awaitable[AsyncGenerator[TurnEvent, None]]]

MAX_STDIN_BYTES = 10_000_000
DRAIN_SECONDS = 2.0
"""The time that a program that ends waits for the observers of plugins."""


@click.command()
@conversation_options
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@click.option(
    "--resume", "resumes", is_flag=True, help="Finish the last turn of the session, which was killed or failed."
)
@click.option(
    "--output-schema",
    "schema_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Print the answer as JSON that the JSON Schema in this file describes.",
)
@click.argument("words", nargs=-1, metavar="[MESSAGE]")
@click.pass_context
def run(
    context: click.Context,
    words: tuple[str, ...],
    choice: ConversationChoice,
    as_json: bool,
    resumes: bool,
    schema_file: Path | None,
) -> None:
    """Send one message and print the answer as it arrives.

    MESSAGE is the text to send; - reads it from standard input. Write a message that begins with a dash after --. With
    /NAME ARGUMENTS, the model follows the skill NAME.

    --resume takes no message. It continues the last turn of --session, or of the session used last: calls of tools that
    are read-only or idempotent run again, other calls are answered as interrupted. A turn that already has its answer
    is not run again; the answer is printed, and the exit status is 0.

    With --output-schema, standard output is the JSON of the answer alone. It is checked; the model is told what is
    wrong, and answers again, twice at most.

    The exit status is 1 if there is no answer, or if it is cut off.
    """
    if len(words) > 1:
        raise click.UsageError('put the whole message in quotes, as in: oneclaw run "What time is it?"')
    message = words[0] if words else None
    if message is None and not resumes:
        raise click.MissingParameter(ctx=context, param_hint="'MESSAGE'", param_type="argument")
    if resumes and (message is not None or choice.attach or schema_file is not None):
        raise click.UsageError("--resume takes neither a message nor --attach nor --output-schema")
    with reserved_stdout() as stdout, failures_as_events(stdout if as_json else None):
        attachments = choice.attachments()
        schema = read_schema(schema_file) if schema_file is not None else None
        text = read_stdin() if message == "-" else message or ""

        async def send(claw: OneClaw) -> AsyncGenerator[TurnEvent, None]:
            await note_missing_parts(claw)
            session = await choice.session_name(claw)
            chosen: Any = {"agent": choice.agent, "model": choice.model, "reasoning": choice.reasoning}
            if resumes:
                return _resumed(claw.resume(session, **chosen))
            for notice in await claw.review_project():
                warn(notice)
            command, rest = await expandable_command(claw, text) or (None, text)
            directory = claw.services.project.directory
            files: tuple[str, ...] = ()
            if "@" in rest and message != "-" and directory is not None:
                found = with_mentioned_files(rest, directory, is_typed=False)
                for notice in found.notices:
                    click.echo(printable_name(notice), err=True)
                rest, files = found.text, found.files
                attachments.extend(found.attachments)
            chosen |= {"attachments": attachments, "files": files, "command": command, "output": schema}
            return claw.send_message(rest, session=session, **chosen)

        view = EventLines(stdout) if as_json else TurnView(stdout)
        is_json_alone = schema is not None and not as_json
        is_whole = run_async(_show_turn(send, choice, view, stdout, is_json_alone=is_json_alone))
    if not is_whole:
        context.exit(1)


async def _resumed(events: AsyncGenerator[TurnEvent, None]) -> AsyncGenerator[TurnEvent, None]:
    """Pass on the events of a turn that is resumed; say so if it had ended before."""
    is_first = True
    async with aclosing(events):
        async for event in events:
            if is_first and isinstance(event, TurnFinishedEvent):
                name = printable_name(event.session)
                click.echo(f"nothing to resume: the last turn of session {name} has its answer", err=True)
            is_first = False
            yield event


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON Schema.

    Raises:
        UsageError: the file cannot be read, or holds no JSON object.
    """
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the JSON Schema in {path} cannot be read: {reason}") from None
    if not isinstance(schema, dict):
        raise UsageError(f"{path} holds no JSON Schema: it must be a JSON object")
    return schema


def read_stdin() -> str:
    """Read all of standard input.

    Raises:
        UsageError: it is not a text, or more than a model could ever take.
    """
    content = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(content) > MAX_STDIN_BYTES:
        raise UsageError(f"standard input is longer than {MAX_STDIN_BYTES:,} bytes; send a part of it")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("standard input is not UTF-8 text") from None


async def _show_turn(
    send: Sender, choice: ConversationChoice, view: EventLines | TurnView, stdout: TextIO, *, is_json_alone: bool
) -> bool:
    """Show a turn; return True if its answer is whole.

    Args:
        send: sends the message.
        choice: of the user.
        view: shows its events.
        stdout: for the answer.
        is_json_alone: True to print the output alone, when it is checked.
    """
    used_model: str | None = None
    session, is_whole = "", True
    try:
        async with open_asking(choice.allow, view.giving_way) as claw, aclosing(await send(claw)) as events:
            async for event in events:
                if not is_json_alone:
                    view.show(event)
                elif isinstance(event, TurnFinishedEvent):
                    view.show(replace(event, text=""))
                elif not isinstance(event, TextEvent | TextWithdrawnEvent):
                    view.show(event)
                if isinstance(event, UsageEvent):
                    used_model = event.model
                elif isinstance(event, TurnFinishedEvent):
                    session, is_whole = event.session, event.is_whole
                    if is_json_alone:
                        print_json(event.to_dict().get("output"), indent=2, stream=stdout)
                        is_whole = is_whole and event.stop_reason is StopReason.COMPLETE
            await claw.plugins.drain(DRAIN_SECONDS)
            note_cut_off(claw, "; in oneclaw chat it would go on")
            was_chosen = choice.model is not None or (await claw.settings()).model is not None
    finally:
        view.finish()
    if isinstance(view, TurnView) and is_terminal(sys.stderr):
        if used_model == OFFLINE_MODEL and not was_chosen:
            _hint(
                f"answered by {OFFLINE_MODEL}, which is not a language model; choose one with --model PROVIDER/MODEL, "
                "or permanently with: oneclaw models default PROVIDER/MODEL"
            )
        if session:
            _hint(session_hint(session))
    return is_whole


def _hint(text: str) -> None:
    click.echo(styled(text, sys.stderr, dim=True), err=True)


@click.command()
@allow_option
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.pass_context
def call(context: click.Context, tool: str, arguments: str, allow: tuple[str, ...]) -> None:
    """Run one tool as a model would, and print its result as JSON.

    JSON is an object with the tool's arguments; - reads it from standard input. Tools of all groups can be called.
    The exit status is 1 if the tool fails.
    """
    text = read_stdin() if arguments == "-" else arguments
    with reserved_stdout() as stdout:
        document = run_async(_call(tool, text, allow))
        print_json(document, indent=2 if is_terminal(stdout) else None, stream=stdout)
    if document["status"] != "success":
        context.exit(1)


async def _call(tool: str, arguments: str, allow: tuple[str, ...]) -> dict[str, object]:
    async with open_asking(allow) as claw:
        outcome = await claw.call_tool(tool, arguments, caller="command line")
        return outcome.result.to_dict()
