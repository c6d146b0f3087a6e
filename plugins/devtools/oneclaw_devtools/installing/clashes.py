"""The names of packages that are not installed yet, compared with those of the installed plugins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.config import registered_settings, settle_settings
from oneclaw_core.plugins import (
    CORE_DISTRIBUTION,
    SETTINGS_HOOK,
    Claim,
    Claimant,
    KnownNames,
    Plugin,
    PluginCache,
    cache_path,
    claims_of,
    find_installed,
    find_owners,
    name_of,
    normalised,
    user_record,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from oneclaw_core import ToolRegistry
    from oneclaw_core.plugins import Name, NameRecord
    from oneclaw_devtools.reviewing.sandboxed_look import Look

_PLUGIN, _TOOL = "plugin", "tool"


@dataclass(frozen=True, slots=True)
class NameClash:
    """A name that a package would not get.

    Attributes:
        distribution: the package, normalised.
        kind: the noun, such as ``tool``.
        name: the name.
        reason: who has it, as the end of a sentence.
        is_final: True for a name of OneClaw itself, which cannot be given away.
    """

    distribution: str
    kind: str
    name: str
    reason: str
    is_final: bool = False

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r} of {self.distribution} {self.reason}"


class NewPlugins:
    """The plugins of packages that a user asks for.

    Args:
        folder: with those that are not installed yet, as they would be in ``site-packages``.
        look: the findings of a look at them; of those that it did not see, only the plugin's name is known.
        installed: all plugins that are installed.
        wanted: the normalised names of the packages, with those that are installed already.
    """

    def __init__(self, folder: Path, look: Look, installed: Iterable[Plugin], wanted: Collection[str]) -> None:
        self._record = user_record()
        self._new = find_installed([str(folder)])
        for plugin in self._new:
            if plugin.target in look.plugins:
                plugin.take(look.plugins[plugin.target])
        packages = {_package_of(plugin) for plugin in self._new}
        self._claimants = [_claimant(plugin, is_looked_at=plugin.target in look.plugins) for plugin in self._new]
        self._others = [each for each in _installed_claimants(installed) if each.distribution not in packages]
        self._wanted = [*self._claimants, *(each for each in self._others if each.distribution in wanted)]

    def clashes(self, registry: ToolRegistry, check_commands: Callable[[Plugin], None]) -> list[NameClash]:
        """Return the names that new packages do not get or would take, without those that they did not get before.

        Args:
            registry: the tools there are, with those of tool sources, such as the user's own and those of MCP servers.
            check_commands: reports the commands of a plugin whose names are OneClaw's own.
        """
        claimants = [*self._others, *self._claimants]
        installed = {each.distribution for each in claimants}
        owners = find_owners(claimants, installed, self._record, is_noted=False)
        found = {
            (each.distribution, claim.key): NameClash(each.distribution, claim.kind, claim.name, owner.why)
            for each in self._claimants
            for claim, owner in owners.lost(each)
            if not _is_known_claimant(self._record, each.distribution, claim)
        }
        return [
            *found.values(),
            *self._clashes_with_sources(registry),
            *self._clashes_with_core(check_commands),
        ]

    def packages_with(self, name: str) -> list[str]:
        """Return the packages that register something by a name."""
        return list(dict.fromkeys(package for _, package in self._claims_of(name)))

    def give(self, names: Iterable[str]) -> None:
        """Note that the user gives names to these packages, whatever has them.

        Raises:
            OneClawError: that cannot be written.
        """
        given = [each for name in names for each in self._claims_of(name)]
        if given:
            _give_names(self._record, given)

    def _claims_of(self, name: str) -> list[tuple[Name, str]]:
        return [(claim.key, each.distribution) for each in self._wanted for claim in each.claims if claim.name == name]

    def _clashes_with_sources(self, registry: ToolRegistry) -> Iterable[NameClash]:
        """Return the tools of tool sources that a package would take the names of."""
        registered = {claim.key for each in self._others for claim in each.claims}
        present = {name_of(_TOOL, name): name for name in registry.get_all_tool_names()}
        own = {plugin.name for plugin in self._new}
        for each in self._claimants:
            for claim in each.claims:
                if claim.kind != _TOOL or claim.key in registered or claim.key not in present:
                    continue
                source = registry.get_source_info(present[claim.key])
                if source is not None and source.plugin not in own:
                    yield NameClash(each.distribution, _TOOL, claim.name, f"is one that {source.plugin} has now")

    def _clashes_with_core(self, check_commands: Callable[[Plugin], None]) -> Iterable[NameClash]:
        for plugin in self._new:
            for registration in plugin.registrations:
                alone = Plugin(plugin.name, registrations=[registration])
                check_commands(alone)
                if registration.hook == SETTINGS_HOOK:
                    settle_settings([alone])
                if alone.problems:
                    cause = alone.problems[0].cause
                    claims = list(claims_of(Plugin(plugin.name, registrations=[registration])))
                    claim = next((each for each in claims if each.name in cause), claims[0])
                    why = f"belongs to {CORE_DISTRIBUTION}, OneClaw itself"
                    yield NameClash(_package_of(plugin), claim.kind, claim.name, why, is_final=True)


def _installed_claimants(plugins: Iterable[Plugin]) -> list[Claimant]:
    plugins = [each for each in plugins if each.is_installed]
    registered_settings(each for each in plugins if _is_usable(each))  # describes those that are not described yet
    cache = PluginCache(cache_path())
    # With what is withheld from them.
    return [_claimant(cache.known(each), is_looked_at=_is_usable(each)) for each in plugins]


def _is_usable(plugin: Plugin) -> bool:
    return not (plugin.is_disabled or plugin.is_unusable)


def _claimant(plugin: Plugin, *, is_looked_at: bool) -> Claimant:
    claims = [Claim(_PLUGIN, plugin.name)]
    if not is_looked_at:
        return Claimant(_package_of(plugin), claims, is_known=False)
    is_known = not any(each.is_error for each in plugin.problems)
    return Claimant(_package_of(plugin), [*claims, *claims_of(plugin)], is_known=is_known)


def _package_of(plugin: Plugin) -> str:
    return CORE_DISTRIBUTION if plugin.is_builtin else normalised(plugin.distribution or plugin.target)


def _is_known_claimant(record: NameRecord, distribution: str, claim: Claim) -> bool:
    """Return True if it has been noted before that a distribution claims a name."""
    try:
        return distribution in record.read().lines.get(claim.key, ())
    except OneClawError:
        return False


def _give_names(record: NameRecord, names: Iterable[tuple[Name, str]]) -> None:
    """Note that the user gives names to distributions.

    Raises:
        OneClawError: that cannot be written.
    """
    given = dict(names)

    def give(known: KnownNames) -> KnownNames:
        return KnownNames(known.lines, {**known.chosen, **given})

    record.change(give)
