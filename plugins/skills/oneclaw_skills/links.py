"""The files that a skill's instructions refer to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_skills.skill import SkillProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_skills.skill import Skill

# Links to files, as Markdown writes them.
_LINK = re.compile(r"\]\((?!\w+:|/|#)([^)\s#]+)")
_FENCED = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)


def missing_files(skill: Skill) -> Iterator[SkillProblem]:
    """Find the files that a skill's instructions refer to and that are not in its folder."""
    for link in dict.fromkeys(_LINK.findall(_FENCED.sub("", skill.document.body))):
        if not skill.folder.has_file(link):
            message = f"the instructions refer to {link[:200]!r}, which is no file in the skill's folder"
            yield SkillProblem(message, "add the file, or correct its path", is_error=False)
