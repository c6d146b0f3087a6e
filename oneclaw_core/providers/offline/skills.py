"""Messages that ask for a skill by its name."""

from __future__ import annotations

import re

LOAD_SKILL = "load_skill"
_MESSAGE_CHARACTERS = 1_000
_SECTION = re.compile(r"^## Available Skills\n\n[^\n]*\n\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^- ([\w-]+): ", re.MULTILINE)
_ASKED = re.compile(
    r"\b(?:load|use|apply|follow|run|start|open)\s+(?:the\s+|my\s+)?"
    r"(?:skill\s+[`'\"]?(?P<after>[\w-]+)|[`'\"]?(?P<before>[\w-]+)[`'\"]?\s+skill\b)",
    re.IGNORECASE,
)
# The message of a user who has chosen a skill: the command, then the skill with its instructions.
_SENT = re.compile(r"/([\w-]+)\b.*?\n\nSkill '\1': ", re.DOTALL)


def skill_to_load(message: str, system_prompt: str) -> str | None:
    """Find the skill that a message asks for, such as "use the skill pdf-report"; ``None`` if it asks for none that
    is listed.

    Args:
        message: of the user.
        system_prompt: with the list of skills.
    """
    section = _SECTION.search(system_prompt)
    if section is None:
        return None
    names = set(_LISTED.findall(section[1])) or set(section[1].split(", "))
    for asked in _ASKED.finditer(message[:_MESSAGE_CHARACTERS]):
        name = (asked["after"] or asked["before"]).lower()
        if name in names:
            return name
    return None


def sent_skill(message: str) -> str | None:
    """The name of the skill that the user has chosen by a command; ``None`` if the message is an ordinary one."""
    sent = _SENT.match(message)
    return sent[1] if sent is not None else None
