"""The context file of a trusted project, such as ``AGENTS.md``, in the system prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import PromptSection

if TYPE_CHECKING:
    from oneclaw_core.project import Project

MAX_CONTEXT_CHARACTERS = 20_000


def context_section(project: Project) -> list[PromptSection]:
    """Return the section with a project's context file; none if there is no file that models may follow.

    Args:
        project: the start directory.
    """
    found = project.context_file()
    if found is None:
        return []
    name, text = found
    head = f"## The project\n\nThe user works in {project.path}, and trusts it. Follow its {name}:\n\n"
    room = MAX_CONTEXT_CHARACTERS - len(head)
    if len(text) > room:
        left_out = len(text) - room
        text = f"{text[:room]}\n[cut here: {left_out:,} more characters; read_file {name} shows them]"
    return [PromptSection("project", head + text.rstrip(), 2 * MAX_CONTEXT_CHARACTERS)]
