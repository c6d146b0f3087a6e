"""What a user can set, and where a value comes from."""

import pytest

from oneclaw_core import NotFoundError, SettingsError
from oneclaw_core.config.core_settings import Settings
from oneclaw_core.config.setting_fields import CORE_DEFAULTS
from oneclaw_core.config.settings import SettingService, read_settings, validated_settings

pytestmark = pytest.mark.lowest_versions


def test_the_environment_comes_before_the_store_and_the_store_before_the_default():
    stored = {"turn_max_tool_rounds": 7, "session_wait_seconds": 5, "provider:box": {"type": "x"}}
    settings = read_settings(stored, {"ONECLAW_TURN_MAX_TOOL_ROUNDS": "9", "ONECLAW_TURN_DEADLINE_SECONDS": ""})
    assert settings.turn_max_tool_rounds == 9
    assert settings.session_wait_seconds == 5
    assert settings.turn_deadline_seconds == 3600


def test_the_defaults_are_known_without_the_model():
    assert list(Settings().model_dump().items()) == list(CORE_DEFAULTS.items())
    defaults = read_settings({}, {})
    assert {name: getattr(defaults, name) for name in CORE_DEFAULTS} == CORE_DEFAULTS
    assert validated_settings({}, {}) == Settings()


def test_every_setting_has_a_meaning():
    for key, field in Settings.model_fields.items():
        assert field.description, key


@pytest.mark.parametrize(
    ("stored", "environ", "source"),
    [
        ({"turn_max_tool_rounds": 0}, {}, r"the setting turn_max_tool_rounds \(oneclaw config unset"),
        ({"model": "no-provider"}, {}, "the setting model"),
        ({}, {"ONECLAW_SESSION_WAIT_SECONDS": "soon"}, "the environment variable ONECLAW_SESSION_WAIT_SECONDS"),
        ({"disabled_plugins": 7}, {}, "the setting disabled_plugins"),
    ],
)
def test_a_value_that_does_not_fit_says_where_it_comes_from(stored, environ, source):
    with pytest.raises(SettingsError, match=source):
        read_settings(stored, environ)


@pytest.fixture
def check():
    return SettingService(None, {}).check


def test_what_a_user_types_is_stored_in_its_own_type(check):
    assert check("turn_max_tool_rounds", "12") == 12
    assert check("disabled_plugins", "pdf, acme") == ["pdf", "acme"]
    assert check("model", "offline/rules") == "offline/rules"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("nonsense", "1", "there is no setting 'nonsense'"),
        ("turn_max_tool_rounds", "-1", "turn_max_tool_rounds cannot be '-1'"),
        ("model", "rules", "PROVIDER/MODEL"),
        ("tool_result_max_characters", "many", "cannot be 'many'"),
    ],
)
def test_what_a_user_types_is_checked(check, key, value, message):
    with pytest.raises((SettingsError, NotFoundError), match=message):
        check(key, value)


def test_settings_are_read_as_they_are_now():
    environ = {}
    assert read_settings({"turn_max_tool_rounds": 7, "provider:box": {}}, environ).turn_max_tool_rounds == 7
    assert read_settings({"turn_max_tool_rounds": 8}, environ).turn_max_tool_rounds == 8
    environ["ONECLAW_TURN_MAX_TOOL_ROUNDS"] = "9"
    assert read_settings({"turn_max_tool_rounds": 8}, environ).turn_max_tool_rounds == 9
    with pytest.raises(SettingsError, match="the setting model"):
        read_settings({"model": "no-provider"}, environ)
    assert read_settings({}, environ) == Settings(turn_max_tool_rounds=9)
