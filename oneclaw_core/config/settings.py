"""OneClaw's own settings, and the values of settings: find them, validate them, and keep those of a plugin current."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from oneclaw_core.config.setting_fields import CORE_DEFAULTS, SettingField, SettingsModel, secret_key, variable_of
from oneclaw_core.errors import NotFoundError, OneClawError, PluginError, SettingsError, UsageError, describe_error
from oneclaw_core.secrets.redaction import remember_secret
from oneclaw_core.shipped.missing import how_to_install, keys_now, plugin_of, unknown_name
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from pydantic import BaseModel, ValidationError

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.sessions.store import Store


Model = TypeVar("Model", bound="BaseModel")

_DEFAULTS = SimpleNamespace(**CORE_DEFAULTS)


class GivenValue(NamedTuple):
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
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, GivenValue]:
    """Find what is set, by the names of the fields: in the environment, else in the store."""
    found = {each.name: _given_value(each, stored, environ, secrets) for each in fields}
    return {name: given for name, given in found.items() if given is not None}


def _given_value(
    field: SettingField, stored: Mapping[str, Any], environ: Mapping[str, str], secrets: Mapping[str, str]
) -> GivenValue | None:
    variable = field.variable
    if text := environ.get(variable):
        return GivenValue(field.parse(text), f"environment {variable}", f"the environment variable {variable}")
    if field.is_secret:
        about = f"the secret {field.key} (oneclaw keys set {field.key})"
        return GivenValue(secrets[field.key], "secret store", about) if field.key in secrets else None
    for key in (field.key, *field.aliases):
        if key in stored:
            return GivenValue(stored[key], "stored", f"the setting {key} (oneclaw config unset {key})")
    return None


def read_model(model: type[Model], fields: Iterable[SettingField], given: Mapping[str, GivenValue]) -> Model:
    """Validate values and make an instance of their model.

    Raises:
        SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
    """
    from pydantic import ValidationError

    values = {name: each.value for name, each in given.items()}
    try:
        return model.model_validate(values, by_alias=False, by_name=True)
    except ValidationError as error:
        name, fault = next(iter(_faults(error).items()))
        for field in fields:
            if field.name == name and name not in given:
                raise SettingsError(missing(field)) from None
        where = given[name].about if name in given else "a setting"
        raise SettingsError(f"{where} is invalid: {fault}") from None
    except Exception as error:  # a validator of a plugin is foreign code
        raise SettingsError(f"the settings cannot be validated: {_raised(model, error)}") from error


def missing(field: SettingField) -> str:
    """Say that a required setting is not set, and how to set it."""
    command = f"oneclaw keys set {field.key}" if field.is_secret else f"oneclaw config set {field.key} VALUE"
    return f"{field.key} is not set; set it in the environment variable {field.variable} or with: {command}"


def check_value(settings: SettingsModel, field: SettingField, text: str) -> Any:
    """Check a value that the user typed.

    Returns:
        The value in the form in which it is stored.

    Raises:
        SettingsError: the value does not fit.
        PluginError: the model cannot be imported.
    """
    value = field.parse(text)
    fault = _fault(settings.load(), field, value)
    if fault is not None:
        raise SettingsError(f"{field.key} cannot be {text!r}: {fault}")
    return value


def _fault(model: type[BaseModel], field: SettingField, value: Any) -> str | None:
    """Say what is wrong with a value by itself; ``None`` for nothing."""
    from pydantic import ValidationError

    try:
        model.model_validate({field.name: value}, by_alias=False, by_name=True)
    except ValidationError as error:
        return _faults(error).get(field.name)
    except Exception as error:  # noqa: BLE001  # a validator of a plugin is foreign code
        return _raised(model, error)
    return None


def _raised(model: type[BaseModel], error: Exception) -> str:
    return f"{model.__name__} raised {describe_error(error)}"


def _faults(error: ValidationError) -> dict[str, str]:
    """Return what is wrong by field, ``""`` for what is wrong with all of them together."""
    found: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        name, *place = map(str, fault["loc"] or ("",))
        found.setdefault(name, f"{'.'.join(place)}: {fault['msg']}" if place else fault["msg"])
    return found


def read_settings(stored: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Return OneClaw's own settings; where none is set, an object with the defaults, which takes no import of pydantic.

    Raises:
        SettingsError: a value is invalid.
    """
    if not any(key in stored or environ.get(variable_of(key)) for key in CORE_DEFAULTS):
        return cast("Settings", _DEFAULTS)
    return validated_settings(stored, environ)


def validated_settings(stored: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Return OneClaw's own settings as an instance of their model; as :func:`read_settings`."""
    from oneclaw_core.config.core_settings import CORE_SETTINGS, Settings

    return read_model(Settings, CORE_SETTINGS.fields, given_values(CORE_SETTINGS.fields, stored, environ))


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
        from asyncio import Lock  # listings import this module, and do without asyncio

        self._lock = Lock()
        self._values: dict[str, Any] | None = None
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
            self._current, self._values = SettingsError(str(error)), before or {}
            return frozenset()
        values = {name: each.value for name, each in given.items()}
        if values == before and not isinstance(self._current, SettingsError):
            return frozenset()
        self._values, self._current = values, None
        if values or any(field.is_required for field in self._settings.fields):
            model = await run_in_thread(self._settings.load)
            try:
                self._current = read_model(model, self._settings.fields, given)
            except SettingsError as error:
                self._current = error
        if before is None:
            return frozenset()
        return frozenset(name for name in {*before, *values} if before.get(name) != values.get(name))

    async def _given(self, stored: Mapping[str, Any]) -> dict[str, GivenValue]:
        fields, secrets = self._settings.fields, {}
        for each in fields:
            if each.is_secret:
                if self._environ.get(each.variable):
                    remember_secret(self._environ[each.variable], f"{each.variable} of {id(self._environ)}")
                elif (value := await self._read_secret(each.name)) is not None:
                    secrets[each.key] = value
        return given_values(fields, stored, self._environ, secrets)


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
    stored: Mapping[str, Any], environ: Mapping[str, str], plugins: Iterable[SettingsModel] = ()
) -> list[SettingState]:
    """Find each setting's value and source; secrets are left out.

    Args:
        stored: values from the store, by key.
        environ: the environment.
        plugins: the settings of plugins; the model of one is imported to check a value that is set.
    """
    from oneclaw_core.config.core_settings import CORE_SETTINGS

    return [
        _state(field, settings, stored, environ)
        for settings in (CORE_SETTINGS, *plugins)
        for field in settings.fields
        if not field.is_secret
    ]


def _state(
    field: SettingField, settings: SettingsModel, stored: Mapping[str, Any], environ: Mapping[str, str]
) -> SettingState:
    # One setting at a time, so that one which does not fit hides no other.
    given = given_values((field,), stored, environ).get(field.name)
    value, source, problem = field.default, "default", missing(field) if field.is_required else None
    if given is not None:
        value, source = given.value, given.source
        try:
            fault = _fault(settings.load(), field, value)
        except PluginError as error:
            fault = str(error)
        problem = None if fault is None else f"{given.about} is invalid: {fault}"
    return SettingState(
        field.key, value, field.default, source, field.description, problem, settings.plugin, field.is_user_only
    )


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
        asked = [field for each in self._models_of_plugins() for field in each.fields if field.schema.get("setup")]
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
        return check_value(settings, field, value)

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
