"""The settings of the memory."""

from __future__ import annotations

from pydantic import BaseModel, Field


class MemorySettings(BaseModel):
    """Limits of the memory that models are shown."""

    max_characters: int = Field(
        8_000,
        ge=0,
        description="how much of what is remembered of the user a model is shown; 0 for nothing",
    )
