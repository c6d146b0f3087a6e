"""The objects that registration hooks are called with: they validate and attribute each registration.

Every registrar says in its signature what it takes. All of them register by ``Registrar._add``, which checks the
name and the options by the row of the hook in a table.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from oneclaw_core.errors import PluginError, ToolDefinitionError
from oneclaw_core.manifests.manifest import load_manifest
from oneclaw_core.plugins.plugin import (
    CHECK_HOOK,
    COMMAND_GROUPS,
    GROUP_HOOK,
    MANIFEST_HOOK,
    PRECONFIGURED_HOOK,
    PROVIDER_HOOK,
    SETTINGS_HOOK,
    SKILL_HOOK,
    SOURCE_HOOK,
    TOOL_HOOK,
    Registration,
)
from oneclaw_core.tools.invoke import FunctionTarget
from oneclaw_core.tools.registry import ToolRegistry, behaviour_advice, definition_of, earlier_behaviour
from oneclaw_core.types.tool_groups import ToolGroupDefinition
from oneclaw_core.types.tools import Tool, check_name

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import click

    from oneclaw_core.plugins.plugin import Plugin
    from oneclaw_core.providers.known import ProviderFactory

Target = str | Callable[..., Any]
"""An object, or its name ``module:attribute``, which is imported when it is needed."""

ROUTE_BODY_BYTES = 1024 * 1024
MAX_ROUTE_BODY_BYTES = 32 * 1024 * 1024

_KEY = r"[a-z][a-z0-9_]{0,62}"
_NAME = r"[a-z][a-z0-9_-]{0,62}"
_SNAKE_CASE = r"_?[a-z][a-z0-9_]*"
_OPTION = r"--[a-z][a-z0-9-]{0,61}"
_ANY = r"(?s).+"
_OPTION_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean", Path: "path"}
_MAX_GRACE_SECONDS = 60
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class InvalidError(Exception):
    """A registration is invalid; it is reported and left out, and the hook goes on."""

    def __init__(self, cause: str, remedy: str = "correct it", check: str = "hooks.options") -> None:
        super().__init__(cause)
        self.remedy, self.check = remedy, check


def target_name(value: object) -> str | None:
    """Return the name by which an object can be imported, ``None`` if it has none.

    Args:
        value: a name ``module:attribute``, or a function, class or click command at the top of a module.

    Raises:
        PluginError: the value is a text of another form.
    """
    if isinstance(value, str):
        module, colon, attribute = value.partition(":")
        if not (module and colon and attribute) or not all(
            part.isidentifier() for part in (*module.split("."), *attribute.split("."))
        ):
            raise PluginError(f"{value!r} names no object: write it as 'package.module:attribute'")
        return value
    place = getattr(value, "callback", value)  # a click command is where its function is
    where, name = getattr(place, "__module__", None), getattr(place, "__qualname__", None)
    if not isinstance(where, str) or not isinstance(name, str) or where == "__main__":
        return None
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    try:
        return f"{where}:{name}" if attrgetter(name)(sys.modules.get(where)) is value else None
    except AttributeError:
        return None


class Registrar:
    """Base of the registrars passed to one hook of one plugin.

    Args:
        plugin: gets what is registered, and what is wrong with it.
        registry: where the tools go.
    """

    hook: ClassVar[str]

    def __init__(self, plugin: Plugin, registry: ToolRegistry) -> None:
        self._plugin = plugin
        self.registry = registry

    def _add(self, name: str, target: Any, hook: str | None = None, /, **options: Any) -> None:
        """Register something if it is valid, and report it if it is not.

        Args:
            name: of it.
            target: an object, or its name ``module:attribute``; ``None`` for none.
            hook: a name for what is registered beside the hook's own kind.
            options: what else is known about it, as JSON data.
        """
        hook = hook or self.hook
        rule = _RULES.get(hook, _Rule())
        try:
            rule.check(name, target, options)
            where = target_name(target) if target is not None else None
            if target is not None and not isinstance(target, str) and not callable(target):
                cause = f"{target!r}, registered as {name!r}, cannot be called"
                remedy = "register a function, a class or a name 'module:attribute'"
                raise InvalidError(cause, remedy, "hooks.target")
            if not isinstance(name, str) or not re.fullmatch(rule.pattern, name):
                cause = f"the name {name!r} is invalid: it must match {rule.pattern}"
                raise InvalidError(cause, "use another name", "hooks.name")
            name = f"{options['parent']} {name}" if options.get("parent") else name
            if any((each.hook, each.name) == (hook, name) for each in self._plugin.registrations):
                cause = f"{name!r} is registered twice; the first one stays"
                raise InvalidError(cause, "register it once", "hooks.name")
        except InvalidError as error:
            self._report(str(error), error.remedy, error.check)
        except PluginError as error:
            self._report(str(error), "correct the name", "hooks.target")
        else:
            self._put(hook, name, where, options, None if isinstance(target, str) else target)

    def _put(
        self, hook: str, name: str, where: str | None, options: Mapping[str, Any], value: Any = None, **more: Any
    ) -> None:
        self._plugin.registrations.append(Registration(hook, self._plugin.name, name, where, options, value, **more))

    def _report(self, cause: str, remedy: str, check: str, **more: Any) -> None:
        self._plugin.report(self.hook, cause, remedy, check=check, **more)


class ToolRegistrar(Registrar):
    """Registrar passed to ``register_tools``.

    Attributes:
        registry: where the tools go, for tools that need to know the others.
    """

    hook: ClassVar = TOOL_HOOK

    def __call__(self, tool: Tool, *, group: str | None = None) -> None:
        """Register a tool.

        Args:
            tool: a function decorated with ``@tool``, or a ``Tool`` object.
            group: the tool group it belongs to; none makes it a core tool, sent with every request.
        """
        group = group or getattr(tool, "group", None)
        try:
            if group is not None:
                check_name(group, "tool group")
            definition = definition_of(tool)
        except ToolDefinitionError as error:
            check = "" if error.pointer else "hooks.not-a-tool"
            self._report(str(error), "correct the tool's definition", check, pointer=error.pointer)
            return
        if not re.fullmatch(_SNAKE_CASE, definition.name):
            cause = f"tool name {definition.name!r} is not in snake_case"
            self._report(cause, "rename the tool", "names.not-snake-case", is_error=False)
        if earlier := earlier_behaviour(tool, tool.definition):
            advice = behaviour_advice(definition.name, earlier)
            self._report(advice, "change it before version 0.4", "hooks.deprecated", is_error=False)
        function = getattr(tool, "target", None)
        where, options = None, _given(group=group)
        if isinstance(function, FunctionTarget):
            where, options["origin"] = f"{function.module}:{function.attribute}", function.origin
        self._put(self.hook, definition.name, where, options, tool, definition=definition)

    def manifest(self, path: Path | Traversable, *, module: str | None = None) -> None:
        """Register what a JSON manifest declares.

        Args:
            path: the file, such as ``importlib.resources.files(__package__) / "pdf.json"``.
            module: where functions that are named without a module are looked up.
        """
        if isinstance(path, str):
            # It would mean another file in each directory that the program is started in.
            remedy = "give it as importlib.resources.files(__package__) / " + repr(path)
            cause = f"{path!r} is a text, and no path in the package"
            self._plugin.report("manifest", cause, remedy, check="manifests.unreadable")
            return
        self._put(MANIFEST_HOOK, str(path), None, {})
        manifest = load_manifest(path, default_module=module)
        for problem in manifest.problems:
            remedy = "correct the manifest; its JSON Schema helps an editor"
            check = "manifests.unreadable" if problem.entry is None else ""
            self._plugin.report(
                "manifest", str(problem), remedy, is_error=problem.is_error, check=check, pointer=problem.pointer
            )
        if manifest.group is not None:
            GroupRegistrar(self._plugin, self.registry)(manifest.group)
        for tool in manifest.tools:
            self(tool, group=manifest.group.name if manifest.group else None)

    def source(
        self,
        name: str,
        target: Target,
        *,
        starts: Literal["call", "turn", "open"] = "call",
        start_seconds: float = 30.0,
        listing: str | None = None,
        listed_as: str | None = None,
    ) -> None:
        """Register a tool source, for tools that are known only at run time.

        Args:
            name: unique within the plugin.
            target: function of a ``PluginContext`` that makes a ``ToolSource``.
            starts: when a source whose tools are known from an earlier time starts: with the first ``call`` of one,
                with the first ``turn`` or call of any tool, or when the home is opened. A source that has published
                nothing yet starts at the first turn or call, too.
            start_seconds: how long the start may take.
            listing: name ``module:attribute`` of a function of a ``ListingContext`` and ``SourceTools`` that publishes
                the current tools, for a source that finds them in a moment, such as in files. Listings call it; they
                show the tools that the source published last without it. Nothing is stored for such a source.
            listed_as: name under which the tools are listed and disabled like a plugin; by default the plugin's. Such a
                source comes after those without one.
        """
        more = _given(listed_as=listed_as, listing=listing)
        self._add(name, target, SOURCE_HOOK, starts=starts, start_seconds=start_seconds, **more)


class GroupRegistrar(Registrar):
    """Registrar passed to ``register_groups``."""

    hook: ClassVar = GROUP_HOOK

    def __call__(self, group: ToolGroupDefinition) -> None:
        """Register a group's metadata; of two packages that declare one group, those of the owner of its name stay."""
        if not isinstance(group, ToolGroupDefinition):
            self._report(f"{group!r} is not a ToolGroupDefinition", "make one", "groups.not-a-group")
            return
        more = _given(permissions=dict(group.permissions), may_be_unlisted=group.may_be_unlisted)
        options = {"display_name": group.display_name, "description": group.description, **more}
        self._put(self.hook, group.name, None, options)


class ProviderRegistrar(Registrar):
    """Registrar passed to ``register_providers``."""

    hook: ClassVar = PROVIDER_HOOK

    def __call__(
        self, type_name: str, factory: ProviderFactory | str, *, price_vendor: str | None = None, is_local: bool = False
    ) -> None:
        """Register a provider type.

        Args:
            type_name: of the wire format, such as ``openai_compatible``.
            factory: makes a provider from its configuration; an object, or its name ``module:attribute``.
            price_vendor: the name in ``genai-prices`` of the vendor at the type's own address, for costs.
            is_local: True if the type has no service, and so neither an address nor a key.
        """
        self._add(str(type_name), factory, **_given(price_vendor=price_vendor, is_local=is_local))

    def preconfigured(
        self,
        name: str,
        *,
        type_name: str | None = None,
        key_variable: str | None = None,
        base_url: str | None = None,
        base_url_variable: str | None = None,
    ) -> None:
        """Register a provider that users need not add.

        Args:
            name: the first part of ``PROVIDER/MODEL``.
            type_name: its provider type, by default the one of its name.
            key_variable: the environment variable with its key; by default ``<NAME>_API_KEY``.
            base_url: its address, by default the type's own.
            base_url_variable: the environment variable that replaces the address.
        """
        options = {
            "type": type_name or name,
            "key_variable": key_variable,
            "base_url": base_url,
            "base_url_variable": base_url_variable,
        }
        self._put(PRECONFIGURED_HOOK, name, None, options)


class SkillRegistrar(Registrar):
    """Registrar passed to ``register_skills``."""

    hook: ClassVar = SKILL_HOOK

    def __call__(self, folder: Path | Traversable) -> None:
        """Register a skill; its ``SKILL.md`` is read when skills are asked for.

        Args:
            folder: such as ``importlib.resources.files(__package__) / "skills" / "pdf-report"``.
        """
        try:
            name = folder.name
            has_document = folder.joinpath("SKILL.md").is_file()
        except (AttributeError, TypeError, OSError):
            remedy = "pass a Path, or what importlib.resources.files gives"
            self._report(f"{folder!r} is not a folder", remedy, "skills.missing")
            return
        known = [each.options["folder"] for each in self._plugin.registrations if each.hook == self.hook]
        if not has_document:
            remedy = "write one, and include it in the package"
            self._report(f"{folder} has no SKILL.md", remedy, "skills.missing")
        elif str(folder) in known:
            self._report(f"{folder} is registered twice", "do it once", "skills.twice", is_error=False)
        else:
            self._put(self.hook, name, None, {"folder": str(folder)}, folder)


class SettingsRegistrar(Registrar):
    """Registrar passed to ``register_settings``."""

    hook: ClassVar = SETTINGS_HOOK

    def __call__(self, target: Target, *, keys: Mapping[str, str] | None = None) -> None:
        """Register the plugin's settings.

        Args:
            target: one pydantic model, whose fields become ``PLUGIN.FIELD``.
            keys: other keys of fields, by field, for settings that are older than the plugin.
        """
        self._add("settings", target, **_given(keys=dict(keys or {})))


class StoreRegistrar(Registrar):
    """Registrar passed to ``register_stores``."""

    hook: ClassVar = "register_stores"

    def __call__(self, scheme: str, target: Target) -> None:
        """Register a store.

        Args:
            scheme: of the database URLs that it opens, such as ``postgresql``.
            target: function of the URL that returns a ``Backend``, or the URL of another database to open.
        """
        self._add(scheme, target)


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
        where = runs_in if isinstance(runs_in, str) else sorted(runs_in)
        more = _given(needs=needs, find_task=find_task)
        self._add(name, target, help=help, runs_in=where, grace_seconds=grace_seconds, **more)


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
        allowed = methods if isinstance(methods, str) else sorted(methods)
        more = {"is_public": is_public, "max_body_bytes": max_body_bytes, "title": title}
        self._add(path.lstrip("/"), target, methods=allowed, **more)


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
        needed = required if isinstance(required, str) else sorted(required)
        more = _given(set_up=set_up, take_request=take_request)
        self._add(name, target, help=help, parameters=dict(parameters or {}), required=needed, **more)


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
        options: dict[str, Any] = {"parent": parent, "help": help}
        if not isinstance(target, str):
            options["is_hidden"] = getattr(target, "hidden", False)
            describe = getattr(target, "get_short_help_str", None)
            options["help"] = help or (describe(limit=100) if describe is not None else "")
        self._add(name, target, **options)

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
            options: dict[str, Any] = {"type": _OPTION_TYPES[type], "default": default, **bounds}
            self._add(name, None, parent="serve", help=help, **options)


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
        self._add(name, target, help=help, **_given(is_private=is_private))


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


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in options.items() if value}


def _check_settings(name: str, target: Any, options: Mapping[str, Any]) -> None:
    for key in options.get("keys", {}).values():
        if not re.fullmatch(_KEY, key):
            raise InvalidError(f"the key {key!r} is not in snake_case", "use another key")


def _check_service(name: str, target: Any, options: Mapping[str, Any]) -> None:
    runs_in, grace_seconds = options["runs_in"], options["grace_seconds"]
    is_known = not isinstance(runs_in, str) and set(runs_in) <= {"serve", "chat"}
    if not is_known or not 0 <= grace_seconds <= _MAX_GRACE_SECONDS:
        cause = f"{name!r} needs runs_in of 'serve' and 'chat', and grace_seconds from 0 to {_MAX_GRACE_SECONDS}"
        raise InvalidError(cause)
    call = getattr(target, "__call__", None)  # noqa: B004
    is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)
    if not isinstance(target, str) and callable(target) and not is_async:
        raise InvalidError(f"{target!r} is not an async function", "write it with async def", "hooks.service")


def _check_route(name: str, target: Any, options: Mapping[str, Any]) -> None:
    most_bytes, methods = options["max_body_bytes"], options["methods"]
    if type(most_bytes) is not int or not 0 <= most_bytes <= MAX_ROUTE_BODY_BYTES:
        raise InvalidError(f"max_body_bytes of {name!r} must be 0 to {MAX_ROUTE_BODY_BYTES}")
    if isinstance(methods, str) or not set(methods) <= set(_METHODS) or not methods:
        raise InvalidError(f"methods of {name!r} must be some of {', '.join(_METHODS)}", "correct them")


def _check_trigger(name: str, target: Any, options: Mapping[str, Any]) -> None:
    required = options["required"]
    if isinstance(required, str) or not set(required) <= set(options["parameters"]):
        raise InvalidError(f"required of {name!r} must be names of its parameters", "correct them")


def _check_command(name: str, target: Any, options: Mapping[str, Any]) -> None:
    parent = options["parent"]
    if parent is not None and parent not in COMMAND_GROUPS:
        raise InvalidError(f"parent of {name!r} must be one of {', '.join(sorted(COMMAND_GROUPS))}, or left out")
    if target is not None and not isinstance(target, str) and not hasattr(target, "make_context"):
        cause = f"{target!r}, registered as {name!r}, is not a click command"
        raise InvalidError(cause, "decorate a function with @click.command()", "hooks.target")
    if target is None and not re.fullmatch(_OPTION, name):
        raise InvalidError(f"the name {name!r} is invalid: it must match {_OPTION}", "use another name", "hooks.name")


def _check_source(name: str, target: Any, options: Mapping[str, Any]) -> None:
    if options["starts"] not in ("call", "turn", "open") or not 0 < options["start_seconds"] <= 3600:
        raise InvalidError(
            f"the tool source {name!r} needs starts='call', 'turn' or 'open', and start_seconds from 0 to 3600"
        )
    listed_as = options.get("listed_as")
    if listed_as is not None and not re.fullmatch(_SNAKE_CASE, listed_as):
        cause = f"the tool source {name!r} has listed_as={listed_as!r}, which is not in snake_case"
        raise InvalidError(cause, "use another name")
    target_name(options.get("listing", "a:b"))


def _check_nothing(name: str, target: Any, options: Mapping[str, Any]) -> None: ...


class _Rule(NamedTuple):
    """The rule for what a hook registers: how it may be named, and a check of its options."""

    pattern: str = _NAME
    check: Callable[[str, Any, Mapping[str, Any]], None] = _check_nothing


_RULES: Mapping[str, _Rule] = {
    PROVIDER_HOOK: _Rule(_ANY),
    SETTINGS_HOOK: _Rule(check=_check_settings),
    SOURCE_HOOK: _Rule(check=_check_source),
    "register_stores": _Rule(r"[a-z][a-z0-9+.-]{0,62}"),
    "register_services": _Rule(check=_check_service),
    "register_routes": _Rule(r"[A-Za-z0-9_{][A-Za-z0-9_{}/.-]{0,254}|", _check_route),
    "register_triggers": _Rule(check=_check_trigger),
    "register_commands": _Rule(f"{_NAME}|{_OPTION}", _check_command),
}
"""The rules of what is registered by name; a hook that is not here takes any plain name and any options."""

REGISTRARS: tuple[type[Registrar], ...] = (
    GroupRegistrar,
    ToolRegistrar,
    ProviderRegistrar,
    SkillRegistrar,
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
"""One for each registration hook, in the order of the calls."""
