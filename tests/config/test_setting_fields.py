"""Fields of settings as data: reading texts by their types, and what a model cannot have."""

from contextlib import nullcontext
from enum import StrEnum
from typing import Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field, SecretStr

from oneclaw_core import PluginError, SettingsError
from oneclaw_core.config.setting_fields import SettingsModel, fields_of, schema_of, variable_of
from oneclaw_core.config.settings import check_value

pytestmark = pytest.mark.lowest_versions


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Window(BaseModel):
    width: int


class Many(BaseModel):
    text: str = ""
    whole: int = 1
    number: float = 2
    flag: bool = False
    colour: Colour = Colour.RED
    size: Literal["small", 3] = "small"
    names: list[str] = []
    maybe_names: list[str] | None = None
    numbers: tuple[int, ...] = ()
    weights: dict[str, float] = {}
    window: Window | None = None
    either: int | str = 0
    renamed: str = Field("", validation_alias=AliasChoices("renamed", "old_name"))
    key: SecretStr | None = None
    required: int


FIELDS = {field.name: field for field in fields_of(schema_of(Many), "acme")}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "[1]", "[1]"),
        ("whole", "12", 12),
        ("whole", "twelve", "twelve"),
        ("number", "1", 1.0),
        ("number", "nan", "nan"),
        ("flag", "Yes", True),
        ("flag", "0", False),
        ("flag", "perhaps", "perhaps"),
        ("colour", "blue", "blue"),
        ("size", "3", 3),
        ("size", "large", "large"),
        ("names", "a, b,", ["a", "b"]),
        ("names", '["a, b"]', ["a, b"]),
        ("names", "[a", "[a"),
        ("maybe_names", "a,b", ["a", "b"]),
        ("numbers", "1, 2", [1, 2]),
        ("weights", "a=1, b=2.5", {"a": 1.0, "b": 2.5}),
        ("weights", "a", "a"),
        ("window", '{"width": 3}', {"width": 3}),
        ("window", "wide", "wide"),
        ("either", "3", 3),
        ("either", "three", "three"),
    ],
)
def test_a_text_is_read_by_the_type_of_its_field(name, text, value):
    found = FIELDS[name].parse(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("whole", "12", None),
        ("whole", "twelve", "valid integer"),
        ("colour", "blue", None),
        ("colour", "green", "'red' or 'blue'"),
        ("window", '{"width": 3}', None),
        ("window", '{"width": "wide"}', "width: Input should be a valid integer"),
        ("numbers", '[1, "many"]', "1: Input should be a valid integer"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_with_its_place(name, text, fault):
    settings = SettingsModel("acme", tuple(FIELDS.values()), lambda: Many)
    with nullcontext() if fault is None else pytest.raises(SettingsError, match=fault):
        check_value(settings, FIELDS[name], text)


def test_a_field_knows_its_names():
    renamed = FIELDS["renamed"]
    assert (renamed.key, renamed.variable) == ("acme.renamed", "ONECLAW_ACME_RENAMED")
    assert set(renamed.aliases) == {"acme.renamed", "acme.old_name"}
    assert variable_of("acme-tools.v1.key") == "ONECLAW_ACME_TOOLS_V1_KEY"


def test_secrets_and_required_fields_are_told_apart():
    assert [name for name, field in FIELDS.items() if field.is_secret] == ["key"]
    assert [name for name, field in FIELDS.items() if field.is_required] == ["required"]


class Account(BaseModel):
    user: str
    password: SecretStr


@pytest.mark.parametrize("hint", [Account, list[Account], dict[str, SecretStr], list[SecretStr], Account | None])
def test_a_secret_within_another_value_is_refused(hint):
    class Settings(BaseModel):
        held: hint

    with pytest.raises(PluginError, match="'held' of Settings holds a secret"):
        schema_of(Settings)
