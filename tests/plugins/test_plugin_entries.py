"""Entries of plugins as data, and the records that are made of them."""

import asyncio
import dataclasses
import logging
import sys
from dataclasses import replace
from types import SimpleNamespace

import click
import pytest

from oneclaw_core import ToolDefinition, ToolGroupDefinition
from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.registration.commands import PluginCommand, plugin_commands
from oneclaw_core.plugins.registration.entry import (
    HookOptions,
    PluginEntry,
    PluginProblem,
    Registration,
    ToolEntry,
    command_place,
    import_target,
    new_problem,
    target_name,
)
from oneclaw_core.plugins.registration.record import LoadedPlugin, PluginRecord
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
    assert [command_place(each) for each in (command, loose, click.Command("bare"))] == [
        f"{__name__}:command",
        None,
        None,
    ]


def test_what_a_name_leads_to_is_imported():
    assert import_target("sys") is sys
    assert import_target(" os.path : join ") is sys.modules["os"].path.join
    assert import_target(f"{__name__}:Owner.method") is Owner.method
    with pytest.raises(AttributeError):
        import_target("sys:no_such")


def test_a_problem_is_one_line_without_secrets():
    problem = new_problem("import", "two\n  lines, key sk-ant-REDACTED", "upgrade it")
    assert problem.cause.startswith("two lines, key ")
    assert "aaaaaaaa" not in problem.cause
    assert (problem.where, problem.remedy, problem.is_error, problem.check, problem.pointer) == (
        *("import", "upgrade it", True, "", ""),
    )
    other = new_problem("tools", "bad", "fix", is_error=False, check="tools.bad", pointer="/name")
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


def test_hook_options_survive_being_stored():
    for options in (
        HookOptions(),
        HookOptions(("call", "result"), True, ("send", "mail"), 2.5, -1, True),
    ):
        data = options.to_dict()
        assert set(data) == {each.name for each in dataclasses.fields(HookOptions)}
        stored = data | {"argument_names": list(options.argument_names), "tools": options.tools and list(options.tools)}
        assert HookOptions.from_dict(stored) == options


def full_entry():
    return PluginEntry(
        "acme",
        [
            ToolEntry(replace(DEFINITION, behaviour=BEHAVIOUR), "mail", "acme:send", "acme.json"),
            ToolEntry(ToolDefinition("plain", "Is plain.")),
        ],
        [
            ToolGroupDefinition("mail", "Mail", "Reads mail.", permissions={"mail.send": "send mail"}),
            ToolGroupDefinition("quiet", "Quiet", "Is quiet.", may_be_unlisted=True),
        ],
        [Registration("register_checks", "acme", "look", "acme:look", {"of": "register_skills"})],
        ["/acme/acme.json"],
        {"before_call": {"order": 1}},
        [PluginProblem("import", "slow", "hurry", False, "import.slow", "/x")],
        12.5,
    )


def test_an_entry_survives_being_stored():
    entry = full_entry()
    data = entry.to_dict()
    assert PluginEntry.from_dict(data) == entry
    assert [each.definition.behaviour for each in PluginEntry.from_dict(data).tools] == [BEHAVIOUR, ToolBehaviour()]
    assert [each.group for each in PluginEntry.from_dict(data).tools] == ["mail", None]
    assert set(data) == {"name", "tools", "groups", "registrations", "manifests", "hooks", "problems", "import_ms"}
    assert [set(each) & {"is_poll", "may_be_unlisted"} for each in (*data["tools"], *data["groups"])] == [
        *({"is_poll"}, set(), set(), {"may_be_unlisted"}),
    ]
    assert data["registrations"] == [
        {"hook": "register_checks", "name": "look", "target": "acme:look", "options": {"of": "register_skills"}}
    ]
    for key in data:
        with pytest.raises(KeyError):
            PluginEntry.from_dict({name: value for name, value in data.items() if name != key})


def test_a_problem_counts_once():
    entry, record = PluginEntry("acme"), PluginRecord("acme")
    for each in (entry, record):
        each.report("import", "slow", "hurry", is_error=False, check="import.slow", pointer="/x")
        each.report("import", "slow", "hurry", is_error=False, check="import.slow", pointer="/x")
        assert each.problems == [PluginProblem("import", "slow", "hurry", False, "import.slow", "/x")]


def test_a_tool_that_json_cannot_hold_becomes_a_problem():
    entry = PluginEntry("acme", [ToolEntry(DEFINITION)])
    faulty = SimpleNamespace(name="odd", to_dict=lambda: (_ for _ in ()).throw(ValueError("a cycle")))
    entry.tools.insert(0, ToolEntry(faulty))
    data = entry.to_dict()
    assert [each["name"] for each in data["tools"]] == ["send"]
    cause = "the parameters of tool 'odd' are no JSON data: a cycle"
    assert entry.problems == [
        PluginProblem("register_tools", cause, "correct the tool's definition", True, "", "/parameters")
    ]
    assert data["problems"] == [each.to_dict() for each in entry.problems]


def test_a_record_says_how_a_plugin_is():
    problem, warning = PluginProblem("import", "bad", "fix"), PluginProblem("import", "odd", "look", False)
    for record, status in (
        (PluginRecord("acme"), "ok"),
        (PluginRecord("acme", problems=[warning]), "ok"),
        (PluginRecord("acme", problems=[warning, problem]), "failed"),
        (PluginRecord("acme", problems=[problem], is_disabled=True, tools=["send"]), "disabled"),
        *(
            (PluginRecord("acme", problems=[problem], **{name: something}), "degraded")
            for name, something in (
                *(("tools", ["a"]), ("groups", ["a"]), ("providers", ["a"]), ("skills", ["a"])),
                *(("registrations", [Registration("h", "acme", "n", None)]), ("hooks", {"h": HookOptions()})),
            )
        ),
    ):
        assert record.status == status
    assert PluginRecord("acme").package is None
    assert PluginRecord("acme", "acme-tools", "1.2").package == "acme-tools 1.2"
    assert PluginRecord("acme").has_own_loop is True


def test_a_problem_is_logged_unless_it_was_before(caplog):
    caplog.set_level(logging.INFO, "oneclaw.plugins")
    record = PluginRecord("acme", "acme-tools", "1.2", known_causes=frozenset({"known"}))
    record.add(PluginProblem("import", "bad", "fix"))
    record.add(PluginProblem("import", "known", "fix"))
    record.add(PluginProblem("import", "quiet", "fix"), is_logged=False)
    PluginRecord("other").add(PluginProblem("hooks", "odd", "look", False))
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        (
            "WARNING",
            "plugin acme (acme-tools 1.2): import: bad; fix; or disable the plugin with: oneclaw plugins disable acme",
        ),
        ("INFO", "plugin other (?): hooks: odd; look"),
    ]
    assert [each.cause for each in record.problems] == ["bad", "known", "quiet"]


class Import:
    def __init__(self, found):
        self._found = found

    def wait(self):
        return self._found

    async def wait_async(self):
        return self._found


def loaders(record, registration):
    return record.load_object_now(registration), asyncio.run(record.load_object(registration))


def test_an_object_is_found_where_it_is():
    started = []
    of_plugin = Registration("hook", "acme", "one", None)
    loaded = LoadedPlugin(
        "acme",
        registrations=(
            dataclasses.replace(of_plugin, hook="other", value="wrong hook"),
            dataclasses.replace(of_plugin, name="other", value="wrong name"),
            dataclasses.replace(of_plugin, value="right"),
        ),
    )

    def start(target):
        started.append(target)
        return Import(loaded if target is None else f"imported {target}")

    record = PluginRecord("acme", start_import=start)
    assert loaders(record, dataclasses.replace(of_plugin, value="given")) == ("given", "given")
    assert started == []
    assert loaders(record, dataclasses.replace(of_plugin, target="acme:one")) == ("imported acme:one",) * 2
    assert loaders(record, of_plugin) == ("right", "right")
    assert (record.load_now(), asyncio.run(record.load())) == (loaded, loaded)
    assert started == ["acme:one", None]
    given = LoadedPlugin("given")
    record.loaded = given
    assert (record.load_now(), asyncio.run(record.load())) == (given, given)
    record.loaded = None


def test_an_object_that_is_gone_is_named_with_a_remedy():
    record = PluginRecord("acme", start_import=lambda target: Import(LoadedPlugin("acme")))
    gone = (
        "the plugin acme does not register 'one' any more: upgrade it, or leave it out with: oneclaw plugins disable "
        "acme"
    )
    unusable = "the plugin acme cannot be used: see oneclaw plugins list; disable it with: oneclaw plugins disable acme"
    for each, message in ((record, gone), (PluginRecord("acme"), unusable)):
        registration = Registration("hook", "acme", "one", None)
        with pytest.raises(PluginError) as error:
            each.load_object_now(registration)
        with pytest.raises(PluginError) as later:
            asyncio.run(each.load_object(registration))
        assert str(error.value) == str(later.value) == message


def test_a_command_answers_for_its_options():
    record = PluginRecord("acme")
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

    first, second = PluginRecord("first"), PluginRecord("second")
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
