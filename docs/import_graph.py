"""Read which module of the core imports which, annotations included, and find circles."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = "oneclaw_core"
Graph = dict[str, set[str]]


def import_graph() -> Graph:
    """Return the modules of the core that each module imports, by names relative to ``oneclaw_core``.

    The package's own ``__init__`` is left out: it exports names of most modules.
    """
    files = {_module(path): path for path in sorted((ROOT / CORE).rglob("*.py")) if "templates" not in path.parts}
    files.pop("")
    return {module: _imports(path, files.keys()) - {module} for module, path in files.items()}


def packages_of(graph: Graph) -> Graph:
    """Return the graph of the packages, and modules, directly in ``oneclaw_core``."""
    packages: Graph = {}
    for module, imported in graph.items():
        package = module.partition(".")[0]
        packages.setdefault(package, set()).update({each.partition(".")[0] for each in imported} - {package})
    return packages


def circles(graph: Graph) -> list[set[str]]:
    """Return the sets of modules that import one another directly or indirectly, the largest first."""
    reachable = {module: _reachable(graph, module) for module in graph}
    found: list[set[str]] = []
    for module in graph:
        circle = {each for each in reachable[module] if module in reachable[each]}
        if circle and circle not in found:
            found.append(circle)
    return sorted(found, key=len, reverse=True)


def without_detours(graph: Graph) -> Graph:
    """Return the graph without imports of what is imported indirectly anyway; circles stay."""
    reachable = {module: _reachable(graph, module) for module in graph}
    return {
        module: {
            each
            for each in imported
            if not any(
                each in reachable[other] and module not in reachable[other]
                for other in imported
                if other != each and other not in reachable[each]
            )
        }
        for module, imported in graph.items()
    }


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for each in graph[waiting.pop()] - found:
            found.add(each)
            waiting.append(each)
    return found


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT / CORE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, modules: object) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if _known(name, modules) else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix(f"{CORE}.") for name in found if _known(name, modules)}


def _known(name: str, modules: object) -> bool:
    return name.removeprefix(f"{CORE}.") in modules and name.startswith(f"{CORE}.")
