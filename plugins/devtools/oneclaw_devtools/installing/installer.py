"""Installations of plugins into the environment of this program, recorded in the home."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClawError, find_home
from oneclaw_core.cli import is_terminal, print_json, print_text, printable_line
from oneclaw_core.installation import PluginOrigins
from oneclaw_core.plugins import find_installed, normalised
from oneclaw_devtools.installing.backup import PackageBackup
from oneclaw_devtools.installing.changes import describe_changes, find_broken, find_problems, load_plugins
from oneclaw_devtools.installing.consent import release_warnings, settle_names, show_packages
from oneclaw_devtools.installing.installed import find_package
from oneclaw_devtools.installing.output import fail, show
from oneclaw_devtools.installing.package_manager import PackageManager, SourceOnlyError, find_environment
from oneclaw_devtools.installing.record import InstallationRecord, RecordedPlugin
from oneclaw_devtools.installing.requirement import parse_name
from oneclaw_devtools.reviewing.page import page_lines
from oneclaw_devtools.reviewing.sandboxed_look import Look, look_at_unpacked
from oneclaw_devtools.reviewing.seen_plugins import new_pages, note_reviewed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_devtools.installing.package_manager import ResolvedPackage
    from oneclaw_devtools.installing.requirement import PluginRequirement
    from oneclaw_devtools.reviewing.page import ReviewedPlugin

    Plan = tuple[Sequence[PluginRequirement], Sequence[ResolvedPackage]]


class Installer:
    """Install plugins into the environment of this program, and record them in the home.

    Args:
        is_confirmed: True to ask nothing.
        shadowing: Names to give to what is installed, though others have them.
        built: Names of packages that may be built from their source.
        as_json: True to print the outcome as one JSON document.
    """

    def __init__(
        self,
        *,
        is_confirmed: bool,
        shadowing: Sequence[str] = (),
        built: Sequence[str] = (),
        as_json: bool = False,
    ) -> None:
        self._is_confirmed = is_confirmed
        self._as_json = as_json
        self._lines: list[str] = []
        self._built = set(map(parse_name, built))
        self._shadowing = shadowing
        self._environment = find_environment()
        self._record = InstallationRecord(find_home())
        self.manager = PackageManager(self._environment, show)
        self.recorded: Mapping[str, RecordedPlugin] = self._record.read()
        self.expected: Mapping[str, RecordedPlugin] = {}

    def resolve(self, wanted: Sequence[PluginRequirement], *, upgrade: bool = False) -> list[ResolvedPackage]:
        """Find out what would be installed; ask for each package that has to be built from its source.

        Raises:
            OneClawError: A package may not be built, or the installer failed.
        """
        for each in wanted:
            if each.is_source and each.name not in self._built:
                self._allow_build(each.name, f"{each.text} is source code")
        while True:
            try:
                return self.manager.resolve(wanted, upgrade=upgrade, built=sorted(self._built))
            except SourceOnlyError as error:
                if not self._can_ask():
                    raise
                self._allow_build(error.name, f"there is no wheel of {error.name} that fits this Python")

    def _allow_build(self, name: str, why: str) -> None:
        """Ask whether a package may be built; what the user named by its place is built without a terminal, too."""
        if self._can_ask():
            question = f"{printable_line(why)}: building it runs its code before anything of it can be shown. Build it?"
            if not click.confirm(question, default=False, err=True):
                raise OneClawError("nothing was changed")
        self._built.add(name)

    def _can_ask(self) -> bool:
        return not self._is_confirmed and is_terminal(sys.stdin)

    def install(
        self, verb: str, plans: Sequence[Plan], failures: Iterable[str] = (), *, is_checked: bool = True
    ) -> None:
        """Show what would be installed, ask, install it, and print the outcome.

        Args:
            verb: for the question.
            plans: what to install.
            failures: what is to be reported in the end.
            is_checked: True to refuse packages that register names of others.
        """
        failures = list(failures)
        packages = [package for _, resolved in plans for package in resolved]
        look = Look()
        seen: list[ReviewedPlugin] = []
        with TemporaryDirectory(prefix="oneclaw-") as directory:
            folder = Path(directory, "packages")
            if packages:
                self.manager.unpack(packages, folder)
                show_packages(packages, {**self.recorded, **self.expected}, folder, release_warnings(packages))
                look = look_at_unpacked(folder)
                seen = new_pages(folder, look)
                for line in page_lines(seen):
                    show(line)
                self._confirm(verb, [each.name for wanted, _ in plans for each in wanted], "in")
            if not plans:
                fail(failures)
            self._carry_out(plans, folder, look, seen, failures, is_checked=is_checked)

    def _carry_out(
        self,
        plans: Sequence[Plan],
        folder: Path,
        look: Look,
        seen: Sequence[ReviewedPlugin],
        failures: list[str],
        *,
        is_checked: bool,
    ) -> None:
        """Install what was agreed to, and print the outcome.

        Args:
            plans: as for :meth:`install`.
            folder: where the packages were unpacked to.
            look: the findings of the look at them.
            seen: the plugins whose capabilities were shown.
            failures: as for :meth:`install`.
            is_checked: as for :meth:`install`.
        """
        packages = [package for _, resolved in plans for package in resolved]
        with self._record.locked():
            before = load_plugins()
            if is_checked and (packages or self._shadowing):
                settle_names(folder, look, [each for wanted, _ in plans for each in wanted], self._shadowing)
            added: list[str] = []
            backup = PackageBackup(folder.with_name("backup"))
            backup.take(each.name for each in packages)
            for wanted, resolved in plans:
                try:
                    added += self._install_plan(wanted, resolved, failures)
                    PluginOrigins(find_home()).accept(find_installed(), {normalised(each.name) for each in resolved})
                except OneClawError as error:
                    failures.append(str(error))
            try:
                missing = note_reviewed(seen)
            except OneClawError as error:
                failures.append(str(error))
                missing = []
            after = load_plugins()
            if broken := find_broken(before, after, backup.versions):
                backup.restore(self.manager)
                self._record.update([self.recorded[name] for name in backup.versions if name in self.recorded])
                failures += [f"{each}; nothing was upgraded" for each in broken]
                self._lines, added, after = [], [], load_plugins()
        self._lines += describe_changes(before, after)
        self._print(packages, seen)
        failures += find_problems(after, added)
        for name in missing:
            show(f"plugin {name} was not looked at: see what it may do with: oneclaw plugins review {name}")
        if packages and self._environment.remover:
            show(f"'{self._environment.remover}' will remove plugins; run 'oneclaw plugins sync' after it")
        fail(failures)

    def uninstall(self, names: Sequence[str]) -> None:
        """Ask, uninstall packages, remove them from the record, and print the outcome."""
        self._confirm("Uninstall", names, "from")
        with self._record.locked():
            before = load_plugins()
            installed = [name for name in names if find_package(name)]
            if installed:
                self.manager.uninstall(installed)
            left = [name for name in installed if find_package(name)]
            gone = [name for name in names if name not in left]
            self._record.update(removed=gone)
            note_reviewed((), gone)
            after = load_plugins()
        for line in (*(f"{name} is uninstalled" for name in gone), *describe_changes(before, after)):
            print_text(line)
        fail([f"{name} is still there: another folder of Python's path has it too" for name in left])

    def _install_plan(
        self, wanted: Sequence[PluginRequirement], packages: Sequence[ResolvedPackage], failures: list[str]
    ) -> list[str]:
        """Install packages, uninstall again what is not a plugin, and return the names of the plugins."""
        before = {each.name: find_package(each.name) for each in wanted}
        self.manager.install(packages)
        hashes = {each.name: each.sha256 for each in packages}
        added: list[RecordedPlugin] = []
        for each in wanted:
            package, old = find_package(each.name), before[each.name]
            if package is None:
                failures.append(f"{each.name} was not installed: its marker excludes this environment")
            elif package.is_plugin:
                known = self.recorded[each.name].sha256 if each.name in self.recorded else ""
                sha256 = hashes.get(each.name, known)
                added.append(RecordedPlugin(each.name, each.text, package.version, sha256))
                self._lines.append(_describe(each, package.version, old.version if old else None))
            else:
                what = f"{each.name} {package.version} is not a plugin (it has no entry point in the group 'oneclaw'): "
                failures.append(what + ("it was there before, and stays" if old else "it was uninstalled again"))
                if old is None:
                    self.manager.uninstall([each.name])
        if added:
            self._record.update(added)
        return [each.name for each in added]

    def _print(self, packages: Sequence[ResolvedPackage], seen: Sequence[ReviewedPlugin]) -> None:
        if self._as_json:
            files = [{"name": each.name, "version": each.version, "sha256": each.sha256} for each in packages]
            plugins = [each.to_dict() for each in seen]
            print_json({"packages": files, "plugins": plugins, "changes": self._lines})
            return
        for line in self._lines:
            print_text(line)

    def _confirm(self, verb: str, packages: Sequence[str], preposition: str) -> None:
        if not self._can_ask():
            return
        what, where = printable_line(", ".join(packages)), printable_line(sys.prefix)
        question = f"{verb} {what} {preposition} {where} ({self._environment.description})?"
        if not click.confirm(question, default=False, err=True):
            raise OneClawError("nothing was changed")


def _describe(wanted: PluginRequirement, version: str, version_before: str | None) -> str:
    """Describe an installed package."""
    if version_before is None:
        return f"{wanted.name} {version} is installed"
    if version_before != version:
        return f"{wanted.name} {version_before} was replaced by {version}"
    same = f"{wanted.name} {version} is installed, as it was before"
    if not (path := Path(wanted.text)).is_file():
        return same
    # Installers do not compare the contents of two files with the same version.
    return (
        f"{same}, from {path.name}; install a newer one by its path, and uninstall {wanted.name} first if that has "
        "the same version"
    )
