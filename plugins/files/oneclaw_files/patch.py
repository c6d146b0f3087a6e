"""Patches in the format that coding models are trained on: ``*** Begin Patch`` to ``*** End Patch``.

The format has no line numbers: a hunk is found by its context and removed lines, after an optional ``@@`` anchor.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from oneclaw_core.files import split_lines
from oneclaw_files.errors import FilesError

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_FORMAT = (
    "A patch reads: '*** Begin Patch', then for each file '*** Update File: PATH' with hunks that begin with '@@' and "
    "have lines beginning with a space, - or +, or '*** Add File: PATH' with + lines, or '*** Delete File: PATH'; "
    "then '*** End Patch'."
)


class Line(NamedTuple):
    """A line of a file: its text, and the characters that end it; none at the end of some files."""

    text: str
    ending: str


@dataclass(slots=True)
class Hunk:
    """One changed place of a file.

    Attributes:
        anchor: text of a line above the place, empty if there is none.
        line: where it begins in the patch, from 1.
        lines: each with its sign: a space for context, ``-`` for a removed and ``+`` for an added line.
        is_at_end: True if the place is the end of the file.
    """

    anchor: str
    line: int
    lines: list[tuple[str, str]] = field(default_factory=list)
    is_at_end: bool = False

    @property
    def before(self) -> list[str]:
        """The lines that stand in the file: context and removed ones."""
        return [content for sign, content in self.lines if sign != "+"]

    def after(self, found: list[Line], ending: str) -> list[Line]:
        """The lines that are to stand there; context stays as the file has it.

        Args:
            found: the lines of the file that match ``before``.
            ending: of added lines, unless the line before in the file ends otherwise.
        """
        rest = iter(found)
        new = []
        for sign, content in self.lines:
            if sign == "+":
                new.append(Line(content, ending))
                continue
            old = next(rest)
            ending = old.ending or ending
            if sign == " ":
                new.append(old)
        return new


@dataclass(slots=True)
class FilePatch:
    """The change of one file.

    Attributes:
        kind: ``add``, ``delete`` or ``update``.
        path: as the patch names it.
        move_to: the new path, for an update that moves the file.
        content: of an added file.
        hunks: of an update.
    """

    kind: str
    path: str
    move_to: str | None = None
    content: str = ""
    hunks: list[Hunk] = field(default_factory=list)


def parse_patch(text: str) -> list[FilePatch]:
    """Parse a patch.

    Raises:
        FilesError: it has another format; the message names the line.
    """
    lines = _without_fence([line.removesuffix("\r") for line in text.strip("\r\n").split("\n")])
    if not lines or lines[0].strip() != _BEGIN:
        raise FilesError(f"The patch does not begin with '{_BEGIN}'. {_FORMAT}", "validation_error")
    if lines[-1].strip() != _END:
        raise FilesError(f"The patch does not end with '{_END}'; it may be cut off. {_FORMAT}", "validation_error")
    patches: list[FilePatch] = []
    for number, line in enumerate(lines[1:-1], 2):
        if (opened := _opened_file(line)) is not None:
            patches.append(opened)
        elif not patches:
            raise _unexpected(number, line)
        else:
            _add_line(patches[-1], number, line)
    if not patches:
        raise FilesError(f"The patch names no file. {_FORMAT}", "validation_error")
    for patch in patches:
        _check(patch)
    return patches


def apply_hunks(text: str, patch: FilePatch) -> str:
    """Apply the hunks of an update to the text of its file.

    Raises:
        FilesError: a hunk matches no place, or more than one and has no anchor.
    """
    lines = [_parted(line) for line in split_lines(text)]
    counted = Counter(line.ending for line in lines if line.ending)
    usual = counted.most_common(1)[0][0] if counted else "\n"
    has_open_end = bool(lines) and not lines[-1].ending
    position = 0
    for hunk in patch.hunks:
        start = _place([line.text for line in lines], hunk, position, patch.path)
        end = start + len(hunk.before)
        lines[start:end] = after = hunk.after(lines[start:end], usual)
        position = start + len(after)
    closed = [line.text + (line.ending or usual) for line in lines]
    if closed and has_open_end:
        closed[-1] = lines[-1].text
    return "".join(closed)


def _parted(line: str) -> Line:
    text = line.removesuffix("\n").removesuffix("\r")
    return Line(text, line[len(text) :])


def _without_fence(lines: list[str]) -> list[str]:
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return lines[1:-1]
    return lines


def _opened_file(line: str) -> FilePatch | None:
    for prefix, kind in ((_ADD, "add"), (_DELETE, "delete"), (_UPDATE, "update")):
        if line.startswith(prefix):
            return FilePatch(kind, line.removeprefix(prefix).strip())
    return None


def _add_line(patch: FilePatch, number: int, line: str) -> None:
    if patch.kind == "add" and line.startswith("+"):
        patch.content += line[1:] + "\n"
        return
    if patch.kind != "update":
        raise _unexpected(number, line)
    if line.startswith(_MOVE) and not patch.hunks and patch.move_to is None:
        patch.move_to = line.removeprefix(_MOVE).strip()
    elif line.startswith("@@"):
        patch.hunks.append(Hunk(line.removeprefix("@@").strip(), number))
    elif line.strip() == _END_OF_FILE and patch.hunks:
        patch.hunks[-1].is_at_end = True
    else:
        if not patch.hunks:  # the first hunk may come without its mark
            patch.hunks.append(Hunk("", number))
        _add_hunk_line(patch.hunks[-1], number, line)


def _add_hunk_line(hunk: Hunk, number: int, line: str) -> None:
    sign, content = (line[0], line[1:]) if line else (" ", "")  # models leave out the space of an empty line
    if sign not in " +-" or hunk.is_at_end:
        raise _unexpected(number, line)
    hunk.lines.append((sign, content))


def _check(patch: FilePatch) -> None:
    if not patch.path or patch.move_to == "":
        raise FilesError(f"The patch has a line without a path. {_FORMAT}", "validation_error")
    if patch.kind != "update":
        return
    if not patch.hunks and patch.move_to is None:
        raise FilesError(f"The patch says nothing about {patch.path!r}. {_FORMAT}", "validation_error")
    for hunk in patch.hunks:
        if all(sign == " " for sign, _ in hunk.lines):
            raise FilesError(
                f"The hunk at line {hunk.line} of the patch changes nothing: it has no line with - or +.",
                "validation_error",
            )


def _unexpected(number: int, line: str) -> FilesError:
    return FilesError(f"Line {number} of the patch is unexpected: {line[:80]!r}. {_FORMAT}", "validation_error")


def _place(lines: list[str], hunk: Hunk, position: int, path: str) -> int:
    """Find the line, from 0, where a hunk belongs: exactly, else without the spaces at the ends of lines."""
    where = f"The hunk at line {hunk.line} of the patch"
    start = position
    if hunk.anchor:
        anchors = [at for at in range(position, len(lines)) if lines[at].strip() == hunk.anchor.strip()]
        if not anchors:
            raise FilesError(f"{where} does not match: {path!r} has no line {hunk.anchor[:80]!r} after the one before.")
        start = anchors[0]
    before = hunk.before
    if not before:
        return start + 1 if hunk.anchor and not hunk.is_at_end else len(lines)
    size = len(before)
    for loosened in (_as_it_is, str.rstrip):
        wanted = [loosened(line) for line in before]
        places = [
            at
            for at in range(start, len(lines) - size + 1)
            if loosened(lines[at]) == wanted[0] and [loosened(line) for line in lines[at : at + size]] == wanted
        ]
        if hunk.is_at_end:
            places = [at for at in places if at + size == len(lines)]
        if len(places) > 1 and not hunk.anchor:
            shown = ", ".join(str(at + 1) for at in places[:8])
            raise FilesError(
                f"{where} is ambiguous: it matches {path!r} at lines {shown}. Add context lines, or an @@ line above."
            )
        if places:
            return places[0]
    raise FilesError(
        f"{where} does not match: its lines do not stand in {path!r} one after the other"
        f"{f' after line {start}' if start else ''}. Read the file again and copy them exactly."
    )


def _as_it_is(line: str) -> str:
    return line
