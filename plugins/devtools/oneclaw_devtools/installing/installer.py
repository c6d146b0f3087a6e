"""Install, upgrade and uninstall plugins, and install them again after the program was replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import importlib_metadata

from oneclaw_core import NotFoundError, OneClawError, ProtectedError, UsageError
from oneclaw_core.plugins import core_requirements, find_incompatibility
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION
from oneclaw_devtools.installing.plugin_changes import (
    describe_changes,
    find_problems,
    installed_packages,
    load_in_new_process,
)
from oneclaw_devtools.installing.record import InstallationRecord, RecordedPlugin
from oneclaw_devtools.installing.requirement import PluginRequirement, parse_name, parse_requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core import Home
    from oneclaw_devtools.installing.package_manager import PackageManager, ResolvedPackage
    from oneclaw_devtools.installing.plugin_changes import InstalledPackage


@dataclass(frozen=True, slots=True)
class InstallationPlan:
    """Packages to install together.

    Attributes:
        wanted: What was asked for.
        packages: What would be installed for it, dependencies included; empty if all is there.
    """

    wanted: tuple[PluginRequirement, ...]
    packages: tuple[ResolvedPackage, ...]


@dataclass(frozen=True, slots=True)
class InstallationReport:
    """The outcome, in lines.

    Attributes:
        done: What happened to each package, and which plugins, tools and groups came and went.
        failures: What did not work, each with what to do.
    """

    done: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


class PluginInstaller:
    """Install plugins into one environment, and record them in one home.

    Args:
        home: Home with the record.
        manager: Package manager of the environment.
        directory: Base of relative paths.
    """

    def __init__(self, home: Home, manager: PackageManager, directory: Path) -> None:
        self._record = InstallationRecord(home)
        self._manager = manager
        self._directory = directory

    def recorded(self) -> Mapping[str, RecordedPlugin]:
        """Read which packages the user has installed, by name."""
        return self._record.read()

    def wanted(self, texts: Iterable[str]) -> list[PluginRequirement]:
        """Parse what is to be installed.

        Raises:
            UsageError: A text names no package, one that is named twice, or one that is installed and no plugin.
        """
        wanted = [parse_requirement(text, self._directory) for text in texts]
        packages, names = installed_packages(), [each.name for each in wanted]
        for name in names:
            if name in packages:
                _require_plugin(name, packages)
            if names.count(name) > 1:
                raise UsageError(f"{name} is named twice")
        return wanted

    def wanted_newer(self, texts: Iterable[str]) -> list[PluginRequirement]:
        """Parse what is to be upgraded; without texts everything that is recorded.

        Raises:
            NotFoundError: A package is not installed.
            UsageError: A package is no plugin.
        """
        recorded, packages = self._record.read(), installed_packages()
        newer = self.wanted(texts) or [self._again(each) for each in recorded.values()]
        for each in newer:
            if each.name not in recorded:
                _require_plugin(each.name, packages)
        is_plain = [each.text == each.name and each.name in recorded for each in newer]
        return [
            self._again(recorded[each.name]) if plain else each for each, plain in zip(newer, is_plain, strict=True)
        ]

    def unwanted(self, texts: Iterable[str]) -> list[str]:
        """Parse what is to be uninstalled.

        Raises:
            NotFoundError: A package is not installed.
            UsageError: A package is no plugin.
        """
        recorded, packages = self._record.read(), installed_packages()
        names = list(dict.fromkeys(map(parse_name, texts)))
        for name in names:
            if name == CORE_DISTRIBUTION:
                raise ProtectedError(f"{CORE_DISTRIBUTION} is OneClaw itself: uninstall it with what installed it")
            if name not in recorded or name in packages:
                _require_plugin(name, packages)
        return names

    def missing(self) -> dict[str, str]:
        """Find the recorded packages that are not installed or are for another OneClaw, each with the reason."""
        packages, reasons = installed_packages(), {}
        for name in self._record.read():
            if name not in packages:
                reasons[name] = "it is not installed"
            elif _is_incompatible(name):
                reasons[name] = f"version {packages[name].version} was made for another oneclaw-core"
        return reasons

    def plan(self, wanted: Sequence[PluginRequirement], *, upgrade: bool = False) -> InstallationPlan:
        """Find out what would be installed.

        Raises:
            OneClawError: The record is damaged, or the package manager failed; what it printed says why.
        """
        self._record.read()
        return InstallationPlan(tuple(wanted), tuple(self._manager.resolve(wanted, upgrade=upgrade)))

    def plan_again(self, names: Iterable[str]) -> tuple[list[InstallationPlan], list[str]]:
        """Plan to install recorded packages again, apart from those that are not available.

        Returns:
            Plans, and what is wrong with the packages that are in none of them.
        """
        recorded, wanted, failures = self._record.read(), [], []
        for name in names:
            try:
                wanted.append(self._again(recorded[name]))
            except UsageError as error:
                failures.append(f"{name}: {error}; install it from elsewhere")
        try:
            return [self.plan(wanted, upgrade=True)] if wanted else [], failures
        except OneClawError:
            plans = []
        for each in wanted:
            try:
                plans.append(self.plan([each], upgrade=True))
            except OneClawError as error:
                failures.append(f"{each.name}: {error}")
        return plans, failures

    def install(self, plan: InstallationPlan) -> InstallationReport:
        """Install what was planned, record it, and uninstall again what turns out to be no plugin.

        Raises:
            OneClawError: The package manager failed; what it printed says why.
        """
        with self._record.locked():
            before, plugins = installed_packages(), load_in_new_process()
            self._manager.install(plan.packages)
            after = installed_packages()
            hashes = {each.name: each.sha256 for each in plan.packages}
            recorded = self._record.read()
            added, done, failures, no_plugins = [], [], [], []
            for each in plan.wanted:
                package = after.get(each.name)
                if package is None:
                    failures.append(f"{each.name} was not installed: its marker excludes this environment")
                elif package.plugins:
                    known = recorded[each.name].sha256 if each.name in recorded else ""
                    sha256 = hashes.get(each.name, known)
                    added.append(RecordedPlugin(each.name, each.text, package.version, sha256))
                    done.append(_describe(package, before.get(each.name), each))
                else:
                    no_plugins.append(package)
            self._record.update(added)
            failures += self._take_back(no_plugins, before)
            now = load_in_new_process()
            failures += find_problems(now, {each.name for each in added})
            return InstallationReport((*done, *describe_changes(plugins, now)), tuple(failures))

    def uninstall(self, names: Sequence[str]) -> InstallationReport:
        """Uninstall packages, and remove them from the record.

        Raises:
            OneClawError: The package manager failed; what it printed says why.
        """
        with self._record.locked():
            before, plugins = installed_packages(), load_in_new_process()
            installed = [name for name in names if name in before]
            if installed:
                self._manager.uninstall(installed)
            left = [name for name in installed if name in installed_packages()]
            gone = [name for name in names if name not in left]
            self._record.update(removed=gone)
            done = [f"{name} is uninstalled" for name in gone]
            failures = [f"{name} is still there: another folder of Python's path has it too" for name in left]
            return InstallationReport((*done, *describe_changes(plugins, load_in_new_process())), tuple(failures))

    def _again(self, recorded: RecordedPlugin) -> PluginRequirement:
        return parse_requirement(recorded.requirement, self._directory, recorded.name)

    def _take_back(self, packages: Sequence[InstalledPackage], before: Mapping[str, InstalledPackage]) -> list[str]:
        new = [package.name for package in packages if package.name not in before]
        if new:
            self._manager.uninstall(new)
        return [
            f"{package.name} {package.version} is no plugin (it has no entry point in the group 'oneclaw'): "
            + ("it was uninstalled again" if package.name in new else "it was there before, and stays")
            for package in packages
        ]


def _require_plugin(name: str, packages: Mapping[str, InstalledPackage]) -> None:
    package = packages.get(name)
    if package is None:
        raise NotFoundError(f"{name} is not installed; oneclaw plugins list shows the packages of all plugins")
    if not package.plugins:
        raise UsageError(f"{name} is installed, but is no plugin: leave it to what installed it")


def _is_incompatible(name: str) -> bool:
    try:
        return find_incompatibility(core_requirements(importlib_metadata.distribution(name))) is not None
    except (importlib_metadata.PackageNotFoundError, OSError, ValueError):
        return False


def _describe(package: InstalledPackage, before: InstalledPackage | None, wanted: PluginRequirement) -> str:
    if before is None:
        return f"{package.name} {package.version} is installed"
    if before.version != package.version:
        return f"{package.name} {before.version} was replaced by {package.version}"
    same = f"{package.name} {package.version} is installed, as it was before"
    if wanted.path is None or wanted.path.is_dir():
        return same
    # Installers do not compare the contents of two files with the same version.
    return (
        f"{same}, from {wanted.path.name}; install a newer one by its path, and uninstall {package.name} first if "
        "that has the same version"
    )
