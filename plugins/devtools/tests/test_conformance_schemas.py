"""Going through schemas, and making arguments for them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_devtools.conformance.arguments import cases, sample
from oneclaw_devtools.conformance.facts import PluginFacts, ToolFacts
from oneclaw_devtools.conformance.schema_places import places, referred
from oneclaw_devtools.conformance.schemas import schema_findings

from oneclaw_core.json_schema.validation import argument_faults, compile_schema
from oneclaw_core.types.schema import check_parameters_schema

TREE = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}}, "any": True},
    "$defs": {"Row": {"type": "object", "properties": {"a/b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Row"}]}}}},
}


def tool_with(**parameters):
    return ToolFacts("things_do", "Does things.", {"type": "object", "additionalProperties": False, **parameters})


def found_in(*tools):
    return {each.check for each in schema_findings(PluginFacts("things", tools=tools))}


def described(**keywords):
    return {"description": "A value.", **keywords}


def test_every_schema_is_found_once_with_its_place():
    found = [(each.path, each.depth, each.is_recursive) for each in places(TREE)]

    assert ("", 0, False) in found
    assert ("rows[].a/b", 3, True) in found
    assert ("any", 1, False) in found
    assert sum(is_recursive for _, _, is_recursive in found) == 1


@pytest.mark.parametrize(
    ("reference", "is_there"),
    [("#/$defs/Row", True), ("#", True), ("#/$defs/Rows", False), ("https://example.com/x", False), (7, False)],
)
def test_references_are_followed_within_the_schema_only(reference, is_there):
    assert (referred(reference, TREE) is not None) == is_there


def test_a_schema_that_every_provider_takes_has_no_findings():
    good = {"type": "string", "enum": ["a", "b"], "default": "a", "description": "Which."}
    assert found_in(tool_with(properties={"which": good}, required=["which"])) == set()


@pytest.mark.parametrize(
    ("parameters", "check"),
    [
        ({"properties": {"x": described(type="string", minLength=1)}}, "schemas.strict"),
        ({"properties": {"x": described(type="string", pattern="^[a-z]+$")}}, "schemas.gemini"),
        ({"properties": {"x": described(type="string")}, "additionalProperties": True}, "schemas.open"),
        ({"properties": {f"x{n}": described(type="string") for n in range(21)}}, "schemas.many-parameters"),
        ({"properties": {"x": {"type": "string"}}}, "schemas.undescribed-optional"),
        ({"properties": {"x": described(enum=[])}}, "schemas.enum-empty"),
        ({"properties": {"x": described(type="string", default=None)}}, None),
        ({"properties": {"x": described(type="integer", enum=[1, 2.0])}}, None),
    ],
)
def test_what_is_lost_or_left_open_is_noted(parameters, check):
    assert found_in(tool_with(**parameters)) >= ({check} if check else set())
    assert check is not None or found_in(tool_with(**parameters)) == set()


def test_deep_nesting_is_found():
    schema = described(type="string")
    for _ in range(7):
        schema = described(type="object", properties={"x": schema}, additionalProperties=False)
    assert "schemas.deep" in found_in(tool_with(properties={"x": schema}))


def test_what_json_cannot_hold_is_found():
    assert found_in(ToolFacts("things_do", "Does things.", None)) == {"schemas.not-json"}


scalars = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 3, "maxLength": 5},
        {"type": "string", "minLength": 2.0, "maxLength": 3.0},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "format": "date"},
        {"type": "integer", "minimum": 4},
        {"type": "number", "maximum": -2},
        {"type": ["null", "integer"]},
        {"const": 7},
        {"$ref": "#/$defs/Thing"},
    ]
)
schemas = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(lambda each: {"type": "array", "items": each, "minItems": 2}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda each: {"type": "object", "properties": each, "required": list(each)}
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda each: {"anyOf": each}),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["x", "y", "z"]), schemas, max_size=3))
def test_plain_arguments_fit_and_all_are_json(properties):
    root = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "$defs": {"Thing": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    check_parameters_schema("things_do", root)
    validator = compile_schema(root)

    made = list(cases(root, "/outside/secret.txt"))

    assert all(json.loads(json.dumps(case.arguments)) == case.arguments for case in made)
    plain = next((case for case in made if case.name == "plain arguments"), None)
    assert plain is None or argument_faults(validator, plain.arguments) == []


def test_a_schema_that_contains_itself_gives_a_sample():
    root = {"$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}}}
    assert isinstance(sample({"$ref": "#/$defs/T"}, root), dict)
