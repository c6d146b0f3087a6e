"""Names of tools, groups and permissions: cleaned, unique, and the same for ever once written."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# In the folder of the plugin.
SERVERS_FILE = "servers.json"
MANIFESTS_FOLDER = "manifests"
MAX_TOOL_CHARACTERS = 63
MAX_PERMISSION_CHARACTERS = 100
# A server with more tools is split.
MOST_IN_A_GROUP = 40
_FEWEST_IN_A_PART = 15
_HASH_CHARACTERS = 6
READ_PERMISSION = "read"


def tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool as models see it: ``SERVER__TOOL``."""
    cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    return _cut(f"{server}__{cleaned}", tool, MAX_TOOL_CHARACTERS)


def colliding(server: str, tools: Collection[str]) -> dict[str, list[str]]:
    """Return the tools whose names fall together once they are cleaned, by that name."""
    by_name: dict[str, list[str]] = {}
    for each in sorted(set(tools)):
        by_name.setdefault(tool_name(server, each), []).append(each)
    return {name: found for name, found in by_name.items() if len(found) > 1}


def permission_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """Return the permission that a tool needs: ``mcp.SERVER.TOOL``, lower-case words.

    Args:
        server: its server.
        tool: its true name.
        taken: permissions of other tools of the server.
    """
    word = re.sub(r"[^a-z0-9]+", "_", tool.lower()).strip("_") or "tool"
    if not word[0].isalpha():
        word = f"tool_{word}"
    prefix = f"mcp.{server}."
    name = _cut(prefix + word, tool, MAX_PERMISSION_CHARACTERS)
    if name in taken or word == READ_PERMISSION:
        return f"{name[: MAX_PERMISSION_CHARACTERS - _HASH_CHARACTERS - 1]}_{_hash(tool)}"
    return name


def groups_of(
    server: str, tools: Sequence[str], parts: Mapping[str, Sequence[str]], known: Mapping[str, str]
) -> dict[str, str]:
    """Choose the group of each tool; those that are known stay where they are.

    Args:
        server: its name.
        tools: the true names.
        parts: patterns of tool names by the part of the group, as the user wants it.
        known: the groups of the tools that have one.
    """
    base = f"mcp_{server}"
    found = {tool: known[tool] for tool in tools if tool in known}
    rest: list[str] = []
    for tool in sorted(set(tools) - set(found)):
        part = next((part for part, patterns in parts.items() if any(fnmatchcase(tool, each) for each in patterns)), "")
        if part:
            found[tool] = _cut(f"{base}_{part}", part, MAX_TOOL_CHARACTERS)
        else:
            rest.append(tool)
    if known:  # a tool that came later
        groups = set(known.values())
        for tool in rest:
            candidate = f"{base}_{_words(tool)[0]}"
            found[tool] = candidate if candidate in groups else base
        return found
    if len(rest) <= MOST_IN_A_GROUP:
        return found | dict.fromkeys(rest, base)
    prefixes = _prefixes(rest)
    for tool in rest:
        prefix = prefixes[tool]
        found[tool] = _cut(f"{base}_{prefix}", prefix, MAX_TOOL_CHARACTERS) if prefix else base
    return found


def _prefixes(tools: Sequence[str]) -> dict[str, str]:
    """Return the part that each tool's name begins with; ``""`` for those that share theirs with too few."""
    words = {tool: _words(tool) for tool in tools}
    depth = 0
    while len({each[: depth + 1][-1] for each in words.values() if len(each) > depth}) == 1 and depth < 3:
        depth += 1
    firsts = {tool: each[min(depth, len(each) - 1)] for tool, each in words.items()}
    counts = Counter(firsts.values())
    prefixes = {tool: first if counts[first] >= _FEWEST_IN_A_PART else "" for tool, first in firsts.items()}
    counts = Counter(prefixes.values())
    numbers: Counter[str] = Counter()
    for tool in sorted(tools):
        prefix = prefixes[tool]
        if counts[prefix] > MOST_IN_A_GROUP:
            number = numbers[prefix] // MOST_IN_A_GROUP + 1
            numbers[prefix] += 1
            prefixes[tool] = "_".join(filter(None, (prefix, str(number))))
    return prefixes


def _words(tool: str) -> list[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", tool)
    return re.findall(r"[a-z0-9]+", spaced.lower()) or ["other"]


def _cut(name: str, whole: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    return f"{name[: limit - _HASH_CHARACTERS - 1]}_{_hash(whole)}"


def _hash(text: str) -> str:
    import hashlib  # takes long to import, and listings do not need it

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARACTERS]
