"""The provider whose models stand for models of other providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core import NotFoundError, ProviderError, SettingsError
from oneclaw_core.providers import FailureKind, ModelInfo, Route

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from oneclaw_core.providers import ModelEvent, ModelRequest, ProviderConfig

_NUMBERS = ("retries", "silence_seconds", "cool_down_seconds")


class ChainProvider:
    """The chains that the user has added; OneClaw asks the models behind them.

    Args:
        config: with the chains, by their names.

    Attributes:
        attachment_media_types: none; those of its models count.
    """

    attachment_media_types: tuple[str, ...] = ()

    def __init__(self, config: ProviderConfig) -> None:
        self._name = config.name
        self._chains = config.models

    def route(self, model: str) -> Route:
        """Return the models of a chain, and when the next one is asked.

        Raises:
            NotFoundError: there is no such chain.
            SettingsError: what is stored about it is invalid.
        """
        if model not in self._chains:
            known = ", ".join(f"{self._name}/{each}" for each in self._chains) or "none"
            raise NotFoundError(
                f"there is no chain {self._name}/{model}; there are: {known}. Add one with: "
                f"oneclaw providers add {self._name}/{model} --model PROVIDER/MODEL --model PROVIDER/MODEL"
            )
        try:
            return read_chain(self._chains[model])
        except SettingsError as error:
            raise SettingsError(f"the chain {self._name}/{model} is invalid: {error}") from None

    async def list_models(self) -> list[ModelInfo]:
        """List the chains; one that is invalid has no models."""
        return [ModelInfo(name=name, models=_models_of(chain)) for name, chain in self._chains.items()]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Refuse to answer: only the models of a chain do.

        Raises:
            ProviderError: always.
        """
        raise ProviderError(f"{self._name}/{request.model} is a chain: only its models answer")
        yield

    async def aclose(self) -> None:
        """Close nothing: the providers of its models are open elsewhere."""


def read_chain(document: Any) -> Route:
    """Read a chain as it is stored.

    Raises:
        SettingsError: it is invalid.
    """
    if not isinstance(document, dict):
        raise SettingsError("it is not a JSON object")
    unknown = sorted(document.keys() - {"models", "after", *_NUMBERS})
    if unknown:
        raise SettingsError(f"it has an unknown member {unknown[0][:100]!a}")
    models = document.get("models")
    if not isinstance(models, list) or not all(isinstance(each, str) for each in models) or len(models) < 2:
        raise SettingsError("it has at least two models: give --model PROVIDER/MODEL for each")
    options: dict[str, Any] = {**_numbers(document), **_failures(document)}
    return Route(models=tuple(models), **options)


def _numbers(document: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: document[name] for name in _NUMBERS if name in document}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int if name == "retries" else int | float):
            raise SettingsError(f"{name} is a number, not {str(value)[:100]!a}")
    return found


def _failures(document: Mapping[str, Any]) -> dict[str, frozenset[FailureKind]]:
    if "after" not in document:
        return {}
    names = document["after"]
    known = {str(each): each for each in FailureKind}
    if not isinstance(names, list) or not names or not all(isinstance(each, str) and each in known for each in names):
        raise SettingsError(f"the failures after which the next model is asked are some of: {', '.join(known)}")
    return {"after": frozenset(known[each] for each in names)}


def _models_of(document: Any) -> tuple[str, ...]:
    try:
        return read_chain(document).models
    except SettingsError:
        return ()
