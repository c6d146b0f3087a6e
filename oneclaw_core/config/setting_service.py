"""The settings of OneClaw and of plugins: each with its value and where that comes from, also where it is invalid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.setting_fields import secret_key
from oneclaw_core.config.settings import check_value, faults_of, given_values, missing
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.shipped.missing import how_to_install, keys_now, plugin_of, unknown_name
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pydantic import BaseModel

    from oneclaw_core.config.setting_fields import SettingField, SettingsModel
    from oneclaw_core.config.settings import GivenValue
    from oneclaw_core.sessions.store import Store


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
        plugin: whose setting it is, ``None`` for OneClaw's own.
        is_user_only: True if no tool may change it.
        is_secret: True if the value is kept in the secret store; it is not here.
        setup_condition: values of other fields of the plugin, one of which each must have to be asked for at set-up.
    """

    key: str
    value: Any
    default: Any
    source: str
    description: str
    problem: str | None = None
    plugin: str | None = None
    is_user_only: bool = False
    is_secret: bool = False
    setup_condition: Mapping[str, Sequence[Any]] = field(default_factory=dict)


def setting_states(
    stored: Mapping[str, Any],
    environ: Mapping[str, str],
    plugins: Iterable[SettingsModel] = (),
    *,
    is_thorough: bool = False,
) -> list[SettingState]:
    """Find each setting's value and source; secrets are left out.

    Args:
        stored: values from the store, by key.
        environ: the environment.
        plugins: the settings of plugins.
        is_thorough: import the models that have their own validators.

    Raises:
        PluginError: such a model cannot be imported.
    """
    from oneclaw_core.config.core_settings import CORE_SETTINGS

    states = []
    for settings in (CORE_SETTINGS, *plugins):
        model = settings.for_checking() if is_thorough else settings.loaded
        states += [
            _state(field, model, stored, environ, settings.plugin) for field in settings.fields if not field.is_secret
        ]
    return states


def _state(
    field: SettingField,
    model: type[BaseModel] | None,
    stored: Mapping[str, Any],
    environ: Mapping[str, str],
    plugin: str | None,
) -> SettingState:
    # One setting at a time, so that one which does not fit hides no other.
    given = given_values((field,), stored, environ).get(field.name)
    value, source, problem = field.default, "default", missing(field) if field.is_required else None
    if given is not None:
        value, source, problem = given.value, given.source, _problem(field, model, given)
    return SettingState(field.key, value, field.default, source, field.description, problem, plugin, field.is_user_only)


def _problem(field: SettingField, model: type[BaseModel] | None, given: GivenValue) -> str | None:
    if model is not None:
        fault = faults_of(model, {field.name: given.value}).get(field.name)
    else:
        fault = field.fault(given.value)
    return None if fault is None else f"{given.about} is invalid: {fault}"


class SettingService:
    """Reads and changes the settings.

    Args:
        store: where they are stored.
        environ: the environment, which goes before what is stored.
        models_of_plugins: returns the settings of plugins.
        installed: the names of the installed plugins.
        stored_secrets: returns the names in the secret store.
    """

    def __init__(
        self,
        store: Store,
        environ: Mapping[str, str],
        models_of_plugins: Callable[[], Iterable[SettingsModel]] = tuple,
        installed: Iterable[str] = (),
        stored_secrets: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._store = store
        self._environ = environ
        self._models_of_plugins = models_of_plugins
        self._installed = frozenset(installed)
        self._stored_secrets = stored_secrets

    async def list(self) -> list[SettingState]:
        """Describe every setting."""
        return setting_states(await self._store.settings(), self._environ, self._models_of_plugins())

    async def get(self, key: str) -> SettingState:
        """Describe one setting.

        Raises:
            NotFoundError: there is no such setting.
            UsageError: it is a secret.
        """
        self.find(key)
        return next(state for state in await self.list() if state.key == key)

    async def secrets(self) -> tuple[SettingState, ...]:
        """Describe the secrets of plugins: their source says whether they are set; their values are not read.

        Raises:
            OneClawError: the secret store is open to others or damaged.
        """
        stored = await run_in_thread(self._stored_secrets)
        states = []
        for settings in self._models_of_plugins():
            for each in filter(lambda each: each.is_secret, settings.fields):
                source = "stored" if secret_key(settings.plugin or "", each.name) in stored else "default"
                if self._environ.get(each.variable):
                    source = f"environment {each.variable}"
                states.append(
                    SettingState(each.key, None, None, source, each.description, plugin=settings.plugin, is_secret=True)
                )
        return tuple(states)

    async def for_setup(self) -> tuple[SettingState, ...]:
        """Describe the settings of plugins that are asked for at set-up; those that are secrets, too.

        A field is asked for with ``json_schema_extra={"setup": True}``, or only for some values of other fields with
        ``json_schema_extra={"setup": {"backend": ["brave", "tavily"]}}``.
        """
        states = {each.key: each for each in (*await self.list(), *await self.secrets())}
        asked = [field for each in self._models_of_plugins() for field in each.fields if field.is_for_setup]
        conditions = {each.key: each.schema["setup"] for each in asked}
        return tuple(
            replace(states[key], setup_condition=said if isinstance(said, dict) else {})
            for key, said in conditions.items()
        )

    def check(self, key: str, value: str) -> Any:
        """Refuse what :meth:`set` would refuse.

        Returns:
            The value in the form in which it is stored.

        Raises:
            NotFoundError: there is no such setting.
            SettingsError: the value does not fit.
            UsageError: it is a secret.
            PluginError: the plugin, whose own code checks the value, cannot be imported.
        """
        field, settings = self.find(key)
        return check_value(field, value, settings.for_checking())

    async def set(self, key: str, value: str) -> SettingState:
        """Store a value for a setting.

        Raises:
            NotFoundError: there is no such setting.
            SettingsError: the value does not fit.
            UsageError: it is a secret.
            PluginError: the plugin, whose own code checks the value, cannot be imported.
        """
        await self._store.set_setting(key, self.check(key, value))
        return await self.get(key)

    async def unset(self, key: str) -> bool:
        """Take a setting back to its default, or remove what is stored for a plugin that has no such setting.

        Returns:
            Whether it was set.

        Raises:
            NotFoundError: there is no such setting.
            UsageError: it is a secret.
        """
        removed = [key]
        if plugin_of(key) is None or key not in await self._store.settings():
            field, _ = self.find(key)
            # What an earlier version stored counts as long as it is there.
            removed += field.aliases
        return any([await self._store.remove_setting(each) for each in removed])

    def find(self, key: str) -> tuple[SettingField, SettingsModel]:
        """Find a setting, and the model that it belongs to.

        Raises:
            NotFoundError: there is none; with those that are much like it.
            UsageError: it is a secret.
        """
        from oneclaw_core.config.core_settings import CORE_SETTINGS

        models = (CORE_SETTINGS, *self._models_of_plugins())
        known = {field.key: (field, settings) for settings in models for field in settings.fields}
        if key not in known:
            if renamed := keys_now(key):
                raise NotFoundError(f"the setting {key} is named {renamed} now")
            plugin = plugin_of(key)
            if plugin is not None and plugin not in self._installed:
                raise NotFoundError(
                    f"the plugin {plugin} of the setting {key!r} is not installed: {how_to_install(plugin)}"
                )
            raise NotFoundError(unknown_name("setting", key, known, "oneclaw config list", {}))
        if known[key][0].is_secret:
            raise UsageError(f"{key} is a secret, which is never shown: set it with: oneclaw keys set {key}")
        return known[key]
