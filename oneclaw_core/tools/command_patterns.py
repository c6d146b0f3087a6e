"""Which shell commands a pattern such as ``git *`` stands for.

A pattern is a command, or the beginning of one with a ``*`` behind it. What is granted by a pattern is judged strictly:
it stands for single, simple commands, and what cannot be seen to be one is not covered. What is denied by a pattern is
judged loosely, and is no protection: a shell has many ways to write the same.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from oneclaw_core.errors import UsageError

# What begins another command, a redirection or a substitution. It is refused within quotes too, so that whether it
# means anything there need not be known.
_BEYOND_ONE_COMMAND = frozenset(";|&<>()$`\n\r")
_COMMENT = re.compile(r"(?:^|[ \t])#")
_SEPARATORS = re.compile(r"[;|&<>()$`{}\n\r]")
_QUOTING = str.maketrans("", "", "'\"\\")
_ANY_ARGUMENTS = " *"


def is_simple(command: str) -> bool:
    """Whether a command is one program with its arguments, as far as can be seen without being a shell."""
    text = command.replace("\t", " ")
    if not text.strip() or not text.isprintable() or _BEYOND_ONE_COMMAND.intersection(text) or _COMMENT.search(text):
        return False
    try:
        shlex.split(text)
    except ValueError:  # a quotation without its end
        return False
    return True


def check_pattern(pattern: str) -> str:
    """Check a pattern that the user wrote.

    Returns:
        The pattern, with no more spaces around it than it needs.

    Raises:
        UsageError: no command could ever fit it, or all would.
    """
    text = pattern.strip(" \t")
    beginning, has_star, _ = text.partition("*") if text.endswith("*") and text.count("*") == 1 else (text, "", "")
    if has_star and beginning[-1:] not in ("", " ", "\t"):
        raise UsageError(f"in {pattern!r} the * must be a word by itself, as in 'git *'")
    beginning = beginning.strip(" \t")
    if not beginning:
        raise UsageError("a pattern begins with the name of a program, as in 'git *'; for all commands, leave it out")
    if "*" in beginning:
        raise UsageError(f"in {pattern!r} a * can only be the last word, where it stands for any arguments")
    if not is_simple(beginning):
        raise UsageError(
            f"{pattern!r} is no single command: a pattern has no ; | & < > ( ) $ ` # and no line break, "
            "and its quotes are closed"
        )
    return beginning + _ANY_ARGUMENTS if has_star else beginning


def exact_pattern(command: str) -> str | None:
    """The pattern that stands for a command alone, ``None`` if there can be none."""
    text = command.strip(" \t")
    return text if is_simple(text) and "*" not in text else None


def covers(pattern: str, command: str) -> bool:
    """Whether what is granted by a pattern holds for a command: it is a simple one and begins, letter by letter, so."""
    text = command.strip(" \t")
    if not is_simple(text):
        return False
    if not pattern.endswith(_ANY_ARGUMENTS):
        return text == pattern
    beginning = pattern.removesuffix(_ANY_ARGUMENTS)
    return text == beginning or text.startswith((beginning + " ", beginning + "\t"))


def touches(pattern: str, command: str) -> bool:
    """Whether what is denied by a pattern is found in a command, or in a part of it."""
    wanted = _plain_words(pattern)
    is_beginning = wanted[-1:] == ["*"]
    wanted = wanted[:-1] if is_beginning else wanted
    parts = (_plain_words(part) for part in _SEPARATORS.split(command))
    return covers(pattern, command) or any(
        (words[: len(wanted)] if is_beginning else words) == wanted for words in parts
    )


def _plain_words(text: str) -> list[str]:
    words = text.translate(_QUOTING).split()
    return [PurePosixPath(words[0]).name, *words[1:]] if words else []
