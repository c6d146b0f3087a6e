"""What is known about models: lists of services, what the user says, and what requests cost."""

from __future__ import annotations

import asyncio
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

from oneclaw_core import ProviderError, SettingsError
from oneclaw_core.config.model_overrides import ModelOverrides, check_override, model_overrides
from oneclaw_core.config.model_service import FRESH_SECONDS, ModelList, ModelLists, model_facts
from oneclaw_core.config.prices import ModelPrices, cost_of, load_prices, needs_prices
from oneclaw_core.errors import ProviderRequestError, ProviderUnavailableError
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.providers import ModelInfo, ProviderConfig
from oneclaw_core.system.home import Home
from oneclaw_core.types.messages import TokenUsage

CONFIG = ProviderConfig("lab", "openai_compatible", "https://me:hunter22@lab.example/v1", "sk-canary-0123456789")
MODELS = [
    ModelInfo(name="small"),
    ModelInfo(
        name="library/big:7b",
        display_name="Big",
        context_window=8192,
        max_output_tokens=1024,
        input_media_types=("image/", "application/pdf"),
    ),
    ModelInfo(name="blind", input_media_types=()),
]

pytestmark = pytest.mark.lowest_versions

TOKENS = TokenUsage(input_tokens=1_000_000, output_tokens=1_000_000)

KNOWN = load_plugins(frozenset()).known_providers


class Service:
    """A provider that lists what it is told to."""

    def __init__(self, answer):
        self.answer = answer
        self.config = None
        self.is_closed = False

    def __call__(self, config):
        self.config = config
        return self

    async def list_models(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer

    async def aclose(self):
        self.is_closed = True


def known(lists, config, model):
    """What the kept list of a provider says about a model."""
    kept = lists.load(config)
    return kept and kept.find(model)


@pytest.fixture
def lists(tmp_path):
    return ModelLists(Home(tmp_path / "home", ""))


@pytest.fixture
def file_of(tmp_path):
    return lambda name: tmp_path / "home" / "cache" / "models" / f"{name}.json"


def test_a_list_comes_back_as_it_was(lists, file_of):
    before = time.time()
    lists.save(CONFIG, MODELS)
    kept = lists.load(CONFIG)
    assert kept.models == tuple(MODELS)
    assert before <= kept.fetched_at <= time.time()
    for path in (file_of("lab"), file_of("lab").parent, file_of("lab").parents[2]):
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if path.is_file() else 0o700)


def test_neither_key_nor_password_is_kept(lists, file_of):
    lists.save(CONFIG, MODELS)
    text = file_of("lab").read_text()
    assert "hunter22" not in text
    assert "canary" not in text


def test_a_model_is_looked_up_without_asking_anybody(lists):
    assert known(lists, CONFIG, "small") is None
    lists.save(CONFIG, MODELS)
    assert known(lists, CONFIG, "library/big:7b") == MODELS[1]
    assert known(lists, CONFIG, "other") is None


@pytest.mark.parametrize("change", [{"base_url": "https://else.example"}, {"type": "gemini"}, {"name": "other"}])
def test_the_list_of_one_service_is_not_that_of_another(lists, change):
    lists.save(CONFIG, MODELS)
    assert lists.load(replace(CONFIG, **change)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"service": 1}',
        b"\xff",
        b"[" * 50_000,
        b'{"service": "SERVICE", "models": 5}',
        b'{"service": "SERVICE", "fetched_at": 1, "models": [{"name": "a", "colour": "red"}]}',
    ],
)
def test_a_damaged_file_counts_as_none_and_is_replaced(lists, file_of, content):
    lists.save(CONFIG, [])
    service = file_of("lab").read_text().split('"')[3]
    file_of("lab").write_bytes(content.replace(b"SERVICE", service.encode()))
    assert lists.load(CONFIG) is None
    lists.save(CONFIG, MODELS)
    assert lists.load(CONFIG).models == tuple(MODELS)


@pytest.mark.parametrize(
    ("age_seconds", "is_fresh"), [(0, True), (FRESH_SECONDS - 1, True), (FRESH_SECONDS, False), (-1, False)]
)
def test_a_list_is_fresh_for_a_day_and_not_if_it_is_from_the_future(age_seconds, is_fresh):
    assert ModelList((), 1_000_000.0).is_fresh(1_000_000.0 + age_seconds) is is_fresh


def test_only_what_is_not_on_this_machine_need_not_be_asked_again(lists):
    here = replace(CONFIG, base_url="http://localhost:11434/v1")
    for config in (CONFIG, here):
        lists.save(config, MODELS)
        assert known(lists, config, "small") == MODELS[0]
        assert (lists.fresh(config) is not None) is (config is CONFIG)


def test_what_a_service_says_is_kept(lists):
    service = Service(MODELS)
    fetched = asyncio.run(lists.fetch(CONFIG, service, 7))
    assert fetched.models == lists.load(CONFIG).models == tuple(MODELS)
    assert service.is_closed
    assert (service.config.max_retries, service.config.connect_timeout_seconds) == (0, 7)
    assert service.config.api_key == CONFIG.api_key


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (ProviderRequestError("no"), ProviderRequestError, "no"),
        (ZeroDivisionError("oh"), ProviderError, "lab broke: ZeroDivisionError: oh"),
        (None, ProviderUnavailableError, "lab did not answer within 0 s"),
    ],
)
def test_a_service_that_fails_leaves_what_is_kept(lists, answer, kind, message):
    lists.save(CONFIG, MODELS)
    service = Service(answer)
    with pytest.raises(kind, match=message):
        asyncio.run(lists.fetch(CONFIG, service, 0.01))
    assert service.is_closed
    assert lists.load(CONFIG).models == tuple(MODELS)


def test_the_offline_model_is_not_kept(lists, file_of):
    asyncio.run(lists.fetch(ProviderConfig("offline", "offline", is_local=True), Service(MODELS), 5))
    assert not file_of("offline").exists()


def test_that_a_list_cannot_be_kept_stops_nothing(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    lists = ModelLists(Home(tmp_path / "file", ""))
    assert asyncio.run(lists.fetch(CONFIG, Service(MODELS), 5)).models == tuple(MODELS)
    assert "the list of models of lab cannot be kept" in caplog.text


@pytest.mark.parametrize("name", ["../../x", "..", ".hidden", "/etc/x"])
def test_no_name_leads_out_of_the_directory(lists, tmp_path, name):
    config = replace(CONFIG, name=name)
    lists.save(config, MODELS)
    assert lists.load(config).models == tuple(MODELS)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent for path in files] == [tmp_path / "home" / "cache" / "models"]


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


def provider(type_name: str, base_url: str | None = None) -> ProviderConfig:
    return ProviderConfig(name="p", type=type_name, base_url=base_url, price_vendor=KNOWN.price_vendors.get(type_name))


def test_the_offline_model_costs_nothing_and_needs_no_prices() -> None:
    assert cost_of(provider("offline"), "rules", TokenUsage()) == 0
    assert needs_prices(provider("offline")) is False


@pytest.mark.long
def test_prices_are_read_once_and_only_if_one_is_wanted() -> None:
    load_prices.cache_clear()
    assert needs_prices(provider("openai")) is True
    assert needs_prices(provider("openai"), ModelPrices(input=1, output=1)) is False
    load_prices()
    assert needs_prices(provider("openai")) is False


@pytest.mark.parametrize(
    ("address", "is_needed"),
    [
        ("http://localhost:11434/v1", False),
        ("http://127.0.0.1:8080/v1", False),
        ("http://192.168.1.20/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://gpu.lan/v1", False),
        ("http://[broken", False),
        ("https://api.deepseek.com", True),
        ("https://mine.openai.azure.com/openai/v1", True),
    ],
)
def test_prices_are_not_read_for_a_server_of_the_users_own(address: str, is_needed: bool) -> None:
    load_prices.cache_clear()
    assert needs_prices(provider("openai_compatible", address)) is is_needed


@pytest.mark.parametrize(
    ("config", "model", "dollars"),
    [
        (provider("anthropic"), "claude-sonnet-4-5", 6 + 22.5),
        (provider("anthropic"), "claude-sonnet-4-5-20250929", 6 + 22.5),
        (provider("openai"), "gpt-4o", 2.5 + 10),
        (provider("openai_compatible"), "gpt-4o", 2.5 + 10),
        (provider("openai_compatible", "https://api.openai.com/v1"), "gpt-4o", 2.5 + 10),
        (provider("gemini"), "gemini-2.5-flash", 0.3 + 2.5),
        (provider("gemini"), "models/gemini-2.5-flash", 0.3 + 2.5),
        (provider("anthropic", "https://api.anthropic.com"), "claude-sonnet-4-5", 6 + 22.5),
    ],
)
def test_the_vendors_prices_are_known(config: ProviderConfig, model: str, dollars: float) -> None:
    assert cost_of(config, model, TOKENS) == pytest.approx(dollars)


def test_cached_and_written_tokens_have_their_own_rates() -> None:
    usage = TokenUsage(
        input_tokens=100_000,
        cached_input_tokens=60_000,
        cache_write_tokens=30_000,
        output_tokens=1_000,
        reasoning_tokens=900,
    )
    expected = (10_000 * 3 + 60_000 * 0.3 + 30_000 * 3.75 + 1_000 * 15) / 1_000_000
    assert cost_of(provider("anthropic"), "claude-sonnet-4-5", usage) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (provider("openai"), "a-model-of-tomorrow"),
        (provider("openai"), ""),
        (provider("openai_compatible", "http://localhost:11434/v1"), "llama3.3"),
        (provider("openai_compatible", "http://localhost:11434/v1"), "gpt-4o"),
        (provider("openai_compatible", "https://user:secret@gateway.example/v1"), "gpt-4o"),
        (provider("anthropic", "http://[broken"), "claude-sonnet-4-5"),
        (provider("somebodys_format"), "gpt-4o"),
        # It is listed without any price.
        (provider("gemini"), "gemma-3"),
        # It is listed with a price for input only.
        (provider("openai"), "text-embedding-3-small"),
    ],
)
def test_an_unknown_price_is_unknown(config: ProviderConfig, model: str) -> None:
    assert cost_of(config, model, TOKENS) is None


@pytest.mark.parametrize(
    "usage",
    [
        TokenUsage(),
        TokenUsage(input_tokens=10),
        TokenUsage(output_tokens=10),
        TokenUsage(input_tokens=10, cached_input_tokens=11, output_tokens=1),
        TokenUsage(input_tokens=10, cached_input_tokens=6, cache_write_tokens=6, output_tokens=1),
        TokenUsage(input_tokens=-1, output_tokens=1),
        TokenUsage(input_tokens=1, output_tokens=-1),
    ],
)
@pytest.mark.parametrize("prices", [None, ModelPrices(input=1, output=1)])
def test_numbers_of_tokens_that_are_missing_or_cannot_be_have_no_cost(
    usage: TokenUsage, prices: ModelPrices | None
) -> None:
    assert cost_of(provider("anthropic"), "claude-sonnet-4-5", usage, prices) is None


def test_what_the_user_says_goes_first() -> None:
    local = provider("openai_compatible", "http://localhost:11434/v1")
    usage = TokenUsage(input_tokens=100, cached_input_tokens=50, cache_write_tokens=20, output_tokens=10)

    def cost(**prices: Any) -> float | None:
        return cost_of(local, "llama3.3", usage, ModelPrices(**prices))

    assert cost(input=0, output=0) == 0
    assert cost(input=1, output=10) == pytest.approx(200 / 1e6)
    assert cost(input=1, output=10, cached_input=0.1, cache_write=2) == pytest.approx((30 + 5 + 40 + 100) / 1e6)
    assert cost_of(provider("openai"), "gpt-4o", TOKENS, ModelPrices(input=1, output=1)) == pytest.approx(2)


def test_no_price_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was used")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    load_prices()
    assert cost_of(provider("openai"), "gpt-4o", TOKENS) is not None


@pytest.mark.long
def test_nothing_is_imported_before_a_price_is_wanted() -> None:
    code = "import sys, oneclaw_core.config.prices; print('genai_prices' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


@pytest.mark.long
@pytest.mark.one_python
def test_the_class_of_a_home_is_imported_without_pydantic_and_http() -> None:
    code = (
        "import sys; from oneclaw_core import OneClaw; print(sorted({'pydantic', 'httpx', 'click'} & {*sys.modules}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
