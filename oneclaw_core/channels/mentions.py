"""Files that a message of the user names: ``@PATH`` attaches a file, or the names in a directory.

Only for text that a person typed in a channel. Who types the path of a hidden file wants it read, so it is attached
too, and the notice says so; text that may come from elsewhere, such as an argument of a script, names none. Text of
tools, models and programs never goes through here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.files.attachments import media_type_of, read_attachment
from oneclaw_core.files.hidden_paths import is_hidden
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Attachment

MAX_MENTIONS = 20
MAX_FILE_BYTES = 100_000
MAX_TOTAL_BYTES = 400_000
MAX_NAMES = 500
# At the beginning or behind a blank, so that an address of mail is none; quotes take blanks along.
_MENTION = re.compile(r'(?:(?<=\s)|^|(?<=[(\[]))@(?:"(?P<quoted>[^"\n]{1,1000})"|(?P<plain>[^\s"@]{1,1000}))')
_CLOSING = ".,;:!?)]}'"


@dataclass(frozen=True, slots=True)
class MentionedFiles:
    """A message with the files that it names.

    Attributes:
        text: the message, with the texts of files behind it.
        attachments: images and PDF files.
        notices: one line for what is attached, and for what is not.
        files: the paths of what stands in the text.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()
    notices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def with_mentioned_files(text: str, directory: Path, *, is_typed: bool) -> MentionedFiles:
    """Attach the files and directories that a message names as ``@PATH``; other words with ``@`` stay as they are.

    Args:
        text: of the user.
        directory: that relative paths lie in.
        is_typed: True if a person has certainly typed it, and so may name hidden files.
    """
    parts: list[str] = []
    attachments: list[Attachment] = []
    notices: list[str] = []
    files: list[str] = []
    room = MAX_TOTAL_BYTES
    for path in list(dict.fromkeys(_paths(text, directory)))[:MAX_MENTIONS]:
        hidden = ", a hidden file" if is_hidden(path, opened=(directory,)) else ""
        if hidden and not is_typed:
            notices.append(f"not attached: {path}{hidden}; name it in oneclaw chat")
            continue
        if hidden and _is_behind_link(path, directory):
            notices.append(f"not attached: {path} is a link to a hidden file; name {os.path.realpath(path)} itself")
            continue
        try:
            part, attachment = _read(path, min(room, MAX_FILE_BYTES))
        except UsageError as error:
            notices.append(f"not attached: {error}")
            continue
        if attachment is not None:
            attachments.append(attachment)
        else:
            room -= len(part.encode())
            parts.append(part)
            files.append(str(path))
        notices.append(f"attached: {path}{hidden}")
    return MentionedFiles("\n\n".join([text, *parts]), tuple(attachments), tuple(notices), tuple(files))


def _paths(text: str, directory: Path) -> list[Path]:
    found = []
    for match in _MENTION.finditer(text):
        name = match["quoted"] or match["plain"]
        for each in (name, name.rstrip(_CLOSING)):
            path = Path(os.path.abspath(directory / os.path.expanduser(each)))  # noqa: PTH100, PTH111  # links and unknown users stay
            if each and os.path.lexists(path):
                found.append(path)
                break
    return found


def _is_behind_link(path: Path, directory: Path) -> bool:
    """Return True if a path leads to another place than it says, links above the directory aside."""
    said = directory.resolve() / path.relative_to(directory) if path.is_relative_to(directory) else path
    return os.path.realpath(path) != str(said)


def _read(path: Path, limit: int) -> tuple[str, Attachment | None]:
    """Read a file as text or as an attachment, or the names in a directory.

    Raises:
        UsageError: it cannot be read, or has no room.
    """
    if path.is_dir():
        return _framed(path, "directory", _names(path)), None
    if not path.is_file():
        raise UsageError(f"{path} is not a file")
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    if media_type_of(data) is not None:
        return "", read_attachment(path)
    if len(data) > limit:
        raise UsageError(f"{path} is longer than {limit:,} bytes, the most that is attached; ask to have it read")
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is neither text nor an image or a PDF file") from None
    return _framed(path, "file", clean_text(content)), None


def _names(path: Path) -> str:
    try:
        names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    more = f"\n[and {len(names) - MAX_NAMES:,} more]" if len(names) > MAX_NAMES else ""
    return "\n".join(ascii(each)[1:-1] if not each.isprintable() else each for each in names[:MAX_NAMES]) + more


def _framed(path: Path, kind: str, content: str) -> str:
    return f"[The user attached the {kind} {path}:]\n{content}\n[End of {path}]"
