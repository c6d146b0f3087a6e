"""Tools and groups are found by their names, descriptions and parameters."""

import asyncio

from oneclaw_core import LoadToolGroupTool, ToolDefinition, ToolGroupDefinition, ToolRegistry
from oneclaw_core.search.names import ToolIndex
from oneclaw_core.tools.group_tools import FindToolGroupsTool
from oneclaw_core.tools.registry import MAX_LISTED_GROUPS, MAX_UNLISTABLE_BYTES
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS
from oneclaw_core.types.tools import ToolSelection, ToolSourceInfo, ToolSourceType


def definition(name, description, *parameters):
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return ToolDefinition(name, description, schema)


class Named:
    def __init__(self, *texts):
        self.definition = definition(*texts)

    async def execute(self, arguments, context):
        raise AssertionError


def registry_of(groups, *, may_be_unlisted=True):
    """A registry with the two tools of the core that load and find groups, and groups of one tool each."""
    registry = ToolRegistry()
    registry.register(LoadToolGroupTool(registry))
    registry.register(FindToolGroupsTool(registry))
    for name in groups:
        group = ToolGroupDefinition(name, name.title(), f"Things about {name}", may_be_unlisted=may_be_unlisted)
        registry.register_group(group)
        source = ToolSourceInfo(ToolSourceType.PLUGIN, name, is_supplied=True)
        registry.register(Named(f"{name}__show", f"Show the {name} of a city.", "city"), source)
    return registry


def many(count=MAX_LISTED_GROUPS + 1):
    return ["weather", *(f"group_{number}" for number in range(count - 1))]


def find(registry, query, context=None):
    return asyncio.run(registry.get_tool(FIND_TOOL_GROUPS).execute({"query": query}, context))


def test_best_tools_are_found_first():
    index = ToolIndex(
        [
            (definition("github__create_issue", "Open a new issue in a repository.", "title", "body"), "github"),
            (definition("github__list_pulls", "List pull requests.", "state"), "github"),
            (definition("mail__send", "Send a message to somebody.", "recipient"), "mail"),
            (definition("files__searchFiles", "Look for files.\n[From the server issue]", "pattern"), "files"),
        ]
    )
    assert index.find("creating issues", 5) == ["github__create_issue"]
    assert index.find("search file", 1) == ["files__searchFiles"]
    assert index.find("recipients", 5) == ["mail__send"]
    assert index.find("list issue", 5, lambda name: name.startswith("mail")) == []
    assert index.find("", 5) == []


def test_long_texts_are_searched_to_their_end():
    text = f"A tool's {'very ' * 60}long description that ends with a kangaroo."
    index = ToolIndex([(definition("other", "It's short."), None), (definition("zoo", text), None)])
    assert index.find("kangaroo", 5) == ["zoo"]
    assert index.find(f"somebody's {'wish ' * 60} for a kangaroo", 1) == ["zoo"]


def test_words_that_say_nothing_are_left_out_of_a_query():
    index = ToolIndex([(definition("play", "Please you and me."), None), (definition("mail", "Write a letter."), None)])
    assert index.find("would you please write me a letter", 5) == ["mail"]
    assert index.find("you and me", 5) == ["play"]


def test_find_tool_groups_is_a_core_tool_while_the_list_of_groups_is_long():
    short, long = registry_of(many(MAX_LISTED_GROUPS)), registry_of(many())
    listed = registry_of(many(), may_be_unlisted=False)
    assert [each.name for each in short.get_core_tool_definitions()] == ["load_tool_group"]
    assert [each.name for each in listed.get_core_tool_definitions()] == ["load_tool_group"]
    assert [each.name for each in long.get_core_tool_definitions()] == ["load_tool_group", "find_tool_groups"]
    assert FIND_TOOL_GROUPS not in short.get_all_tool_names()
    long.set_disabled([FIND_TOOL_GROUPS], [])
    assert [each.name for each in long.get_core_tool_definitions()] == ["load_tool_group"]


def test_few_groups_with_long_lines_are_found_too():
    def finds(line_bytes, *, may_be_unlisted=True):
        registry = registry_of([])
        for number in range(10):
            # "- group_0: " and the end of the line are twelve bytes.
            text = "é" * ((line_bytes - 12) // 2)
            group = ToolGroupDefinition(f"group_{number}", "Group", text, may_be_unlisted=may_be_unlisted)
            registry.register_group(group)
            registry.register(Named(f"show_{number}", "Show."), ToolSourceInfo(ToolSourceType.PLUGIN, group.name))
        return registry.toolset().finds_groups

    most = MAX_UNLISTABLE_BYTES // 10
    assert not finds(most)
    assert finds(most + 2)
    assert not finds(most + 2, may_be_unlisted=False)


def test_group_is_found_by_its_tools():
    found = find(registry_of(many()), "weather in a city").result
    assert found.splitlines()[0] == "- weather: Things about weather Tools that fit: weather__show"
    assert len(found.splitlines()) == 10


def test_disabled_groups_are_not_found():
    registry = registry_of(many())
    registry.set_disabled([], ["weather"])
    assert "weather" not in find(registry, "weather").result


def test_an_agent_finds_its_groups_alone():
    registry = registry_of(many())
    toolset = registry.toolset(ToolSelection(frozenset(), frozenset({"weather"})))
    assert not toolset.finds_groups
    assert [each.name for each in toolset.core_tools] == ["load_tool_group"]


def test_groups_that_may_be_unlisted_are_never_declared_before_they_are_loaded():
    registry = registry_of(["weather"])
    registry.register_group(ToolGroupDefinition("pdf", "PDF", "Reads PDF files"))
    registry.register(Named("pdf_info", "Tell about a file."), ToolSourceInfo(ToolSourceType.PLUGIN, "pdf"))
    active = registry.toolset().active(["weather"])
    assert [each.name for each in active.find_loadable()] == ["pdf"]
    assert [each.name for each in active] == ["load_tool_group", "weather__show"]


def test_an_unknown_group_is_answered_without_a_long_list():
    answer = asyncio.run(LoadToolGroupTool(registry_of(many())).execute({"group_name": "nothing"}))
    assert "others, which find_tool_groups finds" in answer.error_message
    assert "group_1" not in answer.error_message
