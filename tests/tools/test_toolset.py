"""Toolsets: the tools of a registry that an agent may use."""

import asyncio
from functools import partial

import pytest

from oneclaw_core import (
    LoadToolGroupTool,
    ToolContext,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSelection,
    ToolSourceInfo,
    ToolSourceType,
)
from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.files import PathGuard
from oneclaw_core.shipped.missing import missing_part
from oneclaw_core.tools import registry as toolset_module
from oneclaw_core.tools.group_tools import FindToolGroupsTool
from oneclaw_core.tools.registry import MAX_LISTED_GROUPS, build_system_prompt_with_tool_groups
from oneclaw_core.types.tool_groups import generated_group_definition, one_line, requested_group


class NamedTool:
    def __init__(self, name):
        self.definition = ToolDefinition(name, f"Does {name}.")

    async def execute(self, arguments, context):
        return ToolResult.success("")


def add(registry, name, group=None):
    source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, group) if group else ToolSourceInfo.BUILTIN
    registry.register(NamedTool(name), source)


@pytest.fixture
def registry():
    registry = ToolRegistry()
    registry.register(LoadToolGroupTool(registry))
    for name in ("read_file", "exec"):
        add(registry, name)
    for group in ("pdf", "drive"):
        registry.register_group(ToolGroupDefinition(group, group.title(), f"Does {group}"))
        for verb in ("list", "read"):
            add(registry, f"{group}_{verb}", group)
    return registry


def named(tools=None, groups=None):
    return ToolSelection.naming(tools, groups)


def seen(registry, selection):
    toolset = registry.toolset(selection)
    return (
        [each.name for each in toolset.core_tools],
        {group.name: [each.name for each in toolset.tools_of(group.name)] for group in toolset.groups},
    )


@pytest.mark.parametrize(
    ("selection", "core", "groups"),
    [
        (
            named(),
            ["load_tool_group", "read_file", "exec"],
            {"pdf": ["pdf_list", "pdf_read"], "drive": ["drive_list", "drive_read"]},
        ),
        (named(["read_file"]), ["read_file"], {}),
        (named(["read_file"], ["pdf"]), ["load_tool_group", "read_file"], {"pdf": ["pdf_list", "pdf_read"]}),
        (named(["drive_read"]), ["load_tool_group"], {"drive": ["drive_read"]}),
        (named(["*"]), ["read_file", "exec"], {}),
        (named(["load_tool_group", "exec"]), ["exec"], {}),
        (named(["exec", "gone"], ["gone"]), ["exec"], {}),
        (named([], []), [], {}),
    ],
)
def test_a_toolset_has_the_enabled_tools_of_the_selection(registry, selection, core, groups):
    assert seen(registry, selection) == (core, groups)


def test_a_toolset_follows_the_registry(registry):
    selection = named(["read_file", "new_tool"], ["pdf"])
    assert seen(registry, selection) == (["load_tool_group", "read_file"], {"pdf": ["pdf_list", "pdf_read"]})
    registry.set_disabled(["read_file", "pdf_list"], [])
    assert seen(registry, selection) == (["load_tool_group"], {"pdf": ["pdf_read"]})
    registry.set_disabled([], ["pdf"])
    assert seen(registry, selection) == (["read_file"], {})
    registry.set_disabled([], [])
    add(registry, "new_tool")
    assert seen(registry, selection)[0] == ["load_tool_group", "read_file", "new_tool"]
    assert registry.toolset(selection) is registry.toolset(selection)


def test_a_disabled_tool_is_selected_nevertheless(registry):
    registry.set_disabled(["exec"], [])
    toolset = registry.toolset(named(["exec"]))
    assert toolset.allows("exec")
    assert not toolset.allows("read_file")
    assert not toolset.allows("nothing of that name")


def test_no_more_than_some_toolsets_are_kept(registry):
    for number in range(600):
        registry.toolset(named([f"tool_{number}"]))
    assert len(registry._toolsets) <= 256


@pytest.mark.long
def test_asking_again_looks_at_no_tool(registry):
    looked_at = []

    class WatchedSelection(ToolSelection):
        def allows(self, tool_name, group_name):
            looked_at.append(tool_name)
            return super().allows(tool_name, group_name)

    for number in range(2_000):
        add(registry, f"pdf_{number}", "pdf")
    selection = WatchedSelection(frozenset({"read_file"}), frozenset({"pdf", "drive"}))
    registry.toolset(selection).active(["drive"])
    # The group of 2,000 tools is in it as a whole and not loaded.
    assert len(looked_at) == 4
    registry.toolset(selection).active(["drive"])
    assert len(looked_at) == 4


def test_the_active_tools_are_those_of_the_selection(registry):
    active = registry.toolset(named(["exec", "pdf_read"])).active(["pdf", "drive"])
    assert [each.name for each in active] == ["load_tool_group", "exec", "pdf_read"]
    assert [group.name for group in active.groups] == ["pdf"]
    assert [(each.name, [tool.name for tool in each.tools]) for each in active.find_loadable()] == [
        ("pdf", ["pdf_read"])
    ]


def load(registry, tmp_path, selection, group):
    guard = PathGuard(tmp_path, tmp_path)
    context = ToolContext(tmp_path, None, "test", "load_tool_group", "call_1", guard, selection=selection)
    coroutine = LoadToolGroupTool(registry).execute({"group_name": group}, context)
    with pytest.raises(StopIteration) as returned:
        coroutine.send(None)  # it waits for nothing
    return returned.value.value


def test_all_tools_are_active_where_no_group_need_be_loaded(registry):
    names = list(registry.toolset().all_active.names)
    assert sorted(names) == sorted(registry.get_all_tool_names())
    registry.set_disabled(names[:1], ())
    assert registry.toolset().all_active.names == frozenset(names[1:])


def test_loading_lists_the_tools_of_the_selection_only(registry, tmp_path):
    result = load(registry, tmp_path, named(["pdf_read"]), "pdf")
    assert result.result == "Loaded 1 tools from group 'Pdf':\n- pdf_read: Does pdf_read."


@pytest.mark.parametrize("group", ["drive", "nothing"])
def test_a_group_outside_the_selection_is_not_found(registry, tmp_path, group):
    result = load(registry, tmp_path, named(["exec"], ["pdf"]), group)
    assert (result.error_type, result.error_message) == (
        "not_found",
        f"Tool group '{group}' not found. Available groups: pdf",
    )


def test_a_disabled_group_of_the_selection_is_empty(registry, tmp_path):
    registry.set_disabled([], ["pdf"])
    assert load(registry, tmp_path, named(None, ["pdf"]), "pdf").error_type == "empty_group"


def many_groups(registry, count, *, unlisted=0, description="Does it."):
    for number in range(count):
        name = f"group{number}"
        registry.register_group(ToolGroupDefinition(name, name, description, may_be_unlisted=number < unlisted))
        add(registry, f"tool{number}", name)


@pytest.fixture
def empty():
    registry = ToolRegistry()
    registry.register(LoadToolGroupTool(registry))
    registry.register(FindToolGroupsTool(registry))
    add(registry, "exec")
    return registry


def test_a_long_list_of_groups_is_listed_in_part(monkeypatch):
    for count, unlisted, finds in (
        (MAX_LISTED_GROUPS, 5, False),
        (MAX_LISTED_GROUPS + 1, 0, False),
        (MAX_LISTED_GROUPS + 1, 1, True),
    ):
        registry = ToolRegistry()
        for each in (LoadToolGroupTool(registry), FindToolGroupsTool(registry)):
            registry.register(each)
        many_groups(registry, count, unlisted=unlisted)
        toolset = registry.toolset()
        assert toolset.finds_groups is finds
        assert ("find_tool_groups" in [each.name for each in toolset.core_tools]) is finds
        assert ("find_tool_groups" in registry.get_all_tool_names()) is finds
        listed = [each.name for each in toolset.active([]).find_loadable()]
        assert len(listed) == count - unlisted
    registry.set_disabled(["find_tool_groups"], [])
    assert registry.toolset().finds_groups is False
    monkeypatch.setattr(toolset_module, "MAX_UNLISTABLE_BYTES", 2 * len("- group0: Does it.\n"))
    for count, finds in ((2, False), (3, True)):
        registry = ToolRegistry()
        registry.register(FindToolGroupsTool(registry))
        many_groups(registry, 5, unlisted=count)
        assert registry.toolset().finds_groups is finds


def test_the_active_tools_of_a_conversation_stay_as_they_began(empty):
    add(empty, "late")
    many_groups(empty, 1)

    def active(groups, began_with):
        found = empty.toolset().active(groups, began_with)
        return [each.name for each in found.core], {
            each.name: [tool.name for tool in each.tools] for each in found.groups
        }

    assert active(["group0", "none"], None) == (["load_tool_group", "exec", "late"], {"group0": ["tool0"]})
    began = {"load_tool_group", "exec"}
    assert active([], began) == (["load_tool_group", "exec", "late"], {})
    assert active(["late", "group0"], began) == (["load_tool_group", "exec"], {"late": ["late"], "group0": ["tool0"]})
    assert active(["exec"], began)[0] == ["load_tool_group", "exec", "late"]
    finding = {*began, "find_tool_groups"}
    assert active([], finding)[0] == ["load_tool_group", "find_tool_groups", "exec", "late"]
    assert empty.toolset().keeps_finding(finding)
    assert not empty.toolset().keeps_finding(began)
    empty.set_disabled(["find_tool_groups"], [])
    assert active([], finding)[0] == ["load_tool_group", "exec", "late"]


def test_what_a_group_has_to_say_of_itself():
    for changes, message, pointer in (
        ({"display_name": " "}, "tool group 'mail': display_name must be a text that is not empty", "/display_name"),
        ({"description": 7}, "tool group 'mail': description must be a text that is not empty", "/description"),
        (
            {"permissions": []},
            "tool group 'mail': permissions must be a mapping of names to what they mean",
            "/permissions",
        ),
        (
            {"permissions": {"a.b": ""}},
            "tool group 'mail': the meaning of 'a.b' must be a text that is not empty",
            "/permissions",
        ),
    ):
        with pytest.raises(ToolDefinitionError) as error:
            ToolGroupDefinition(**{"name": "mail", "display_name": "Mail", "description": "Mails.", **changes})
        assert (str(error.value), error.value.pointer) == (message, pointer)
    for name, tools, display_name, description in (
        ("google_gmail", ["a", "b"], "Google Gmail", "Tools from google_gmail group: a, b"),
        ("_", [], "_", "Tools from _ group"),
        ("aB-c", [], "AB-c", "Tools from aB-c group"),
    ):
        made = generated_group_definition(name, tools)
        assert (made.display_name, made.description, made.may_be_unlisted) == (display_name, description, False)


def test_groups_are_listed_in_the_prompt():
    groups = [
        ToolGroupDefinition("mail", "Mail", "Reads\nmail."),
        ToolGroupDefinition("quiet", "Quiet", "Is quiet.", may_be_unlisted=True),
    ]
    head = "## Available Tool Groups\n\nUse `load_tool_group` to load tools from a group before using them.\n\n"
    plain = f"{head}- mail: Reads mail.\n- quiet: Is quiet."
    more = "\n\nThere are more groups, which are not listed. Find them with `find_tool_groups`."
    for base, given, finds, text in (
        ("Be kind.", [], False, "Be kind."),
        (" ", groups, False, plain),
        ("Be kind.", groups, False, f"Be kind.\n\n---\n\n{plain}"),
        ("", groups, True, f"{head}- mail: Reads mail.{more}"),
    ):
        assert build_system_prompt_with_tool_groups(base, given, finds_groups=finds) == text
    for text, limit, line in (
        (" a\n b ", None, "a b"),
        ("one two", 7, "one two"),
        ("one two three", 8, "one…"),
        ("one two, three", 10, "one two…"),
        ("onetwothree", 5, "onet…"),
    ):
        assert one_line(text, limit) == line


def test_the_group_that_a_call_names():
    for given, name in (
        ('{"group_name": "mail"}', "mail"),
        ('{"group_name": 7}', None),
        ("{}", None),
        ("[]", None),
        (None, None),
        ("", None),
        ('```json\n{"group_name": "mail"}\n```', "mail"),
        ("nonsense", None),
    ):
        assert requested_group(given) == name


def run_tool(made, arguments, context=None):
    return asyncio.run(made.execute(arguments, context))


def test_loading_a_group_says_what_is_in_it_or_why_not(registry):
    load = LoadToolGroupTool(registry)
    registry.register_group(ToolGroupDefinition("empty", "Empty", "Is empty."))
    for arguments, result in (
        ({}, ToolResult.error("missing_parameter", "Required parameter 'group_name' is missing.")),
        ({"group_name": 7}, ToolResult.error("missing_parameter", "Required parameter 'group_name' is missing.")),
        (
            {"group_name": "none"},
            ToolResult.error("not_found", "Tool group 'none' not found. Available groups: pdf, drive, empty"),
        ),
        ({"group_name": "empty"}, ToolResult.error("empty_group", "Tool group 'empty' has no available tools.")),
        (
            {"group_name": "pdf"},
            ToolResult.success(
                "Loaded 2 tools from group 'Pdf':\n- pdf_list: Does pdf_list.\n- pdf_read: Does pdf_read."
            ),
        ),
    ):
        assert run_tool(load, arguments) == result
    none = run_tool(LoadToolGroupTool(ToolRegistry()), {"group_name": "x"})
    assert none.error_message == "Tool group 'x' not found. Available groups: none"
    registry.set_disabled([], ["pdf", "empty"])
    assert run_tool(load, {"group_name": "x"}).error_message == "Tool group 'x' not found. Available groups: drive"
    registry.how_to_get = partial(missing_part, absent={})
    missing = run_tool(load, {"group_name": "google_gmail"}).error_message
    assert missing.startswith("Tool group 'google_gmail' not found. Available groups: drive; ")
    assert load.definition.to_dict() == {
        "name": "load_tool_group",
        "description": "Load all tools in a tool group to make them available for use. You MUST load a tool group "
        "before you can use any tools in it. After loading, the tools will be available for the rest of this "
        "conversation.",
        "parameters": '{"type":"object","properties":{"group_name":{"type":"string","description":"The name of the '
        'tool group to load"}},"required":["group_name"]}',
        "required_permissions": [],
        "timeout_seconds": 5,
        "read_only": True,
    }


def test_groups_are_found_by_what_their_tools_do(registry):
    find = FindToolGroupsTool(registry)
    found = run_tool(find, {"query": "pdf"})
    assert found == ToolResult.success("- pdf: Does pdf Tools that fit: pdf_list, pdf_read")
    assert run_tool(find, {"query": "zzz"}) == ToolResult.success(
        "No tool group fits. Try other words for what is to be done."
    )
    registry.set_disabled(["pdf_read"], [])
    assert run_tool(find, {"query": "pdf"}).result == "- pdf: Does pdf Tools that fit: pdf_list"
    data = find.definition.to_dict()
    assert (data["description"], data["timeout_seconds"], data["read_only"]) == (
        "Find tool groups that are not listed, by what their tools can do. Returns names of groups; load one with "
        "load_tool_group to use its tools.",
        30,
        True,
    )
    assert data["parameters"] == (
        '{"type":"object","properties":{"query":{"type":"string","description":"Words for what is to be done"}},'
        '"required":["query"],"additionalProperties":false}'
    )
