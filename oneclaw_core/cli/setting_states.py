"""Each setting with its value and where that comes from, also where it does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import SettingsError
from oneclaw_core.settings import ENVIRONMENT_PREFIX, Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SettingState:
    """A setting as it is now.

    Attributes:
        key: what ``oneclaw config set`` takes.
        value: in a form that JSON can hold; one that does not fit as it was found.
        default: what holds if nothing is set.
        source: ``environment NAME``, ``stored`` or ``default``.
        description: what the setting is for.
        problem: why the value does not fit, ``None`` if it does.
    """

    key: str
    value: Any
    default: Any
    source: str
    description: str
    problem: str | None = None


def variable_of(key: str) -> str:
    """The environment variable that overrides a setting."""
    return ENVIRONMENT_PREFIX + key.upper()


def setting_states(stored: Mapping[str, Any], environ: Mapping[str, str]) -> list[SettingState]:
    """Find each setting's value and source.

    Args:
        stored: values from the store, by key.
        environ: the environment.
    """
    return [_state(key, stored, environ) for key in Settings.model_fields]


def _state(key: str, stored: Mapping[str, Any], environ: Mapping[str, str]) -> SettingState:
    variable = variable_of(key)
    default = load_settings({}, {}).model_dump(mode="json")[key]
    if environ.get(variable):
        source, found = f"environment {variable}", environ[variable]
    elif key in stored:
        source, found = "stored", stored[key]
    else:
        source, found = "default", default
    description = Settings.model_fields[key].description or ""
    try:
        # One setting at a time, so that one which does not fit hides no other.
        alone = load_settings({key: stored[key]} if key in stored else {}, _only(variable, environ))
    except SettingsError as error:
        return SettingState(key, found, default, source, description, str(error))
    return SettingState(key, alone.model_dump(mode="json")[key], default, source, description)


def _only(variable: str, environ: Mapping[str, str]) -> dict[str, str]:
    return {variable: environ[variable]} if variable in environ else {}
