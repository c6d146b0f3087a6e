"""What ``oneclaw_core`` exports."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from public_packages import PUBLIC_PACKAGES

import oneclaw_core
from oneclaw_core._lazy import OWN_NAMES

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

MAX_ROOT_NAMES = 118


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_every_name_can_be_imported(package):
    module = import_module(package)

    assert [name for name in module.__all__ if getattr(module, name) is None] == []
    assert {*module.__all__} - {*dir(module), "__version__"} == set()


def test_the_fixed_names_are_there():
    assert set(oneclaw_core.__all__) >= set(FIXED)


def test_the_root_has_only_what_most_plugins_and_programs_need():
    assert len(oneclaw_core.__all__) <= MAX_ROOT_NAMES


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_type_checkers_see_the_same_names(package):
    module = import_module(package)
    text, _, own = Path(module.__file__).read_text().partition(OWN_NAMES)
    tree = ast.parse(text)
    seen = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("oneclaw_core.", "pytest_oneclaw."))
        for alias in node.names
        if alias.name not in ("TYPE_CHECKING", "lazy_names", "__version__")
    }

    assert seen == {*module.__all__} - {"__version__"}
    mine = [line.split()[-1] for line in own.splitlines() if line.startswith("    from ")]
    assert [name for name in mine if getattr(module, name) is None] == []
    assert seen.isdisjoint(mine)


def test_names_for_our_own_plugins_can_be_imported_and_are_in_no_list():
    from oneclaw_core import cli

    assert callable(cli.print_error)
    assert "print_error" not in {*dir(cli), *cli.__all__}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = oneclaw_core.nonsense


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("tools", "files", "PathGuard"),
        ("tools", "permissions", "approval_question"),
        ("tools", "process", "sandbox_policy"),
        ("tools", "tool_functions", "FunctionTool"),
        ("plugins", "project", "Project"),
        ("plugins", "config", "known_secret_check"),
    ],
)
def test_a_name_that_moved_is_still_found_with_a_warning(old, new, name):
    with pytest.warns(DeprecationWarning, match=f"oneclaw_core.{new}.{name} now; version 0.4"):
        found = getattr(import_module(f"oneclaw_core.{old}"), name)

    assert found is getattr(import_module(f"oneclaw_core.{new}"), name)


@pytest.mark.parametrize(
    ("old", "package", "name"),
    [
        ("testing", "pytest_oneclaw", "CallTool"),
        ("channels", "oneclaw_channels", "ChatRouter"),
        ("providers", "oneclaw_http_providers", "HttpProvider"),
    ],
)
def test_a_name_of_another_distribution_is_found_with_a_warning_where_that_is_installed(
    monkeypatch, old, package, name
):
    module = import_module(f"oneclaw_core.{old}")
    with pytest.warns(DeprecationWarning, match=f"{name} is {package}.{name} now; version 0.4"):
        assert getattr(module, name) is getattr(import_module(package), name)
    assert name not in module.__all__

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package.replace('_', '-')}"):
        getattr(module, name)


def test_importing_the_package_imports_nothing_heavy():
    program = "import sys, oneclaw_core; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "httpx", "sqlalchemy", "jsonschema", "click", "asyncio", "rich", "pluggy"}
    assert heavy.isdisjoint(done.stdout.split())
