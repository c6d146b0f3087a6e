"""Checks that a plugin was made for this version of OneClaw, by its metadata, before any of it is imported.

A plugin says so as every Python package does, by what it requires: ``oneclaw-core>=0.1,<0.2``.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.plugins.distributions import CORE_DISTRIBUTION, OUR_DISTRIBUTIONS
from oneclaw_core.plugins.plugin import Plugin, PluginProblem
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

CORE_VERSION = __version__

_FIRST_TO_KEEP_A_CONTRACT = (0, 3)
_LAST_PATCH = 9999  # newer than all of a minor version

_CORE = re.compile(r"oneclaw[-_.]+core(?![\w.-])", re.IGNORECASE)


class Incompatibility(NamedTuple):
    """Why a plugin does not go with this OneClaw.

    Attributes:
        required: versions of the core that the plugin wants, such as ``>=0.2,<0.3``.
        is_core_too_old: whether the core is older than all of them, so that it is what should be upgraded.
    """

    required: str
    is_core_too_old: bool


def read_headers(distribution: Any) -> dict[str, list[str]]:
    """Read the metadata of a distribution without the description.

    Args:
        distribution: with ``read_text`` as ``importlib_metadata`` has it, or with ``name``, ``version`` and
            ``requires``.

    Returns:
        The values of each header, by its name in small letters.

    Raises:
        Exception: they are damaged.
    """
    read = getattr(distribution, "read_text", None)
    text = read("METADATA") if read is not None else None
    if not text:
        given = {name: [str(getattr(distribution, name, "") or "")] for name in ("name", "version")}
        return {**given, "requires-dist": list(getattr(distribution, "requires", None) or ())}
    headers: dict[str, list[str]] = {}
    # A line that begins with a blank continues the one before.
    for line in re.sub(r"\r?\n[ \t]+", " ", re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]).split("\n"):
        name, _, value = line.partition(":")
        headers.setdefault(name.lower(), []).append(value.strip())
    return headers


def core_requirements(distribution: Any) -> list[str]:
    """Find what a distribution requires of ``oneclaw-core``.

    Args:
        distribution: as for :func:`read_headers`.

    Returns:
        Its requirements on the core as they are written (PEP 508); those of other packages are left out.
    """
    return _on_core(read_headers(distribution))


def _on_core(headers: Mapping[str, list[str]]) -> list[str]:
    return [" ".join(each.split()) for each in headers.get("requires-dist", ()) if _CORE.match(each)]


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
    for each in map(Requirement, requirements):
        if each.marker is not None and not each.marker.evaluate({"extra": ""}):
            continue
        if not any(each.specifier.contains(one, prereleases=True) for one in counts_as):
            bounds = [it.version.removesuffix(".*") for it in each.specifier if it.operator in (">=", ">", "==", "~=")]
            return Incompatibility(str(each.specifier), any(Version(bound) > own for bound in bounds))
    return None


def problem_of(plugin: Plugin, headers: Mapping[str, list[str]]) -> PluginProblem | None:
    """Return why a plugin's distribution does not go with this OneClaw or Python.

    A problem that is an error keeps the plugin from being imported: it would fail anywhere.

    Raises:
        ValueError: a requirement is not written as PEP 508 has it.
    """
    if plugin.version == CORE_VERSION and plugin.distribution == OUR_DISTRIBUTIONS.get(plugin.name):
        return None  # released together, so there is nothing to compare
    name = plugin.distribution or plugin.name
    incompatibility = find_incompatibility(_on_core(headers))
    if incompatibility is not None:
        required = f"{CORE_DISTRIBUTION}{incompatibility.required}"
        cause = f"{plugin.package or name} was made for {required}, and this is {CORE_VERSION}; it was not loaded"
        if incompatibility.is_core_too_old:
            remedy = f"upgrade {CORE_DISTRIBUTION}, or install a version of {name} that goes with {CORE_VERSION}"
        else:
            remedy = f"upgrade the plugin: oneclaw plugins upgrade {name}, or install a {required}"
        return PluginProblem("compatibility", cause, remedy)
    python, own = headers.get("requires-python", [""])[0], "{}.{}.{}".format(*sys.version_info[:3])
    if python and not _goes_with(python, own):
        cause = f"{plugin.package or name} needs Python {python}, and this is {own}; it was not loaded"
        disable = f"oneclaw plugins disable {plugin.name}"
        remedy = f"install a version of {name} for this Python, or disable it with: {disable}"
        return PluginProblem("compatibility", cause, remedy)
    return None


def _goes_with(requirement: str, version: str) -> bool:
    """Return True if a version of Python meets a requirement; an unreadable one counts as met."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(requirement).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True
