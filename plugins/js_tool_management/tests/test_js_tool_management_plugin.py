"""What the plugin declares."""

import importlib
import inspect
import json
from pathlib import Path

import oneclaw_js_tool_management
import pytest

from oneclaw_core import ToolDefinition

ENTRIES = json.loads((Path(oneclaw_js_tool_management.__file__).parent / "js_tool_management.json").read_text())


class Register:
    def __init__(self):
        self.manifests = []

    def manifest(self, path):
        self.manifests.append(path)


def test_it_registers_its_manifest():
    register = Register()

    oneclaw_js_tool_management.register_tools(register)

    assert [json.loads(path.read_text()) for path in register.manifests] == [ENTRIES]


def test_the_group_is_that_of_the_specification():
    assert ENTRIES[0] == {
        "_meta": True,
        "display_name": "JS Tool Management",
        "description": "Create, list, update, and delete user JavaScript tools",
    }
    assert [(entry["name"], entry["timeout_seconds"]) for entry in ENTRIES[1:]] == [
        ("create_js_tool", 10),
        ("list_user_tools", 5),
        ("update_js_tool", 10),
        ("delete_js_tool", 10),
    ]


@pytest.mark.parametrize("entry", ENTRIES[1:], ids=lambda entry: entry["name"])
def test_each_tool_is_a_definition_of_its_function(entry):
    definition = ToolDefinition(
        entry["name"],
        entry["description"],
        entry["parameters"],
        tuple(entry["required_permissions"]),
        entry["timeout_seconds"],
    )
    module, _, name = entry["function"].partition(":")
    parameters = dict(inspect.signature(getattr(importlib.import_module(module), name)).parameters)

    assert parameters.pop("context").kind is inspect.Parameter.KEYWORD_ONLY
    assert list(parameters) == list(definition.parameters["properties"])
    required = [key for key, value in parameters.items() if value.default is value.empty]
    assert required == entry["parameters"].get("required", [])
