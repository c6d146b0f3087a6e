"""A request for a completion, and what its parameters mean for the turn of an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from oneclaw_serve.completions.messages import ChatMessage  # noqa: TC001  # pydantic reads the hints
from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    ReasoningLevel = Literal["off", "low", "medium", "high"]

# Handed on to the model's service, which takes or refuses them.
_HANDED_ON = (
    *("temperature", "top_p", "top_k", "min_p", "stop", "seed", "presence_penalty", "frequency_penalty"),
    *("repetition_penalty", "repeat_penalty"),
)
_REASONING: dict[Any, ReasoningLevel] = {
    "none": "off",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
}
# Those of no effect on an answer, or on how it is made.
_HARMLESS = frozenset(
    {
        *("user", "metadata", "store", "service_tier", "safety_identifier", "parallel_tool_calls"),
        *("prompt_cache_key", "prompt_cache_retention", "prediction"),
    }
)


def _is_empty(value: Any) -> bool:
    return not value


# What no agent does, with the values that ask for nothing.
_REFUSED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n": (lambda value: value == 1, "an agent gives one answer"),
    "best_of": (lambda value: value == 1, "an agent gives one answer"),
    "logprobs": (_is_empty, "an agent has no token probabilities"),
    "top_logprobs": (_is_empty, "an agent has no token probabilities"),
    "logit_bias": (_is_empty, "an agent's tokens cannot be biased"),
    "tools": (_is_empty, "an agent calls its own tools; it takes none of clients"),
    "functions": (_is_empty, "an agent calls its own tools; it takes none of clients"),
    "tool_choice": (lambda value: value in ("auto", "none"), "an agent chooses among its own tools"),
    "function_call": (lambda value: value in ("auto", "none"), "an agent chooses among its own tools"),
    "response_format": (
        lambda value: _is_empty(value) or value == {"type": "text"},
        "an agent answers with text; it takes no format",
    ),
    "modalities": (lambda value: value in ([], ["text"]), "an agent answers with text"),
    "audio": (_is_empty, "an agent answers with text"),
    "web_search_options": (lambda _: False, "an agent searches with its own tools"),
    "verbosity": (lambda value: value == "medium", "an agent decides how much it says"),
}


class StreamOptions(BaseModel):
    """Options of a streamed answer."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for a completion; ``null`` for a member means its default."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions = Field(default_factory=StreamOptions)
    user: str = ""

    @model_validator(mode="before")
    @classmethod
    def _leave_nulls_out(cls, value: Any) -> Any:
        return _without_nulls(value)

    def options(self) -> TurnOptions:
        """Return what the other members mean.

        Raises:
            Refusal: one asks for what an agent does not do; the error names it.
        """
        given = dict(self.model_extra or {})
        for name in given.keys() & _REFUSED.keys():
            asks_nothing, why = _REFUSED[name]
            if not asks_nothing(given.pop(name)):
                raise Refusal(400, "unsupported_parameter", f"{name}: {why}", param=name)
        longest = [_count(name, given.pop(name)) for name in ("max_completion_tokens", "max_tokens") if name in given]
        level = given.pop("reasoning_effort", None)
        if level is not None and (not isinstance(level, str) or level not in _REASONING):
            raise Refusal(
                400, "invalid_request", f"reasoning_effort: must be one of {', '.join(_REASONING)}", "reasoning_effort"
            )
        parameters = {name: given.pop(name) for name in _HANDED_ON if name in given}
        # A penalty of 0 is none; clients send it always, and some services refuse any.
        parameters = {name: value for name, value in parameters.items() if value or not name.endswith("_penalty")}
        return TurnOptions(
            parameters, min(longest, default=None), _REASONING.get(level), tuple(sorted(given.keys() - _HARMLESS))
        )


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """Options of the turn that a request asks for.

    Attributes:
        parameters: sampling parameters for the model's service.
        max_output_tokens: the longest answer; ``None`` for the model's own.
        reasoning: how much the model is to think; ``None`` for what is set.
        unknown: members of the request that have no meaning here.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    max_output_tokens: int | None = None
    reasoning: ReasoningLevel | None = None
    unknown: tuple[str, ...] = ()


def _count(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or value < 1:
        raise Refusal(400, "invalid_request", f"{name}: must be a whole number above 0", name)
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value if each is not None]
    return value
