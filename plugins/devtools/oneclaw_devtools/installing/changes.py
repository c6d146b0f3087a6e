"""The changes that an installation makes to the plugins, as a new process sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Plugins = Mapping[str, Mapping[str, Any]] | None

_LOADING_SECONDS = 60.0
_DOES_NOT_WORK = ("failed", "left alone")
_KINDS = ("groups", "tools", "providers", "skills")


def load_plugins() -> Plugins:
    """Load all plugins in a new process; return what ``plugins list --json`` says of each, ``None`` if it fails."""
    command = (sys.executable, "-P", "-m", "oneclaw_core", "plugins", "list", "--json")
    try:
        done = subprocess.run(  # noqa: S603  # this program itself
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_LOADING_SECONDS, check=True
        )
        return {each["name"]: each for each in json.loads(done.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def describe_changes(before: Plugins, after: Plugins) -> Iterator[str]:
    """Describe which plugins, tools and groups came and went, a line each."""
    if before is None or after is None:
        yield "the plugins cannot all be loaded: see oneclaw plugins list"
        return
    for name in sorted(before.keys() | after.keys()):
        old, new = (_package(plugins[name]) if name in plugins else "" for plugins in (before, after))
        lines: list[str] = []
        for kind in _KINDS:
            had, has = (set(each.get(name, {}).get(kind, ())) for each in (before, after))
            for sign, names in (("-", had - has), ("+", has - had)):
                lines += [f"  {sign} {kind}: {', '.join(sorted(names))}"] if names else []
        if old and new and old != new:
            yield f"  plugin {name}: {old} -> {new}"
        elif lines or old != new:
            yield f"{' ' if old and new else '-' if old else '+'} plugin {name} ({new or old})"
        yield from lines


def _package(plugin: Mapping[str, Any]) -> str:
    return f"{plugin['package']} {plugin['version']}" if plugin["package"] else "unknown package"


def find_problems(plugins: Plugins, packages: Iterable[str]) -> Iterator[str]:
    """Find what does not work in the plugins of some packages, with what to do."""
    from packaging.utils import canonicalize_name

    for name, plugin in (plugins or {}).items():
        if canonicalize_name(plugin["package"] or "") in packages:
            for each in plugin["problems"]:
                if each["is_error"]:
                    yield f"plugin {name} does not work: {each['cause']}; what to do: {each['remedy']}"


def find_broken(before: Plugins, after: Plugins, versions: Mapping[str, str]) -> list[str]:
    """Find the plugins of replaced packages that worked before and do not any more.

    Args:
        before: the plugins before.
        after: the plugins now; ``None`` if they cannot be loaded at all.
        versions: of the packages that were replaced, before, by name.
    """
    from packaging.utils import canonicalize_name

    found: list[str] = []
    for name, old in (before or {}).items():
        package = canonicalize_name(old["package"] or "")
        if package not in versions or old["status"] in _DOES_NOT_WORK:
            continue
        new = (after or {}).get(name)
        if after is None or (new is not None and new["status"] in _DOES_NOT_WORK):
            cause = next((each["cause"] for each in new["problems"] if each["is_error"]), "") if new else ""
            version = new["version"] if new else "the new version"
            found.append(f"plugin {name}: {package} {version} does not work ({cause or 'no plugin can be loaded'})")
    return found
