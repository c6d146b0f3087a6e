"""Long lists in a whole turn: what a model is shown part by part is all of them."""

import json
import re

import pytest
from pytest_oneclaw import HomeUnderTest

from oneclaw_core import ToolCall
from oneclaw_core.providers import ModelResponse
from oneclaw_core.testing.scripted import PROVIDER


@pytest.fixture
def under_test(home, tmp_path):
    (tmp_path / "project").mkdir()
    made = HomeUnderTest(home, tmp_path / "project", ["config"])
    yield made
    made.close()


def read(under_test, tool, **arguments):
    """Have a model read a list to its end; gives the lines of each part, as the model is shown them."""
    parts = []

    def go_on(request):
        text = request.messages[-1].content
        assert len(text) <= 30_000
        following = re.search(r"^\.\.\. and (\d+) more: .* offset (\d+)$", text, re.MULTILINE)
        parts.append([line for line in text.splitlines() if line.startswith("- ")])
        if following is None:
            return "That was all."
        assert following[0] == text.splitlines()[-1]
        under_test.model.then(go_on)
        further = json.dumps({**arguments, "offset": int(following[2])})
        return ModelResponse(tool_calls=(ToolCall(f"more_{len(parts)}", tool, further),))

    under_test.model.calls("load_tool_group", group_name="config").calls(tool, arguments).then(go_on)
    under_test.send("Read it")
    return parts


@pytest.mark.long
def test_models(under_test):
    async def add():
        for number in range(500):
            await under_test.app.configuration.models.add(f"{PROVIDER}/model-{number:03}", f"Model {'x' * 80} {number}")

    _ = under_test.app
    under_test.run(add())

    parts = read(under_test, "list_models", provider_id=PROVIDER)

    names = [line[2:].partition(":")[0] for part in parts for line in part]
    assert [name for name in names if name.startswith("model-")] == [f"model-{number:03}" for number in range(500)]
    assert len(names) == len(set(names))
    assert len(parts) == 3


@pytest.mark.long
def test_agents(under_test):
    async def add():
        for number in range(100):
            await under_test.app.agents.create(f"Agent {number:02}", system_prompt="You help.", description="d" * 400)

    _ = under_test.app
    under_test.run(add())

    parts = read(under_test, "list_agents")

    names = [re.match(r"- (.*?) \(id", line)[1] for part in parts for line in part]
    assert sorted(names) == sorted(["General Assistant", *(f"Agent {number:02}" for number in range(100))])
    assert len(parts) == 2


def test_an_offset_past_the_end(under_test):
    refused = under_test.call_tool("list_agents", offset=1)

    assert (refused.error_type, refused.error_message) == (
        "validation_error",
        "Offset must be below 1, the number of entries",
    )
