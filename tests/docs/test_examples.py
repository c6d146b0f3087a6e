"""Example plugins show the contract: short, documented, tested, and made of public names alone."""

import ast
import tomllib

import pytest
from documentation_pages import EXAMPLE_PAGES
from public_packages import PUBLIC_PACKAGES

MAX_LINES = 79


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


def test_an_example_imports_public_names_alone(module):
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("oneclaw")} <= set(PUBLIC_PACKAGES)
