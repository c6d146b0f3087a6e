"""What a distribution imports is installed with it, also what few calls import."""

import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions, requires

import pytest
from conftest import PROJECTS, package_of
from packaging.requirements import Requirement

WITH_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
OURS = {package_of(project).replace("_", "-"): project for project in PROJECTS}

providers = cache(packages_distributions)


@cache
def requirements_of(name):
    return [Requirement(each) for each in requires(name) or ()]


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def imports_of(folder):
    """Name the modules that the code of a package imports, without the standard library and those for types alone."""
    nodes = [ast.parse(path.read_bytes()) for path in folder.rglob("*.py")]
    found = set()
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
    return found - sys.stdlib_module_names


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
    project = OURS[name]

    missing = {
        module
        for module in imports_of(project / package_of(project))
        if (by := {*map(normalised, providers().get(module, [])), *({module.replace("_", "-")} & OURS.keys())})
        and not by & there
    }

    assert missing == set()
