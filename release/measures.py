"""Measure the core as its source stands: `python release/measures.py` prints sizes, circles, crossings and nouns.

Everything is read from the source; nothing of the core is imported. `tests/test_measures.py` holds the limits.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "docs"))

from import_graph import CORE, ROOT, circles, import_graph, packages_of

SPINE = (
    "errors", "types", "system", "contract", "hookspecs", "tools", "providers",
    "plugins", "turn", "app",
)  # fmt: skip
"""The floors of the spine, in the order of reading; `plugins` is counted apart."""

NOUNS = (
    "TurnRequest", "NewMessage", "StoredSession", "TurnSetup", "TurnStart", "SessionState", "TurnState", "TurnContext",
    "_Prepared", "Caller", "CallScope", "TurnScope", "Call", "Ask", "Answer", "Home", "TurnParts",
)  # fmt: skip
"""The nouns of a turn, and those that they replace."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CROSSINGS = {"call_soon_threadsafe", "run_coroutine_threadsafe", "run_on", "call_on"}


@dataclass
class Module:
    """A module of the core.

    Attributes:
        name: relative to the package, with dots.
        path: of its file.
    """

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def code_lines(self) -> int:
        """Count the lines that are neither blank, comment nor docstring."""
        rows = [row.strip() for row in self.text.split("\n")]
        comments = {number for number, row in enumerate(rows, 1) if row.startswith("#")}
        lines = {number for number, row in enumerate(rows, 1) if row}
        docstrings: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                lines.update(_rows_of(node))  # a text of several lines may have blank ones
            elif isinstance(node, (ast.Module, ast.ClassDef, *_DEFINITIONS)) and ast.get_docstring(node) is not None:
                docstrings.update(_rows_of(node.body[0]))
        return len(lines - docstrings - comments)

    @property
    def floor(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_of_spine(self) -> bool:
        return self.floor in SPINE


def _rows_of(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def modules() -> list[Module]:
    """Return the modules of the core, the package itself under the name ``__init__``."""
    found = []
    for path in sorted((ROOT / CORE).rglob("*.py")):
        parts = path.relative_to(ROOT / CORE).with_suffix("").parts
        found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" and parts[1:] else parts), path))
    return found


def lines_by_floor(core: list[Module]) -> dict[str, int]:
    """Return the lines of code of each folder and module at the root of the core."""
    lines: dict[str, int] = {}
    for module in core:
        lines[module.floor] = lines.get(module.floor, 0) + module.code_lines
    return lines


def classes(core: list[Module]) -> dict[str, tuple[int, int]]:
    """Return for each class of the spine how many attributes and how many arguments of its constructor it has."""
    return {
        f"{module.name}.{node.name}": (len(_attributes(node)), _arguments(node))
        for module in core
        if module.is_of_spine
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }


def functions(core: list[Module]) -> dict[str, int]:
    """Return for each function of the spine how many lines it has, without its docstring."""
    found = {}
    for module in core:
        if module.is_of_spine:
            for name, node in _named_functions(module.tree):
                first = node.body[1:][:1] if ast.get_docstring(node) is not None else node.body[:1]
                start = first[0].lineno if first else node.end_lineno
                found[f"{module.name}.{name}"] = (node.end_lineno or 0) - (start or 0) + 1
    return found


def crossings(core: list[Module]) -> list[str]:
    """Return where work passes from one event loop or thread to another loop."""
    return [
        f"{module.name}:{node.lineno}"
        for module in core
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _called(node) in _CROSSINGS
    ]


def nouns(core: list[Module]) -> dict[str, int]:
    """Return the nouns of a turn with their fields; one that is handed around inside another counts with it."""
    return {
        f"{module.name}.{node.name}": len(_attributes(node))
        for module in core
        if module.is_of_spine
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and node.name in NOUNS
    }


def calls_of(core: list[Module], name: str) -> list[str]:
    """Return where a function or class is called."""
    return [
        f"{module.name}:{node.lineno}"
        for module in core
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _called(node) == name
    ]


def large_classes(core: list[Module]) -> dict[str, tuple[int, int]]:
    """Return the classes of the spine with more than 10 attributes or 6 arguments."""
    return {name: sizes for name, sizes in classes(core).items() if sizes[0] > 10 or sizes[1] > 6}


def long_functions(core: list[Module]) -> dict[str, int]:
    """Return the functions of the spine over 50 lines."""
    return {name: length for name, length in functions(core).items() if length > 50}


def _attributes(node: ast.ClassDef) -> set[str]:
    """Return the fields that a class declares and the attributes that its methods set."""
    names = {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and "ClassVar" not in _source(each)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and _source(each.value) == "self":
            names.add(each.attr)
    return names


def _source(node: ast.AST) -> str:
    return ast.unparse(node.annotation if isinstance(node, ast.AnnAssign) else node)


def _arguments(node: ast.ClassDef) -> int:
    for each in node.body:
        if isinstance(each, _DEFINITIONS) and each.name == "__init__":
            return len([*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs]) - 1
    return 0


def _named_functions(tree: ast.AST, prefix: str = "") -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _DEFINITIONS):
            found.append((prefix + node.name, node))
        if isinstance(node, (*_DEFINITIONS, ast.ClassDef)):
            found += _named_functions(node, f"{prefix}{node.name}.")
    return found


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def main() -> None:
    """Print all measures."""
    core = modules()
    lines, graph = lines_by_floor(core), import_graph()
    spine = {floor: lines[floor] for floor in SPINE if floor in lines}
    print("Lines of code, without docstrings, comments and blank lines")
    print(f"  core {sum(lines.values())}, spine without plugins {sum(spine.values()) - spine['plugins']}")
    print("  spine:", ", ".join(f"{floor} {count}" for floor, count in spine.items()))
    features = {floor: count for floor, count in lines.items() if floor not in SPINE}
    print("  features:", ", ".join(f"{floor} {count}" for floor, count in sorted(features.items())))
    root = [path.stem for path in sorted((ROOT / CORE).glob("*.py"))]
    print(f"Modules at the root: {len(root)}: {' '.join(root)}")
    print("Circles of imports, annotations included")
    for kind, found in (("modules", circles(graph)), ("folders", circles(packages_of(graph)))):
        print(f"  of {kind}: {len(found)}")
        for circle in found:
            print(f"    {len(circle)}: {' '.join(sorted(circle))}")
    large = large_classes(core)
    print(f"Classes of the spine over 10 attributes or 6 arguments: {len(large)}")
    for name, (attributes, arguments) in sorted(large.items()):
        print(f"  {name}: {attributes} attributes, {arguments} arguments")
    long = long_functions(core)
    print(f"Functions of the spine over 50 lines: {len(long)}")
    for name, length in sorted(long.items()):
        print(f"  {name}: {length}")
    places = crossings(core)
    print(f"Crossings of event loops: {len(places)}: {' '.join(places)}")
    fields = nouns(core)
    print(f"Fields of the nouns: {sum(fields.values())}")
    for name, count in sorted(fields.items()):
        print(f"  {name}: {count}")
    print(f"PermittedCall( stands at: {' '.join(calls_of(core, 'PermittedCall')) or 'nowhere'}")
    print(f"The permission of a call is asked for in: {' '.join(permission_checks(core))}")


def permission_checks(core: list[Module]) -> list[str]:
    """Return the modules that ask the policy for a permission."""
    return [
        module.name
        for module in core
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _source(node.func).endswith("policy.require")
    ]


if __name__ == "__main__":
    main()
