"""Loading of plugins: find them, look at those that are new, and merge what all of them register into a catalog."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.config.plugin_settings import describe_remaining, has_settings_of_others, settle_settings
from oneclaw_core.plugins.cache import PluginCache, cache_path
from oneclaw_core.plugins.catalog import Catalog
from oneclaw_core.plugins.distributions import is_ours
from oneclaw_core.plugins.installed import described
from oneclaw_core.plugins.kept_gates import KeptGates
from oneclaw_core.plugins.look_here import LOOKS_HERE
from oneclaw_core.plugins.names.naming import Naming
from oneclaw_core.plugins.plugin import Plugin, import_target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from oneclaw_core.plugins.manager import Looker


class EntryPoint(Protocol):
    """The part of an entry point that loading needs; that of importlib, or a stand-in.

    As ``dist`` it may have the distribution that it belongs to, with ``name`` and ``version``.
    """

    @property
    def name(self) -> str:
        """The plugin's name."""

    @property
    def value(self) -> str:
        """The target, as ``module`` or ``module:attribute``."""

    def load(self) -> Any:
        """Import it."""


class Reviews(Protocol):
    """The part of :class:`oneclaw_core.installation.reviewing.Reviews` that loading needs."""

    def blocks(self, plugin: Plugin) -> bool:
        """Return True if a plugin is not to be loaded, and not even imported; it is reported then."""

    def hold(self, plugin: Plugin) -> None:
        """Take from a plugin what goes beyond what was reviewed, and report it."""


def discover() -> list[Plugin]:
    """Find the installed plugins, without what they register: the built-in tools first, then by name and package."""
    return PluginCache(cache_path()).plugins()


def load_plugins(
    disabled: Collection[str] = (),
    entry_points: Iterable[Plugin | EntryPoint] | None = None,
    reviews: Callable[[], Reviews] | None = None,
) -> Catalog:
    """Collect what every plugin brings that is not disabled, and what goes wrong.

    Args:
        disabled: names of plugins to leave alone; the built-in tools cannot be.
        entry_points: what to load instead of everything that is installed. Those of :func:`discover` are imported at
            their first use, others now.
        reviews: returns what the user has reviewed, if there are plugins of others; ``None`` to withhold nothing.
    """
    cache = PluginCache(cache_path())
    plugins = cache.plugins() if entry_points is None else [cache.known(plugin_of(each)) for each in entry_points]
    loading = _Loading(cache, plugins, reviews)
    naming = Naming(plugins, is_whole=entry_points is None)
    for place, plugin in enumerate(plugins):
        loading.set_name(plugin, naming.plugin_name(place), disabled)
        cache.recall(plugin)
    loading.look()
    if has_settings_of_others(plugins):  # which may not take the names of OneClaw's own
        cache.amend(describe_remaining(plugins))
    naming.settle(loading.catalog)
    for plugin in plugins:
        loading.add(plugin)
    loading.catalog.complete()
    settle_settings(plugins)
    cache.save(plugins)
    return loading.catalog


class _Loading:
    """One run of :func:`load_plugins`."""

    def __init__(self, cache: PluginCache, plugins: list[Plugin], reviews: Callable[[], Reviews] | None) -> None:
        self.catalog = Catalog(plugins=plugins)
        self._cache = cache
        self._reviews = reviews
        self._names: set[str] = set()

    def set_name(self, plugin: Plugin, name: str, disabled: Collection[str]) -> None:
        """Give a plugin its name among the others, and leave it out if it is disabled."""
        plugin.name = name
        if name in disabled and plugin.is_builtin:
            cause = "the built-in tools cannot be disabled"
            plugin.report("settings", cause, "disable single tools instead", is_error=False)
        elif name in disabled:
            plugin.is_disabled = True
            plugin.registrations, plugin.hooks, plugin.problems, plugin.import_ms = [], {}, [], None
        elif name in self._names:
            plugin.name = f"{name}@{plugin.distribution}"
            cause = f"another package has a plugin named {name!r}"
            remedy = "ask an author to rename the entry point, so that the two can be told apart"
            plugin.report("discovery", cause, remedy, is_error=False, check="package.name-taken")
        self._names.add(plugin.name)

    def look(self) -> None:
        """Look at the plugins of which it is not known what they register; keep the gates of those that do not load."""
        enabled = [each for each in self.catalog.plugins if not each.is_disabled]
        usable = [each for each in enabled if not self._is_blocked(each)]
        for plugin in [each for each in usable if each.given is not None]:
            self._looker.look(plugin)
        if unknown := self._cache.unknown(usable):
            self._look_at(unknown)
        for plugin in enabled:
            if plugin.is_installed and plugin.is_unusable:
                plugin.registrations, plugin.hooks = [], KeptGates().of(plugin)

    def add(self, plugin: Plugin) -> None:
        """Add what a plugin registers to the catalog, and prepare its import."""
        if plugin.is_disabled:
            return
        if not plugin.is_unusable:
            plugin.importer = partial(self._import, plugin)
            if (reviews := self._reviews_of(plugin)) is not None:
                reviews.hold(plugin)
        self.catalog.add(plugin)

    def _is_blocked(self, plugin: Plugin) -> bool:
        """Return True if a plugin is not to be imported, whatever it registers."""
        if plugin.metadata_problem is not None:
            plugin.add(plugin.metadata_problem)
        if (reviews := self._reviews_of(plugin)) is not None and reviews.blocks(plugin):
            return True
        return plugin.metadata_problem is not None and plugin.metadata_problem.is_error

    def _reviews_of(self, plugin: Plugin) -> Reviews | None:
        """Return the reviews that hold for a plugin; OneClaw's own need none."""
        is_reviewed = plugin.is_installed and not is_ours(plugin)
        return self._reviews() if self._reviews is not None and is_reviewed else None

    def _look_at(self, unknown: list[Plugin]) -> None:
        with self._cache.looking(unknown) as note:
            left = self._cache.unknown(unknown)
            if LOOKS_HERE.get() or all(each.is_builtin for each in left):
                for plugin in left:
                    note(plugin)
                    self._looker.look(plugin)
                note(None)
            else:
                from oneclaw_core.process.plugin_looks import look_in_subprocess

                look_in_subprocess(left)
            for plugin in left:
                self._cache.keep(plugin)
        KeptGates().keep(each for each in unknown if not each.is_unusable)

    def _import(self, plugin: Plugin, target: str | None) -> Any:
        """Import a plugin, or an object of it, at its first use."""
        with self._cache.importing(plugin):
            return import_target(target) if target is not None else self._looker.manager.load(plugin)

    @cached_property
    def _looker(self) -> Looker:
        from oneclaw_core.plugins.manager import Looker  # not for listings, which call no hook

        return Looker(self.catalog.registry)


def plugin_of(each: Plugin | EntryPoint) -> Plugin:
    """Return the plugin of an entry point."""
    if isinstance(each, Plugin):
        return each
    plugin = described(each.name, each.value, getattr(each, "dist", None))
    plugin.given, plugin.has_own_loop = each.load, getattr(each, "has_own_loop", True)
    return plugin
