"""Rules such as ``shell.execute:git *``: a permission, or a permission for some of what it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import command_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
        check_pattern=command_patterns.check_pattern,
        exact_pattern=command_patterns.exact_pattern,
        covers=command_patterns.covers,
        touches=command_patterns.touches,
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
