"""Permission rules such as ``shell.execute:git *``, and the patterns of subjects in them.

What a subject is depends on the permission: a command, a host, a path, or any text. A pattern of commands is a command,
or the beginning of one with a ``*`` behind it. What is granted by a pattern is judged strictly: it stands for single,
simple commands, and what cannot be seen to be one is not covered. What is denied by a pattern is judged loosely, and is
no protection: a shell has many ways to write the same.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from operator import eq
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.errors import UsageError
from oneclaw_core.files.hidden_paths import hidden_root, is_private_directory
from oneclaw_core.files.protected_places import protected_root
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS, Grant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.files.paths import PathGuard


# What begins another command, a redirection or a substitution. It is refused within quotes too, so that whether it
# means anything there need not be known.
_BEYOND_ONE_COMMAND = frozenset(";|&<>()$`\n\r")
_COMMENT = re.compile(r"(?:^|[ \t])#")
_SEPARATORS = re.compile(r"[;|&<>()$`{}\n\r]")
_QUOTING = str.maketrans("", "", "'\"\\")
_ANY_ARGUMENTS = " *"
ALL_PARTS = ".*"

# Begins the part of a subject that says with which account something is done.
_ACCOUNT = "as "

TRUST_PERMISSION = "directory.trust"
INSTRUCTIONS_PERMISSION = "directory.instructions"


def is_simple(command: str) -> bool:
    """Return True if a command is one program with its arguments, as far as can be seen without being a shell."""
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
            f"{pattern!r} is not a single command: a pattern has no ; | & < > ( ) $ ` # and no line break, "
            "and its quotes are closed"
        )
    return beginning + _ANY_ARGUMENTS if has_star else beginning


def exact_pattern(command: str) -> str | None:
    """The pattern that stands for a command alone, ``None`` if there can be none."""
    text = command.strip(" \t")
    return text if is_simple(text) and "*" not in text else None


def covers(pattern: str, command: str) -> bool:
    """Return True if a granted pattern covers a command: a simple one that begins with it, letter by letter."""
    text = command.strip(" \t")
    if not is_simple(text):
        return False
    if not pattern.endswith(_ANY_ARGUMENTS):
        return text == pattern
    beginning = pattern.removesuffix(_ANY_ARGUMENTS)
    return text == beginning or text.startswith((beginning + " ", beginning + "\t"))


def touches(pattern: str, command: str) -> bool:
    """Return True if a denied pattern is found in a command, or in a part of it."""
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


def _check_path(pattern: str) -> str:
    path = Path(os.path.expanduser(pattern.strip()))  # noqa: PTH111  # unknown users stay
    if not path.is_absolute() or "\0" in pattern:
        raise UsageError(f"{pattern!r} must be an absolute path; it stands for the file, or all below the directory")
    return str(path.resolve())


def _exact_path(path: str) -> str | None:
    return path if PurePath(path).is_absolute() else None


def _covers_path(pattern: str, path: str) -> bool:
    return path == pattern or path.startswith(pattern.rstrip("/") + "/")


def _covers_read(pattern: str, path: str) -> bool:
    """Return True if a path lies below a pattern; of a hidden one the pattern has to name what hides it."""
    hidden = hidden_root(path)
    return _covers_path(pattern, path) and (hidden is None or _covers_path(str(hidden), pattern))


def _covers_write(pattern: str, path: str) -> bool:
    protected = protected_root(path)
    return _covers_read(pattern, path) and (protected is None or _covers_path(str(protected), pattern))


def _is_ordinary(path: str) -> bool:
    return hidden_root(path) is None


def _is_ordinary_to_write(path: str) -> bool:
    return _is_ordinary(path) and protected_root(path) is None


def _is_project(directory: str) -> bool:
    return not is_private_directory(Path(directory))


def _check_text(pattern: str) -> str:
    text = pattern.strip()
    if not text.strip("*"):
        raise UsageError("a pattern says what the permission is for; for all, leave it and the colon out")
    return text


def _exact_text(subject: str) -> str | None:
    text = subject.strip()
    return text if text and "*" not in text and text.isprintable() else None


def _covers_text(pattern: str, subject: str) -> bool:
    """Return True if a text is the pattern, or each of its parts between commas fits it: each of the recipients."""
    return subject.strip() == pattern or all(_fits(pattern, each) for each in subject.split(","))


def _touches_text(pattern: str, subject: str) -> bool:
    return subject.strip() == pattern or any(_fits(pattern, each) for each in subject.split(","))


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text.strip(), re.DOTALL) is not None


KINDS = ("loopback", "private", "link-local", "other")
_PATTERN = re.compile(
    r"(?P<name>\[[0-9a-f:.%]+\w*\]|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.%\w]*|[\w.*%-]+)(?::(?P<port>\d{1,5}))?"
    rf"(?:@(?P<kind>{'|'.join(KINDS)}))?"
)


class Place(NamedTuple):
    """The parts of a subject or pattern; ``None`` for parts it leaves open."""

    name: str
    port: int | None = None
    kind: str | None = None

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name + (f":{self.port}" if self.port is not None else "") + (f"@{self.kind}" if self.kind else "")


def private_place(host: str, address: str, port: int) -> str:
    """Return the subject of the permission to connect to a private address."""
    from oneclaw_core.http.addresses import private_kind

    name = host.rstrip(".").lower()
    return str(Place(name, port, None if name == address.lower() else private_kind(address)))


def check_host(pattern: str) -> str:
    """Check a pattern that the user wrote, and return its one form.

    Raises:
        UsageError: It is none.
    """
    place = _read(pattern)
    if place is None or "*" in place.name.removeprefix("*.") or not place.name.removeprefix("*."):
        raise UsageError(
            f"{pattern!r} is not a host: write a name or an address, or *.example.com for all below a name, and :PORT "
            "behind it for a single port"
        )
    return str(place)


def exact_host(subject: str) -> str | None:
    """Return the pattern that stands for a subject alone; ``None`` if there is none."""
    try:
        return check_host(subject)
    except UsageError:
        return None


def covers_host(pattern: str, subject: str) -> bool:
    """Return True if what is granted by a pattern holds for a subject."""
    granted, asked = _read(pattern), _read(subject)
    if granted is None or asked is None:
        return False
    if granted.name.startswith("*."):
        is_name = asked.name.endswith(granted.name[1:]) and asked.name != granted.name[2:]
    else:
        is_name = asked.name == granted.name
    return is_name and granted.port in (None, asked.port) and granted.kind in (None, asked.kind)


def covers_web_host(pattern: str, subject: str) -> bool:
    """Return True if what is granted by a pattern holds for a subject, where no port means 80 and 443 alone."""
    granted, asked = _read(pattern), _read(subject)
    return granted is not None and asked is not None and granted.port == asked.port and covers_host(pattern, subject)


def touches_host(pattern: str, subject: str) -> bool:
    """Return True if what is denied by a pattern is found in a subject; a host is denied with all below it."""
    denied, asked = _read(pattern), _read(subject)
    if denied is None or asked is None:
        return denied is asked
    name = denied.name.removeprefix("*.")
    is_name = asked.name == name or asked.name.endswith(f".{name}")
    is_open = None in (denied.port, asked.port) or denied.port == asked.port
    return is_name and is_open and (None in (denied.kind, asked.kind) or denied.kind == asked.kind)


def _read(text: str) -> Place | None:
    found = _PATTERN.fullmatch(text.strip().lower())
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 65_536:
        return None
    return Place(found["name"].strip("[]").rstrip("."), port, found["kind"])


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """The subject that narrows a permission, such as the command that is to be run.

    Attributes:
        noun: what the subject is.
        check_pattern: gives a pattern in its one form, or raises ``UsageError``.
        exact_pattern: gives the pattern that stands for one subject alone, ``None`` if there can be none.
        covers: whether a grant for a pattern holds for a subject; in doubt it does not.
        touches: whether a denial for a pattern holds for a subject.
        argument: the argument of a tool that has it; ``None`` if the tool says what it is when it asks.
        directory_argument: the argument of a tool that says where it is done; ``None`` if that means nothing.
        is_whole_in_session: True if an answer for a session is for all subjects in the same directory.
        is_whole_for_good: True if that goes for a lasting answer too.
        is_denied_alone: True if a lasting refusal is for the subject alone.
        whole_covers: whether the permission as a whole, granted for no directory, holds for a subject.
        is_for_once: True if every use is asked for, and no answer is kept but a refusal.
    """

    noun: str
    check_pattern: Callable[[str], str]
    exact_pattern: Callable[[str], str | None]
    covers: Callable[[str, str], bool]
    touches: Callable[[str, str], bool]
    argument: str | None = None
    directory_argument: str | None = None
    is_whole_in_session: bool = False
    is_whole_for_good: bool = False
    is_denied_alone: bool = False
    whole_covers: Callable[[str], bool] = lambda subject: True
    is_for_once: bool = False


_COMMAND = SubjectKind("command", check_pattern, exact_pattern, covers, touches)
_HOST = SubjectKind("host", check_host, exact_host, covers_host, touches_host)
_PATH = SubjectKind("path", _check_path, _exact_path, _covers_read, _covers_path, whole_covers=_is_ordinary)
_TEXT = SubjectKind("subject", _check_text, _exact_text, _covers_text, _touches_text)
_KINDS = {
    "agents.create": replace(_TEXT, noun="agent", argument="name"),
    "data.send": _HOST,
    "shell.execute": replace(
        _COMMAND, argument="command", directory_argument="working_directory", is_whole_in_session=True
    ),
    "shell.execute.unsandboxed": replace(_COMMAND, is_for_once=True),
    "shell.network": replace(_HOST, covers=covers_web_host),
    "network.private": _HOST,
    "network.public": _HOST,
    "files.read": _PATH,
    "files.write": replace(
        _PATH,
        covers=_covers_write,
        is_whole_in_session=True,
        is_whole_for_good=True,
        whole_covers=_is_ordinary_to_write,
    ),
    TRUST_PERMISSION: SubjectKind(
        "directory", _check_path, _exact_path, eq, eq, is_denied_alone=True, whole_covers=_is_project
    ),
    INSTRUCTIONS_PERMISSION: SubjectKind("file", _check_text, _exact_text, eq, eq, is_denied_alone=True),
}


def subject_parts(permission: str, subject: str) -> tuple[str, ...]:
    """Take a subject apart, each part of which has to be granted, such as the recipients of a mail."""
    if subject_kind(permission) is not _TEXT:
        return (subject,)
    return tuple(part for each in subject.split(",") if (part := each.strip())) or (subject,)


def is_account(part: str | None) -> bool:
    """Return True if a subject, or a part of one, says no more than with which account something is done."""
    return part is not None and part.startswith(_ACCOUNT)


def subject_kind(permission: str) -> SubjectKind:
    """Return what a permission can be narrowed by: any text, where OneClaw knows nothing closer."""
    return _KINDS.get(permission, _TEXT)


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
        """Read a rule as it is stored."""
        name, colon, pattern = text.partition(":")
        return cls(name, pattern if colon else None)

    @classmethod
    def check(cls, text: str) -> PermissionRule:
        """Read a rule that the user wrote.

        Raises:
            UsageError: its pattern is none.
        """
        rule = cls.read(text)
        if rule.pattern is None:
            return rule
        return cls(rule.permission, subject_kind(rule.permission).check_pattern(rule.pattern))


def grants(rule: PermissionRule | Grant, permission: str, subject: str | None) -> bool:
    """Return True if a rule, as a grant, holds for a permission and what it is about.

    A grant of ``mcp.files.*`` holds for ``mcp.files.read_file`` and all other parts, but for those of OneClaw's own.
    """
    if permission != rule.permission:
        is_part = rule.permission.endswith(ALL_PARTS) and permission.startswith(rule.permission[:-1])
        if not is_part or permission in KNOWN_PERMISSIONS:
            return False
    if subject is None:
        return rule.pattern is None
    kind = subject_kind(permission)
    if rule.pattern is not None:
        return kind.covers(rule.pattern, subject)
    # Where a directory goes with a question, it is about nothing in it that needs a separate question.
    return getattr(rule, "directory", None) is not None or kind.whole_covers(subject)


def denies(rule: PermissionRule | Grant, permission: str, subject: str | None) -> bool:
    """Return True if a rule, as a denial, holds for a permission and what it is about.

    A denial of ``google.gmail`` holds for ``google.gmail.send`` and all its other parts.
    """
    if permission != rule.permission and not permission.startswith(f"{rule.permission}."):
        return False
    return rule.pattern is None or (subject is not None and subject_kind(permission).touches(rule.pattern, subject))


def subject_of(permission: str, arguments: Mapping[str, Any]) -> str | None:
    """Find in a call's arguments what a permission is needed for; ``None`` where they do not say."""
    argument = subject_kind(permission).argument
    value = arguments.get(argument) if argument is not None else None
    return value if isinstance(value, str) else None


def directory_of(permission: str, arguments: Mapping[str, Any], paths: Callable[[], PathGuard]) -> str | None:
    """Find in a call's arguments where it will do what a permission is needed for; ``None`` if that means nothing."""
    argument = subject_kind(permission).directory_argument
    if argument is None:
        return None
    try:
        return str(paths().working_directory(arguments.get(argument)))
    except UsageError:  # the tool refuses it too
        return None
