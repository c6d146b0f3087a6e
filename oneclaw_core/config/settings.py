"""OneClaw's own settings, and the values of settings: find them, validate them, and keep those of a plugin current."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from oneclaw_core.config.setting_fields import CORE_DEFAULTS, variable_of
from oneclaw_core.errors import OneClawError, SettingsError, describe_error
from oneclaw_core.secrets.redaction import remember_secret
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from pydantic import BaseModel, ValidationError

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.config.setting_fields import SettingField, SettingsModel


Model = TypeVar("Model", bound="BaseModel")

_DEFAULTS = SimpleNamespace(**CORE_DEFAULTS)
_VARIABLES = {key: variable_of(key) for key in CORE_DEFAULTS}


@dataclass(frozen=True, slots=True)
class GivenValue:
    """The value that is set for a field.

    Attributes:
        value: as JSON data.
        source: ``environment NAME``, ``stored`` or ``secret store``.
        about: where it is, for messages.
    """

    value: Any
    source: str
    about: str


def given_values(
    fields: Iterable[SettingField],
    stored: Mapping[str, Any],
    environ: Mapping[str, str],
    secrets: Mapping[str, str] | None = None,
) -> dict[str, GivenValue]:
    """Find what is set, by the names of the fields: in the environment, else in the store."""
    found = {}
    for field in fields:
        text = environ.get(field.variable)
        if text:
            about = f"the environment variable {field.variable}"
            found[field.name] = GivenValue(field.parse(text), f"environment {field.variable}", about)
        elif field.is_secret:
            if secrets and field.key in secrets:
                about = f"the secret {field.key} (oneclaw keys set {field.key})"
                found[field.name] = GivenValue(secrets[field.key], "secret store", about)
        else:
            for key in (field.key, *field.aliases):
                if key in stored:
                    about = f"the setting {key} (oneclaw config unset {key})"
                    found[field.name] = GivenValue(stored[key], "stored", about)
                    break
    return found


def faults_of(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, str]:
    """Validate values; return what is wrong by field, ``""`` for what is wrong with all of them together."""
    from pydantic import ValidationError

    try:
        model.model_validate(_input(model, values))
    except ValidationError as error:
        return _faults(model, error)
    except Exception as error:  # noqa: BLE001  # a validator of a plugin is foreign code
        return dict.fromkeys(("", *values), _raised(model, error))
    return {}


def read_model(model: type[Model], fields: Iterable[SettingField], given: Mapping[str, GivenValue]) -> Model:
    """Validate values and make an instance of their model.

    Raises:
        SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(_input(model, {name: each.value for name, each in given.items()}))
    except ValidationError as error:
        name, fault = next(iter(_faults(model, error).items()))
        for field in fields:
            if field.name == name and name not in given:
                raise SettingsError(missing(field)) from None
        where = given[name].about if name in given else "a setting"
        raise SettingsError(f"{where} is invalid: {fault}") from None
    except Exception as error:  # as in faults_of
        raise SettingsError(f"the settings cannot be validated: {_raised(model, error)}") from error


def missing(field: SettingField) -> str:
    """Say that a required setting is not set, and how to set it."""
    command = f"oneclaw keys set {field.key}" if field.is_secret else f"oneclaw config set {field.key} VALUE"
    return f"{field.key} is not set; set it in the environment variable {field.variable} or with: {command}"


def check_value(field: SettingField, text: str, model: type[BaseModel] | None) -> Any:
    """Check a value that the user typed.

    Returns:
        The value in the form in which it is stored.

    Raises:
        SettingsError: the value does not fit.
    """
    value = field.parse(text)
    fault = faults_of(model, {field.name: value}).get(field.name) if model is not None else field.fault(value)
    if fault is not None:
        raise SettingsError(f"{field.key} cannot be {text!r}: {fault}")
    return value


class SettingsReader:
    """Reader of OneClaw's own settings. It validates them only when they have changed.

    Args:
        environ: the environment.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._last: tuple[dict[str, Any], Settings] | None = None

    def read(self, stored: Mapping[str, Any]) -> Settings:
        """Return the settings; where none is set, an object with the defaults, which takes no import of pydantic.

        Raises:
            SettingsError: a value is invalid.
        """
        if not any(key in stored or self._environ.get(variable) for key, variable in _VARIABLES.items()):
            return cast("Settings", _DEFAULTS)
        return self.validated(stored)

    def validated(self, stored: Mapping[str, Any]) -> Settings:
        """Return the settings as an instance of their model; as :meth:`read`."""
        from oneclaw_core.config.core_settings import CORE_SETTINGS, Settings

        given = given_values(CORE_SETTINGS.fields, stored, self._environ)
        values = {name: each.value for name, each in given.items()}
        if self._last is None or self._last[0] != values:
            self._last = values, read_model(Settings, CORE_SETTINGS.fields, given)
        return self._last[1]


def _raised(model: type[BaseModel], error: Exception) -> str:
    return f"{model.__name__} raised {describe_error(error)}"


def _input(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Give each value the name that validation looks for."""
    return {_input_name(model, name): value for name, value in values.items()}


def _input_name(model: type[BaseModel], name: str) -> str:
    alias = model.model_fields[name].validation_alias
    if alias is None or isinstance(alias, str):
        return alias or name
    return next((each for each in getattr(alias, "choices", ()) if isinstance(each, str)), name)


def _faults(model: type[BaseModel], error: ValidationError) -> dict[str, str]:
    names = {_input_name(model, name): name for name in model.model_fields}
    found: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        place = str(fault["loc"][0]) if fault["loc"] else ""
        found.setdefault(names.get(place, place), fault["msg"])
    return found


class CurrentSettings:
    """The current settings of one plugin in an open home.

    Args:
        settings: the plugin's model.
        environ: the environment.
        read_secret: reads the stored secret of a field.
        read_stored: reads the values in the store, by key.
    """

    def __init__(
        self,
        settings: SettingsModel,
        environ: Mapping[str, str],
        read_secret: Callable[[str], Awaitable[str | None]],
        read_stored: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self._settings = settings
        self._read_stored = read_stored
        self._environ = environ
        self._read_secret = read_secret
        self._lock = asyncio.Lock()
        self._values: dict[str, Any] | None = None
        self._is_unread = False  # the store or the secrets could not be read the last time
        self._current: BaseModel | SettingsError | None = None

    @property
    def current(self) -> BaseModel:
        """An instance of the plugin's model.

        Raises:
            SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
            PluginError: the model cannot be imported.
        """
        if self._current is None and self._values is not None:
            # Nothing is set, so that the model, whose import is slow, was not needed yet.
            self._current = read_model(self._settings.load(), self._settings.fields, {})
        if self._current is None:
            raise SettingsError(f"the settings of plugin {self._settings.plugin} are not read yet")
        if isinstance(self._current, SettingsError):
            raise self._current
        return self._current

    async def refresh(self, stored: Mapping[str, Any] | None = None) -> frozenset[str]:
        """Read the settings again.

        Args:
            stored: values from the store, by key, if they are at hand.

        Returns:
            The names of the fields whose values changed; none of them the first time.
        """
        async with self._lock:  # so that each change is told once
            return await self._refresh(stored)

    async def _refresh(self, stored: Mapping[str, Any] | None) -> frozenset[str]:
        before = self._values
        try:
            given = await self._given(await self._read_stored() if stored is None else stored)
        except OneClawError as error:
            # It is raised where the plugin reads its settings, until they can be read again.
            self._current, self._values, self._is_unread = SettingsError(str(error)), before or {}, True
            return frozenset()
        values = {name: each.value for name, each in given.items()}
        if values == before and not self._is_unread:
            return frozenset()
        model = self._settings.loaded
        if model is None and (values or any(field.is_required for field in self._settings.fields)):
            model = await run_in_thread(self._settings.load)
        self._values, self._is_unread, self._current = values, False, None
        if model is not None:
            try:
                self._current = read_model(model, self._settings.fields, given)
            except SettingsError as error:
                self._current = error
        if before is None:
            return frozenset()
        return frozenset(name for name in {*before, *values} if before.get(name) != values.get(name))

    async def _given(self, stored: Mapping[str, Any]) -> dict[str, GivenValue]:
        fields, secrets = self._settings.fields, {}
        for field in fields:
            if field.is_secret:
                if self._environ.get(field.variable):
                    remember_secret(self._environ[field.variable], f"{field.variable} of {id(self._environ)}")
                elif (value := await self._read_secret(field.name)) is not None:
                    secrets[field.key] = value
        return given_values(fields, stored, self._environ, secrets)
