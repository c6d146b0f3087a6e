"""What ``uv tool`` has noted of the environment it made, turned back into the options that make it so again.

``uv tool upgrade`` removes every package from the environment that the receipt does not name. Only ``uv tool install``
writes there, and each time it forgets what it is not told again; so it is told everything.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneclaw_core.installing.requirement import normalised

# Options of a receipt and what they are called on the command line, by the shape of their values.
_TEXTS = ("index-url", "index-strategy", "keyring-provider", "resolution", "prerelease", "exclude-newer")
_LISTS = ("extra-index-url", "find-links")
_FLAGS = ("no-index",)
_REQUIREMENT_KEYS = {"name", "extras", "marker", "specifier", "path", "directory", "editable", "url", "git"}
_LONGEST_BYTES = 1_000_000


class ForeignReceiptError(ValueError):
    """The receipt says something that cannot be said again by options known here."""


@dataclass(frozen=True, slots=True)
class ReceiptRequirement:
    """A package that the receipt names.

    Attributes:
        name: normalised.
        text: as a requirement for the command line.
        is_editable: whether it is installed in place.
        are_commands_shown: whether its commands are put on ``PATH``.
    """

    name: str
    text: str
    is_editable: bool = False
    are_commands_shown: bool = False


@dataclass(frozen=True, slots=True)
class UvReceipt:
    """A receipt.

    Attributes:
        tool: the package that the environment was made for.
        others: what was installed beside it.
        options: of ``uv tool install``: Python and indexes.
        commands_folder: where the commands are, ``None`` if unknown.
    """

    tool: ReceiptRequirement
    others: tuple[ReceiptRequirement, ...]
    options: tuple[str, ...]
    commands_folder: Path | None


def read_receipt(path: Path) -> UvReceipt:
    """Read a receipt.

    Raises:
        ForeignReceiptError: it cannot be read, or has something in it that is not known here.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_BYTES).decode()
        return parse_receipt(content)
    except (OSError, UnicodeDecodeError) as error:
        raise ForeignReceiptError(f"{path} cannot be read: {error}") from None


def parse_receipt(content: str) -> UvReceipt:
    """Understand a receipt completely, or not at all.

    Raises:
        ForeignReceiptError: it has something in it that is not known here.
    """
    try:
        tool = dict(tomllib.loads(content)["tool"])
        requirements = tool.pop("requirements")
        entrypoints = tool.pop("entrypoints", [])
        shown = {normalised(entry["from"]) for entry in entrypoints if "from" in entry}
        folders = [Path(entry["install-path"]).parent for entry in entrypoints]
        options = _options(tool.pop("options", {}))
        python = tool.pop("python", None)
        first, *others = [_requirement(each, shown) for each in requirements]
    except ForeignReceiptError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForeignReceiptError(f"the receipt of uv tool is written in another way: {error}") from None
    _refuse_unknown(set(filter(tool.get, tool)))
    if python is not None:
        options = [*options, "--python", str(python)]
    return UvReceipt(first, tuple(others), tuple(options), folders[0] if folders else None)


def _requirement(entry: dict[str, Any], shown: set[str]) -> ReceiptRequirement:
    _refuse_unknown(set(entry) - _REQUIREMENT_KEYS)
    name = normalised(entry["name"])
    extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    marker = f" ; {entry['marker']}" if entry.get("marker") else ""
    if "git" in entry:
        text = f"{name}{extras} @ {_git_url(entry['git'])}{marker}"
    elif "url" in entry:
        text = f"{name}{extras} @ {entry['url']}{marker}"
    elif place := entry.get("path") or entry.get("directory") or entry.get("editable"):
        _refuse_unknown({"marker"} if marker else set())
        text = f"{place}{extras}"
    else:
        text = f"{name}{extras}{entry.get('specifier', '')}{marker}"
    return ReceiptRequirement(name, text, "editable" in entry, name in shown)


def _git_url(noted: str) -> str:
    """Write a repository as requirements have it; uv notes its revision and folder as a query."""
    from urllib.parse import parse_qs, urlsplit, urlunsplit

    parts = urlsplit(noted)
    query = parse_qs(parts.query)
    known = {"rev", "tag", "branch", "subdirectory"}
    _refuse_unknown(set(query) - known)
    revision = next((query[key][0] for key in ("rev", "tag", "branch") if key in query), "")
    fragment = f"subdirectory={query['subdirectory'][0]}" if "subdirectory" in query else ""
    path = f"{parts.path}@{revision}" if revision else parts.path
    return "git+" + urlunsplit((parts.scheme, parts.netloc, path, "", fragment))


def _options(noted: dict[str, Any]) -> list[str]:
    options: list[str] = []
    for key, value in noted.items():
        if key in _TEXTS and isinstance(value, str):
            options += [f"--{key}={value}"]
        elif key in _LISTS and isinstance(value, list):
            options += [f"--{key}={each}" for each in value]
        elif key in _FLAGS and isinstance(value, bool):
            options += [f"--{key}"] if value else []
        elif key == "index" and isinstance(value, list):
            options += [_index_option(each) for each in value]
        else:
            _refuse_unknown({key})
    return options


def _index_option(index: dict[str, Any]) -> str:
    if index.get("explicit") or index.get("format", "simple") != "simple":
        _refuse_unknown({"index"})
    place = f"{index['name']}={index['url']}" if index.get("name") else index["url"]
    return f"--default-index={place}" if index.get("default") else f"--index={place}"


def _refuse_unknown(keys: set[str]) -> None:
    if keys:
        raise ForeignReceiptError(
            f"the receipt of uv tool has {', '.join(sorted(keys))}, which cannot be repeated here"
        )
