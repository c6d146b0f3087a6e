"""The tools of the group ``background``, as ``background.json`` declares them, and what people use instead."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError, ToolContext, ToolResult, UsageError, redact
from oneclaw_core.process import SandboxError
from oneclaw_core.tools import one_line
from oneclaw_shell.execute import fault_of, placed
from oneclaw_shell.output_file import read_output
from oneclaw_shell.running_commands import KIND, Commands
from oneclaw_shell.truncation import TruncatedOutput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ChatCommandContext

DEFAULT_SECONDS = 3600
# A command that fails at once is answered with that.
_START_SECONDS = 0.5
_FRAME_CHARACTERS = 3_000
_TITLE_CHARACTERS = 80
_NO_CONVERSATION = ToolResult.error(
    "not_available", "A command in the background belongs to a conversation, and there is none here: use exec."
)


async def start_command(
    command: str,
    working_directory: str | None = None,
    max_seconds: int = DEFAULT_SECONDS,
    needs: Sequence[str] = (),
    reason: str = "",
    *,
    context: ToolContext,
) -> ToolResult:
    """Start a shell command in the background, with the questions and in the sandbox of ``exec``.

    Args:
        command: for ``sh -c``.
        working_directory: where it runs.
        max_seconds: how long it may run.
        needs: what it needs beyond the sandbox.
        reason: why, for the user.
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    fault = fault_of(command)
    if fault is not None:
        return ToolResult.error("validation_error", fault)
    commands = context.plugin.once(Commands)
    try:
        directory, place = await placed(command, working_directory, needs, reason, context)
        command_id = await commands.start(command, directory, place, max_seconds, context, context.session_id)
    except (SandboxError, UsageError) as error:
        return ToolResult.error("validation_error", f"{error}.")
    await commands.wait(command_id, _START_SECONDS)
    document = (await commands.documents(context.session_id))[command_id]
    if document["state"] == "running":
        return ToolResult.success(f"Command {command_id} runs in {directory}. You are told when it ends.")
    return await _output(commands, command_id, document, context, is_all=True)


async def read_command_output(
    id: str,  # noqa: A002  # the model's word
    all: bool = False,  # noqa: A002
    wait_seconds: int = 0,
    *,
    context: ToolContext,
) -> ToolResult:
    """Read what a command has written.

    Args:
        id: of the command.
        all: True to read from the beginning.
        wait_seconds: how long to wait for its end.
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    commands = context.plugin.once(Commands)
    known = await commands.documents(context.session_id)
    if id not in known:
        return _unknown(id)
    if wait_seconds and known[id]["state"] == "running":
        context.progress("waiting for its end")
        await commands.wait(id, wait_seconds)
        known = await commands.documents(context.session_id)
    return await _output(commands, id, known[id], context, is_all=all)


async def stop_command(
    id: str,  # noqa: A002
    *,
    context: ToolContext,
) -> ToolResult:
    """Stop a command.

    Args:
        id: of the command.
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    known = await context.plugin.once(Commands).documents(context.session_id)
    if id not in known:
        return _unknown(id)
    if known[id]["state"] != "running":
        return ToolResult.success(f"Command {id} does not run any more: {known[id]['exit'] or known[id]['state']}.")
    try:
        await context.services.background.stop(id)
    except OneClawError as error:
        return ToolResult.error("execution_error", f"{error}.")
    return ToolResult.success(f"Command {id} is stopped.")


async def list_commands(context: ToolContext) -> ToolResult:
    """List the commands of the conversation.

    Args:
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    known = await context.plugin.once(Commands).documents(context.session_id)
    lines = [
        f"{each}: {_state(document)}; {one_line(document['command'], _TITLE_CHARACTERS)}"
        for each, document in known.items()
    ]
    return ToolResult.success(redact("\n".join(lines)) or "There are no commands in the background.")


async def commands_command(context: ChatCommandContext, rest: str) -> str:
    """List the commands in the background of the home in a chat, or stop one."""
    background = context.services.background
    verb, _, command_id = rest.partition(" ")
    if verb == "stop" and command_id.strip():
        return f"stopped {(await background.stop(command_id.strip())).id}"
    if rest:
        raise UsageError("/commands lists the commands in the background; /commands stop ID stops one")
    found = [each for each in await background.all_work() if each.kind == KIND]
    lines = [f"{each.id}: {each.outcome or each.state}; {one_line(each.title, _TITLE_CHARACTERS)}" for each in found]
    return "\n".join(lines) or "no command runs in the background"


async def _output(
    commands: Commands, command_id: str, document: dict[str, Any], context: ToolContext, *, is_all: bool
) -> ToolResult:
    """Return what a command has written, and note that it is known."""
    start = 0 if is_all else document["read"]
    content, gone, end = read_output(commands.path(command_id), document["dropped"], start)
    room = context.shown_characters  # None for a script, which gets all of it
    shown = TruncatedOutput(len(content) if room is None else max(room - _FRAME_CHARACTERS, 1_000))
    shown.feed(content)
    shown.finish()
    text = redact(shown.text())
    parts = [f"[{command_id}: {_state(document)}]"]
    if gone:
        parts.append(f"[{gone:,} bytes of output are no longer kept]")
    parts.append(text.rstrip("\n") or ("[no output]" if start == 0 else "[no further output]"))
    parts += document["notes"]
    assert context.session_id is not None
    await commands.note_read(context.session_id, command_id, document, end)
    return ToolResult.success("\n".join(parts))


def _state(document: dict[str, Any]) -> str:
    if document["state"] == "running":
        return f"running for {time.time() - document['began']:.0f} s"
    after = f" after {document['seconds']:.0f} s" if document["seconds"] is not None else ""
    return f"{document['exit'] or document['state']}{after}"


def _unknown(command_id: str) -> ToolResult:
    return ToolResult.error("not_found", f"This conversation has no command {command_id[:100]!r} in the background.")
