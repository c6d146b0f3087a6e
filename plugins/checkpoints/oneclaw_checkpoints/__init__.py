"""Undo for OneClaw: files are snapshotted before tools change them, and taken back together with messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import (
        CallInfo,
        ChatCommandRegistrar,
        CheckRegistrar,
        CommandRegistrar,
        PluginContext,
        SessionInfo,
        SettingsRegistrar,
        ToolResult,
    )


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the limits of checkpoints."""
    register("oneclaw_checkpoints.settings:CheckpointSettings")


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add ``oneclaw undo``."""
    register("undo", "oneclaw_checkpoints.commands:undo", help="Take back messages and the changes of files.")


@hookimpl
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Add ``/undo``, ``/redo`` and ``/retry``."""
    for name, summary in (
        ("undo", "Undo your last message, or the last N, with the changes of files."),
        ("redo", "Take back the last undo."),
        ("retry", "Take back your last message with the changes of files, and send it again."),
    ):
        register(name, f"oneclaw_checkpoints.chat:{name}", help=summary)


@hookimpl
def register_checks(register: CheckRegistrar) -> None:
    """Have ``oneclaw doctor`` tell how much room checkpoints take."""
    register("checkpoints", "oneclaw_checkpoints.checks:check_room")


@hookimpl
async def plugin_started(context: PluginContext) -> None:
    """Finish an undo whose process was killed."""
    from oneclaw_checkpoints.recorder import recorder_of

    if context.once(recorder_of).has_unfinished_undo:
        from oneclaw_checkpoints.undoing import finish_interrupted

        await finish_interrupted(context)


@hookimpl
def plugin_stopped(context: PluginContext) -> None:
    """Close the database."""
    from oneclaw_checkpoints.recorder import recorder_of

    context.once(recorder_of).close()


@hookimpl(in_turns=True, skips_read_only=True)
def before_tool_call(context: PluginContext, call: CallInfo) -> None:
    """Snapshot the files that a call may change; whatever fails is logged, and the call goes on."""
    from oneclaw_checkpoints.recorder import recorder_of

    context.once(recorder_of).begin(call)


@hookimpl(in_turns=True, skips_read_only=True)
def rewrite_tool_result(context: PluginContext, call: CallInfo) -> None:
    """Find out what a call has changed, before its result is stored."""
    from oneclaw_checkpoints.recorder import recorder_of

    context.once(recorder_of).finish(call)


@hookimpl(in_turns=True, skips_read_only=True)
def after_tool_call(context: PluginContext, call: CallInfo, result: ToolResult) -> None:
    """Do so for a call that was denied or interrupted."""
    from oneclaw_checkpoints.recorder import recorder_of

    context.once(recorder_of).finish(call)


@hookimpl
def session_deleted(context: PluginContext, session: SessionInfo) -> None:
    """Forget the checkpoints of a session."""
    from oneclaw_checkpoints.recorder import recorder_of

    context.once(recorder_of).forget(session.id)
