"""The settings of the memory."""

from __future__ import annotations

from pydantic import BaseModel, Field


class MemorySettings(BaseModel):
    """Limits of the memory that models are shown."""

    max_characters: int = Field(
        8_000,
        ge=0,
        description="how much of the memory about the user a model sees; 0 for nothing",
    )
