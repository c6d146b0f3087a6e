"""Settings of the plugin."""

from __future__ import annotations

from pydantic import BaseModel, Field


class AgentSettings(BaseModel):
    """Limits of questions and of sub-agents."""

    max_running: int = Field(8, ge=1, le=100, description="how many sub-agents may work at the same time")
    question_seconds: int = Field(600, ge=5, le=86_400, description="how long a question waits for the user's answer")
