"""Making a skill's folder: a new one to be filled, or a copy of one from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from typing import TYPE_CHECKING

from oneclaw_core import UsageError
from oneclaw_skills.catalog import read_entry
from oneclaw_skills.folder import SkillFolder
from oneclaw_skills.format import is_skill_name
from oneclaw_skills.skill import SKILL_FILE, SkillError

if TYPE_CHECKING:
    from pathlib import Path

MAX_COPIED_FILES = 1_000
MAX_COPIED_BYTES = 50_000_000

_SKELETON = """\
---
name: {name}
description: {description}
# license: MIT
# compatibility: Needs git and a network.
# allowed-tools: read_file pdf_info
# metadata:
#   oneclaw-groups: pdf
---
# {title}

Say what to do, step by step, as to a capable colleague who knows nothing about this task.

1. Find out what the user wants. What they gave: $ARGUMENTS
2. Do it.
3. Check the result, and tell the user what was done.

What is long, or not always needed, goes into files beside this one, such as references/details.md; say here when to
read which.
"""
# JSON leaves these characters as they are, and YAML does not have them.
_NOT_IN_YAML = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_DESCRIPTION = "Describe what this skill does, and when to use it; a model decides by this sentence alone."


def new_skill(directory: Path, name: str, description: str | None = None) -> Path:
    """Make a folder with a ``SKILL.md`` that is valid and waits to be filled.

    Args:
        directory: where skills lie; made if it is missing.
        name: of the skill.
        description: what it does and when to use it.

    Returns:
        The path of the new ``SKILL.md``.

    Raises:
        UsageError: that is not a valid name for a skill, or it is taken, or the description is not a text.
        SkillError: the folder cannot be written.
    """
    import json

    _check_name(name)
    folder = directory / name
    # JSON is YAML; quoted, any text will do.
    visible = _NOT_IN_YAML.sub(" ", description or "").split() or _DESCRIPTION.split()
    written = json.dumps(" ".join(visible), ensure_ascii=False)
    title = " ".join(name.split("-")).capitalize()
    try:
        content = _SKELETON.format(name=name, description=written, title=title).encode()
    except UnicodeEncodeError:
        raise UsageError("the description is not UTF-8 text") from None
    try:
        directory.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        path = folder / SKILL_FILE
        path.write_bytes(content)
    except FileExistsError:
        raise UsageError(f"there is {folder} already; choose another name, or edit it") from None
    except OSError as error:
        raise SkillError(f"{folder} cannot be written: {error.strerror or error}") from None
    return path


def add_skill(source: Path, directory: Path) -> Path:
    """Copy a skill's folder to where skills lie, all of it or nothing.

    Args:
        source: the folder.
        directory: where skills lie; made if it is missing.

    Returns:
        The new folder.

    Raises:
        UsageError: there is one of that name already.
        SkillError: it is not a skill, holds links or too much, or cannot be copied.
    """
    entry = read_entry(SkillFolder(source))
    if entry.skill is None:
        faults = "; ".join(str(problem) for problem in entry.problems if problem.is_error)
        raise SkillError(f"{source} is not a skill that can be used: {faults}")
    target = directory / entry.skill.name
    if os.path.lexists(target):
        raise UsageError(f"there is {target} already; remove it first, or name the new skill otherwise")
    if os.path.realpath(directory).startswith(os.path.join(os.path.realpath(source), "")):  # noqa: PTH118  # as a prefix
        raise SkillError(f"{source} holds {directory}, where skills lie: copy the skill to a separate folder first")
    try:
        _check_tree(source)
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=directory) as temporary:
            copied = shutil.copytree(source, os.path.join(temporary, "skill"), symlinks=True)  # noqa: PTH118  # copytree gives a text
            os.rename(copied, target)  # noqa: PTH104  # the same
    except (OSError, shutil.Error) as error:
        reason = getattr(error, "strerror", None) or "not everything in it can be read"
        raise SkillError(f"{source} cannot be copied to {target}: {reason}") from None
    return target


def _check_name(name: str) -> None:
    if not is_skill_name(name):
        raise UsageError(
            f"{name[:100]!r} is not a skill's name: use 1 to 64 lower-case letters, digits and single hyphens, "
            "such as pdf-report"
        )


def _check_tree(source: Path) -> None:
    """Refuse what would bring along more than one means to: links to elsewhere, devices, a whole disk."""
    count = size_bytes = 0
    for directory, folders, files in os.walk(source):
        for name in (*folders, *files):
            path = os.path.join(directory, name)  # noqa: PTH118  # a thousand of them
            found = os.lstat(path)
            is_folder = name in folders and not os.path.islink(path)  # noqa: PTH114  # the same
            if (not is_folder and not os.path.isfile(path)) or os.path.islink(path):  # noqa: PTH113, PTH114  # the same
                raise SkillError(f"{path} is not a plain file: put a copy in its place")
            count += 1
            size_bytes += 0 if is_folder else found.st_size
        if count > MAX_COPIED_FILES or size_bytes > MAX_COPIED_BYTES:
            raise SkillError(
                f"{source} has more than {MAX_COPIED_FILES} files, or {MAX_COPIED_BYTES // 1_000_000} MB: "
                "leave out what the skill does not need"
            )
