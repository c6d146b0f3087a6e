"""The checks and the page before an installation: releases, files and names."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.cli import check_commands, load_catalog
from oneclaw_devtools.installing.clashes import NewPlugins
from oneclaw_devtools.installing.output import show
from oneclaw_devtools.installing.plugin_index import read_index, warnings_of
from oneclaw_devtools.installing.wheel_contents import read_contents
from oneclaw_devtools.settings import index_path, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_devtools.installing.clashes import NameClash
    from oneclaw_devtools.installing.package_manager import ResolvedPackage
    from oneclaw_devtools.installing.record import RecordedPlugin
    from oneclaw_devtools.installing.requirement import PluginRequirement
    from oneclaw_devtools.reviewing.sandboxed_look import Look


def show_packages(
    packages: Iterable[ResolvedPackage],
    recorded: Mapping[str, RecordedPlugin],
    folder: Path,
    warnings: Mapping[str, Sequence[str]],
) -> None:
    """Show the packages that would be installed: where they come from, what is in them, and what to know of them."""
    contents = read_contents(folder)
    show("to be installed:")
    for package in packages:
        show(f"  {package.name} {package.version} from {package.url}")
        show(f"    sha256 {package.sha256}" if package.sha256 else "    without a hash: a folder or a repository")
        for line in warnings.get(package.name, ()):
            show(f"    {line}")
        known = recorded.get(package.name)
        if known and known.version == package.version and known.sha256 not in ("", package.sha256):
            show(f"    this is another file than the one installed before, sha256 {known.sha256}")
        if package.is_source:
            show("    built from source, which runs its code")
        for line in contents[package.name].lines() if package.name in contents else ():
            show(f"    {line}")


def release_warnings(packages: Sequence[ResolvedPackage]) -> dict[str, list[str]]:
    """Return what a user should know of releases before installing them, by package.

    Raises:
        OneClawError: the index blocks one, or cannot be read.
    """
    settings = read_settings(load_catalog(is_quiet=True).states.settings)
    index = read_index(index_path(settings))
    entries = {each.name: index.find(each) if index is not None else None for each in packages}
    for name, entry in entries.items():
        if entry is not None and entry.blocked:
            raise OneClawError(f"{name} {entry.version} is blocked by the index: {entry.blocked}")
    return {each.name: list(warnings_of(each, entries[each.name], settings.young_days)) for each in packages}


def settle_names(folder: Path, look: Look, wanted: Iterable[PluginRequirement], shadowing: Sequence[str]) -> None:
    """Refuse packages that register names of others, unless the user gives these names to them.

    Args:
        folder: where the packages were unpacked to.
        look: the findings of the look at them.
        wanted: what the user asks for.
        shadowing: the names that the user gives to them.

    Raises:
        UsageError: a name is given that no package, or more than one, registers.
        OneClawError: a name belongs to another package, or cannot be given away.
    """
    catalog = load_catalog(is_quiet=True)
    new = NewPlugins(folder, look, catalog.plugins, {each.name for each in wanted})
    for name in shadowing:
        having = new.packages_with(name)
        if len(having) != 1:
            who = f"{' and '.join(having)} both register" if having else "no package of these registers"
            unseen = f" (not looked at: {look.unseen}; give the name after the installation)" if look.unseen else ""
            raise UsageError(f"--allow-shadowing {name}: {who} that name{unseen}; nothing was installed")
    clashes = new.clashes(catalog.registry, check_commands)
    refused = [each for each in clashes if each.name not in shadowing or each.is_final]
    if refused:
        raise OneClawError(_refusal(refused))
    new.give(shadowing)


def _refusal(clashes: Sequence[NameClash]) -> str:
    """Say which names are taken, and how to install all the same."""
    options = " ".join(
        dict.fromkeys(f"--allow-shadowing {shlex.quote(each.name)}" for each in clashes if not each.is_final)
    )
    way_round = f", or give the names to the new package with: {options}" if options else ""
    return (
        f"{'; '.join(map(str, clashes))}: nothing was installed. Leave it out, uninstall the package that has the "
        f"name{way_round}"
    )
