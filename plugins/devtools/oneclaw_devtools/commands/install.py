"""`oneclaw plugins install`, `upgrade`, `uninstall` and `sync`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from oneclaw_core import NotFoundError, OneClawError, ProtectedError, UsageError
from oneclaw_core.capabilities import page_lines
from oneclaw_core.cli import (
    is_terminal,
    json_option,
    look_at_unpacked,
    note_reviewed,
    print_json,
    print_text,
    printable,
    printable_line,
    warn,
)
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION, ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core.capabilities import ReviewedPlugin
    from oneclaw_core.installation import NameClash
    from oneclaw_devtools.installing.package_manager import ResolvedPackage
    from oneclaw_devtools.installing.record import RecordedPlugin
    from oneclaw_devtools.installing.requirement import PluginRequirement

    Plan = tuple[Sequence[PluginRequirement], Sequence[ResolvedPackage]]
    Plugins = Mapping[str, Mapping[str, Any]] | None

# pip prints this for everything that OneClaw itself requires.
_NOT_WORTH_SHOWING = "Requirement already satisfied:"
_LOADING_SECONDS = 60.0
_BROKEN = ("failed", "left alone")
_KINDS = ("groups", "tools", "providers", "skills")

_yes_option = click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
_shadowing_option = click.option(
    "--allow-shadowing",
    "shadowing",
    multiple=True,
    metavar="NAME",
    help="Give NAME, such as that of a tool, to the new package though another one has it. Can be repeated.",
)


_build_option = click.option(
    "--allow-build",
    "built",
    multiple=True,
    metavar="NAME",
    help="Build the package NAME from its source, which runs its code. Can be repeated.",
)


@click.command("install")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_shadowing_option
@_build_option
@_yes_option
@json_option
def install(
    packages: tuple[str, ...],
    shadowing: tuple[str, ...],
    built: tuple[str, ...],
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Install plugins into the environment that OneClaw runs in.

    PACKAGE is a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', the path of a wheel or project, or 'NAME @ URL'. The
    home records what is installed, so that 'oneclaw plugins sync' can restore it.

    Nothing is installed if a package registers a name, such as that of a tool, that belongs to another one. Before the
    question, one page shows what each plugin may do: its wheel is read, and it is looked at in a sandbox. What has to
    be built from source is asked for before.
    """
    installer = _Installer(is_confirmed=is_confirmed, shadowing=shadowing, built=built, as_json=as_json)
    wanted = _parse(packages)
    installer.install("Install", [(wanted, installer.resolve(wanted))])


@click.command("upgrade", short_help="Install newer versions of plugins.")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--all", "is_all", is_flag=True, help="Everything that was installed by 'oneclaw plugins install'.")
@_shadowing_option
@_build_option
@_yes_option
@json_option
def upgrade(
    packages: tuple[str, ...],
    is_all: bool,
    shadowing: tuple[str, ...],
    built: tuple[str, ...],
    is_confirmed: bool,
    as_json: bool,
) -> None:
    """Install the newest versions of plugins that are compatible with this OneClaw."""
    if is_all == bool(packages):
        raise UsageError("name the packages to upgrade, or give --all")
    installer = _Installer(is_confirmed=is_confirmed, shadowing=shadowing, built=built, as_json=as_json)
    recorded = installer.recorded
    texts = [each.requirement for each in recorded.values()]
    if packages:
        wanted = _parse(packages)
        for each in wanted:
            if each.name not in recorded:
                _require_plugin(each.name)
        # A name alone stands for what the user gave when installing it.
        is_again = [each.text == each.name and each.name in recorded for each in wanted]
        texts = [
            recorded[each.name].requirement if again else each.text
            for each, again in zip(wanted, is_again, strict=True)
        ]
    if not texts:
        print_text("nothing was installed by 'oneclaw plugins install'")
        return
    wanted = _parse(texts)
    installer.install("Upgrade", [(wanted, installer.resolve(wanted, upgrade=True))])


@click.command("uninstall")
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@_yes_option
def uninstall(packages: tuple[str, ...], is_confirmed: bool) -> None:
    """Uninstall plugins, by the names of their packages."""
    from oneclaw_devtools.installing.requirement import parse_name

    installer = _Installer(is_confirmed=is_confirmed)
    names = list(dict.fromkeys(map(parse_name, packages)))
    for name in names:
        if name == CORE_DISTRIBUTION:
            raise ProtectedError(f"{CORE_DISTRIBUTION} is OneClaw itself: uninstall it with what installed it")
        if name not in installer.recorded or _find_package(name):
            _require_plugin(name)
    installer.uninstall(names)


@click.command("sync", short_help="Reinstall the plugins that an upgrade of OneClaw removed.")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dry-run", "is_dry", is_flag=True, help="Only show what would be installed.")
@_yes_option
def sync(file: Path | None, is_dry: bool, is_confirmed: bool) -> None:
    """Install again what was installed before OneClaw itself was upgraded or reinstalled.

    With FILE, the plugins.json of another home, install the same versions of the same plugins here.
    """
    from oneclaw_devtools.installing.record import read_recorded
    from oneclaw_devtools.installing.requirement import without_credentials

    installer = _Installer(is_confirmed=is_confirmed)
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


class _Installer:
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
        from oneclaw_core import find_home
        from oneclaw_devtools.installing.package_manager import PackageManager, find_environment
        from oneclaw_devtools.installing.record import InstallationRecord
        from oneclaw_devtools.installing.requirement import parse_name

        self._is_confirmed = is_confirmed
        self._as_json = as_json
        self._lines: list[str] = []
        self._built = set(map(parse_name, built))
        self._shadowing = shadowing
        self._environment = find_environment()
        self._record = InstallationRecord(find_home())
        self.manager = PackageManager(self._environment, _show)
        self.recorded: Mapping[str, RecordedPlugin] = self._record.read()
        self.expected: Mapping[str, RecordedPlugin] = {}

    def resolve(self, wanted: Sequence[PluginRequirement], *, upgrade: bool = False) -> list[ResolvedPackage]:
        """Find out what would be installed; ask for each package that has to be built from its source.

        Raises:
            OneClawError: A package may not be built, or the installer failed.
        """
        from oneclaw_devtools.installing.package_manager import SourceOnlyError

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
        seen: list[ReviewedPlugin] = []
        with TemporaryDirectory(prefix="oneclaw-") as directory:
            folder = Path(directory, "packages")
            if packages:
                self.manager.unpack(packages, folder)
                _show_packages(packages, {**self.recorded, **self.expected}, folder, self._warnings(packages))
                seen = _show_capabilities(folder)
                self._confirm(verb, [each.name for wanted, _ in plans for each in wanted], "in")
            if not plans:
                _fail(failures)
            self._carry_out(plans, folder, seen, failures, is_checked=is_checked)

    def _warnings(self, packages: Sequence[ResolvedPackage]) -> dict[str, list[str]]:
        """Return what a user should know of releases before installing them, by package.

        Raises:
            OneClawError: the index blocks one, or cannot be read.
        """
        from oneclaw_core.cli import load_catalog
        from oneclaw_devtools.installing.plugin_index import read_index, warnings_of
        from oneclaw_devtools.settings import index_path, read_settings

        settings = read_settings(load_catalog(is_quiet=True).states.settings)
        index = read_index(index_path(settings))
        entries = {each.name: index.find(each) if index is not None else None for each in packages}
        for name, entry in entries.items():
            if entry is not None and entry.blocked:
                raise OneClawError(f"{name} {entry.version} is blocked by the index: {entry.blocked}")
        return {each.name: list(warnings_of(each, entries[each.name], settings.young_days)) for each in packages}

    def _carry_out(
        self,
        plans: Sequence[Plan],
        folder: Path,
        seen: Sequence[ReviewedPlugin],
        failures: list[str],
        *,
        is_checked: bool,
    ) -> None:
        """Install what was agreed to, and print the outcome.

        Args:
            plans: as for :meth:`install`.
            folder: where the packages were unpacked to.
            seen: the plugins whose capabilities were shown.
            failures: as for :meth:`install`.
            is_checked: as for :meth:`install`.
        """
        from oneclaw_core.installation import accept_plugins
        from oneclaw_devtools.installing.backup import PackageBackup

        packages = [package for _, resolved in plans for package in resolved]
        with self._record.locked():
            before = _load_plugins()
            if is_checked and (packages or self._shadowing):
                self._settle_names([each for wanted, _ in plans for each in wanted], folder)
            added: list[str] = []
            backup = PackageBackup(folder.with_name("backup"))
            backup.take(each.name for each in packages)
            for wanted, resolved in plans:
                try:
                    added += self._install_plan(wanted, resolved, failures)
                    accept_plugins(package.name for package in resolved)
                except OneClawError as error:
                    failures.append(str(error))
            try:
                missing = note_reviewed(seen)
            except OneClawError as error:
                failures.append(str(error))
                missing = []
            after = _load_plugins()
            if broken := _broken(before, after, backup.versions):
                backup.restore(self.manager)
                self._record.update([self.recorded[name] for name in backup.versions if name in self.recorded])
                failures += [f"{each}; nothing was upgraded" for each in broken]
                self._lines, added, after = [], [], _load_plugins()
        self._lines += _describe_changes(before, after)
        self._print(packages, seen)
        failures += _find_problems(after, added)
        for name in missing:
            _show(f"plugin {name} was not looked at: see what it may do with: oneclaw plugins review {name}")
        if packages and self._environment.remover:
            _show(f"'{self._environment.remover}' will remove plugins; run 'oneclaw plugins sync' after it")
        _fail(failures)

    def _settle_names(self, wanted: Sequence[PluginRequirement], folder: Path) -> None:
        """Refuse packages that register names of others, unless the user gives these names to them.

        Raises:
            OneClawError: A name belongs to another package, or cannot be given away.
        """
        from oneclaw_core.cli import check_commands, load_catalog
        from oneclaw_core.installation import NewPlugins

        catalog = load_catalog(is_quiet=True)
        new = NewPlugins(folder, catalog.plugins, {each.name for each in wanted})
        for name in self._shadowing:
            having = new.packages_with(name)
            if len(having) != 1:
                who = f"{' and '.join(having)} both register" if having else "no package of these registers"
                raise UsageError(f"--allow-shadowing {name}: {who} that name; nothing was installed")
        clashes = new.clashes(catalog.registry, check_commands)
        refused = [each for each in clashes if each.name not in self._shadowing or each.is_final]
        if refused:
            raise OneClawError(_refusal(refused))
        new.give(self._shadowing)

    def uninstall(self, names: Sequence[str]) -> None:
        """Ask, uninstall packages, remove them from the record, and print the outcome."""
        self._confirm("Uninstall", names, "from")
        with self._record.locked():
            before = _load_plugins()
            installed = [name for name in names if _find_package(name)]
            if installed:
                self.manager.uninstall(installed)
            left = [name for name in installed if _find_package(name)]
            gone = [name for name in names if name not in left]
            self._record.update(removed=gone)
            note_reviewed((), gone)
            after = _load_plugins()
        for line in (*(f"{name} is uninstalled" for name in gone), *_describe_changes(before, after)):
            print_text(line)
        _fail([f"{name} is still there: another folder of Python's path has it too" for name in left])

    def _install_plan(
        self, wanted: Sequence[PluginRequirement], packages: Sequence[ResolvedPackage], failures: list[str]
    ) -> list[str]:
        """Install packages, uninstall again what is not a plugin, and return the names of the plugins."""
        from oneclaw_devtools.installing.record import RecordedPlugin

        before = {each.name: _find_package(each.name) for each in wanted}
        self.manager.install(packages)
        hashes = {each.name: each.sha256 for each in packages}
        added: list[RecordedPlugin] = []
        for each in wanted:
            package, old = _find_package(each.name), before[each.name]
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


def _parse(texts: Iterable[str]) -> list[PluginRequirement]:
    """Parse packages; one may not be named twice, nor be installed and no plugin."""
    from oneclaw_devtools.installing.requirement import parse_requirement

    wanted: dict[str, PluginRequirement] = {}
    for each in map(parse_requirement, texts):
        if _find_package(each.name):
            _require_plugin(each.name)
        if each.name in wanted:
            raise UsageError(f"{each.name} is named twice")
        wanted[each.name] = each
    return list(wanted.values())


def _plan_again(missing: Iterable[RecordedPlugin], installer: _Installer) -> tuple[list[Plan], list[str]]:
    """Plan to install recorded packages again; report those that are not available."""
    wanted: list[PluginRequirement] = []
    failures = []
    for each in missing:
        try:
            wanted += _parse([each.requirement])
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


class _Package(NamedTuple):
    """An installed package; a plugin if it has an entry point in the group ``oneclaw``."""

    version: str
    is_plugin: bool
    is_for_this_core: bool


def _find_package(name: str) -> _Package | None:
    """Find an installed package; one that came since the program started too."""
    import importlib_metadata

    from oneclaw_core.plugins import core_requirements, find_incompatibility

    importlib_metadata.MetadataPathFinder.invalidate_caches()
    try:
        found = importlib_metadata.distribution(name)
        is_plugin = bool(found.entry_points.select(group=ENTRY_POINT_GROUP))
        return _Package(str(found.version), is_plugin, find_incompatibility(core_requirements(found)) is None)
    except Exception:  # noqa: BLE001  # damaged metadata raise anything; plugins list reports them
        return None


def _require_plugin(name: str) -> None:
    package = _find_package(name)
    if package is None:
        raise NotFoundError(f"{name} is not installed; oneclaw plugins list shows the packages of all plugins")
    if not package.is_plugin:
        raise UsageError(f"{name} is installed, but is not a plugin: leave it to what installed it")


def _pinned(recorded: RecordedPlugin) -> RecordedPlugin:
    """Return a record that asks for exactly the recorded version, unless it names a place."""
    from dataclasses import replace

    is_place = "@" in recorded.requirement or "/" in recorded.requirement
    return recorded if is_place else replace(recorded, requirement=f"{recorded.name}=={recorded.version}")


def _why_missing(name: str, recorded: RecordedPlugin, file: Path | None) -> str | None:
    """Say why a recorded package has to be installed again.

    Args:
        name: of the package.
        recorded: what is wanted.
        file: the record of another home, whose versions are wanted; ``None`` for this home's own.
    """
    package = _find_package(name)
    if package is None:
        return "it is not installed"
    if file is not None and package.version != recorded.version:
        return f"version {package.version} is installed"
    return None if package.is_for_this_core else f"version {package.version} was made for another oneclaw-core"


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


def _load_plugins() -> Plugins:
    """Load all plugins in a new process; return what ``plugins list --json`` says of each, ``None`` if it fails."""
    command = (sys.executable, "-P", "-m", "oneclaw_core", "plugins", "list", "--json")
    try:
        done = subprocess.run(  # noqa: S603  # this program itself
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_LOADING_SECONDS, check=True
        )
        return {each["name"]: each for each in json.loads(done.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _describe_changes(before: Plugins, after: Plugins) -> Iterator[str]:
    """Describe which plugins, tools and groups came and went, a line each."""
    if before is None or after is None:
        yield "the plugins cannot all be loaded: see oneclaw plugins list"
        return
    for name in sorted(before.keys() | after.keys()):
        old, new = (_package(plugins[name]) if name in plugins else "" for plugins in (before, after))
        lines: list[str] = []
        for kind in _KINDS:
            had, has = (set(each.get(name, {}).get(kind, ())) for each in (before, after))
            for sign, names in (("-", had - has), ("+", has - had)):
                lines += [f"  {sign} {kind}: {', '.join(sorted(names))}"] if names else []
        if old and new and old != new:
            yield f"  plugin {name}: {old} -> {new}"
        elif lines or old != new:
            yield f"{' ' if old and new else '-' if old else '+'} plugin {name} ({new or old})"
        yield from lines


def _package(plugin: Mapping[str, Any]) -> str:
    return f"{plugin['package']} {plugin['version']}" if plugin["package"] else "unknown package"


def _find_problems(plugins: Plugins, packages: Iterable[str]) -> Iterator[str]:
    """Find what does not work in the plugins of some packages, with what to do."""
    from packaging.utils import canonicalize_name

    for name, plugin in (plugins or {}).items():
        if canonicalize_name(plugin["package"] or "") in packages:
            for each in plugin["problems"]:
                if each["is_error"]:
                    yield f"plugin {name} does not work: {each['cause']}; what to do: {each['remedy']}"


def _broken(before: Plugins, after: Plugins, versions: Mapping[str, str]) -> list[str]:
    """Find the plugins of replaced packages that worked before and do not any more.

    Args:
        before: the plugins before.
        after: the plugins now; ``None`` if they cannot be loaded at all.
        versions: of the packages that were replaced, before, by name.
    """
    from packaging.utils import canonicalize_name

    found: list[str] = []
    for name, old in (before or {}).items():
        package = canonicalize_name(old["package"] or "")
        if package not in versions or old["status"] in _BROKEN:
            continue
        new = (after or {}).get(name)
        if after is None or (new is not None and new["status"] in _BROKEN):
            cause = next((each["cause"] for each in new["problems"] if each["is_error"]), "") if new else ""
            version = new["version"] if new else "the new version"
            found.append(f"plugin {name}: {package} {version} does not work ({cause or 'no plugin can be loaded'})")
    return found


def _show_packages(
    packages: Iterable[ResolvedPackage],
    recorded: Mapping[str, RecordedPlugin],
    folder: Path,
    warnings: Mapping[str, Sequence[str]],
) -> None:
    from oneclaw_devtools.installing.wheel_contents import read_contents

    contents = read_contents(folder)
    _show("to be installed:")
    for package in packages:
        _show(f"  {package.name} {package.version} from {package.url}")
        _show(f"    sha256 {package.sha256}" if package.sha256 else "    without a hash: a folder or a repository")
        for line in warnings.get(package.name, ()):
            _show(f"    {line}")
        known = recorded.get(package.name)
        if known and known.version == package.version and known.sha256 not in ("", package.sha256):
            _show(f"    this is another file than the one installed before, sha256 {known.sha256}")
        if package.is_source:
            _show("    built from source, which runs its code")
        for line in contents[package.name].lines() if package.name in contents else ():
            _show(f"    {line}")


def _show_capabilities(folder: Path) -> list[ReviewedPlugin]:
    """Show what the plugins of unpacked packages may do; return them."""
    seen = look_at_unpacked(folder)
    for line in page_lines(seen):
        _show(line)
    return seen


def _show(line: str) -> None:
    """Print progress on stderr; stdout is for the outcome."""
    from oneclaw_core import redact
    from oneclaw_devtools.installing.requirement import without_credentials

    if not line.startswith(_NOT_WORTH_SHOWING):
        click.echo(f"  {printable(redact(without_credentials(line.rstrip())))}", err=True)


def _fail(failures: Sequence[str]) -> None:
    for failure in failures[:-1]:
        warn(failure)
    if failures:
        raise OneClawError(failures[-1])
