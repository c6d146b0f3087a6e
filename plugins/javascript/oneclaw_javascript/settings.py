"""The plugin's settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class JavaScriptSettings(BaseModel):
    """The settings of the user's own tools."""

    model_config = ConfigDict(frozen=True)

    user_tools_python: bool = Field(
        False,
        description="use your own tools in Python, which run with all your rights",
        json_schema_extra={"user_only": True},
    )
