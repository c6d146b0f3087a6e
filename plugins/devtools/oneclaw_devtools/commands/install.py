"""`oneclaw plugins install`, `upgrade`, `uninstall` and `sync`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.cli import is_terminal, print_text, printable, printable_line, warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_devtools.installing.environment import Environment
    from oneclaw_devtools.installing.installer import InstallationPlan, PluginInstaller
    from oneclaw_devtools.installing.record import RecordedPlugin

# pip prints this for everything that OneClaw itself requires.
_NOT_WORTH_SHOWING = "Requirement already satisfied:"

_yes_option = click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")


@click.command("install")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_yes_option
def install(packages: tuple[str, ...], is_confirmed: bool) -> None:
    """Install plugins into the environment that OneClaw runs in.

    PACKAGE is a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', the path of a wheel or project, or 'NAME @ URL'. What
    is installed is noted in the home, so that 'oneclaw plugins sync' can restore it.
    """
    installer, environment = _installer()
    plan = installer.plan(installer.wanted(packages))
    _install("Install", installer, environment, [plan], is_confirmed=is_confirmed)


@click.command("upgrade", short_help="Install newer versions of plugins.")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--all", "is_all", is_flag=True, help="Everything that was installed by 'oneclaw plugins install'.")
@_yes_option
def upgrade(packages: tuple[str, ...], is_all: bool, is_confirmed: bool) -> None:
    """Install the newest versions of plugins that go with this OneClaw."""
    if is_all == bool(packages):
        raise UsageError("name the packages to upgrade, or give --all")
    installer, environment = _installer()
    wanted = installer.wanted_newer(packages)
    if not wanted:
        print_text("nothing was installed by 'oneclaw plugins install'")
        return
    _install("Upgrade", installer, environment, [installer.plan(wanted, upgrade=True)], is_confirmed=is_confirmed)


@click.command("uninstall")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_yes_option
def uninstall(packages: tuple[str, ...], is_confirmed: bool) -> None:
    """Uninstall plugins, by the names of their packages."""
    installer, environment = _installer()
    names = installer.unwanted(packages)
    _confirm("Uninstall", names, environment, is_confirmed=is_confirmed)
    report = installer.uninstall(names)
    for line in report.done:
        print_text(line)
    _fail(report.failures)


@click.command("sync", short_help="Install again what OneClaw's upgrade took away.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Only say what would be installed.")
@_yes_option
def sync(is_dry: bool, is_confirmed: bool) -> None:
    """Install again what was installed before OneClaw itself was upgraded or reinstalled."""
    from oneclaw_devtools.installing.requirement import without_credentials

    installer, environment = _installer()
    missing = installer.missing()
    if not missing:
        print_text("nothing is missing")
        return
    if is_dry:
        recorded = installer.recorded()
        for name, reason in missing.items():
            requirement = without_credentials(recorded[name].requirement)
            print_text(f"{name}: {reason}; would be installed: {requirement}")
        return
    plans, failures = installer.plan_again(missing)
    _install("Install", installer, environment, plans, failures, is_confirmed=is_confirmed)


def _installer() -> tuple[PluginInstaller, Environment]:
    from oneclaw_core import find_home
    from oneclaw_devtools.installing.environment import find_environment
    from oneclaw_devtools.installing.installer import PluginInstaller
    from oneclaw_devtools.installing.package_manager import PackageManager

    environment = find_environment(os.environ)
    return PluginInstaller(find_home(), PackageManager(environment, os.environ, _show), Path.cwd()), environment


def _install(
    verb: str,
    installer: PluginInstaller,
    environment: Environment,
    plans: Sequence[InstallationPlan],
    failures: Sequence[str] = (),
    *,
    is_confirmed: bool,
) -> None:
    """Show what would be installed, ask, install it and print the outcome."""
    failures = list(failures)
    if any(plan.packages for plan in plans):
        _show_plans(plans, installer.recorded())
        names = [each.name for plan in plans for each in plan.wanted]
        _confirm(verb, names, environment, is_confirmed=is_confirmed)
    for plan in plans:
        try:
            report = installer.install(plan)
        except OneClawError as error:
            failures.append(str(error))
            continue
        for line in report.done:
            print_text(line)
        failures += report.failures
        if plan.packages and environment.remover:
            _show(f"'{environment.remover}' will remove plugins; run 'oneclaw plugins sync' after it")
    _fail(failures)


def _show_plans(plans: Sequence[InstallationPlan], recorded: Mapping[str, RecordedPlugin]) -> None:
    _show("to be installed:")
    for package in (package for plan in plans for package in plan.packages):
        _show(f"  {package.name} {package.version} from {package.url}")
        _show(f"    sha256 {package.sha256}" if package.sha256 else "    without a hash: a folder or a repository")
        known = recorded.get(package.name)
        if known and known.version == package.version and known.sha256 not in ("", package.sha256):
            _show(f"    this is another file than the one installed before, sha256 {known.sha256}")


def _show(line: str) -> None:
    """Print progress on stderr; stdout is for the outcome."""
    from oneclaw_core import redact
    from oneclaw_devtools.installing.requirement import without_credentials

    if not line.startswith(_NOT_WORTH_SHOWING):
        click.echo(f"  {printable(redact(without_credentials(line)))}", err=True)


def _confirm(verb: str, packages: Sequence[str], environment: Environment, *, is_confirmed: bool) -> None:
    if is_confirmed or not is_terminal(sys.stdin):
        return
    what = printable_line(", ".join(packages))
    where = printable_line(str(environment.prefix))
    preposition = "from" if verb == "Uninstall" else "in"
    if not click.confirm(f"{verb} {what} {preposition} {where} ({environment.description})?", default=True, err=True):
        raise OneClawError("nothing was changed")


def _fail(failures: Sequence[str]) -> None:
    for failure in failures[:-1]:
        warn(failure)
    if failures:
        raise OneClawError(failures[-1])
