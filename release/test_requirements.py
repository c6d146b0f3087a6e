"""Each distribution requires the packages that its code imports, also those that are imported within functions."""

import ast
import re
from functools import cache
from importlib.metadata import packages_distributions, requires

import pytest
from conftest import PROJECTS, package_of
from packaging.requirements import Requirement

WITH_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
IMPORT = re.compile(rb"^\s*(?:from|import) (\w+)", re.MULTILINE)
OURS = {package_of(project).replace("_", "-"): project for project in PROJECTS}


@cache
def distributions_of_modules():
    """Return the distributions that each module can come from."""
    others = {module: set(map(normalised, names)) for module, names in packages_distributions().items()}
    return others | {name.replace("-", "_"): {name} for name in OURS}


@cache
def requirements_of(name):
    return [Requirement(each) for each in requires(name) or ()]


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def imports_of(code):
    """Name the modules that code imports, without those for types alone."""
    nodes, found = [ast.parse(code)], set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
        nodes += [each for each in ast.iter_child_nodes(node) if isinstance(each, WITH_STATEMENTS)]
    return found


def installed_with(name):
    """Name the distributions that are installed with one of ours, and those of others that ours offer as extras."""
    found, left = set(), [Requirement(name)]
    while left:
        requirement = left.pop()
        asked = (normalised(requirement.name), *sorted(requirement.extras))
        if asked in found:
            continue
        found.add(asked)
        for each in requirements_of(requirement.name):
            is_needed = each.marker is None or any(
                each.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
            )
            if is_needed or (asked[0] in OURS and normalised(each.name) not in OURS):
                left.append(each)
    return {each[0] for each in found}


@pytest.mark.parametrize("name", OURS)
def test_it_requires_what_it_imports(name):
    there = installed_with(name)
    foreign = {module for module, names in distributions_of_modules().items() if not names & there}

    imported = set()
    for path in (OURS[name] / package_of(OURS[name])).rglob("*.py"):
        code = path.read_bytes()
        if foreign & {each.decode() for each in IMPORT.findall(code)}:  # parsing all files would take long
            imported |= imports_of(code)

    assert imported & foreign == set()
