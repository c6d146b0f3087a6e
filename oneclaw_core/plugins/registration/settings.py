"""The settings that plugins register, described as data, so that listing and checking them imports no plugin."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.setting_fields import CORE_DEFAULTS, SettingsModel, fields_of, schema_of, variable_of
from oneclaw_core.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins.registration.entry import Registration
    from oneclaw_core.plugins.registration.record import PluginRecord

_HOOK = "register_settings"
# Variables of OneClaw that are no settings.
_OTHER_VARIABLES = ("ONECLAW_HOME", "ONECLAW_DATABASE_URL", "ONECLAW_PROFILE")


def model_options(model: object) -> dict[str, Any]:
    """Describe a model as options of its registration.

    Raises:
        PluginError: it is not a pydantic model, or has a field that settings cannot have.
    """
    from pydantic import BaseModel, PydanticUserError

    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise PluginError(f"{model!r} is not a pydantic model")
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
        PluginError: it is not a pydantic model, or has a field that settings cannot have.
    """
    return replace(registration, options={**registration.options, **model_options(model)}, value=model)


def settle_settings(records: Iterable[PluginRecord]) -> None:
    """Describe the models that are registered by their names, and refuse settings that cannot be used.

    Of two plugins with the same environment variable, the first one's settings stay; the other has none.
    """
    taken = {variable_of(key): f"the setting {key}" for key in CORE_DEFAULTS}
    taken |= dict.fromkeys(_OTHER_VARIABLES, "OneClaw itself")
    for record in records:
        for place, registration in enumerate(record.registrations):
            if registration.hook != _HOOK:
                continue
            settled = _settled(record, registration, taken)
            record.registrations[place : place + 1] = [] if settled is None else [settled]
            break  # there is one at most


def registered_settings(records: Iterable[PluginRecord]) -> list[SettingsModel]:
    """Return the settings of plugins that are loaded; nothing is imported."""
    return [
        SettingsModel(
            record.name,
            fields_of(registration.options, record.name),
            registration.value,
            partial(record.load_object_now, registration),
            registration.options.get("has_validators", True),
        )
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
