"""The file that tells which distribution had a name first on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from oneclaw_core.plugins.names.claims import Name
from oneclaw_core.system.private_files import StateFile, state_path

if TYPE_CHECKING:
    from collections.abc import Mapping


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
