"""Is what a project's plugin reads at run time in its wheel? The wheel is built by the project's own build backend."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.process import run_probe
from oneclaw_devtools.conformance.package import NOT_IN_WHEEL, WHEEL_UNCHECKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.process import Channel, Scratch
    from oneclaw_devtools.conformance.finding import Finding
    from oneclaw_devtools.conformance.target import Subject

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
        "task": "oneclaw_devtools.conformance.wheel:build",
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
    import tomllib

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
