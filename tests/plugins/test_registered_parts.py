"""Channels, triggers, checks and fixes of plugins, as they are made and called."""

import asyncio
from functools import partial

import pytest
from plugins_at_work import DISABLE, at_work, raised_by, record_with

from oneclaw_core import (
    NotFoundError,
    PluginError,
    UsageError,
)
from oneclaw_core.contract.checks import CheckFix, CheckResult, Health
from oneclaw_core.contract.contact_points import Channel
from oneclaw_core.plugins.plugin import Plugin, Registration
from oneclaw_core.shipped.missing import missing_part


def test_what_plugins_register_is_found():
    first = record_with("first", [Registration("register_triggers", "first", "tick", "a:b", {"help": "Ticks."})])
    off = record_with("off", [Registration("register_triggers", "off", "never", "a:b", {"help": ""})])
    off.is_disabled = True
    second = record_with(
        "second",
        [
            Registration("register_triggers", "second", "tick", "a:c", {"help": "Other."}),
            Registration(
                "register_triggers",
                "second",
                "tock",
                None,
                {"help": "Tocks.", "parameters": {"p": "P."}, "required": ["p"], "set_up": "json:dumps"},
            ),
            Registration("register_channels", "second", "mail", None),
        ],
    )

    async def work():
        plugins, _ = at_work(first, off, second)
        assert [each.plugin for each in plugins.registrations("register_triggers")] == ["first", "second", "second"]
        found = {each.name: each for each in plugins.triggers()}
        assert {name: each.plugin for name, each in found.items()} == {"tick": "first", "tock": "second"}
        tock, tick = plugins.trigger("tock"), plugins.trigger("tick")
        assert (tock.help, tock.parameters, tock.required, tock.take_request) == ("Tocks.", {"p": "P."}, ("p",), None)
        assert (tick.parameters, tick.required, tick.set_up) == ({}, (), None)
        assert tock.set_up is not None
        with pytest.raises(NotFoundError) as error:
            plugins.trigger("no" * 80)
        assert str(error.value) == f"there is no trigger {'no' * 50!r}; plugins have registered: tick, tock"
        assert await raised_by(plugins.channel("pigeon")) == (
            "there is no channel 'pigeon'; plugins have registered: mail"
        )
        empty, _ = at_work(how_to_get=partial(missing_part, absent={}))
        assert await raised_by(empty.channel("pigeon")) == "there is no channel 'pigeon'; plugins have registered: none"
        missing = await raised_by(empty.channel("telegram"))
        assert missing.startswith("there is no channel 'telegram'; ")
        assert "oneclaw-telegram" in missing
        assert await raised_by(plugins.context_of("nothing")) == (
            "there is no plugin 'nothing'; list them with: oneclaw plugins list"
        )
        assert await raised_by(plugins.context_of("off")) == (
            "there is no plugin 'off'; list them with: oneclaw plugins list"
        )

    asyncio.run(work())


class Pigeon(Channel):
    def __init__(self, context):
        self.context = context

    async def send(self, message):
        return None


def registered(hook, name, value, **options):
    return record_with("acme", [Registration(hook, "acme", name, None, options, value)])


def test_a_channel_is_made_of_its_plugins_context():
    def raising(context):
        raise ValueError("bad")

    def refusing(context):
        raise UsageError("set a token")

    async def work():
        plugins, contexts = at_work(registered("register_channels", "pigeon", Pigeon))
        assert (await plugins.channel("pigeon")).context is contexts["acme"]
        for target, message in (
            (raising, f"plugin acme: channel pigeon raised ValueError: bad; {DISABLE}"),
            (refusing, "set a token"),
            (lambda context: 7, f"plugin acme: channel pigeon is not a Channel, but of type int; {DISABLE}"),
        ):
            plugins, _ = at_work(registered("register_channels", "pigeon", target))
            assert await raised_by(plugins.channel("pigeon")) == message

    asyncio.run(work())


def test_a_trigger_is_called_with_its_plugins_context():
    async def fine(context, *arguments):
        return context.name, arguments

    async def raising(context):
        raise ValueError("bad")

    async def refusing(context):
        raise UsageError("no such file")

    async def work():
        for target, message in (
            (raising, f"plugin acme: trigger tick raised ValueError: bad; {DISABLE}"),
            (refusing, "no such file"),
        ):
            plugins, _ = at_work(registered("register_triggers", "tick", target, help=""))
            assert await raised_by(plugins.trigger("tick").run()) == message
        plugins, _ = at_work(registered("register_triggers", "tick", fine, help=""))
        assert await plugins.trigger("tick").run(1, 2) == ("acme", (1, 2))

    asyncio.run(work())


def test_checks_are_run_without_starting_their_plugins():
    result = CheckResult(Health.OK, "fine")

    def iterate(context):
        yield result
        yield result

    async def several(context):
        return [result]

    async def async_iterate(context):
        yield result

    def raising(context):
        raise ValueError("bad")

    async def hanging(context):
        await asyncio.sleep(30)

    remedy = f"report it to the plugin's author, or {DISABLE}"

    def problem(message):
        return (CheckResult(Health.PROBLEM, message, remedy),)

    async def work():
        for function, results in (
            (lambda context: None, ()),
            (lambda context: result, (result,)),
            (iterate, (result, result)),
            (several, (result,)),
            (async_iterate, (result,)),
            (raising, problem("it failed: ValueError: bad")),
            (lambda context: ["x"], problem("it returned something other than CheckResult objects")),
        ):
            plugins, contexts = at_work(registered("register_checks", "look", function))
            (check,) = await plugins.run_checks()
            assert (check.registration.name, check.results) == ("look", results)
            assert contexts["acme"].refreshed == [None]
        of_skills, _ = at_work(registered("register_checks", "look", raising, of="register_skills"))
        assert await of_skills.run_checks() == []
        gone, _ = at_work(Plugin("acme", registrations=[Registration("register_checks", "acme", "look", None)]))
        (check,) = await gone.run_checks()
        assert check.results[0].message.startswith("the plugin acme cannot be used: see oneclaw plugins list;")
        from oneclaw_core.plugins.running import checks

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checks, "CHECK_SECONDS", 0.01)
            patch.setattr(checks, "FIX_SECONDS", 0.02)
            plugins, _ = at_work(registered("register_checks", "look", hanging))
            (check,) = await plugins.run_checks()
            assert check.results == problem("it did not end within 0.01 s")
            assert await raised_by(plugins.fix("acme", CheckFix("mend", hanging))) == "it did not end within 0.02 s"

    asyncio.run(work())


def test_a_fix_is_applied_with_the_plugins_context():
    applied = []

    async def later(context):
        applied.append(context.name)

    def refusing(context):
        raise UsageError("it is read-only")

    def raising(context):
        raise ValueError("bad")

    async def work():
        plugins, _ = at_work(record_with())
        await plugins.fix("acme", CheckFix("mend", lambda context: applied.append(context.name)))
        await plugins.fix("acme", CheckFix("mend", later))
        assert applied == ["acme", "acme"]
        for function, message in ((refusing, "it is read-only"), (raising, "ValueError: bad")):
            assert await raised_by(plugins.fix("acme", CheckFix("mend", function)), PluginError) == message

    asyncio.run(work())
