"""The plugin contract: every hook that a plugin can implement, one function each.

A plugin is an installed package with an entry point in the group ``oneclaw`` that names a module or an object. It marks
functions with :data:`hookimpl`, implements the hooks it needs, and takes only the arguments it uses. A hook can gain
arguments without breaking plugins; what is removed warns for one minor version before.

Registration hooks run once, when the plugin is loaded, and do no I/O: the result is cached. Wherever they take a
target, it is an object or its name ``module:attribute``, imported when it is needed. All other hooks run while OneClaw
works, and may be sync or async. The kind of a hook decides its order, time limit and what a failure means.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from oneclaw_core.contract import CONTRACT_VERSION as CONTRACT_VERSION
from oneclaw_core.contract.marking import hookimpl as hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from oneclaw_core.contract.arguments import (
        Ask,
        CallInfo,
        CommandUse,
        Deny,
        ExpandedMessage,
        MessageCommand,
        ModelAnswer,
        ModelCall,
        PermissionOutcome,
        PromptSection,
        SessionInfo,
        TurnInfo,
        TurnOutcome,
        Work,
    )
    from oneclaw_core.contract.contact_points import ChatNotice
    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.plugins.registrars import (
        ChannelRegistrar,
        ChatCommandRegistrar,
        CheckRegistrar,
        CommandRegistrar,
        GroupRegistrar,
        ProviderRegistrar,
        RouteRegistrar,
        ServiceRegistrar,
        SettingsRegistrar,
        SkillRegistrar,
        StoreRegistrar,
        ToolRegistrar,
        TriggerRegistrar,
    )
    from oneclaw_core.types.tools import ToolResult

_Function = TypeVar("_Function", bound="Callable[..., Any]")


class HookKind(StrEnum):
    """The purpose of a hook, which decides how it is called."""

    REGISTRATION = "registration"
    LIFECYCLE = "lifecycle"
    PROMPT = "prompt"
    REWRITER = "rewriter"
    GATE = "gate"
    AROUND = "around"
    OBSERVER = "observer"


WRAPPABLE_KINDS = frozenset({HookKind.PROMPT})
"""The kinds whose hooks take wrappers. No plugin may overrule what another one denies, rewrites or registers."""


def _spec(kind: HookKind, *, firstresult: bool = False) -> Callable[[_Function], _Function]:
    """Mark a function of this module as the specification of a hook."""

    def mark(function: _Function) -> _Function:
        function.kind = kind  # type: ignore[attr-defined]  # read by hook_kinds
        return pluggy.HookspecMarker("oneclaw")(function, firstresult=firstresult)

    return mark


_registration, _lifecycle, _prompt = _spec(HookKind.REGISTRATION), _spec(HookKind.LIFECYCLE), _spec(HookKind.PROMPT)
_rewriter, _gate, _around, _observer = map(
    _spec, (HookKind.REWRITER, HookKind.GATE, HookKind.AROUND, HookKind.OBSERVER)
)


# Registration: once, when the plugin is loaded.


@_registration
def register_tools(register: ToolRegistrar) -> None:
    """Register tools, manifests and tool sources.

    ``register(tool)`` takes a function decorated with ``@tool`` or a ``Tool`` object, ``register.manifest(path)`` a
    JSON manifest, ``register.source("name", target)`` a tool source.

    ``register(tool, group="name")`` puts a tool into a tool group. ``register.source(..., listing=target)`` lists the
    source's current tools where no plugin runs; ``listed_as="name"`` lists and disables them like a plugin.
    """


@_registration
def register_groups(register: GroupRegistrar) -> None:
    """Register the metadata of tool groups: ``register(ToolGroupDefinition(name, display_name, description))``.

    Runs before ``register_tools``. A group without metadata, here or in a manifest's ``_meta`` entry, gets generated
    ones. ``permissions={"tables.delete": "delete tables"}`` explains permissions of the plugin to users.
    """


@_registration
def register_providers(register: ProviderRegistrar) -> None:
    """Register provider types, that is wire formats: ``register("type_name", factory)``.

    ``factory(config: ProviderConfig)`` makes a ``Provider``. ``is_local=True`` registers a type that needs neither an
    address nor a key. ``register.preconfigured("name", ...)`` registers a
    provider that users need not add, with its address and the names of its environment variables.
    """


@_registration
def register_skills(register: SkillRegistrar) -> None:
    """Register skills: ``register(folder)`` for a folder with a ``SKILL.md`` in the Agent Skills format."""


@_registration
def register_settings(register: SettingsRegistrar) -> None:
    """Register the plugin's settings: ``register(target)``, where the target is one pydantic model.

    Each field becomes ``PLUGIN.FIELD`` in ``oneclaw config`` and ``ONECLAW_PLUGIN_FIELD`` in the environment. A field
    of type ``SecretStr`` lives in the secret store and is set by ``oneclaw keys set PLUGIN.FIELD``.
    """


@_registration
def register_stores(register: StoreRegistrar) -> None:
    """Register a store for a URL scheme: ``register("scheme", target)``.

    ``target(url)`` returns a ``Backend`` of :mod:`oneclaw_core.sessions`, or the URL of another database to open. It is
    called before the store is open.
    """


@_registration
def register_services(register: ServiceRegistrar) -> None:
    """Register long-running tasks: ``register("name", target, help="...", runs_in=("serve", "chat"))``.

    The target is an async function of a ``ServiceContext`` that works until it is cancelled.
    """


@_registration
def register_channels(register: ChannelRegistrar) -> None:
    """Register ways to reach a person: ``register("name", target, is_send_only=False)``.

    ``target(context)`` makes a ``Channel``.
    """


@_registration
def register_routes(register: RouteRegistrar) -> None:
    """Register HTTP routes below ``/PLUGIN/`` of ``oneclaw serve``: ``register("path", target, methods=("GET",))``.

    The target is an async function of a ``PluginContext`` and a ``WebRequest`` that returns a ``WebResponse``, or a
    ``WebPage``. ``title="Notes"`` puts it into the menu of the web page.
    """


@_registration
def register_triggers(register: TriggerRegistrar) -> None:
    """Register what can start a scheduled task beside time: ``register("name", target, help="...")``.

    The target is an async function of a ``PluginContext``, the trigger's parameters and a function ``fire``, which is
    awaited with a text and a key of the event; it works until it is cancelled. ``parameters={"path": "the file"}`` says
    which parameters there are, and ``required`` which must be given.
    """


@_registration
def register_commands(register: CommandRegistrar) -> None:
    """Register commands of the command line: ``register("name", target, help="...")``.

    The target is a click command or group. ``parent="plugins"`` makes it a subcommand of ``oneclaw plugins``, and so on
    for every group of OneClaw's own commands. ``register.option("--name", help="...", type=int, default=8080)`` adds an
    option to ``oneclaw serve``.
    """


@_registration
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Register slash commands of every channel: ``register("name", target, help="...")``.

    The target is an async function of a ``ChatCommandContext`` and the text behind the command's name. It returns the
    text to show, or a ``ChatAnswer`` if the chat is to do more, such as to send a message or go to another session.
    """


@_registration
def register_checks(register: CheckRegistrar) -> None:
    """Register checks of ``oneclaw doctor``: ``register("name", target)``.

    The target is a sync or async function of a ``PluginContext`` that yields or returns ``CheckResult`` objects.
    ``register.skills("name", target)`` registers a check of the skills that plugins register, which ``oneclaw plugins``
    runs as well.
    """


# Lifecycle: at the first need of the plugin, not at the start of the program; 30 s to start, 5 s to stop.


@_lifecycle
async def plugin_started(context: PluginContext) -> None:
    """Prepare what the plugin needs; called once, before anything of the plugin is first used.

    ``NotReadyError`` makes OneClaw try again later; ``SignInNeededError`` names the command that signs in.
    """


@_lifecycle
async def plugin_stopped(context: PluginContext) -> None:
    """Release it; called when the home closes, also after a failed start."""


@_lifecycle
async def settings_changed(context: PluginContext, changed: frozenset[str]) -> None:
    """Use new settings; called with the names of the fields that changed, before the next use."""


# Prompt: gathered in the order of hooks, then of the plugins' names; fails open, but for expand_command.


@_prompt
async def prompt_sections(context: PluginContext, session: SessionInfo) -> Iterable[PromptSection] | None:
    """Return sections of the system prompt; called once a session, and again when its history is compacted.

    They are kept with the session, so that each request begins with the bytes of the one before.
    """


@_prompt
async def current_sections(context: PluginContext, session: SessionInfo) -> Iterable[PromptSection] | None:
    """Return sections of the system prompt for what may change within a session; called once a turn. 5 s.

    They stand behind those of ``prompt_sections``. A session keeps those that it began with. The model is informed of a
    change with the user's message: which of the lines that begin with a dash came and went, else the whole text.
    """


@_prompt
async def message_context(context: PluginContext, turn: TurnInfo) -> str | None:
    """Return text to send and store with the user's message; called once a turn. 5 s."""


@_prompt
async def message_commands(context: PluginContext) -> Iterable[MessageCommand] | None:
    """Return the commands ``/NAME ARGUMENTS`` that ``expand_command`` takes, also those that cannot be used now. 5 s.

    Called when a message begins with a slash, and for completion in a chat. The commands of the chat itself and of
    ``register_chat_commands`` go before them.
    """


@_spec(HookKind.PROMPT, firstresult=True)
async def expand_command(context: PluginContext, command: CommandUse) -> ExpandedMessage | None:
    """Return the message that a command stands for, ``None`` for the command of another plugin. 15 s.

    Raise a ``OneClawError`` to refuse it: its message is shown to the user, and nothing is sent.
    """


@_prompt
async def chat_notices(context: PluginContext) -> Iterable[str | ChatNotice] | None:
    """Return lines to show to a person who begins to chat, in a terminal or at the web page. 5 s."""


# Rewriters: each sees what the one before returned; the result is validated again; fails closed. 15 s.


@_rewriter
async def rewrite_tool_call(context: PluginContext, call: CallInfo) -> dict[str, Any] | None:
    """Return other arguments for a call, or ``None``."""


@_rewriter
async def rewrite_tool_result(context: PluginContext, call: CallInfo, result: ToolResult) -> ToolResult | None:
    """Return another result for a call that ran, before it is stored, or ``None``."""


# Gates: before the ordinary permissions, which no gate can skip; fails closed. 15 s.


@_gate
async def before_turn(context: PluginContext, turn: TurnInfo) -> Deny | None:
    """Deny a turn before the model is asked."""


@_gate
async def before_tool_call(context: PluginContext, call: CallInfo) -> Deny | Ask | None:
    """Deny a call, or have the user asked; sees the arguments that the tool will get."""


# Around: entered in the task that does the work, for tracing; no I/O; fails open.


@_around
def around(context: PluginContext, work: Work) -> AbstractContextManager[Any] | None:
    """Return a sync context manager to enter around a turn, a model request or a tool call."""


# Observers: from a queue per plugin, in order, off the hot path; fails open. 30 s.


@_observer
async def turn_started(context: PluginContext, turn: TurnInfo) -> None:
    """Observe that a turn begins."""


@_observer
async def turn_finished(context: PluginContext, turn: TurnInfo, outcome: TurnOutcome) -> None:
    """Observe that a turn has ended: with an answer, an error or an interruption."""


@_observer
async def before_model_request(context: PluginContext, turn: TurnInfo, request: ModelCall) -> None:
    """Observe a request to a model; called for each attempt."""


@_observer
async def after_model_response(
    context: PluginContext, turn: TurnInfo, request: ModelCall, response: ModelAnswer
) -> None:
    """Observe what came of a request: an answer or an error."""


@_observer
async def after_tool_call(context: PluginContext, call: CallInfo, result: ToolResult, duration_ms: float) -> None:
    """Observe the result of a call, also of one that was denied, timed out or was interrupted.

    The duration includes waiting for permissions.
    """


@_observer
async def permission_decided(context: PluginContext, call: CallInfo, decision: PermissionOutcome) -> None:
    """Observe a decision on a permission, and who or which grant made it."""


@_observer
async def history_compacted(context: PluginContext, session: SessionInfo, summary: str) -> None:
    """Observe that the older part of a history was replaced by a summary."""


@_observer
async def session_created(context: PluginContext, session: SessionInfo) -> None:
    """Observe a new session."""


@_observer
async def session_deleted(context: PluginContext, session: SessionInfo) -> None:
    """Observe that a session was deleted."""


HOOK_KINDS: dict[str, HookKind] = {
    name: value.kind for name, value in list(globals().items()) if hasattr(value, "oneclaw_spec")
}
