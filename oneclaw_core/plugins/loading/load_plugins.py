"""Putting together what all plugins register, and keeping what goes wrong in one away from all others.

An installed plugin comes in by its entry, without being imported; a plugin that is given as an object is called here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from oneclaw_core.errors import NotFoundError, describe_error
from oneclaw_core.plugins.catalogue.discovery import BUILTIN_TARGET, InstalledPlugin, PackageMetadata, package_metadata
from oneclaw_core.plugins.catalogue.entries import InstalledCatalogue
from oneclaw_core.plugins.catalogue.merging import Catalog, set_hooks
from oneclaw_core.plugins.loading.crash_guard import LOADING, CrashGuard
from oneclaw_core.plugins.loading.naming import Naming
from oneclaw_core.plugins.registration.record import BUILTIN_PLUGIN, PluginRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from oneclaw_core.plugins.loading.plugin_import import PluginImport
    from oneclaw_core.plugins.registration.entry import PluginEntry
    from oneclaw_core.plugins.registration.hook_marks import PluginContract
    from oneclaw_core.plugins.reviewing import Reviews


class EntryPoint(Protocol):
    """The part of an entry point that loading needs; that of importlib, or a stand-in.

    As ``dist`` it may have the distribution that it belongs to, with ``name`` and ``version``.
    """

    @property
    def name(self) -> str:
        """The plugin's name."""
        ...

    @property
    def value(self) -> str:
        """The target, as ``module`` or ``module:attribute``."""
        ...

    def load(self) -> Any:
        """Import it."""
        ...


def discover() -> list[InstalledPlugin]:
    """Find the installed plugins: the built-in tools first, then by name and package."""
    return InstalledCatalogue().plugins()


def load_plugins(
    disabled: Collection[str] = (),
    entry_points: Iterable[EntryPoint] | None = None,
    notes_directory: Path | None = None,
    reviews: Reviews | None = None,
) -> Catalog:
    """Collect what every plugin brings that is not disabled, and what goes wrong.

    Args:
        disabled: names of plugins to leave alone; the built-in tools cannot be.
        entry_points: what to load instead of everything that is installed. Those of :func:`discover` are imported at
            their first use, others now.
        notes_directory: where to note what is being imported, so that a plugin which ends the program is left alone by
            the next start; ``None`` for no notes.
        reviews: what the user has reviewed of installed plugins; ``None`` to withhold nothing.
    """
    loading = _Loading(disabled, notes_directory, reviews)
    loading.load(entry_points)
    return loading.catalog


def disabled_plugins(stored: Mapping[str, Any], environ: Mapping[str, str]) -> frozenset[str]:
    """Read the one setting that is needed before anything else.

    An invalid value counts as none, so that listings work whatever is stored.
    """
    return frozenset(listed_setting(stored, environ, "disabled_plugins"))


def review_required(stored: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Read the setting ``reviewed_plugins_only`` before settings are validated; an invalid value counts as on."""
    value = environ.get("ONECLAW_REVIEWED_PLUGINS_ONLY") or stored.get("reviewed_plugins_only", False)
    return value is not False and str(value).strip().casefold() not in ("false", "no", "off", "0")


def listed_setting(stored: Mapping[str, Any], environ: Mapping[str, str], key: str) -> list[str]:
    """Read a setting that is a list of texts, before settings are validated."""
    value = environ.get(f"ONECLAW_{key.upper()}") or stored.get(key, ())
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return [str(each).strip() for each in items if str(each).strip()]


class _Loading:
    """One run of :func:`load_plugins`."""

    def __init__(self, disabled: Collection[str], notes_directory: Path | None, reviews: Reviews | None) -> None:
        self.catalog = Catalog()
        self._reviews = reviews
        self._disabled = disabled
        self._notes_directory = notes_directory
        self._contract: PluginContract | None = None

    def load(self, entry_points: Iterable[EntryPoint] | None) -> None:
        given = None if entry_points is None else list(entry_points)
        catalogue = None
        if given is None or any(isinstance(each, InstalledPlugin) for each in given):
            catalogue = InstalledCatalogue()
        points = catalogue.plugins() if catalogue is not None and given is None else given or []
        naming = Naming(points, is_whole=given is None)
        records = [self._record_of(point, naming.plugin_name(place), catalogue) for place, point in enumerate(points)]
        with CrashGuard(self._notes_directory) as notes:
            usable = [self._is_usable(point, record, notes) for point, record in zip(points, records, strict=True)]
        installed = [(each, record) for each, record in zip(points, records, strict=True) if _is_installed(each)]
        known: dict[InstalledPlugin, PluginEntry] = {}
        if catalogue is not None:
            wanted = zip(points, usable, strict=True)
            known = catalogue.entries(each for each, is_wanted in wanted if is_wanted and _is_installed(each))
        entries: list[PluginEntry | None] = []
        for point, record, is_wanted in zip(points, records, usable, strict=True):
            if not is_wanted:
                if catalogue is not None and isinstance(point, InstalledPlugin) and not record.is_disabled:
                    set_hooks(catalogue.guards(point), record)
                entries.append(None)
            else:
                entries.append(known[point] if isinstance(point, InstalledPlugin) else self._describe(point, record))
        for entry, point, record in zip(naming.settle(entries, records, self.catalog), points, records, strict=True):
            if entry is not None:
                if self._reviews is not None and _is_installed(point):
                    entry = self._reviews.within(entry, point, record)
                self.catalog.merge(entry, record)
                self._prepare_import(point, record)
        self.catalog.complete()
        if any(each.hook == "register_settings" for record in records for each in record.registrations):
            from oneclaw_core.plugins.registration.settings import settle_settings

            settle_settings(records)
        if catalogue is not None:
            catalogue.save(installed)

    def _record_of(self, point: EntryPoint, name: str, catalogue: InstalledCatalogue | None) -> PluginRecord:
        package = package_metadata(getattr(point, "dist", None))
        record = PluginRecord(name, package.name, package.version, point.value)
        record.has_own_loop = getattr(point, "has_own_loop", True)
        if catalogue is not None and isinstance(point, InstalledPlugin):
            record.installed = point
            record.known_causes = catalogue.known_causes(point)
        if name in self._disabled:
            if _is_builtin(point):
                record.report(
                    "settings", "the built-in tools cannot be disabled", "disable single tools instead", is_error=False
                )
            else:
                record.is_disabled = True
        if not record.is_disabled and any(other.name == name for other in self.catalog.plugins):
            record.name = f"{name}@{package.name}"
            record.report(
                "discovery",
                f"another package has a plugin named {name!r}",
                "ask an author to rename the entry point, so that the two can be told apart",
                is_error=False,
                check="package.name-taken",
            )
        self.catalog.plugins.append(record)
        return record

    def _is_usable(self, point: EntryPoint, record: PluginRecord, notes: CrashGuard) -> bool:
        if record.is_disabled:
            return False
        if _is_builtin(point):
            return True
        if self._reviews is not None and _is_installed(point) and self._reviews.blocks(point, record):
            return False
        return _is_compatible(package_metadata(getattr(point, "dist", None)), record) and not notes.leaves_alone(record)

    def _prepare_import(self, point: EntryPoint, record: PluginRecord) -> None:
        if any(problem.is_error and problem.where == "import" for problem in record.problems):
            return  # it is not imported here

        def start_import(target: str | None) -> PluginImport:
            from oneclaw_core.plugins.catalogue.description import Description
            from oneclaw_core.plugins.loading.plugin_import import PluginImport
            from oneclaw_core.plugins.registration.entry import import_target

            if target is not None:
                return PluginImport(record, target, partial(import_target, target), self._notes_directory)
            description = Description(
                record.name, point.load, self._the_contract(), self.catalog.registry, record.distribution
            )
            return PluginImport(record, None, description.load, self._notes_directory)

        record.start_import = start_import

    def _describe(self, point: EntryPoint, record: PluginRecord) -> PluginEntry:
        """Describe a plugin here that is given as an object."""
        from oneclaw_core.plugins import isolation
        from oneclaw_core.plugins.catalogue.description import Description
        from oneclaw_core.plugins.isolation import ForeignCall

        description = Description(
            record.name, point.load, self._the_contract(), self.catalog.registry, record.distribution
        )
        try:
            with CrashGuard(self._notes_directory) as notes, notes.during(record, LOADING):
                ForeignCall(description.make, f"description of {record.name}").wait(isolation.LOAD_SECONDS)
        except TimeoutError:
            description.report_hang(isolation.LOAD_SECONDS)
        record.loaded = description.loaded()
        return description.entry

    def _the_contract(self) -> PluginContract:
        if self._contract is None:
            from oneclaw_core.plugins.registration.hook_marks import PluginContract

            self._contract = PluginContract()
        return self._contract


def _is_compatible(package: PackageMetadata, record: PluginRecord) -> bool:
    """Return True if a plugin may be imported: one that was made for another OneClaw would fail anywhere."""
    if package.is_compatible:
        return True
    from oneclaw_core.plugins.catalogue.compatibility import (
        CORE_DISTRIBUTION,
        CORE_VERSION,
        UnreadableRequirementError,
        find_incompatibility,
        is_python_suitable,
        python_version,
    )

    name = record.distribution or record.name
    try:
        if package.fault:
            raise UnreadableRequirementError(package.fault)
        incompatibility = find_incompatibility(list(package.core_requirements))
    except ValueError as error:
        cause = f"the metadata cannot be read: {describe_error(error)}"
        record.report("compatibility", cause, "reinstall it", is_error=False)
        return True
    if incompatibility is not None:
        upgrade_plugin = f"upgrade the plugin: oneclaw plugins upgrade {name}"
        record.report(
            "compatibility",
            f"{record.package or name} was made for {CORE_DISTRIBUTION}{incompatibility.required}, "
            f"and this is {CORE_VERSION}; it was not loaded",
            f"upgrade {CORE_DISTRIBUTION}, or install a version of {name} that goes with {CORE_VERSION}"
            if incompatibility.is_core_too_old
            else f"{upgrade_plugin}, or install a {CORE_DISTRIBUTION}{incompatibility.required}",
        )
        return False
    if not is_python_suitable(package.python_requirement):
        record.report(
            "compatibility",
            f"{record.package or name} needs Python {package.python_requirement}, and this is {python_version()}; it "
            "was not loaded",
            f"install a version of {name} for this Python, or disable it with: oneclaw plugins disable {record.name}",
        )
        return False
    return True


def _is_installed(point: EntryPoint) -> TypeGuard[InstalledPlugin]:
    return isinstance(point, InstalledPlugin)


def _is_builtin(point: EntryPoint) -> bool:
    return point.name == BUILTIN_PLUGIN and point.value.partition(":")[0] == BUILTIN_TARGET


@dataclass(frozen=True, slots=True)
class GivenPlugin:
    """Stands in for the entry point of a plugin that is not installed.

    Attributes:
        name: of the plugin.
        plugin: a module, or any object with hooks.
        value: where it comes from, for listings.
        has_own_loop: True to run its async code as that of an installed plugin, not on the program's event loop.
    """

    name: str
    plugin: Any
    value: str = "given by the program"
    dist: Any = None
    has_own_loop: bool = False

    def load(self) -> Any:
        """Return the plugin."""
        return self.plugin


def given_plugins(plugins: Iterable[object]) -> list[EntryPoint]:
    """Return entry points of plugins.

    Args:
        plugins: entry points, names of installed plugins or packages, modules with hooks, or objects with hooks.

    Raises:
        NotFoundError: there is no such plugin; the message names those there are.
    """
    points: list[Any] = []
    for each in [plugins] if isinstance(plugins, str) else plugins:
        if isinstance(each, str):
            points += [point for point in named_plugins(discover(), each) if point not in points]
        elif _is_entry_point(each):
            points.append(each)
        else:
            points.append(GivenPlugin(plugin_name(each), each))
    return points


def named_plugins(installed: Iterable[EntryPoint], name: str) -> list[EntryPoint]:
    """Return the installed plugins of that name, or of the package of that name.

    Raises:
        NotFoundError: there is none; the message names those there are.
    """
    wanted, installed = name.strip(), list(installed)
    points = [
        point for point in installed if wanted in (point.name, getattr(getattr(point, "dist", None), "name", None))
    ]
    if not points:
        names = ", ".join(point.name for point in installed)
        raise NotFoundError(
            f"no plugin {wanted!r} is installed; installed are: {names}. Install the package that is tested, such as "
            "by: pip install --editable ."
        )
    return points


def plugin_name(plugin: object) -> str:
    """Return the name of a plugin that is given as a module or object."""
    return str(getattr(plugin, "__name__", None) or type(plugin).__name__).rpartition(".")[2]


def _is_entry_point(value: object) -> bool:
    return all(hasattr(value, name) for name in ("name", "value", "load"))
