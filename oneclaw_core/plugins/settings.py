"""The settings that plugins register: described without importing the plugin, and read into its model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError, PluginError, SettingsError
from oneclaw_core.secrets import remember_secret
from oneclaw_core.settings.fields import CORE_KEYS, fields_of, schema_of, variable_of
from oneclaw_core.tools.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from pydantic import BaseModel

    from oneclaw_core.plugins.record import PluginRecord
    from oneclaw_core.plugins.registrations import Registration
    from oneclaw_core.plugins.secrets import PluginSecrets
    from oneclaw_core.settings.fields import SettingField
    from oneclaw_core.settings.reading import GivenValue

_HOOK = "register_settings"
# Variables of OneClaw that are no settings.
_OTHER_VARIABLES = ("ONECLAW_HOME", "ONECLAW_DATABASE_URL")


@dataclass(frozen=True, slots=True)
class RegisteredSettings:
    """The settings of one plugin.

    Attributes:
        record: the plugin.
        registration: of its model.
        fields: of the model.
    """

    record: PluginRecord
    registration: Registration
    fields: tuple[SettingField, ...]

    @property
    def plugin(self) -> str:
        """The plugin's name."""
        return self.record.name

    @property
    def loaded_model(self) -> type[BaseModel] | None:
        """The model, where this process has it already."""
        model: type[BaseModel] | None = self.registration.value
        return model

    def load_model(self) -> type[BaseModel]:
        """Import the model.

        Raises:
            PluginError: it cannot be imported.
        """
        model: type[BaseModel] = self.record.load_object_now(self.registration)
        return model

    def model_for_checking(self) -> type[BaseModel] | None:
        """Return the model if it is loaded, or has validators of its own that its JSON Schema cannot tell.

        Raises:
            PluginError: it cannot be imported.
        """
        has_validators = self.registration.options.get("has_validators", True)
        return self.load_model() if has_validators else self.loaded_model


def model_options(model: object) -> dict[str, Any]:
    """Describe a model as options of its registration.

    Raises:
        PluginError: it is no pydantic model, or has a field that settings cannot have.
    """
    from pydantic import BaseModel, PydanticUserError

    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise PluginError(f"{model!r} is no pydantic model")
    try:
        described = schema_of(model)
    except PydanticUserError as error:
        raise PluginError(f"{model.__name__}: {error.message}") from None
    decorators = model.__pydantic_decorators__
    own = (decorators.field_validators, decorators.model_validators, decorators.validators, decorators.root_validators)
    return {**described, "has_validators": any(own)}


def with_schema(registration: Registration, model: object) -> Registration:
    """Return the registration of a plugin's settings with a description of their model.

    Raises:
        PluginError: it is no pydantic model, or has a field that settings cannot have.
    """
    return replace(registration, options=model_options(model), value=model)


def settle_settings(records: Iterable[PluginRecord]) -> None:
    """Describe the models that are registered by their names, and refuse settings that cannot be used.

    Of two plugins with the same environment variable, the first one's settings stay; the other has none.

    Args:
        records: the plugins, in the order of loading.
    """
    taken = {variable_of(key): f"the setting {key}" for key in CORE_KEYS}
    taken |= dict.fromkeys(_OTHER_VARIABLES, "OneClaw itself")
    for record in records:
        for place, registration in enumerate(record.registrations):
            if registration.hook != _HOOK:
                continue
            settled = _settled(record, registration, taken)
            record.registrations[place : place + 1] = [] if settled is None else [settled]
            break  # there is one at most


def registered_settings(records: Iterable[PluginRecord]) -> list[RegisteredSettings]:
    """Return the settings of plugins that are loaded; nothing is imported."""
    return [
        RegisteredSettings(record, registration, fields_of(registration.options, record.name))
        for record in records
        for registration in record.registrations
        if registration.hook == _HOOK
    ]


def _settled(record: PluginRecord, registration: Registration, taken: dict[str, str]) -> Registration | None:
    """Describe a plugin's settings and take its environment variables; ``None`` if that is not possible."""
    try:
        if "schema" not in registration.options:
            registration = with_schema(registration, record.load_object_now(registration))
    except PluginError as error:
        record.report(_HOOK, str(error), "register one pydantic model", check="hooks.target")
        return None
    own: dict[str, str] = {}
    for field in fields_of(registration.options, record.name):
        if field.variable in taken or field.variable in own:
            cause = (
                f"the environment variable {field.variable} of its setting {field.key} belongs to "
                f"{(taken | own)[field.variable]} already; the plugin's settings are left out"
            )
            record.report(_HOOK, cause, "rename the field, or the plugin", check="names.setting-taken")
            return None
        own[field.variable] = f"the setting {field.key}"
    taken |= own
    return registration


class PluginSettings:
    """The current settings of one plugin in an open home.

    Args:
        registered: the plugin's model.
        environ: the environment.
        secrets: of the plugin.
        read_stored: reads the values in the store, by key.
    """

    def __init__(
        self,
        registered: RegisteredSettings,
        environ: Mapping[str, str],
        secrets: PluginSecrets,
        read_stored: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> None:
        self._registered = registered
        self._read_stored = read_stored
        self._environ = environ
        self._secrets = secrets
        self._lock = asyncio.Lock()
        self._values: dict[str, Any] | None = None
        self._current: BaseModel | SettingsError | None = None

    @property
    def current(self) -> BaseModel:
        """An instance of the plugin's model.

        Raises:
            SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
        """
        if self._current is None:
            raise SettingsError(f"the settings of plugin {self._registered.plugin} are not read yet")
        if isinstance(self._current, SettingsError):
            raise self._current
        return self._current

    async def refresh(self, stored: Mapping[str, Any] | None = None) -> frozenset[str]:
        """Read the settings again.

        Args:
            stored: values from the store, by key, if they are at hand.

        Returns:
            The names of the fields whose values changed; none of them the first time.

        Raises:
            PluginError: the model cannot be imported.
        """
        async with self._lock:  # so that each change is told once
            return await self._refresh(stored)

    async def _refresh(self, stored: Mapping[str, Any] | None) -> frozenset[str]:
        from oneclaw_core.settings.reading import read_model

        before = self._values
        try:
            given = await self._given(await self._read_stored() if stored is None else stored)
            values = {name: each.value for name, each in given.items()}
            if values == before:
                return frozenset()
            self._values = values
            model = self._registered.loaded_model
            if model is None:
                model = await run_in_thread(self._registered.load_model)
            self._current = read_model(model, self._registered.fields, given)
        except PluginError:
            raise
        except OneClawError as error:
            # It is raised where the plugin reads its settings.
            self._current, self._values = SettingsError(str(error)), self._values or {}
        if before is None:
            return frozenset()
        after = self._values
        return frozenset(name for name in {*before, *after} if before.get(name) != after.get(name))

    async def _given(self, stored: Mapping[str, Any]) -> dict[str, GivenValue]:
        from oneclaw_core.settings.reading import given_values

        fields, secrets = self._registered.fields, {}
        for field in fields:
            if field.is_secret:
                if self._environ.get(field.variable):
                    remember_secret(self._environ[field.variable])
                elif (value := await self._secrets.get(field.name)) is not None:
                    secrets[field.key] = value
        return given_values(fields, stored, self._environ, secrets)
