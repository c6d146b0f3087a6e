"""RFC-040 "ToolRegistry Tests", and the rules of FEAT-040 about groups."""

import pytest

from oneclaw_core import (
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSourceInfo,
    ToolSourceType,
    tool,
)
from oneclaw_core.tools import DuplicateToolError, ToolDefinitionError


class NamedTool:
    def __init__(self, name):
        self.definition = ToolDefinition(name, f"Does {name}.")

    async def execute(self, arguments, context):
        return ToolResult.success(self.definition.name)


def grouped(group, source_type=ToolSourceType.BUILTIN):
    return ToolSourceInfo(type=source_type, group_name=group)


def names(definitions):
    return [definition.name for definition in definitions]


def registry_with(*entries):
    registry = ToolRegistry()
    for name, group in entries:
        registry.register(NamedTool(name), grouped(group) if group else ToolSourceInfo.BUILTIN)
    return registry


def test_get_core_tool_definitions_excludes_grouped_tools():
    registry = registry_with(("core_tool", None), ("grouped_tool", "config"))
    assert names(registry.get_core_tool_definitions()) == ["core_tool"]


def test_get_group_tool_definitions_returns_the_groups_tools_in_order():
    registry = registry_with(("tool1", "config"), ("tool3", "pdf"), ("tool2", "config"))
    assert names(registry.get_group_tool_definitions("config")) == ["tool1", "tool2"]
    assert names(registry.get_group_tool_definitions("pdf")) == ["tool3"]


def test_get_group_tool_definitions_returns_nothing_for_an_unknown_group():
    assert ToolRegistry().get_group_tool_definitions("nonexistent") == []


def test_register_group_and_get_all_group_definitions():
    registry = ToolRegistry()
    group = ToolGroupDefinition("config", "Configuration", "Config tools")
    assert registry.register_group(group)
    assert registry.get_all_group_definitions() == [group]
    assert registry.get_group_definition("config") is group
    assert registry.get_group_definition("other") is None


def test_of_two_metadata_for_one_group_the_first_stays():
    registry = ToolRegistry()
    first = ToolGroupDefinition("config", "Configuration", "Config tools")
    registry.register_group(first)
    assert not registry.register_group(ToolGroupDefinition("config", "Other", "Other tools"))
    assert registry.get_group_definition("config") is first


def test_get_tool_groups_includes_tools_with_a_group_regardless_of_type():
    registry = ToolRegistry()
    registry.register(NamedTool("tool1"), grouped("config"))
    registry.register(NamedTool("tool2"), grouped("google_gmail", ToolSourceType.TOOL_GROUP))
    registry.register(NamedTool("tool3"))
    assert registry.get_tool_groups() == {"config": ["tool1"], "google_gmail": ["tool2"]}


def test_a_tool_joins_the_group_that_its_decorator_names():
    @tool(group="lamps")
    def switch_lamp(lamp: str) -> str:
        """Switch a lamp."""
        return lamp

    registry = ToolRegistry()
    registry.register(switch_lamp, ToolSourceInfo(ToolSourceType.PLUGIN, plugin="acme"))

    assert registry.get_tool_groups() == {"lamps": ["switch_lamp"]}
    assert registry.get_core_tool_definitions() == []
    assert registry.get_source_info("switch_lamp") == ToolSourceInfo(ToolSourceType.PLUGIN, "lamps", "acme")


def test_the_group_of_the_source_goes_before_that_of_the_decorator():
    @tool(group="lamps")
    def switch_lamp(lamp: str) -> str:
        """Switch a lamp."""
        return lamp

    registry = ToolRegistry()
    registry.register(switch_lamp, grouped("house"))

    assert registry.get_tool_groups() == {"house": ["switch_lamp"]}


def test_a_group_that_cannot_have_its_name_is_refused():
    @tool(group="my lamps")
    def switch_lamp(lamp: str) -> str:
        """Switch a lamp."""
        return lamp

    registry = ToolRegistry()
    with pytest.raises(ToolDefinitionError, match="tool group name 'my lamps' is not acceptable"):
        registry.register(switch_lamp)
    assert registry.get_all_tool_names() == []


def test_a_name_is_unique_and_the_first_registration_stays():
    registry = ToolRegistry()
    first = NamedTool("echo")
    registry.register(first)
    with pytest.raises(DuplicateToolError, match="'echo' is registered already"):
        registry.register(NamedTool("echo"))
    assert registry.get_tool("echo") is first
    assert registry.get_all_tool_names() == ["echo"]


@pytest.mark.parametrize("thing", [object(), lambda: None, ToolDefinition("bare", "A definition is not a tool.")])
def test_something_that_is_no_tool_is_refused(thing):
    with pytest.raises(ToolDefinitionError, match="is not a tool"):
        ToolRegistry().register(thing)


def test_unregister_takes_a_tool_out_of_every_list():
    registry = registry_with(("a", "one"), ("b", None))
    assert registry.unregister("a")
    assert not registry.unregister("a")
    assert registry.get_tool("a") is None
    assert registry.get_tool_groups() == {}
    assert names(registry.get_all_tool_definitions()) == ["b"]
    registry.register(NamedTool("a"), grouped("two"))
    assert names(registry.get_group_tool_definitions("two")) == ["a"]


def test_a_disabled_tool_is_in_no_list_but_stays_registered():
    registry = registry_with(("a", "one"), ("b", "one"), ("c", None))
    registry.set_disabled(["a", "c", "never_installed"], [])
    assert names(registry.get_all_tool_definitions()) == ["b"]
    assert names(registry.get_core_tool_definitions()) == []
    assert names(registry.get_group_tool_definitions("one")) == ["b"]
    assert registry.get_tool("a") is not None
    assert not registry.is_enabled("a")
    registry.set_disabled([], [])
    assert names(registry.get_group_tool_definitions("one")) == ["a", "b"]


def test_a_disabled_group_takes_its_tools_with_it_and_keeps_their_own_states():
    registry = registry_with(("a", "one"), ("b", "one"))
    registry.register_group(ToolGroupDefinition("one", "One", "The first"))
    registry.set_disabled(["a"], ["one"])
    assert registry.get_group_tool_definitions("one") == []
    assert registry.get_available_group_definitions() == []
    assert names(registry.get_all_group_definitions()) == ["one"]
    registry.set_disabled(["a"], [])
    assert names(registry.get_group_tool_definitions("one")) == ["b"]


def test_every_change_raises_the_version():
    registry = ToolRegistry()
    versions = [registry.version]
    registry.register(NamedTool("a"))
    versions.append(registry.version)
    registry.register_group(ToolGroupDefinition("g", "G", "Group"))
    versions.append(registry.version)
    registry.set_disabled(["a"], [])
    versions.append(registry.version)
    registry.set_disabled(["a"], [])
    assert registry.version == versions[-1]
    registry.unregister("a")
    versions.append(registry.version)
    assert versions == sorted(set(versions))


def test_a_group_is_unregistered_and_its_tools_stay():
    registry = ToolRegistry()
    registry.register_group(ToolGroupDefinition("g", "G", "Group"))
    registry.register(NamedTool("a"), ToolSourceInfo(ToolSourceType.TOOL_GROUP, "g"))
    version = registry.version
    assert registry.unregister_group("g")
    assert registry.version > version
    assert registry.get_group_definition("g") is None
    assert registry.get_available_group_definitions() == []
    assert registry.get_tool_groups() == {"g": ["a"]}
    assert not registry.unregister_group("g")


def test_tools_moved_to_the_front_are_listed_first_in_the_given_order():
    registry = registry_with(("third", None), ("second", None), ("first", None), ("grouped", "pdf"))
    registry.move_to_front(["first", "unknown", "second", "grouped"])
    assert names(registry.get_core_tool_definitions()) == ["first", "second", "third"]
    assert registry.get_all_tool_names() == ["first", "second", "third", "grouped"]


def unread(registry, name, *names, read=None, plugin="acme"):
    from oneclaw_core.tools.registry import RegisteredTool, UnreadGroup

    source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, name, plugin)
    calls = []

    def read_group():
        calls.append(name)
        found = names if read is None else read
        return {each: RegisteredTool(probe(each), probe(each).definition, source) for each in found}

    taken = registry.register_unread({name: UnreadGroup(names, source, read_group)})
    return taken.get(name, []), calls


def probe(name, permissions=()):
    class Probe:
        definition = ToolDefinition(name, f"Does {name}.", required_permissions=permissions)

        async def execute(self, arguments, context):
            return ToolResult.success(name)

    return Probe()


def test_groups_are_read_when_they_are_needed_and_once():
    for need in (
        lambda registry: registry.get_tool("a"),
        lambda registry: registry.get_definition("b"),
        lambda registry: registry.get_group_tool_definitions("mail"),
        lambda registry: registry.get_all_tool_definitions(),
        lambda registry: registry.all_tools(),
        lambda registry: registry.get_permission_meanings(),
        lambda registry: registry.read_group("mail"),
    ):
        registry = ToolRegistry()
        registry.register(probe("taken"))
        taken, calls = unread(registry, "mail", "a", "taken", "b")
        assert (taken, calls, list(registry.unread_groups())) == (["taken"], [], ["mail"])
        assert registry.get_all_tool_names() == ["taken", "a", "b"]
        assert registry.get_tool_groups() == {"mail": ["a", "b"]}
        assert registry.get_source_info("a").group_name == "mail"
        assert registry.find("a", reads=False) is not None
        assert [
            registry.is_unread(*each) for each in (("a", "mail"), ("a", "x"), ("taken", "mail"), ("z", "mail"))
        ] == [
            *(True, False, False, False),
        ]
        assert calls == []
        need(registry)
        registry.read_group("mail")
        assert (calls, list(registry.unread_groups())) == (["mail"], [])
        assert [each.name for each in registry.get_group_tool_definitions("mail")] == ["a", "b"]


def test_tools_that_a_group_does_not_have_are_gone_when_it_is_read():
    registry = ToolRegistry()
    taken, _ = unread(registry, "mail", "a", "b", read=("a",))
    assert taken == []
    registry.read_group("mail")
    assert registry.get_all_tool_names() == ["a"]
    _, calls = unread(registry, "post", "x", "y")
    registry.unregister_unread("post")
    registry.unregister_unread("post")
    assert (registry.get_all_tool_names(), calls, list(registry.unread_groups())) == (["a"], [], [])


def test_what_is_no_tool_or_taken_says_so():
    registry = ToolRegistry()
    registry.register(probe("a"), ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme", "acme-tools 1"))
    registry.register(probe("b"), ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme"))
    for thing, message in (
        (
            7,
            "7 is not a tool: it needs a 'definition' (ToolDefinition) and an 'execute'; decorate a function with "
            "@tool to make one",
        ),
        (probe("a"), "a tool named 'a' is registered already, by acme-tools 1; the first one stays: rename the other"),
        (probe("b"), "a tool named 'b' is registered already, by plugin; the first one stays: rename the other"),
    ):
        with pytest.raises(Exception, match="tool") as error:
            registry.register(thing)
        assert str(error.value) == message


def test_foreign_core_tools_are_marked():
    registry = ToolRegistry()
    foreign = ToolSourceInfo(ToolSourceType.PLUGIN, None, "acme", is_supplied=True)
    registry.register(probe("a"), foreign)
    registry.register(probe("b"))
    (mark,) = registry.foreign_core_tools.values()
    assert (mark.kind.value, mark.origin) == ("outside", "the description of the tool a")
    assert registry.unregister("a")
    assert (registry.foreign_core_tools, registry.unregister("a")) == ({}, False)


def test_what_is_available_follows_what_is_enabled():
    async def open_group():
        """Stand in for a group whose tools are found later."""

    registry = ToolRegistry()
    for name in ("mail", "later", "empty"):
        registry.register_group(ToolGroupDefinition(name, name.title(), f"Does {name}."))
    registry.register(probe("a"), ToolSourceInfo(ToolSourceType.TOOL_GROUP, "mail", "acme"))
    registry.set_group_opener("later", open_group)

    def available():
        return [each.name for each in registry.get_available_group_definitions()]

    assert (available(), registry.get_group_opener("later"), registry.get_group_opener("mail")) == (
        *(["mail", "later"], open_group, None),
    )
    for change, names in (
        (lambda: registry.set_disabled(["a"], []), ["later"]),
        (lambda: registry.set_disabled([], ["mail", "later"]), []),
        (lambda: registry.set_disabled([], []), ["mail", "later"]),
        (lambda: registry.set_disabled_plugins(["acme"]), ["later"]),
        (lambda: registry.set_disabled_plugins([]), ["mail", "later"]),
        (lambda: registry.set_group_opener("later", None), ["mail"]),
        (lambda: registry.unregister("a"), []),
    ):
        change()
        assert available() == names
    version = registry.version
    registry.set_disabled([], [])
    registry.set_disabled_plugins([])
    assert registry.version == version
    registry.set_disabled(["x"], ["y"])
    registry.set_disabled_plugins(["z"])
    assert [registry.is_tool_disabled("x"), registry.is_group_disabled("y"), registry.is_plugin_disabled("z")] == [
        True
    ] * 3
    assert [registry.is_tool_disabled("y"), registry.is_group_disabled("x"), registry.is_plugin_disabled("x")] == [
        False
    ] * 3
    assert registry.unregister_group("mail")
    assert not registry.unregister_group("mail")
