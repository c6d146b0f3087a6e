"""Find the values of settings, and read them into their model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from oneclaw_core.errors import SettingsError, describe_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.config.settings.fields import SettingField

Model = TypeVar("Model", bound=BaseModel)


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
    """Find what is set, by the names of the fields: in the environment, else in the store.

    Args:
        fields: the settings.
        stored: values from the store, by key; keys of other things are passed over.
        environ: the environment.
        secrets: of the secret store, by key.
    """
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
            key = next((key for key in (field.key, *field.aliases) if key in stored), None)
            if key is not None:
                about = f"the setting {key} (oneclaw config unset {key})"
                found[field.name] = GivenValue(stored[key], "stored", about)
    return found


def faults_of(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, str]:
    """Validate values; return what is wrong by field, ``""`` for what is wrong with all of them together."""
    try:
        model.model_validate(_input(model, values))
    except ValidationError as error:
        return _faults(model, error)
    except Exception as error:  # noqa: BLE001  # a validator of a plugin is foreign code
        return dict.fromkeys(("", *values), _raised(model, error))
    return {}


def read_model(model: type[Model], fields: Iterable[SettingField], given: Mapping[str, GivenValue]) -> Model:
    """Validate values and make an instance of their model.

    Args:
        model: the settings.
        fields: of the model.
        given: what is set.

    Raises:
        SettingsError: a value is invalid or missing; the message says where it comes from and what to do.
    """
    try:
        return model.model_validate(_input(model, {name: each.value for name, each in given.items()}))
    except ValidationError as error:
        name, fault = next(iter(_faults(model, error).items()))
        for field in fields:
            if field.name == name and name not in given:
                raise SettingsError(missing(field)) from None
        where = given[name].about if name in given else "the settings"
        raise SettingsError(f"{where} does not fit: {fault}") from None
    except Exception as error:  # as in faults_of
        raise SettingsError(f"the settings cannot be validated: {_raised(model, error)}") from error


def missing(field: SettingField) -> str:
    """Say that a required setting is not set, and how to set it."""
    command = f"oneclaw keys set {field.key}" if field.is_secret else f"oneclaw config set {field.key} VALUE"
    return f"{field.key} is not set; set it in the environment variable {field.variable} or with: {command}"


def check_value(field: SettingField, text: str, model: type[BaseModel] | None) -> Any:
    """Check a value that the user typed.

    Args:
        field: the setting.
        text: the value.
        model: of the setting; ``None`` to check against its JSON Schema alone.

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


class SettingsReader(Generic[Model]):
    """Reader of settings that validates them only when they have changed.

    Args:
        environ: the environment.
        model: the settings.
        fields: of the model.
    """

    def __init__(self, environ: Mapping[str, str], model: type[Model], fields: tuple[SettingField, ...]) -> None:
        self._environ = environ
        self._model = model
        self._fields = fields
        self._last: tuple[dict[str, Any], Model] | None = None

    def read(self, stored: Mapping[str, Any]) -> Model:
        """Return the settings.

        Args:
            stored: values from the store, by key.

        Raises:
            SettingsError: a value is invalid.
        """
        given = given_values(self._fields, stored, self._environ)
        values = {name: each.value for name, each in given.items()}
        if self._last is None or self._last[0] != values:
            self._last = values, read_model(self._model, self._fields, given)
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
