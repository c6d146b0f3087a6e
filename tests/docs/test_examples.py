"""Example plugins show the contract: short, documented, tested, and made of public names alone."""

import ast
import tomllib
from importlib import import_module

import pytest
from documentation_pages import EXAMPLE_PAGES, PAGES, PLUGIN_PAGES, blocks_of
from public_packages import PUBLIC_PACKAGES

MAX_LINES = 79
OURS = ("oneclaw_core", "pytest_oneclaw")


@pytest.fixture(params=[page.parent for page in EXAMPLE_PAGES], ids=lambda folder: folder.name)
def example(request):
    return request.param


@pytest.fixture
def module(example):
    return example / f"acme_{example.name}.py"


def test_an_example_is_one_short_module_with_a_test(example, module):
    names = {path.name for path in example.iterdir() if path.is_file()}
    assert names == {"pyproject.toml", "README.md", module.name, f"test_{example.name}.py"}
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_an_example_is_a_plugin_of_its_name(example, module):
    project = tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == module.stem.replace("_", "-")
    assert project["entry-points"]["oneclaw"] == {example.name: module.stem}


def names_that_are_not_public(code):
    """Name what some code imports from the core, and is not promised to anybody."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            public = import_module(node.module).__all__ if node.module in PUBLIC_PACKAGES else ()
            packages = {each.removeprefix(f"{node.module}.") for each in PUBLIC_PACKAGES}
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name not in {*public, *packages})


def test_an_example_imports_public_names_alone(module):
    assert list(names_that_are_not_public(module.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", [*PAGES, *PLUGIN_PAGES], ids=lambda page: page.stem)
def test_pages_show_public_names_alone(page):
    shown = [each for each in blocks_of(page) if each.language == "python"]
    assert [name for each in shown for name in names_that_are_not_public(each.text)] == []
