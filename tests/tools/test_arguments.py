"""Reading what a model wrote as arguments."""

import json

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments, without_absent

pytestmark = pytest.mark.lowest_versions


@pytest.mark.parametrize("text", ["", "  ", "\n", "{}"])
def test_nothing_counts_as_no_arguments(text):
    assert parse_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "must be a JSON object"),
        ("null", "must be a JSON object, not 'null'"),
        ('"a"', "must be a JSON object"),
        ('{"path": }', "at character 10, near"),
        ('{"a": 1', "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": Infinity}', "Infinity"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": -1.5E400}', "the number -1.5E400 is too large"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": ' + "[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_refused_with_the_fault_quoted(text, message):
    with pytest.raises(ArgumentsError, match="arguments") as caught:
        parse_arguments(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=5) | st.dictionaries(st.text(), children, max_size=5),
    max_leaves=20,
)


@settings(max_examples=examples(50))
@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_every_json_object_is_read_as_it_is(arguments):
    assert parse_arguments(json.dumps(arguments)) == arguments


@given(st.text())
def test_any_text_gives_an_object_or_a_clear_error(text):
    try:
        arguments = parse_arguments(text)
    except ArgumentsError as error:
        arguments = {"refused": str(error)}
    assert isinstance(arguments, dict)
    assert arguments.get("refused") != ""


def test_null_for_an_optional_parameter_is_absence():
    schema = {
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "nullable": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "choice": {"enum": ["a", None]},
            "anything": {},
        },
    }
    arguments = dict.fromkeys([*schema["properties"], "unknown"])
    assert set(without_absent(arguments, schema)) == {"nullable", "either", "choice", "anything", "unknown"}


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"enum": ["a", "b"]}, "c", "/x: 'c' is not one of ['a', 'b']"),
        ({"type": "number", "exclusiveMinimum": 2}, 2, "/x: 2 is less than or equal to the minimum of 2"),
        ({"type": "number", "exclusiveMaximum": 2}, 2, "/x: 2 is greater than or equal to the maximum of 2"),
        ({"type": "number", "multipleOf": 2}, 3, "/x: 3 is not a multiple of 2"),
        ({"type": "string", "minLength": 2}, "a", "/x: 'a' is too short"),
        ({"type": "string", "pattern": "^b"}, "a", "/x: 'a' does not match '^b'"),
        ({"type": "array", "maxItems": 1}, [1, 2], "/x: [1, 2] is too long"),
        ({"type": "array", "uniqueItems": True}, [[1], [1.0]], "/x: [[1], [1.0]] has non-unique elements"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "/x: 1 is not valid under any of the given schemas"),
    ],
)
def test_a_value_outside_of_its_schema_is_named_with_its_fault(schema, value, fault):
    from oneclaw_core.tools.arguments import argument_faults, compile_schema

    assert argument_faults(compile_schema({"type": "object", "properties": {"x": schema}}), {"x": value}) == [fault]


def test_items_that_differ_in_kind_are_different_items():
    from oneclaw_core.tools.arguments import argument_faults, compile_schema

    compiled = compile_schema({"type": "object", "properties": {"x": {"type": "array", "uniqueItems": True}}})
    assert argument_faults(compiled, {"x": [1, True, [1], [True], {"a": 1}, {"a": True}, "list"]}) == []
