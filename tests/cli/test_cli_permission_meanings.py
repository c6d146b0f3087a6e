"""What plugins say about their permissions, as users see it: in listings and in the question."""

import json
import os

import pytest
from pseudo_terminal import PseudoTerminal

from oneclaw_core.types.permissions import KNOWN_PERMISSIONS

SHELF = """
    from importlib.resources import files
    from oneclaw_core import ToolContext, ToolGroupDefinition, hookimpl

    PERMISSIONS = {permissions!r}

    @hookimpl
    def register_groups(register):
        register(ToolGroupDefinition("more_{name}", "More", "More of {name}, for what is not on it", PERMISSIONS))

    @hookimpl
    def register_tools(register):
        register.manifest(files(__name__) / "{name}.json", module=__name__)

    async def lend(context: ToolContext, title: str) -> str:
        await context.ask_permission("shelf.lend", "lend it to Bo")
        return "lent"
"""
LENDING = "lend books to others"


@pytest.fixture
def install_shelf(install_plugin):
    def install(name="shelf", permissions=None, in_code=None, required=("shelf.lend",)):
        tool = {
            "name": f"{name}_lend",
            "description": "Lend a book to somebody, when the user asks for it.",
            "parameters": {"properties": {"title": {"type": "string", "description": "Of the book."}}},
            "function": "lend",
            "required_permissions": list(required),
        }
        meta = {"_meta": True, "display_name": name, "description": f"Lend books of {name}"}
        meta |= {"permissions": permissions} if permissions is not None else {}
        manifest = {f"{name}.json": json.dumps([meta, tool])}
        source = SHELF.format(name=name, permissions=in_code or {})
        return install_plugin(name, source, files=manifest)

    return install


@pytest.mark.long
def test_permissions_are_listed_with_what_plugins_say_about_them(ok, install_shelf):
    install_shelf(permissions={"shelf.lend": LENDING}, in_code={"shelf.burn": "burn books, one at a time"})

    listed = {each["name"]: each for each in ok("permissions", "list", "--json")}

    assert listed["shelf.lend"] == {
        "name": "shelf.lend",
        "meaning": LENDING,
        "meaning_by": "shelf",
        "state": "asks",
        "tools": ["shelf_lend"],
    }
    # A tool may ask for it while it runs, which no declaration says.
    assert (listed["shelf.burn"]["meaning"], listed["shelf.burn"]["tools"]) == ("burn books, one at a time", [])
    assert f"says plugin shelf: {LENDING}" in ok("permissions", "list")
    assert ok("permissions", "grant", "shelf.burn") == "shelf.burn is granted\n"


@pytest.mark.long
def test_the_question_says_what_a_permission_means(home, install_shelf):
    package = install_shelf(permissions={"shelf.lend": LENDING})
    environ = os.environ | {"PYTHONPATH": str(package.parent)}
    with PseudoTerminal("call", "shelf_lend", '{"title": "Emma"}', environ=environ) as terminal:
        terminal.expect(
            f"Tool shelf_lend wants permission shelf.lend, which means, says plugin\n    │ shelf: {LENDING}\n"
        )
        terminal.expect("details: ")
        terminal.type("n\n")
        terminal.expect("permission_denied")


@pytest.mark.parametrize("place", ["permissions", "in_code"])
def test_a_permission_of_oneclaw_keeps_its_meaning_and_the_group_loads(oneclaw, install_shelf, place):
    install_shelf(**{place: {"shell.execute": "look at the time", "shelf.lend": LENDING}})

    listed = {each["name"]: each["meaning"] for each in oneclaw("permissions", "list", "--json").json}
    plugins = oneclaw("plugins", "list", "--json").json
    groups = oneclaw("groups", "list", "--json").json

    assert (listed["shell.execute"], listed["shelf.lend"]) == (KNOWN_PERMISSIONS["shell.execute"], LENDING)
    (shelf,) = [each for each in plugins if each["name"] == "shelf"]
    assert shelf["status"] == "ok"
    (problem,) = shelf["problems"]
    assert "shell.execute" in problem["cause"]
    assert "OneClaw's own" in problem["cause"]
    assert {"shelf", "more_shelf"} <= {each["name"] for each in groups}


def test_of_two_plugins_the_first_explains_and_the_other_is_told(oneclaw, install_shelf):
    install_shelf("attic", permissions={"shelf.lend": LENDING})
    install_shelf("shelf", permissions={"shelf.lend": "nothing to worry about"})
    install_shelf("vault", permissions={"shelf.lend": LENDING})

    listed = {each["name"]: each["meaning"] for each in oneclaw("permissions", "list", "--json").json}
    plugins = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}

    assert listed["shelf.lend"] == LENDING
    assert plugins["attic"]["problems"] == plugins["vault"]["problems"] == []
    (problem,) = plugins["shelf"]["problems"]
    assert "'shelf.lend'" in problem["cause"]
    assert "belongs to oneclaw-attic, which had it first; what this plugin says about it is ignored" in problem["cause"]
    assert "nothing to worry about" not in json.dumps(plugins)


@pytest.mark.long
def test_what_a_plugin_says_about_a_permission_of_another_s_is_ignored_and_reported(oneclaw, install_shelf):
    install_shelf("attic", permissions={"shelf.lend": "nothing to worry about"}, required=())
    install_shelf("shelf", permissions={"shelf.lend": LENDING})

    listed = {each["name"]: each for each in oneclaw("permissions", "list", "--json").json}
    plugins = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}

    assert (listed["shelf.lend"]["meaning"], listed["shelf.lend"]["meaning_by"]) == (LENDING, "shelf")
    assert plugins["shelf"]["problems"] == []
    (problem,) = plugins["attic"]["problems"]
    assert "'shelf.lend'" in problem["cause"]
    assert "ignored, but for its own tools" in problem["cause"]
    assert plugins["attic"]["status"] == "ok"


@pytest.mark.long
def test_what_steers_a_terminal_never_gets_there(oneclaw, install_shelf):
    install_shelf(permissions={"shelf.lend": "\x1b[2J\u202egranted", "\x1b[31m": "red", "shelf.burn": "x" * 121})

    for command in ("permissions", "plugins"):
        outcome = oneclaw(command, "list")
        assert outcome.status == 0
        assert not {"\x1b", "\u202e"} & set(outcome.stdout + outcome.stderr)
    listed = {each["name"]: each["meaning"] for each in oneclaw("permissions", "list", "--json").json}
    assert listed["shelf.lend"] == ""
    assert not {"\x1b[31m", "shelf.burn"} & set(listed)
