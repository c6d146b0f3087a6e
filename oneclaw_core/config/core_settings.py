"""The model of OneClaw's own settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from oneclaw_core.config.setting_fields import SettingsModel, fields_of, read_timeout, schema_of


class Settings(BaseModel):
    """The settings of a home."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = Field(None, description="the model for new sessions, as PROVIDER/MODEL")
    disabled_plugins: tuple[str, ...] = Field((), description="plugins that are not loaded")
    reviewed_plugins_only: bool = Field(
        False,
        description="load no plugin of others whose capabilities were not reviewed",
        json_schema_extra={"user_only": True},
    )
    plugin_order: tuple[str, ...] = Field((), description="plugins whose hooks run before those of others")
    hook_timeouts: tuple[str, ...] = Field(
        (), description="how long the hooks of a plugin may take in seconds, as NAME=SECONDS"
    )
    provider_concurrency: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {}, description="how many requests to send to a provider at the same time, as NAME=NUMBER; others wait in order"
    )
    turn_deadline_seconds: float = Field(3600, gt=0, description="how long a turn may take as a whole")
    turn_max_tool_rounds: int = Field(200, ge=1, description="how many rounds of tool calls a turn may take")
    turn_max_tokens: int | None = Field(
        2_000_000, ge=1, description="how many tokens, input and output, a turn may use before it stops"
    )
    turn_max_cost: float | None = Field(None, gt=0, description="how many US dollars a turn may cost before it stops")
    day_max_tokens: int | None = Field(None, ge=1, description="how many tokens all sessions may use in a day")
    day_max_cost: float | None = Field(None, gt=0, description="how many US dollars all sessions may cost in a day")
    tool_result_max_characters: int = Field(
        30_000, ge=1_000, description="how much of a tool's result a model sees; the database keeps all of it"
    )
    history_max_characters: int = Field(
        400_000, ge=10_000, description="how much of a session's newest history is sent to a model"
    )
    session_wait_seconds: float = Field(
        60, ge=0, description="how long to wait for another process to end its turn in the same session"
    )
    free_requests: int = Field(
        200,
        ge=0,
        description="how many links a session with private data and outside text may follow without a question",
        json_schema_extra={"user_only": True},
    )
    sandbox: Literal["auto", "bubblewrap", "landlock", "off"] = Field(
        "auto", description="the sandbox for shell commands", json_schema_extra={"user_only": True}
    )

    @field_validator("hook_timeouts")
    @classmethod
    def _are_limits(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            if read_timeout(each) is None:
                raise PydanticCustomError("no_limit", "it must be NAME=SECONDS, such as policy=60, at most 600 seconds")
        return value

    @field_validator("model")
    @classmethod
    def _has_provider(cls, value: str | None) -> str | None:
        if value is not None and not all(value.partition("/")[::2]):
            # Before the text of a ValueError, pydantic would write what that is.
            raise PydanticCustomError("no_provider", "it must be PROVIDER/MODEL, such as offline/rules")
        return value


CORE_SETTINGS = SettingsModel(None, fields_of(schema_of(Settings)), lambda: Settings)
