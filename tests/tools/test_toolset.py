"""Toolsets: the tools of a registry that an agent may use."""

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
from oneclaw_core.tools import PathGuard


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
    assert len(registry._toolsets) == 256


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
