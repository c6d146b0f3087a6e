"""Registrars passed to the hooks that register things by name; each name is a row of the plugin's entry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.registration.commands import COMMAND_GROUPS
from oneclaw_core.plugins.registration.entry import (
    CHECK_HOOK,
    SKILL_HOOK,
    PluginEntry,
    Registration,
    command_place,
    target_name,
)

if TYPE_CHECKING:
    import click


Target = str | Callable[..., Any]
"""An object, or its name ``module:attribute``, which is imported when it is needed."""

_KEY = re.compile(r"[a-z][a-z0-9_]{0,62}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,62}")
_PATH = re.compile(r"[A-Za-z0-9_{][A-Za-z0-9_{}/.-]{0,254}|")
_OPTION = re.compile(r"--[a-z][a-z0-9-]{0,61}")
_OPTION_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean", Path: "path"}
_MAX_GRACE_SECONDS = 60
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROUTE_BODY_BYTES = 1024 * 1024
MAX_ROUTE_BODY_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class Registrar:
    """Base of the registrars passed to one hook of one plugin."""

    hook: ClassVar[str]
    _entry: PluginEntry

    def _add(
        self,
        name: str,
        target: Target | click.Command,
        *,
        pattern: re.Pattern[str] = _NAME,
        hook: str | None = None,
        **options: Any,
    ) -> None:
        try:
            where = target_name(target)
        except PluginError as error:
            self._report(str(error), "correct the name", "hooks.target")
            return
        if not isinstance(target, str) and not callable(target):
            cause = f"{target!r}, registered as {name!r}, cannot be called"
            self._report(cause, "register a function, a class or a name 'module:attribute'", "hooks.target")
        else:
            self._register(name, where, None if isinstance(target, str) else target, options, pattern, hook)

    def _register(
        self,
        name: str,
        where: str | None,
        value: Any,
        options: Mapping[str, Any],
        pattern: re.Pattern[str] = _NAME,
        hook: str | None = None,
    ) -> None:
        if not isinstance(name, str) or not pattern.fullmatch(name):
            cause = f"the name {name!r} is invalid: it must match {pattern.pattern}"
            self._report(cause, "use another name", "hooks.name")
            return
        if options.get("parent"):
            name = f"{options['parent']} {name}"
        hook = hook or self.hook
        if any((each.hook, each.name) == (hook, name) for each in self._entry.registrations):
            self._report(f"{name!r} is registered twice; the first one stays", "register it once", "hooks.name")
        else:
            self._entry.registrations.append(Registration(hook, self._entry.name, name, where, options, value))

    def _report(self, cause: str, remedy: str, check: str) -> None:
        self._entry.report(self.hook, cause, remedy, check=check)


class SettingsRegistrar(Registrar):
    """Registrar passed to ``register_settings``."""

    hook: ClassVar = "register_settings"

    def __call__(self, target: Target, *, keys: Mapping[str, str] | None = None) -> None:
        """Register the plugin's settings.

        Args:
            target: one pydantic model, whose fields become ``PLUGIN.FIELD``.
            keys: other keys of fields, by field, for settings that are older than the plugin.
        """
        invalid = [key for key in (keys or {}).values() if not _KEY.fullmatch(key)]
        if invalid:
            self._report(f"the key {invalid[0]!r} is not in snake_case", "use another key", "hooks.options")
            return
        own_keys: dict[str, Any] = {"keys": dict(keys)} if keys else {}
        if isinstance(target, str):
            self._add("settings", target, **own_keys)
            return
        from oneclaw_core.plugins.registration.settings import model_options

        try:
            options = model_options(target)
        except PluginError as error:
            self._report(str(error), "register one pydantic model", "hooks.target")
        else:
            self._add("settings", target, **options, **own_keys)


class StoreRegistrar(Registrar):
    """Registrar passed to ``register_stores``."""

    hook: ClassVar = "register_stores"

    def __call__(self, scheme: str, target: Target) -> None:
        """Register a store.

        Args:
            scheme: of the database URLs that it opens, such as ``postgresql``.
            target: function of the URL that returns a ``Backend``, or the URL of another database to open.
        """
        self._add(scheme, target, pattern=_SCHEME)


class ServiceRegistrar(Registrar):
    """Registrar passed to ``register_services``."""

    hook: ClassVar = "register_services"

    def __call__(
        self,
        name: str,
        target: Target,
        *,
        help: str = "",  # noqa: A002  # as click has it
        runs_in: Collection[str] = ("serve",),
        grace_seconds: float = 0,
        needs: str | None = None,
        find_task: str | None = None,
    ) -> None:
        """Register a long-running task.

        Args:
            name: for messages and ``oneclaw serve``.
            target: async function of a ``ServiceContext``; works until it is cancelled.
            help: one line for ``oneclaw serve --list``.
            runs_in: ``serve``, ``chat`` or both.
            grace_seconds: how long it may go on by itself after ``stopping`` of its context is set, at most 60.
            needs: a setting of the plugin, such as ``token``; the service is off while it is empty.
            find_task: for a service that runs scheduled tasks, ``module:attribute`` of an async function that gets
                the ``HomeServices`` and the name or id of a task, and returns the id, ``None`` for an unknown one.
        """
        unknown = set(runs_in) - {"serve", "chat"}
        if unknown or isinstance(runs_in, str) or not 0 <= grace_seconds <= _MAX_GRACE_SECONDS:
            cause = f"{name!r} needs runs_in of 'serve' and 'chat', and grace_seconds from 0 to {_MAX_GRACE_SECONDS}"
            self._report(cause, "correct it", "hooks.options")
        elif not isinstance(target, str) and callable(target) and not _is_async(target):
            self._report(f"{target!r} is not an async function", "write it with async def", "hooks.service")
        else:
            given = {"needs": needs, "find_task": find_task}
            options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
            self._add(name, target, help=help, runs_in=sorted(runs_in), grace_seconds=grace_seconds, **options)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class ChannelRegistrar(Registrar):
    """Registrar passed to ``register_channels``."""

    hook: ClassVar = "register_channels"

    def __call__(self, name: str, target: Target, *, is_send_only: bool = False) -> None:
        """Register a way to reach a person.

        Args:
            name: such as ``telegram``.
            target: function of a ``PluginContext`` that makes a ``Channel``.
            is_send_only: True for one that receives nothing, such as mail or a desktop notification.
        """
        self._add(name, target, is_send_only=is_send_only)


class RouteRegistrar(Registrar):
    """Registrar passed to ``register_routes``."""

    hook: ClassVar = "register_routes"

    def __call__(
        self,
        path: str,
        target: Target,
        *,
        methods: Collection[str] = ("GET",),
        is_public: bool = False,
        max_body_bytes: int = ROUTE_BODY_BYTES,
        title: str = "",
    ) -> None:
        """Register an HTTP route of ``oneclaw serve``.

        Args:
            path: below ``/PLUGIN/``, such as ``hook/{name}``; empty for ``/PLUGIN/`` itself.
            target: async function of a ``PluginContext`` and a ``WebRequest`` that returns a ``WebResponse``, or a
                ``WebPage`` to be shown in the look of the server.
            methods: the HTTP methods it answers.
            is_public: True if the route checks its callers itself, such as a webhook with a signature.
            max_body_bytes: the longest body of a request, 32 MiB at most; longer ones are refused.
            title: what the menu of the web page calls it; empty for a route that is not in the menu.
        """
        if type(max_body_bytes) is not int or not 0 <= max_body_bytes <= MAX_ROUTE_BODY_BYTES:
            cause = f"max_body_bytes of {path!r} must be 0 to {MAX_ROUTE_BODY_BYTES}"
            self._report(cause, "correct it", "hooks.options")
            return
        if isinstance(methods, str) or not set(methods) <= set(_METHODS) or not methods:
            self._report(f"methods of {path!r} must be some of {', '.join(_METHODS)}", "correct them", "hooks.options")
            return
        options: dict[str, Any] = {
            "methods": sorted(methods),
            "is_public": is_public,
            "max_body_bytes": max_body_bytes,
            "title": title,
        }
        self._add(path.lstrip("/"), target, pattern=_PATH, **options)


class TriggerRegistrar(Registrar):
    """Registrar passed to ``register_triggers``."""

    hook: ClassVar = "register_triggers"

    def __call__(
        self,
        name: str,
        target: Target,
        *,
        help: str = "",  # noqa: A002  # as click has it
        parameters: Mapping[str, str] | None = None,
        required: Collection[str] = (),
        set_up: str | None = None,
        take_request: str | None = None,
    ) -> None:
        """Register what can start a scheduled task.

        Args:
            name: such as ``file_changed``.
            target: async function of a ``PluginContext``, the trigger's parameters (texts by name) and a ``Fire``; it
                works until it is cancelled.
            help: one line for users.
            parameters: one line for users about each parameter, by name; others are refused.
            required: the parameters that must be given.
            set_up: ``module:attribute`` of an async function of a ``PluginContext`` and the given parameters, called
                when a task is given the trigger; it returns a ``TriggerSetup``.
            take_request: ``module:attribute`` of an async function of a ``PluginContext``, the parameters, a
                ``WebRequest`` and a ``Fire``, which returns a ``WebResponse``. The task then has a public address at
                ``oneclaw serve``, and the function checks its callers.
        """
        known = dict(parameters or {})
        if isinstance(required, str) or not set(required) <= set(known):
            self._report(f"required of {name!r} must be names of its parameters", "correct them", "hooks.options")
            return
        functions = {"set_up": set_up, "take_request": take_request}
        options: dict[str, Any] = {key: where for key, where in functions.items() if where is not None}
        self._add(name, target, help=help, parameters=known, required=sorted(required), **options)


class CommandRegistrar(Registrar):
    """Registrar passed to ``register_commands``."""

    hook: ClassVar = "register_commands"

    def __call__(
        self,
        name: str,
        target: str | click.Command,
        *,
        help: str = "",  # noqa: A002  # as click has it
        parent: str | None = None,
    ) -> None:
        """Register a command of the program ``oneclaw``.

        Args:
            name: of the command.
            target: a click command or group, or its name ``module:attribute``, imported when the command is run.
            help: one line for ``oneclaw --help``; by default the command's own, if the target is an object.
            parent: a group of OneClaw's own commands to add it to, such as ``serve`` or ``plugins``.
        """
        if parent is not None and parent not in COMMAND_GROUPS:
            cause = f"parent of {name!r} must be one of {', '.join(sorted(COMMAND_GROUPS))}, or left out"
            self._report(cause, "correct it", "hooks.options")
            return
        options: dict[str, Any] = {"parent": parent, "help": help}
        if isinstance(target, str):
            self._add(name, target, **options)
            return
        import click

        if isinstance(target, click.Command):
            options["help"] = help or target.get_short_help_str(limit=100)
            self._register(name, command_place(target), target, {**options, "is_hidden": target.hidden})
        else:
            cause = f"{target!r}, registered as {name!r}, is not a click command"
            self._report(cause, "decorate a function with @click.command()", "hooks.target")

    def option(
        self,
        name: str,
        *,
        help: str = "",  # noqa: A002  # as click has it
        type: type = str,  # noqa: A002  # as click has it
        default: str | float | bool | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
    ) -> None:
        """Register an option of ``oneclaw serve``.

        Args:
            name: such as ``--telegram-token-file``.
            help: one line.
            type: ``str``, ``int``, ``float``, ``bool`` (a flag) or ``pathlib.Path``.
            default: used without the option.
            minimum: the smallest valid number.
            maximum: the largest valid number, such as 65535 for a port.
        """
        bounds = {key: bound for key, bound in (("minimum", minimum), ("maximum", maximum)) if bound is not None}
        if type not in _OPTION_TYPES:
            cause = f"the type of the option {name!r} must be str, int, float, bool or pathlib.Path"
            self._report(cause, "use one of them", "hooks.options")
        elif bounds and type not in (int, float):
            cause = f"the option {name!r} has a {' and a '.join(bounds)}, but its type is not int or float"
            self._report(cause, "leave the bounds out, or set the type", "hooks.options")
        elif default is not None and not isinstance(default, str | int | float):
            cause = f"the default of the option {name!r} must be a text, a number, True or False"
            self._report(cause, "correct it", "hooks.options")
        else:
            options = {"parent": "serve", "help": help, "type": _OPTION_TYPES[type], "default": default, **bounds}
            self._register(name, None, None, options, _OPTION)


class ChatCommandRegistrar(Registrar):
    """Registrar passed to ``register_chat_commands``."""

    hook: ClassVar = "register_chat_commands"

    def __call__(
        self,
        name: str,
        target: Target,
        *,
        help: str = "",  # noqa: A002  # as click has it
        is_private: bool = False,
    ) -> None:
        """Register a slash command of every channel.

        Args:
            name: without the slash.
            target: async function of a ``ChatCommandContext`` and the text behind the name; returns the text to show,
                or a ``ChatAnswer``.
            help: one line for ``/help``.
            is_private: True for one that shows what is for the user alone: it does not work in groups.
        """
        options: dict[str, Any] = {"is_private": True} if is_private else {}
        self._add(name, target, help=help, **options)


class CheckRegistrar(Registrar):
    """Registrar passed to ``register_checks``."""

    hook: ClassVar = CHECK_HOOK

    def __call__(self, name: str, target: Target) -> None:
        """Register a check of ``oneclaw doctor``.

        Args:
            name: a word or two, in snake_case or with hyphens.
            target: sync or async function of a ``PluginContext`` that returns or yields ``CheckResult`` objects.
        """
        self._add(name, target)

    def skills(self, name: str, target: Target) -> None:
        """Register a check of the skills that plugins register, for ``oneclaw plugins`` and ``oneclaw doctor``.

        Args:
            name: a word or two, in snake_case or with hyphens.
            target: sync function of a skill's folder and the ``ToolRegistry``, ``None`` for a quick check, that returns
                or yields ``PluginProblem`` objects, which become problems of the plugin that registered the skill.
        """
        self._add(name, target, of=SKILL_HOOK)


NAMED_REGISTRARS = (
    SettingsRegistrar,
    StoreRegistrar,
    ServiceRegistrar,
    ChannelRegistrar,
    RouteRegistrar,
    TriggerRegistrar,
    CommandRegistrar,
    ChatCommandRegistrar,
    CheckRegistrar,
)
