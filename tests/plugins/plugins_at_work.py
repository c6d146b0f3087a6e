"""Plugins of plain functions, at work without an installed package."""

import asyncio
from inspect import signature

import pytest

from oneclaw_core import (
    CallInfo,
    OneClawError,
    SessionInfo,
    TurnInfo,
)
from oneclaw_core.plugins.plugin import EventHook, Loaded, Plugin
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.plugins.running.running_plugin import RunningPlugin
from oneclaw_core.plugins.running.runtime import Plugins

CALL = CallInfo(id="call_1", tool="shell", arguments={"command": "ls"}, group="files")
SESSION = SessionInfo(id="s1", agent="Poet")
TURN = TurnInfo(id="t1", session=SESSION, agent="Poet", model="offline/rules", text="hello")
DISABLE = "disable it with: oneclaw plugins disable acme"


class Context:
    """A plugin's context that only counts."""

    worker = None

    def __init__(self, name="acme", changed=frozenset()):
        self.name, self.changed, self.refreshed, self.closed = name, changed, [], 0

    async def refresh_settings(self, stored=None):
        self.refreshed.append(stored)
        return self.changed

    async def aclose(self):
        self.closed += 1


def record_with(name="acme", registrations=(), options=None, **hooks):
    """Make the record of a plugin of functions, each a hook."""
    given = {
        hook: {"argument_names": list(required(function)), "is_async": asyncio.iscoroutinefunction(function)}
        | (options or {}).get(hook, {})
        for hook, function in hooks.items()
    }
    functions = {hook: EventHook(hook, function, given[hook]) for hook, function in hooks.items()}
    rows = {(each.hook, each.name): each for each in registrations}
    return Plugin(
        name,
        distribution=f"{name}-tools",
        version="1",
        hooks=given,
        registrations=list(registrations),
        loaded=Loaded(rows, functions),
        has_own_loop=False,
    )


def required(function):
    return tuple(name for name, each in signature(function).parameters.items() if each.default is each.empty)


def running(record, context=None, limits=None, timeouts=None):
    return RunningPlugin(record, context or Context(), limits or {}, timeouts or HookTimeouts())


def at_work(*records, **options):
    contexts = {each.name: Context(each.name) for each in records}
    return Plugins(records, contexts.__getitem__, **options), contexts


def told(caplog):
    return [each.getMessage() for each in caplog.records]


async def raised_by(awaitable, kind=OneClawError):
    with pytest.raises(kind) as error:
        await awaitable
    return str(error.value)
