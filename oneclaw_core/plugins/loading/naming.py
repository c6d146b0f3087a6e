"""Keep the names of each distribution from the others, and report what a plugin does not get to it."""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from oneclaw_core.plugins.catalogue.claims import (
    GROUP,
    PERMISSION,
    PLUGIN,
    SETTING,
    Claim,
    check_of,
    claims_of,
    hook_of,
    name_of,
    without,
)
from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin, package_metadata
from oneclaw_core.plugins.catalogue.name_record import user_record
from oneclaw_core.plugins.catalogue.ownership import OURS, Claimant, find_owners
from oneclaw_core.plugins.registration.entry import new_problem
from oneclaw_core.system.distributions import CORE_DISTRIBUTION, normalised

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.plugins.catalogue.ownership import Owner, Owners
    from oneclaw_core.plugins.loading.load_plugins import EntryPoint
    from oneclaw_core.plugins.registration.entry import PluginEntry
    from oneclaw_core.plugins.registration.record import PluginRecord

_MOST_SHOWN = 5
_log = logging.getLogger("oneclaw.plugins")


class Naming:
    """The names in one run of :func:`~oneclaw_core.plugins.loading.load_plugins.load_plugins`.

    Args:
        points: the plugins.
        is_whole: True if these are all that are installed.
    """

    def __init__(self, points: Sequence[EntryPoint], *, is_whole: bool) -> None:
        self._is_whole = is_whole
        self._claimants = [_claimant_of(point, place) for place, point in enumerate(points)]
        self._installed = {each.distribution for each in self._claimants if each.is_installed}
        self._points = points
        self._record = user_record()
        names = [claim.key for each in self._claimants for claim in each.claims]
        # Most often no two plugins have the same name, and one look at all names is enough.
        self._renamed = self._lost_names() if len(set(names)) < len(names) else set()

    def plugin_name(self, place: int) -> str:
        """Return the name of the plugin at a place: another one if its own belongs to another distribution."""
        point = self._points[place]
        if place not in self._renamed:
            return point.name
        return f"{point.name}@{_package_of(point) or self._claimants[place].distribution}"

    def settle(
        self, entries: Sequence[PluginEntry | None], records: Sequence[PluginRecord], catalog: Catalog
    ) -> list[PluginEntry | None]:
        """Return the entries without the names that belong to other distributions, which are reported.

        Args:
            entries: of the plugins; ``None`` for one that is not loaded.
            records: of the plugins.
            catalog: learns what groups say about permissions that they may explain.
        """
        if not self._has_strangers():
            return list(entries)
        for claimant, entry, record in zip(self._claimants, entries, records, strict=True):
            if entry is not None:
                claimant.claims = [*claimant.claims, *claims_of(entry, record.name)]
                claimant.is_known = not any(each.is_error for each in entry.problems)
        owners = self._owners()
        catalog.names_error = owners.error
        settled: list[PluginEntry | None] = []
        for claimant, entry, record in zip(self._claimants, entries, records, strict=True):
            lost = owners.lost(claimant) if not record.is_disabled else []
            if lost:
                _report(record, claimant.distribution, lost, owners.error)
            if entry is not None and lost:
                names = {claim.key for claim, _ in lost}
                _explain_permissions(entry, record, names, catalog)
                entry = without(entry, record.name, names)
            settled.append(entry)
        return settled

    def _has_strangers(self) -> bool:
        return any(each.distribution not in OURS for each in self._claimants)

    def _lost_names(self) -> set[int]:
        owners = self._owners()
        return {place for place, each in enumerate(self._claimants) if owners.lost(each)}

    def _owners(self) -> Owners:
        return find_owners(self._claimants, self._installed, self._record, is_noted=self._is_whole)


def _claimant_of(point: EntryPoint, place: int) -> Claimant:
    distribution = _package_of(point)
    is_installed = isinstance(point, InstalledPlugin)
    unnamed = point.value if is_installed else f"{point.name} (number {place + 1} of the program)"
    name = normalised(distribution) if distribution else unnamed
    claims = [Claim(PLUGIN, point.name)] if is_installed else []
    return Claimant(name, claims, is_installed=is_installed, is_known=False)


def _package_of(point: EntryPoint) -> str | None:
    if isinstance(point, InstalledPlugin) and point.is_builtin:
        return CORE_DISTRIBUTION  # also if its metadata are damaged
    return package_metadata(getattr(point, "dist", None)).name


def _report(record: PluginRecord, distribution: str, lost: Sequence[tuple[Claim, Owner]], error: str) -> None:
    """Report names that a plugin does not get: one problem for each kind and owner, and one line in the log."""
    by_owner: dict[tuple[str, Owner], list[Claim]] = {}
    for claim, owner in lost:
        by_owner.setdefault((claim.kind, owner), []).append(claim)
    causes = []
    for (kind, owner), claims in by_owner.items():
        record.withheld += [f"{kind} {each.name}" for each in claims]
        cause = f"the {kind} {_listed(claims)} {owner.why}; {_what_is_lost(kind, record, len(claims))}"
        causes.append(cause)
        give = f"oneclaw plugins install --allow-shadowing {shlex.quote(claims[0].name)} {distribution}"
        if record.installed is None:
            remedy = "use another name, or leave one of the two plugins out"
        elif owner.distribution:
            remedy = f"uninstall {distribution} or {owner.distribution}, or give it the name: {give}"
        else:
            remedy = f"{f'{error}; or ' if error else ''}uninstall one of them{'' if error else f', or choose: {give}'}"
        problem = new_problem(hook_of(kind), cause, remedy, is_error=not owner.is_chosen, check=check_of(kind))
        record.add(problem, is_logged=False)
    level = logging.INFO if all(owner.is_chosen for _, owner in by_owner) else logging.WARNING
    more = f" (and {len(causes) - 1} more of its names are not its own)" if len(causes) > 1 else ""
    about = f"plugin {record.name} ({record.package or '?'}): {causes[0]}{more}; see: oneclaw plugins list"
    _log.log(level, "%s", about, extra={"is_shown_once": True})


def _listed(claims: Sequence[Claim]) -> str:
    shown = ", ".join(each.shown or repr(each.name) for each in claims[:_MOST_SHOWN])
    return shown if len(claims) <= _MOST_SHOWN else f"{shown} and {len(claims) - _MOST_SHOWN} more"


def _what_is_lost(kind: str, record: PluginRecord, count: int) -> str:
    if kind == PLUGIN:
        return f"this one is called {record.name!r}" if "@" in record.name else "the tool source is left out"
    if kind == "service":
        return f"this plugin's is only called '{record.name}.NAME'"
    if kind == PERMISSION:
        return "what this plugin says about it is ignored"
    if kind == GROUP:
        return "what this plugin says about it is ignored, and tools of both belong to it"
    if kind == SETTING:
        return "the plugin's settings are left out"
    return f"{'those' if count > 1 else 'that'} of this plugin {'are' if count > 1 else 'is'} not used"


def _explain_permissions(
    entry: PluginEntry, record: PluginRecord, names: Collection[tuple[str, str]], catalog: Catalog
) -> None:
    """Keep what a plugin says about its own permissions in a group that another one describes."""
    for group in entry.groups:
        if name_of(GROUP, group.name) in names:
            own = {
                permission: meaning
                for permission, meaning in group.permissions.items()
                if name_of(PERMISSION, permission) not in names
            }
            catalog.registry.explain_permissions(own, group.name, record.name)
