"""Settings and secrets of plugins in an open home."""

import asyncio
from typing import Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field, SecretStr, field_validator
from stand_ins import StandIn, plugin

from oneclaw_core import OneClaw, PluginError, SettingsError, ToolContext, UsageError, tool
from oneclaw_core.config.keys import secret_store
from oneclaw_core.config.plugin_settings import registered_settings
from oneclaw_core.plugins.loading import discover, load_plugins
from oneclaw_core.secrets.redaction import redact

ALWAYS = [point for point in discover() if point.name in ("builtin", "offline")]


class Place(BaseModel):
    name: str
    latitude: float


class WeatherSettings(BaseModel):
    units: Literal["celsius", "fahrenheit"] = Field("celsius", description="the unit of temperatures")
    max_days: int = Field(3, ge=1, le=14, validation_alias=AliasChoices("max_days", "days"))
    cities: tuple[str, ...] = ()
    limits: dict[str, float] = {}
    place: Place | None = None
    api_key: SecretStr | None = None


class MailSettings(BaseModel):
    server: str
    password: SecretStr

    @field_validator("server")
    @classmethod
    def _is_host(cls, value):
        if " " in value:
            raise ValueError("it is not a host")
        return value


def weather(name="weather", model=WeatherSettings, **hooks):
    def register_settings(register):
        register(model)

    return StandIn(name, plugin(register_settings=register_settings, **hooks))


def in_home(tmp_path, work, *points, environ=None):
    async def run():
        plugins = (*ALWAYS, *points)
        async with OneClaw.open(tmp_path / "home", environ=environ or {}, plugins=plugins) as claw:
            return await work(claw)

    return asyncio.run(run())


def test_a_plugin_reads_its_settings(tmp_path):
    async def work(claw):
        await claw.configuration.settings.set("weather.max_days", "5")
        context = await claw.plugins.context_of("weather")
        return context.settings

    settings = in_home(tmp_path, work, weather(), environ={"ONECLAW_WEATHER_UNITS": "fahrenheit"})

    assert settings == WeatherSettings(units="fahrenheit", max_days=5)


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("CITIES", "Oslo, Paris", "cities", ("Oslo", "Paris")),
        ("CITIES", '["Oslo"]', "cities", ("Oslo",)),
        ("LIMITS", "day=20.5, hour=3", "limits", {"day": 20.5, "hour": 3}),
        ("LIMITS", '{"day": 20.5}', "limits", {"day": 20.5}),
        ("PLACE", '{"name": "Oslo", "latitude": 59.9}', "place", Place(name="Oslo", latitude=59.9)),
        ("MAX_DAYS", "7", "max_days", 7),
    ],
)
def test_a_value_from_the_environment_is_read_by_its_type(tmp_path, variable, text, field, value):
    async def work(claw):
        return (await claw.plugins.context_of("weather")).settings

    settings = in_home(tmp_path, work, weather(), environ={f"ONECLAW_WEATHER_{variable}": text})

    assert getattr(settings, field) == value


def test_a_renamed_field_keeps_its_stored_value(tmp_path):
    async def work(claw):
        await claw.store.set_setting("weather.days", 9)
        state = await claw.configuration.settings.get("weather.max_days")
        before = (await claw.plugins.context_of("weather")).settings.max_days
        await claw.configuration.settings.unset("weather.max_days")
        return state.value, before, await claw.store.settings()

    assert in_home(tmp_path, work, weather()) == (9, 9, {})


def test_changed_settings_are_told_before_the_next_turn(tmp_path):
    seen = []

    async def settings_changed(context, changed):
        seen.append((set(changed), context.settings.units))

    async def work(claw):
        await claw.plugins.context_of("weather")
        await claw.configuration.settings.set("weather.units", "fahrenheit")
        await claw.configuration.settings.set("weather.max_days", "4")
        async for _ in claw.send_message("hello", model="offline/rules"):
            pass
        async for _ in claw.send_message("hello", model="offline/rules"):
            pass

    in_home(tmp_path, work, weather(settings_changed=settings_changed))

    assert seen == [({"units", "max_days"}, "fahrenheit")]


def test_a_tool_reads_the_current_settings_of_its_plugin(tmp_path):
    @tool
    def temperature_unit(*, context: ToolContext) -> str:
        """Say in which unit temperatures are."""
        return context.plugin.settings.units

    def register_tools(register):
        register(temperature_unit)

    async def work(claw):
        first = await claw.call_tool("temperature_unit")
        await claw.configuration.settings.set("weather.units", "fahrenheit")
        second = await claw.call_tool("temperature_unit")
        return first.result.result, second.result.result

    assert in_home(tmp_path, work, weather(register_tools=register_tools)) == ("celsius", "fahrenheit")


def test_a_change_is_told_once_to_turns_side_by_side(tmp_path):
    seen = []

    async def settings_changed(context, changed):
        seen.append(set(changed))

    async def work(claw):
        await claw.plugins.context_of("weather")
        await claw.configuration.settings.set("weather.units", "fahrenheit")
        await asyncio.gather(*(claw.plugins.refresh_settings() for _ in range(5)))

    in_home(tmp_path, work, weather(settings_changed=settings_changed))

    assert seen == [{"units"}]


def test_an_invalid_value_is_named_with_its_source(tmp_path):
    async def work(claw):
        await claw.store.set_setting("weather.units", "kelvin")
        context = await claw.plugins.context_of("weather")
        with pytest.raises(SettingsError, match=r"the setting weather.units \(oneclaw config unset weather.units\)"):
            _ = context.settings

    in_home(tmp_path, work, weather())


def test_a_required_value_that_is_missing_is_named(tmp_path):
    async def work(claw):
        context = await claw.plugins.context_of("mail")
        with pytest.raises(SettingsError, match=r"mail.server is not set; .* variable ONECLAW_MAIL_SERVER"):
            _ = context.settings
        await claw.configuration.settings.set("mail.server", "mail.example.org")
        await context.refresh_settings()
        with pytest.raises(SettingsError, match=r"mail.password is not set; .*: oneclaw keys set mail.password"):
            _ = context.settings

    in_home(tmp_path, work, weather("mail", MailSettings))


def test_a_start_that_failed_for_its_settings_is_tried_again_with_others(tmp_path):
    started = []

    async def plugin_started(context):
        started.append(context.settings.server)

    async def work(claw):
        with pytest.raises(PluginError, match=r"mail.server is not set"):
            await claw.plugins.context_of("mail")
        await claw.configuration.settings.set("mail.server", "mail.example.org")
        async for _ in claw.send_message("hello", model="offline/rules"):
            pass
        await claw.plugins.context_of("mail")

    point = weather("mail", MailSettings, plugin_started=plugin_started)
    in_home(tmp_path, work, point, environ={"ONECLAW_MAIL_PASSWORD": "open sesame"})

    assert started == ["mail.example.org"]


def test_a_validator_of_the_plugin_refuses_a_value(tmp_path):
    async def work(claw):
        with pytest.raises(SettingsError, match=r"it is not a host"):
            await claw.configuration.settings.set("mail.server", "no host")

    in_home(tmp_path, work, weather("mail", MailSettings))


class HostileSettings(BaseModel):
    server: str = "localhost"

    @field_validator("server")
    @classmethod
    def _fails(cls, value):
        raise AttributeError("no such thing")


def test_a_validator_that_fails_harms_no_turn(tmp_path):
    async def work(claw):
        await claw.plugins.context_of("mail")
        await claw.store.set_setting("mail.server", "mail.example.org")
        async for _ in claw.send_message("hello", model="offline/rules"):
            pass
        with pytest.raises(SettingsError, match="HostileSettings raised AttributeError: no such thing"):
            _ = (await claw.plugins.context_of("mail")).settings
        with pytest.raises(SettingsError, match="HostileSettings raised AttributeError: no such thing"):
            await claw.configuration.settings.set("mail.server", "other")

    in_home(tmp_path, work, weather("mail", HostileSettings))


def test_settings_that_could_not_be_read_are_read_again(tmp_path):
    async def work(claw):
        context = await claw.plugins.context_of("weather")
        path = claw.home.path / "keys.json"
        path.write_text("damaged")
        path.chmod(0o600)
        await claw.plugins.refresh_settings()
        with pytest.raises(SettingsError):
            _ = context.settings
        path.unlink()
        await claw.plugins.refresh_settings()
        return context.settings

    assert in_home(tmp_path, work, weather()) == WeatherSettings()


def test_a_secret_field_is_read_from_the_secret_store(tmp_path):
    async def work(claw):
        context = await claw.plugins.context_of("weather")
        await context.secrets.set("api_key", "a-secret-of-the-weather")
        changed = await context.refresh_settings()
        with pytest.raises(UsageError, match=r"oneclaw keys set weather.api_key"):
            await claw.configuration.settings.get("weather.api_key")
        assert "weather.api_key" not in {each.key for each in await claw.configuration.settings.list()}
        return changed, context.settings.api_key.get_secret_value()

    assert in_home(tmp_path, work, weather()) == ({"api_key"}, "a-secret-of-the-weather")


def test_secrets_belong_to_one_plugin(tmp_path):
    async def work(claw):
        one, other = await claw.plugins.context_of("one"), await claw.plugins.context_of("other")
        await one.secrets.set("token", "token-of-one-plugin")
        assert await other.secrets.get("token") is None
        assert await other.secrets.get("one.token") is None
        assert not await other.secrets.remove("token")
        assert redact("the token-of-one-plugin") == "the [redacted]"
        assert list(secret_store(claw.home).stored()) == ["one.token"]
        assert await one.secrets.get("token") == "token-of-one-plugin"
        assert await one.secrets.remove("token")
        return await one.secrets.get("token")

    assert in_home(tmp_path, work, weather("one"), weather("other")) is None


def test_a_secret_of_the_environment_goes_first_and_is_redacted(tmp_path):
    async def work(claw):
        context = await claw.plugins.context_of("weather")
        await context.secrets.set("api_key", "stored-in-a-file")
        return await context.secrets.get("api_key"), redact("it is given-by-the-shell")

    environ = {"ONECLAW_WEATHER_API_KEY": "given-by-the-shell"}
    assert in_home(tmp_path, work, weather(), environ=environ) == ("given-by-the-shell", "it is [redacted]")


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("a/b", "x"), ("name", ""), ("name", None)])
def test_a_secret_without_name_or_value_is_refused(tmp_path, name, value):
    async def work(claw):
        with pytest.raises(UsageError):
            await (await claw.plugins.context_of("weather")).secrets.set(name, value)

    in_home(tmp_path, work, weather())


def test_a_plugin_without_settings_has_none(tmp_path):
    async def work(claw):
        with pytest.raises(PluginError, match=r"plugin plain registered no settings"):
            _ = (await claw.plugins.context_of("plain")).settings

    in_home(tmp_path, work, StandIn("plain", plugin()))


class AccountSettings(BaseModel):
    workspace_account: str = ""


class WorkspaceSettings(BaseModel):
    account: str = ""


class TurnSettings(BaseModel):
    max_tokens: int = 5


def test_the_second_of_two_settings_with_one_variable_is_refused():
    catalog = load_plugins((), [weather("google", AccountSettings), weather("google_workspace", WorkspaceSettings)])

    assert [each.plugin for each in registered_settings(catalog.plugins)] == ["google"]
    (problem,) = catalog.plugins[1].problems
    assert "ONECLAW_GOOGLE_WORKSPACE_ACCOUNT" in problem.cause
    assert "google_workspace.account" in problem.cause
    assert "belongs to acme-google, which had it first" in problem.cause


def test_settings_with_the_variable_of_a_core_setting_are_refused():
    (record,) = load_plugins((), [weather("turn", TurnSettings)]).plugins

    assert "belongs to the setting turn_max_tokens already" in record.problems[0].cause


@pytest.mark.parametrize("model", [dict, "no_such_module:Settings", "not a name", "json:dumps"])
def test_a_model_that_cannot_be_used_is_reported(model):
    (record,) = load_plugins((), [weather("weather", model)]).plugins

    assert [problem.where for problem in record.problems] == ["register_settings"]
    assert not record.registrations


def test_a_model_registered_by_its_name_is_the_same():
    by_name = load_plugins((), [weather("weather", f"{__name__}:WeatherSettings")])
    by_class = load_plugins((), [weather("weather", WeatherSettings)])

    assert by_name.plugins[0].registrations == by_class.plugins[0].registrations
