"""The keys of model services and the variables of the user's own tools: where they lie, and who can read them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import stat
import subprocess
import threading

import keyring.errors
import pytest
from hypothesis import given
from hypothesis import strategies as st
from system_keyrings import ForgetfulKeyring, MemoryKeyring, system_keyring

from oneclaw_core.config.keys import (
    MAX_KEY_CHARACTERS,
    MAX_VALUE_CHARACTERS,
    EnvironmentVariables,
    KeySource,
    KeyStore,
    check_key,
)
from oneclaw_core.errors import OneClawError, SettingsError, UsageError
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.providers.known import KnownProviders, PreconfiguredProvider
from oneclaw_core.secrets import store as module
from oneclaw_core.secrets.redaction import REDACTED, redact
from oneclaw_core.system.home import Home, find_home

pytestmark = pytest.mark.lowest_versions

KEY = "sk-canary-0123456789"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home", "")


@pytest.fixture
def store(home):
    return KeyStore(home, {})


@pytest.fixture
def keys_file(home):
    return home.path / "keys.json"


@pytest.fixture
def memory():
    with system_keyring(MemoryKeyring()) as backend:
        yield backend


def test_a_new_home_has_no_keys_and_is_not_made(store, home):
    assert (store.get("openai"), store.source("openai"), store.stored()) == (None, None, {})
    assert not home.path.exists()


def test_without_a_keyring_a_key_goes_into_a_file_for_its_owner_alone(store, home, keys_file):
    assert store.set("openai", KEY) is KeySource.FILE
    assert stat.S_IMODE(keys_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert sorted(path.name for path in home.path.iterdir()) == ["keys.json", "locks", "logs", "workspace"]
    again = KeyStore(home, {})
    assert (again.get("openai"), again.source("openai")) == (KEY, KeySource.FILE)


def test_the_environment_goes_before_what_is_stored(store, home):
    store.set("anthropic", KEY)
    of_environment = KeyStore(home, {"ANTHROPIC_API_KEY": "sk-of-the-environment"})
    assert of_environment.get("anthropic") == "sk-of-the-environment"
    assert of_environment.source("anthropic") is KeySource.ENVIRONMENT
    assert of_environment.stored() == {"anthropic": KeySource.FILE}
    assert KeyStore(home, {"ANTHROPIC_API_KEY": ""}).get("anthropic") == KEY


def test_with_a_key_in_the_environment_the_file_is_not_even_read(home, keys_file):
    home.create()
    keys_file.write_text("{")
    assert KeyStore(home, {"OPENAI_API_KEY": "k"}).get("openai") == "k"


def test_a_key_goes_into_the_system_keyring_and_not_into_the_file(store, home, keys_file, memory):
    assert store.set("openai", KEY) is KeySource.KEYRING
    ((service, account),) = memory.passwords
    assert service == "oneclaw"
    assert account.startswith("openai-")
    assert KEY not in keys_file.read_text()
    again = KeyStore(home, {})
    assert (again.get("openai"), again.source("openai")) == (KEY, KeySource.KEYRING)


def test_the_keyring_is_asked_once_and_only_for_what_it_has(store, home, memory):
    store.set("openai", KEY)
    store.set("gemini", KEY, in_file=True)
    memory.asked = 0
    fresh = KeyStore(home, {"OPENAI_API_KEY": "sk-of-the-environment"})
    assert fresh.get("openai") == "sk-of-the-environment"
    assert (fresh.get("gemini"), fresh.get("anthropic"), fresh.source("openai")) == (KEY, None, KeySource.ENVIRONMENT)
    assert memory.asked == 0
    stored = KeyStore(home, {})
    assert stored.source("openai") is KeySource.KEYRING
    assert memory.asked == 0
    assert [stored.get("openai") for _ in range(3)] == [KEY] * 3
    assert memory.asked == 1


def test_a_file_is_used_if_that_is_wanted(store, memory):
    assert store.set("openai", KEY, in_file=True) is KeySource.FILE
    assert memory.passwords == {}


def test_a_key_that_is_set_anew_takes_the_place_of_the_old_one(store, home, memory):
    reader = KeyStore(home, {})
    store.set("openai", KEY)
    assert reader.get("openai") == KEY
    store.set("openai", "sk-the-new-one")
    assert reader.get("openai") == "sk-the-new-one"
    assert list(memory.passwords.values()) == ["sk-the-new-one"]
    store.set("openai", "sk-the-newest-one", in_file=True)
    assert reader.get("openai") == "sk-the-newest-one"
    assert memory.passwords == {}


@pytest.mark.parametrize("in_file", [True, False])
def test_a_removed_key_is_gone(store, home, keys_file, memory, in_file):
    store.set("openai", KEY, in_file=in_file)
    store.set("gemini", "sk-that-stays", in_file=True)
    assert store.remove("openai") is (KeySource.FILE if in_file else KeySource.KEYRING)
    assert (store.get("openai"), store.get("gemini")) == (None, "sk-that-stays")
    assert memory.passwords == {}
    assert KEY not in keys_file.read_text()
    assert store.remove("openai") is None


def test_two_homes_do_not_share_keys(store, tmp_path, memory):
    other = KeyStore(Home(tmp_path / "other", ""), {})
    store.set("openai", KEY)
    other.set("openai", "sk-of-the-other")
    other.remove("openai")
    assert store.get("openai") == KEY


def test_a_keyring_that_keeps_nothing_is_none(store):
    with system_keyring(ForgetfulKeyring()):
        assert store.set("openai", KEY) is KeySource.FILE
    assert store.get("openai") == KEY


def test_a_keyring_that_cannot_be_chosen_is_none(store, monkeypatch):
    monkeypatch.setattr(keyring, "get_keyring", lambda: 1 / 0)
    assert store.set("openai", KEY) is KeySource.FILE


def test_without_the_package_keyring_a_file_is_used(store, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    assert store.set("openai", KEY) is KeySource.FILE


def test_a_keyring_that_refuses_is_no_reason_to_put_a_key_into_a_file(store, keys_file, memory):
    memory.refusal = keyring.errors.KeyringLocked(f"not with {KEY}")
    with pytest.raises(OneClawError, match=r"the system keyring refused \(KeyringLocked: .*unlock it") as caught:
        store.set("openai", KEY)
    assert KEY not in str(caught.value)
    assert not keys_file.exists()


def test_a_stored_key_that_cannot_be_read_names_the_way_around(store, home, memory):
    store.set("openai", KEY)
    memory.refusal = keyring.errors.InitError("no")
    with pytest.raises(OneClawError, match="OPENAI_API_KEY"):
        KeyStore(home, {}).get("openai")
    memory.refusal = None
    memory.passwords.clear()
    with pytest.raises(OneClawError, match="oneclaw keys set openai"):
        KeyStore(home, {}).get("openai")


def test_a_key_that_the_keyring_does_not_delete_is_not_used_any_more(store, memory):
    store.set("openai", KEY)
    memory.refusal = keyring.errors.PasswordDeleteError("no")
    with pytest.raises(OneClawError, match="delete the account openai-"):
        store.remove("openai")
    assert store.get("openai") is None


def test_a_keyring_that_never_answers_is_given_up(store, monkeypatch, memory):
    release = threading.Event()
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(memory, "set_password", lambda *_: release.wait())
    with pytest.raises(OneClawError, match="did not answer within"):
        store.set("openai", KEY)
    release.set()


def test_a_keyring_that_is_being_unlocked_does_not_hold_up_the_event_loop(store, home, memory):
    store.set("openai", KEY)
    unlocked = threading.Event()
    ask = memory.get_password

    def locked(service, account):
        assert unlocked.wait(5)
        return ask(service, account)

    memory.get_password = locked

    async def find():
        task = asyncio.create_task(KeyStore(home, {}).find(ProviderConfig("openai", "openai")))
        await asyncio.sleep(0)
        unlocked.set()
        return await task

    assert asyncio.run(find()) == (KEY,)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_can_use_is_refused_with_the_command_that_closes_it(store, keys_file, mode):
    store.set("openai", KEY)
    keys_file.chmod(mode)
    for use in (store.get, store.source, store.remove, lambda name: store.set(name, KEY)):
        with pytest.raises(OneClawError, match=f"mode {mode:o}") as caught:
            use("openai")
        assert KEY not in str(caught.value)
    command = str(caught.value).partition("close it with: ")[2]
    subprocess.run(shlex.split(command), check=True)
    assert store.get("openai") == KEY


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"keys": []}',
        b'{"keys": {"openai": "sk"}}',
        b'{"keys": {"openai": {}}}',
        b"\xff\xfe",
        b'{"keys": {"openai": {"key": 5}}}',
        b'{"keys": {"openai": {"key": ""}}}',
        b"[" * 50_000,
        b" " * 1_000_001,
    ],
)
def test_a_damaged_file_is_said_to_be_and_left_as_it_is(store, home, keys_file, content):
    home.create()
    keys_file.write_bytes(content)
    keys_file.chmod(0o600)
    for use in (store.get, lambda name: store.set(name, KEY)):
        with pytest.raises(OneClawError, match=r"keys\.json"):
            use("openai")
    assert keys_file.read_bytes() == content


def test_what_is_no_file_is_refused_without_hanging(store, home, keys_file):
    home.create()
    os.mkfifo(keys_file, 0o600)
    with pytest.raises(OneClawError, match="it is not a file"):
        store.get("openai")
    keys_file.unlink()
    keys_file.mkdir(0o700)
    with pytest.raises(OneClawError, match=r"keys\.json"):
        store.get("openai")


def test_a_home_that_cannot_be_made_is_an_error_without_the_key(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OneClawError, match="cannot be used") as caught:
        KeyStore(Home(tmp_path / "file" / "home", ""), {}).set("openai", KEY)
    assert KEY not in str(caught.value)


def test_a_key_that_could_not_be_noted_does_not_stay_in_the_keyring(store, home, keys_file, memory):
    home.create()
    keys_file.write_text("{")
    keys_file.chmod(0o600)
    with pytest.raises(OneClawError, match="is damaged"):
        store.set("openai", KEY)
    assert memory.passwords == {}


def test_keys_that_are_set_at_the_same_time_are_all_kept(store, home):
    names = [f"lab{number}" for number in range(8)]
    threads = [threading.Thread(target=KeyStore(home, {}).set, args=(name, f"sk-{name}")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: store.get(name) for name in names} == {name: f"sk-{name}" for name in names}


def test_a_key_is_redacted_from_when_it_is_set_or_read(store, home):
    store.set("openai", "sk-set-in-this-process")
    assert redact("x sk-set-in-this-process y", {}) == f"x {REDACTED} y"
    file = home.path / "keys.json"
    file.write_text(json.dumps({"keys": {"openai": {"key": "sk-read-from-the-file"}}}))
    assert store.get("openai") == "sk-read-from-the-file"
    assert redact("x sk-read-from-the-file y", {}) == f"x {REDACTED} y"


def test_secrets_of_an_environment_that_is_not_the_programs_own_are_redacted(home):
    KeyStore(home, {"OPENAI_API_KEY": "sk-given-to-open", "DB_PASSWORD": "hush-given-to-open", "LANG": "not-a-secret"})
    text = "sk-given-to-open hush-given-to-open not-a-secret"
    assert redact(text, {}) == f"{REDACTED} {REDACTED} not-a-secret"


def test_no_key_is_logged(store, home, memory, caplog):
    caplog.set_level(logging.DEBUG)
    store.set("openai", KEY)
    store.set("openai", KEY + "-2", in_file=True)
    memory.refusal = keyring.errors.KeyringError(KEY)
    store.remove("openai")
    with pytest.raises(OneClawError):
        store.set("openai", KEY)
    assert KEY not in caplog.text
    assert KEY not in repr(vars(store))


@pytest.mark.parametrize("text", [KEY, f"  {KEY}\r\n", f"\t{KEY}"])
def test_spaces_around_a_key_are_no_part_of_it(text):
    assert check_key(text) == KEY


@pytest.mark.parametrize(
    "text", ["", " \n", "two words", "a\x00b", "a\x1b[200~b", "schlüssel", "a" * (MAX_KEY_CHARACTERS + 1), "a\nb"]
)
def test_what_can_be_no_key_is_refused_without_being_repeated(text):
    with pytest.raises(UsageError) as caught:
        check_key(text)
    assert text.strip()[:9] not in str(caught.value) or not text.strip()


@pytest.mark.long
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=200))
def test_whatever_can_be_a_key_comes_back_as_it_was(tmp_path_factory, key):
    store = KeyStore(Home(tmp_path_factory.getbasetemp() / "any-key", ""), {})
    store.set("lab", check_key(key), in_file=True)
    assert store.get("lab") == key


@pytest.mark.long
@pytest.mark.one_python
def test_more_keys_than_can_be_read_again_are_not_stored(store):
    key, names = "k" * MAX_KEY_CHARACTERS, [f"service_{number}" for number in range(200)]

    def set_all():
        for name in names:
            store.set(name, key, in_file=True)

    with pytest.raises(OneClawError, match="the keys together would take more than 1 MB"):
        set_all()

    stored = list(store.stored())
    assert 1 < len(stored) < len(names)
    assert store.remove(stored[0]) is KeySource.FILE
    assert store.set(names[-1], key, in_file=True) is KeySource.FILE


@pytest.fixture
def variables(tmp_path):
    return EnvironmentVariables(find_home({}, tmp_path / "home"))


def test_a_variable_is_set_changed_and_removed(variables, tmp_path):
    assert variables.set("WEATHER_TOKEN", "first-value-of-it") is False
    assert variables.set("WEATHER_TOKEN", "second-value-of-it") is True
    variables.set("CITY", "")

    assert variables.names() == ["CITY", "WEATHER_TOKEN"]
    assert variables.values() == {"CITY": "", "WEATHER_TOKEN": "second-value-of-it"}
    assert stat.S_IMODE((tmp_path / "home" / "environment.json").stat().st_mode) == 0o600
    assert variables.remove("CITY") is True
    assert variables.remove("CITY") is False
    assert variables.names() == ["WEATHER_TOKEN"]


def test_a_value_is_a_secret_from_then_on(variables):
    variables.set("TOKEN_OF_IT", "a-rather-secret-value-1234567890")

    assert "a-rather-secret" not in redact("it is a-rather-secret-value-1234567890!")


@pytest.mark.parametrize("name", ["", "1A", "A B", "A=B", "Ä", "A\n", "A" * 129])
def test_what_is_no_name_is_refused(variables, name):
    with pytest.raises(UsageError, match="not a valid name for a variable"):
        variables.set(name, "value")
    assert variables.names() == []


@pytest.mark.parametrize("value", ["\0", "x" * (MAX_VALUE_CHARACTERS + 1)])
def test_what_is_no_value_is_refused(variables, value):
    with pytest.raises(UsageError, match="a value has at most"):
        variables.set("NAME", value)


def test_a_variable_that_is_not_set_is_told(variables):
    assert variables.remove("NAME") is False


def test_a_damaged_file_is_told_and_left_alone(variables, tmp_path):
    variables.set("NAME", "value")
    path = tmp_path / "home" / "environment.json"
    path.write_text('{"variables": {"NAME": 5}}')

    with pytest.raises(OneClawError, match="is damaged"):
        variables.set("OTHER", "value")
    assert path.read_text() == '{"variables": {"NAME": 5}}'


def test_nothing_is_lost_where_many_set_at_once(variables):
    threads = [threading.Thread(target=variables.set, args=(f"NAME_{number}", "v")) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(variables.names()) == 12


def test_what_is_stored_can_always_be_read_again(variables):
    value = "\N{OK HAND SIGN}" * MAX_VALUE_CHARACTERS
    names = [f"VARIABLE_{number}" for number in range(20)]

    def set_all():
        for name in names:
            variables.set(name, value)

    with pytest.raises(UsageError, match="together would take more than 4 MB: remove one first"):
        set_all()

    stored = variables.names()
    assert 1 < len(stored) < len(names)
    assert variables.remove(stored[0]) is True
    assert variables.set(names[-1], value) is False


def lab(url, **said):
    return ProviderConfig("lab", "openai_compatible", url, **said)


def test_a_key_is_for_the_scheme_host_and_port_that_it_was_set_for(store):
    store.set("lab", KEY, place="https://lab.example:443")

    assert asyncio.run(store.find(lab("https://lab.example/v2"))) == (KEY,)
    for url in ("http://lab.example/v1", "https://lab.example:8443/v1", "https://evil.example/v1"):
        with pytest.raises(SettingsError, match=r"set for https://lab\.example:443.*oneclaw keys set lab"):
            asyncio.run(store.find(lab(url)))


def test_a_key_of_an_earlier_version_is_for_the_address_of_its_first_use(store, home):
    store.set("lab", KEY)

    assert asyncio.run(store.find(lab("https://lab.example/v1"))) == (KEY,)
    again = KeyStore(home, {})
    with pytest.raises(SettingsError, match="set for https://lab"):
        asyncio.run(again.find(lab("https://evil.example/v1")))
    assert asyncio.run(again.find(lab("https://lab.example/v1"))) == (KEY,)


def test_a_key_of_an_earlier_version_is_for_no_address_that_a_tool_chose(store):
    store.set("lab", KEY)

    with pytest.raises(SettingsError, match="before a tool changed its address"):
        asyncio.run(store.find(lab("https://evil.example/v1", takes_environment_key=False)))


def test_a_key_of_an_earlier_version_for_a_vendor_is_for_the_vendor(home):
    known = KnownProviders({"openai": PreconfiguredProvider("openai", "openai")})
    store = KeyStore(home, {}, known)
    store.set("openai", KEY)

    with pytest.raises(SettingsError, match="set for openai, and openai is at https://proxy"):
        asyncio.run(store.find(ProviderConfig("openai", "openai", "https://proxy.example/v1")))
    assert asyncio.run(store.find(ProviderConfig("openai", "openai"))) == (KEY,)
