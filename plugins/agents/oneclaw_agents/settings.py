"""Settings of the plugin."""

from __future__ import annotations

from pydantic import BaseModel, Field


class AgentSettings(BaseModel):
    """Limits of questions."""

    question_seconds: int = Field(600, ge=5, le=86_400, description="how long a question waits for the user's answer")
