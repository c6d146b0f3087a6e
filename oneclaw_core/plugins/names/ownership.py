"""The owners of names: OneClaw's own distributions, then the distribution that had the name first on this machine.

A file tells which one that was.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from oneclaw_core.errors import OneClawError
from oneclaw_core.plugins.distributions import OURS
from oneclaw_core.plugins.names.claims import GROUP, Claim, Name
from oneclaw_core.system.private_files import StateFile, state_path

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


_log = logging.getLogger("oneclaw.plugins")


@dataclass(slots=True)
class KnownNames:
    """The owners of names, as they are noted.

    Attributes:
        lines: the distributions that claimed a name, by the time at which OneClaw saw that first.
        chosen: the distributions that the user has given a name to.
    """

    lines: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    chosen: dict[Name, str] = field(default_factory=dict)


class NameRecord(StateFile[KnownNames]):
    """The record of one environment."""

    what: ClassVar = "the owners of names"
    use: ClassVar = "have the owners of names noted again"

    def _parsed(self, document: Mapping[str, Any]) -> KnownNames:
        if not document:
            return KnownNames()
        lines = {
            Name(kind, form): tuple(str(each) for each in line)
            for kind, names in document["names"].items()
            for form, line in names.items()
            if isinstance(line, list)
        }
        chosen = {
            Name(kind, form): str(distribution)
            for kind, names in document["chosen"].items()
            for form, distribution in names.items()
        }
        return KnownNames(lines, chosen)

    def _document(self, content: KnownNames) -> dict[str, Any]:
        names: dict[str, dict[str, Any]] = {}
        chosen: dict[str, dict[str, Any]] = {}
        for name, line in sorted(content.lines.items()):
            names.setdefault(name.kind, {})[name.form] = list(line)
        for name, distribution in sorted(content.chosen.items()):
            chosen.setdefault(name.kind, {})[name.form] = distribution
        return {"names": names, "chosen": chosen}


def user_record() -> NameRecord:
    """Return the record of this user and environment."""
    return NameRecord(state_path("owners-of-names.json"))


@dataclass(slots=True)
class Claimant:
    """A plugin with the names that it claims.

    Attributes:
        distribution: its normalised name; for an object of the program, any text that no other has.
        claims: the names.
        is_installed: False for an object that a program gives.
        is_known: False if it may claim more than is known, because it is disabled or does not work.
    """

    distribution: str
    claims: Sequence[Claim]
    is_installed: bool = True
    is_known: bool = True


class Owner(NamedTuple):
    """The owner of a name.

    Attributes:
        distribution: its name; ``""`` if no distribution gets the name.
        why: the end of a sentence about it.
        is_chosen: True if the user has given it the name.
    """

    distribution: str
    why: str
    is_chosen: bool = False


@dataclass(slots=True)
class Owners:
    """The outcome for some plugins.

    Attributes:
        by_name: the owners of the names that not all who claim them get.
        texts: what the owners say about these names.
        error: why the record could not be read or written; ``""`` if it could.
    """

    by_name: dict[Name, Owner] = field(default_factory=dict)
    texts: dict[Name, str] = field(default_factory=dict)
    error: str = ""

    def lost(self, claimant: Claimant) -> list[tuple[Claim, Owner]]:
        """Return the names that a plugin does not get, and their owners."""
        found: dict[Name, tuple[Claim, Owner]] = {}
        for claim in claimant.claims:
            owner = self.by_name.get(claim.key)
            if owner is None or claim.is_joining or owner.distribution == claimant.distribution:
                continue
            if _are_both_ours(owner.distribution, claimant.distribution):
                continue
            if not claim.text or claim.text != self.texts.get(claim.key):
                found.setdefault(claim.key, (claim, owner))
        return list(found.values())


def find_owners(
    claimants: Sequence[Claimant], installed: Collection[str], record: NameRecord, *, is_noted: bool
) -> Owners:
    """Find the owners of names.

    Args:
        claimants: all plugins that are to be loaded, in the order in which objects of a program were given.
        installed: the normalised names of the distributions that keep what is theirs; with those that are disabled.
        record: what is known.
        is_noted: True to note who has a name first. False where only some of the installed plugins are looked at.
    """
    if all(each.distribution in OURS for each in claimants):
        return Owners()
    finding = _Finding(claimants, installed)
    if not any(each.is_installed for each in claimants if each.distribution not in OURS):
        return finding.owners(KnownNames())
    try:
        known = record.read()
        if is_noted and finding.after(known) != known:
            known = record.change(finding.after)
    except OneClawError as error:
        _log.info("the owners of plugins' names: %s", error)
        finding.error = str(error)
        try:
            known = record.read()
        except OneClawError:
            known = KnownNames()
    return finding.owners(known)


class _Finding:
    def __init__(self, claimants: Sequence[Claimant], installed: Collection[str]) -> None:
        self.error = ""
        self._installed = installed
        self._incomplete = {each.distribution for each in claimants if not each.is_known}
        self._seen = {each.distribution for each in claimants}
        self._lasting = {each.distribution for each in claimants if each.is_installed}
        self._claims: dict[Name, dict[str, Claim]] = {}
        for claimant in claimants:
            for claim in claimant.claims:
                self._claims.setdefault(claim.key, {}).setdefault(claimant.distribution, claim)

    def after(self, known: KnownNames) -> KnownNames:
        """Return what is known when these plugins have been seen."""
        lines, chosen = dict(known.lines), dict(known.chosen)
        for name, claims in self._claims.items():
            first = self._first(name, claims, known)
            if first is None:
                continue
            others = [each for each in claims if each in self._lasting]
            line = [each for each in (*self._alive(name, known), first, *others) if each in self._installed]
            if line:
                lines[name] = tuple(dict.fromkeys(line))
            if name in chosen and not self._holds(name, chosen[name]):
                del chosen[name]
        return KnownNames(lines, chosen)

    def owners(self, known: KnownNames) -> Owners:
        """Return the owners of what several distributions claim."""
        owners = Owners(error=self.error)
        for name, claims in self._claims.items():
            owner = self._owner(name, claims, known)
            if owner is not None and any(each != owner.distribution for each in claims):
                owners.by_name[name] = owner
                if owner.distribution in claims:
                    owners.texts[name] = claims[owner.distribution].text
        return owners

    def _owner(self, name: Name, claims: Mapping[str, Claim], known: KnownNames) -> Owner | None:
        chosen = known.chosen.get(name)
        if chosen is not None and self._holds(name, chosen):
            return Owner(chosen, f"belongs to {chosen}, which the user has given it to", is_chosen=True)
        alive = self._alive(name, known)
        own = next((each for each in (*claims, *alive) if each in OURS), None)
        if own is not None:
            return Owner(own, f"belongs to {own}, a distribution of OneClaw")
        first = self._first(name, claims, known)
        if first is not None:
            return Owner(first, f"belongs to {first}, which had it first")
        several = [each for each in claims if not claims[each].is_joining]
        texts = {claims[each].text for each in several}
        if len(texts) == 1 and "" not in texts:
            return None  # they say the same
        who = " and ".join(several)
        return Owner("", f"is claimed by {who}, and it is not known which had it first; none of them gets it")

    def _first(self, name: Name, claims: Mapping[str, Claim], known: KnownNames) -> str | None:
        """Return the distribution that had a name first; ``None`` if that is not known."""
        if alive := self._alive(name, known):
            return alive[0]
        lasting = [each for each in claims if each in self._lasting] or list(claims)[:1]
        if name.kind == GROUP:  # who describes a group goes before those who add tools to it
            lasting = [each for each in lasting if not claims[each].is_joining] or lasting
        own = [each for each in lasting if each in OURS]
        if own or len(lasting) == 1:
            return (own or lasting)[0]
        # What cannot be noted might be another one the next time.
        return None if self.error else _installed_first(lasting)

    def _alive(self, name: Name, known: KnownNames) -> list[str]:
        return [each for each in known.lines.get(name, ()) if self._holds(name, each)]

    def _holds(self, name: Name, distribution: str) -> bool:
        """Return True if a distribution is installed, and does not do without the name by now."""
        if distribution not in self._installed:
            return False
        is_looked_at = distribution in self._seen and distribution not in self._incomplete
        return not is_looked_at or distribution in self._claims.get(name, {})


def _are_both_ours(one: str, other: str) -> bool:
    return one in OURS and other in OURS


def _installed_first(distributions: Sequence[str]) -> str | None:
    """Return the distribution whose metadata were written before those of the others; ``None`` if that is not known."""
    import importlib_metadata

    times: list[tuple[int, str]] = []
    for name in distributions:
        try:
            place = getattr(importlib_metadata.distribution(name), "_path", None)
            times.append((place.stat().st_mtime_ns, name))  # type: ignore[union-attr]  # what has no stat is caught
        except (importlib_metadata.PackageNotFoundError, OSError, ValueError, AttributeError):
            return None
    times.sort()
    return times[0][1] if times[0][0] < times[1][0] else None
