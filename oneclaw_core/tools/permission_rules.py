"""Permission rules such as ``shell.execute:git *``, and the patterns of commands in them.

A pattern is a command, or the beginning of one with a ``*`` behind it. What is granted by a pattern is judged strictly:
it stands for single, simple commands, and what cannot be seen to be one is not covered. What is denied by a pattern is
judged loosely, and is no protection: a shell has many ways to write the same.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """What a permission can be narrowed by: its subject, such as the command that is to be run.

    Attributes:
        noun: what the subject is.
        argument: the argument of a tool that has it.
        check_pattern: gives a pattern in its one form, or raises ``UsageError``.
        exact_pattern: gives the pattern that stands for one subject alone, ``None`` if there can be none.
        covers: whether a grant for a pattern holds for a subject; in doubt it does not.
        touches: whether a denial for a pattern holds for a subject.
    """

    noun: str
    argument: str
    check_pattern: Callable[[str], str]
    exact_pattern: Callable[[str], str | None]
    covers: Callable[[str, str], bool]
    touches: Callable[[str, str], bool]


SUBJECT_KINDS: dict[str, SubjectKind] = {
    "shell.execute": SubjectKind(
        noun="command",
        argument="command",
        check_pattern=check_pattern,
        exact_pattern=exact_pattern,
        covers=covers,
        touches=touches,
    ),
}


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A permission as a whole, written ``PERMISSION``, or for what fits a pattern, written ``PERMISSION:PATTERN``.

    Attributes:
        permission: its name.
        pattern: ``None`` for the permission as a whole.
    """

    permission: str
    pattern: str | None = None

    def __str__(self) -> str:
        return self.permission if self.pattern is None else f"{self.permission}:{self.pattern}"

    @classmethod
    def read(cls, text: str) -> PermissionRule:
        """Read a rule as it is stored; a colon means nothing in the name of a permission that has no patterns."""
        name, colon, pattern = text.partition(":")
        return cls(name, pattern) if colon and name in SUBJECT_KINDS else cls(text)

    @classmethod
    def check(cls, text: str) -> PermissionRule:
        """Read a rule that the user wrote.

        Raises:
            UsageError: its pattern is none.
        """
        rule = cls.read(text)
        if rule.pattern is None:
            return rule
        return cls(rule.permission, SUBJECT_KINDS[rule.permission].check_pattern(rule.pattern))

    def grants(self, permission: str, subject: str | None) -> bool:
        """Whether the rule, as a grant, holds for a permission and what it is about."""
        if permission != self.permission or self.pattern is None:
            return permission == self.permission
        return subject is not None and SUBJECT_KINDS[permission].covers(self.pattern, subject)

    def denies(self, permission: str, subject: str | None) -> bool:
        """Whether the rule, as a denial, holds for a permission and what it is about."""
        if permission != self.permission or self.pattern is None:
            return permission == self.permission
        return subject is not None and SUBJECT_KINDS[permission].touches(self.pattern, subject)


def subject_of(permission: str, arguments: Mapping[str, Any]) -> str | None:
    """Find in a call's arguments what a permission is needed for; ``None`` where it has no subjects."""
    kind = SUBJECT_KINDS.get(permission)
    value = arguments.get(kind.argument) if kind is not None else None
    return value if isinstance(value, str) else None


def exact_rule(permission: str, subject: str | None) -> PermissionRule | None:
    """The rule for exactly this subject, ``None`` if there can be none."""
    kind = SUBJECT_KINDS.get(permission)
    pattern = kind.exact_pattern(subject) if kind is not None and subject is not None else None
    return PermissionRule(permission, pattern) if pattern is not None else None
