"""What the user says about a model."""

import pytest

from oneclaw_core import SettingsError
from oneclaw_core.config.models import (
    ModelLists,
    ModelOverrides,
    ModelPrices,
    check_override,
    model_facts,
    model_overrides,
)
from oneclaw_core.home import Home
from oneclaw_core.providers import ModelInfo, ProviderConfig


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("context_window", "128000", 128_000),
        ("max_output_tokens", "1", 1),
        ("input_media_types", "image,pdf", ["image/", "application/pdf"]),
        ("input_media_types", " Images , text/plain ", ["image/", "text/plain"]),
        ("input_media_types", "none", []),
        ("tool_loading", "dispatch", "dispatch"),
        ("input_price", "3", 3.0),
        ("cached_input_price", "0", 0.0),
        ("output_price", "0.15", 0.15),
    ],
)
def test_what_fits_is_stored_as_json_holds_it(key, text, value):
    assert check_override(key, text) == value
    stored = {"model:lab/library/big": {key: value}}
    assert model_overrides(stored, "lab/library/big").document() == {key: value}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("context_window", "0"),
        ("context_window", "many"),
        ("max_output_tokens", "-1"),
        ("max_output_tokens", "1.5"),
        ("input_media_types", "pictures"),
        ("input_media_types", "image/png;q=1"),
        ("tool_loading", "lazy"),
        ("input_price", "-1"),
        ("input_price", "inf"),
        ("cached_input_price", "nan"),
        ("output_price", "1e999"),
        ("output_price", "$3"),
        ("colour", "red"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_does(key, text):
    with pytest.raises(SettingsError, match=r"there are: context_window|cannot be"):
        check_override(key, text)


@pytest.mark.parametrize(
    ("said", "prices", "missing"),
    [
        ({}, None, ()),
        ({"context_window": 5}, None, ()),
        ({"input_price": 3}, None, ("output_price",)),
        ({"output_price": 3}, None, ("input_price",)),
        ({"cached_input_price": 3}, None, ("input_price", "output_price")),
        ({"input_price": 0, "output_price": 0}, ModelPrices(input=0, output=0), ()),
        (
            {"input_price": 3, "cached_input_price": 0.3, "output_price": 15},
            ModelPrices(input=3, cached_input=0.3, output=15),
            (),
        ),
    ],
)
def test_prices_count_when_enough_of_them_are_said(said, prices, missing):
    overrides = ModelOverrides(**said)
    assert (overrides.prices, overrides.missing_prices) == (prices, missing)


def test_nothing_said_leaves_everything_to_the_service():
    info = ModelInfo(name="big", context_window=8192, input_media_types=("image/",))
    assert (
        model_overrides({"model": "lab/big", "model:lab/bigger": {"context_window": 1}}, "lab/big") == ModelOverrides()
    )
    assert ModelOverrides().applied_to(info) == info
    assert ModelOverrides().document() == {}


def test_what_is_said_goes_before_what_the_service_says():
    info = ModelInfo(name="big", display_name="Big", context_window=8192, input_media_types=("image/",))
    said = ModelOverrides(max_output_tokens=5, input_media_types=(), context_window=None, tool_loading="append")
    assert said.applied_to(info) == ModelInfo(
        name="big", display_name="Big", context_window=8192, max_output_tokens=5, input_media_types=()
    )


def test_what_is_known_is_what_the_user_says_else_the_service_else_nothing(tmp_path):
    lists = ModelLists(Home(tmp_path, ""))
    lab = ProviderConfig("lab", "openai_compatible", "https://lab.example/v1")
    lists.save(lab, [ModelInfo(name="big", context_window=8192, max_output_tokens=1024)])
    stored = {"model:lab/big": {"context_window": 4096}, "model:lab/new": {"context_window": 5}}
    assert model_facts(lab, "big", lists, stored) == ModelInfo(name="big", context_window=4096, max_output_tokens=1024)
    assert model_facts(lab, "new", lists, stored) == ModelInfo(name="new", context_window=5)
    assert model_facts(lab, "other", lists, stored) == ModelInfo(name="other")


@pytest.mark.parametrize("value", [5, [], {"context_window": 0}, {"colour": "red"}, {"input_media_types": ["x"]}])
def test_what_is_stored_and_does_not_fit_names_the_way_out(value):
    with pytest.raises(SettingsError, match="oneclaw models unset lab/big"):
        model_overrides({"model:lab/big": value}, "lab/big")
