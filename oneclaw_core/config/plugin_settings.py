"""The settings that plugins register, described as data, so that listing and checking them imports no plugin.

A model is imported and described at the first need of the settings, because pydantic takes long to import. The
description is cached with what the plugin registers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.setting_fields import CORE_DEFAULTS, SettingsModel, fields_of, schema_of, variable_of
from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.first_use import load_object_now
from oneclaw_core.plugins.isolation import raised_cause
from oneclaw_core.plugins.names.ownership import OURS
from oneclaw_core.plugins.plugin import SETTINGS_HOOK, import_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.plugins.plugin import Plugin, Registration

# Variables of OneClaw that are no settings.
_OTHER_VARIABLES = ("ONECLAW_HOME", "ONECLAW_DATABASE_URL", "ONECLAW_PROFILE")
_REMEDY = "register one pydantic model"


def registered_settings(plugins: Iterable[Plugin]) -> list[SettingsModel]:
    """Return the settings of plugins that are loaded; those that are not described yet are described now."""
    plugins = list(plugins)
    settle_settings(plugins)
    return [
        SettingsModel(
            plugin.name,
            fields_of(registration.options, plugin.name),
            registration.value,
            partial(load_object_now, plugin, registration),
            registration.options.get("has_validators", True),
        )
        for plugin in plugins
        for registration in plugin.registrations
        if registration.hook == SETTINGS_HOOK
    ]


def describe_settings(plugin: Plugin) -> None:
    """Describe the settings of a plugin while it is looked at, so that its names are known.

    Those of OneClaw's own plugins are described at their first need: no one else can have their names.
    """
    if plugin.is_installed and plugin.distribution in OURS:
        return
    for place, registration in enumerate(plugin.registrations):
        if registration.hook == SETTINGS_HOOK:
            try:
                model = registration.value
                model = import_target(registration.target or "") if model is None else model
                plugin.registrations[place] = _with_schema(registration, model)
            except BaseException as error:  # noqa: BLE001  # a foreign import may raise anything
                plugin.report(SETTINGS_HOOK, raised_cause(error), _REMEDY, check="hooks.target")
                del plugin.registrations[place]
            return  # there is one at most


def settle_described_settings(plugins: Sequence[Plugin]) -> None:
    """Refuse settings whose variables belong to others, as far as they can be known by now."""
    strangers = [each for each in plugins if each.distribution not in OURS]
    if any(each.hook == SETTINGS_HOOK for plugin in strangers for each in plugin.registrations):
        settle_settings(plugins)


def settle_settings(plugins: Iterable[Plugin]) -> None:
    """Describe the models that are not described yet, and refuse settings that cannot be used.

    Of two plugins with the same environment variable, the first one's settings stay; the other has none.
    """
    taken = {variable_of(key): f"the setting {key}" for key in CORE_DEFAULTS}
    taken |= dict.fromkeys(_OTHER_VARIABLES, "OneClaw itself")
    described = []
    for plugin in plugins:
        for place, registration in enumerate(plugin.registrations):
            if registration.hook != SETTINGS_HOOK:
                continue
            settled = _settled(plugin, registration, taken)
            plugin.registrations[place : place + 1] = [] if settled is None else [settled]
            if settled is not None and settled is not registration:
                described.append((plugin, settled))
            break  # there is one at most
    if described:
        from oneclaw_core.plugins.cache import PluginCache, cache_path

        PluginCache(cache_path()).amend(described)


def _with_schema(registration: Registration, model: object) -> Registration:
    """Return the registration of a plugin's settings with a description of their model.

    Raises:
        PluginError: it is not a pydantic model, or has a field that settings cannot have.
    """
    from pydantic import BaseModel, PydanticUserError

    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise PluginError(f"{model!r} is not a pydantic model")
    try:
        described: dict[str, Any] = schema_of(model)
    except PydanticUserError as error:
        raise PluginError(f"{model.__name__}: {error.message}") from None
    decorators = model.__pydantic_decorators__
    own = (decorators.field_validators, decorators.model_validators, decorators.validators, decorators.root_validators)
    return replace(registration, options={**registration.options, **described, "has_validators": any(own)}, value=model)


def _settled(plugin: Plugin, registration: Registration, taken: dict[str, str]) -> Registration | None:
    """Describe a plugin's settings and take its environment variables; ``None`` if that is not possible."""
    try:
        if "schema" not in registration.options:
            registration = _with_schema(registration, load_object_now(plugin, registration))
    except PluginError as error:
        plugin.report(SETTINGS_HOOK, str(error), _REMEDY, check="hooks.target")
        return None
    own: dict[str, str] = {}
    for field in fields_of(registration.options, plugin.name):
        if field.variable in taken or field.variable in own:
            cause = (
                f"the environment variable {field.variable} of its setting {field.key} belongs to "
                f"{(taken | own)[field.variable]} already; the plugin's settings are left out"
            )
            plugin.report(SETTINGS_HOOK, cause, "rename the field, or the plugin", check="names.setting-taken")
            return None
        own[field.variable] = f"the setting {field.key}"
    taken |= own
    return registration
