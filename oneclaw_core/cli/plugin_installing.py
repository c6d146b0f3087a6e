"""`oneclaw plugins install`, `upgrade`, `uninstall` and `sync`: changing which plugins are installed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.output import is_terminal, print_text, printable, printable_line, warn
from oneclaw_core.errors import OneClawError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.installing.environment import Environment
    from oneclaw_core.installing.installer import InstallationReport, PluginInstaller

# pip says so of everything that OneClaw needs itself.
_NOT_WORTH_SHOWING = "Requirement already satisfied:"

_yes_option = click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")


@click.command("install")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_yes_option
def install(packages: tuple[str, ...], is_confirmed: bool) -> None:
    """Install plugins into the environment that OneClaw runs in.

    PACKAGE is a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', a URL, or the path of a wheel or project. What is
    installed is noted in the home, so that 'oneclaw plugins sync' can restore it.
    """
    installer, environment = _installer()
    wanted = installer.wanted(packages)
    _confirm("Install", [each.shown for each in wanted], environment, is_confirmed=is_confirmed)
    _tell(installer.install(wanted))


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
    _confirm("Upgrade", [each.shown for each in wanted], environment, is_confirmed=is_confirmed)
    _tell(installer.upgrade(wanted))


@click.command("uninstall")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_yes_option
def uninstall(packages: tuple[str, ...], is_confirmed: bool) -> None:
    """Uninstall plugins, by the names of their packages."""
    installer, environment = _installer()
    names = installer.unwanted(packages)
    _confirm("Uninstall", names, environment, is_confirmed=is_confirmed)
    _tell(installer.uninstall(names))


@click.command("sync", short_help="Install again what OneClaw's upgrade took away.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Only say what would be installed.")
@_yes_option
def sync(is_dry: bool, is_confirmed: bool) -> None:
    """Install again what was installed before OneClaw itself was upgraded or reinstalled."""
    installer, environment = _installer()
    steps = installer.missing()
    if not steps:
        print_text("nothing is missing")
        return
    if is_dry:
        for step in steps:
            print_text(f"{step.recorded.name}: {step.reason}; would be installed: {_shown(step.recorded.requirement)}")
        return
    _confirm("Install", [step.recorded.name for step in steps], environment, is_confirmed=is_confirmed)
    _tell(installer.sync(steps))


def _installer() -> tuple[PluginInstaller, Environment]:
    from oneclaw_core.home import find_home
    from oneclaw_core.installing.environment import detect_environment, gather_facts
    from oneclaw_core.installing.installer import PluginInstaller

    environment = detect_environment(gather_facts(os.environ))
    if environment.note:
        warn(environment.note)
    return PluginInstaller(find_home(), environment, os.environ, _show), environment


def _shown(requirement: str) -> str:
    from oneclaw_core.installing.requirement import without_credentials

    return without_credentials(requirement)


def _show(line: str) -> None:
    """Pass on what an installer prints, as progress: stdout is for what came of it."""
    from oneclaw_core.secrets import redact

    if line.startswith(_NOT_WORTH_SHOWING):
        return
    click.echo(f"  {printable(redact(_shown(line)))}", err=True)


def _confirm(verb: str, packages: Sequence[str], environment: Environment, *, is_confirmed: bool) -> None:
    if is_confirmed or not is_terminal(sys.stdin):
        return
    what = printable_line(", ".join(packages))
    where = printable_line(str(environment.prefix))
    preposition = "from" if verb == "Uninstall" else "in"
    if not click.confirm(f"{verb} {what} {preposition} {where} ({environment.kind})?", default=True, err=True):
        raise OneClawError("nothing was changed")


def _tell(report: InstallationReport) -> None:
    for line in (*report.done, *report.changes):
        print_text(line)
    if report.failures:
        for failure in report.failures[:-1]:
            warn(failure)
        raise OneClawError(report.failures[-1])
