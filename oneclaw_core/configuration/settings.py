"""The settings: each with its value and where that comes from, also where it does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotFoundError, SettingsError
from oneclaw_core.settings import ENVIRONMENT_PREFIX, Settings, check_setting, load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.store.store import Store


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


class SettingService:
    """Reads and changes the settings.

    Args:
        store: where they are stored.
        environ: the environment, which goes before what is stored.
    """

    def __init__(self, store: Store, environ: Mapping[str, str]) -> None:
        self._store = store
        self._environ = environ

    async def list(self) -> list[SettingState]:
        """Describe every setting."""
        return setting_states(await self._store.settings(), self._environ)

    async def get(self, key: str) -> SettingState:
        """Describe one setting.

        Raises:
            NotFoundError: there is no such setting.
        """
        check_known(key)
        return next(state for state in await self.list() if state.key == key)

    def check(self, key: str, value: str) -> None:
        """Refuse what :meth:`set` would refuse.

        Raises:
            NotFoundError: there is no such setting.
            SettingsError: the value does not fit.
        """
        check_known(key)
        check_setting(key, value)

    async def set(self, key: str, value: str) -> SettingState:
        """Store a value for a setting.

        Args:
            key: which.
            value: as the user writes it.

        Raises:
            NotFoundError: there is no such setting.
            SettingsError: the value does not fit.
        """
        check_known(key)
        await self._store.set_setting(key, check_setting(key, value))
        return await self.get(key)

    async def unset(self, key: str) -> bool:
        """Take a setting back to its default.

        Returns:
            Whether it was set.

        Raises:
            NotFoundError: there is no such setting.
        """
        check_known(key)
        return await self._store.remove_setting(key)


def check_known(key: str) -> None:
    """Refuse what is no setting.

    Raises:
        NotFoundError: with those that are much like it.
    """
    if key not in Settings.model_fields:
        close = get_close_matches(key, Settings.model_fields, cutoff=0.6)
        hint = f"did you mean {' or '.join(close)}?" if close else "list them with: oneclaw config list"
        raise NotFoundError(f"there is no setting {key!r}; {hint}")
