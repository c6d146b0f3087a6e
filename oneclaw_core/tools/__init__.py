"""What authors of tools with files, groups or schemas of their own use beside ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.tools.file_stamp import FileStamp as FileStamp
    from oneclaw_core.tools.groups import LOAD_TOOL_GROUP as LOAD_TOOL_GROUP
    from oneclaw_core.tools.groups import LoadedGroup as LoadedGroup
    from oneclaw_core.tools.groups import one_line as one_line
    from oneclaw_core.tools.schema import argument_faults as argument_faults
    from oneclaw_core.tools.schema import compile_schema as compile_schema

_NAMES = {
    "file_stamp": "FileStamp",
    "groups": "LOAD_TOOL_GROUP LoadedGroup one_line",
    "schema": "argument_faults compile_schema",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
