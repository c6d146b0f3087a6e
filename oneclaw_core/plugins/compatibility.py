"""Checks that a plugin was made for this version of OneClaw, by its metadata, before any of it is imported.

A plugin says so as every Python package does, by what it requires: ``oneclaw-core>=0.1,<0.2``.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import describe_error
from oneclaw_core.plugins.distributions import CORE_DISTRIBUTION
from oneclaw_core.plugins.plugin import PluginProblem
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from email.message import Message

    from oneclaw_core.plugins.plugin import Plugin

CORE_VERSION = __version__

_FIRST_TO_KEEP_A_CONTRACT = (0, 3)
_LAST_PATCH = 9999  # newer than all of a minor version

_CORE = re.compile(r"oneclaw[-_.]+core(?![\w.-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """Why a plugin does not go with this OneClaw.

    Attributes:
        required: versions of the core that the plugin wants, such as ``>=0.2,<0.3``.
        is_core_too_old: whether the core is older than all of them, so that it is what should be upgraded.
    """

    required: str
    is_core_too_old: bool


def name_and_version(distribution: Any) -> tuple[str | None, str | None]:
    """Return the name and the version of a distribution; a package without readable metadata has neither."""
    try:
        headers = _headers_of(distribution)
        name, version = (headers.get("Name"), headers.get("Version")) if headers is not None else (None, None)
        return name or distribution.name, version or distribution.version
    except Exception:  # noqa: BLE001  # damaged metadata make the library raise anything
        return None, None


def core_requirements(distribution: Any) -> list[str]:
    """Find what a distribution requires of ``oneclaw-core``.

    Args:
        distribution: with ``read_text`` and ``requires``, as ``importlib_metadata`` has them, or without.

    Returns:
        Its requirements on the core as they are written (PEP 508); those of other packages are left out.
    """
    headers = _headers_of(distribution)
    required = getattr(distribution, "requires", None) if headers is None else headers.get_all("Requires-Dist")
    return [" ".join(each.split()) for each in required or () if _CORE.match(each)]


def find_incompatibility(requirements: list[str], version: str = CORE_VERSION) -> Incompatibility | None:
    """Compare what a plugin requires of the core with the core that runs.

    A pre-release of the core counts as the release that it leads to as well: a checkout with the version
    ``0.2.0.dev1`` has to run plugins that are made for 0.2. From 0.3 on, a release counts as one of the minor version
    before it as well: the plugin contract promises that.

    Args:
        requirements: on ``oneclaw-core``, as :func:`core_requirements` finds them.
        version: of the core; by default the one that runs.

    Returns:
        ``None`` if they are met, or say nothing about versions.

    Raises:
        ValueError: one of them is not written as PEP 508 has it.
    """
    if not requirements:
        return None
    from packaging.requirements import Requirement
    from packaging.version import Version

    own = Version(version)
    counts_as = {own, Version(own.base_version)} if own.is_prerelease else {own}
    if own.release >= _FIRST_TO_KEEP_A_CONTRACT and own.major == 0:
        counts_as.add(Version(f"0.{own.minor - 1}.{_LAST_PATCH}"))
    for requirement in requirements:
        each = Requirement(requirement)
        if each.marker is not None and not each.marker.evaluate({"extra": ""}):
            continue
        if not any(each.specifier.contains(one, prereleases=True) for one in counts_as):
            bounds = [it.version.removesuffix(".*") for it in each.specifier if it.operator in (">=", ">", "==", "~=")]
            return Incompatibility(str(each.specifier), any(Version(bound) > own for bound in bounds))
    return None


def problem_of(plugin: Plugin, distribution: Any) -> PluginProblem | None:
    """Return why a plugin's distribution does not go with this OneClaw or Python, or cannot be read.

    A problem that is an error keeps the plugin from being imported: it would fail anywhere.
    """
    name = plugin.distribution or plugin.name
    try:
        headers = _headers_of(distribution)
        python = str(headers.get("Requires-Python", "")) if headers is not None else ""
        incompatibility = find_incompatibility(core_requirements(distribution))
    except (OSError, ValueError) as error:
        cause = f"the metadata cannot be read: {describe_error(error)}"
        return PluginProblem("compatibility", cause, "reinstall it", is_error=False)
    if incompatibility is not None:
        required = incompatibility.required
        cause = f"{plugin.package or name} was made for {CORE_DISTRIBUTION}{required}, and this is {CORE_VERSION}"
        if incompatibility.is_core_too_old:
            remedy = f"upgrade {CORE_DISTRIBUTION}, or install a version of {name} that goes with {CORE_VERSION}"
        else:
            upgrade = f"upgrade the plugin: oneclaw plugins upgrade {name}"
            remedy = f"{upgrade}, or install a {CORE_DISTRIBUTION}{required}"
        return PluginProblem("compatibility", f"{cause}; it was not loaded", remedy)
    if not _is_python_suitable(python):
        own = "{}.{}.{}".format(*sys.version_info[:3])
        cause = f"{plugin.package or name} needs Python {python}, and this is {own}; it was not loaded"
        disable = f"oneclaw plugins disable {plugin.name}"
        remedy = f"install a version of {name} for this Python, or disable it with: {disable}"
        return PluginProblem("compatibility", cause, remedy)
    return None


def _is_python_suitable(requirement: str) -> bool:
    """Return True if this Python meets a ``Requires-Python``; an unreadable one counts as met."""
    if not requirement:
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(requirement).contains("{}.{}.{}".format(*sys.version_info[:3]), prereleases=True)
    except InvalidSpecifier:
        return True


def _headers_of(distribution: Any) -> Message | None:
    """Read the metadata; ``None`` where there is no such file."""
    read = getattr(distribution, "read_text", None)
    metadata = read("METADATA") if read is not None else None
    # Without the description, which follows an empty line.
    return None if metadata is None else _parsed(metadata.partition("\n\n")[0])


@lru_cache(maxsize=1)  # name, requirements and Python are read one after the other
def _parsed(headers: str) -> Message:
    from email.parser import HeaderParser

    return HeaderParser().parsestr(headers)
