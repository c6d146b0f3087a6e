"""Checks of an installation: `oneclaw doctor`. Each check stands alone; a failed one hides no other."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.fixing import apply_fixes, check_can_ask, close_to_others, of_plugin, unset
from oneclaw_core.cli.output import json_option, print_json, print_text, printable_line, reserved_stdout, styled
from oneclaw_core.cli.running import with_home
from oneclaw_core.contract.checks import Health
from oneclaw_core.errors import NotFoundError, OneClawError, StoreError, StoreVersionError, UsageError, describe_error
from oneclaw_core.plugins.plugin import CHECK_HOOK
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.cli.fixing import LineFix
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.providers import Providers
    from oneclaw_core.plugins.plugin import Plugin
    from oneclaw_core.system.home import Home

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE_BYTES = 50_000_000

_log = logging.getLogger("oneclaw.cli")


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One line of what `oneclaw doctor` shows.

    Attributes:
        check: what was looked at, such as ``home`` or ``plugin pdf``.
        status: how it is.
        message: one line.
        remedy: what to do about it, ``None`` if it is as it should be.
        fix: what does that, if OneClaw can do it.
    """

    check: str
    status: Health
    message: str
    remedy: str | None = None
    fix: LineFix | None = None

    def document(self) -> dict[str, str | None]:
        """The same for JSON."""
        return {
            "check": self.check,
            "status": str(self.status),
            "message": self.message,
            "remedy": self.remedy,
            "fix": None if self.fix is None else self.fix.summary,
        }


def examine(name: str, check: Callable[[], Iterable[CheckLine]]) -> list[CheckLine]:
    """Make a check; if it breaks, that is a finding too."""
    try:
        return list(check())
    except OneClawError as error:
        # By convention the last part of a message says what to do.
        cause, _, remedy = redact(str(error)).rpartition(": ")
        return [CheckLine(name, Health.PROBLEM, cause or remedy, remedy)]
    except Exception as error:  # noqa: BLE001  # the doctor has to go on whatever is broken
        _log.error("checking %s", name, exc_info=error)
        text = " ".join(redact(describe_error(error)).split())
        return [CheckLine(name, Health.PROBLEM, f"this could not be checked: {text}", "see the log for the traceback")]


def check_python() -> Iterator[CheckLine]:
    """Check that Python is new enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= OLDEST_PYTHON:
        yield CheckLine("python", Health.OK, f"Python {version} at {sys.executable}")
    else:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        yield CheckLine("python", Health.PROBLEM, f"Python {version} is too old", f"use Python {oldest} or newer")


def check_package() -> Iterator[CheckLine]:
    """Check that the installed package is the one that runs."""
    import importlib_metadata

    where = Path(__file__).parents[1]
    try:
        installed = importlib_metadata.version("oneclaw-core")
    except importlib_metadata.PackageNotFoundError:
        installed = None
    if installed == __version__:
        yield CheckLine("oneclaw", Health.OK, f"oneclaw-core {__version__} at {where}")
    else:
        yield CheckLine(
            "oneclaw",
            Health.WARNING,
            f"oneclaw-core {__version__} runs from {where}, but {installed or 'none'} is installed",
            "reinstall oneclaw-core",
        )


def check_workers() -> Iterator[CheckLine]:
    """Check that processes that run code of others can be confined."""
    from oneclaw_core.process.sandbox.landlocked import Landlocked

    what = "isolated tools and JavaScript"
    strength = Landlocked().probe()
    if strength.is_available:
        yield CheckLine("workers", Health.OK, f"{what} are confined by Landlock and seccomp")
    elif sys.platform == "linux":
        message = f"{what} have separate processes, which are not wholly confined: {strength.reason}"
        yield CheckLine("workers", Health.WARNING, message, strength.remedy)
    else:
        yield CheckLine("workers", Health.OK, f"{what} have separate processes; this system cannot confine them")


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
        yield CheckLine(
            "home",
            Health.PROBLEM,
            f"{what} cannot be used: {error.strerror or error}",
            "make it a directory that this user can read and write, or set ONECLAW_HOME to another one",
        )
        return
    if directory != home.path:
        yield CheckLine("home", Health.OK, f"{home.path} does not exist yet; it is made when something is stored")
        return
    mode = stat.S_IMODE(state.st_mode)
    if mode & 0o077:
        message = f"{home.path} is open to other users (mode {mode:o})"
        fix = close_to_others(home.path, 0o700)
        yield CheckLine("home", Health.WARNING, message, f"chmod 700 {home.path}", fix)
    else:
        yield CheckLine("home", Health.OK, str(home.path))
    free_bytes = shutil.disk_usage(home.path).free
    if free_bytes < LITTLE_SPACE_BYTES:
        yield CheckLine(
            "disk", Health.WARNING, f"only {free_bytes // 1_000_000} MB are free", "free some space on the home's disk"
        )


def check_database(home: Home) -> Iterator[CheckLine]:
    """Check that the database opens, that its schema is known, and that it is whole."""
    from oneclaw_core.installation.stores import home_with_backend
    from oneclaw_core.sessions.backend import SCHEMA_VERSION, looking_into

    _, backend = home_with_backend(home, os.environ)
    with looking_into(backend) as connection:
        if connection is None:
            if home.path.exists() and not home.path.is_dir():
                raise StoreError(f"{backend.name} cannot be read: {home.path} is not a directory")
            message = f"{backend.name} does not exist yet; it is made when something is stored"
            yield CheckLine("database", Health.OK, message)
            return
        found = backend.inspect(connection)
        is_older = found.remedy is None and 0 < backend.version(connection) < SCHEMA_VERSION
    if is_older:
        message = (
            f"{found.message}; the checks of plugins are left out until it is migrated: this version of OneClaw needs "
            f"schema {SCHEMA_VERSION}"
        )
        yield CheckLine("database", Health.WARNING, message, backend.how_to_migrate)
    elif found.remedy is None:
        yield CheckLine("database", Health.OK, found.message)
    else:
        yield CheckLine("database", Health.PROBLEM, found.message, found.remedy)


def check_settings(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that the settings can be read and are valid, those of plugins too."""
    from oneclaw_core.cli.keys import all_secrets
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.plugin_settings import registered_settings
    from oneclaw_core.config.settings import setting_states
    from oneclaw_core.shipped.missing import how_to_install, plugin_of

    if catalog.states_error is not None:
        raise catalog.states_error
    stored, plugins = catalog.states.settings, registered_settings(catalog.plugins)
    states = setting_states(stored, os.environ, plugins, is_thorough=True)
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
            fix = unset(state.key, f"take {state.key} back to its default, {state.default!r}")
        yield CheckLine("settings", Health.PROBLEM, state.problem or "", remedy, fix)
    secrets = KeyStore(catalog.home, os.environ).stored()
    missing = [
        each
        for each in all_secrets(catalog)
        if each.is_required and each.stored_as not in secrets and not os.environ.get(each.variable)
    ]
    for secret in missing:
        message = f"the plugin {secret.plugin} needs the secret {secret.key}, and it is not set"
        remedy = f"oneclaw keys set {secret.key}, or set the environment variable {secret.variable}"
        yield CheckLine("settings", Health.PROBLEM, message, remedy)
    known = {key for each in plugins for field in each.fields for key in (field.key, *field.aliases)}
    prefixes = tuple(f"{each.plugin}." for each in plugins)
    unknown = [key for key in stored if key not in known and key.startswith(prefixes)]
    for key in unknown:
        message = f"a value is stored for {key}, and the installed version of the plugin has no such setting"
        fix = unset(key, f"remove the stored value of {key}")
        yield CheckLine("settings", Health.WARNING, message, f"oneclaw config unset {key}, if it is not needed", fix)
    installed = {record.name for record in catalog.plugins}
    without_plugin = {key: plugin for key in stored if (plugin := plugin_of(key)) and plugin not in installed}
    for key, plugin in without_plugin.items():
        message = f"a value is stored for {key}, and the plugin {plugin} is not installed"
        yield CheckLine(
            "settings", Health.WARNING, message, f"{how_to_install(plugin)}, or: oneclaw config unset {key}"
        )
    if not (faults or missing or unknown or without_plugin):
        yield CheckLine("settings", Health.OK, "all values are valid")


def check_model(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that the default model has a service, and that service its key."""
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.providers import Providers, default_model, lacks_key
    from oneclaw_core.plugins.distributions import PROVIDER_PLUGINS
    from oneclaw_core.shipped.missing import why_missing

    model, source = default_model(catalog.states.settings, os.environ)
    choose = "choose one with: oneclaw models default PROVIDER/MODEL"
    if source.startswith("environment"):
        choose = "change or unset the environment variable ONECLAW_MODEL"
    try:
        config, _ = Providers(catalog.states.settings, os.environ, catalog.known_providers).split(model)
    except UsageError as error:
        yield CheckLine("model", Health.PROBLEM, f"{source}: {error}", choose)
        return
    keys = KeyStore(catalog.home, os.environ, catalog.known_providers)
    if config.type not in catalog.provider_types:
        message = f"no plugin brings the provider type {config.type!r} that {model} ({source}) needs"
        plugin = PROVIDER_PLUGINS.get(config.type)
        install = "repair or install the plugin that brings it"
        if plugin is not None:
            install = f"the plugin {plugin} {why_missing(plugin, catalog.absent_plugins)}"
        yield CheckLine("model", Health.PROBLEM, message, f"{install}, or {choose}")
    elif lacks_key(config, keys):
        message = f"the service of {model} ({source}) wants a key, and none is set"
        remedy = f"set it in the environment variable {config.key_variable} or with: oneclaw keys set {config.name}"
        yield CheckLine("model", Health.PROBLEM, message, remedy)
    else:
        has_key = config.api_key is not None or (not config.is_local and config.name in keys.stored())
        yield CheckLine("model", Health.OK, f"{model} ({source}){', its key is set' if has_key else ''}")


def check_chains(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that the models behind chains can be asked."""
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.provider_service import read_composition
    from oneclaw_core.config.providers import Providers
    from oneclaw_core.models.fallback import set_aside_now

    known = catalog.known_providers
    configs = Providers(catalog.states.settings, os.environ, known)
    keys = KeyStore(catalog.home, os.environ, known)
    for config in configs.values():
        for name in config.models:
            chain = f"{config.name}/{name}"
            remedy = (
                f"correct that, or add the chain again with: oneclaw providers add {chain} --model PROVIDER/MODEL ..."
            )
            factory = catalog.provider_types.get(config.type)
            if factory is None:
                fault = f"no plugin brings its provider type {config.type!r}"
                yield CheckLine("chains", Health.PROBLEM, fault, remedy)
                continue
            try:
                route = read_composition(config, factory, name, config.models[name])
            except OneClawError as error:
                yield CheckLine("chains", Health.PROBLEM, str(error), remedy)
                continue
            faults = {each: fault for each in route.models if (fault := _member_fault(each, configs, keys))}
            if faults:
                message = "; ".join(f"{each}: {why}" for each, why in faults.items())
                health = Health.PROBLEM if len(faults) == len(route.models) else Health.WARNING
                yield CheckLine("chains", health, f"{chain} cannot ask {message}", remedy)
            else:
                aside = set_aside_now(route.models, catalog.states.settings, time.time())
                notes = "".join(f"; {each} {why}" for each, why in aside.items())
                yield CheckLine("chains", Health.OK, f"{chain} asks {', then '.join(route.models)}{notes}")


def _member_fault(model: str, configs: Providers, keys: KeyStore) -> str:
    """Say in a few words why a model behind a chain cannot be asked; nothing if it can."""
    from oneclaw_core.config.providers import lacks_key

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
    from oneclaw_core.config.keys import KeySource, KeyStore

    path = home.path / "keys.json"
    if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        message = f"{path} is open to other users, who may have read the keys in it"
        remedy = f"chmod 600 {path}, and replace keys that others may have seen"
        yield CheckLine("keys", Health.PROBLEM, message, remedy, close_to_others(path, 0o600))
        return
    places = list(KeyStore(home, os.environ).stored().values())
    if places:
        in_keyring = places.count(KeySource.KEYRING)
        message = f"{in_keyring} stored in the system keyring, {len(places) - in_keyring} in keys.json"
        yield CheckLine("keys", Health.OK, message)


def check_plugins(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check every plugin."""
    from oneclaw_core.config.user_choices import disabled_plugins
    from oneclaw_core.installation.origins import report_origins
    from oneclaw_core.installation.skill_checks import report_skill_problems
    from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
    from oneclaw_core.shipped.missing import how_to_install, missing_parts
    from oneclaw_core.system.home import find_home

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
            yield CheckLine(f"plugin {record.name}", Health.PROBLEM, message, remedy)
    if catalog.names_error:
        message = f"the owners of names cannot be read or noted: {catalog.names_error}"
        remedy = "until that is repaired, names that several packages register may be withheld from all of them"
        yield CheckLine("plugins", Health.WARNING, message, remedy)
    installed = {record.name for record in catalog.plugins}
    for plugin, message in missing_parts(catalog.home.path, installed).items():
        yield CheckLine("plugins", Health.WARNING, message, how_to_install(plugin))
    for name in sorted(disabled_plugins(catalog.states.settings, os.environ) - installed - {""}):
        message = f"{name!r} is disabled, but no plugin of that name is installed"
        yield CheckLine("plugins", Health.WARNING, message, "correct the setting disabled_plugins, if it is a slip")


def _check_plugin(record: Plugin) -> Iterator[CheckLine]:
    check, about = f"plugin {record.name}", record.package or record.target
    if record.is_disabled:
        yield CheckLine(check, Health.OK, f"{about}, disabled")
        return
    about += f", {len(record.tools)} {'tool' if len(record.tools) == 1 else 'tools'}"
    if record.import_ms is not None:
        about += f", imported in {record.import_ms:.1f} ms"
    for problem in record.problems:
        status = Health.PROBLEM if problem.is_error else Health.WARNING
        yield CheckLine(check, status, f"{about}: {problem.where}: {problem.cause}", problem.remedy)
    if not record.problems:
        yield CheckLine(check, Health.OK, about)


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
            fix = of_plugin(made.registration.plugin, each.fix)
            yield CheckLine(name, each.status, redact(message), each.remedy and redact(each.remedy), fix)


def check_tools(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Check that there are tools."""
    registry = catalog.registry
    count, enabled = len(registry.get_all_tool_names()), len(registry.get_all_tool_definitions())
    core, groups = len(registry.get_core_tool_definitions()), len(registry.get_all_group_definitions())
    where = "1 group" if groups == 1 else f"{groups} groups"
    message = f"{count} tools in {where}, {enabled} of them enabled; {core} are always sent"
    if registry.get_tool("load_tool_group") is None:
        remedy = "reinstall oneclaw-core: its built-in tools are missing"
        yield CheckLine("tools", Health.PROBLEM, f"{message}; load_tool_group is missing", remedy)
    else:
        yield CheckLine("tools", Health.OK, message)


def check_permissions(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """List the grants of version 0.1 that were narrowed when permissions were split by harm."""
    granted = {
        each.permission for each in catalog.states.grants if each.source == "version 0.1" and each.pattern is None
    }
    for name in sorted(granted):
        whole, _, part = name.rpartition(".")
        if part == "organize" and f"{whole}.write" in granted:
            message = (
                f"what you granted as {whole}.write is now {whole}.write and {name}: it covers nothing that sends, "
            )
            remedy = "oneclaw permissions list shows the others, oneclaw permissions grant grants them"
            yield CheckLine("permissions", Health.WARNING, f"{message}shares or deletes", remedy)


def check_sandbox(catalog: HomeCatalog) -> Iterator[CheckLine]:
    """Report what the sandbox for commands enforces, and why commands are asked for if it is not all."""
    from oneclaw_core.config.settings import SettingsReader
    from oneclaw_core.process import choose_sandbox

    setting = SettingsReader(os.environ).validated(catalog.states.settings).sandbox
    chosen = choose_sandbox(setting)
    strength = chosen.strength
    error = _policy_error(catalog) if strength.is_available else None
    if error is not None:
        message = f"{chosen.name} cannot be used here, so each command is asked for: {error}"
        yield CheckLine("sandbox", Health.WARNING, message, "start OneClaw in another directory, or move what is named")
        return
    if strength.is_whole:
        yield CheckLine("sandbox", Health.OK, f"{chosen.name}: commands run in it without a question")
        return
    better = "".join(f"; {rejected.reason}" for _, rejected in chosen.rejected if chosen.backend is not None)
    message = f"{chosen.name}, so each command is asked for: {'; '.join(strength.gaps) or strength.reason}{better}"
    remedies = [rejected.remedy for _, rejected in chosen.rejected] or [strength.remedy]
    if setting == "off":
        yield CheckLine("sandbox", Health.OK, message)
    else:
        yield CheckLine("sandbox", Health.WARNING, message, remedies[0] or "oneclaw config set sandbox auto")


def _policy_error(catalog: HomeCatalog) -> Exception | None:
    """Make the policy of a command that is started here; return the error if that fails."""
    from oneclaw_core.errors import SandboxError
    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.process.sandbox_rules import sandbox_policy

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
        yield CheckLine("log", Health.OK, f"{path} does not exist yet; it is made when there is something to log")
        return
    except OSError:
        is_writable = False
    if is_writable:
        yield CheckLine("log", Health.OK, f"{path}, {size_bytes / 1_000_000:.1f} MB")
    else:
        yield CheckLine("log", Health.WARNING, f"{path} cannot be written", "let this user write it")


_COLOURS = {Health.OK: "green", Health.WARNING: "yellow", Health.PROBLEM: "red"}


@click.command()
@json_option
@click.option("--fix", "fixes", is_flag=True, help="Offer to fix what can be fixed, and check again.")
@click.option("--yes", "says_yes", is_flag=True, help="With --fix, fix everything without asking.")
@click.pass_context
def doctor(context: click.Context, as_json: bool, fixes: bool, says_yes: bool) -> None:
    """Check the installation, and say how to fix problems.

    The exit status is 1 if there is a problem; warnings do not count.
    """
    if fixes and as_json:
        raise UsageError("--fix asks questions: it cannot be used with --json")
    if fixes:
        check_can_ask(says_yes=says_yes)
    findings = _examine_all()
    if fixes:
        _print_lines(findings)
        possible = [(each.check, each.fix) for each in findings if each.fix is not None]
        if not possible:
            print_text("\nthere is nothing that OneClaw can fix by itself")
        elif apply_fixes(possible, says_yes=says_yes):
            print_text("\nchecked again:")
            findings = _examine_all()
            _print_lines(findings)
    elif as_json:
        print_json({"status": str(_worst(findings)), "checks": [each.document() for each in findings]})
    else:
        _print_lines(findings)
    context.exit(1 if _worst(findings) is Health.PROBLEM else 0)


def _examine_all() -> list[CheckLine]:
    from oneclaw_core.cli.catalog import load_catalog
    from oneclaw_core.system.home import find_home

    home = find_home()
    catalogs: list[HomeCatalog] = []

    def load() -> Iterable[CheckLine]:
        catalogs.append(load_catalog(is_quiet=True))
        return ()

    checks: dict[str, Callable[[], Iterable[CheckLine]]] = {
        "python": check_python,
        "oneclaw": check_package,
        "workers": check_workers,
        "home": partial(check_home, home),
        "database": partial(check_database, home),
        "keys": partial(check_keys, home),
        "plugins": load,
    }
    findings = [line for name, check in checks.items() for line in examine(name, check)]
    for catalog in catalogs:
        for name, check_with in _OF_CATALOG:
            findings += examine(name, partial(check_with, catalog))
    return [*findings, *examine("log", partial(check_log, home))]


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
"""The checks that need the plugins, with the names of lines that say that one broke."""


def _worst(findings: Iterable[CheckLine]) -> Health:
    return max((finding.status for finding in findings), key=list(Health).index, default=Health.OK)


def _print_lines(findings: list[CheckLine]) -> None:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        status = styled(f"{finding.status:<7}", sys.stdout, fg=_COLOURS[finding.status])
        click.echo(f"{status}  {printable_line(finding.check).ljust(width)}  {printable_line(finding.message)}")
        if finding.remedy is not None:
            how = "; or oneclaw doctor --fix" if finding.fix is not None else ""
            click.echo(f"{'':{width + 11}}what to do: {printable_line(finding.remedy)}{how}")
    print_text(f"\n{_counted(findings, Health.PROBLEM)}, {_counted(findings, Health.WARNING)}")


def _counted(findings: Iterable[CheckLine], status: Health) -> str:
    count = sum(finding.status is status for finding in findings)
    return f"{count} {status}" if count == 1 else f"{count} {status}s"
