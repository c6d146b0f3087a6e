"""What the user sets, changed through the services."""

import asyncio
import re

import pytest

from oneclaw_core import OneClaw
from oneclaw_core.errors import DuplicateError, InUseError, NotFoundError, ProtectedError, SettingsError, UsageError


def changed(tmp_path, work, environ=None):
    """Open a home, and let ``work`` change its configuration."""

    async def run():
        async with OneClaw.open(tmp_path / "home", environ=environ or {}, plugins=()) as claw:
            return await work(claw.configuration)

    return asyncio.run(run())


def with_builtin(tmp_path, work, environ=None):
    async def run():
        async with OneClaw.open(tmp_path / "home", environ=environ or {}) as claw:
            return await work(claw.configuration)

    return asyncio.run(run())


async def add_lab(changes, **options):
    return await changes.providers.add("lab", "openai_compatible", "http://localhost:8000/v1", **options)


def test_a_provider_is_added_changed_disabled_and_removed(tmp_path):
    async def work(changes):
        added = await add_lab(changes, display_name="The Lab")
        moved = await changes.providers.change("lab", base_url="http://localhost:9000/v1")
        off = await changes.providers.change("lab", is_enabled=False)
        on = await changes.providers.change("lab", is_enabled=True, display_name="Lab 2")
        await changes.providers.remove("lab")
        return added, moved, off, on, [state.name for state in await changes.providers.list()]

    added, moved, off, on, names = with_builtin(tmp_path, work)

    assert (added.display_name, added.is_enabled, added.is_preconfigured) == ("The Lab", True, False)
    assert (moved.base_url, moved.display_name) == ("http://localhost:9000/v1", "The Lab")
    assert (off.is_enabled, on.is_enabled, on.display_name, on.base_url) == (
        False,
        True,
        "Lab 2",
        "http://localhost:9000/v1",
    )
    assert "lab" not in names


def test_a_provider_is_added_once(tmp_path):
    async def work(changes):
        await add_lab(changes)
        with pytest.raises(DuplicateError, match="already"):
            await add_lab(changes)
        return await add_lab(changes, may_replace=True)

    assert with_builtin(tmp_path, work).name == "lab"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("openai", "openai"), DuplicateError, "known from the start"),
        (("lab", "telepathy"), UsageError, "there are: .*openai"),
        (("Lab!", "openai"), SettingsError, "lower-case letters"),
        (("lab", "openai", "ftp://host"), UsageError, "https://host/v1"),
        (("lab", "openai", "https://me:secret@host"), UsageError, "no user or password"),
        (("lab", "openai", None, "two\nlines"), UsageError, "one line"),
    ],
)
def test_what_is_no_provider_is_refused(tmp_path, arguments, error, message):
    async def work(changes):
        with pytest.raises(error, match=message) as caught:
            await changes.providers.add(*arguments)
        assert "secret" not in str(caught.value)
        return [state.name for state in await changes.providers.list()]

    assert "lab" not in with_builtin(tmp_path, work)


def test_the_default_model_never_loses_its_provider(tmp_path):
    async def work(changes):
        await add_lab(changes)
        await changes.models.set_default("lab/small")
        for refused in (changes.providers.remove("lab"), changes.providers.change("lab", is_enabled=False)):
            with pytest.raises(InUseError, match=re.escape("lab/small")):
                await refused
        await changes.settings.unset("model")
        with pytest.raises(InUseError, match=re.escape("offline/rules")):
            await changes.providers.change("offline", is_enabled=False)
        await changes.models.set_default("lab/small")
        return await changes.providers.change("offline", is_enabled=False)

    assert with_builtin(tmp_path, work).is_enabled is False


def test_what_is_preconfigured_can_be_disabled_and_nothing_else(tmp_path):
    async def work(changes):
        with pytest.raises(ProtectedError, match="disable it instead"):
            await changes.providers.remove("openai")
        with pytest.raises(ProtectedError, match="enabled and disabled"):
            await changes.providers.change("openai", base_url="https://other.example")
        await changes.providers.change("openai", is_enabled=False)
        with pytest.raises(UsageError, match="providers enable openai"):
            await changes.models.set_default("openai/any")
        answers = await changes.models.answers()
        await changes.providers.change("openai", is_enabled=True)
        return [answer.config.name for answer in answers], await changes.models.set_default("openai/any")

    asked, default = with_builtin(tmp_path, work, {"OLLAMA_HOST": "127.0.0.1:1"})

    assert "openai" not in asked
    assert default == "openai/any"


def test_a_model_is_added_and_removed(tmp_path):
    async def work(changes):
        await add_lab(changes)
        await changes.models.add("lab/tiny", "Tiny One")
        with pytest.raises(DuplicateError):
            await changes.models.add("lab/tiny")
        await changes.models.say("lab/tiny", "context_window", "8192")
        states, _ = await changes.models.list("offline")
        await changes.models.set_default("lab/tiny")
        with pytest.raises(InUseError, match="default model"):
            await changes.models.remove("lab/tiny")
        await changes.settings.unset("model")
        await changes.models.remove("lab/tiny")
        with pytest.raises(NotFoundError, match="no model lab/tiny was added"):
            await changes.models.remove("lab/tiny")
        return states

    (rules,) = with_builtin(tmp_path, work)

    assert (rules.full_name, rules.is_default, rules.is_listed) == ("offline/rules", True, True)


def test_settings_are_read_set_and_unset(tmp_path):
    async def work(changes):
        before = await changes.settings.get("turn_max_tool_rounds")
        after = await changes.settings.set("turn_max_tool_rounds", "7")
        with pytest.raises(SettingsError):
            await changes.settings.set("turn_max_tool_rounds", "many")
        with pytest.raises(NotFoundError, match="did you mean turn_max_tool_rounds"):
            await changes.settings.set("turn_max_tool_round", "7")
        return before, after, await changes.settings.unset("turn_max_tool_rounds")

    before, after, was_set = changed(tmp_path, work)

    assert (before.value, before.source, after.value, after.source, was_set) == (200, "default", 7, "stored", True)


def test_a_tool_is_switched_at_once(tmp_path):
    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}) as claw:
            tools = claw.configuration.tools
            await tools.switch("tool", "read_file", is_enabled=False)
            while_off = claw.catalog.registry.is_enabled("read_file")
            with pytest.raises(ProtectedError, match="load no tool group"):
                await tools.switch("tool", "load_tool_group", is_enabled=False)
            with pytest.raises(NotFoundError, match="did you mean read_file"):
                await tools.switch("tool", "read_fiel", is_enabled=False)
            await tools.switch("tool", "read_file", is_enabled=True)
            return while_off, claw.catalog.registry.is_enabled("read_file")

    assert asyncio.run(run()) == (False, True)


@pytest.mark.long
def test_changes_of_several_processes_at_once_are_all_kept(tmp_path):
    said = {"display_name": "Rules", "context_window": "5000", "max_output_tokens": "500", "input_price": "1"}

    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}) as one, OneClaw.open(tmp_path / "home") as other:
            services = [one.configuration, other.configuration]
            await asyncio.gather(
                *(services[at % 2].models.say("offline/rules", *each) for at, each in enumerate(said.items()))
            )
            together = (await one.configuration.models.said("offline/rules")).document()
            await asyncio.gather(
                *(services[at % 2].models.unsay("offline/rules", key) for at, key in enumerate(list(said)[1:]))
            )
            await add_lab(one.configuration)
            await asyncio.gather(
                one.configuration.providers.change("lab", is_enabled=False),
                other.configuration.providers.change("lab", display_name="The Lab"),
            )
            left = (await one.configuration.models.said("offline/rules")).document()
            return set(together), left, await other.configuration.providers.get("lab")

    together, left, lab = asyncio.run(run())

    assert together == set(said)
    assert left == {"display_name": "Rules"}
    assert (lab.display_name, lab.is_enabled) == ("The Lab", False)
