"""Files of a project that models follow: its context file, such as ``AGENTS.md``, and its skills.

They are followed as the user has seen them: each is pinned by the hash of its content.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import TYPE_CHECKING, Any

from oneclaw_core.files.hidden_paths import is_hidden_name
from oneclaw_core.permissions.rules import INSTRUCTIONS_PERMISSION, grants
from oneclaw_core.system.private_files import write_private
from oneclaw_core.types.text import INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from oneclaw_core.types.permissions import Grant

CONTEXT_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
"""Names of context files; the first that is there counts."""
SKILL_DIRECTORIES = (".oneclaw/skills", ".agents/skills")
"""Folders with skills in a project: OneClaw's own, and that of all programs with skills."""
PINS_SETTING = "project_files"
"""Not among the settings that ``oneclaw config`` and tools can set: no model is to trust for the user."""

MAX_FILES = 500
MAX_FILE_BYTES = 1024 * 1024
_MAX_DEPTH = 6
_MAX_SHOWN_CHARACTERS = 100_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}\u200c\u200d]")


def find_context_file(directory: Path) -> str | None:
    """Return the name of a project's context file; ``None`` if it has none."""
    return next((name for name in CONTEXT_FILES if read_instruction(directory, name) is not None), None)


def find_instructions(directory: Path) -> dict[str, str]:
    """Return the digests of all files that models would follow, by their paths relative to the project."""
    names = [each for each in (find_context_file(directory), *_skill_files(directory)) if each is not None]
    found = ((name, read_instruction(directory, name)) for name in names[:MAX_FILES])
    return {name: digest_of(content) for name, content in found if content is not None}


def read_instruction(directory: Path, name: str) -> bytes | None:
    """Read a file of a project; ``None`` if it is missing, too large, or no file that lies in the project.

    Args:
        directory: of the project.
        name: relative to it; a link to another file of the project will do, unless that is hidden.
    """
    try:
        base = directory.resolve(strict=True)
        path = (base / name).resolve(strict=True)
        if not path.is_relative_to(base) or any(map(is_hidden_name, path.relative_to(base).parts)):
            return None
        descriptor = os.open(path, _FILE)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        return None
    return content if len(content) <= MAX_FILE_BYTES else None


def digest_of(content: bytes) -> str:
    """Return the digest by which a content is pinned."""
    return hashlib.sha256(content).hexdigest()


def pins_in(stored: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the pinned digests of a project; an invalid value pins none.

    Args:
        stored: values from the store, by key.
        path: of the project, resolved.
    """
    value = stored.get(PINS_SETTING)
    pins = value.get(path) if isinstance(value, dict) else None
    return {name: each for name, each in pins.items() if isinstance(each, str)} if isinstance(pins, dict) else {}


def is_approved(pins: Mapping[str, str], decided: Iterable[Grant], path: str, name: str, digest: str) -> bool:
    """Return True if a file of a trusted project is as the user has seen it.

    Args:
        pins: digests by name.
        decided: the lasting decisions of the user.
        path: of the project, resolved.
        name: of the file.
        digest: of its content.
    """
    subject = instruction_subject(path, name, digest)
    return pins.get(name) == digest or any(grants(each, INSTRUCTIONS_PERMISSION, subject) for each in decided)


def instruction_subject(path: str, name: str, digest: str) -> str:
    """Return what the user is asked about a file of a project: its path and its content."""
    return f"{path}/{name} sha256:{digest[:32]}"


def with_pins(stored: Any, path: str, pins: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the setting with the pins of a project changed, or with ``None`` taken out."""
    others = {name: each for name, each in stored.items() if name != path} if isinstance(stored, dict) else {}
    return others if pins is None else {**others, path: dict(pins)}


def keep_contents(folder: Path, directory: Path, pins: Mapping[str, str]) -> None:
    """Keep what is pinned, so that a later change can be shown.

    Args:
        folder: for contents, by their digests.
        directory: of the project.
        pins: digests by path.
    """
    for name, digest in pins.items():
        content = read_instruction(directory, name)
        if content is not None and digest_of(content) == digest and not (folder / digest).exists():
            write_private(folder / digest, content)


def change_text(folder: Path, name: str, before: str | None, content: bytes) -> str:
    """Show what is new in a file: the difference to what was pinned, else all of it.

    Args:
        folder: with the contents that were pinned.
        name: of the file.
        before: the digest that was pinned; ``None`` for a new file.
        content: as it is now.
    """
    new = visible_text(content)
    old = _kept(folder, before)
    if old is None:
        return f"follow the new file {name}:\n{new}"[:_MAX_SHOWN_CHARACTERS]
    import difflib  # for the few changes there are

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "as you trusted it", "as it is now", lineterm="")
    return "\n".join([f"follow {name}, which has changed:", *lines])[:_MAX_SHOWN_CHARACTERS]


def visible_text(content: bytes) -> str:
    """Return a text with control characters and what cannot be seen written as escapes."""
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def _kept(folder: Path, digest: str | None) -> str | None:
    try:
        content = (folder / digest).read_bytes() if digest is not None else None
    except OSError:
        return None
    return visible_text(content) if content is not None and digest_of(content) == digest else None


def _skill_files(directory: Path) -> Iterator[str]:
    """Yield the paths of the files in a project's skills, in the order of their names."""
    for skills in SKILL_DIRECTORIES:
        for folder, folders, files in os.walk(directory / skills):
            below = os.path.relpath(folder, directory)
            folders[:] = sorted(folders) if below.count("/") < _MAX_DEPTH else []
            if below != skills:
                yield from (f"{below}/{name}" for name in sorted(files))
