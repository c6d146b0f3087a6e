"""The capabilities that the user has reviewed: state in the user's data directory, one file for each environment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from oneclaw_core.capabilities.capability import Capability
from oneclaw_core.system.private_files import StateFile, state_path

if TYPE_CHECKING:
    from collections.abc import Mapping

Reviews = dict[str, "ReviewedPackage"]


@dataclass(frozen=True, slots=True)
class ReviewedPackage:
    """The capabilities of a package that the user has reviewed.

    Attributes:
        version: of the package.
        content: the digest of its files, as the origins of plugins have it; ``""`` if it is not known yet.
        plugins: the capabilities of each of its plugins, by name.
    """

    version: str
    content: str
    plugins: Mapping[str, frozenset[Capability]] = field(default_factory=dict)


class ReviewRecord(StateFile[Reviews]):
    """The record of one environment, by the normalised names of packages."""

    what: ClassVar = "the reviewed capabilities of plugins"
    use: ClassVar = "review the plugins again"

    def read(self) -> Reviews:
        """Read what was reviewed; without a place for the file that is nothing.

        Raises:
            OneClawError: the file cannot be read, or is damaged; the message names it.
        """
        return {} if self._path is None else super().read()

    def note(self, package: str, reviewed: ReviewedPackage) -> None:
        """Note what the user has reviewed of a package; its other plugins stay as they were.

        Raises:
            OneClawError: that cannot be written.
        """

        def change(known: Reviews) -> Reviews:
            before = known[package].plugins if package in known else {}
            return {**known, package: replace(reviewed, plugins={**before, **reviewed.plugins})}

        self.change(change)

    def forget(self, package: str) -> None:
        """Forget a package, such as one that is uninstalled.

        Raises:
            OneClawError: that cannot be written.
        """
        self.change(lambda known: {name: each for name, each in known.items() if name != package})

    def _parsed(self, document: Mapping[str, Any]) -> Reviews:
        return {name: _package(each) for name, each in document["packages"].items()} if document else {}

    def _document(self, content: Reviews) -> dict[str, Any]:
        packages = {
            name: {
                "version": each.version,
                "content": each.content,
                "plugins": {plugin: sorted(found) for plugin, found in sorted(each.plugins.items())},
            }
            for name, each in sorted(content.items())
        }
        return {"packages": packages}


def user_reviews() -> ReviewRecord:
    """Return the record of this user and environment."""
    return ReviewRecord(state_path("reviewed-capabilities.json"))


def _package(data: Mapping[str, Any]) -> ReviewedPackage:
    plugins = {
        plugin: frozenset(Capability(str(kind), str(name)) for kind, name in capabilities)
        for plugin, capabilities in data["plugins"].items()
    }
    return ReviewedPackage(data["version"] + "", data["content"] + "", plugins)
