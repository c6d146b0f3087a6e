"""The memory as it is shown to models now, written anew only when the file has changed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_memory.prompt_section import memory_section

if TYPE_CHECKING:
    from oneclaw_memory.file import MemoryFile

_log = logging.getLogger("oneclaw.memory")


class ShownMemory:
    """Writes the part of the system prompt that holds the memory.

    Args:
        file: what is remembered.
    """

    def __init__(self, file: MemoryFile) -> None:
        self._file = file
        self._made_of: tuple[int, ...] | None = None
        self._section = ""

    def section(self, max_characters: int) -> str:
        """Write it; a file that cannot be read is logged and shown as nothing, for a message is to be answered anyway.

        Args:
            max_characters: how much of the memory to show.
        """
        try:
            state = self._file.path.stat()
        except OSError:
            return ""
        made_of = (state.st_mtime_ns, state.st_size, state.st_ino, max_characters)
        if made_of != self._made_of:
            try:
                text = self._file.read()
            except OneClawError as error:
                _log.warning("models are shown no memory: %s", error)
                text = ""
            self._section, self._made_of = memory_section(text, max_characters), made_of
        return self._section
