"""The settings of this plugin."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping


class DevtoolsSettings(BaseModel):
    """Settings for finding and upgrading plugins."""

    model_config = ConfigDict(frozen=True)

    index: str = Field("", description="the file of the index of plugins", json_schema_extra={"user_only": True})
    young_days: int = Field(
        3,
        ge=0,
        description="how many days a release of a plugin counts as young, which is said before it is installed",
        json_schema_extra={"user_only": True},
    )


def read_settings(stored: Mapping[str, Any]) -> DevtoolsSettings:
    """Read the settings for a command; an invalid value counts as none.

    Args:
        stored: values from the store, by key.
    """
    found: dict[str, Any] = {}
    for name in DevtoolsSettings.model_fields:
        value = os.environ.get(f"ONECLAW_DEVTOOLS_{name.upper()}") or stored.get(f"devtools.{name}")
        if value is None:
            continue
        try:
            found[name] = getattr(DevtoolsSettings.model_validate({name: value}), name)
        except ValueError:
            continue
    return DevtoolsSettings(**found)


def index_path(settings: DevtoolsSettings) -> Path | None:
    """Return the file of the index that the user has set; ``None`` for that of the installed package."""
    return Path(settings.index).expanduser() if settings.index else None
