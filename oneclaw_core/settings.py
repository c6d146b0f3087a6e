"""What a user can set: each setting with its meaning, default and limits, in one place.

A value comes from the environment (``ONECLAW_`` and the key in capitals), else from the store, else it is the default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from oneclaw_core.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT_PREFIX = "ONECLAW_"


class Settings(BaseModel):
    """The settings of a home."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = Field(None, description="the model for new sessions, as PROVIDER/MODEL")
    disabled_plugins: tuple[str, ...] = Field((), description="plugins that are not loaded")
    turn_deadline_seconds: float = Field(3600, gt=0, description="how long a turn may take as a whole")
    turn_max_tool_rounds: int = Field(200, ge=1, description="how many rounds of tool calls a turn may take")
    turn_max_tokens: int | None = Field(
        None, ge=1, description="how many tokens, input and output, a turn may use before it stops"
    )
    turn_max_cost: float | None = Field(None, gt=0, description="how many US dollars a turn may cost before it stops")
    day_max_tokens: int | None = Field(None, ge=1, description="how many tokens all sessions may use in a day")
    day_max_cost: float | None = Field(None, gt=0, description="how many US dollars all sessions may cost in a day")
    tool_result_max_characters: int = Field(
        30_000, ge=1_000, description="how much of a tool's result a model is shown; the store keeps all of it"
    )
    history_max_characters: int = Field(
        400_000, ge=10_000, description="how much of a session's newest history a model is sent"
    )
    memory_max_characters: int = Field(
        8_000, ge=0, description="how much of what is remembered of the user a model is shown; 0 for nothing"
    )
    user_tools_python: bool = Field(
        False, description="whether your own tools in Python are used, which run with all your rights"
    )
    session_wait_seconds: float = Field(
        60, ge=0, description="how long to wait for another process to end its turn in the same session"
    )

    @field_validator("disabled_plugins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value

    @field_validator("model")
    @classmethod
    def _has_provider(cls, value: str | None) -> str | None:
        if value is not None and not all(value.partition("/")[::2]):
            # Before the text of a ValueError, pydantic would write what that is.
            raise PydanticCustomError("no_provider", "it must be PROVIDER/MODEL, such as offline/rules")
        return value


_VARIABLES = {key: ENVIRONMENT_PREFIX + key.upper() for key in Settings.model_fields}


def load_settings(stored: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Put the settings together.

    Args:
        stored: values from the store, by key; keys of other things are passed over.
        environ: the environment.

    Raises:
        SettingsError: a value does not fit; the message says where it comes from.
    """
    return _parsed(*_given(stored, environ))


def _given(stored: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Find what is set, and where."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for key, variable in _VARIABLES.items():
        in_environment = environ.get(variable)
        if in_environment:
            values[key], sources[key] = in_environment, f"the environment variable {variable}"
        elif key in stored:
            values[key], sources[key] = stored[key], f"the setting {key} (oneclaw config unset {key})"
    return values, sources


def _parsed(values: dict[str, Any], sources: dict[str, str]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        key = str(fault["loc"][0])
        raise SettingsError(f"{sources[key]} does not fit: {fault['msg']}") from None


class SettingsReader:
    """Puts the settings together, and parses them only when they have changed.

    Args:
        environ: the environment.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._last: tuple[dict[str, Any], Settings] | None = None

    def read(self, stored: Mapping[str, Any]) -> Settings:
        """Do what :func:`load_settings` does.

        Args:
            stored: values from the store, by key.

        Raises:
            SettingsError: a value does not fit.
        """
        values, sources = _given(stored, self._environ)
        if self._last is None or self._last[0] != values:
            self._last = values, _parsed(values, sources)
        return self._last[1]


def check_setting(key: str, text: str) -> Any:
    """Check a value that the user typed.

    Returns:
        The value in the form in which it is stored.

    Raises:
        SettingsError: there is no such setting, or the value does not fit it.
    """
    if key not in Settings.model_fields:
        raise SettingsError(f"there is no setting {key!r}; there are: {', '.join(Settings.model_fields)}")
    try:
        return Settings.model_validate({key: text}).model_dump(mode="json")[key]
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise SettingsError(f"{key} cannot be {text!r}: {fault['msg']}") from None
