"""The index of plugins: a JSON file, on this machine or in the data-only package ``oneclaw-plugin-index``."""

from __future__ import annotations

import json
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oneclaw_core import OneClawError, __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_devtools.installing.package_manager import ResolvedPackage

INDEX_PACKAGE = "oneclaw_plugin_index"
_FORMAT = 1
_LONGEST_BYTES = 64 * 1024 * 1024


class IndexTokens(BaseModel):
    """The tokens of a plugin's tools: in every request, and once all of its groups are loaded."""

    model_config = ConfigDict(frozen=True)

    core: Annotated[int, Field(ge=0)] = 0
    groups: Annotated[int, Field(ge=0)] = 0


class IndexEntry(BaseModel):
    """A release of a plugin in the index."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="name of the package")
    version: str = Field(description="its version")
    sha256: str = Field("", pattern="^([0-9a-f]{64})?$", description="hash of its wheel")
    core: str = Field("", description="the versions of oneclaw-core that it works with, such as >=0.3,<0.4")
    capabilities: tuple[str, ...] = Field((), description="what it may do, as the page of `plugins install` says it")
    tokens: IndexTokens = Field(IndexTokens(), description="of its tools")
    grade: str = Field("", pattern="^(bronze|silver|gold)?$", description="of `oneclaw plugins check`")
    summary: str = Field("", description="one line for people")
    released: date | None = Field(None, description="the day of its release")
    yanked: str = Field("", description="why its author withdrew it; empty if that is not so")
    blocked: str = Field("", description="why no one should install it; empty if that is not so")

    @property
    def fits(self) -> bool:
        """True if it works with this OneClaw."""
        try:
            return SpecifierSet(self.core).contains(Version(__version__).base_version, prereleases=True)
        except InvalidSpecifier:
            return False


class PluginIndex(BaseModel):
    """The index."""

    format: int = Field(description="1")
    plugins: tuple[IndexEntry, ...] = ()

    def search(self, words: Iterable[str]) -> list[IndexEntry]:
        """Return the newest release of each plugin that works here and has all words, by name."""
        wanted = [each.casefold() for each in words]
        newest: dict[str, IndexEntry] = {}
        for each in self.plugins:
            text = " ".join((each.name, each.summary, *each.capabilities)).casefold()
            if each.fits and not (each.yanked or each.blocked) and all(word in text for word in wanted):
                name = canonicalize_name(each.name)
                if name not in newest or _version(each) > _version(newest[name]):
                    newest[name] = each
        return [newest[name] for name in sorted(newest)]

    def find(self, package: ResolvedPackage) -> IndexEntry | None:
        """Return the release that would be installed; ``None`` if it is not in the index."""
        for each in self.plugins:
            if canonicalize_name(each.name) == package.name and each.version == package.version:
                return each
        return None


def read_index(path: Path | None) -> PluginIndex | None:
    """Read the index.

    Args:
        path: the file; ``None`` for that of the installed package.

    Returns:
        The index; ``None`` if no file is given and the package is not installed.

    Raises:
        OneClawError: the file cannot be read, or is no index.
    """
    path = path or _installed_index()
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_BYTES)
        index = PluginIndex.model_validate(json.loads(content))
    except OSError as error:
        raise OneClawError(f"the index {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        what = f": {_place(error)}" if isinstance(error, ValidationError) else ""
        raise OneClawError(f"{path} is no index of plugins{what}") from None
    if index.format != _FORMAT:
        raise OneClawError(f"{path} has another format than {_FORMAT}: upgrade oneclaw-devtools")
    return index


def warnings_of(package: ResolvedPackage, entry: IndexEntry | None, young_days: int) -> Iterator[str]:
    """Yield what a user should know of a release before installing it.

    Args:
        package: what would be installed.
        entry: the release in the index.
        young_days: how many days a release counts as young.
    """
    if package.is_yanked or (entry is not None and entry.yanked):
        reason = f": {entry.yanked}" if entry is not None and entry.yanked else ""
        yield f"YANKED: its author has withdrawn this release{reason}"
    if entry is None:
        return
    if entry.blocked:
        yield f"BLOCKED by the index: {entry.blocked}"
    if entry.sha256 and package.sha256 and entry.sha256 != package.sha256:
        yield f"ANOTHER FILE: the index knows this release with sha256 {entry.sha256}"
    if entry.released is not None and 0 <= (age := (date.today() - entry.released).days) < young_days:
        yield f"YOUNG: released {age} days ago; the setting devtools.young_days is {young_days}"


def _installed_index() -> Path | None:
    spec = find_spec(INDEX_PACKAGE)  # a folder without code
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (path := Path(place, "index.json")).is_file():
            return path
    return None


def _version(entry: IndexEntry) -> Version:
    try:
        return Version(entry.version)
    except InvalidVersion:
        return Version("0")


def _place(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"/{'/'.join(map(str, first['loc']))}: {first['msg']}"
