"""A tool source that watches a folder: each text file in it is a tool that returns the file's text."""

from __future__ import annotations

import re
from pathlib import Path  # noqa: TC003  # pydantic reads it

from pydantic import BaseModel, Field

from oneclaw_core import (
    PluginContext,
    SettingsRegistrar,
    SourceTool,
    SourceTools,
    ToolContext,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistrar,
    ToolResult,
    ToolSource,
    hookimpl,
)

GROUP = ToolGroupDefinition("notes", "Notes", "Read the user's notes: one tool for each file in a folder")


class Settings(BaseModel):
    """The plugin's settings."""

    folder: Path | None = Field(None, description="Folder with the notes; by default one in the home.")


class ReadNote:
    """A tool that returns the text of one file."""

    def __init__(self, path: Path) -> None:
        name = "note_" + re.sub(r"\W", "_", path.stem, flags=re.ASCII).lower()
        self.definition = ToolDefinition(name, f"Read the note {path.name!r}.", required_permissions=("files.read",))
        self._path = path

    async def execute(self, arguments: dict[str, object], context: ToolContext) -> ToolResult:
        """Read the file."""
        return ToolResult.success(self._path.read_text(encoding="utf-8"))


class NotesFolder(ToolSource):
    """Publishes a tool for each note."""

    def __init__(self, context: PluginContext) -> None:
        self._context = context
        self._seen: list[Path] | None = None

    async def start(self, tools: SourceTools) -> None:
        """Publish the notes."""
        self._tools = tools
        await self.refresh()

    async def refresh(self) -> None:
        """Publish them again if a file was added or removed."""
        found = self._files()
        if found != self._seen:
            self._tools.publish([SourceTool(ReadNote(each), GROUP.name, each.name) for each in found], [GROUP])
            self._seen = found

    def _files(self) -> list[Path]:
        folder: Path = self._context.settings.folder or self._context.folder
        return sorted(folder.glob("*.txt"))


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the source. It starts with the first turn, since files may come while it does not run."""
    register.source("folder", NotesFolder, starts="turn")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the setting ``folder_source.folder``."""
    register(Settings)
