"""Installing, upgrading and uninstalling plugins, and installing them again after the program was replaced."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import importlib_metadata

from oneclaw_core.errors import NotFoundError, OneClawError, ProtectedError, UsageError
from oneclaw_core.installing.commands import InstallerCommand, install_command, uninstall_command
from oneclaw_core.installing.packages import InstalledPackage, find_installed, installed_packages
from oneclaw_core.installing.plugin_changes import LoadedPlugin, describe_changes, load_in_fresh_process
from oneclaw_core.installing.record import InstallationRecord, RecordedPlugin
from oneclaw_core.installing.requirement import PluginRequirement, normalised, parse_name, parse_requirement
from oneclaw_core.installing.running import installer_environ, run_program
from oneclaw_core.plugins.compatibility import CORE_DISTRIBUTION, core_requirements, find_incompatibility

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_core.home import Home
    from oneclaw_core.installing.environment import Environment

# Large wheels come slowly over some lines, and some packages are compiled.
DEADLINE_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True)
class InstallationReport:
    """What came of it.

    Attributes:
        done: what happened, a line for each package.
        changes: which plugins, tools and groups came and went, in lines.
        failures: what did not work, each with what to do; empty if all did.
    """

    done: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncStep:
    """A package that is to be installed again.

    Attributes:
        recorded: what the user had installed.
        reason: why it has to be done.
    """

    recorded: RecordedPlugin
    reason: str


class PluginInstaller:
    """Changes what is installed in one environment, and notes it in one home.

    Args:
        home: for the record.
        environment: where to install.
        environ: variables of the environment, for the programs that install.
        show: takes each line that these print.
        directory: where relative paths begin.
        deadline_seconds: for each program.
    """

    def __init__(
        self,
        home: Home,
        environment: Environment,
        environ: Mapping[str, str],
        show: Callable[[str], None],
        directory: Path | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._record = InstallationRecord(home)
        self._environment = environment
        self._environ = environ
        self._show = show
        self._directory = directory or Path.cwd()
        self._deadline_seconds = deadline_seconds

    def wanted(self, texts: Iterable[str]) -> list[PluginRequirement]:
        """Read what is to be installed.

        Raises:
            UsageError: something is no package, is named twice, or is there and no plugin.
        """
        wanted = [parse_requirement(text, self._directory) for text in texts]
        packages = installed_packages()
        for each in wanted:
            if each.name is not None and each.name in packages:
                self._require_plugin(each.name, packages)
        names = [each.name or each.text for each in wanted]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"{name} is named twice")
        return wanted

    def wanted_newer(self, texts: Iterable[str]) -> list[PluginRequirement]:
        """Read what is to be upgraded: everything that was installed by this program, if nothing is named.

        Raises:
            NotFoundError: a package is not installed.
            UsageError: a package is no plugin.
        """
        recorded, packages = self._record.read(), installed_packages()
        newer = []
        for wanted in self.wanted(texts) or [self._again(each) for each in recorded.values()]:
            name = wanted.name
            if name is not None and name not in recorded:
                self._require_plugin(name, packages)
            if name is not None and wanted.text == name and name in recorded:
                newer.append(self._again(recorded[name]))
            else:
                newer.append(wanted)
        return newer

    def unwanted(self, texts: Iterable[str]) -> list[str]:
        """Read what is to be uninstalled.

        Raises:
            NotFoundError: a package is not installed.
            UsageError: a package is no plugin.
        """
        recorded, packages = self._record.read(), installed_packages()
        names = list(dict.fromkeys(map(parse_name, texts)))
        for name in names:
            if name == CORE_DISTRIBUTION:
                raise ProtectedError(f"{CORE_DISTRIBUTION} is OneClaw itself: uninstall it with what installed it")
            if name not in recorded or name in packages:
                self._require_plugin(name, packages)
        return names

    def install(self, wanted: Sequence[PluginRequirement]) -> InstallationReport:
        """Install packages, and take those back that turn out to be no plugins.

        Raises:
            OneClawError: the installer failed; what it printed says why.
        """
        with self._record.locked():
            return self._install(wanted, upgrade=False)

    def upgrade(self, wanted: Sequence[PluginRequirement]) -> InstallationReport:
        """Install the newest versions that fit.

        Raises:
            OneClawError: the installer failed; what it printed says why.
        """
        with self._record.locked():
            return self._install(wanted, upgrade=True)

    def uninstall(self, names: Sequence[str]) -> InstallationReport:
        """Uninstall packages, and forget them.

        Raises:
            OneClawError: the installer failed; what it printed says why.
        """
        with self._record.locked():
            self._record.read()
            before, plugins = installed_packages(), _plugins_now()
            installed = [name for name in names if name in before]
            if installed:
                self._run(uninstall_command(self._environment, installed))
            left = [name for name in installed if name in installed_packages()]
            self._record.remove(name for name in names if name not in left)
            done = [f"{name} is uninstalled" for name in names if name not in left]
            failures = [f"{name} is still there: another folder of Python's path has it too" for name in left]
            return InstallationReport(tuple(done), _changes(plugins, _plugins_now()), tuple(failures))

    def missing(self) -> list[SyncStep]:
        """Find out what the record has and this environment has not, or not in a version for this OneClaw."""
        packages = installed_packages()
        steps = []
        for recorded in self._record.read().values():
            if recorded.name not in packages:
                steps.append(SyncStep(recorded, "it is not installed"))
            elif _is_incompatible(recorded.name):
                version = packages[recorded.name].version
                steps.append(SyncStep(recorded, f"version {version} was made for another oneclaw-core"))
        return steps

    def sync(self, steps: Sequence[SyncStep]) -> InstallationReport:
        """Install again what is missing; what cannot be installed keeps nothing else from it.

        Raises:
            OneClawError: the record cannot be used.
        """
        with self._record.locked():
            wanted, failures = [], []
            for step in steps:
                try:
                    wanted.append(self._again(step.recorded))
                except UsageError as error:
                    failures.append(f"{step.recorded.name}: {error}; install it from elsewhere")
            reports = self._install_what_works(wanted)
            done = [line for report in reports for line in report.done]
            changes = [line for report in reports for line in report.changes]
            failures += [line for report in reports for line in report.failures]
            return InstallationReport(tuple(done), tuple(changes), tuple(failures))

    def _install_what_works(self, wanted: Sequence[PluginRequirement]) -> list[InstallationReport]:
        if not wanted:
            return []
        try:
            return [self._install(wanted, upgrade=True)]
        except OneClawError as error:
            if len(wanted) == 1:
                return [InstallationReport(failures=(f"{wanted[0].name}: {error}",))]
        # One after the other, the good ones get in.
        return [report for each in wanted for report in self._install_what_works([each])]

    def _again(self, recorded: RecordedPlugin) -> PluginRequirement:
        return replace(parse_requirement(recorded.requirement, self._directory), name=recorded.name)

    def _install(self, wanted: Sequence[PluginRequirement], *, upgrade: bool) -> InstallationReport:
        if not wanted:
            return InstallationReport()
        self._record.read()  # one that is damaged is told before anything changes
        before, plugins = installed_packages(), _plugins_now()
        self._run(install_command(self._environment, wanted, upgrade=upgrade))
        after = installed_packages()
        found = [(each, find_installed(each, before, after)) for each in wanted]
        brought = [(each, package) for each, package in found if package is not None and package.plugins]
        self._record.add(RecordedPlugin(package.name, each.text, package.version) for each, package in brought)
        done = [_what_happened(package, before.get(package.name), each) for each, package in brought]
        failures = [
            f"{each.shown} is installed, but which package that is cannot be told: see oneclaw plugins list"
            for each, package in found
            if package is None
        ]
        failures += self._take_back([package for _, package in found if package and not package.plugins], before)
        if CORE_DISTRIBUTION in before and before[CORE_DISTRIBUTION] != after.get(CORE_DISTRIBUTION):
            core = after.get(CORE_DISTRIBUTION)
            done.append(f"{CORE_DISTRIBUTION} itself was changed to {core.version if core else 'nothing'}")
        now = _plugins_now()
        own = {package.name for _, package in brought}
        failures += [
            f"plugin {plugin.name} does not work: {problem}"
            for plugin in (now or {}).values()
            if normalised(plugin.package or "") in own
            for problem in plugin.problems
        ]
        return InstallationReport(tuple(done), _changes(plugins, now), tuple(failures))

    def _take_back(self, packages: Sequence[InstalledPackage], before: Mapping[str, InstalledPackage]) -> list[str]:
        """Uninstall what is no plugin, unless it was there before."""
        new = [package.name for package in packages if package.name not in before]
        if new:
            self._run(uninstall_command(self._environment, new))
        return [
            f"{package.name} {package.version} is no plugin (it has no entry point in the group 'oneclaw'): "
            + ("it was uninstalled again" if package.name in new else "it was there before, and stays")
            for package in packages
        ]

    def _run(self, command: InstallerCommand) -> None:
        if command.note:
            self._show(command.note)
        environ = installer_environ(self._environ, command.environ)
        status = run_program(command.arguments, environ, self._show, self._deadline_seconds)
        if status != 0:
            program = Path(command.arguments[0]).name
            what = "pip" if "pip" in command.arguments[:4] and program.startswith("python") else program
            raise OneClawError(f"{what} failed (exit status {status}); what it printed above says why")

    def _require_plugin(self, name: str, packages: Mapping[str, InstalledPackage]) -> None:
        package = packages.get(name)
        if package is None:
            owner = next((each for each in packages.values() if _is_called(each, name)), None)
            if owner is not None:
                raise NotFoundError(f"{name} is the name of a plugin; its package is {owner.name}")
            raise NotFoundError(f"{name} is not installed; oneclaw plugins list shows the packages of all plugins")
        if not package.plugins:
            raise UsageError(f"{name} is installed, but is no plugin: leave it to what installed it")


def _is_called(package: InstalledPackage, name: str) -> bool:
    return package.name != CORE_DISTRIBUTION and name in map(normalised, package.plugins)


def _is_incompatible(name: str) -> bool:
    try:
        return find_incompatibility(core_requirements(importlib_metadata.distribution(name))) is not None
    except (importlib_metadata.PackageNotFoundError, OSError, ValueError):
        return False


def _plugins_now() -> dict[str, LoadedPlugin] | None:
    """Load the plugins; ``None`` if they break the process, which is no reason not to install another version.

    A plugin that ends the process is left alone by the next one, which then tells about it.
    """
    for _ in range(2):
        with suppress(OneClawError):
            return load_in_fresh_process()
    return None


def _changes(before: Mapping[str, LoadedPlugin] | None, now: Mapping[str, LoadedPlugin] | None) -> tuple[str, ...]:
    if before is None or now is None:
        return ("the plugins cannot all be loaded: see oneclaw plugins list",)
    return tuple(describe_changes(before, now))


def _what_happened(package: InstalledPackage, before: InstalledPackage | None, wanted: PluginRequirement) -> str:
    if before is None:
        return f"{package.name} {package.version} is installed"
    if before.version == package.version:
        same = f"{package.name} {package.version} is installed, as it was before"
        if wanted.path is None or wanted.path.is_dir():
            return same
        # Installers take a file of the same version for the same, whatever is in it, and a file never becomes newer.
        return (
            f"{same}, from {wanted.path.name}; install a newer one by its path, and uninstall {package.name} first if "
            "that has the same version"
        )
    return f"{package.name} {before.version} was replaced by {package.version}"
