"""The memory of an open home."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, PromptSection
from oneclaw_memory.file import MemoryFile, memory_path
from oneclaw_memory.prompt_section import memory_section

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandContext, PluginContext

# Beside the memory itself: the introduction and the notice of a cut.
_FRAME_CHARACTERS = 1_000

_log = logging.getLogger("oneclaw.memory")


def memory_of(context: PluginContext) -> MemoryFile:
    """Return the memory of the home that a context belongs to."""
    return context.once(_memory_file)


def prompt_section(context: PluginContext) -> list[PromptSection]:
    """Return the section of the system prompt that holds the memory."""
    shown = context.once(_shown_memory)
    state = shown.state()
    if state is None:
        return []  # and the settings, whose import is slow, are not needed
    max_characters = context.settings.max_characters
    text = shown.section(state, max_characters)
    return [PromptSection("memory", text, max_characters + _FRAME_CHARACTERS)]


async def show_memory(context: ChatCommandContext, rest: str) -> str:
    """Return all that is remembered.

    Args:
        context: of the command.
        rest: ignored.
    """
    return memory_of(context).read().strip() or "Nothing is remembered yet."


def _memory_file(context: PluginContext) -> MemoryFile:
    services = context.services
    return MemoryFile(memory_path(services.home), services.holds_secret)


def _shown_memory(context: PluginContext) -> _ShownMemory:
    return _ShownMemory(_memory_file(context))


class _ShownMemory:
    """The memory as models are shown it, written again when its file has changed.

    Args:
        file: what is remembered.
    """

    def __init__(self, file: MemoryFile) -> None:
        self._file = file
        self._made_of: tuple[int, ...] | None = None
        self._section = ""

    def state(self) -> tuple[int, ...] | None:
        """Return what changes with the file; ``None`` without a file."""
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def section(self, state: tuple[int, ...], max_characters: int) -> str:
        """Write the part of the system prompt; an unreadable file is logged and left out.

        Args:
            state: of the file.
            max_characters: how much of the memory to show.
        """
        made_of = (*state, max_characters)
        if made_of != self._made_of:
            try:
                text = self._file.read()
            except OneClawError as error:
                _log.warning("models are shown no memory: %s", error)
                text = ""
            self._section, self._made_of = memory_section(text, max_characters), made_of
        return self._section
