"""The tools for agents, settings, environment variables and tool states."""

import sys

import pytest
from how_long import some

POET = ("create_agent", {"name": "Poet", "system_prompt": "You write poems. " * 20})


# The plugin agents makes the agent.
@pytest.mark.one_python
@pytest.mark.parametrize(
    ("name", "arguments", "error_type"),
    some(
        [
            ("update_agent", {"agent_id": "General Assistant", "description": "x"}, "permission_denied"),
            ("delete_agent", {"agent_id": "General Assistant"}, "permission_denied"),
            ("update_agent", {"agent_id": "nobody", "name": "x"}, "not_found"),
            ("delete_agent", {"agent_id": "nobody"}, "not_found"),
            ("update_agent", {"agent_id": " "}, "validation_error"),
            ("update_agent", {"agent_id": "Poet", "name": "x" * 101}, "validation_error"),
            ("update_agent", {"agent_id": "Poet", "system_prompt": "x" * 50_001}, "validation_error"),
            ("update_agent", {"agent_id": "Poet", "preferred_provider_id": "offline"}, "validation_error"),
            (
                "update_agent",
                {"agent_id": "Poet", "preferred_provider_id": "nobody", "preferred_model_id": "x"},
                "not_found",
            ),
            ("update_agent", {"agent_id": "Poet", "name": "General Assistant"}, "update_failed"),
        ],
        3,
    ),
)
def test_errors_of_the_agent_tools(talk, name, arguments, error_type):
    _, refused, listed = talk(POET, (name, arguments), ("list_agents", {}))

    assert refused.error_type == error_type
    assert "- Poet (id" in listed.result


@pytest.mark.long
@pytest.mark.lowest_versions
def test_a_setting_is_read_and_changed(talk):
    unknown, before, changed, after = talk(
        ("get_config", {"key": "whatever"}),
        ("get_config", {"key": "turn_max_tool_rounds"}),
        ("set_config", {"key": "turn_max_tool_rounds", "value": " 7 "}),
        ("get_config", {"key": "turn_max_tool_rounds"}),
    )

    assert unknown.result.startswith("'whatever' is not set")
    assert "- turn_max_tool_rounds: how many rounds" in unknown.result
    assert before.result.startswith("turn_max_tool_rounds is 200 (source: default; default: 200).")
    assert changed.result == "turn_max_tool_rounds is 7; it was 200."
    assert after.result.startswith("turn_max_tool_rounds is 7 (source: stored")
    assert talk.asked == [("config.write", "change the setting turn_max_tool_rounds from 200 to 7")]


def test_the_environment_goes_before_a_setting_and_that_is_said(talk):
    talk.environ = {"ONECLAW_TURN_MAX_TOOL_ROUNDS": "5"}

    (changed,) = talk(("set_config", {"key": "turn_max_tool_rounds", "value": "7"}))

    assert "environment ONECLAW_TURN_MAX_TOOL_ROUNDS goes before it: the value in force is 5" in changed.result


@pytest.mark.lowest_versions
@pytest.mark.parametrize(
    ("key", "value"), [("turn_max_tool_rounds", "many"), ("nothing", "1"), ("", "1"), ("model", " "), ("model", "x")]
)
def test_what_does_not_fit_a_setting_is_refused(talk, key, value):
    (refused,) = talk(("set_config", {"key": key, "value": value}))

    assert refused.error_type == "validation_error"
    assert talk.asked == []


WEATHER = """
from pydantic import BaseModel, Field, SecretStr
from oneclaw_core import hookimpl

class Settings(BaseModel):
    units: str = Field("celsius", description="the unit of temperatures")
    may_pay: bool = Field(False, json_schema_extra={"user_only": True})
    api_key: SecretStr | None = None

@hookimpl
def register_settings(register):
    register(Settings)
"""


@pytest.fixture
def weather(tmp_path, monkeypatch):
    """A plugin with settings."""
    info = tmp_path / "site" / "weather-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[oneclaw]\nweather = weather_with_settings\n")
    (tmp_path / "site" / "weather_with_settings.py").write_text(WEATHER)
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield
    sys.modules.pop("weather_with_settings", None)


@pytest.mark.usefixtures("weather")
def test_settings_of_plugins_are_read_and_changed_alike(talk):
    listed, changed, after, protected, secret = talk(
        ("get_config", {"key": "whatever"}),
        ("set_config", {"key": "weather.units", "value": "kelvin"}),
        ("get_config", {"key": "weather.units"}),
        ("set_config", {"key": "weather.may_pay", "value": "true"}),
        ("get_config", {"key": "weather.api_key"}),
    )

    assert "- weather.units: the unit of temperatures" in listed.result
    assert "weather.api_key" not in listed.result
    assert changed.result == "weather.units is kelvin; it was celsius."
    assert after.result.startswith("weather.units is kelvin (source: stored; default: celsius).")
    assert talk.asked == [("config.write", "change the setting weather.units from celsius to kelvin")]
    assert protected.error_type == "permission_denied"
    assert "oneclaw keys set weather.api_key" in secret.error_message


@pytest.mark.lowest_versions
def test_an_environment_variable_is_set_listed_and_deleted_without_being_shown(talk):
    secret = "the-secret-of-the-weather-service"
    nothing, made, listed, changed, deleted, again = talk(
        ("manage_env_var", {"action": "list"}),
        ("manage_env_var", {"action": "set", "key": "WEATHER_TOKEN", "value": secret}),
        ("manage_env_var", {"action": "list"}),
        ("manage_env_var", {"action": "set", "key": "WEATHER_TOKEN", "value": ""}),
        ("manage_env_var", {"action": "delete", "key": "WEATHER_TOKEN"}),
        ("manage_env_var", {"action": "delete", "key": "WEATHER_TOKEN"}),
    )

    assert nothing.result == "No environment variable is set."
    assert made.result.startswith("WEATHER_TOKEN is set")
    assert listed.result == "- WEATHER_TOKEN = ****"
    assert changed.result.startswith("WEATHER_TOKEN is changed")
    assert (deleted.result, again.result) == ("WEATHER_TOKEN is deleted.", "WEATHER_TOKEN is not set.")
    assert secret not in str(talk.asked)


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "set", "value": "x"},
        {"action": "set", "key": "A"},
        {"action": "set", "key": "A B", "value": "x"},
        {"action": "delete"},
        {"action": "show", "key": "A"},
    ],
)
def test_errors_of_the_environment_tool(talk, arguments):
    (refused,) = talk(("manage_env_var", arguments))

    assert refused.error_type == "validation_error"


def test_a_tool_and_a_group_are_switched_and_hold_at_once(talk):
    off, call, states, on, back, group_off, grouped, group_on = talk(
        ("set_tool_enabled", {"name": "get_current_time", "enabled": False}),
        ("get_current_time", {}),
        ("list_tool_states", {}),
        ("set_tool_enabled", {"name": "get_current_time", "enabled": True}),
        ("get_current_time", {}),
        ("set_tool_enabled", {"name": "list_providers", "enabled": False, "type": "tool"}),
        ("list_providers", {}),
        ("set_tool_enabled", {"name": "list_providers", "enabled": True}),
    )

    assert off.result == "The tool get_current_time is disabled."
    assert call.error_type == "not_available"
    assert "  - get_current_time: disabled" in states.result
    assert on.is_success
    assert back.is_success
    assert group_off.is_success
    assert grouped.error_type == "not_available"
    assert group_on.is_success


@pytest.mark.parametrize(
    ("arguments", "error_type"),
    some(
        [
            ({"name": "load_tool_group", "enabled": False}, "permission_denied"),
            ({"name": "set_tool_enabled", "enabled": False}, "permission_denied"),
            ({"name": "list_tool_states", "enabled": False}, "permission_denied"),
            ({"name": "config", "enabled": False, "type": "group"}, "permission_denied"),
            ({"name": "no_such_tool", "enabled": False}, "not_found"),
            ({"name": "no_such_group", "enabled": False, "type": "group"}, "not_found"),
            ({"name": "config", "enabled": False}, "validation_error"),
            ({"name": "", "enabled": False}, "validation_error"),
        ],
        8,
    ),
)
def test_no_one_is_locked_out(talk, arguments, error_type):
    refused, states = talk(("set_tool_enabled", arguments), ("list_tool_states", {}))

    assert refused.error_type == error_type
    assert "disabled" not in states.result
    assert talk.asked == []


def test_a_group_that_is_taken_for_a_tool_is_refused_with_what_to_give_instead(talk):
    (refused,) = talk(("set_tool_enabled", {"name": "config", "enabled": True}))
    assert refused.error_message == "The name 'config' is that of a tool group, not of a tool: give the type group"


@pytest.mark.long
def test_the_group_is_declared_without_importing_its_functions():
    import subprocess
    import sys

    code = (
        "import sys; from oneclaw_core.plugins.loading import load_plugins; c = load_plugins();"
        "names = c.registry.get_tool_groups()['config'];"
        "print(len(names), 'oneclaw_config.providers' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "17 False\n"
