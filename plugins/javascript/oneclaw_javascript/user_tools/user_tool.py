"""A tool of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core import Tool, ToolDefinition, ToolGroupDefinition
    from oneclaw_core.plugins import PluginProblem


class Language(StrEnum):
    """Language of a tool."""

    JAVASCRIPT = "javascript"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class UserTool:
    """A tool of the user's.

    Attributes:
        tool: what is run.
        definition: what a model is told about it.
        language: what it is written in.
        file: the manifest; of a Python tool without one, the code.
        group: the tool group it belongs to, ``None`` for none.
    """

    tool: Tool
    definition: ToolDefinition
    language: Language
    file: str
    group: str | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.definition.name

    @property
    def is_pair(self) -> bool:
        """True for the one tool of a manifest with JavaScript beside it, which tools can change."""
        return self.language is Language.JAVASCRIPT and self.group is None


@dataclass(frozen=True, slots=True)
class FileTools:
    """The tools in the files of one name.

    Attributes:
        tools: in the order of the file.
        group: the metadata of their group, if the file has any.
        problems: what was left out or ignored, and why.
    """

    tools: tuple[UserTool, ...] = ()
    group: ToolGroupDefinition | None = None
    problems: tuple[PluginProblem, ...] = ()
