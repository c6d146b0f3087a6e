"""The user's overrides of what services say about models."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from oneclaw_core.config.prices import ModelPrices
from oneclaw_core.config.providers import MODEL_SETTING
from oneclaw_core.errors import SettingsError
from oneclaw_core.types.agents import ReasoningLevel  # noqa: TC001  # pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.types.model_requests import ModelInfo

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]*")
_SHORT_MEDIA_TYPES = {"image": "image/", "images": "image/", "pdf": "application/pdf"}


_Tokens = Annotated[int, Field(ge=1)]
_Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelOverrides(BaseModel):
    """The user's overrides for one model; ``None`` leaves a value to the service and the provider type."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context_window: _Tokens | None = Field(default=None, description="how much the model reads, in tokens")
    max_output_tokens: _Tokens | None = Field(default=None, description="how long one answer may become, in tokens")
    input_media_types: tuple[str, ...] | None = Field(
        default=None, description="attachments that it takes: image, pdf, media types, or none; commas between"
    )
    added: bool = Field(default=False, description="whether the user has added it to the listed ones")
    display_name: str | None = Field(
        default=None, min_length=1, max_length=100, description="what people read in place of its name"
    )
    input_price: _Price | None = Field(default=None, description="US dollars for a million tokens of input")
    cached_input_price: _Price | None = Field(
        default=None, description="US dollars for a million tokens read from the service's cache"
    )
    output_price: _Price | None = Field(default=None, description="US dollars for a million tokens of output")
    tool_loading: Literal["native", "inline", "append", "dispatch"] | None = Field(
        default=None, description="how loaded tool groups are told to the model: native, inline, append or dispatch"
    )
    reasoning: ReasoningLevel | None = Field(
        default=None, description="how much the model thinks: off, low, medium or high"
    )
    structured_output: bool | None = Field(
        default=None, description="whether the service keeps an answer to a JSON Schema: true or false"
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
                # Before the text of a ValueError, pydantic would write what that is.
                raise PydanticCustomError(
                    "no_media_type", "use image, pdf, media types such as image/png, or none, with commas between them"
                )
        return value

    @property
    def prices(self) -> ModelPrices | None:
        """The cost of the model; ``None`` if the prices are incomplete."""
        if self.input_price is None or self.output_price is None:
            return None
        return ModelPrices(input=self.input_price, output=self.output_price, cached_input=self.cached_input_price)

    @property
    def missing_prices(self) -> tuple[str, ...]:
        """The prices that are missing before the stated ones count; empty if none."""
        said = (self.input_price, self.cached_input_price, self.output_price)
        if all(price is None for price in said):
            return ()
        return tuple(name for name in ("input_price", "output_price") if getattr(self, name) is None)

    def applied_to(self, info: ModelInfo) -> ModelInfo:
        """Put what the user says in the place of what the service says."""
        fields = ("display_name", "context_window", "max_output_tokens", "input_media_types")
        said: dict[str, Any] = {name: getattr(self, name) for name in fields}
        if self.structured_output is not None:
            others = (info.output_modes or frozenset()) - {"native"}
            said["output_modes"] = others | {"native"} if self.structured_output else others
        return replace(info, **{name: value for name, value in said.items() if value is not None})

    def document(self) -> dict[str, Any]:
        """The content in its stored form."""
        return self.model_dump(mode="json", exclude_defaults=True)


# Whether a model was added is not said, but done.
SETTABLE = tuple(key for key in ModelOverrides.model_fields if key != "added")


def model_overrides(stored: Mapping[str, Any], full_model: str) -> ModelOverrides:
    """Find what the user says about a model.

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
            f"what is set for the model {full_model} is invalid: {_first_fault(error)}; "
            f"unset it with: oneclaw models unset {full_model}"
        ) from None


def check_override(key: str, text: str) -> Any:
    """Check a value that the user typed.

    Returns:
        The value in the form in which it is stored.

    Raises:
        SettingsError: there is no such key, or the value does not fit it.
    """
    if key not in SETTABLE:
        known = ", ".join(SETTABLE)
        raise SettingsError(f"there is nothing called {key!r} to set for a model; there are: {known}")
    try:
        return ModelOverrides.model_validate({key: text}).document()[key]
    except ValidationError as error:
        raise SettingsError(f"{key} cannot be {text!r}: {_first_fault(error)}") from None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" if len(fault["loc"]) > 1 else fault["msg"]
