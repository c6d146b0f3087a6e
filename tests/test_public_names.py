"""What ``oneclaw_core`` exports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import oneclaw_core

# Fixed by the design: acceptance tests and plugins rely on them.
FIXED = [
    "ToolDefinition",
    "ToolResult",
    "ToolSourceType",
    "ToolSourceInfo",
    "ToolRegistry",
    "ToolGroupDefinition",
    "LoadToolGroupTool",
    "restore_loaded_groups",
    "parse_group_manifest",
    "build_system_prompt_with_tool_groups",
    "hookimpl",
    "tool",
    "Tool",
    "ToolContext",
    "OneClaw",
    "ask",
]


@pytest.mark.parametrize("name", oneclaw_core.__all__)
def test_every_name_can_be_imported(name):
    assert getattr(oneclaw_core, name) is not None
    assert name in dir(oneclaw_core)


def test_the_fixed_names_are_there():
    assert set(oneclaw_core.__all__) >= set(FIXED)


def test_type_checkers_see_the_same_names_from_the_same_modules():
    tree = ast.parse(Path(oneclaw_core.__file__).read_text())
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oneclaw_core.")
        for alias in node.names
    }
    assert seen == {name: f"oneclaw_core.{module}" for name, module in oneclaw_core._MODULE_OF.items()}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = oneclaw_core.nonsense


def test_importing_the_package_imports_nothing_heavy():
    program = "import sys, oneclaw_core; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "httpx", "sqlalchemy", "jsonschema", "click", "asyncio", "rich", "pluggy"}
    assert heavy.isdisjoint(done.stdout.split())
