"""Checks of an installation, for `oneclaw doctor`. Each stands alone; a failed one hides no other."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import importlib_metadata

from oneclaw_core.cli.catalog import HomeCatalog, load_catalog
from oneclaw_core.cli.keys import all_secrets
from oneclaw_core.cli.output import reserved_stdout
from oneclaw_core.cli.running import with_configuration, with_home
from oneclaw_core.config.keys import KeySource, KeyStore
from oneclaw_core.config.plugin_settings import registered_settings
from oneclaw_core.config.provider_service import read_composition
from oneclaw_core.config.providers import Providers, default_model, lacks_key
from oneclaw_core.config.settings import read_settings, setting_states
from oneclaw_core.config.user_choices import disabled_plugins
from oneclaw_core.contract.checks import CheckFix, Health
from oneclaw_core.errors import (
    NotFoundError,
    OneClawError,
    SandboxError,
    StoreError,
    StoreVersionError,
    UsageError,
    describe_error,
)
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.installation.origins import report_origins
from oneclaw_core.installation.skill_checks import report_skill_problems
from oneclaw_core.installation.stores import home_with_backend
from oneclaw_core.models.fallback import set_aside_now
from oneclaw_core.plugins.distributions import PROVIDER_PLUGINS
from oneclaw_core.plugins.plugin import CHECK_HOOK, Plugin
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.process import choose_sandbox
from oneclaw_core.process.sandbox.landlock import Landlocked
from oneclaw_core.process.sandbox_rules import sandbox_policy
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.sessions.backend import SCHEMA_VERSION, looking_into
from oneclaw_core.shipped.missing import how_to_install, missing_parts, plugin_of, why_missing
from oneclaw_core.system.home import Home, find_home
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


_log = logging.getLogger("oneclaw.cli")
_LITTLE_SPACE_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class LineFix:
    """Fix for a line of the doctor.

    Attributes:
        summary: one line that says what.
        apply: does it.
    """

    summary: str
    apply: Callable[[], object]


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One line of what `oneclaw doctor` shows.

    Attributes:
        status: how it is.
        message: one line.
        remedy: what to do about it, ``None`` if it is as it should be.
        fix: what does that, if OneClaw can do it.
        check: what was looked at, such as ``home`` or ``plugin pdf``; by default what the check is called.
    """

    status: Health
    message: str
    remedy: str | None = None
    fix: LineFix | None = None
    check: str = ""


ok = partial(CheckLine, Health.OK)
warning = partial(CheckLine, Health.WARNING)
problem = partial(CheckLine, Health.PROBLEM)


def examine_all() -> list[CheckLine]:
    """Make all checks."""
    home = find_home()
    catalogs: list[HomeCatalog] = []

    def load() -> Iterable[CheckLine]:
        catalogs.append(load_catalog(is_quiet=True))
        return ()

    checks: list[tuple[str, Callable[[], Iterable[CheckLine]]]]
    checks = [*((name, partial(check, home)) for name, check in _OF_HOME.items()), ("plugins", load)]
    lines = [line for name, check in checks for line in _examine(name, check)]
    checks = [(name, partial(check, each)) for each in catalogs for name, check in _OF_CATALOG]
    lines += [line for name, check in checks for line in _examine(name, check)]
    return [*lines, *_examine("log", partial(check_log, home))]


def _examine(name: str, check: Callable[[], Iterable[CheckLine]]) -> list[CheckLine]:
    """Make a check; if it breaks, that is a problem too."""
    try:
        return [line if line.check else replace(line, check=name) for line in check()]
    except OneClawError as error:
        # By convention the last part of a message says what to do.
        cause, _, remedy = redact(str(error)).rpartition(": ")
        return [problem(cause or remedy, remedy, check=name)]
    except Exception as error:  # noqa: BLE001  # the doctor has to go on whatever is broken
        _log.error("checking %s", name, exc_info=error)
        text = " ".join(redact(describe_error(error)).split())
        return [problem(f"this could not be checked: {text}", "see the log for the traceback", check=name)]


def _close_to_others(path: Path, mode: int) -> LineFix:
    return LineFix(f"set the mode of {path} to {mode:o}, so that you alone can use it", lambda: path.chmod(mode))


def _unset(key: str, summary: str) -> LineFix:
    return LineFix(summary, lambda: with_configuration(lambda changes: changes.settings.unset(key)))


def _fix_of_plugin(plugin: str, fix: CheckFix | None) -> LineFix | None:
    if fix is None:
        return None

    def apply() -> None:
        with reserved_stdout():
            with_home(lambda claw: claw.plugins.fix(plugin, fix))

    return LineFix(redact(fix.summary), apply)


def check_python(home: Home) -> Iterator[CheckLine]:
    """Name the Python that runs."""
    yield ok(f"Python {platform.python_version()} at {sys.executable}")


def check_package(home: Home) -> Iterator[CheckLine]:
    """Check that the installed package is the one that runs."""
    where = Path(__file__).parents[1]
    try:
        installed = importlib_metadata.version("oneclaw-core")
    except importlib_metadata.PackageNotFoundError:
        installed = None
    if installed == __version__:
        yield ok(f"oneclaw-core {__version__} at {where}")
    else:
        yield warning(
            f"oneclaw-core {__version__} runs from {where}, but {installed or 'none'} is installed",
            "reinstall oneclaw-core",
        )


def check_workers(home: Home) -> Iterator[CheckLine]:
    """Check that processes that run code of others can be confined."""
    what = "isolated tools and JavaScript"
    strength = Landlocked().probe()
    if strength.is_available:
        yield ok(f"{what} are confined by Landlock and seccomp")
    elif sys.platform == "linux":
        message = f"{what} have separate processes, which are not wholly confined: {strength.reason}"
        yield warning(message, strength.remedy)
    else:
        yield ok(f"{what} have separate processes; this system cannot confine them")


def check_home(home: Home) -> Iterator[CheckLine]:
    """Check that the home can be used, and by its owner alone."""
    directory = home.path
    try:
        while not directory.exists():
            directory = directory.parent
        # The mode does not tell whether a file system is mounted for reading only.
        with tempfile.TemporaryFile(dir=directory):
            pass
        state = directory.stat()
    except OSError as error:
        what = str(home.path) if directory == home.path else f"{home.path} cannot be made, for {directory}"
        yield problem(
            f"{what} cannot be used: {error.strerror or error}",
            "make it a directory that this user can read and write, or set ONECLAW_HOME to another one",
        )
        return
    if directory != home.path:
        yield ok(f"{home.path} does not exist yet; it is made when something is stored")
        return
    mode = stat.S_IMODE(state.st_mode)
    if mode & 0o077:
        message = f"{home.path} is open to other users (mode {mode:o})"
        fix = _close_to_others(home.path, 0o700)
        yield warning(message, f"chmod 700 {home.path}", fix)
    else:
        yield ok(str(home.path))
    free_bytes = shutil.disk_usage(home.path).free
    if free_bytes < _LITTLE_SPACE_BYTES:
        message = f"only {free_bytes // 1_000_000} MB are free"
        yield warning(message, "free some space on the home's disk", check="disk")


def check_database(home: Home) -> Iterator[CheckLine]:
    """Check that the database opens, that its schema is known, and that it is whole."""
    _, backend = home_with_backend(home, os.environ)
    with looking_into(backend) as connection:
        if connection is None:
            if home.path.exists() and not home.path.is_dir():
                raise StoreError(f"{backend.name} cannot be read: {home.path} is not a directory")
            message = f"{backend.name} does not exist yet; it is made when something is stored"
            yield ok(message)
            return
        found = backend.inspect(connection)
        is_older = found.remedy is None and 0 < backend.version(connection) < SCHEMA_VERSION
    if is_older:
        message = (
            f"{found.message}; the checks of plugins are left out until it is migrated: this version of OneClaw needs "
            f"schema {SCHEMA_VERSION}"
        )
        yield warning(message, backend.how_to_migrate)
    elif found.remedy is None:
        yield ok(found.message)
    else:
        yield problem(found.message, found.remedy)


def check_settings(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that the settings can be read and are valid, those of plugins too."""
    if catalog.states_error is not None:
        raise catalog.states_error
    stored, plugins = catalog.states.settings, registered_settings(catalog.plugins)
    states = setting_states(stored, os.environ, plugins)
    faults = [state for state in states if state.problem is not None]
    for state in faults:
        origin, _, variable = state.source.partition(" ")
        remedy = f"oneclaw config set {state.key} VALUE, or oneclaw config unset {state.key}"
        fix = None
        if origin == "environment":
            remedy = f"change or unset the environment variable {variable}"
        elif origin == "default":
            remedy = f"oneclaw config set {state.key} VALUE"
        elif origin == "stored":
            fix = _unset(state.key, f"take {state.key} back to its default, {state.default!r}")
        yield problem(state.problem or "", remedy, fix)
    secrets = KeyStore(catalog.home, os.environ).stored()
    missing = [
        each
        for each in all_secrets(catalog)
        if each.is_required and each.stored_as not in secrets and not os.environ.get(each.variable)
    ]
    for secret in missing:
        message = f"the plugin {secret.plugin} needs the secret {secret.key}, and it is not set"
        remedy = f"oneclaw keys set {secret.key}, or set the environment variable {secret.variable}"
        yield problem(message, remedy)
    known = {key for each in plugins for field in each.fields for key in (field.key, *field.aliases)}
    prefixes = tuple(f"{each.plugin}." for each in plugins)
    unknown = [key for key in stored if key not in known and key.startswith(prefixes)]
    for key in unknown:
        message = f"a value is stored for {key}, and the installed version of the plugin has no such setting"
        fix = _unset(key, f"remove the stored value of {key}")
        yield warning(message, f"oneclaw config unset {key}, if it is not needed", fix)
    installed = {record.name for record in catalog.plugins}
    without_plugin = {key: plugin for key in stored if (plugin := plugin_of(key)) and plugin not in installed}
    for key, plugin in without_plugin.items():
        message = f"a value is stored for {key}, and the plugin {plugin} is not installed"
        yield warning(message, f"{how_to_install(plugin)}, or: oneclaw config unset {key}")
    if not (faults or missing or unknown or without_plugin):
        yield ok("all values are valid")


def check_model(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that the default model has a service, and that service its key."""
    model, source = default_model(catalog.states.settings, os.environ)
    choose = "choose one with: oneclaw models default PROVIDER/MODEL"
    if source.startswith("environment"):
        choose = "change or unset the environment variable ONECLAW_MODEL"
    try:
        config, _ = Providers(catalog.states.settings, os.environ, catalog.known_providers).split(model)
    except UsageError as error:
        yield problem(f"{source}: {error}", choose)
        return
    keys = KeyStore(catalog.home, os.environ, catalog.known_providers)
    if config.type not in catalog.provider_types:
        message = f"no plugin brings the provider type {config.type!r} that {model} ({source}) needs"
        plugin = PROVIDER_PLUGINS.get(config.type)
        install = "repair or install the plugin that brings it"
        if plugin is not None:
            install = f"the plugin {plugin} {why_missing(plugin, catalog.absent_plugins)}"
        yield problem(message, f"{install}, or {choose}")
    elif lacks_key(config, keys):
        message = f"the service of {model} ({source}) wants a key, and none is set"
        remedy = f"set it in the environment variable {config.key_variable} or with: oneclaw keys set {config.name}"
        yield problem(message, remedy)
    else:
        has_key = config.api_key is not None or (not config.is_local and config.name in keys.stored())
        yield ok(f"{model} ({source}){', its key is set' if has_key else ''}")


def check_chains(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that the models behind chains can be asked."""
    known = catalog.known_providers
    configs = Providers(catalog.states.settings, os.environ, known)
    keys = KeyStore(catalog.home, os.environ, known)
    for config in configs.values():
        for name in config.models:
            chain = f"{config.name}/{name}"
            add = f"oneclaw providers add {chain} --model PROVIDER/MODEL ..."
            remedy = f"correct that, or add the chain again with: {add}"
            factory = catalog.provider_types.get(config.type)
            if factory is None:
                yield problem(f"no plugin brings its provider type {config.type!r}", remedy)
                continue
            try:
                route = read_composition(config, factory, name, config.models[name])
            except OneClawError as error:
                yield problem(str(error), remedy)
                continue
            faults = {each: fault for each in route.models if (fault := _member_fault(each, configs, keys))}
            if faults:
                message = "; ".join(f"{each}: {why}" for each, why in faults.items())
                health = Health.PROBLEM if len(faults) == len(route.models) else Health.WARNING
                yield CheckLine(health, f"{chain} cannot ask {message}", remedy)
            else:
                aside = set_aside_now(route.models, catalog.states.settings, time.time())
                notes = "".join(f"; {each} {why}" for each, why in aside.items())
                yield ok(f"{chain} asks {', then '.join(route.models)}{notes}")


def _member_fault(model: str, configs: Providers, keys: KeyStore) -> str:
    """Say in a few words why a model behind a chain cannot be asked; nothing if it can."""
    try:
        config, _ = configs.split(model)
    except NotFoundError:
        return f"there is no provider {model.partition('/')[0]!r}"
    except UsageError:
        return "its provider is disabled"
    if config.models:
        return "a chain has models of services, no other chains"
    return "it has no key" if lacks_key(config, keys) else ""


def check_keys(home: Home) -> Iterator[CheckLine]:
    """Check that the stored keys can be read, and by their owner alone. The system keyring is not asked."""
    path = home.path / "keys.json"
    if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        message = f"{path} is open to other users, who may have read the keys in it"
        remedy = f"chmod 600 {path}, and replace keys that others may have seen"
        yield problem(message, remedy, _close_to_others(path, 0o600))
        return
    places = list(KeyStore(home, os.environ).stored().values())
    if places:
        in_keyring = places.count(KeySource.KEYRING)
        message = f"{in_keyring} stored in the system keyring, {len(places) - in_keyring} in keys.json"
        yield ok(message)


def check_plugins(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check every plugin."""
    report_skill_problems(catalog)
    report_origins(catalog.home, catalog.plugins, is_thorough=True)
    timeouts = HookTimeouts(find_home().hook_timeouts)
    for record in catalog.plugins:
        yield from _check_plugin(record)
        for hook in () if record.is_disabled else timeouts.switched_off(record):
            message = f"its hook {hook} is switched off for an hour: it timed out three times within ten minutes"
            remedy = (
                f"try it again at once with: oneclaw plugins enable {record.name}; or disable the plugin with: "
                f"oneclaw plugins disable {record.name}"
            )
            yield problem(message, remedy, check=f"plugin {record.name}")
    if catalog.names_error:
        message = f"the owners of names cannot be read or noted: {catalog.names_error}"
        remedy = "until that is repaired, names that several packages register may be withheld from all of them"
        yield warning(message, remedy)
    installed = {record.name for record in catalog.plugins}
    for plugin, message in missing_parts(catalog.home.path, installed).items():
        yield warning(message, how_to_install(plugin))
    for name in sorted(disabled_plugins(catalog.states.settings, os.environ) - installed - {""}):
        message = f"{name!r} is disabled, but no plugin of that name is installed"
        yield warning(message, "correct the setting disabled_plugins, if it is a slip")


def _check_plugin(record: Plugin) -> Iterator[CheckLine]:
    check, about = f"plugin {record.name}", record.package or record.target
    if record.is_disabled:
        yield ok(f"{about}, disabled", check=check)
        return
    about += f", {len(record.tools)} {'tool' if len(record.tools) == 1 else 'tools'}"
    if record.import_ms is not None:
        about += f", imported in {record.import_ms:.1f} ms"
    for each in record.problems:
        status = Health.PROBLEM if each.is_error else Health.WARNING
        yield CheckLine(status, f"{about}: {each.where}: {each.cause}", each.remedy, check=check)
    if not record.problems:
        yield ok(about, check=check)


def check_by_plugins(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Report the results of the plugins' own checks."""
    registrations = (each for record in catalog.plugins for each in record.registrations)
    if not any(each.hook == CHECK_HOOK and "of" not in each.options for each in registrations):
        return

    try:
        with reserved_stdout():
            made_checks = with_home(lambda claw: claw.plugins.run_checks(), migrates=False)
    except StoreVersionError:
        return  # the check of the database says it
    for made in made_checks:
        for each in made.results:
            name, message = f"plugin {made.registration.plugin}", f"{made.registration.name}: {each.message}"
            fix = _fix_of_plugin(made.registration.plugin, each.fix)
            yield CheckLine(each.status, redact(message), each.remedy and redact(each.remedy), fix, check=name)


def check_tools(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that there are tools."""
    registry = catalog.registry
    count, enabled = len(registry.get_all_tool_names()), len(registry.get_all_tool_definitions())
    core, groups = len(registry.get_core_tool_definitions()), len(registry.get_all_group_definitions())
    where = "1 group" if groups == 1 else f"{groups} groups"
    message = f"{count} tools in {where}, {enabled} of them enabled; {core} are always sent"
    if registry.get_tool("load_tool_group") is None:
        remedy = "reinstall oneclaw-core: its built-in tools are missing"
        yield problem(f"{message}; load_tool_group is missing", remedy)
    else:
        yield ok(message)


def check_permissions(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """List the grants of version 0.1 that were narrowed when permissions were split by harm."""
    granted = {
        each.permission for each in catalog.states.grants if each.source == "version 0.1" and each.pattern is None
    }
    for name in sorted(granted):
        whole, _, part = name.rpartition(".")
        if part == "organize" and f"{whole}.write" in granted:
            now = f"{whole}.write and {name}: it covers nothing that sends, shares or deletes"
            remedy = "oneclaw permissions list shows the others, oneclaw permissions grant grants them"
            yield warning(f"what you granted as {whole}.write is now {now}", remedy)


def check_sandbox(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Report what the sandbox for commands enforces, and why commands are asked for if it is not all."""
    setting = read_settings(catalog.states.settings, os.environ).sandbox
    chosen = choose_sandbox(setting)
    strength = chosen.strength
    error = _policy_error(catalog) if strength.is_available else None
    if error is not None:
        message = f"{chosen.name} cannot be used here, so each command is asked for: {error}"
        yield warning(message, "start OneClaw in another directory, or move what is named")
        return
    if strength.is_whole:
        yield ok(f"{chosen.name}: commands run in it without a question")
        return
    better = "".join(f"; {rejected.reason}" for _, rejected in chosen.rejected if chosen.backend is not None)
    message = f"{chosen.name}, so each command is asked for: {'; '.join(strength.gaps) or strength.reason}{better}"
    remedies = [rejected.remedy for _, rejected in chosen.rejected] or [strength.remedy]
    if setting == "off":
        yield ok(message)
    else:
        yield warning(message, remedies[0] or "oneclaw config set sandbox auto")


def _policy_error(catalog: HomeCatalog) -> Exception | None:
    """Make the policy of a command that is started here; return the error if that fails."""
    home, here = catalog.home, Path.cwd()
    if not home.workspace.is_dir():  # a new home stays untouched
        return None
    try:
        sandbox_policy(PathGuard(home.workspace, here, home.path, trusts_start=catalog.is_trusted(here)))
    except (SandboxError, OSError) as error:
        return error
    return None


def check_log(home: Home) -> Iterator[CheckLine]:
    """Check that the log can be written."""
    path = home.log_file
    try:
        size_bytes = path.stat().st_size
        is_writable = os.access(path, os.W_OK)
    except FileNotFoundError:
        yield ok(f"{path} does not exist yet; it is made when there is something to log")
        return
    except OSError:
        is_writable = False
    if is_writable:
        yield ok(f"{path}, {size_bytes / 1_000_000:.1f} MB")
    else:
        yield warning(f"{path} cannot be written", "let this user write it")


_OF_HOME: dict[str, Callable[[Home], Iterable[CheckLine]]] = {
    "python": check_python,
    "oneclaw": check_package,
    "workers": check_workers,
    "home": check_home,
    "database": check_database,
    "keys": check_keys,
}
"""The checks that need no plugins, by the names of their lines."""

_OF_CATALOG: tuple[tuple[str, Callable[[HomeCatalog], Iterable[CheckLine]]], ...] = (
    ("settings", check_settings),
    ("model", check_model),
    ("chains", check_chains),
    ("plugins", check_plugins),
    ("tools", check_tools),
    ("permissions", check_permissions),
    ("sandbox", check_sandbox),
    ("plugins", check_by_plugins),
)
"""The checks that need the plugins."""
