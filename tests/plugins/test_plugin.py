"""Plugins and their registrations as data, and what is imported of them."""

import asyncio
import dataclasses
import json
import logging
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import click
import pytest

from oneclaw_core import ToolDefinition, ToolGroupDefinition
from oneclaw_core.cli.command_group import PluginCommand, plugin_commands
from oneclaw_core.errors import PluginError
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.first_use import load_object, load_object_now, load_plugin
from oneclaw_core.plugins.plugin import Loaded, Plugin, PluginProblem, Registration, import_target
from oneclaw_core.plugins.registrars import target_name
from oneclaw_core.plugins.running.calling import HookOptions
from oneclaw_core.tools import ToolBehaviour

NO_OBJECT = "{!r} names no object: write it as 'package.module:attribute'"
BEHAVIOUR = ToolBehaviour(asks_itself=True, checks_own_arguments=True, is_poll=True, isolation="process")
DEFINITION = ToolDefinition("send", "Sends.", {"type": "object", "properties": {"to": {"type": "string"}}})


class Owner:
    def method(self):
        """Stand in for a function of a class."""


@click.command()
def command():
    """Stand in for a command that a decorator leaves in its module."""


def test_an_object_at_the_top_of_a_module_has_a_name():
    def local():
        """Stand in for a function that no name leads to."""

    here = __name__
    renamed = SimpleNamespace(__module__=here, __qualname__="command")
    of_program = SimpleNamespace(__module__="__main__", __qualname__="command")
    for value, name in (
        ("acme.tools:send.now", "acme.tools:send.now"),
        (Owner, f"{here}:Owner"),
        (Owner.method, f"{here}:Owner.method"),
        (local, None),
        (renamed, None),
        (of_program, None),
        (SimpleNamespace(__module__=here), None),
        (SimpleNamespace(__module__=None, __qualname__="Owner"), None),
        (SimpleNamespace(__module__="no_such_module", __qualname__="Owner"), None),
        (7, None),
    ):
        assert target_name(value) == name
    for text in ("", "acme", "acme:", ":send", "acme..tools:send", "acme tools:send", "acme:send now", "acme:a:b"):
        with pytest.raises(PluginError) as error:
            target_name(text)
        assert str(error.value) == NO_OBJECT.format(text)


def test_a_command_has_the_name_of_its_function():
    loose = click.Command("loose", callback=lambda: None)
    assert [target_name(each) for each in (command, loose, click.Command("bare"))] == [
        f"{__name__}:command",
        None,
        None,
    ]


def test_what_a_name_leads_to_is_imported():
    assert import_target("sys") is sys
    assert import_target("os.path:join") is sys.modules["os"].path.join
    assert import_target(f"{__name__}:Owner.method") is Owner.method
    with pytest.raises(AttributeError):
        import_target("sys:no_such")


def test_a_problem_is_one_line_without_secrets():
    problem = PluginProblem("import", "two\n  lines, key sk-ant-REDACTED", "upgrade it")
    assert problem.cause.startswith("two lines, key ")
    assert "aaaaaaaa" not in problem.cause
    assert (problem.where, problem.remedy, problem.is_error, problem.check, problem.pointer) == (
        *("import", "upgrade it", True, "", ""),
    )
    other = PluginProblem("tools", "bad", "fix", is_error=False, check="tools.bad", pointer="/name")
    assert other == PluginProblem("tools", "bad", "fix", False, "tools.bad", "/name")
    assert other.to_dict() == {
        "where": "tools",
        "cause": "bad",
        "remedy": "fix",
        "is_error": False,
        "check": "tools.bad",
        "pointer": "/name",
    }


def test_hook_options_say_which_calls_they_are_about():
    for options, tool, group, is_in_turn, is_about in (
        (HookOptions(), "send", None, False, True),
        (HookOptions(in_turns=True), "send", None, False, False),
        (HookOptions(in_turns=True), "send", None, True, True),
        (HookOptions(tools=("send",)), "send", None, False, True),
        (HookOptions(tools=("mail",)), "send", "mail", False, True),
        (HookOptions(tools=("mail",)), "send", "calendar", True, False),
        (HookOptions(tools=("mail",)), "send", None, True, False),
        (HookOptions(tools=()), "send", "mail", True, False),
    ):
        assert options.is_about(tool, group, is_in_turn=is_in_turn) is is_about
    for options, is_about in ((HookOptions(), True), (HookOptions(skips_read_only=True), False)):
        assert options.is_about("read", None, is_in_turn=True, is_read_only=True) is is_about
        assert options.is_about("write", None, is_in_turn=True, is_read_only=False)


def full_plugin():
    groups = [
        {"display_name": "Mail", "description": "Reads mail.", "permissions": {"mail.send": "send mail"}},
        {"display_name": "Quiet", "description": "Is quiet.", "may_be_unlisted": True},
    ]
    sending = replace(DEFINITION, behaviour=BEHAVIOUR)
    return Plugin(
        "acme",
        "acme:plugin",
        "acme-tools",
        "1.2",
        PluginProblem("compatibility", "odd", "look", False),
        ("/acme/RECORD",),
        "/acme",
        [
            Registration("register_groups", "acme", "mail", None, groups[0]),
            Registration("register_groups", "acme", "quiet", None, groups[1]),
            Registration(
                "register_tools", "acme", "send", "acme:send", {"group": "mail", "origin": "x"}, definition=sending
            ),
            Registration(
                "register_tools",
                "acme",
                "plain",
                None,
                definition=ToolDefinition("plain", "Is plain.", reads=("private",)),
            ),
            Registration("register_checks", "acme", "look", "acme:look", {"of": "register_skills"}),
        ],
        {"before_tool_call": {"argument_names": ["call"], "is_async": False}},
        [PluginProblem("import", "slow", "hurry", False, "import.slow", "/x")],
        12.5,
    )


def test_a_plugin_survives_being_stored():
    plugin = full_plugin()
    data = json.loads(json.dumps(plugin.to_dict()))
    again = Plugin.from_dict(data)
    assert again == plugin
    mail, quiet, send, plain, _ = again.registrations
    assert [each.definition.behaviour for each in (send, plain)] == [BEHAVIOUR, ToolBehaviour()]
    assert [each.definition.parameters for each in (send, plain)] == [
        each.definition.parameters for each in plugin.registrations[2:4]
    ]
    assert plain.definition.reads == ("private",)
    assert [each.group for each in (send, plain)] == ["mail", None]
    assert mail.group_definition == ToolGroupDefinition("mail", "Mail", "Reads mail.", {"mail.send": "send mail"})
    assert quiet.group_definition.may_be_unlisted
    for key in data:
        with pytest.raises(KeyError):
            Plugin.from_dict({name: value for name, value in data.items() if name != key})


def test_every_field_of_a_definition_is_stored():
    values = {"timeout_seconds": 7, "read_only": True, "idempotent": True, "reads": ("outside",)}
    values |= {"required_permissions": ("mail.send",), "behaviour": BEHAVIOUR}
    fields = {each.name for each in dataclasses.fields(ToolDefinition)} - {"name", "description", "parameters"}
    given = {name: values[name] for name in fields & values.keys()}
    definition = ToolDefinition("send", "Sends.", **given)
    plugin = Plugin("acme", registrations=[Registration("register_tools", "acme", "send", None, definition=definition)])
    (again,) = Plugin.from_dict(json.loads(json.dumps(plugin.to_dict()))).registrations
    for name in fields:
        assert getattr(again.definition, name) == getattr(definition, name), name


def test_a_problem_counts_once():
    plugin = Plugin("acme")
    for _ in range(2):
        plugin.report("import", "slow", "hurry", is_error=False, check="import.slow", pointer="/x")
    assert plugin.problems == [PluginProblem("import", "slow", "hurry", False, "import.slow", "/x")]


def test_a_tool_that_json_cannot_hold_becomes_a_problem():
    odd = ToolDefinition("odd", "Is odd.", {"type": "object", "properties": {"x": {"default": {1, 2}}}})
    rows = [Registration("register_tools", "acme", each.name, None, definition=each) for each in (odd, DEFINITION)]
    plugin = Plugin("acme", registrations=rows)
    data = plugin.to_dict()
    assert [each["name"] for each in data["registrations"]] == ["send"]
    (problem,) = plugin.problems
    assert problem.cause.startswith("the parameters of tool 'odd' are no JSON data")
    assert data["problems"] == [problem.to_dict()]


def test_a_record_says_how_a_plugin_is():
    problem, warning = PluginProblem("import", "bad", "fix"), PluginProblem("import", "odd", "look", False)
    for record, status in (
        (Plugin("acme"), "ok"),
        (Plugin("acme", problems=[warning]), "ok"),
        (Plugin("acme", problems=[warning, problem]), "failed"),
        (Plugin("acme", problems=[problem], is_disabled=True, tools=["send"]), "disabled"),
        *(
            (Plugin("acme", problems=[problem], **{name: something}), "degraded")
            for name, something in (
                *(("tools", ["a"]), ("groups", ["a"]), ("providers", ["a"]), ("skills", ["a"])),
                *(("registrations", [Registration("h", "acme", "n", None)]), ("hooks", {"h": {}})),
            )
        ),
    ):
        assert record.status == status
    assert Plugin("acme").package is None
    assert Plugin("acme", "acme", "acme-tools", "1.2").package == "acme-tools 1.2"
    assert Plugin("acme").has_own_loop is True


def test_a_problem_is_logged_unless_it_was_before(caplog):
    caplog.set_level(logging.INFO, "oneclaw.plugins")
    record = Plugin("acme", "acme", "acme-tools", "1.2", known_causes=frozenset({"known"}))
    record.add(PluginProblem("import", "bad", "fix"))
    record.add(PluginProblem("import", "known", "fix"))
    record.add(PluginProblem("import", "quiet", "fix"), is_logged=False)
    Plugin("other").add(PluginProblem("hooks", "odd", "look", False))
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        (
            "WARNING",
            "plugin acme (acme-tools 1.2): import: bad; fix; or disable the plugin with: oneclaw plugins disable acme",
        ),
        ("INFO", "plugin other (?): hooks: odd; look"),
    ]
    assert [each.cause for each in record.problems] == ["bad", "known", "quiet"]


def loaders(plugin, registration):
    return load_object_now(plugin, registration), asyncio.run(load_object(plugin, registration))


def test_an_object_is_found_where_it_is():
    started = []
    of_plugin = Registration("hook", "acme", "one", None)
    loaded = Loaded({("hook", "one"): dataclasses.replace(of_plugin, value="right")}, {})

    def load(target):
        started.append(target)
        return loaded if target is None else f"imported {target}"

    plugin = Plugin("acme", importer=load)
    assert loaders(plugin, dataclasses.replace(of_plugin, value="given")) == ("given", "given")
    assert started == []
    assert loaders(plugin, dataclasses.replace(of_plugin, target="acme:one")) == ("imported acme:one",) * 2
    assert loaders(plugin, of_plugin) == ("right", "right")
    assert asyncio.run(load_plugin(plugin)) == loaded
    assert started == ["acme:one", None]


def test_an_object_that_is_gone_is_named_with_a_remedy():
    plugin = Plugin("acme", importer=lambda target: Loaded({}, {}))
    gone = (
        "the plugin acme does not register 'one' any more: upgrade it, or disable it with: oneclaw plugins disable acme"
    )
    unusable = "the plugin acme cannot be used: see oneclaw plugins list; disable it with: oneclaw plugins disable acme"
    for each, message in ((plugin, gone), (Plugin("acme"), unusable)):
        registration = Registration("hook", "acme", "one", None)
        with pytest.raises(PluginError) as error:
            load_object_now(each, registration)
        with pytest.raises(PluginError) as later:
            asyncio.run(load_object(each, registration))
        assert str(error.value) == str(later.value) == message


def test_an_import_that_fails_is_named_with_a_remedy_and_not_repeated(monkeypatch):
    monkeypatch.setattr(isolation, "LOAD_SECONDS", 0.05)
    calls = []

    def importer(raised):
        def load(target):
            calls.append(target)
            if raised is None:
                threading.Event().wait(1)
            raise raised

        return load

    for raised, cause, check in (
        (ValueError("x"), "ValueError: x", "import.fails"),
        (SystemExit(3), "SystemExit: 3", "import.exits"),
        (None, "it did not end within 0.05 s", "import.hangs"),
    ):
        for target, package, what in ((None, " (acme-tools 1)", "acme:plugin"), ("acme:thing", "", "acme:thing")):
            plugin = Plugin("acme", "acme:plugin", "acme-tools" if package else None, "1", importer=importer(raised))
            registration = Registration("hook", "acme", "one", target)
            calls.clear()
            for _ in range(2):
                with pytest.raises(PluginError) as error:
                    load_object_now(plugin, registration)
                assert str(error.value) == (
                    f"plugin acme{package}: {what} cannot be imported: {cause}; upgrade the plugin, or disable it "
                    "with: oneclaw plugins disable acme"
                )
            assert calls == [target]
            remedy = "upgrade acme-tools, or disable it with: oneclaw plugins disable acme"
            expected = [PluginProblem("import", cause, remedy, True, check)] if target is None else []
            assert plugin.problems == expected


def test_a_command_answers_for_its_options():
    record = Plugin("acme")
    for options, summary, is_hidden in (
        ({"help": "Do it.", "is_hidden": True}, "Do it.", True),
        ({}, "", False),
        ({"help": None}, "", False),
    ):
        each = PluginCommand(record, Registration("register_commands", "acme", "db check now", None, options))
        assert (each.name, each.is_option, each.summary, each.is_hidden) == ("now", False, summary, is_hidden)


def test_a_command_whose_name_is_taken_is_reported():
    def adding(hook, name, parent=None):
        return Registration(hook, "acme", f"{parent} {name}" if parent else name, None, {"parent": parent})

    first, second = Plugin("first"), Plugin("second")
    first.registrations = [
        adding("register_checks", "skipped"),
        adding("register_commands", "deep", "serve"),
        adding("register_commands", "run"),
    ]
    second.registrations = [
        adding("register_commands", "run"),
        adding("register_commands", "--own", "serve"),
        adding("register_commands", "--taken", "serve"),
        adding("register_commands", "walk"),
    ]
    found = plugin_commands([first, second])
    assert {name: each.record.name for name, each in found.items()} == {"run": "first", "walk": "second"}
    assert list(plugin_commands([first, second], parent="serve", taken={"--taken"})) == ["deep", "--own"]
    assert first.problems == []
    assert second.problems == [
        PluginProblem("register_commands", f"the {name} is taken", "use another name", True, "names.command-taken")
        for name in ("command 'run'", "option '--taken'")
    ]
