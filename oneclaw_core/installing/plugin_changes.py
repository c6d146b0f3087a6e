"""Which plugins, tools and groups came and went, as a program sees it that starts now."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """A plugin as ``oneclaw plugins list`` shows it.

    Attributes:
        name: of its entry point.
        package: the distribution; ``None`` if unknown.
        version: of the package.
        status: ``ok``, ``disabled``, ``degraded`` or ``failed``.
        tools, groups, providers, skills: what it brings.
        problems: what does not work, each with what to do about it.
    """

    name: str
    package: str | None = None
    version: str | None = None
    status: str = "ok"
    tools: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    skills: frozenset[str] = frozenset()
    problems: tuple[str, ...] = field(default=())


def load_in_fresh_process() -> dict[str, LoadedPlugin]:
    """Load all plugins in a process of its own, which can break without breaking this one.

    Raises:
        OneClawError: it broke, or did not end.
    """
    command = (sys.executable, "-P", "-m", "oneclaw_core", "plugins", "list", "--json")
    try:
        done = subprocess.run(  # noqa: S603  # this program itself
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_DEADLINE_SECONDS, check=True
        )
        return {plugin.name: plugin for plugin in map(_plugin, json.loads(done.stdout))}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        reason = f"exit status {error.returncode}" if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise OneClawError(f"the plugins cannot be loaded ({reason}): see oneclaw plugins list") from None


def describe_changes(before: Mapping[str, LoadedPlugin], after: Mapping[str, LoadedPlugin]) -> Iterator[str]:
    """Put into words what came and went, a line for each plugin and each kind of thing.

    Args:
        before: the plugins as they were, by name.
        after: as they are.
    """
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if new is None:
            assert old is not None
            yield f"- plugin {name} ({_package(old)})"
        elif old is None:
            yield f"+ plugin {name} ({_package(new)})"
        elif (old.package, old.version) != (new.package, new.version):
            yield f"  plugin {name}: {_package(old)} -> {_package(new)}"
        else:
            yield f"  plugin {name} ({_package(new)})"
        for kind in ("groups", "tools", "providers", "skills"):
            yield from _differences(kind, getattr(old, kind, frozenset()), getattr(new, kind, frozenset()))


def _differences(kind: str, old: frozenset[str], new: frozenset[str]) -> Iterator[str]:
    for sign, names in (("-", old - new), ("+", new - old)):
        if names:
            yield f"  {sign} {kind}: {', '.join(sorted(names))}"


def _package(plugin: LoadedPlugin) -> str:
    return f"{plugin.package} {plugin.version}" if plugin.package else "unknown package"


def _plugin(document: dict[str, Any]) -> LoadedPlugin:
    return LoadedPlugin(
        document["name"],
        document["package"],
        document["version"],
        document["status"],
        frozenset(document["tools"]),
        frozenset(document["groups"]),
        frozenset(document["providers"]),
        frozenset(document["skills"]),
        tuple(_problems(document["problems"])),
    )


def _problems(documents: Sequence[dict[str, Any]]) -> Iterable[str]:
    return (f"{each['cause']}; what to do: {each['remedy']}" for each in documents if each["is_error"])
