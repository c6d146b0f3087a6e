"""Models of settings, OneClaw's own and those of plugins, described without importing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from oneclaw_core.config.settings.fields import SettingField


@dataclass(frozen=True, slots=True)
class SettingsModel:
    """The pydantic model of some settings.

    Attributes:
        plugin: whose settings they are, ``None`` for OneClaw's own.
        fields: of the model.
        loaded: the model, where this process has it.
        load: imports the model; raises ``PluginError`` if that is not possible.
        has_validators: True if its validators check more than its JSON Schema.
    """

    plugin: str | None
    fields: tuple[SettingField, ...]
    loaded: type[BaseModel] | None
    load: Callable[[], type[BaseModel]]
    has_validators: bool = True

    def for_checking(self) -> type[BaseModel] | None:
        """Return the model if it is loaded or defines validators.

        Raises:
            PluginError: it cannot be imported.
        """
        return self.load() if self.has_validators else self.loaded
