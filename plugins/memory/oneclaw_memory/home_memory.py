"""The memory of an open home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import PromptSection
from oneclaw_memory.file import MemoryFile, memory_path
from oneclaw_memory.shown import ShownMemory

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandContext, PluginContext

# Beside the memory itself: the introduction and the notice of a cut.
_FRAME_CHARACTERS = 1_000


def memory_of(context: PluginContext) -> MemoryFile:
    """Return the memory of the home that a context belongs to."""
    return context.once(_memory_file)


def prompt_section(context: PluginContext) -> list[PromptSection]:
    """Return the section of the system prompt that holds the memory."""
    max_characters = context.settings.max_characters
    text = context.once(_shown_memory).section(max_characters)
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


def _shown_memory(context: PluginContext) -> ShownMemory:
    return ShownMemory(_memory_file(context))
