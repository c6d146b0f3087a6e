"""Reading files of others: limited in size, as data, with errors that name the file."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any

import yaml

from oneclaw_core import OneClawError
from oneclaw_setup.imports.findings import FoundNote, FoundSkill

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from oneclaw_setup.imports.findings import Findings

MAX_BYTES = 256_000
MAX_SKILLS = 200
MAX_NOTES = 100
MAX_NOTE_CHARACTERS = 500
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_SKILL_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_BULLET = re.compile(r"\s*[-*+]\s+(.+)")


class UnreadableError(OneClawError):
    """A file cannot be taken over; the message names it."""


def read_text(path: Path) -> str | None:
    """Read a file as text; ``None`` if there is none.

    Raises:
        UnreadableError: it is not a plain file, too long, or cannot be read.
    """
    try:
        # A pipe in the place of a file must not be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror or error}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableError(f"{path} is not a file")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UnreadableError(f"{path} is longer than {MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError(f"{path} is not UTF-8 text") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; an empty one if there is no file.

    Raises:
        UnreadableError: it is something else.
    """
    text = read_text(path)
    try:
        return _object({} if text is None else json.loads(text), path)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "nested too deep"
        raise UnreadableError(f"{path} is not JSON: {reason}") from None


def read_yaml(path: Path) -> Any:
    """Read YAML as plain data; an empty object if there is no file.

    Raises:
        UnreadableError: it is something else.
    """
    text = read_text(path)
    try:
        return {} if text is None else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 1}"
        raise UnreadableError(f"{path} is no YAML that can be read{where}") from None


def read_variables(path: Path) -> dict[str, str]:
    """Read ``NAME=VALUE`` lines, as in a ``.env`` file; nothing in them is expanded.

    Raises:
        UnreadableError: the file cannot be read.
    """
    found = {}
    for line in (read_text(path) or "").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            value = match[2].strip()
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[match[1]] = value[1:-1] if is_quoted else value.partition(" #")[0].strip()
    return found


def text_in(document: Any, *names: str) -> str:
    """Return the first text under one of some names, without spaces around it; empty if there is none."""
    for name in names:
        value = document.get(name) if isinstance(document, dict) else None
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def object_in(document: Any, name: str) -> dict[str, Any]:
    """Return the object under a name; an empty one if there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def add_skills(found: Findings, directory: Path, *, without: Iterable[str] = (), depth: int = 1) -> None:
    """Find the folders with a ``SKILL.md`` in a directory, and in its folders down to a depth."""
    left_out = set(without)
    for folder in _skill_folders(directory, depth):
        name = folder.name.lower().replace("_", "-").replace(" ", "-")
        if folder.name in left_out:
            continue
        if not _SKILL_NAME.fullmatch(name):
            found.problems.append(f"{folder}: a skill cannot have that name")
        elif sum(isinstance(each, FoundSkill) for each in found.items) < MAX_SKILLS:
            found.items.append(FoundSkill(name, folder))


def add_notes(found: Findings, path: Path, *, separator: str | None = None) -> None:
    """Find notes in a file: the items of its lists, or what stands between separators."""
    try:
        text = read_text(path) or ""
    except UnreadableError as error:
        found.problems.append(str(error))
        return
    if separator is not None:
        notes = [" ".join(each.split()) for each in text.split(separator)]
    else:
        matches = map(_BULLET.fullmatch, text.splitlines())
        notes = [match[1].strip() for match in matches if match is not None]
    notes = [each for each in notes if each and not (each.startswith("(") and each.endswith(")"))]
    too_long = [each for each in notes if len(each) > MAX_NOTE_CHARACTERS]
    if too_long:
        found.problems.append(f"{path}: {len(too_long)} notes are longer than {MAX_NOTE_CHARACTERS} characters")
    if len(notes) > MAX_NOTES:
        found.problems.append(f"{path}: only the first {MAX_NOTES} of {len(notes)} notes are shown")
    found.items += [FoundNote(each, path.name) for each in notes[:MAX_NOTES] if each not in too_long]


def _object(document: Any, path: Path) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise UnreadableError(f"{path} holds no JSON object")
    return document


def _skill_folders(directory: Path, depth: int) -> Iterator[Path]:
    try:
        folders = sorted(each for each in directory.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError:
        return
    for folder in folders:
        if (folder / "SKILL.md").is_file():
            yield folder
        elif depth > 1:
            yield from _skill_folders(folder, depth - 1)
