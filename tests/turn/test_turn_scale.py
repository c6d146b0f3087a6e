"""A turn costs the same whatever is registered, because nothing walks all tools for a request."""

import asyncio
from collections import Counter

import pytest
from stage import ScriptedModel, Stage, calls, says

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolRegistry, ToolResult


class PassiveTool:
    """A tool that no one calls."""

    def __init__(self, name):
        self.definition = ToolDefinition(name, "Does something.")

    async def execute(self, arguments, context):
        return ToolResult.success("")


@pytest.fixture
def looked_at(monkeypatch):
    """Count by tool how often the registry is asked for it, in whatever way all of a group's tools are found."""
    counts = Counter()
    is_enabled = ToolRegistry.is_enabled

    def counting(registry, name):
        counts[name] += 1
        return is_enabled(registry, name)

    monkeypatch.setattr(ToolRegistry, "is_enabled", counting)
    return counts


def play(stage, model, looked_at, is_any_disabled):
    async def run():
        async with stage.session():
            if is_any_disabled:
                await stage.store.set_tool_enabled("tool", "another_tool", False)
            looked_at.clear()
            await stage.send(model)

    asyncio.run(run())


@pytest.mark.parametrize("is_any_disabled", [False, True])
@pytest.mark.parametrize(("groups", "tools_per_group"), [(2, 50), pytest.param(200, 50, marks=pytest.mark.long)])
def test_a_turn_looks_once_at_one_tool_of_a_group_that_is_not_loaded(
    tmp_path, looked_at, groups, tools_per_group, is_any_disabled
):
    stage = Stage(tmp_path)
    for number in range(groups):
        group = f"group_{number}"
        stage.groups.append(ToolGroupDefinition(group, group, f"Tools number {number}"))
        for tool in range(tools_per_group):
            stage.put(PassiveTool(f"tool_{number}_{tool}"), group)
    model = ScriptedModel(calls(("load_tool_group", {"group_name": "pdf"})), calls(("pdf_info", {})), says("6"))
    play(stage, model, looked_at, is_any_disabled)
    assert len(model.requests) == 3
    # To list the group it has to be known that it has an enabled tool, as all have while nothing is disabled.
    of_others = {name: count for name, count in looked_at.items() if name.startswith("tool_")}
    assert of_others == ({f"tool_{number}_0": 1 for number in range(groups)} if is_any_disabled else {})


def test_loading_a_group_looks_at_its_own_tools_only(tmp_path, looked_at):
    stage = Stage(tmp_path)
    for group in ("wanted", "other"):
        stage.groups.append(ToolGroupDefinition(group, group, "Tools"))
        for tool in range(50):
            stage.put(PassiveTool(f"{group}_{tool}"), group)
    model = ScriptedModel(calls(("load_tool_group", {"group_name": "wanted"})), says("ok"))
    play(stage, model, looked_at, is_any_disabled=True)
    assert {name for name in looked_at if name.startswith("wanted_")} == {f"wanted_{number}" for number in range(50)}
    assert {name for name in looked_at if name.startswith("other_")} == {"other_0"}
    assert len([definition for definition in model.requests[1].tools if definition.name.startswith("wanted")]) == 50
