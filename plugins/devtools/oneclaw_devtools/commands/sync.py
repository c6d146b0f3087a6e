"""`oneclaw plugins sync`: install again what an upgrade of OneClaw removed, or what another home has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.cli import print_text
from oneclaw_devtools.commands.install import yes_option
from oneclaw_devtools.installing.installed import find_package, parse_packages
from oneclaw_devtools.installing.installer import Installer
from oneclaw_devtools.installing.record import RecordedPlugin, read_recorded
from oneclaw_devtools.installing.requirement import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_devtools.installing.installer import Plan
    from oneclaw_devtools.installing.requirement import PluginRequirement


@click.command("sync", short_help="Reinstall the plugins that an upgrade of OneClaw removed.")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dry-run", "is_dry", is_flag=True, help="Only show what would be installed.")
@yes_option
def sync(file: Path | None, is_dry: bool, is_confirmed: bool) -> None:
    """Install again what was installed before OneClaw itself was upgraded or reinstalled.

    With FILE, the plugins.json of another home, install the same versions of the same plugins here.
    """
    installer = Installer(is_confirmed=is_confirmed)
    wanted = installer.recorded
    if file is not None:
        wanted = installer.expected = {name: _pinned(each) for name, each in read_recorded(file).items()}
    missing = {each: reason for each in wanted.values() if (reason := _why_missing(each.name, each, file))}
    if not missing:
        print_text("nothing is missing")
    elif is_dry:
        for each, reason in missing.items():
            print_text(f"{each.name}: {reason}; would be installed: {without_credentials(each.requirement)}")
    else:
        plans, failures = _plan_again(missing, installer)
        installer.install("Install", plans, failures, is_checked=False)


def _plan_again(missing: Iterable[RecordedPlugin], installer: Installer) -> tuple[list[Plan], list[str]]:
    """Plan to install recorded packages again; report those that are not available."""
    wanted: list[PluginRequirement] = []
    failures = []
    for each in missing:
        try:
            wanted += parse_packages([each.requirement])
        except UsageError as error:
            failures.append(f"{each.name}: {error}; install it from elsewhere")
    try:
        return ([(wanted, installer.resolve(wanted, upgrade=True))] if wanted else []), failures
    except OneClawError:
        plans: list[Plan] = []
    for one in wanted:
        try:
            plans.append(([one], installer.resolve([one], upgrade=True)))
        except OneClawError as error:
            failures.append(f"{one.name}: {error}")
    return plans, failures


def _pinned(recorded: RecordedPlugin) -> RecordedPlugin:
    """Return a record that asks for exactly the recorded version, unless it names a place."""
    is_place = "@" in recorded.requirement or "/" in recorded.requirement
    return recorded if is_place else replace(recorded, requirement=f"{recorded.name}=={recorded.version}")


def _why_missing(name: str, recorded: RecordedPlugin, file: Path | None) -> str | None:
    """Say why a recorded package has to be installed again.

    Args:
        name: of the package.
        recorded: what is wanted.
        file: the record of another home, whose versions are wanted; ``None`` for this home's own.
    """
    package = find_package(name)
    if package is None:
        return "it is not installed"
    if file is not None and package.version != recorded.version:
        return f"version {package.version} is installed"
    return None if package.is_for_this_core else f"version {package.version} was made for another oneclaw-core"
