"""The files of a new plugin's package, and the folder that holds them."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_devtools.scaffold.names import PluginNames

_MAX_TEXT_CHARACTERS = 200

# Where each template goes. Their own names hide them from the tools that check this repository.
_TEMPLATES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "LICENSE": "LICENSE.txt",
    "tox.ini": "tox.ini.txt",
    ".gitignore": "gitignore.txt",
    ".github/workflows/tests.yml": "tests.yml.txt",
    "$package/__init__.py": "init.py.txt",
    "$package/py.typed": "py.typed.txt",
    "$package/words.py": "words.py.txt",
    "$package/pages.py": "pages.py.txt",
    "$package/$plugin.json": "manifest.json.txt",
    "$package/skills/$skill/SKILL.md": "SKILL.md.txt",
    "tests/test_words.py": "test_words.py.txt",
    "tests/test_pages.py": "test_pages.py.txt",
    "tests/test_plugin.py": "test_plugin.py.txt",
    "tests/$plugin.definitions.json": "definitions.json.txt",
}


@dataclass(frozen=True, slots=True)
class PluginDetails:
    """Metadata of a new plugin's package.

    Attributes:
        names: what it is called.
        author: a person's or a company's name, on one line.
        description: a sentence for people, on one line.
        core_version: of the OneClaw that it is made for.
        year: of the copyright.

    Raises:
        UsageError: the author or the description cannot be written into the files.
    """

    names: PluginNames
    author: str
    description: str
    core_version: str
    year: int

    def __post_init__(self) -> None:
        for what, text in (("author", self.author), ("description", self.description)):
            if not text.strip() or len(text) > _MAX_TEXT_CHARACTERS or not text.isprintable():
                raise UsageError(f"the {what} must be a line of 1 to {_MAX_TEXT_CHARACTERS} visible characters")


def plugin_files(details: PluginDetails) -> dict[str, str]:
    """Write all files of a package.

    Returns:
        What is in each, by its path within the package's folder.
    """
    names = details.names
    values = {
        "distribution": names.distribution,
        "package": names.package,
        "plugin": names.plugin,
        "title": names.title,
        "skill": names.skill,
        "author": details.author,
        "description": details.description,
        # What JSON writes as a text is one in TOML as well.
        "author_quoted": json.dumps(details.author, ensure_ascii=False),
        "description_quoted": json.dumps(details.description, ensure_ascii=False),
        "core_range": compatible_range(details.core_version),
        "year": str(details.year),
    }
    folder = files(__package__) / "templates"
    return {
        Template(path).substitute(values): Template((folder / name).read_text(encoding="utf-8")).substitute(values)
        for path, name in _TEMPLATES.items()
    }


def compatible_range(version: str) -> str:
    """The versions that keep the promises of a version: before 1.0 its minor version, then its major version.

    Args:
        version: such as ``0.1.3``, or ``0.2rc1``, which comes before ``0.2``.
    """
    from packaging.version import Version

    own = Version(version)
    major, minor = own.major, own.minor
    lowest = min(Version(f"{major}.{minor}"), own)
    return f">={lowest},<{major + 1}" if major else f">={lowest},<0.{minor + 1}"


def make_folder(directory: Path, name: str, contents: Mapping[str, str]) -> Path:
    """Make a folder with files.

    Args:
        directory: where to make it; made if it is missing.
        name: of the folder.
        contents: text by path within the folder.

    Returns:
        The folder.

    Raises:
        UsageError: there is something of that name already.
        OneClawError: the folder cannot be written; nothing is left of it.
    """
    folder = directory / name
    if os.path.lexists(folder):
        raise UsageError(f"there is {folder} already: choose another name, or another place with --directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=directory) as temporary:
            made = Path(temporary) / name
            for path, text in contents.items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            made.rename(folder)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OneClawError(
            f"{folder} cannot be written: {reason}; choose a place that you can write to with --directory"
        ) from None
    return folder
