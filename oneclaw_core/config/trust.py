"""Projects that the user trusts: directories whose own files may instruct a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

TRUST_SETTING = "trusted_projects"
"""Not among the settings that ``oneclaw config`` and tools can set: no model is to trust for the user."""


@dataclass(slots=True)
class Project:
    """The directory that the program was started in.

    Attributes:
        directory: its path, ``None`` for no project.
        is_trusted: True if the user trusts it; read again before each turn.
    """

    directory: Path | None = None
    is_trusted: bool = False


def trusted_projects(stored: Mapping[str, Any]) -> list[str]:
    """Return the directories that are trusted; an invalid value trusts none.

    Args:
        stored: values from the store, by key.
    """
    value = stored.get(TRUST_SETTING)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def is_trusted(project: Path | None, stored: Mapping[str, Any]) -> bool:
    """Return True if a directory is trusted.

    Args:
        project: ``None`` for no project.
        stored: values from the store, by key.
    """
    trusted = trusted_projects(stored)
    # Most users trust none; each turn asks.
    return bool(trusted) and project is not None and os.path.realpath(project) in trusted
