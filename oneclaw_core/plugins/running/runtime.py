"""The plugins of an open home at work: one method for each way in which event hooks are called."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract.arguments import CallInfo, ExpandedMessage, MessageCommand, PromptSection
from oneclaw_core.contract.contact_points import Channel, ChatNotice, Trigger
from oneclaw_core.errors import NotFoundError, OneClawError, PluginError, describe_error
from oneclaw_core.plugins.first_use import load_object
from oneclaw_core.plugins.isolation import HookError
from oneclaw_core.plugins.plugin import CHECK_HOOK, Plugin, Registration
from oneclaw_core.plugins.running.calling import Step, gather_results, plan
from oneclaw_core.plugins.running.checks import PluginCheck, failed_check, run_check, run_fix
from oneclaw_core.plugins.running.event_hooks import GATE_SECONDS, EventHooks, HookedCall
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.plugins.running.running_plugin import RunningPlugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from oneclaw_core.contract.arguments import CommandUse, SessionInfo, TurnInfo
    from oneclaw_core.contract.checks import CheckFix
    from oneclaw_core.contract.context import PluginContext

CONTEXT_SECONDS = 5.0
EXIT_SECONDS = 5.0
DEFAULT_SECTION_CHARACTERS = PromptSection("", "").max_characters
MAX_SECTIONS_CHARACTERS = 8_000

_log = logging.getLogger("oneclaw.plugins")


class Plugins(EventHooks):
    """The plugins of an open home.

    Args:
        records: the plugins that are installed.
        make_context: makes the context of a plugin, given its name.
        order: names of plugins whose hooks run first, in this order.
        limits: the user's own time limits of hooks in seconds, by plugin.
        timeouts: of hooks so far.
        how_to_get: says how to get what is not installed, given what it is and its name; ``None`` if that is not known.
    """

    def __init__(
        self,
        records: Sequence[Plugin],
        make_context: Callable[[str], PluginContext],
        *,
        order: Sequence[str] = (),
        limits: Mapping[str, float] | None = None,
        timeouts: HookTimeouts | None = None,
        how_to_get: Callable[[str, str], str | None] = lambda kind, name: None,
    ) -> None:
        self._records = records
        self._how_to_get = how_to_get
        self._make_context = make_context
        self._limits = limits or {}
        self._timeouts = timeouts or HookTimeouts()
        self._running: dict[str, RunningPlugin] = {}
        super().__init__(self._planned(list(order)))

    def registrations(self, hook: str) -> list[Registration]:
        """Return what all plugins registered by a hook, in their order."""
        records = [record for record in self._records if not record.is_disabled]
        return [each for record in records for each in record.registrations if each.hook == hook]

    async def context_of(self, name: str) -> PluginContext:
        """Return the context of a plugin, which is started first.

        Raises:
            NotFoundError: there is no such plugin.
            PluginError: it cannot be started now.
        """
        return await self._plugin(name).start()

    async def run_checks(self) -> list[PluginCheck]:
        """Run the checks of all plugins side by side; their plugins are not started."""
        checks = (each for each in self.registrations(CHECK_HOOK) if "of" not in each.options)
        return list(await asyncio.gather(*(self._run_check(each) for each in checks)))

    async def _run_check(self, registration: Registration) -> PluginCheck:
        try:
            function = await self.object_of(registration)
            context = await self._plugin(registration.plugin).context_unstarted()
        except OneClawError as error:
            return failed_check(registration, str(error))
        return await run_check(registration, function, context)

    async def fix(self, name: str, fix: CheckFix) -> None:
        """Apply what a check of a plugin offers to do.

        Raises:
            OneClawError: it failed or did not end in time.
        """
        await run_fix(fix, await self._plugin(name).context_unstarted())

    async def refresh_settings(self, stored: Mapping[str, Any] | None = None) -> None:
        """Have the started plugins use the settings that are stored now.

        Args:
            stored: values from the store, by key, if they are at hand.
        """
        for plugin in [each for each in self._running.values() if each.is_start_attempted]:
            try:
                await plugin.refresh_settings(stored)
            except OneClawError as error:
                _log.warning("%s", error)

    async def context_of_tool(self, plugin: str | None) -> PluginContext | None:
        """Return the context for a tool of a plugin, which is started first; ``None`` for a tool of no plugin.

        Raises:
            PluginError: the plugin cannot be started now.
        """
        if plugin is None:
            return None
        try:
            found = self._running.get(plugin) or self._plugin(plugin)
        except NotFoundError:
            return None
        return found.context if found.is_started else await found.start()

    async def object_of(self, registration: Registration) -> Any:
        """Return a registered object; it is imported when it is first asked for.

        Raises:
            PluginError: it cannot be imported; the message names the plugin.
        """
        return await load_object(self._plugin(registration.plugin).record, registration)

    async def channel(self, name: str) -> Channel:
        """Make a channel of a plugin.

        Raises:
            NotFoundError: no plugin has registered one of this name.
            PluginError: the plugin cannot be started now, or its target makes no channel.
            OneClawError: the channel is not set up.
        """
        registered = {each.name: each for each in reversed(self.registrations("register_channels"))}
        if name not in registered:
            raise self._unregistered("channel", name, registered)
        registration = registered[name]
        context = await self.context_of(registration.plugin)
        target = await self.object_of(registration)
        try:
            channel = target(context)
        except OneClawError:
            raise
        except Exception as error:
            raise HookError(registration.plugin, f"channel {name}", f"raised {describe_error(error)}") from error
        if not isinstance(channel, Channel):
            raise HookError(
                registration.plugin, f"channel {name}", f"is not a Channel, but of type {type(channel).__name__}"
            )
        return channel

    def triggers(self) -> list[Trigger]:
        """Return what plugins have registered that can start a task; of two of one name the first counts."""
        found = {each.name: each for each in reversed(self.registrations("register_triggers"))}
        return [
            Trigger(
                name=each.name,
                plugin=each.plugin,
                help=each.options["help"],
                parameters=each.options.get("parameters", {}),
                required=tuple(each.options.get("required", ())),
                run=partial(self._call, each),
                set_up=self._function_of(each, "set_up"),
                take_request=self._function_of(each, "take_request"),
            )
            for each in found.values()
        ]

    def trigger(self, name: str) -> Trigger:
        """Return the trigger of a name.

        Raises:
            NotFoundError: no plugin has registered one of this name.
        """
        found = {each.name: each for each in self.triggers()}
        if name not in found:
            raise self._unregistered("trigger", name, found)
        return found[name]

    def _unregistered(self, kind: str, name: str, known: Iterable[str]) -> NotFoundError:
        names = ", ".join(sorted(known)) or "none"
        hint = self._how_to_get(kind, name) or f"plugins have registered: {names}"
        return NotFoundError(f"there is no {kind} {name[:100]!r}; {hint}")

    def _function_of(self, registration: Registration, option: str) -> Callable[..., Awaitable[Any]] | None:
        """Return what an option of a registration names, ``None`` if it is not given."""
        where = registration.options.get(option)
        return None if where is None else partial(self._call, replace(registration, target=where, value=None))

    async def _call(self, registration: Registration, *arguments: Any) -> Any:
        context = await self.context_of(registration.plugin)
        target = await self.object_of(registration)
        try:
            return await target(context, *arguments)
        except OneClawError:
            raise
        except Exception as error:
            what = f"trigger {registration.name}"
            raise HookError(registration.plugin, what, f"raised {describe_error(error)}") from error

    def of_call(self, **about: Any) -> HookedCall:
        """Return the hooks on a tool call, described as in :class:`CallInfo`."""
        return HookedCall(self, CallInfo(**about))

    async def message_context(self, turn: TurnInfo) -> list[tuple[str, str]]:
        """Gather texts to send with a user's message.

        Returns:
            The plugins' names with their texts.
        """
        found = await self._gathered("message_context", str, order=lambda step: step.plugin.name, turn=turn)
        for plugin, texts in found:
            if len(texts) > 1:
                self._complain(plugin, "message_context", "returned several texts, not one")
        return [(plugin.name, texts[0]) for plugin, texts in found if len(texts) == 1 and texts[0].strip()]

    async def prompt_sections(self, session: SessionInfo) -> str:
        """Gather the plugins' sections of the system prompt as one text, in the order of hooks, then of their ids."""
        found = await self._sections("prompt_sections", session, GATE_SECONDS)
        return "\n\n".join(each.text for each in found)

    async def current_sections(self, session: SessionInfo) -> tuple[PromptSection, ...]:
        """Gather the sections that are not kept with a session, in the same order."""
        return tuple(await self._sections("current_sections", session, CONTEXT_SECONDS))

    async def message_commands(self) -> dict[str, MessageCommand]:
        """Gather the commands that plugins expand, by name; of two of one name the first that can be used counts."""
        found: dict[str, MessageCommand] = {}
        for _, commands in await self._gathered("message_commands", MessageCommand):
            for command in commands:
                known = found.get(command.name)
                if known is None or (known.problem is not None and command.problem is None):
                    found[command.name] = command
        return found

    async def expand_command(self, command: CommandUse) -> ExpandedMessage | None:
        """Return the message of the first plugin that expands a command; ``None`` if there is none.

        Raises:
            OneClawError: a plugin refuses the command, or its hook failed.
        """
        arguments, steps = {"command": command}, self._plans.get("expand_command", ())
        try:
            found = await gather_results("expand_command", steps, arguments, GATE_SECONDS, fails_open=False)
        except PluginError as error:
            cause = error.__cause__
            if isinstance(cause, OneClawError) and not isinstance(cause, PluginError):
                raise cause from None
            raise
        for plugin, message in found:
            if isinstance(message, ExpandedMessage):
                return message
            fault = f"returned an object of type {type(message).__name__}, not a valid ExpandedMessage or None"
            raise self._complain(plugin, "expand_command", fault)
        return None

    async def chat_notices(self) -> list[ChatNotice]:
        """Gather lines to show to a person who begins to chat, with the whole paths of their pages."""
        found = []
        for plugin, notices in await self._gathered("chat_notices", str, ChatNotice):
            for each in notices:
                notice = ChatNotice(text=each) if isinstance(each, str) else each
                found.append(notice if notice.page is None else replace(notice, page=f"/{plugin.name}/{notice.page}"))
        return found

    async def _gathered(
        self,
        hook: str,
        *kinds: type,
        seconds: float = CONTEXT_SECONDS,
        order: Callable[[Step], Any] | None = None,
        **arguments: Any,
    ) -> list[tuple[RunningPlugin, list[Any]]]:
        """Gather the objects that a hook which fails open returns, one or a list of them, by plugins in their order."""
        found: list[tuple[RunningPlugin, list[Any]]] = []
        steps = self._plans.get(hook, ())
        ordered = steps if order is None else sorted(steps, key=lambda step: (not step.options.wrapper, order(step)))
        for plugin, value in await gather_results(hook, ordered, arguments, seconds):
            values = list(value) if isinstance(value, list | tuple) else [value]
            if all(isinstance(each, kinds) for each in values):
                found.append((plugin, values))
            else:
                names = " or ".join(kind.__name__ for kind in kinds)
                self._complain(plugin, hook, f"returned something other than {names} objects")
        return found

    async def _sections(self, hook: str, session: SessionInfo, seconds: float) -> list[PromptSection]:
        left = MAX_SECTIONS_CHARACTERS
        chosen: list[PromptSection] = []
        for plugin, section in await self._all_sections(hook, session, seconds):
            if section.max_characters > DEFAULT_SECTION_CHARACTERS:
                chosen.append(section)
            elif len(section.text) <= left:
                left -= len(section.text)
                chosen.append(section)
            else:
                _log.warning(
                    "plugin %s: its section %r of the system prompt is left out: all sections together may have %s "
                    "characters",
                    plugin,
                    section.id,
                    f"{MAX_SECTIONS_CHARACTERS:,}",
                )
        return chosen

    async def _all_sections(self, hook: str, session: SessionInfo, seconds: float) -> list[tuple[str, PromptSection]]:
        found: list[tuple[str, PromptSection]] = []

        # The user's own order of plugins does not count: it must not change what services have cached.
        def order(step: Step) -> tuple[int, str]:
            return step.options.trylast - step.options.tryfirst, step.plugin.name

        for plugin, sections in await self._gathered(
            hook, PromptSection, seconds=seconds, order=order, session=session
        ):
            for each in sorted(sections, key=lambda section: str(section.id)):
                if not isinstance(each.text, str):
                    self._complain(plugin, hook, f"returned the section {each.id!r} without a text")
                elif len(each.text) > each.max_characters:
                    fault = f"returned the section {each.id!r} with more than {each.max_characters:,} characters"
                    self._complain(plugin, hook, fault)
                elif each.text.strip():
                    found.append((plugin.name, replace(each, text=each.text.strip())))
        return found

    async def observers_have_room(self) -> None:
        """Return when no observer has many events to go through: a script makes calls faster than they may take."""
        for plugin in self._running.values():
            await plugin.queue.has_room()

    async def drain(self, seconds: float) -> None:
        """Wait until the observers have had all events; drop those that are left."""
        await asyncio.gather(*(each.drain(seconds) for each in self._running.values()))

    async def aclose(self) -> None:
        """Stop all plugins that were started."""
        await asyncio.gather(*(each.stop(EXIT_SECONDS) for each in self._running.values()))

    def _planned(self, order: list[str]) -> dict[str, tuple[Step, ...]]:
        with_hooks = [each for each in self._records if each.hooks and not each.is_disabled]
        return plan([self._plugin(each.name) for each in with_hooks], order) if with_hooks else {}

    def _plugin(self, name: str) -> RunningPlugin:
        found = self._running.get(name)
        if found is None:
            record = next((each for each in self._records if each.name == name), None)
            if record is None or record.is_disabled:
                raise NotFoundError(f"there is no plugin {name!r}; list them with: oneclaw plugins list")
            found = RunningPlugin(record, self._make_context(name), self._limits, self._timeouts)
            self._running[name] = found
        return found
