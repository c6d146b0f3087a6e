"""A turn costs the same whatever is registered, because nothing walks all tools for a request."""

import asyncio

import pytest
from stage import ScriptedModel, Stage, calls, says

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolResult, ToolSourceInfo, ToolSourceType


class CountingTool:
    """Counts how often it is looked at."""

    looked_at = 0

    def __init__(self, name):
        self._definition = ToolDefinition(name, "Does something.")

    @property
    def definition(self):
        CountingTool.looked_at += 1
        return self._definition

    async def execute(self, arguments, context):
        return ToolResult.success("")


@pytest.mark.parametrize(("groups", "tools_per_group"), [(2, 50), (200, 50)])
def test_a_turn_looks_at_no_tool_of_a_group_that_is_not_loaded(tmp_path, groups, tools_per_group):
    stage = Stage(tmp_path)
    for number in range(groups):
        group = f"group_{number}"
        stage.registry.register_group(ToolGroupDefinition(group, group, f"Tools number {number}"))
        for tool in range(tools_per_group):
            source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, group)
            stage.registry.register(CountingTool(f"tool_{number}_{tool}"), source)
    CountingTool.looked_at = 0
    model = ScriptedModel(calls(("load_tool_group", {"group_name": "pdf"})), calls(("pdf_info", {})), says("6"))
    stage.play((model, "how many pages?"))
    assert len(model.requests) == 3
    assert CountingTool.looked_at == 0


def test_loading_a_group_looks_at_its_own_tools_only(tmp_path):
    stage = Stage(tmp_path)
    for group in ("wanted", "other"):
        stage.registry.register_group(ToolGroupDefinition(group, group, "Tools"))
        for tool in range(50):
            source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, group)
            stage.registry.register(CountingTool(f"{group}_{tool}"), source)
    CountingTool.looked_at = 0
    model = ScriptedModel(calls(("load_tool_group", {"group_name": "wanted"})), says("ok"))
    stage.play((model, "load"))
    assert CountingTool.looked_at == 50
    assert len([definition for definition in model.requests[1].tools if definition.name.startswith("wanted")]) == 50
    assert asyncio.run(stage.registry.get_tool("wanted_0").execute({}, None)).is_success
