"""The steps of a tool call, in the order in which every call passes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.tools.calls.answered import answered, denial_answered
from oneclaw_core.tools.calls.asking import Asking
from oneclaw_core.tools.calls.available import available
from oneclaw_core.tools.calls.hooked import gated, inner_calls, observed, result_rewritten, rewritten
from oneclaw_core.tools.calls.marked import declared, marked
from oneclaw_core.tools.calls.permitted import denied, exposed, permitted, text_asked
from oneclaw_core.tools.calls.running import Running
from oneclaw_core.tools.calls.valid import Validators, valid
from oneclaw_core.tools.executor import ToolExecutor
from oneclaw_core.types.steps import chain

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.provenance.marks import CallOrigins
    from oneclaw_core.tools.permissions import PermissionPolicy
    from oneclaw_core.tools.registry import ToolRegistry


def tool_executor(
    registry: ToolRegistry,
    permissions: PermissionPolicy | None,
    origins: CallOrigins,
    home: Path,
    *,
    services: HomeServices | None = None,
    plugins: Plugins | None = None,
    deps: object = None,
) -> ToolExecutor:
    """Put the executor of a home together.

    Args:
        registry: the tools there are.
        permissions: decides what they may do; ``None`` to deny every call.
        origins: knows where text comes from.
        home: the user's directory.
        services: of the open home, for tools; ``None`` without one.
        plugins: at work, which govern and observe calls; ``None`` for none.
        deps: what the embedding program gives to its tools.
    """
    validators = Validators()
    hooked = plugins if plugins is not None and plugins.governs_calls else None
    if permissions is None:
        checks = chain((answered, marked(registry), available(registry), valid(validators)), denied)
        return ToolExecutor(registry, hooked, origins, checks)
    asking = Asking(permissions, registry)
    inner = inner_calls(hooked, registry, validators, asking) if hooked is not None else None
    run = chain(
        (*([result_rewritten] if hooked else []), declared),
        Running(asking, inner, plugins, home, services, deps),
    )
    checks = chain(
        (
            *([observed] if hooked else []),  # of every call, also one that is refused or cut off
            answered,  # every exception becomes a result
            marked(registry),  # refusals have marks too
            available(registry),
            valid(validators),
            *([rewritten(validators)] if hooked else []),  # from here on the arguments are final
            denial_answered,
            *([gated(asking)] if hooked else []),
            text_asked(asking),
            exposed(asking),
        ),
        permitted(asking, run),  # the only way to run
    )
    return ToolExecutor(registry, hooked, origins, checks)
