"""List what plugins and programs may rely on, with signatures, as it stands in the source.

Usage: ``uv run --group release python release/public_api.py > release/public-api.txt``
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
LISTING = ROOT / "release" / "public-api.txt"
PAGE = ROOT / "docs" / "python-api.md"  # says whom each name is for
FIXTURES = "pytest_oneclaw"  # of another distribution
KITS = ("oneclaw_channels", "oneclaw_http_providers")  # of other ones, which plugins share
MAX_NAMES = 250
_LONGEST_VALUE = 200
_HEADING = re.compile(r"^## (For .*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```\{generated\} public_names ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def audiences() -> dict[str, list[tuple[str, str]]]:
    """Return the public names by whom they are for, each as its package and its name."""
    _, *parts = _HEADING.split(PAGE.read_text(encoding="utf-8"))
    return {
        audience: [
            (package or "oneclaw_core", name)
            for package, names in _BLOCK.findall(text)
            if package != "hooks"
            for name in names.split()
        ]
        for audience, text in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def public_api() -> str:
    """Write the listing: names with signatures for each audience, hooks, and names that are for our own plugins."""
    packages = _packages()
    lines: list[str] = []
    for audience, names in audiences().items():
        lines += ["", f"# {audience}"]
        for package, name in sorted(names):
            lines += _describe(f"{package}.{name}", _found(packages, package)[name])
    lines += ["", "# Hooks"]
    for name, member in sorted(_found(packages, "oneclaw_core.hookspecs").members.items()):
        if not name.startswith("_") and not member.is_alias:
            lines += _describe(f"oneclaw_core.hookspecs.{name}", member)
    lines += ["", "# For OneClaw's own plugins: nothing is promised", *own_names()]
    return "\n".join(lines).lstrip() + "\n"


def public_members() -> dict[str, dict[str, griffe.Object]]:
    """Find what the public names of each package stand for, sorted, and the hooks."""
    packages = _packages()
    names = sorted({each for listed in audiences().values() for each in listed})
    found: dict[str, dict[str, griffe.Object]] = {}
    for package, name in names:
        member = _found(packages, package)[name]
        found.setdefault(package, {})[name] = member.final_target if member.is_alias else member
    hooks = sorted(_found(packages, "oneclaw_core.hookspecs").members.items())
    found["oneclaw_core.hookspecs"] = {
        name: each for name, each in hooks if not name.startswith("_") and not each.is_alias
    }
    return found


def own_names() -> list[str]:
    """Return the names that packages export for OneClaw's own plugins alone."""
    public = {f"{package}.{name}" for names in audiences().values() for package, name in names}
    exported = {
        f"{module.path}.{name}"
        for package in _packages().values()
        for module in (package, *(each for each in package.members.values() if not each.is_alias and each.is_module))
        for name, member in module.members.items()
        if not name.startswith("_") and _is_exported(member)
    }
    return sorted(exported - public)


@cache
def _packages() -> dict[str, griffe.Object | griffe.Alias]:
    loader = griffe.GriffeLoader(
        search_paths=[ROOT, *(ROOT / "plugins" / each for each in (FIXTURES, "channels", "http_providers"))]
    )
    packages = {name: loader.load(name) for name in ("oneclaw_core", FIXTURES, *KITS)}
    loader.resolve_aliases(implicit=True)
    return packages


def _found(packages: dict[str, griffe.Object | griffe.Alias], module: str) -> griffe.Object | griffe.Alias:
    package, _, rest = module.partition(".")
    return packages[package][rest] if rest else packages[package]


def _is_exported(member: griffe.Object | griffe.Alias) -> bool:
    """Return True if a package exports what it has imported; all but the kits do so by a list of lazy names."""
    if not member.is_alias or member.parent is None or not member.parent.is_init_module:
        return False
    is_ours = member.target_path.partition(".")[0] in ("oneclaw_core", FIXTURES, *KITS)
    is_listed = member.parent.path in KITS or "lazy_names" in member.parent.members
    return is_ours and is_listed and "._lazy" not in member.target_path


def _describe(path: str, member: griffe.Object | griffe.Alias) -> Iterator[str]:
    found = member.final_target if member.is_alias else member
    if isinstance(found, griffe.Function):
        yield f"{_kinds(found)}{path}{_signature(found)}"
    elif isinstance(found, griffe.Class):
        bases = f" < {', '.join(map(str, found.bases))}" if found.bases else ""
        yield f"class {path}{bases}"
        for name, inner in sorted(found.all_members.items()):
            if name == "__init__" or not name.startswith("_"):
                yield from _describe(f"{path}.{name}", inner)
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
