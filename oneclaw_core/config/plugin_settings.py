"""The settings that plugins register, described as data, so that listing them imports no plugin.

The description of a model is cached with what the plugin registers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.setting_fields import CORE_DEFAULTS, SettingsModel, fields_of, schema_of, variable_of
from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.cache import PluginCache, cache_path
from oneclaw_core.plugins.distributions import is_ours
from oneclaw_core.plugins.first_use import load_object_now
from oneclaw_core.plugins.isolation import raised_cause
from oneclaw_core.plugins.plugin import SETTINGS_HOOK, Plugin, Registration, import_target

if TYPE_CHECKING:
    from collections.abc import Iterable


# Variables of OneClaw that are no settings.
_OTHER_VARIABLES = ("ONECLAW_HOME", "ONECLAW_DATABASE_URL", "ONECLAW_PROFILE")
_REMEDY = "register one pydantic model"


def registered_settings(plugins: Iterable[Plugin]) -> list[SettingsModel]:
    """Return the settings of plugins that are loaded; those that are not described yet are described now."""
    plugins = list(plugins)
    if described := describe_remaining(plugins):
        PluginCache(cache_path()).amend(described)
    return [
        SettingsModel(
            plugin.name, fields_of(registration.options, plugin.name), partial(load_object_now, plugin, registration)
        )
        for plugin in plugins
        for registration in plugin.registrations
        if registration.hook == SETTINGS_HOOK
    ]


def describe_settings(plugin: Plugin) -> None:
    """Describe the settings of a plugin while it is looked at, so that its names are known.

    Those of OneClaw's own plugins are described when they are needed, because that imports pydantic.
    """
    if not is_ours(plugin):
        _describe(plugin)


def describe_remaining(plugins: Iterable[Plugin]) -> list[Plugin]:
    """Describe the settings that are not described yet, and return the plugins that have them."""
    return [each for each in plugins if _describe(each)]


def has_settings_of_others(plugins: Iterable[Plugin]) -> bool:
    """Return True if a plugin that is not OneClaw's own has settings."""
    return any(each.hook == SETTINGS_HOOK for plugin in plugins if not is_ours(plugin) for each in plugin.registrations)


def _describe(plugin: Plugin) -> bool:
    """Describe the settings of a plugin; return True if they were not described before."""
    for place, registration in enumerate(plugin.registrations):
        if registration.hook == SETTINGS_HOOK and "schema" not in registration.options:
            try:
                model = registration.value
                model = import_target(registration.target or "") if model is None else model
                plugin.registrations[place] = _with_schema(registration, model)
            except BaseException as error:  # noqa: BLE001  # a foreign import may raise anything
                plugin.report(SETTINGS_HOOK, raised_cause(error), _REMEDY, check="hooks.target")
                del plugin.registrations[place]
                return False
            return True  # there is one at most
    return False


def settle_settings(plugins: Iterable[Plugin]) -> None:
    """Refuse settings whose environment variables belong to others, as far as they are described.

    Of two plugins with the same variable, the first one's settings stay; the other has none.
    """
    taken = {variable_of(key): f"the setting {key}" for key in CORE_DEFAULTS}
    taken |= dict.fromkeys(_OTHER_VARIABLES, "OneClaw itself")
    for plugin in plugins:
        for registration in list(plugin.registrations):
            if registration.hook != SETTINGS_HOOK or "schema" not in registration.options:
                continue
            own: dict[str, str] = {}
            for field in fields_of(registration.options, plugin.name):
                if owner := (taken | own).get(field.variable):
                    cause = (
                        f"the environment variable {field.variable} of its setting {field.key} belongs to {owner} "
                        "already; the plugin's settings are left out"
                    )
                    plugin.report(SETTINGS_HOOK, cause, "rename the field, or the plugin", check="names.setting-taken")
                    plugin.registrations.remove(registration)
                    break
                own[field.variable] = f"the setting {field.key}"
            else:
                taken |= own


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
    return replace(registration, options={**registration.options, **described}, value=model)
