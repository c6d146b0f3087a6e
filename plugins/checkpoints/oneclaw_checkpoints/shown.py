"""Show what an undo would change, and what it has changed."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from oneclaw_checkpoints.states import Kind, read_state
from oneclaw_core import OneClawError
from oneclaw_core.files import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from oneclaw_checkpoints.plan import FileChange, Plan, TakenBack
    from oneclaw_checkpoints.recorder import Recorder
    from oneclaw_checkpoints.undoing import Outcome

    # A line with the name of its colour, empty for none.
    Line = tuple[str, str]

_SHOWN_LINES = 60
_SHOWN_MESSAGE_CHARACTERS = 70
# Comparing longer files takes too long.
_COMPARED_CHARACTERS = 1_000_000


def plan_lines(plan: Plan, recorder: Recorder) -> Iterator[Line]:
    """Yield the lines that show a plan: messages, then each file with its difference."""
    if plan.undone is not None:
        yield "The last undo is taken back; these messages and what followed on them are restored:", ""
        yield from ((f"  {each}", "") for each in plan.undone.shown.splitlines())
    elif len(plan.messages) == 1:
        yield "Your last message and what followed on it are taken back:", ""
    else:
        yield f"Your last {len(plan.messages)} messages and what followed on them are taken back:", ""
    for each in plan.messages:
        yield f"  {message_line(each)}", ""
    if not plan.files:
        yield "No file changes.", ""
    for file in plan.files:
        yield from file_lines(file, recorder)
    for gap in plan.gaps:
        yield f"Not followed, so not put back: {gap}.", "yellow"


def file_lines(file: FileChange, recorder: Recorder) -> Iterator[Line]:
    """Yield the lines that show the change of one file."""
    yield f"{verb(file)} {_visible(file.path)}", ""
    if file.conflict:
        yield f"  CONFLICT: {file.conflict}", "yellow"
    if not file.is_possible:
        return
    lines = difference(file, recorder)
    for line in lines[:_SHOWN_LINES]:
        yield f"  {line}", {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    if len(lines) > _SHOWN_LINES:
        yield f"  … {len(lines) - _SHOWN_LINES:,} more lines", ""


def write_plan(plan: Plan, recorder: Recorder, stream: TextIO) -> None:
    """Write a plan, in colours where the stream is a terminal."""
    from oneclaw_core.cli import printable, styled

    for line, color in plan_lines(plan, recorder):
        text = printable(line)
        print(styled(text, stream, fg=color) if color else text, file=stream)
    stream.flush()


def verb(file: FileChange) -> str:
    """Say what is done with a file."""
    if file.target.kind is Kind.NOTHING:
        return "Remove"
    return "Create" if file.current.kind is Kind.NOTHING else "Change"


def difference(file: FileChange, recorder: Recorder) -> list[str]:
    """Return the difference as lines of a unified diff, or a few words on what is not a text."""
    current, target = file.current, file.target
    before, after = _text(file, recorder, is_target=False), _text(file, recorder, is_target=True)
    lines: list[str] = []
    if before is not None and after is not None:
        lines = [line.rstrip("\n") for line in difflib.unified_diff(_lines(before), _lines(after), n=2)][2:]
    elif current.kind is not target.kind or current.content != target.content:
        lines = [f"({current.in_words()} becomes {target.in_words()})"]
    if current.kind is target.kind and current.mode != target.mode:
        lines.insert(0, f"(mode {current.mode:o} becomes {target.mode:o})")
    return lines


def _text(file: FileChange, recorder: Recorder, *, is_target: bool) -> str | None:
    state = file.target if is_target else file.current
    if state.kind is Kind.NOTHING:
        return ""
    if state.kind is not Kind.FILE or state.size > _COMPARED_CHARACTERS:
        return None
    try:
        if is_target:
            return recorder.database.content(state.content).decode()
        read: dict[str, bytes] = {}
        read_state(file.path, _COMPARED_CHARACTERS, read.__setitem__)
        return read[state.content].decode()
    except (OSError, KeyError, UnicodeDecodeError, OneClawError):
        return None


def _visible(path: str) -> str:
    """Write a path on one line, with what cannot be seen in it escaped, so that it can imitate no other line."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in path)


def _lines(text: str) -> list[str]:
    return split_lines(text)


def message_line(message: TakenBack) -> str:
    """Show a message as a line with its number."""
    line = " ".join(message.text.split())
    if len(line) > _SHOWN_MESSAGE_CHARACTERS:
        line = line[: _SHOWN_MESSAGE_CHARACTERS - 1] + "…"
    return f"{message.number}. {line}"


def outcome_lines(plan: Plan, outcome: Outcome) -> Iterator[str]:
    """Yield the lines that say what was done."""
    done = "Restored" if plan.undone is not None else "Took back"
    count = len(plan.messages)
    messages = "the messages" if plan.undone is not None else f"{count} message{'' if count == 1 else 's'}"
    files = len(outcome.changed)
    yield f"{done} {messages} and the changes of {files} file{'' if files == 1 else 's'}."
    for path, reason in outcome.left.items():
        yield f"Left as it is: {_visible(path)} ({reason})"


def plan_document(plan: Plan, recorder: Recorder) -> dict[str, Any]:
    """Describe a plan for JSON."""
    return {
        "session": plan.session.name or plan.session.id,
        "action": "redo" if plan.undone is not None else "undo",
        "messages": [{"number": each.number, "sequence": each.sequence, "text": each.text} for each in plan.messages],
        "files": [
            {
                "path": each.path,
                "change": verb(each).lower(),
                "conflict": each.conflict or None,
                "diff": "\n".join(difference(each, recorder)) if each.is_possible else None,
            }
            for each in plan.files
        ],
        "not_followed": list(plan.gaps),
    }
