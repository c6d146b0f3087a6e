"""The names of permissions and their meanings for users who grant them.

OneClaw says it of its own permissions, and a tool group of those that its plugin brings. No model is told any of it,
and users are told whose words they are. Every start reads this module, so it imports nothing that takes time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from oneclaw_core.types.text import BLANKS, INVISIBLE_CHARACTERS

MAX_MEANING_CHARACTERS = 120
MAX_NAME_CHARACTERS = 100

KNOWN_PERMISSIONS: dict[str, str] = {
    "agents.create": "create agents, and have them do a task within the limits of the turn",
    "config.write": "change providers, models, agents, settings, tools and variables",
    "calls.as_text": "run a tool that changes something, whose call the model wrote as text",
    "data.send": "send what a model wrote, if the conversation holds text from outside and private data",
    "directory.instructions": "have agents follow a file of a trusted directory that is new or has changed",
    "directory.trust": "write in the directory OneClaw was started in, and follow its AGENTS.md and skills",
    "files.read": "read files in the workspace and in the directory OneClaw was started in",
    "files.write": "write files in the workspace, and in a trusted directory",
    "memory.write": "remember something about you, for all later conversations",
    "network.public": "make requests to public addresses",
    "network.private": "make requests to private, loopback and link-local addresses",
    "shell.execute": "run shell commands, which can do all that you can",
    "shell.execute.unsandboxed": "run one shell command outside the sandbox, where it can do all that you can",
    "shell.network": "let a shell command in the sandbox connect to a host, and send there what it can read",
    "tools.write": "create, change and delete your own JavaScript tools",
    "tasks.write": "schedule tasks that agents do later, change, run and delete them",
}


@dataclass(frozen=True, slots=True)
class PermissionMeaning:
    """The meaning of a permission as stated by one source.

    Attributes:
        text: in words for users, of the form that :func:`meaning_fault` asks for.
        plugin: whose words these are; ``None`` for OneClaw itself, and for a program that embeds it.
    """

    text: str
    plugin: str | None = None


# What ends a line, steers a terminal, turns the direction of text or is a blank that is none. The joiners U+200C and
# U+200D stay: scripts are written with them. `manifest.schema.json` has the same, but for the surrogates.
_UNSEEN = f"[\x00-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}{BLANKS}\ud800-\udfff]"


def is_permission_name(name: str) -> bool:
    """Return True if a name is lower-case words separated by dots, such as ``network.private``."""
    return name.isascii() and all(
        part.isidentifier() and part == part.lower() and part[0] != "_" for part in name.split(".")
    )


def meaning_fault(name: object, meaning: object) -> str | None:
    """Say why a permission cannot be explained so.

    Returns:
        What is wrong, ``None`` if nothing is.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARACTERS or not is_permission_name(name):
        shown = repr(name[:MAX_NAME_CHARACTERS]) if isinstance(name, str) else f"a {type(name).__name__}"
        return (
            f"{shown} is not a permission's name: it is lower-case words separated by dots, such as tables.delete, of "
            f"at most {MAX_NAME_CHARACTERS} characters"
        )
    if not isinstance(meaning, str) or not meaning.strip():
        return f"the meaning of {name!r} must be a text that is not empty"
    if len(meaning) > MAX_MEANING_CHARACTERS:
        return f"the meaning of {name!r} has {len(meaning):,} characters, and may have {MAX_MEANING_CHARACTERS}"
    # For ASCII, which is the rule, the pattern need not be compiled at every start.
    if not (meaning.isprintable() if meaning.isascii() else re.search(_UNSEEN, meaning) is None):
        return f"the meaning of {name!r} must be one line of plain text, without control characters"
    return None
