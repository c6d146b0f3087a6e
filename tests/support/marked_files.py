"""Leave out test files in which no test can have the marks that ``-m`` asks for.

To import all test files takes a process half a minute in a fresh checkout, longer than many selections of tests take. A
file can only have tests with the marks that its text names.
"""

import re
from functools import cache
from itertools import product
from pathlib import Path

PLUGINS = Path(__file__).parents[2] / "plugins"


def pytest_ignore_collect(collection_path, config):
    """Return True for a file without such tests."""
    expression = config.option.markexpr
    if not expression or collection_path.suffix != ".py" or not re.fullmatch(r"[\w\s()]+", expression):
        return None
    names = set(re.findall(r"\w+", expression)) - {"and", "or", "not"}
    text = collection_path.read_text(encoding="utf-8")
    is_of_plugin = PLUGINS in collection_path.parents
    possible = {name: (False, True) if name in text else (False,) for name in names}
    if "of_plugin" in names:  # plugins/conftest.py sets it
        possible["of_plugin"] = (is_of_plugin,)
    return None if _can_match(expression, tuple(sorted(possible.items()))) else True


@cache
def _can_match(expression, possible):
    """Return True if the expression holds with some of the possible values of its names."""
    names = [name for name, _ in possible]
    values = product(*(values for _, values in possible))
    return any(eval(expression, {}, dict(zip(names, each, strict=True))) for each in values)
