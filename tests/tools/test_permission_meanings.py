"""What groups say about permissions: who may say it, what it may be, and that it goes to users alone."""

import asyncio
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from policies import policy_of

import oneclaw_core.manifests
from oneclaw_core import (
    ToolCall,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSourceInfo,
    ToolSourceType,
    build_system_prompt_with_tool_groups,
)
from oneclaw_core.files import PathGuard
from oneclaw_core.manifests.manifest import parse_manifest
from oneclaw_core.permissions import approval_question, question_text
from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.tools import ToolDefinitionError
from oneclaw_core.tools.calls.call import Caller
from oneclaw_core.tools.group_tools import LoadToolGroupTool
from oneclaw_core.types.permissions import (
    KNOWN_PERMISSIONS,
    PermissionMeaning,
    is_permission_name,
    meaning_fault,
)
from oneclaw_core.wiring import tool_executor


def question(request):
    """All of a question, on a terminal that is wide enough for its sentences."""
    return question_text(approval_question(request), 200)


MEANING = "delete tables permanently"
SCHEMA = json.loads((Path(oneclaw_core.manifests.__file__).parent / "manifest.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
FIND = {"name": "find", "description": "Finds tables.", "function": "acme:find"}

BAD_MEANINGS = [
    *("", " ", "two\nlines", "tab\there", "end\n", "\x1b[2Jgone", "bell\x07", "\x9b31m", "del\x7f", "nul\x00"),
    *("turned\u202etxt", "unseen\u200bspace", "line\u2028end", "filler\u3164", "\u2800", "\u00a0", "tag\U000e0041"),
    *("x" * 121, None, True, 5, ["x"], {"a": "b"}),
]
BAD_NAMES = [
    *("", ".", "tables..delete", "Tables.delete", "tables delete", "tables.delete\n", "_tables.delete", "tables.9"),
    *("tables-delete", "täbles.delete", "shell.execute:git *", "\x1b[2J", "a." * 50 + "b", "tables."),
]


def manifest_with(permissions, **more):
    meta = {"_meta": True, "display_name": "Tables", "description": "About tables", "permissions": permissions}
    return parse_manifest(json.dumps([meta | more, FIND]).encode(), "tables.json")


def tables(permissions, name="tables"):
    return ToolGroupDefinition(name, "Tables", "About tables", permissions)


def test_a_manifest_explains_permissions():
    manifest = manifest_with({"tables.delete": MEANING, "tables.share": "zeige Tabellen anderen, 表"})
    assert manifest.problems == ()
    assert manifest.group == tables({"tables.delete": MEANING, "tables.share": "zeige Tabellen anderen, 表"})
    assert hash(manifest.group) == hash(tables({}))


@pytest.mark.parametrize("meaning", BAD_MEANINGS)
def test_a_bad_meaning_costs_itself_alone(meaning):
    manifest = manifest_with({"tables.delete": meaning, "tables.share": "share tables"})

    assert manifest.group == tables({"tables.share": "share tables"})
    assert [tool.name for tool in manifest.tools] == ["find"]
    (problem,) = manifest.problems
    assert (problem.pointer, problem.is_error) == ("/0/permissions/tables.delete", False)
    assert str(problem).isprintable()
    assert len(str(problem)) < 400
    with pytest.raises(ToolDefinitionError, match="the meaning of") as refused:
        tables({"tables.delete": meaning})
    assert refused.value.pointer == "/permissions"


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_costs_itself_alone(name):
    manifest = manifest_with({name: MEANING, "tables.share": "share tables"})

    assert manifest.group == tables({"tables.share": "share tables"})
    (problem,) = manifest.problems
    assert problem.pointer == "/0/permissions"
    assert str(problem).isprintable()
    assert len(str(problem)) < 500
    with pytest.raises(ToolDefinitionError, match="not a permission's name"):
        tables({name: MEANING})


@pytest.mark.parametrize("value", [None, True, 5, "tables.delete", [], ["tables.delete"]])
def test_permissions_that_are_no_object_are_ignored(value):
    manifest = manifest_with(value)
    assert manifest.group == tables({})
    assert [problem.pointer for problem in manifest.problems] == ["/0/permissions"]
    with pytest.raises(ToolDefinitionError, match="must be a mapping"):
        tables(value)


def test_a_name_that_is_no_text_is_refused_in_code():
    with pytest.raises(ToolDefinitionError, match="a int is not a permission's name"):
        tables({5: MEANING})


@pytest.mark.parametrize("name", KNOWN_PERMISSIONS)
def test_no_manifest_says_what_a_permission_of_the_core_means(name):
    manifest = manifest_with({name: "look at the time", "tables.delete": MEANING})

    assert manifest.group == tables({"tables.delete": MEANING})
    (problem,) = manifest.problems
    assert problem.pointer == f"/0/permissions/{name}"
    assert "OneClaw's own" in problem.message


@pytest.mark.long
def test_a_flood_of_bad_meanings_takes_little_time():
    started = time.process_time()
    manifest = manifest_with({f"tables.x{number}": "\x1b" for number in range(20_000)} | {"a" * 1_000_000: "x"})
    assert len(manifest.problems) == 20_001
    assert max(len(str(problem)) for problem in manifest.problems) < 500
    assert time.process_time() - started < 2


def test_what_was_checked_cannot_be_changed_from_outside():
    given = {"tables.delete": MEANING}
    group = tables(given)
    given["tables.delete"] = "\x1b[2J"
    assert group.permissions == {"tables.delete": MEANING}


def test_the_registry_keeps_the_core_s_own_meanings_and_the_first_of_others():
    registry = ToolRegistry()
    first = tables({"shell.execute": "look at the time", "tables.delete": MEANING})
    assert registry.register_group(first)
    assert registry.register_group(tables({"tables.delete": "nothing much", "tables.share": "share tables"}, "more"))

    meanings = registry.get_permission_meanings()
    assert list(meanings) == [*KNOWN_PERMISSIONS, "tables.delete", "tables.share"]
    assert meanings["shell.execute"] == PermissionMeaning(KNOWN_PERMISSIONS["shell.execute"])
    assert registry.get_permission_meaning("shell.execute") == meanings["shell.execute"]
    assert registry.get_permission_meaning("tables.delete") == PermissionMeaning(MEANING)
    assert registry.get_permission_meaning("tables.find") is None


def test_a_group_that_is_declared_twice_has_the_meanings_of_both():
    registry = ToolRegistry()
    registry.register_group(tables({"tables.delete": MEANING}))
    assert not registry.register_group(tables({"tables.delete": "other", "tables.share": "share tables"}))
    assert registry.get_permission_meaning("tables.delete") == PermissionMeaning(MEANING)
    assert registry.get_permission_meaning("tables.share") == PermissionMeaning("share tables")


def test_meanings_go_with_their_group():
    registry = ToolRegistry()
    registry.register_group(tables({"tables.delete": MEANING}))
    registry.unregister_group("tables")
    assert list(registry.get_permission_meanings()) == list(KNOWN_PERMISSIONS)
    registry.register_group(tables({"tables.delete": "delete tables"}))
    assert registry.get_permission_meaning("tables.delete") == PermissionMeaning("delete tables")


def registry_of(*plugins):
    """Make a registry of plugins, each given as its name, a permission with its meaning, and what its tool declares."""
    registry = ToolRegistry()
    for name, group, meanings, declared in plugins:
        registry.register_group(tables(meanings, group), name)
        definition = ToolDefinition(f"{name}_tool", "Does something.", required_permissions=declared)
        source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, group, name)
        registry.register(type("Probe", (), {"definition": definition, "execute": lambda self, given: ""})(), source)
    return registry


def test_a_plugin_that_loads_earlier_does_not_explain_what_is_another_s():
    registry = registry_of(
        ("attic", "boxes", {"tables.delete": "look at the time", "acme.tables.share": "smile"}, ()),
        ("tables", "tables", {"tables.delete": MEANING}, ()),
        ("acme", "acme_tables", {"acme.tables.share": "share tables"}, ()),
    )
    for asking in (None, "tables", "somebody"):
        assert registry.get_permission_meaning("tables.delete", asking) == PermissionMeaning(MEANING, "tables")
    assert registry.get_permission_meanings()["acme.tables.share"] == PermissionMeaning("share tables", "acme")
    assert registry.get_ignored_meanings("attic") == ["tables.delete", "acme.tables.share"]
    assert registry.get_ignored_meanings("tables") == registry.get_ignored_meanings("acme") == []


def test_each_plugin_is_believed_for_its_own_tools_whichever_loads_first():
    registry = registry_of(
        ("attic", "boxes", {"tables.delete": "look at the time"}, ("tables.delete",)),
        ("tables", "tables", {"tables.delete": MEANING}, ("tables.delete",)),
    )
    assert registry.get_permission_meaning("tables.delete", "tables") == PermissionMeaning(MEANING, "tables")
    attic = PermissionMeaning("look at the time", "attic")
    assert registry.get_permission_meaning("tables.delete", "attic") == attic
    assert registry.get_permission_meaning("tables.delete", "somebody") == attic


def test_whose_a_permission_is_follows_the_tools():
    registry = registry_of(("attic", "boxes", {"tables.delete": MEANING}, ("tables.delete",)))
    assert registry.get_permission_meaning("tables.delete") == PermissionMeaning(MEANING, "attic")
    registry.unregister("attic_tool")
    assert registry.get_permission_meaning("tables.delete") is None
    assert list(registry.get_permission_meanings()) == list(KNOWN_PERMISSIONS)


def test_the_question_says_whose_words_they_are_before_them():
    words = "look at the time (OneClaw says so), says plugin tables"
    request = PermissionRequest("tables.delete", "probe", {}, meaning=words, meaning_by="attic\x1b[2J")
    assert question(request).splitlines()[0] == (
        f"Tool probe wants permission tables.delete, which means, says plugin attic\\x1b[2J: {words}"
    )


class Delete:
    definition = ToolDefinition("tables_delete", "Deletes a table.", required_permissions=("tables.delete",))

    async def execute(self, arguments, context):
        await context.ask_permission("tables.share", "share it")
        await context.ask_permission("shell.execute", "run it", subject="ls")
        return ToolResult.success("deleted")


def test_who_is_asked_is_told_the_meaning_and_the_model_is_not(tmp_path):
    asked = []

    async def ask(request):
        asked.append(request)
        return PermissionAnswer.NO if request.permission == "shell.execute" else PermissionAnswer.ONCE

    async def remember(rule, decision):
        raise AssertionError("nothing is to be remembered here")

    registry = ToolRegistry()
    registry.register(LoadToolGroupTool(registry))
    group = tables({"tables.delete": MEANING, "shell.execute": "look at the time"})
    registry.register_group(group, "acme")
    registry.register(Delete(), ToolSourceInfo(ToolSourceType.TOOL_GROUP, "tables", "acme"))
    scope = Caller(registry.toolset().active(["tables"]), "Tester", "session")
    engine = tool_executor(registry, policy_of([], remember, ask), CallOrigins(PathGuard(tmp_path, tmp_path)), tmp_path)
    calls = [ToolCall("1", "tables_delete", "{}"), ToolCall("2", "load_tool_group", '{"group_name": "tables"}')]
    outcomes = asyncio.run(engine.execute(calls, scope))

    assert [(each.permission, each.meaning, each.meaning_by) for each in asked] == [
        ("tables.delete", MEANING, "acme"),
        ("tables.share", "", None),
        ("shell.execute", KNOWN_PERMISSIONS["shell.execute"], None),
    ]
    assert question(asked[0]).startswith(
        f"Tool tables_delete wants permission tables.delete, which means, says plugin acme: {MEANING}\n"
    )
    assert question(asked[1]).startswith("Tool tables_delete wants permission tables.share\n")
    told = [outcome.result.text() for outcome in outcomes]
    assert "Permission 'shell.execute' was denied by the user." in told[0]
    told += [repr(list(scope.active)), build_system_prompt_with_tool_groups("", [group])]
    assert not [text for text in told if MEANING in text or KNOWN_PERMISSIONS["shell.execute"] in text]


def test_the_question_trusts_no_one_with_the_meaning():
    """Whoever makes a request, such as a separate program, the words of the core and one line stay."""
    asked = question(PermissionRequest("shell.execute", "exec", {}, meaning="look at the time"))
    assert asked.splitlines()[0].endswith(KNOWN_PERMISSIONS["shell.execute"])
    asked = question(PermissionRequest("a.b", "probe", {}, meaning="x\n  it will: do nothing\x1b[2J\u202e" + "y" * 999))
    assert len(asked.splitlines()) == 4
    assert all(line.isprintable() for line in asked.splitlines())
    assert len(asked.splitlines()[0]) < 300


NAMES = st.sampled_from(["tables.delete", "tables", *KNOWN_PERMISSIONS, *BAD_NAMES]) | st.text(max_size=4)
MEANINGS = st.sampled_from([MEANING, "x" * 120, *BAD_MEANINGS]) | st.text(max_size=5)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, MEANINGS, max_size=2) | st.sampled_from([None, [], "x", 1]))
def test_the_published_schema_and_the_parser_agree_on_permissions(permissions):
    document = [{"_meta": True, "permissions": permissions}, FIND]
    problems = parse_manifest(json.dumps(document).encode(), "tables.json").problems
    assert VALIDATOR.is_valid(document) == (not problems), problems


def test_the_published_schema_names_the_permissions_of_the_core():
    names = SCHEMA["$defs"]["metadata"]["properties"]["permissions"]["propertyNames"]
    assert names["not"]["enum"] == list(KNOWN_PERMISSIONS)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab9_.-A\né", max_size=8))
def test_names_have_the_form_that_users_can_type(name):
    assert is_permission_name(name) == (re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", name) is not None)


def test_the_core_explains_its_own_within_the_same_bounds():
    assert [fault for each in KNOWN_PERMISSIONS.items() if (fault := meaning_fault(*each))] == []
