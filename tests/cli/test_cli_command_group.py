"""Groups of the program's own commands, extended by plugins."""

import pytest

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.main import BUILTIN_COMMANDS, check_commands
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.plugins.plugin import COMMAND_GROUPS

pytestmark = pytest.mark.lowest_versions

PLUGIN = """
    from oneclaw_core import hookimpl

    @hookimpl
    def register_commands(register):
        register("greet", "oneclaw_greeting.commands:greet", help="Say hello.", parent="tools")
"""
COMMANDS = """
import click

@click.command()
@click.argument("name")
def greet(name):
    click.echo(f"Hello, {name}.")
"""


@pytest.fixture
def greeting(install_plugin):
    return install_plugin("greeting", PLUGIN, files={"commands.py": COMMANDS})


def test_all_groups_of_the_program_can_be_extended():
    groups = {name for name, each in BUILTIN_COMMANDS.items() if isinstance(each.load(), CommandGroup)}
    assert groups == COMMAND_GROUPS


@pytest.mark.long
@pytest.mark.one_python
def test_a_subcommand_of_a_plugin_runs_and_is_listed(ok, greeting):
    assert ok("tools", "greet", "Bo") == "Hello, Bo.\n"
    assert "greet  Say hello." in ok("tools", "--help")


def test_help_imports_no_module_of_a_plugin(ok, greeting):
    (greeting / "commands.py").write_text("1 / 0")
    assert "greet  Say hello." in ok("tools", "--help")


def test_a_taken_subcommand_stays_and_is_reported(ok, install_plugin):
    install_plugin("greeting", PLUGIN.replace('"greet", ', '"list", '))

    assert ok("tools", "list", "--json")
    record = next(each for each in load_plugins().plugins if each.name == "greeting")
    check_commands(record)
    assert [each.cause for each in record.problems] == ["the command 'list' is taken"]


def test_an_unknown_subcommand_is_wrong_usage(oneclaw):
    outcome = oneclaw("tools", "grete")
    assert outcome.status == 2
    assert "No such command 'grete'" in outcome.stderr
