"""Finding plugins, loading them one at a time, and keeping what goes wrong in one away from all others."""

from __future__ import annotations

import inspect
import logging
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import importlib_metadata
import pluggy

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins import hookspecs
from oneclaw_core.plugins.compatibility import (
    CORE_DISTRIBUTION,
    CORE_VERSION,
    UnreadableRequirementError,
    core_requirements,
    find_incompatibility,
    name_and_version,
)
from oneclaw_core.plugins.hookspecs import HookKind
from oneclaw_core.plugins.implementations import LoadedPlugin, event_implementations, hook_fault
from oneclaw_core.plugins.loading_notes import LOADING, LoadingNotes
from oneclaw_core.plugins.named_registrars import NAMED_REGISTRARS
from oneclaw_core.plugins.record import BUILTIN_PLUGIN, PluginRecord, PluginSkill
from oneclaw_core.plugins.registrars import (
    GroupRegistrar,
    ProviderFactory,
    ProviderRegistrar,
    SkillRegistrar,
    ToolRegistrar,
    report_ignored_meanings,
)
from oneclaw_core.tools.groups import generated_group_definition
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    from oneclaw_core.plugins.registrations import Registration


ENTRY_POINT_GROUP = "oneclaw"
LOAD_SECONDS = 30.0
"""How long the import of a plugin, or one of its hooks, may take before it is ended."""

_log = logging.getLogger("oneclaw.plugins")


class EntryPoint(Protocol):
    """The part of an entry point that loading needs; that of importlib, or a stand-in.

    As ``dist`` it may have the distribution that it belongs to, with ``name`` and ``version``.
    """

    @property
    def name(self) -> str:
        """The plugin's name."""
        ...

    @property
    def value(self) -> str:
        """What it names, as ``module`` or ``module:attribute``."""
        ...

    def load(self) -> Any:
        """Import it."""
        ...


@dataclass(slots=True)
class Catalog:
    """Everything that plugins brought.

    Attributes:
        registry: tools and groups.
        provider_types: how to make a provider, by type.
        plugins: all that are installed, in the order of loading.
        skills: the folders of their skills, in this order.
    """

    registry: ToolRegistry = field(default_factory=ToolRegistry)
    provider_types: dict[str, ProviderFactory] = field(default_factory=dict)
    plugins: list[PluginRecord] = field(default_factory=list)
    skills: list[PluginSkill] = field(default_factory=list)


def discover() -> list[EntryPoint]:
    """Find the installed plugins: the built-in tools first, then by name and package."""
    unique: dict[tuple[str, str], EntryPoint] = {}
    for distribution in importlib_metadata.distributions():
        try:
            points = [point for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP]
        except Exception as error:  # noqa: BLE001  # a damaged entry_points.txt makes the library raise anything
            where = getattr(distribution, "_path", "a package")
            _log.warning("the entry points of %s cannot be read, reinstall it: %s", where, _describe(error))
            continue
        for point in points:
            # A package that is found twice, as in two directories of sys.path, counts once.
            unique.setdefault((point.name, point.value), point)
    return sorted(unique.values(), key=lambda point: (not _is_builtin(point), point.name, point.value))


def load_plugins(
    disabled: Collection[str] = (),
    entry_points: Iterable[EntryPoint] | None = None,
    notes_directory: Path | None = None,
) -> Catalog:
    """Load every plugin that is not disabled, and collect what they bring and what goes wrong.

    Args:
        disabled: names of plugins to leave alone; the built-in tools cannot be.
        entry_points: what to load instead of everything that is installed.
        notes_directory: where to note what is being loaded, so that a plugin which ends the program is left alone by
            the next start; ``None`` for no notes.
    """
    from oneclaw_core.plugins.settings import settle_settings  # which imports this module

    catalog = Catalog()
    with LoadingNotes(notes_directory) as notes:
        for point in discover() if entry_points is None else entry_points:
            started = time.perf_counter()
            record = _load(point, catalog, disabled, notes)
            if not record.is_disabled:
                record.import_ms = (time.perf_counter() - started) * 1000
            catalog.plugins.append(record)
    settle_settings(catalog.plugins)
    for group, tool_names in catalog.registry.get_tool_groups().items():
        if catalog.registry.get_group_definition(group) is None:
            catalog.registry.register_group(generated_group_definition(group, tool_names))
    return catalog


def disabled_plugins(stored: Mapping[str, Any], environ: Mapping[str, str]) -> frozenset[str]:
    """Read the one setting that is needed before anything else; a value that does not fit counts as none, so that
    listings work whatever is stored.
    """
    value = environ.get("ONECLAW_DISABLED_PLUGINS") or stored.get("disabled_plugins", ())
    names = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return frozenset(str(name).strip() for name in names)


def load_object(record: PluginRecord, registration: Registration) -> Any:
    """Import what a plugin has registered by name.

    Args:
        record: the plugin.
        registration: of the plugin.

    Raises:
        PluginError: it cannot be imported; the message names the plugin and the command that disables it.
    """
    if registration.value is not None or registration.target is None:
        return registration.value
    module, _, attribute = registration.target.partition(":")
    try:
        with _interrupts_of_the_user(), _time_limit():
            return attrgetter(attribute)(import_module(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a foreign import may raise anything, such as SystemExit
        _log.debug("importing %s of plugin %s", registration.target, record.name, exc_info=True)
        package = f" ({record.package})" if record.package else ""
        raise PluginError(
            f"plugin {record.name}{package}: {registration.target} cannot be imported: {_describe(error)}; reinstall "
            f"or upgrade it, or disable it with: oneclaw plugins disable {record.name}"
        ) from error


def _load(point: EntryPoint, catalog: Catalog, disabled: Collection[str], notes: LoadingNotes) -> PluginRecord:
    distribution, version = _distribution_of(point)
    record = PluginRecord(point.name, distribution, version, point.value)
    if point.name in disabled:
        if not _is_builtin(point):
            return replace(record, is_disabled=True)
        record.report(
            "settings", "the built-in tools cannot be disabled", "disable single tools instead", is_error=False
        )
    if any(other.name == point.name for other in catalog.plugins):
        record.name = f"{point.name}@{distribution}"
        record.report(
            "discovery",
            f"another package has a plugin named {point.name!r}",
            "ask an author to rename the entry point, so that the two can be told apart",
            is_error=False,
            check="package.name-taken",
        )
    if not _is_compatible(point, record):
        return record
    if _is_builtin(point):
        _bring_in(point, record, catalog)
    elif not notes.leaves_alone(record):
        with notes.during(record, LOADING):
            _bring_in(point, record, catalog)
    return record


def _bring_in(point: EntryPoint, record: PluginRecord, catalog: Catalog) -> None:
    """Import a plugin and call the hooks that every start needs."""
    plugin = _import(point, record)
    if plugin is None:
        return
    manager = pluggy.PluginManager("oneclaw")
    manager.add_hookspecs(hookspecs)
    try:
        with _deprecations_reported(record):
            manager.register(plugin, point.name)
    except Exception as error:  # noqa: BLE001  # pluggy looks into a foreign object
        remedy = "take only arguments that the hook has; see oneclaw_core.plugins.hookspecs"
        record.report("hooks", _describe(error), remedy, check="hooks.arguments")
        return
    record.manager = manager
    _check_hooks(manager, plugin, record)
    if any(problem.is_error for problem in record.problems):
        record.manager = None
    registry = catalog.registry
    _call_hook(record, "register_groups", register=GroupRegistrar(registry, record))
    _call_hook(record, "register_tools", register=ToolRegistrar(registry, record))
    report_ignored_meanings(registry, record)
    _call_hook(record, "register_providers", register=ProviderRegistrar(catalog.provider_types, record))
    _call_hook(record, "register_skills", register=SkillRegistrar(catalog.skills, record))
    for registrar in NAMED_REGISTRARS:
        _call_hook(record, registrar.hook, register=registrar(record))
    if record.manager is not None:
        implementations = event_implementations(record.name, manager)
        record.hooks = {hook: each.options for hook, each in implementations.items()}
        record.loaded = LoadedPlugin(record.name, implementations, tuple(record.registrations))


def _is_compatible(point: EntryPoint, record: PluginRecord) -> bool:
    """Tell whether a plugin may be imported: one that was made for another OneClaw would fail anywhere."""
    if _is_builtin(point):
        return True
    try:
        incompatibility = find_incompatibility(core_requirements(getattr(point, "dist", None)))
    except (OSError, ValueError) as error:
        kind = "the requirement on oneclaw-core" if isinstance(error, UnreadableRequirementError) else "the metadata"
        record.report("compatibility", f"{kind} cannot be read: {_describe(error)}", "reinstall it", is_error=False)
        return True
    if incompatibility is None:
        return True
    package = record.distribution or record.name
    upgrade_plugin = f"upgrade the plugin: oneclaw plugins upgrade {package}"
    record.report(
        "compatibility",
        f"{record.package or package} was made for {CORE_DISTRIBUTION}{incompatibility.required}, "
        f"and this is {CORE_VERSION}; it was not loaded",
        f"upgrade {CORE_DISTRIBUTION}, or install a version of {package} that goes with {CORE_VERSION}"
        if incompatibility.is_core_too_old
        else f"{upgrade_plugin}, or install a {CORE_DISTRIBUTION}{incompatibility.required}",
    )
    return False


def _import(point: EntryPoint, record: PluginRecord) -> Any:
    try:
        with _interrupts_of_the_user(), _time_limit():
            plugin = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # a foreign import may raise anything, such as SystemExit
        _log.debug("importing plugin %s", point.name, exc_info=True)
        package = record.distribution or "the package"
        record.report(
            "import",
            _describe(error),
            f"reinstall or upgrade {package}, uninstall it, or set ONECLAW_DISABLED_PLUGINS={point.name}",
            check={SystemExit: "import.exits", _TookTooLongError: "import.hangs"}.get(type(error), "import.fails"),
        )
        return None
    if plugin is None:
        cause = f"the entry point {point.value!r} names None"
        record.report("import", cause, "name a module with hooks", check="import.nothing")
    return plugin


def _check_hooks(manager: pluggy.PluginManager, plugin: Any, record: PluginRecord) -> None:
    if not manager.get_hookcallers(plugin):
        record.report(
            "hooks",
            f"{_name_of(plugin)} implements no hook",
            "mark its functions with @oneclaw_core.hookimpl",
            is_error=False,
            check="hooks.none",
        )
    else:
        _check_unmarked(manager, plugin, record)
    for caller in manager.get_hookcallers(plugin) or ():
        # A contract of a test can have hooks of its own.
        is_registration = hookspecs.HOOK_KINDS.get(caller.name, HookKind.REGISTRATION) is HookKind.REGISTRATION
        if is_registration and any(
            inspect.iscoroutinefunction(implementation.function) for implementation in caller.get_hookimpls()
        ):
            cause = f"the hook {caller.name} is an async function"
            record.report("hooks", cause, "write it without async", check="hooks.async")
        for mark in () if is_registration else caller.get_hookimpls():
            fault = hook_fault(caller.name, mark)
            if fault is not None:
                record.report(
                    "hooks", f"the hook {caller.name} cannot be called: {fault[0]}", fault[1], check="hooks.event"
                )
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        record.report(
            "hooks",
            _describe(error),
            f"this OneClaw has no such hook (plugin contract {hookspecs.CONTRACT_VERSION}): correct its name, or "
            "upgrade oneclaw-core",
            is_error=False,
            check="hooks.unknown",
        )


def _check_unmarked(manager: pluggy.PluginManager, plugin: Any, record: PluginRecord) -> None:
    """Note functions with the names of hooks that will never be called; pluggy passes over them in silence."""
    marked = {caller.name for caller in manager.get_hookcallers(plugin) or ()}
    for name in vars(manager.hook):
        if name not in marked and inspect.isfunction(inspect.getattr_static(plugin, name, None)):
            record.report(
                "hooks",
                f"the function {name} is named like a hook, and is not marked as one: it is not called",
                "put @oneclaw_core.hookimpl before it, or rename it",
                is_error=False,
                check="hooks.unmarked",
            )


@contextmanager
def _deprecations_reported(record: PluginRecord) -> Iterator[None]:
    """Note which deprecated hooks and arguments a plugin takes, as pluggy warns of them while the block runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        yield
    for each in caught:
        # Its own words name what takes the place of what goes.
        remedy = "change it before the next contract version"
        record.report("hooks", str(each.message), remedy, is_error=False, check="hooks.deprecated")


def _name_of(plugin: Any) -> str:
    return str(getattr(plugin, "__name__", None) or type(plugin).__name__)


def _call_hook(record: PluginRecord, hook: str, **arguments: Any) -> None:
    if record.manager is None:
        return
    try:
        with _interrupts_of_the_user(), _time_limit():
            getattr(record.manager.hook, hook)(**arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # and so may a foreign hook
        _log.debug("hook %s of plugin %s", hook, record.name, exc_info=True)
        remedy = f"report it to the author of {record.distribution or record.name}"
        check = {SystemExit: "hooks.exits", _TookTooLongError: "hooks.hangs"}.get(type(error), "hooks.raises")
        record.report(hook, _describe(error), remedy, check=check)


@contextmanager
def _interrupts_of_the_user() -> Iterator[None]:
    """Let Ctrl-C through while foreign code runs, but no ``KeyboardInterrupt`` that the code raises by itself.

    Raises:
        KeyboardInterrupt: the user has pressed Ctrl-C.
        PluginError: nobody has.
    """
    before = signal.getsignal(signal.SIGINT)
    is_pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal is_pressed
        is_pressed = True
        if callable(before):
            before(number, frame)

    # Elsewhere signals raise nothing, and no handler can be set.
    is_watched = callable(before) and threading.current_thread() is threading.main_thread()
    if is_watched:
        signal.signal(signal.SIGINT, press)
    try:
        yield
    except KeyboardInterrupt as error:
        if is_pressed:
            raise
        raise PluginError("it raised KeyboardInterrupt, though nobody pressed Ctrl-C") from error
    finally:
        if is_watched and signal.getsignal(signal.SIGINT) is press:
            signal.signal(signal.SIGINT, before)


class _TookTooLongError(BaseException):
    """A plugin's import or hook was ended; no ``except Exception`` of the plugin's keeps it from ending."""


@contextmanager
def _time_limit() -> Iterator[None]:
    """End foreign code that waits for ever, where a signal can do that: in the main thread, and not on Windows.

    Raises:
        _TookTooLongError: it has not ended by itself.
    """
    seconds = LOAD_SECONDS
    if (
        not hasattr(signal, "SIGALRM")
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
    ):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TookTooLongError(f"it did not end within {seconds:g} s")

    signal.signal(signal.SIGALRM, ring)
    # Once is not enough: where the interpreter calls back, as in a __del__, what is raised is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _describe(error: BaseException) -> str:
    if isinstance(error, _TookTooLongError):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def _distribution_of(point: EntryPoint) -> tuple[str | None, str | None]:
    distribution = getattr(point, "dist", None)
    try:
        return name_and_version(distribution) if distribution is not None else (None, None)
    except Exception:  # noqa: BLE001  # a package without readable metadata has neither
        return None, None


def _is_builtin(point: EntryPoint) -> bool:
    return point.name == BUILTIN_PLUGIN and point.value.partition(":")[0] == "oneclaw_core.builtin"
