"""Public names for authors of tools that use files, groups or schemas, beside those of ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.errors import DuplicateToolError as DuplicateToolError
    from oneclaw_core.errors import ToolDefinitionError as ToolDefinitionError
    from oneclaw_core.manifests.manifest import ManifestProblem as ManifestProblem
    from oneclaw_core.types.kept_results import KeptResult as KeptResult
    from oneclaw_core.types.tools import FileChange as FileChange
    from oneclaw_core.types.tools import ToolBehaviour as ToolBehaviour

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.system.private_files import make_private_directory as make_private_directory
    from oneclaw_core.system.private_files import read_private as read_private
    from oneclaw_core.system.private_files import write_private as write_private
    from oneclaw_core.tools.context import MAX_TURN_DEPTH as MAX_TURN_DEPTH
    from oneclaw_core.tools.context import depth_within as depth_within
    from oneclaw_core.tools.invoke import FunctionTarget as FunctionTarget
    from oneclaw_core.types.text import INVISIBLE_CHARACTERS as INVISIBLE_CHARACTERS
    from oneclaw_core.types.text import clean_text as clean_text
    from oneclaw_core.types.text import printable as printable
    from oneclaw_core.types.text import printable_document as printable_document
    from oneclaw_core.types.tool_groups import LISTED_DESCRIPTION_CHARACTERS as LISTED_DESCRIPTION_CHARACTERS
    from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP as LOAD_TOOL_GROUP
    from oneclaw_core.types.tool_groups import ActiveTools as ActiveTools
    from oneclaw_core.types.tool_groups import LoadedGroup as LoadedGroup
    from oneclaw_core.types.tool_groups import generated_group_definition as generated_group_definition
    from oneclaw_core.types.tool_groups import one_line as one_line

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    "oneclaw_core.files",
    "oneclaw_core.json_schema",
    "oneclaw_core.manifests",
    "oneclaw_core.permissions",
    "oneclaw_core.process",
    "oneclaw_core.secrets",
    "oneclaw_core.tool_functions",
)
