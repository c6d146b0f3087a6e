"""Packages that the user asks for, validated before any program is started with them."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidName,
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from oneclaw_core import UsageError, remember_secret
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION

_ARCHIVES = (".whl", ".tar.gz", ".zip")
_URL = re.compile(r"[a-z+]+://", re.IGNORECASE)
_LONGEST_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class PluginRequirement:
    """A package to install.

    Attributes:
        text: As the user gave it; paths are absolute.
        name: Name of the package, normalised.
        path: File or folder, ``None`` for a package of an index or a URL.
        is_direct: True for a path or a URL.
    """

    text: str
    name: str
    path: Path | None = None
    is_direct: bool = False

    @property
    def specifier(self) -> str:
        """The requirement as PEP 508 writes it."""
        return f"{self.name} @ {self.path.as_uri()}" if self.path else self.text


def without_credentials(text: str) -> str:
    """Remove user names and passwords from the URLs in a text."""
    return re.sub(r"(?<=//)[^/@\s]+@", "", text)


def parse_requirement(text: str, directory: Path, name: str | None = None) -> PluginRequirement:
    """Parse what the user asks for.

    Args:
        text: A requirement (PEP 508), or the path of a wheel, an sdist or a folder with a project.
        directory: Base of relative paths.
        name: Name of the package where the text is only a URL.

    Raises:
        UsageError: It is none of these, or an option.
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
        if name is None:
            raise UsageError(f"write the name of the package before the URL: 'NAME @ {without_credentials(text)}'")
        text = f"{name} @ {text}"
    parsed = _parse_path(text, directory) if _is_path(text) else _parse_named(text)
    if parsed.name == CORE_DISTRIBUTION:
        raise UsageError(
            f"{CORE_DISTRIBUTION} is OneClaw itself, no plugin: change it with what installed it, "
            "then run oneclaw plugins sync"
        )
    return parsed


def parse_name(text: str) -> str:
    """Parse and normalise the name of a package.

    Raises:
        UsageError: It is no name.
    """
    try:
        return canonicalize_name(text.strip(), validate=True)
    except InvalidName:
        raise UsageError(f"{text!r} is no package's name; oneclaw plugins list shows them") from None


def _is_path(text: str) -> bool:
    if " @ " in text or ";" in text:
        return False
    return text.startswith((".", "~")) or os.sep in text or text.lower().endswith(_ARCHIVES)


def _parse_path(text: str, directory: Path) -> PluginRequirement:
    try:
        path = (directory / Path(text).expanduser()).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"there is no file or folder {text!r}") from None
    try:
        if path.is_dir():
            name = parse_name(tomllib.loads((path / "pyproject.toml").read_text("utf-8"))["project"]["name"])
        elif path.suffix == ".whl":
            name = parse_wheel_filename(path.name)[0]
        else:
            name = parse_sdist_filename(path.name)[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        raise UsageError(f"{text!r} is no package: give a wheel (.whl), an sdist (.tar.gz) or a folder") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"the folder {text!r} holds no project: its pyproject.toml gives no name") from None
    return PluginRequirement(str(path), name, path, is_direct=True)


def _parse_named(text: str) -> PluginRequirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise UsageError(
            f"{text!r} is no package: write a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', a URL, or a path"
        ) from None
    return PluginRequirement(text, canonicalize_name(requirement.name), is_direct=requirement.url is not None)


def _remember_credentials(text: str) -> None:
    """Redact a password in a URL wherever something is printed or logged."""
    for user_information in re.findall(r"//([^/@\s]+)@", text):
        for part in user_information.split(":"):
            remember_secret(part)
