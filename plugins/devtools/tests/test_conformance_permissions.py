"""Permissions that a plugin declares and explains, as ``oneclaw plugins check`` sees them."""

import json

import pytest
from oneclaw_devtools.conformance.facts import NeighbourFacts, PluginFacts, ToolFacts
from oneclaw_devtools.conformance.limits import permission_findings
from oneclaw_devtools.conformance.names import collision_findings

SHELF = """
    from importlib.resources import files
    from oneclaw_core import ToolGroupDefinition, hookimpl

    @hookimpl
    def register_groups(register):
        register(ToolGroupDefinition("more_shelf", "More", "More of it, for what is not on the shelf", {in_code!r}))

    @hookimpl
    def register_tools(register):
        register.manifest(files(__name__) / "shelf.json", module=__name__)

    def lend(title: str) -> str:
        return "lent"
"""
LENDING = "lend books to others"


@pytest.fixture
def install_shelf(install_plugin):
    def install(permissions, in_code=None, required=("shelf.lend",)):
        tool = {
            "name": "shelf_lend",
            "description": "Lend a book to somebody, when the user asks for it.",
            "parameters": {"properties": {"title": {"type": "string", "description": "Of the book."}}},
            "function": "lend",
            "required_permissions": list(required),
        }
        meta = {"_meta": True, "display_name": "shelf", "description": "Lend books", "permissions": permissions}
        files = {"shelf.json": json.dumps([meta, tool])}
        return install_plugin("shelf", SHELF.format(in_code=in_code or {}), files=files)

    return install


def found(findings, check):
    return [each for each in findings if each["check"] == check]


@pytest.mark.long
def test_a_permission_that_no_one_explains_is_noted(oneclaw, install_shelf):
    install_shelf(required=("shelf.lend", "shelf.burn", "files.read"), permissions={"shelf.burn": "burn books"})

    report = oneclaw("plugins", "check", "shelf", "--no-calls", "--json").json

    (note,) = found(report["findings"], "permissions.unexplained")
    assert (note["severity"], note["cause"]) == ("note", "nothing says what is meant by shelf.lend")
    assert '"permissions": {' in note["remedy"]


@pytest.mark.long
def test_a_check_finds_what_the_loader_ignores(oneclaw, install_shelf):
    install_shelf(permissions={"files.read": "nothing much"}, in_code={"shell.execute": "nothing much"})

    report = oneclaw("plugins", "check", "shelf", "--no-calls", "--json").json

    (in_manifest,) = found(report["findings"], "manifests.meta")
    assert "files.read" in in_manifest["cause"]
    (in_code,) = found(report["findings"], "permissions.not-own")
    assert "shell.execute" in in_code["cause"]
    assert report["passed"] is False


def test_permissions_are_compared_with_those_of_neighbours():
    facts = PluginFacts("shelf", meanings={"shelf.lend": LENDING, "shelf.burn": "burn books"})
    neighbour = NeighbourFacts(
        "attic", "oneclaw-attic 1.2", meanings={"shelf.lend": "nothing", "shelf.burn": "burn books"}
    )

    (finding,) = collision_findings(facts, [neighbour])

    assert (finding.check, finding.where) == ("permissions.meaning-taken", "permission shelf.lend")


def test_many_permissions_that_no_one_explains_are_one_short_note():
    names = tuple(f"shelf.do{number}" for number in range(500))
    findings = list(permission_findings(PluginFacts("shelf", tools=(ToolFacts("x", "X.", {}, names),))))
    (finding,) = findings
    assert finding.cause.endswith("shelf.do11 and 488 more")
