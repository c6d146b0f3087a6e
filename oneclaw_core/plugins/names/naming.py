"""Keep the names of each distribution from the others, and report what a plugin does not get to it."""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from oneclaw_core.plugins.distributions import CORE_DISTRIBUTION, OURS, normalised
from oneclaw_core.plugins.names.claims import (
    GROUP,
    PERMISSION,
    PLUGIN,
    SETTING,
    Claim,
    check_of,
    claims_of,
    hook_of,
    name_of,
    withhold,
)
from oneclaw_core.plugins.names.ownership import Claimant, Owner, Owners, find_owners, user_record
from oneclaw_core.plugins.plugin import GROUP_HOOK, Plugin, PluginProblem

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from oneclaw_core.plugins.catalog import Catalog

_MOST_SHOWN = 5
_log = logging.getLogger("oneclaw.plugins")


class Naming:
    """The names in one run of :func:`~oneclaw_core.plugins.loading`.

    Args:
        plugins: to be loaded.
        is_whole: True if these are all that are installed.
    """

    def __init__(self, plugins: Sequence[Plugin], *, is_whole: bool) -> None:
        self._is_whole = is_whole
        self._claimants = [_claimant_of(plugin, place) for place, plugin in enumerate(plugins)]
        self._installed = {each.distribution for each in self._claimants if each.is_installed}
        self._plugins = plugins
        names = [claim.key for each in self._claimants for claim in each.claims]
        # Most often no two plugins have the same name, and one look at all names is enough.
        self._renamed = self._lost_names() if len(set(names)) < len(names) else set()

    def plugin_name(self, place: int) -> str:
        """Return the name of the plugin at a place: another one if its own belongs to another distribution."""
        plugin = self._plugins[place]
        if place not in self._renamed:
            return plugin.name
        return f"{plugin.name}@{plugin.distribution or self._claimants[place].distribution}"

    def settle(self, catalog: Catalog) -> None:
        """Take from the plugins the names that belong to other distributions, and report that.

        Args:
            catalog: learns what groups say about permissions that they may explain.
        """
        if not self._has_strangers():
            return
        for claimant, plugin in zip(self._claimants, self._plugins, strict=True):
            if not plugin.is_disabled and not plugin.is_unusable:
                claimant.claims = [*claimant.claims, *claims_of(plugin)]
                claimant.is_known = not any(each.is_error for each in plugin.problems)
        owners = self._owners()
        catalog.names_error = owners.error
        for claimant, plugin in zip(self._claimants, self._plugins, strict=True):
            lost = owners.lost(claimant) if not plugin.is_disabled else []
            if lost:
                names = {claim.key for claim, _ in lost}
                _report(plugin, claimant.distribution, lost, owners.error)
                _explain_permissions(plugin, names, catalog)
                withhold(plugin, names)

    def _has_strangers(self) -> bool:
        return any(each.distribution not in OURS for each in self._claimants)

    def _lost_names(self) -> set[int]:
        owners = self._owners()
        return {place for place, each in enumerate(self._claimants) if owners.lost(each)}

    def _owners(self) -> Owners:
        return find_owners(self._claimants, self._installed, user_record(), is_noted=self._is_whole)


def _claimant_of(plugin: Plugin, place: int) -> Claimant:
    # The built-in tools are the core's, also if its metadata are damaged.
    distribution = CORE_DISTRIBUTION if plugin.is_builtin else plugin.distribution
    unnamed = plugin.target if plugin.is_installed else f"{plugin.name} (number {place + 1} of the program)"
    name = normalised(distribution) if distribution else unnamed
    claims = [Claim(PLUGIN, plugin.name)] if plugin.is_installed else []
    return Claimant(name, claims, is_installed=plugin.is_installed, is_known=False)


def _report(plugin: Plugin, distribution: str, lost: Sequence[tuple[Claim, Owner]], error: str) -> None:
    """Report names that a plugin does not get: one problem for each kind and owner, and one line in the log."""
    by_owner: dict[tuple[str, Owner], list[Claim]] = {}
    for claim, owner in lost:
        by_owner.setdefault((claim.kind, owner), []).append(claim)
    causes = []
    for (kind, owner), claims in by_owner.items():
        plugin.withheld += [f"{kind} {each.name}" for each in claims]
        cause = f"the {kind} {_listed(claims)} {owner.why}; {_what_is_lost(kind, plugin, len(claims))}"
        causes.append(cause)
        give = f"oneclaw plugins install --allow-shadowing {shlex.quote(claims[0].name)} {distribution}"
        if not plugin.is_installed:
            remedy = "use another name, or leave one of the two plugins out"
        elif owner.distribution:
            remedy = f"uninstall {distribution} or {owner.distribution}, or give it the name: {give}"
        else:
            remedy = f"{f'{error}; or ' if error else ''}uninstall one of them{'' if error else f', or choose: {give}'}"
        problem = PluginProblem(hook_of(kind), cause, remedy, not owner.is_chosen, check_of(kind))
        plugin.add(problem, is_logged=False)
    level = logging.INFO if all(owner.is_chosen for _, owner in by_owner) else logging.WARNING
    more = f" (and {len(causes) - 1} more of its names are not its own)" if len(causes) > 1 else ""
    about = f"plugin {plugin.name} ({plugin.package or '?'}): {causes[0]}{more}; see: oneclaw plugins list"
    _log.log(level, "%s", about, extra={"is_shown_once": True})


def _listed(claims: Sequence[Claim]) -> str:
    shown = ", ".join(each.shown or repr(each.name) for each in claims[:_MOST_SHOWN])
    return shown if len(claims) <= _MOST_SHOWN else f"{shown} and {len(claims) - _MOST_SHOWN} more"


def _what_is_lost(kind: str, plugin: Plugin, count: int) -> str:
    if kind == PLUGIN:
        return f"this one is called {plugin.name!r}" if "@" in plugin.name else "the tool source is left out"
    if kind == "service":
        return f"this plugin's is only called '{plugin.name}.NAME'"
    if kind == PERMISSION:
        return "what this plugin says about it is ignored"
    if kind == GROUP:
        return "what this plugin says about it is ignored, and tools of both belong to it"
    if kind == SETTING:
        return "the plugin's settings are left out"
    return f"{'those' if count > 1 else 'that'} of this plugin {'are' if count > 1 else 'is'} not used"


def _explain_permissions(plugin: Plugin, names: Collection[tuple[str, str]], catalog: Catalog) -> None:
    """Keep what a plugin says about its own permissions in a group that another one describes."""
    for each in plugin.registrations:
        if each.hook == GROUP_HOOK and name_of(GROUP, each.name) in names:
            meanings = each.group_definition.permissions
            own = {name: text for name, text in meanings.items() if name_of(PERMISSION, name) not in names}
            catalog.registry.explain_permissions(own, each.name, plugin.name)
