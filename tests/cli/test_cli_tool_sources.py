"""Tool sources of installed plugins at the command line: listed without being started, named when they fail."""

import json

import pytest

PLUGIN = """
from oneclaw_core import hookimpl


@hookimpl
def register_tools(register):
    register.source("shelf", "oneclaw_library.shelf:Shelf")
"""

SHELF = """
import os
from oneclaw_core import SourceTool, ToolGroupDefinition, ToolSource, tool

print("imported")


@tool
def borrow(title: str) -> str:
    "Borrow a book."
    return f"{title}, read it well"


class Shelf(ToolSource):
    def __init__(self, context):
        self.name = context.name

    async def start(self, tools):
        if "SHELF_IS_CLOSED" in os.environ:
            raise OSError("the shelf is closed")
        group = ToolGroupDefinition("library", "Library", "Borrow books")
        tools.publish([SourceTool(borrow, "library")], [group])
"""

COMMAND = """

@hookimpl
def register_commands(register):
    register("count", "oneclaw_library.commands:count", help="Count the books.")
"""

COUNT = """
import asyncio
import click
from oneclaw_core import OneClaw


@click.command()
def count():
    async def open_home():
        async with OneClaw.open() as claw:
            await claw.services.tool_source("library", "shelf")

    asyncio.run(open_home())
    click.echo(1)
"""

LISTED = """

def list_shelf(context, published):
    from oneclaw_core.plugins import PluginProblem

    published.publish([], [], [PluginProblem("shelf", "two books are missing", "look for them")])
"""


@pytest.fixture
def library(install_plugin):
    return install_plugin("library", PLUGIN, files={"shelf.py": SHELF})


@pytest.mark.long
def test_a_source_starts_with_the_first_call_and_is_listed_from_then_on(library, ok, oneclaw):
    assert "borrow" not in [each["name"] for each in ok("tools", "list", "--json")]

    called = oneclaw("call", "borrow", '{"title": "Emma"}')
    assert json.loads(called.stdout) == {"status": "success", "result": "Emma, read it well"}

    (listed,) = [each for each in ok("tools", "list", "--json") if each["name"] == "borrow"]
    assert (listed["plugin"], listed["group"], listed["description"]) == ("library", "library", "Borrow a book.")
    (group,) = [each for each in ok("groups", "list", "--json") if each["name"] == "library"]
    assert (group["description"], group["tools"]) == ("Borrow books", ["borrow"])


@pytest.mark.long
def test_a_source_that_fails_is_named_by_plugins_list_and_doctor(library, oneclaw, ok, monkeypatch):
    monkeypatch.setenv("SHELF_IS_CLOSED", "1")
    assert oneclaw("call", "get_current_time").status == 0
    monkeypatch.delenv("SHELF_IS_CLOSED")

    (record,) = [each for each in oneclaw("plugins", "list", "--json").json if each["name"] == "library"]
    (problem,) = record["problems"]
    assert problem["where"] == "tool source 'shelf'"
    assert problem["cause"] == "start failed: OSError: the shelf is closed"
    (finding,) = [each for each in oneclaw("doctor", "--json").json["checks"] if each["check"] == "plugin library"]
    assert "the shelf is closed" in finding["message"]

    assert oneclaw("call", "borrow", '{"title": "Emma"}').status == 0
    (record,) = [each for each in ok("plugins", "list", "--json") if each["name"] == "library"]
    assert record["problems"] == []


def test_a_problem_that_the_listing_and_the_open_home_find_is_shown_once(install_plugin, oneclaw):
    shelf = f"{SHELF.rpartition('tools.publish')[0]}list_shelf(None, tools)\n{LISTED}"
    plugin = PLUGIN.replace('.shelf:Shelf"', '.shelf:Shelf", listing="oneclaw_library.shelf:list_shelf"')
    install_plugin("library", plugin + COMMAND, files={"shelf.py": shelf, "commands.py": COUNT})

    counted = oneclaw("count")
    assert counted.stdout == "1\n"
    assert counted.stderr.count("two books are missing") == 1
