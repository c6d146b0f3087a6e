"""What services say about their models, kept for a day."""

import asyncio
import stat
import time
from dataclasses import replace

import pytest

from oneclaw_core import ProviderError
from oneclaw_core.config.models import FRESH_SECONDS, ModelList, ModelLists
from oneclaw_core.errors import ProviderRequestError, ProviderUnavailableError
from oneclaw_core.home import Home
from oneclaw_core.providers import ModelInfo, ProviderConfig

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
    assert lists.known_model(CONFIG, "small") is None
    lists.save(CONFIG, MODELS)
    assert lists.known_model(CONFIG, "library/big:7b") == MODELS[1]
    assert lists.known_model(CONFIG, "other") is None


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
        assert lists.known_model(config, "small") == MODELS[0]
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
    asyncio.run(lists.fetch(ProviderConfig("offline", "offline"), Service(MODELS), 5))
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
