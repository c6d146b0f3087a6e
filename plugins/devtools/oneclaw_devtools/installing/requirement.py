"""Packages that the user asks for, validated before any program is started with them."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidName, canonicalize_name, parse_sdist_filename, parse_wheel_filename

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
        specifier: The requirement as PEP 508 writes it.
        is_direct: True for a path or a URL.
    """

    text: str
    name: str
    specifier: str
    is_direct: bool

    @property
    def is_source(self) -> bool:
        """True for a path or a URL that is not a wheel: to install it, its own code has to be run."""
        place = self.specifier.partition(" @ ")[2].partition(";")[0].partition("#")[0].strip()
        return self.is_direct and not place.lower().endswith(".whl")


def without_credentials(text: str) -> str:
    """Remove user names and passwords from the URLs in a text."""
    return re.sub(r"(?<=//)[^/@\s]+@", "", text)


def parse_requirement(text: str) -> PluginRequirement:
    """Parse a requirement (PEP 508), or the path of a wheel, an sdist or a folder with a project.

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
    # Redact a password in a URL wherever something is printed or logged.
    for user_information in re.findall(r"//([^/@\s]+)@", text):
        for part in user_information.split(":"):
            remember_secret(part)
    if _URL.match(text):
        raise UsageError(f"write the name of the package before the URL: 'NAME @ {without_credentials(text)}'")
    is_path = text.startswith((".", "~")) or os.sep in text or text.lower().endswith(_ARCHIVES)
    parsed = _parse_path(text) if is_path and " @ " not in text and ";" not in text else _parse_named(text)
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
        raise UsageError(f"{text!r} is not a package's name; oneclaw plugins list shows them") from None


def _parse_path(text: str) -> PluginRequirement:
    try:
        path = Path(text).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"there is no file or folder {text!r}") from None
    if path.is_dir():
        try:
            name = parse_name(tomllib.loads((path / "pyproject.toml").read_text("utf-8"))["project"]["name"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"the folder {text!r} holds no project: its pyproject.toml gives no name") from None
    else:
        try:
            name = (parse_wheel_filename if path.suffix == ".whl" else parse_sdist_filename)(path.name)[0]
        except ValueError:
            raise UsageError(
                f"{text!r} is not a package: give a wheel (.whl), an sdist (.tar.gz) or a folder"
            ) from None
    return PluginRequirement(str(path), name, f"{name} @ {path.as_uri()}", is_direct=True)


def _parse_named(text: str) -> PluginRequirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise UsageError(
            f"{text!r} is not a package: write a name, such as oneclaw-pdf or 'oneclaw-pdf>=0.1', a URL, or a path"
        ) from None
    return PluginRequirement(text, canonicalize_name(requirement.name), text, is_direct=requirement.url is not None)
