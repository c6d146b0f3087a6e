"""Steps: ask before a call that may not be what the user wants, and for the permissions that its tool requires."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.permissions.call_network import SEND_PERMISSION
from oneclaw_core.permissions.rules import directory_of, subject_of
from oneclaw_core.tools.calls.call import PermittedCall
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.permissions.asking import Asking
    from oneclaw_core.tools.calls.call import Call, Handler, Run, Step

TEXT_CALL_PERMISSION = "calls.as_text"


def text_asked(asking: Asking) -> Step:
    """Return the step that asks before a call runs that the model wrote as text, unless it changes nothing."""

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.caller.are_calls_text and not call.tool.definition.read_only:
            name = call.asked.name
            await asking.of(call)(TEXT_CALL_PERMISSION, f"run {name}, whose call the model wrote as text")
        return await run(call)

    return step


def exposed(asking: Asking) -> Step:
    """Return the step that asks before a tool of somebody else's server gets what a model composed.

    It asks where the tool has no permission, and the session holds both private data and text from outside.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        source, conversation = call.tool.source, call.caller.conversation
        is_foreign = source.is_supplied and source.is_foreign and not call.tool.definition.required_permissions
        if is_foreign and call.arguments and conversation.outside and conversation.private:
            name = call.asked.name
            detail = f"give the tool {name}, which a server supplies, these arguments"
            await asking.of(call)(SEND_PERMISSION, detail, name)
        return await run(call)

    return step


def permitted(asking: Asking, run: Run) -> Handler:
    """Return the end of the checks: it asks for each permission that the tool requires, and runs the tool.

    A tool that asks by itself runs unless all that it may need is denied: with a part of it, it can do the rest.

    Args:
        asking: asks for permissions.
        run: runs the tool.
    """

    async def end(call: Call) -> ToolResult:
        definition = call.tool.definition
        required = definition.required_permissions
        if required and definition.behaviour.asks_itself:
            await asking.refuse_denied(call, *required)
        elif required:
            require = asking.of(call)
            for permission in required:
                directory = directory_of(permission, call.arguments, partial(_paths_now, call))
                await require(permission, subject=subject_of(permission, call.arguments), directory=directory)
        return await run(PermittedCall(call))

    return end


async def denied(call: Call) -> ToolResult:
    """Refuse a call: the end of the checks where no permission policy is wired."""
    text = f"Tool '{call.asked.name}' was not run: there is no permission policy that could allow it."
    return ToolResult.error("permission_denied", text)


def _paths_now(call: Call) -> PathGuard:
    """Return the paths of a call as the user trusts the start directory now."""
    project = call.provenance.origins.project
    return replace(call.provenance.paths, trusts_start=project is not None and project.is_trusted)
