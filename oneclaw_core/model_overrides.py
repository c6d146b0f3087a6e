"""What the user says about a model, where its service says nothing or something wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from oneclaw_core.errors import SettingsError
from oneclaw_core.models import MODEL_SETTING
from oneclaw_core.providers.base import ModelInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.model_lists import ModelLists
    from oneclaw_core.providers.base import ProviderConfig

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]*")
_SHORT_MEDIA_TYPES = {"image": "image/", "images": "image/", "pdf": "application/pdf"}


class ModelOverrides(BaseModel):
    """What the user says about one model; ``None`` leaves it to the service and the provider type."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_window: int | None = Field(default=None, ge=1, description="how much the model reads, in tokens")
    max_output_tokens: int | None = Field(default=None, ge=1, description="how long one answer may become, in tokens")
    input_media_types: tuple[str, ...] | None = Field(
        default=None,
        description="attachments that it takes: image, pdf, media types, or none; commas between",
    )
    tool_loading: Literal["native", "append", "dispatch"] | None = Field(
        default=None, description="how loaded tool groups are told to the model: native, append or dispatch"
    )

    @field_validator("input_media_types", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        words = [word.strip().lower() for word in value.split(",") if word.strip()]
        return [] if words == ["none"] else [_SHORT_MEDIA_TYPES.get(word, word) for word in words]

    @field_validator("input_media_types")
    @classmethod
    def _are_media_types(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for each in value or ():
            if not _MEDIA_TYPE.fullmatch(each):
                raise ValueError("use image, pdf, media types such as image/png, or none, with commas between them")
        return value

    def applied_to(self, info: ModelInfo) -> ModelInfo:
        """Put what the user says in the place of what the service says."""
        said = {name: getattr(self, name) for name in ("context_window", "max_output_tokens", "input_media_types")}
        return replace(info, **{name: value for name, value in said.items() if value is not None})

    def document(self) -> dict[str, Any]:
        """What was said, in the form in which it is stored."""
        return self.model_dump(mode="json", exclude_none=True)


def model_overrides(stored: Mapping[str, Any], full_model: str) -> ModelOverrides:
    """Find what the user says about a model.

    Args:
        stored: settings from the store.
        full_model: ``PROVIDER/MODEL``.

    Raises:
        SettingsError: what is stored does not fit.
    """
    value = stored.get(MODEL_SETTING + full_model)
    if value is None:
        return ModelOverrides()
    try:
        return ModelOverrides.model_validate(value)
    except ValidationError as error:
        raise SettingsError(
            f"what is set for the model {full_model} does not fit: {_first_fault(error)}; "
            f"unset it with: oneclaw models unset {full_model}"
        ) from None


def model_facts(config: ProviderConfig, model: str, lists: ModelLists, stored: Mapping[str, Any]) -> ModelInfo:
    """Put together what is known about a model, without asking anybody: what the user says, else its service.

    Args:
        config: its provider.
        model: its name there.
        lists: what services said.
        stored: settings from the store.

    Raises:
        SettingsError: what is stored does not fit.
    """
    known = lists.known_model(config, model) or ModelInfo(name=model)
    return model_overrides(stored, f"{config.name}/{model}").applied_to(known)


def check_override(key: str, text: str) -> Any:
    """Check a value that the user typed.

    Returns:
        The value in the form in which it is stored.

    Raises:
        SettingsError: there is no such key, or the value does not fit it.
    """
    if key not in ModelOverrides.model_fields:
        known = ", ".join(ModelOverrides.model_fields)
        raise SettingsError(f"there is nothing called {key!r} to set for a model; there are: {known}")
    try:
        return ModelOverrides.model_validate({key: text}).document()[key]
    except ValidationError as error:
        raise SettingsError(f"{key} cannot be {text!r}: {_first_fault(error)}") from None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" if len(fault["loc"]) > 1 else fault["msg"]
