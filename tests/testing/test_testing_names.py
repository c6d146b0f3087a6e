"""What ``oneclaw_core.testing`` exports."""

import ast
from pathlib import Path

import pytest

from oneclaw_core import testing


@pytest.mark.parametrize("name", testing.__all__)
def test_every_name_can_be_imported(name):
    assert getattr(testing, name) is not None
    assert name in dir(testing)


def test_type_checkers_see_the_same_names_from_the_same_modules():
    tree = ast.parse(Path(testing.__file__).read_text())
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oneclaw_core.")
        for alias in node.names
    }
    assert seen == {name: f"oneclaw_core.testing.{module}" for name, module in testing._MODULE_OF.items()}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = testing.nonsense
