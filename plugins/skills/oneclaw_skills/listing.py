"""The list of skills: what a model is told from the start, and what it is told when it asks for more."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.tools import one_line
from oneclaw_skills.skill import LOAD_SKILL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_skills.skill import Skill

MAX_PROMPT_CHARACTERS = 6_000
"""Longest list in the system prompt, without its introduction."""
MAX_SECTION_CHARACTERS = MAX_PROMPT_CHARACTERS + 1_000
_DESCRIPTION_CHARACTERS = (300, 150, 75)
_FOUND_DESCRIPTION_CHARACTERS = 120
_HEADING = (
    "## Available Skills\n\n"
    "Skills are instructions that the user wants you to follow. When one fits the task, call "
    f"`{LOAD_SKILL}` with its name before you begin, and do what it says.\n\n"
)
_SHORTENED = f'\n\nThis list is shortened: `{LOAD_SKILL}` with the name "*" tells more, "*word*" looks for a word.'


@lru_cache(maxsize=64)  # the same list goes into every request
def skills_section(skills: tuple[Skill, ...]) -> str:
    """Write the part of the system prompt that lists skills; empty if there are none.

    It stays within a budget however many there are: descriptions are cut first, then left out, then names.

    Args:
        skills: in the order in which they are to be listed.
    """
    if not skills:
        return ""
    for limit in _DESCRIPTION_CHARACTERS:
        lines = _lines(skills, limit)
        if len(lines) <= MAX_PROMPT_CHARACTERS:
            is_whole = all(len(skill.description) <= limit for skill in skills)
            return f"{_HEADING}{lines}{'' if is_whole else _SHORTENED}"
    names = one_line(", ".join(skill.name for skill in skills), MAX_PROMPT_CHARACTERS)
    return f"{_HEADING}{names}{_SHORTENED}"


def found_skills(pattern: str, skills: Iterable[Skill]) -> str:
    """List the skills that fit a pattern.

    Args:
        pattern: with ``*`` for any characters; compared with names and descriptions in any case.
        skills: to choose from.
    """
    wanted = pattern.casefold()
    found = [
        skill
        for skill in skills
        if fnmatchcase(skill.name.casefold(), wanted) or fnmatchcase(skill.description.casefold(), wanted)
    ]
    if not found:
        return f"No skill fits {pattern!r}."
    return f"Skills; load one by its name:\n{_lines(found, _FOUND_DESCRIPTION_CHARACTERS)}"


def _lines(skills: Iterable[Skill], limit: int) -> str:
    return "\n".join(f"- {skill.name}: {one_line(skill.description, limit)}" for skill in skills)
