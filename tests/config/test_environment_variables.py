"""Environment variables of the user's own tools."""

import stat
import threading

import pytest

from oneclaw_core.config.keys import MAX_VALUE_CHARACTERS, EnvironmentVariables
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.home import find_home
from oneclaw_core.secrets.redaction import redact


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
    with pytest.raises(UsageError, match="no name for a variable"):
        variables.set(name, "value")
    assert variables.names() == []


@pytest.mark.parametrize("value", ["\0", "x" * (MAX_VALUE_CHARACTERS + 1)])
def test_what_is_no_value_is_refused(variables, value):
    with pytest.raises(UsageError, match="a value has at most"):
        variables.set("NAME", value)


def test_a_variable_that_is_not_set_is_told(variables):
    with pytest.raises(NotFoundError, match="oneclaw env list"):
        variables.require("NAME")


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
