"""Checks: the metadata of a package, and the files in its wheel, which its own build backend makes."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from oneclaw_core import __version__
from oneclaw_core.plugins import core_requirements, find_incompatibility
from oneclaw_devtools.conformance.finding import Check, Finding, Severity
from oneclaw_devtools.conformance.probe import run_probe
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_devtools.conformance.probe_child import Channel
    from oneclaw_devtools.conformance.target import PackageFacts, Subject
    from oneclaw_devtools.scratch import Scratch

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

CORE = CORE_DISTRIBUTION
_FAR_FUTURE = "9999"
BUILD_SECONDS = 60.0
_DEFAULT_BACKEND = "setuptools.build_meta:__legacy__"
_LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".hg",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "node_modules",
    "__pycache__",
    "dist",
    ".mypy_cache",
    ".pytest_cache",
)

ENTRY_POINT = Check(
    "package.entry-point",
    _E,
    "a package without an entry point in the group `oneclaw`, or with one that cannot be read",
    'add to pyproject.toml: [project.entry-points.oneclaw], then a line such as tables = "acme_tables"',
)
MODULE = Check(
    "package.module",
    _E,
    "an entry point whose module is not in the project",
    "correct the entry point, or where the package lies: beside pyproject.toml, or in src",
)
VERSION = Check("package.version", _E, "no version", "add version to pyproject.toml")
REQUIRES_CORE = Check(
    "package.requires-core",
    _W,
    "no requirement of `oneclaw-core`",
    f"add to the dependencies: oneclaw-core>={'.'.join(__version__.split('.')[:2])}",
)
CORE_RANGE = Check(
    "package.core-range",
    _E,
    "a requirement of `oneclaw-core` that excludes the one which runs, or cannot be read",
    f"make the range include {__version__}",
)
UNBOUNDED = Check(
    "package.core-unbounded",
    _N,
    "a requirement of `oneclaw-core` that later versions meet, whatever they change",
    "add an upper bound, such as <0.2",
)
SUMMARY = Check("package.summary", _N, "no summary", "add description to pyproject.toml")
LICENCE = Check("package.licence", _N, "no licence", "add license to pyproject.toml")
PYTHON = Check("package.python", _N, "no range of Python versions", 'add requires-python = ">=3.11" to pyproject.toml')
NOT_IN_WHEEL = Check(
    "package.not-in-wheel",
    _E,
    "a manifest or skill that is in the project and not in its wheel",
    "include data files: hatchling does so by itself; setuptools needs [tool.setuptools.package-data]",
)
WHEEL_UNCHECKED = Check(
    "package.wheel-unchecked",
    _N,
    "the wheel could not be built to look into",
    "build it, and check it: oneclaw plugins check dist/NAME.whl",
)


def package_findings(subject: Subject) -> Iterator[Finding]:
    """Look at the package's own description of itself."""
    package = subject.package
    where = f"package {package.name or '?'}"
    if package.version is None and not package.is_version_dynamic:
        yield VERSION.found(where, "it has no version")
    if package.summary is None:
        yield SUMMARY.found(where, "it has no summary")
    if package.licence is None:
        yield LICENCE.found(where, "it names no licence")
    if package.requires_python is None:
        yield PYTHON.found(where, "it does not say for which versions of Python it is")
    if package.requirements is not None and package.name != CORE:
        yield from _core_requirement(where, package)


def _core_requirement(where: str, package: PackageFacts) -> Iterator[Finding]:
    requirements = core_requirements(SimpleNamespace(requires=package.requirements))
    shown = ", ".join(requirements)
    try:
        if find_incompatibility(requirements) is not None:
            yield CORE_RANGE.found(where, f"it requires {shown!r}, and this is oneclaw-core {__version__}")
        elif requirements and find_incompatibility(requirements, _FAR_FUTURE) is None:
            yield UNBOUNDED.found(where, f"it requires {shown!r}")
    except ValueError as error:
        yield CORE_RANGE.found(where, f"it requires {shown!r}, which cannot be read: {error}")
    if not requirements:
        yield REQUIRES_CORE.found(where, f"its dependencies do not name {CORE}")


def wheel_findings(subject: Subject, files: Iterable[str], scratch: Scratch) -> Iterator[Finding]:
    """Build a project's wheel, if its build backend is installed, and look for the files in it.

    Args:
        subject: a project.
        files: the paths of manifests and of skills' folders that the plugin registers.
        scratch: where to do it.
    """
    wanted = sorted({relative for each in files if (relative := _relative(each, subject.import_paths)) is not None})
    if subject.project is None or not wanted:
        return
    built = scratch.root / "built"
    built.mkdir(exist_ok=True)
    request = {
        "task": "oneclaw_devtools.conformance.package:build",
        "project": str(subject.project),
        "copy": str(scratch.root / "copy"),
        "to": str(built),
    }
    outcome = run_probe(request, scratch, BUILD_SECONDS)
    where = f"package {subject.package.name or '?'}"
    name = next((message["wheel"] for message in outcome.messages if "wheel" in message), None)
    if not isinstance(name, str):
        why = outcome.end.failure or outcome.end.how
        yield WHEEL_UNCHECKED.found(where, f"its wheel could not be built: {why}")
        return
    try:
        with zipfile.ZipFile(built / Path(name).name) as wheel:
            names = wheel.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        yield WHEEL_UNCHECKED.found(where, f"its wheel cannot be read: {error}")
        return
    for path in wanted:
        if not any(each == path or each.startswith(f"{path}/") for each in names):
            yield NOT_IN_WHEEL.found(path, "it is in the project, and not in the wheel")


def build(request: Mapping[str, Any], channel: Channel) -> None:
    """In the child process: copy the project, build its wheel, and send the wheel's name."""
    copy = Path(request["copy"])
    shutil.copytree(request["project"], copy, ignore=_LEFT_OUT, symlinks=True, dirs_exist_ok=True)
    os.chdir(copy)
    backend, paths = _backend(copy)
    sys.path[:0] = paths
    module, _, attribute = backend.partition(":")
    found: Any = import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    channel.send({"wheel": found.build_wheel(request["to"])})


def _backend(project: Path) -> tuple[str, list[str]]:
    system = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8")).get("build-system", {})
    return system.get("build-backend", _DEFAULT_BACKEND), [
        str(project / each) for each in system.get("backend-path", ())
    ]


def _relative(path: str, roots: Iterable[str]) -> str | None:
    """The path of a file within a wheel; ``None`` if it lies outside the project."""
    for root in roots:
        real = os.path.realpath(path)
        if real.startswith(root + os.sep):
            return real[len(root) + 1 :].replace(os.sep, "/")
    return None
