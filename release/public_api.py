"""List what plugins and programs may rely on, with signatures, as it stands in the source.

Usage: ``uv run --group release python release/public_api.py > release/public-api.txt``
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
LISTING = ROOT / "release" / "public-api.txt"
# What is public: the package's own names, its public packages and the hooks.
MODULES = (
    "oneclaw_core",
    "oneclaw_core.cli",
    "oneclaw_core.channels",
    "oneclaw_core.files",
    "oneclaw_core.config",
    "oneclaw_core.http",
    "oneclaw_core.http_providers",
    "oneclaw_core.permissions",
    "oneclaw_core.plugins",
    "oneclaw_core.hookspecs",
    "oneclaw_core.process",
    "oneclaw_core.project",
    "oneclaw_core.providers",
    "oneclaw_core.search",
    "oneclaw_core.sessions",
    "oneclaw_core.testing",
    "oneclaw_core.tool_functions",
    "oneclaw_core.tools",
)
FIXTURES = "pytest_oneclaw"  # of another distribution
_LONGEST_VALUE = 200


@cache
def public_api() -> str:
    """Write the listing: a line for each name, sorted within each module."""
    loader = griffe.GriffeLoader(search_paths=[ROOT, ROOT / "plugins" / FIXTURES])
    packages = {name: loader.load(name) for name in ("oneclaw_core", FIXTURES)}
    loader.resolve_aliases(implicit=True)
    lines: list[str] = []
    for module in (*MODULES, FIXTURES):
        package, _, rest = module.partition(".")
        found = packages[package][rest] if rest else packages[package]
        for name, member in sorted(found.members.items()):
            if not name.startswith("_") and _is_public(member):
                lines += _describe(f"{module}.{name}", member.final_target if member.is_alias else member)
    return "\n".join(lines) + "\n"


def _is_public(member: griffe.Object | griffe.Alias) -> bool:
    """Tell what a module defines or, if it is a package, exports from what it has imported for itself."""
    if not member.is_alias:
        return not member.is_module
    is_package = member.parent is not None and member.parent.is_init_module
    is_ours = member.target_path.partition(".")[0] in ("oneclaw_core", FIXTURES)
    return is_package and is_ours and "._lazy." not in member.target_path


def _describe(path: str, found: griffe.Object) -> Iterator[str]:
    if isinstance(found, griffe.Function):
        yield f"{_kinds(found)}{path}{_signature(found)}"
    elif isinstance(found, griffe.Class):
        bases = f" < {', '.join(map(str, found.bases))}" if found.bases else ""
        yield f"class {path}{bases}"
        for name, member in sorted(found.all_members.items()):
            own = member.final_target if member.is_alias else member
            if name == "__init__" or not name.startswith("_"):
                yield from _describe(f"{path}.{name}", own)
    else:
        annotation = f": {found.annotation}" if getattr(found, "annotation", None) is not None else ""
        value = getattr(found, "value", None) if not annotation else None
        labels = "property " if "property" in found.labels else ""
        yield f"{labels}{path}{annotation}" + (f" = {str(value)[:_LONGEST_VALUE]}" if value is not None else "")


def _kinds(function: griffe.Function) -> str:
    known = ("async", "classmethod", "staticmethod", "property")
    return "".join(f"{label} " for label in known if label in function.labels)


def _signature(function: griffe.Function) -> str:
    text: str = function.signature()
    return " ".join(text[text.index("(") :].split())


if __name__ == "__main__":
    print(public_api(), end="")
