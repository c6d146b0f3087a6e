"""What the plugin declares, and its tools as a model uses them."""

import importlib
import inspect
import json
from pathlib import Path

import oneclaw_javascript.tool_management
import pytest
from pytest_oneclaw import assert_tool_called, assert_tool_succeeded

pytestmark = pytest.mark.usefixtures("agreeing_user")

ENTRIES = json.loads((Path(oneclaw_javascript.tool_management.__file__).parent / "js_tool_management.json").read_text())


def test_what_it_registers(definitions_snapshot):
    definitions_snapshot("js_tool_management")


@pytest.mark.parametrize("entry", ENTRIES[1:], ids=lambda entry: entry["name"])
def test_each_tool_fits_its_function(entry):
    module, _, name = entry["function"].partition(":")
    parameters = dict(inspect.signature(getattr(importlib.import_module(module), name)).parameters)

    assert parameters.pop("context").kind is inspect.Parameter.KEYWORD_ONLY
    assert list(parameters) == list(entry["parameters"]["properties"])
    required = [key for key, value in parameters.items() if value.default is value.empty]
    assert required == entry["parameters"].get("required", [])


@pytest.mark.long
def test_a_model_makes_a_tool_and_uses_it_in_the_same_turn(oneclaw, model):
    model.calls("load_tool_group", group_name="js_tool_management")
    model.calls(
        "create_js_tool",
        name="double",
        description="Double it.",
        parameters_schema={"properties": {"x": {"type": "number"}}},
        js_code="function execute({ x }) { return x * 2 }",
    )
    model.calls("double", x=21).then("It is 42.")

    turn = oneclaw.send("Write a tool that doubles, and double 21")

    assert assert_tool_succeeded(assert_tool_called(turn, "double")) == 42
