"""Trusting projects, from the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.home import TRUST_SETTING, trusted_projects

if TYPE_CHECKING:
    from pathlib import Path


def trust_project(directory: Path, *, is_trusted: bool = True) -> bool:
    """Trust a directory from now on, or stop trusting it.

    Args:
        directory: of the project.
        is_trusted: False to stop.

    Returns:
        True if it was trusted before.

    Raises:
        OneClawError: the home or its database cannot be used.
    """
    from oneclaw_core.cli.stored import with_store

    project = os.path.realpath(directory)

    def change(stored: Any) -> list[str]:
        others = [name for name in trusted_projects({TRUST_SETTING: stored}) if name != project]
        return [*others, project] if is_trusted else others

    before = with_store(lambda store: store.change_setting(TRUST_SETTING, change))
    return project in trusted_projects({TRUST_SETTING: before})
