"""The target of a check: an installed plugin, a project or a wheel. Nothing of it is imported here."""

from __future__ import annotations

import difflib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import importlib_metadata
from packaging.utils import canonicalize_name

from oneclaw_core import NotFoundError, UsageError
from oneclaw_core.plugins import discover
from oneclaw_devtools.conformance import package as package_checks
from oneclaw_devtools.fixed_names import ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_devtools.conformance.finding import Finding

MAX_WHEEL_BYTES = 500 * 1024 * 1024
_PYPROJECT = "pyproject.toml"
_USUAL_ROOTS = ("src", ".", "lib", "python")


@dataclass(frozen=True, slots=True)
class PluginPoint:
    """An entry point in the group ``oneclaw``.

    Attributes:
        name: of the plugin.
        value: the module, or ``module:attribute``.
    """

    name: str
    value: str

    @property
    def package(self) -> str:
        """The top-level name of what is imported."""
        return self.value.partition(":")[0].strip().partition(".")[0]


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """Metadata of a package; ``None`` where it has none.

    Attributes:
        name: of the distribution.
        version: of it.
        summary: what it is, in a line.
        licence: an expression or a name.
        requires_python: the range of Python versions.
        requirements: what it depends on; ``None`` if only building it could tell.
        is_version_dynamic: whether only building it could tell the version.
    """

    name: str | None = None
    version: str | None = None
    summary: str | None = None
    licence: str | None = None
    requires_python: str | None = None
    requirements: tuple[str, ...] | None = None
    is_version_dynamic: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """The target of a check.

    Attributes:
        package: what it says of itself.
        points: its plugins.
        import_paths: the directories to import it from, before all others; none for what is installed.
        project: the project's directory, ``None`` for anything else.
        findings: what was wrong already.
    """

    package: PackageFacts
    points: tuple[PluginPoint, ...]
    import_paths: tuple[str, ...] = ()
    project: Path | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """Its name in a report."""
        name = self.package.name or (self.project.name if self.project is not None else "?")
        return f"{name} {self.package.version}" if self.package.version else name


def find_subject(target: str | None, unpack_to: Path) -> Subject:
    """Find what is meant.

    Args:
        target: the name of an installed plugin or package, or the path of a project or wheel; ``None`` for the project
            in the current directory.
        unpack_to: where the files of a wheel go.

    Raises:
        NotFoundError: there is nothing of that name.
        UsageError: it is none of these, or cannot be read.
    """
    if target is None:
        if not Path(_PYPROJECT).is_file():
            raise UsageError(
                f"name a plugin, or the path of a project: there is no {_PYPROJECT} here; the installed plugins are: "
                + ", ".join(point.name for point in discover())
            )
        return read_project(Path.cwd())
    path = Path(target)
    is_path = "/" in target or "\\" in target or target.startswith(".") or path.suffix == ".whl"
    if not is_path:
        installed = find_installed(target)
        if installed is not None:
            return installed
    try:
        if path.suffix == ".whl" and path.is_file():
            return read_wheel(path, unpack_to)
        if path.is_file() and path.name == _PYPROJECT:
            path = path.parent
        if path.is_dir():
            return read_project(path.resolve())
    except (OSError, ValueError) as error:
        raise UsageError(f"{target!r} cannot be read: {error}") from None
    if is_path:
        raise UsageError(f"there is no project or wheel at {target!r}")
    names = [point.name for point in discover()]
    close = difflib.get_close_matches(target, names, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}?" if close else "list them with: oneclaw plugins list"
    raise NotFoundError(f"no plugin or package {target!r} is installed, and there is no such directory; {hint}")


def find_installed(name: str) -> Subject | None:
    """Find an installed plugin by its own name, or all plugins of an installed package by its."""
    points = discover()
    found = [point for point in points if point.name == name] or [
        point for point in points if canonicalize_name(point.distribution or "") == canonicalize_name(name)
    ]
    if not found:
        return None
    own = [PluginPoint(point.name, point.target) for point in found]
    return Subject(_metadata_of_installed(found[0].distribution), tuple(own))


def read_wheel(path: Path, unpack_to: Path) -> Subject:
    """Unpack a wheel and read what it says of itself.

    Raises:
        UsageError: it is none.
    """
    try:
        with zipfile.ZipFile(path) as wheel:
            if sum(each.file_size for each in wheel.infolist()) > MAX_WHEEL_BYTES:
                raise UsageError(f"{str(path)!r} holds more than {MAX_WHEEL_BYTES // 1024**2} MB")
            wheel.extractall(unpack_to)
    except zipfile.BadZipFile:
        raise UsageError(f"{str(path)!r} is not a wheel") from None
    described = next(iter(sorted(unpack_to.glob("*.dist-info"))), None)
    if described is None:
        raise UsageError(f"{str(path)!r} is not a wheel: it holds no .dist-info")
    distribution = importlib_metadata.PathDistribution(described)
    package = _metadata(distribution)
    try:
        points = [
            PluginPoint(each.name, _without_extras(each.value))
            for each in distribution.entry_points.select(group=ENTRY_POINT_GROUP)
        ]
    except Exception:  # noqa: BLE001  # a damaged entry_points.txt makes the library raise anything
        points = []
    return Subject(package, tuple(points), (str(unpack_to),), findings=tuple(_point_findings(package, points)))


def _without_extras(value: str) -> str:
    """Return what an entry point names; the specification still allows extras in brackets behind it."""
    return value.partition("[")[0].strip()


def read_project(directory: Path) -> Subject:
    """Read a project's ``pyproject.toml``.

    Raises:
        UsageError: it has none, or that is no TOML.
    """
    document = _pyproject(directory)
    project = _table(document, "project")
    poetry = _table(_table(document, "tool"), "poetry")
    dynamic = project.get("dynamic") if isinstance(project.get("dynamic"), list) else []
    declared = _table(_table(project, "entry-points"), ENTRY_POINT_GROUP) or _table(
        _table(poetry, "plugins"), ENTRY_POINT_GROUP
    )
    points = [PluginPoint(str(name), _without_extras(str(value))) for name, value in declared.items()]
    requirements = project.get("dependencies", [])
    is_told = "project" in document and "dependencies" not in (dynamic or ()) and isinstance(requirements, list)
    package = PackageFacts(
        name=_text(project.get("name")) or _text(poetry.get("name")),
        version=_text(project.get("version")) or _text(poetry.get("version")),
        summary=_text(project.get("description")) or _text(poetry.get("description")),
        licence=_licence(project.get("license")) or _text(poetry.get("license")),
        requires_python=_text(project.get("requires-python"))
        or _text(_table(_table(poetry, "dependencies"), "python").get("version"))
        or _text(_table(poetry, "dependencies").get("python")),
        requirements=tuple(map(str, requirements)) if is_told else None,
        is_version_dynamic="version" in (dynamic or ()),
    )
    roots = tuple(_import_roots(directory, points, document))
    findings = [*_point_findings(package, points), *_module_findings(points, roots)]
    return Subject(package, tuple(points), roots, directory, tuple(findings))


def _pyproject(directory: Path) -> dict[str, Any]:
    import tomllib

    path = directory / _PYPROJECT
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{str(directory)!r} has no {_PYPROJECT}: name a project's directory, a wheel, or an installed plugin"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}") from None


def _import_roots(directory: Path, points: Iterable[PluginPoint], document: Mapping[str, Any]) -> Iterator[str]:
    """Find the directories that the modules of entry points lie in."""
    candidates = [directory / each for each in (*_configured_roots(document), *_USUAL_ROOTS)]
    found: dict[str, None] = {}
    for name in {point.package for point in points}:
        for root in candidates:
            if (root / name).is_dir() or (root / f"{name}.py").is_file():
                found[str(root.resolve())] = None
                break
    yield from found


def _configured_roots(document: Mapping[str, Any]) -> Iterator[str]:
    tool = _table(document, "tool")
    setuptools = _table(tool, "setuptools")
    where = _table(_table(setuptools, "packages"), "find").get("where", [])
    directories = _table(setuptools, "package-dir")
    wheel = _table(_table(_table(_table(tool, "hatch"), "build"), "targets"), "wheel").get("packages", [])
    yield from (str(each) for each in (where if isinstance(where, list) else ()))
    yield from (str(each) for each in directories.values())
    yield from (str(Path(str(each)).parent) for each in (wheel if isinstance(wheel, list) else ()))


def _point_findings(package: PackageFacts, points: list[PluginPoint]) -> Iterator[Finding]:
    if not points:
        where = f"package {package.name or '?'}"
        yield package_checks.ENTRY_POINT.found(where, "it has no entry point in the group 'oneclaw'")
    for point in points:
        if not all(part.isidentifier() for part in point.value.replace(":", ".").replace(" ", "").split(".")):
            cause = f"{point.value!r} is no module, nor module:attribute"
            yield package_checks.ENTRY_POINT.found(f"entry point {point.name}", cause)


def _module_findings(points: Iterable[PluginPoint], roots: tuple[str, ...]) -> Iterator[Finding]:
    for point in points:
        if not any(
            (Path(root) / point.package).is_dir() or (Path(root) / f"{point.package}.py").is_file() for root in roots
        ):
            yield package_checks.MODULE.found(
                f"entry point {point.name}", f"there is no {point.package!r} in the project"
            )


def _metadata_of_installed(name: str | None) -> PackageFacts:
    try:
        return _metadata(importlib_metadata.distribution(name or ""))
    except (importlib_metadata.PackageNotFoundError, ValueError):
        return PackageFacts()


def _metadata(distribution: Any) -> PackageFacts:
    try:
        metadata = distribution.metadata
        fields = {key: metadata.get_all(key) or [] for key in ("Classifier", "Requires-Dist")}
        single = {
            key: _text(metadata.get(key)) for key in ("Summary", "License-Expression", "License", "Requires-Python")
        }
        classifiers = [each for each in fields["Classifier"] if each.startswith("License ::")]
        return PackageFacts(
            name=_text(metadata.get("Name")),
            version=_text(metadata.get("Version")),
            summary=single["Summary"],
            licence=single["License-Expression"] or single["License"] or next(iter(classifiers), None),
            requires_python=single["Requires-Python"],
            requirements=tuple(fields["Requires-Dist"]),
        )
    except Exception:  # noqa: BLE001  # a package without readable metadata says nothing
        return PackageFacts()


def _licence(value: object) -> str | None:
    if isinstance(value, dict):
        return _text(value.get("text")) or _text(value.get("file"))
    return _text(value)


def _table(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() and value.strip() != "UNKNOWN" else None
