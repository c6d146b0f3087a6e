"""Models that a program gives to a turn as objects, beside those that the user has configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeGuard

from oneclaw_core.providers.base import Provider, ProviderConfig
from oneclaw_core.types.model_requests import ModelInfo

# Before the full name of a model object, where a session keeps what answered it. No provider has such a name.
_OBJECT_MARK = "object:"
_NO_SERVICE = ProviderConfig(name="program", type="object", is_local=True)


class ModelObject(Protocol):
    """A model as an object. The program makes it, and closes its provider; nothing of it is stored in the home.

    It may have two more attributes: ``info``, a :class:`~oneclaw_core.providers.ModelInfo`, says how much the model
    reads and which attachments it takes; and its provider may have ``config``, a
    :class:`~oneclaw_core.providers.ProviderConfig`, whose name stands before that of the model in events and usage.
    """

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        ...

    @property
    def provider(self) -> Provider:
        """The provider that is asked."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """A model of a provider that the program has made itself.

    Attributes:
        provider: is asked. The program closes it.
        name: of the model at the provider.
        info: how much the model reads, and which attachments it takes; ``None`` if that is not known.
    """

    provider: Provider
    name: str
    info: ModelInfo | None = None


class OwnModel:
    """A model object that is its own provider: it answers by :meth:`~oneclaw_core.providers.Provider.stream`.

    Attributes:
        name: of the model.
    """

    attachment_media_types = ("image/", "audio/", "application/pdf")
    name: str

    @property
    def provider(self) -> Self:
        """The model itself, which is asked."""
        return self

    async def list_models(self) -> list[ModelInfo]:
        """Return the one model there is."""
        return [ModelInfo(name=self.name)]

    async def aclose(self) -> None:
        """Close nothing: nothing stays open."""


def is_model_object(value: object) -> TypeGuard[ModelObject]:
    """Return True if a value can be given to a turn as its model."""
    return isinstance(getattr(value, "name", None), str) and hasattr(getattr(value, "provider", None), "stream")


def config_of(model: ModelObject) -> ProviderConfig:
    """Return the configuration of the provider of a model object; one without a service if it has none."""
    config = getattr(model.provider, "config", None)
    return config if isinstance(config, ProviderConfig) else _NO_SERVICE


def kept_name(model: str | ModelObject | None) -> str | None:
    """Return the text by which a session remembers the model that it began with."""
    if model is None or isinstance(model, str):
        return model
    return f"{_OBJECT_MARK}{config_of(model).name}/{model.name}"


def object_name(kept: str | None) -> str | None:
    """Return the full name of the model object that a session began with; ``None`` for a configured model."""
    return kept.removeprefix(_OBJECT_MARK) if kept is not None and kept.startswith(_OBJECT_MARK) else None
