"""The file ``MEMORY.md``: reading it, and changing it while other processes may do the same."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.tools import make_private_directory, write_private
from oneclaw_memory.document import NOTES, SECTIONS, Section, category_of, headings, section_of, sections, skeleton
from oneclaw_memory.editing import as_stored, is_known, list_items, normal_text, places_of, replaced, with_items
from oneclaw_memory.encoded_text import TextForm, decoded, encoded
from oneclaw_memory.key_shapes import key_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from oneclaw_core import Home

MAX_CONTENT_CHARACTERS = 5_000
MAX_FILE_CHARACTERS = 100_000

# Who writes more by hand can, up to this.
_MAX_FILE_BYTES = 1_000_000
_LOCK_SECONDS = 5


class MemoryChangeError(OneClawError):
    """Something cannot be remembered, changed or forgotten; the memory is as it was.

    Attributes:
        error_type: ``validation_error``, ``duplicate_detected``, ``not_found``, ``ambiguous_match`` or
            ``save_failed``.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """Outcome of a change.

    Attributes:
        done: what was done: ``added``, ``replaced`` or ``deleted``.
        section: the section as it is now; ``None`` if there is none that could be shown.
    """

    done: str
    section: Section | None


def memory_path(home: Home) -> Path:
    """Return the path of the memory's file in a home."""
    return home.path / "MEMORY.md"


class MemoryFile:
    """The file with what is remembered about the user.

    Args:
        path: the file; it need not exist.
        holds_known_secret: whether a text holds a secret that is known, such as a stored key.
    """

    def __init__(self, path: Path, holds_known_secret: Callable[[str], bool] | None = None) -> None:
        self.path = path
        self._holds_known_secret = holds_known_secret

    def read(self) -> str:
        """Read all of it, with LF at the ends of lines; empty if there is no file.

        Raises:
            OneClawError: it cannot be read, is not a file, or is too long.
        """
        return self._load()[0]

    def create(self) -> None:
        """Make the file with empty sections, if there is none.

        Raises:
            OneClawError: it cannot be written.
        """
        with self._changing() as (text, form):
            if not text.strip():
                self._write(skeleton(), form)

    def change(self, content: str, category: str = NOTES, replaces: str | None = None) -> MemoryChange:
        """Remember something, or replace or forget what was remembered.

        Args:
            content: a text or a list, as Markdown; empty to forget what it replaces.
            category: what kind of thing it is, see :data:`oneclaw_memory.document.SECTIONS`; all else is notes.
            replaces: a text that stands in the memory exactly once, instead of which the content comes; ``None`` or
                blank to add the content.

        Raises:
            MemoryChangeError: nothing was changed; the error's type and message say why.
        """
        new = normal_text(content)
        old = normal_text(replaces or "")
        self._check(new, old)
        try:
            with self._changing() as (text, form):
                changed, change = _replace(text, old, new) if old else _add(text, new, category_of(category))
                if len(changed) > max(MAX_FILE_CHARACTERS, len(text)):
                    raise MemoryChangeError(
                        "validation_error",
                        f"the memory is full: it may have {MAX_FILE_CHARACTERS:,} characters. Forget what is out of "
                        "date first (replaces with empty content), or ask the user to run: oneclaw memory edit",
                    )
                self._write(changed, form)
        except MemoryChangeError:
            raise
        except OneClawError as error:
            raise MemoryChangeError("save_failed", str(error)) from error
        return change

    def _check(self, new: str, old: str) -> None:
        if not new and not old:
            raise MemoryChangeError("validation_error", "content is empty: say what to remember")
        if new and not list_items(new):
            raise MemoryChangeError("validation_error", "content says nothing: write a sentence or a list")
        if len(new) > MAX_CONTENT_CHARACTERS:
            raise MemoryChangeError(
                "validation_error",
                f"content has {len(new):,} characters, more than {MAX_CONTENT_CHARACTERS:,}: save the essence of it",
            )
        if old and old == new:
            raise MemoryChangeError("validation_error", "content and replaces are the same: nothing would change")
        shape = key_shape(new)
        if shape is None and self._holds_known_secret is not None and self._holds_known_secret(new):
            shape = "a key that OneClaw knows"
        if shape is not None:
            raise MemoryChangeError(
                "validation_error",
                f"content holds what looks like {shape}, and memory is sent to model services with every request: "
                "remember it without the secret; keys of model services belong into: oneclaw keys set",
            )

    def _load(self) -> tuple[str, TextForm]:
        try:
            # A named pipe would make this wait for its other end.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:  # noqa: PTH123  # Path.open takes no descriptor
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise OneClawError(f"{self.path} is not a file: move it away, or put a Markdown file in its place")
                content = file.read(_MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return "", TextForm()
        except IsADirectoryError:
            raise OneClawError(f"{self.path} is a directory: move it away") from None
        except OSError as error:
            raise OneClawError(
                f"{self.path} cannot be read ({error.strerror or error}): let this user read it"
            ) from None
        if len(content) > _MAX_FILE_BYTES:
            raise OneClawError(f"{self.path} is longer than {_MAX_FILE_BYTES:,} bytes: shorten it by hand")
        return decoded(content)

    @contextmanager
    def _changing(self) -> Iterator[tuple[str, TextForm]]:
        from filelock import FileLock, Timeout

        try:
            make_private_directory(self.path.parent)
            with FileLock(self.path.with_name(f"{self.path.name}.lock"), timeout=_LOCK_SECONDS, mode=0o600):
                yield self._load()
        except Timeout:
            raise OneClawError("another process is changing the memory: try again when it is done") from None
        except OSError as error:
            raise OneClawError(
                f"{self.path} cannot be written ({error.strerror or error}): make it and its directory writable"
            ) from None

    def _write(self, text: str, form: TextForm) -> None:
        # A file that is kept elsewhere has a link to it, which stays.
        write_private(self.path.resolve(), encoded(text, form))


def _add(text: str, new: str, category: str) -> tuple[str, MemoryChange]:
    heading = SECTIONS[category]
    items = [item for item in dict.fromkeys(list_items(new)) if not is_known(text, item)]
    if not items:
        raise MemoryChangeError(
            "duplicate_detected",
            "this is remembered already; to change what is remembered, give the old text as replaces",
        )
    changed = with_items(text, heading, items)
    return changed, MemoryChange("added", section_of(changed, heading))


def _replace(text: str, old: str, new: str) -> tuple[str, MemoryChange]:
    wanted = old
    places = places_of(text, wanted)
    if not places:
        wanted = as_stored(old)
        places = places_of(text, wanted)
    if not places:
        raise MemoryChangeError(
            "not_found",
            "the text to replace or forget is not remembered in these very words: copy an entry to the letter; the "
            "memory may have changed since it was shown",
        )
    if len(places) > 1:
        raise MemoryChangeError(
            "ambiguous_match", "the text to replace or forget is there more than once: copy more of the entry"
        )
    start, end = places[0], places[0] + len(wanted)
    if new and all(is_known(text[:start] + text[end:], item) for item in list_items(new)):
        raise MemoryChangeError(
            "duplicate_detected",
            "the new text is remembered already elsewhere; to forget the old one only, leave content empty",
        )
    changed = replaced(text, start, end, new)
    # No heading is changed, so they can be counted.
    number = sum(1 for line, _, _ in headings(text.split("\n")) if line < text.count("\n", 0, start))
    return changed, MemoryChange("replaced" if new else "deleted", _section_at(changed, number))


def _section_at(text: str, number: int) -> Section | None:
    """The section of a heading by its number from 1, 0 for what precedes all headings; ``None`` if there is none."""
    found = sections(text)
    if found[0].level:
        number -= 1
    return found[number] if 0 <= number < len(found) else None
