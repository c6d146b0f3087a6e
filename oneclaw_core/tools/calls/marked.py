"""Steps: note where the text of a result comes from, and which files hold what the session holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.types.provenance import Mark, MarkKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.tools.calls.call import Call, Handler, PermittedCall, Run, Step
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.tools import ToolResult


def marked(registry: ToolRegistry) -> Step:
    """Return the step: it settles the marks of a call when it has its result.

    Args:
        registry: knows the tools whose descriptions the model has read without loading them.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        provenance = call.provenance
        if registry.foreign_core_tools:  # the model has read what they say of themselves
            provenance.marks.extend(registry.foreign_core_tools.values())
            call.caller.conversation.add(provenance.marks)
        result = await run(call)
        if provenance.marks or provenance.paths.used:
            await provenance.finish()
        return result

    return step


async def declared(call: PermittedCall, run: Run) -> ToolResult:
    """Add the marks that every result of the tool has; what a tool source supplies may hold anything."""
    result = await run(call)
    definition, source = call.tool.definition, call.tool.source
    reads: Sequence[str] = definition.reads
    if not reads and source.is_supplied:  # of the user's own tools, what they read is known
        reads = (MarkKind.OUTSIDE, MarkKind.PRIVATE) if source.is_foreign else (MarkKind.OUTSIDE,)
    call.provenance.marks += [Mark.of(MarkKind(each), f"the tool {definition.name}") for each in reads]
    return result
