"""References lead to something: the roles in docstrings, and the names of ours that docstrings and pages quote."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from documentation_pages import PAGES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCES = sorted(
    path
    for pattern in ("oneclaw_core/**/*.py", "plugins/*/*oneclaw*/**/*.py")
    for path in ROOT.glob(pattern)
    if "templates" not in path.parts
)
ROLE = re.compile(r":(?:py:)?(?:mod|class|func|meth|attr|data|exc|obj):`(?:[^`<]*<)?[~!.]?([^`<>]+)>?`")
QUOTED = re.compile(r"(?<![\w./:-])`{1,2}((?:oneclaw_[a-z_]+)(?:\.\w+)+)(?:\(\))?`{1,2}")
_MISSING = object()


def module_of(path: Path) -> str:
    """Name the module of a file."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[0] == "plugins":
        del parts[:2]
    return ".".join(parts).removesuffix(".__init__")


@cache
def imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return _MISSING


def attribute(owner: Any, names: list[str]) -> bool:
    """Say whether a chain of attributes exists; fields of dataclasses and annotated attributes count."""
    for index, name in enumerate(names):
        found = getattr(owner, name, _MISSING)
        if found is _MISSING:
            return index == len(names) - 1 and is_declared(owner, name)
        owner = found
    return True


def is_declared(owner: Any, name: str) -> bool:
    """Say whether a class has an attribute that only its instances have."""
    if not isinstance(owner, type):
        return False
    return any(
        name in vars(each).get("__annotations__", {}) or name in vars(each).get("__slots__", ()) or name in set_in(each)
        for each in owner.__mro__
    )


@cache
def set_in(owner: type) -> set[str]:
    """Find the attributes that the ``__init__`` of a class sets."""
    code = getattr(vars(owner).get("__init__"), "__code__", None)
    return set(code.co_names) if code is not None else set()


def is_absolute(target: str) -> bool:
    parts = target.split(".")
    for length in range(len(parts), 0, -1):
        module = imported(".".join(parts[:length]))
        if module is not _MISSING:
            return attribute(module, parts[length:])
    return False


def imports_of(tree: ast.AST) -> dict[str, str]:
    """List the names that a module imports anywhere, also for types alone, and what each stands for."""
    return {
        each.asname or each.name: f"{node.module}.{each.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
        for each in node.names
    }


def leads_somewhere(target: str, module: str, scopes: list[str], imports: dict[str, str]) -> bool:
    """Resolve a reference within the class, the module and its imports, and from the top."""
    target = target.removesuffix("()")
    parts = target.split(".")
    owner = imported(module)
    assert owner is not _MISSING, module
    for length in range(len(scopes), -1, -1):
        if attribute(owner, [*scopes[:length], *parts]):
            return True
    if parts[0] in imports and is_absolute(".".join([imports[parts[0]], *parts[1:]])):
        return True
    return attribute(builtins, parts) or is_absolute(target)


def docstrings(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """List the texts of a module that are documentation, with the classes that each stands in."""

    def walk(node: ast.AST, scopes: list[str]) -> Iterator[tuple[str, list[str]]]:
        body = getattr(node, "body", [])
        for each in body if isinstance(body, list) else []:
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield each.value.value, scopes
            yield from walk(each, [*scopes, each.name] if isinstance(each, ast.ClassDef) else scopes)

    yield from walk(tree, [])


def dangling(path: Path) -> Iterator[str]:
    module, tree = module_of(path), ast.parse(path.read_text(encoding="utf-8"))
    imports = imports_of(tree)
    for text, scopes in docstrings(tree):
        for match in ROLE.finditer(text):
            if not leads_somewhere(re.sub(r"\s+", "", match[1]), module, scopes, imports):
                yield f"{path.relative_to(ROOT)}: {match[0]}"
        for match in QUOTED.finditer(text):
            if not is_absolute(match[1]):
                yield f"{path.relative_to(ROOT)}: {match[0]}"


@pytest.mark.long
def test_references_in_docstrings_lead_to_something():
    assert [each for path in SOURCES for each in dangling(path)] == []


def test_names_of_ours_on_pages_exist():
    found = [
        f"{page.name}: {match[0]}"
        for page in PAGES
        for match in QUOTED.finditer(page.read_text(encoding="utf-8"))
        if not is_absolute(match[1])
    ]
    assert found == []
