import itertools
import json

import jsonschema
import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_gemini.schema import gemini_schema
from processor_time import processor_seconds

pytestmark = pytest.mark.lowest_versions

# What google-genai documents at GenerateContentConfig.response_json_schema.
READ_KEYWORDS = frozenset(
    {"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"}
    | {"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"}
    | {"required", "propertyOrdering"}
)


def schema_of(**properties):
    return {"type": "object", "properties": properties}


def converted(**parameter):
    return gemini_schema(schema_of(x=parameter))["properties"]["x"]


def levels(schema):
    """The schema and all schemas within."""
    if isinstance(schema, dict):
        yield schema
        for name in ("properties", "$defs"):
            for each in schema.get(name, {}).values():
                yield from levels(each)
        for name in ("items", "additionalProperties"):
            yield from levels(schema.get(name))
        for name in ("anyOf", "prefixItems"):
            yield from itertools.chain.from_iterable(map(levels, schema.get(name, ())))


def check_is_read(schema):
    for level in levels(schema):
        assert level.keys() <= READ_KEYWORDS
        assert isinstance(level.get("type", ""), str)
        if "$ref" in level:
            assert level.keys() == {"$ref"}
            assert level["$ref"].removeprefix("#/$defs/") in schema["$defs"]
        values = level.get("enum", [])
        assert all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in values)


@pytest.mark.parametrize(
    "schema",
    [{"type": "object"}, schema_of(), {"type": "object", "properties": {}, "additionalProperties": False}],
)
def test_a_tool_without_parameters_has_no_schema(schema):
    assert gemini_schema(schema) is None


def test_what_gemini_reads_stays_as_it_is():
    schema = {
        "type": "object",
        "properties": {
            "when": {"description": "The day.", "type": "string", "format": "date"},
            "how": {"type": "string", "enum": ["fast", "slow"]},
            "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string"}},
            "size": {"type": "number", "minimum": 0, "maximum": 1},
            "any": {},
        },
        "required": ["when"],
        "additionalProperties": False,
    }
    assert gemini_schema(schema) == schema
    assert gemini_schema({"type": "object", "additionalProperties": {"type": "integer"}})["additionalProperties"]


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "integer", "const": 3}, {"type": "integer", "enum": [3]}),
        ({"const": True}, {"description": "Always true", "type": "boolean"}),
        ({"type": ["string"]}, {"type": "string"}),
        (
            {"description": "D", "type": ["string", "null"], "enum": ["a", None], "minLength": 1},
            {
                "description": "D",
                "anyOf": [{"description": "Minimum length 1", "type": "string", "enum": ["a"]}, {"type": "null"}],
            },
        ),
        ({"enum": ["a", 1]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]}),
        ({"oneOf": [{"type": "string"}, False]}, {"anyOf": [{"type": "string"}]}),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, {"type": "integer", "minimum": 1, "maximum": 9}),
        ({"type": "integer", "exclusiveMaximum": 9, "maximum": 5}, {"type": "integer", "maximum": 5}),
        ({"type": "number", "exclusiveMinimum": 0}, {"description": "Above 0", "type": "number"}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, True], "items": False},
            {"type": "array", "maxItems": 2, "prefixItems": [{"type": "string"}, {}]},
        ),
        ({"title": "Query", "type": "string"}, {"description": "Query", "type": "string"}),
        ({"type": "string", "default": None, "$comment": "x", "deprecated": True}, {"type": "string"}),
    ],
)  # fmt: skip
def test_what_gemini_does_not_read_is_said_in_what_it_reads(parameter, expected):
    assert converted(**parameter) == expected


def test_what_no_keyword_says_is_said_in_the_description():
    found = converted(
        type="string",
        description="A name.",
        pattern="^[a-z]+$",
        maxLength=9,
        format="email",
        default="me",
        examples=["x"],
    )
    assert found == {
        "type": "string",
        "description": "A name. (format email; maximum length 9; matches the regular expression ^[a-z]+$; "
        'default "me"; such as "x")',
    }
    found = converted(type="object", patternProperties={"^a": {"type": "string"}}, minProperties=1)
    assert found["description"] == (
        'Minimum number of entries 1; must fit the JSON Schema {"patternProperties":{"^a":{"type":"string"}}}'
    )


def test_references_stand_alone_and_keep_what_is_said_beside_them():
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    schema = schema_of(
        tree={"$ref": "#/$defs/Node", "description": "The tree.", "default": None}, other={"$ref": "#/definitions/Old"}
    ) | {"$defs": {"Node": node}, "definitions": {"Old": {"const": 1}}}
    found = gemini_schema(schema)
    check_is_read(found)
    assert found["properties"] == {
        "tree": {"description": "The tree.", "anyOf": [{"$ref": "#/$defs/Node"}]},
        "other": {"$ref": "#/$defs/Old"},
    }
    assert found["$defs"] == {"Node": node, "Old": {"type": "integer", "enum": [1]}}


def test_all_of_becomes_one_schema():
    schema = {
        "type": "object",
        "allOf": [
            {"$ref": "#/$defs/Base"},
            {"properties": {"y": {"type": "string"}, "n": {"minimum": 2, "maximum": 9}}, "required": ["y"]},
        ],
        "$defs": {"Base": {"properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}}, "required": ["n"]}},
    }
    found = gemini_schema(schema)
    check_is_read(found)
    assert found["properties"] == {"n": {"type": "integer", "minimum": 2, "maximum": 5}, "y": {"type": "string"}}
    assert found["required"] == ["n", "y"]


def test_all_of_with_one_recursive_reference_stays_a_reference():
    schema = schema_of(tree={"allOf": [{"$ref": "#/$defs/Node"}], "description": "T."})
    schema["$defs"] = {"Node": schema_of(next={"allOf": [{"$ref": "#/$defs/Node"}]})}
    found = gemini_schema(schema)
    check_is_read(found)
    assert found["$defs"]["Node"]["properties"]["next"] == {"$ref": "#/$defs/Node"}


@pytest.mark.parametrize(
    "reference", ["https://elsewhere.test/schema", "#/no/such/place", "#/properties/x", "#/properties", "#anchor"]
)
def test_references_that_lead_nowhere_may_be_anything(reference):
    assert gemini_schema(schema_of(x={"$ref": reference}, y={"type": "string"})) is not None


def test_a_schema_that_contains_itself_without_end_takes_any_object():
    assert gemini_schema(schema_of(me={"$ref": "#"}, you={"$ref": "#"})) == {"type": "object"}


def test_a_required_parameter_that_is_not_described_is_one():
    assert gemini_schema({"type": "object", "required": ["x"]}) == {
        "type": "object",
        "properties": {"x": {}},
        "required": ["x"],
    }


TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2) | st.lists(st.integers(0, 1))


def some(**keywords):
    return st.fixed_dictionaries({}, optional=keywords)


SCHEMAS = st.recursive(
    some(
        type=TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        enum=st.lists(VALUES, min_size=1, max_size=3),
        description=st.just("D"),
        exclusiveMinimum=st.integers(-5, 5),
        minLength=st.integers(0, 2),
        const=VALUES,
        default=VALUES,
    ),
    lambda inner: some(
        type=TYPES,
        properties=st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
        required=st.lists(st.sampled_from("xyz"), unique=True),
        items=inner | st.booleans(),
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        anyOf=st.lists(inner, min_size=1, max_size=2),
        oneOf=st.lists(inner, min_size=1, max_size=2),
        allOf=st.lists(inner | st.just({"$ref": "#/$defs/D"}), min_size=1, max_size=2),
        additionalProperties=inner | st.booleans(),
        **{"not": inner, "$ref": st.just("#/$defs/D")},
    ),
    max_leaves=6,
)


@settings(max_examples=examples(25), deadline=None)
@given(SCHEMAS, SCHEMAS)
def test_every_schema_becomes_one_that_gemini_reads(parameter, definition):
    schema = schema_of(x=parameter) | {"$defs": {"D": definition}}
    before = json.dumps(schema)
    found = gemini_schema(schema)
    check_is_read(found)
    jsonschema.Draft202012Validator.check_schema(found)
    assert json.dumps(schema) == before
    assert json.dumps(gemini_schema(schema)) == json.dumps(found)


def doubling_by_name(steps):
    """Each definition holds the next one twice."""
    definitions = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(steps)}
    definitions[f"a{steps}"] = {"type": "string"}
    return schema_of(x={"$ref": "#/$defs/a0", "minLength": 1}) | {"$defs": definitions}


def doubling_by_place(steps):
    """Each property holds the next one twice, and refers to it by its place, which Gemini does not read."""
    properties = {
        f"a{n}": {"properties": {side: {"$ref": f"#/properties/a{n + 1}"} for side in "lr"}} for n in range(steps)
    }
    return schema_of(**properties, **{f"a{steps}": {"type": "string"}})


@pytest.mark.parametrize("doubling", [doubling_by_name, doubling_by_place])
def test_a_schema_that_doubles_at_each_step_is_not_followed_to_its_end(doubling):
    with processor_seconds(10):
        assert gemini_schema(doubling(40)) == {"type": "object"}
    assert "properties" in gemini_schema(doubling(3))
