"""`oneclaw sessions export`: write a session as Markdown, as JSON, or as a cassette for tests."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from oneclaw_core import MessageType, OneClawError, UsageError, find_home
from oneclaw_core.cli import (
    RAW_VARIABLE,
    entries_of_session,
    find_stored,
    is_terminal,
    json_text,
    message_document,
    message_outcome,
    message_speaker,
    print_text,
    printable,
    printable_name,
    session_document,
    stored_messages,
    timestamp,
    with_store,
    write_cassette,
)
from oneclaw_core.config import known_secret_check
from oneclaw_core.scripts import script_documents
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oneclaw_core import Message
    from oneclaw_core.sessions import Session, Store


@click.command("export")
@click.argument("name")
@click.option("--format", "format_name", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True)
@click.option("--output", metavar="FILE", help="Where to write it, readable only by you; by default stdout.")
@click.option("--cassette", metavar="FILE", help="Write the model's answers there instead, for tests to replay.")
def export(name: str, format_name: str, output: str | None, cassette: str | None) -> None:
    """Export the session NAME, with complete results of tools.

    A cassette has the answers of the model and what was said before them, without known secrets. Tests replay it as
    tests/cassettes/NAME.json.
    """
    write = _write_json if format_name == "json" else _write_markdown

    async def work(store: Store) -> None:
        session = await find_stored(store, name)
        if cassette is not None:
            await _write_cassette(store, session, cassette)
        elif output is None or output == "-":
            await write(store, session, partial(click.echo, nl=False), is_file=False)
        else:
            with _new_file(output) as file:
                await write(store, session, file.write, is_file=True)

    with_store(work, is_read_only=True)


async def _write_cassette(store: Store, session: Session, name: str) -> None:
    if (await store.load_turn(session.id, 1)).summary is not None:
        raise UsageError("the session was compacted, so what its model was sent is not stored as it was: no cassette")
    known_secret_check(find_home())("")  # reads the stored secrets, which are left out then
    entries = entries_of_session([message async for message in stored_messages(store, session)])
    write_cassette(Path(name), "conversation", entries)
    print_text(f"wrote {len(entries)} answers to {printable_name(name)}")


async def _write_json(store: Store, session: Session, write: Callable[[str], object], *, is_file: bool) -> None:
    # A file is UTF-8; what stdout leads to is not known, and ASCII holds everything.
    as_text = partial(json_text, ensure_ascii=not is_file)
    head = as_text(session_document(session), indent=2)
    write(head.removesuffix("\n}") + ',\n  "messages": [')
    separator = "\n"
    async for message in stored_messages(store, session):
        write(f"{separator}    {as_text(message_document(message))}")
        separator = ",\n"
    write("\n  ]")
    if scripts := await store.script_calls(session.id):
        write(',\n  "scripts": ' + as_text(script_documents(scripts), indent=2))
    write("\n}\n")


async def _write_markdown(store: Store, session: Session, write: Callable[[str], object], *, is_file: bool) -> None:
    is_raw = os.environ.get(RAW_VARIABLE) and (is_file or not is_terminal(sys.stdout))
    shown: Callable[[str], str] = str if is_raw else printable
    write(shown(markdown_head(session)))
    async for message in stored_messages(store, session):
        write(shown(markdown_entry(message)))


@contextmanager
def _new_file(name: str) -> Iterator[IO[str]]:
    """Open a file that only its owner can read; one that is there is replaced, and closed to others first."""
    try:
        # Path.open knows no opener.
        with open(name, "w", encoding="utf-8", errors="backslashreplace", newline="\n", opener=_private) as file:
            yield file
    except OSError as error:
        raise OneClawError(f"{name} cannot be written: {error.strerror or error}") from None


def _private(path: str, flags: int) -> int:
    # Emptied last, so that a file that cannot be closed to others is left as it is.
    descriptor = os.open(path, flags & ~os.O_TRUNC, 0o600)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def markdown_head(session: Session) -> str:
    """Return the head of a Markdown export."""
    facts = {
        "Session": f"{session.name} ({session.id})" if session.name else session.id,
        "Agent": session.agent,
        "Model": session.model or "default",
        "Begun": timestamp(session.created_at),
        "Last used": timestamp(session.updated_at),
    }
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    title = one_line(session.title or session.name or session.id)
    return f"# {title}\n\n" + "\n".join(lines) + "\n"


def markdown_entry(message: Message) -> str:
    """Format an entry as Markdown, with results whole; empty for what is not shown."""
    if message.is_of_output:
        return ""
    match message.type:
        case MessageType.USER:
            return f"\n## {message_speaker('User', message, None)}\n\n{message.content}\n"
        case MessageType.ASSISTANT:
            speaker = message_speaker("Assistant", message, message.model)
            return f"\n## {speaker}\n\n{message.content}\n" if message.content else ""
        case MessageType.TOOL_CALL:
            return f"\n### Call of `{message.tool_name}`\n\n{_fenced(message.tool_input or '', 'json')}"
        case MessageType.TOOL_RESULT:
            return f"\n### Result of `{message.tool_name}` ({message_outcome(message)})\n\n{_fenced(message.content)}"


def _fenced(text: str, language: str = "") -> str:
    # CommonMark: a fence is closed by one at least as long, so it must be longer than any in the text.
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"
