"""FEAT-004, "Tool Definition Format"."""

import json
import math

import pytest

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.types.tools import MAX_TIMEOUT_SECONDS, Tool, ToolDefinition


def define(**changes):
    return ToolDefinition(**{"name": "probe", "description": "Probes.", **changes})


def refusal(**changes):
    with pytest.raises(ToolDefinitionError) as caught:
        define(**changes)
    assert "\n" not in str(caught.value)
    return caught.value


def test_defaults():
    definition = define()
    assert definition.parameters == {"type": "object", "properties": {}}
    assert (definition.required_permissions, definition.timeout_seconds) == ((), 30)


@pytest.mark.parametrize("name", ["a", "_a", "get_current_time", "A1", "with-dash", "a" * 63])
def test_names_that_every_provider_accepts(name):
    assert define(name=name).name == name


@pytest.mark.parametrize(
    "name", ["", "1a", "-a", "a b", "a.b", "a:b", "é", "a\n", " a", "a" * 64, "a/b", "🦀", None, 5, b"a", ["a"]]
)
def test_other_names_are_refused(name):
    error = refusal(name=name)
    assert error.pointer == "/name"
    assert "use 1 to 63 letters, digits, '_' or '-'" in str(error)


@pytest.mark.parametrize("description", ["", " \n\t", None, 5, ["text"]])
def test_a_missing_description_is_refused(description):
    assert refusal(description=description).pointer == "/description"


@pytest.mark.parametrize("seconds", [0.001, 1, 30.5, MAX_TIMEOUT_SECONDS])
def test_timeouts(seconds):
    assert define(timeout_seconds=seconds).timeout_seconds == seconds


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, MAX_TIMEOUT_SECONDS + 1, True, "30", None, [30]])
def test_other_timeouts_are_refused(seconds):
    error = refusal(timeout_seconds=seconds)
    assert error.pointer == "/timeout_seconds"
    assert f"not {seconds!r}" in str(error)


def test_permissions_become_a_tuple():
    assert define(required_permissions=["files.read", "files.write"]).required_permissions == (
        "files.read",
        "files.write",
    )


@pytest.mark.parametrize("permissions", ["files.read", ["files.read", ""], [None], [5]])
def test_permissions_that_are_no_list_of_names_are_refused(permissions):
    assert refusal(required_permissions=permissions).pointer == "/required_permissions"


def test_the_type_of_parameters_may_be_left_out():
    properties = {"path": {"type": "string"}}
    assert define(parameters={}).parameters == {"type": "object"}
    assert define(parameters={"properties": properties}).parameters == {"type": "object", "properties": properties}


@pytest.mark.parametrize("parameters", [None, [], "object", {"type": "string"}, {"required": 1}])
def test_parameters_that_are_no_schema_of_an_object_are_refused(parameters):
    assert refusal(parameters=parameters).pointer.startswith("/parameters")


def test_a_definition_cannot_be_changed():
    with pytest.raises(AttributeError):
        define().name = "other"


def test_anything_with_a_definition_and_execute_is_a_tool():
    class Probe:
        definition = define()

        async def execute(self, arguments, context):
            raise NotImplementedError

    assert isinstance(Probe(), Tool)
    assert not isinstance(object(), Tool)


@pytest.mark.parametrize(
    ("declared", "is_repeatable"), [({}, False), ({"read_only": True}, True), ({"idempotent": True}, True)]
)
def test_a_tool_declares_whether_its_calls_can_be_repeated(declared, is_repeatable):
    definition = define(**declared)
    stored = ToolDefinition.stored(json.loads(json.dumps(definition.to_dict())))

    assert definition.is_repeatable is stored.is_repeatable is is_repeatable
    assert stored == definition


@pytest.mark.parametrize("name", ["read_only", "idempotent"])
def test_declarations_that_are_no_boolean_are_refused(name):
    assert f"{name} must be true or false, not 'yes'" in str(refusal(**{name: "yes"}))


def test_entries_of_earlier_versions_declare_nothing():
    stored = define(read_only=True).to_dict()
    del stored["read_only"]

    assert not ToolDefinition.stored(stored).is_repeatable


def test_parameters_are_sent_in_the_language_that_they_are_written_in():
    text = define(parameters={"type": "object", "properties": {"größe": {"type": "number"}}}).parameters_text()
    assert text == '{"type":"object","properties":{"größe":{"type":"number"}}}'


def test_an_attribute_that_a_definition_lacks_is_reported_as_of_any_object():
    with pytest.raises(AttributeError, match="'ToolDefinition' object has no attribute 'parameter'"):
        define().parameter  # noqa: B018


def fault(**changes):
    with pytest.raises(ToolDefinitionError) as error:
        ToolDefinition(**{"name": "probe", "description": "Probes.", **changes})
    return str(error.value), error.value.pointer


def test_what_is_wrong_is_told_with_its_place():
    seconds = "tool 'probe': timeout_seconds must be a number above 0 and at most 86400, not "
    naming = "use 1 to 63 letters, digits, '_' or '-', beginning with a letter or '_'"
    permissions = "tool 'probe': required_permissions must be a list of permission names"
    reads = 'tool \'probe\': reads must be a list of "outside" and "private", not '
    for changes, message, pointer in (
        ({"name": "a b"}, f"tool name 'a b' is not acceptable: {naming}", "/name"),
        ({"name": 7}, f"tool name 7 is not acceptable: {naming}", "/name"),
        (
            {"description": " "},
            "tool 'probe' needs a description: it is how a model decides to use the tool",
            "/description",
        ),
        ({"timeout_seconds": 0}, f"{seconds}0", "/timeout_seconds"),
        ({"timeout_seconds": True}, f"{seconds}True", "/timeout_seconds"),
        ({"timeout_seconds": 86_400.5}, f"{seconds}86400.5", "/timeout_seconds"),
        ({"timeout_seconds": "1"}, f"{seconds}'1'", "/timeout_seconds"),
        ({"read_only": 1}, "tool 'probe': read_only must be true or false, not 1", "/read_only"),
        ({"idempotent": None}, "tool 'probe': idempotent must be true or false, not None", "/idempotent"),
        ({"required_permissions": "a"}, permissions, "/required_permissions"),
        ({"required_permissions": [""]}, permissions, "/required_permissions"),
        ({"required_permissions": [1]}, permissions, "/required_permissions"),
        ({"reads": "outside"}, f"{reads}'outside'", "/reads"),
        ({"reads": ["other"]}, f"{reads}['other']", "/reads"),
    ):
        assert fault(**changes) == (message, pointer)
    whole = ToolDefinition("probe", "Probes.", {"properties": {}}, ["a.b"], 86_400, True, True, ["outside", "private"])
    assert (whole.required_permissions, whole.reads) == (("a.b",), ("outside", "private"))
    assert ToolDefinition("x", "y").timeout_seconds == 30


def test_a_definition_survives_being_stored():
    for definition in (
        ToolDefinition("probe", "Probes."),
        ToolDefinition("probe", "Probt é.", {"properties": {"ä": {}}}, ("a.b",), 7.5, True, True, ("private",)),
    ):
        data = definition.to_dict()
        stored = ToolDefinition.stored(data)
        assert stored.to_dict() == data
        assert (stored.parameters, stored.parameters_text()) == (definition.parameters, data["parameters"])
        assert stored == definition
    assert data["parameters"] == '{"type":"object","properties":{"ä":{}}}'
    assert set(ToolDefinition("probe", "Probes.").to_dict()) == {
        *("name", "description", "parameters", "required_permissions", "timeout_seconds"),
    }
    for name in ("name", "description", "parameters", "required_permissions", "timeout_seconds"):
        with pytest.raises(KeyError):
            ToolDefinition.stored({key: value for key, value in data.items() if key != name})
    for declared in ({"read_only": True}, {"idempotent": True}):
        assert ToolDefinition("probe", "Probes.", **declared).is_repeatable
    with pytest.raises(ValueError, match="Out of range float"):
        ToolDefinition("probe", "Probes.", {"type": "object", "default": float("nan")}).parameters_text()
