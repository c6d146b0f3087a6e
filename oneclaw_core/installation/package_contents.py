"""The contents of installed packages with plugins: a digest of their files, and files that were changed since."""

from __future__ import annotations

import csv
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.distributions import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.plugins.plugin import Plugin

# Written by whatever installs, and by Python.
_NOT_CONTENT = re.compile(r"(^\.\.|\.pyc$|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_\w+\.json)$)")


def package_of(plugin: Plugin) -> str:
    """Return the normalised name of a plugin's package."""
    return normalised(plugin.distribution or plugin.name)


def content_stamp(plugin: Plugin) -> list[Any]:
    """Return JSON data that change when the content of a plugin's package may have changed."""
    path = _record_file(plugin)
    try:
        state = path.stat() if path is not None else None
    except OSError:
        state = None
    return [state.st_mtime_ns, state.st_size] if state is not None else [plugin.tree]


def content_of(plugin: Plugin) -> str:
    """Return a digest of the files of a plugin's package, which stays the same in each environment."""
    path = _record_file(plugin)
    if path is None:
        return f"folder {plugin.tree}"
    lines = sorted(f"{name} {digest}\n" for name, digest in _rows(path))
    return sha256("".join(lines).encode("utf-8", "replace")).hexdigest()


def changed_files(plugin: Plugin) -> Iterator[str]:
    """Find files whose content is not the one that was installed."""
    path = _record_file(plugin)
    if path is None:
        return
    for name, digest in _rows(path):
        kind, _, wanted = digest.partition("=")
        if kind != "sha256":
            continue
        try:
            made = sha256((path.parents[1] / name).read_bytes()).digest()
        except OSError:
            yield name
            continue
        if urlsafe_b64encode(made).rstrip(b"=").decode() != wanted.rstrip("="):
            yield name


def _record_file(plugin: Plugin) -> Path | None:
    """Return the list of files that was installed, ``None`` where the code can change without being installed again."""
    first = plugin.files[0] if plugin.files else ""
    return Path(first) if not plugin.tree and first.endswith("RECORD") else None


def _rows(record: Path) -> Iterator[tuple[str, str]]:
    try:
        with record.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.reader(file):
                if len(row) == 3 and not _NOT_CONTENT.search(row[0]):  # path, hash, size
                    yield row[0], row[1]
    except (OSError, csv.Error) as error:
        yield str(record), f"cannot be read: {type(error).__name__}"
