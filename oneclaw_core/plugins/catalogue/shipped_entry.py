"""The entry that a package brings in a file, so that not even its first listing imports it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.catalogue.cache import FORMAT
from oneclaw_core.plugins.contract.version import CONTRACT_VERSION
from oneclaw_core.plugins.registration.entry import PluginEntry

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin

_PACKAGE = "{package}"


def shipped_document(entry: PluginEntry, package: str, version: str, folder: Path) -> dict[str, Any]:
    """Return the content of the file for an entry.

    Args:
        entry: of the plugin.
        package: its distribution.
        version: of that.
        folder: of the package, which is installed elsewhere.
    """
    data = {**entry.to_dict(), "import_ms": None}
    return {
        "format": FORMAT,
        "contract": CONTRACT_VERSION,
        "package": package,
        "version": version,
        "entry": _replaced(data, str(folder), _PACKAGE),
    }


def read_shipped_entry(path: Path, plugin: InstalledPlugin) -> PluginEntry | None:
    """Read the entry that a package brings; ``None`` if it is of another version.

    Args:
        path: the file, in the folder of the package.
        plugin: whose entry it is.
    """
    try:
        document = json.loads(path.read_bytes())
        about = (document["format"], document["contract"], document["package"], document["version"])
        if about != (FORMAT, CONTRACT_VERSION, plugin.dist.name, plugin.dist.version):
            return None
        entry = PluginEntry.from_dict(_replaced(document["entry"], _PACKAGE, str(path.parent)))
    except Exception:  # noqa: BLE001  # the file is foreign, and may be wrong in any way
        return None
    entry.name = plugin.name
    return entry


def _replaced(data: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Replace the beginning of the paths of manifests and skills."""

    def path(value: str) -> str:
        return new + value.removeprefix(old) if value.startswith(old) else value

    registrations = [
        {**each, "options": {**each["options"], "folder": path(each["options"]["folder"])}}
        if each["hook"] == "register_skills"
        else each
        for each in data["registrations"]
    ]
    return {**data, "manifests": [path(each) for each in data["manifests"]], "registrations": registrations}
