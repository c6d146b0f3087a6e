"""What the user asks to be installed, checked before any program is started with it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from oneclaw_core.errors import UsageError
from oneclaw_core.plugins.compatibility import CORE_DISTRIBUTION
from oneclaw_core.secrets import remember_secret

_ARCHIVES = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tgz")
_URL = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?(?:https?|file|ssh|git)(?:\+\w+)?://", re.IGNORECASE)
_LONGEST_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class PluginRequirement:
    """A package to install.

    Attributes:
        text: as pip and uv take it; paths are absolute.
        name: the package, normalised, such as ``oneclaw-pdf``; ``None`` where only installing it tells.
        location: its URL, with ``file:`` for a path, without credentials and version; ``None`` for a package of an
            index.
    """

    text: str
    name: str | None = None
    location: str | None = None

    @property
    def shown(self) -> str:
        """The text without credentials, for people."""
        return without_credentials(self.text)

    @property
    def path(self) -> Path | None:
        """The file or folder, ``None`` if it is none of this machine."""
        if self.location is None or not self.location.startswith("file://"):
            return None
        return Path(unquote(urlsplit(self.location).path))


def without_credentials(text: str) -> str:
    """Leave out of a text what stands before the host in URLs."""
    return re.sub(r"(?<=//)[^/@\s]+@", "", text)


def normalised(name: str) -> str:
    """Spell a package's name in the one way that stands for all (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_requirement(text: str, directory: Path) -> PluginRequirement:
    """Read what the user asks for.

    Args:
        text: a requirement as in PEP 508 (``oneclaw-pdf``, ``oneclaw-pdf>=0.2``, ``name @ https://...``), a URL, or a
            path of a wheel, an sdist or a folder with a project.
        directory: where a relative path begins.

    Raises:
        UsageError: it is none of these, names the core itself, or is an option.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_CHARACTERS or not text.isprintable():
        raise UsageError("name a package, such as oneclaw-pdf, on one line")
    if text.startswith("-"):
        raise UsageError(
            f"{text!r} is an option, not a package; set options of the installer in its configuration or environment, "
            "such as PIP_INDEX_URL or UV_INDEX_URL"
        )
    _remember_credentials(text)
    if _URL.match(text):
        return PluginRequirement(text, None, _location(text))
    if _is_path(text):
        return _local(text, directory)
    return _named(text)


def parse_name(text: str) -> str:
    """Read a package's name alone.

    Raises:
        UsageError: it is no name.
    """
    from packaging.utils import InvalidName, canonicalize_name

    try:
        return canonicalize_name(text.strip(), validate=True)
    except InvalidName:
        raise UsageError(f"{text!r} is no package's name; oneclaw plugins list shows them") from None


def _is_path(text: str) -> bool:
    if " @ " in text or ";" in text:
        return False
    return text.startswith((".", "~")) or os.sep in text or text.lower().endswith(_ARCHIVES)


def _local(text: str, directory: Path) -> PluginRequirement:
    try:
        path = (directory / Path(text).expanduser()).resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"there is no file or folder {text!r}") from None
    if path.is_dir():
        if not ((path / "pyproject.toml").is_file() or (path / "setup.py").is_file()):
            raise UsageError(f"the folder {text!r} holds no project: it has no pyproject.toml")
    elif not path.name.lower().endswith(_ARCHIVES):
        raise UsageError(f"{text!r} is no package: give a wheel (.whl), an sdist (.tar.gz) or a folder with a project")
    name = None
    if path.suffix.lower() == ".whl":
        name = _name_of_wheel(path.name)
        if name == CORE_DISTRIBUTION:
            raise _core_asked_for()
    return PluginRequirement(str(path), name, path.as_uri())


def _name_of_wheel(file_name: str) -> str:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        return parse_wheel_filename(file_name)[0]
    except InvalidWheelFilename as error:
        raise UsageError(f"no wheel can have this name: {error}") from None


def _named(text: str) -> PluginRequirement:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise UsageError(
            f"{text!r} is no package: write a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', a URL, or a path"
        ) from None
    name = normalised(requirement.name)
    if name == CORE_DISTRIBUTION:
        raise _core_asked_for()
    return PluginRequirement(text, name, _location(requirement.url) if requirement.url else None)


def _core_asked_for() -> UsageError:
    return UsageError(
        f"{CORE_DISTRIBUTION} is OneClaw itself, no plugin: change it with what installed it, "
        "then run oneclaw plugins sync"
    )


def _location(url: str) -> str:
    """Reduce a URL to what PEP 610 records of it: no credentials, no revision, no fragment."""
    try:
        parts = urlsplit(re.sub(r"^\w+\+", "", url.strip()))
    except ValueError:
        raise UsageError("that is no URL: its host cannot be read") from None
    path = unquote(parts.path)
    if re.match(r"\w+\+", url):
        path = re.sub(r"@[^/@]+$", "", path)
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2], path, parts.query, ""))


def same_location(one: str, other: str) -> bool:
    """Tell whether two URLs mean the same place, however they are quoted."""
    return _location(one).rstrip("/") == _location(other).rstrip("/")


def _remember_credentials(text: str) -> None:
    """Have a password in a URL redacted wherever something is printed or logged."""
    for user_information in re.findall(r"//([^/@\s]+)@", text):
        for part in user_information.split(":"):
            remember_secret(part)
