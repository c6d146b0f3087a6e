import json

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from processor_time import processor_seconds

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.json_schema.compact import compact_schema
from oneclaw_core.json_schema.validation import argument_faults, compile_schema
from oneclaw_core.types import schema as schema_module
from oneclaw_core.types.arguments import json_pointer
from oneclaw_core.types.schema import check_parameters_schema

pytestmark = pytest.mark.lowest_versions

METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=FormatChecker(["regex"]))

SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -1, 2.0, 0.5, "", "string", "object", "strin", "^a+$", "(", ["string", "null"], [], {}]
)
KEYWORDS = [*schema_module._PLAIN_KEYWORDS, "$ref", "$defs", "not", "prefixItems", "patternProperties", "x-other"]
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: (
        st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b/c", "("]), inner, max_size=2)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


def is_accepted(schema):
    try:
        check_parameters_schema("probe", schema)
    except ToolDefinitionError:
        return False
    return True


@settings(max_examples=examples(80), deadline=None)
@given(st.dictionaries(st.sampled_from(KEYWORDS), SCHEMAS, max_size=4))
def test_the_fast_path_agrees_with_the_metaschema(keywords):
    schema = {**keywords, "type": "object"}
    assert is_accepted(schema) == METASCHEMA.is_valid(schema)


@pytest.mark.parametrize("keyword", schema_module._PLAIN_KEYWORDS)
def test_every_plain_keyword_agrees_with_the_metaschema(keyword):
    values = [
        *(None, True, False, 0, 1, -1, 2.0, -0.5, "", "string", "nonsense", "(", [], ["a"], ["a", "a"], [1], [[]]),
        *({}, {"a": {}}, {"a": 1}, {"type": "string"}, {"type": "nonsense"}, [{}], [True], [1, {}]),
    ]
    schemas = [{"type": "object", "properties": {"a": {keyword: value}}} for value in values]
    assert [each for each in schemas if is_accepted(each) != METASCHEMA.is_valid(each)] == []


def test_a_common_schema_does_not_need_jsonschema(monkeypatch):
    monkeypatch.setattr(schema_module, "_check_in_full", None)
    check_parameters_schema(
        "probe",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What.", "minLength": 1, "pattern": "^a"},
                "mode": {"enum": ["a", "b"], "default": "a"},
                "items": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    )


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (None, "/parameters"),
        ([], "/parameters"),
        ({}, "/parameters/type"),
        ({"type": "string"}, "/parameters/type"),
        ({"type": ["object"]}, "/parameters/type"),
        ({"type": "object", "properties": []}, "/parameters/properties"),
        ({"type": "object", "properties": {"a/b": {"type": "strin"}}}, "/parameters/properties/a~1b/type"),
        ({"type": "object", "required": ["a", "a"]}, "/parameters/required"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "/parameters/properties/a/pattern"),
    ],
)
def test_a_fault_is_told_with_its_place(schema, pointer):
    with pytest.raises(ToolDefinitionError, match="'probe'") as caught:
        check_parameters_schema("probe", schema)
    assert caught.value.pointer == pointer
    assert "\n" not in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("keyword", ["properties", "items", "anyOf", "not"])
def test_a_schema_that_is_nested_too_deeply_is_refused(keyword):
    schema = {"type": "string"}
    for _ in range(5000):
        schema = {"properties": {"a": schema}} if keyword == "properties" else {keyword: schema}
        if keyword == "anyOf":
            schema = {keyword: [schema[keyword]]}
    with pytest.raises(ToolDefinitionError, match="nested too deeply") as caught:
        check_parameters_schema("probe", {"type": "object", "properties": {"a": schema}})
    assert caught.value.pointer == "/parameters"


# Arguments

VALIDATOR = compile_schema(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer", "minimum": 1},
            "a/b~c": {"type": "array", "items": {"enum": ["x", "y"]}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
)


def test_arguments_that_fit_have_no_faults():
    assert argument_faults(VALIDATOR, {"name": "a", "count": 1, "a/b~c": ["x"]}) == []


def test_all_faults_are_told_at_once_with_place_and_expectation():
    assert argument_faults(VALIDATOR, {"count": 0, "a/b~c": ["x", "z"], "more": 1}) == [
        "/: 'name' is a required property",
        "/: Additional properties are not allowed ('more' was unexpected)",
        "/a~1b~0c/1: 'z' is not one of ['x', 'y']",
        "/count: 0 is less than the minimum of 1",
    ]


def test_of_very_many_faults_the_first_are_told_at_once():
    validator = compile_schema({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}})
    with processor_seconds(2):
        faults = argument_faults(validator, {"a": ["x"] * 200_000})
    assert len(faults) == 51
    assert faults[0] == "/a/0: 'x' is not of type 'integer'"
    assert faults[-1] == "/: and more"
    assert len(argument_faults(validator, {"a": ["x"] * 50})) == 50


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, -3, "", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
NAMES_OF_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])
SCHEMAS_OF_VALUES = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": NAMES_OF_TYPES | st.lists(NAMES_OF_TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "format": st.just("date"),
            "required": st.lists(st.sampled_from("ab"), unique=True),
            **dict.fromkeys(
                ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.sampled_from([0, 1.0, 2])
            ),
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), st.integers(0, 2)),
            "uniqueItems": st.booleans(),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": NAMES_OF_TYPES,
            **dict.fromkeys(
                ("properties", "patternProperties"), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
            ),
            **dict.fromkeys(("additionalProperties", "items", "contains", "not", "propertyNames"), inner),
            **dict.fromkeys(("anyOf", "allOf", "oneOf", "prefixItems"), st.lists(inner, min_size=1, max_size=2)),
        },
    ),
    max_leaves=5,
)


@pytest.mark.long
@settings(max_examples=examples(500), deadline=None)
@given(SCHEMAS_OF_VALUES.filter(lambda schema: isinstance(schema, dict)), VALUES)
def test_a_value_fits_a_schema_exactly_if_jsonschema_says_so(schema, value):
    assert (argument_faults(compile_schema(schema), value) == []) is Draft202012Validator(schema).is_valid(value)


def test_a_fault_does_not_repeat_a_large_value():
    (fault,) = argument_faults(VALIDATOR, {"name": ["x" * 100_000]})
    assert len(fault) < 400


def test_arguments_that_are_nested_too_deeply_are_a_fault():
    validator = compile_schema({"type": "object", "properties": {"a": {"$ref": "#"}}})
    arguments = {}
    for _ in range(5000):
        arguments = {"a": arguments}
    assert argument_faults(validator, arguments) == ["/: nested too deeply"]


@given(st.lists(st.text()))
def test_a_json_pointer_can_be_followed(path):
    document = value = {}
    for part in path:
        value[part] = value = {}
    found = document
    for part in json_pointer(path).split("/")[1:]:
        found = found[part.replace("~1", "/").replace("~0", "~")]
    assert found is value
    assert json.dumps(json_pointer(path))


LIST, COUNT = {"type": "array"}, 3
PLAIN = {
    "type": ("string", ["string", "null"]),
    "title": ("",),
    "description": ("x",),
    "default": (None, {}),
    "examples": ([],),
    "enum": ([], [1]),
    "const": (None,),
    "format": ("date",),
    "required": ([], ["a"], ["a", "b"]),
    "minimum": (1, -1.5),
    "maximum": (1, -1.5),
    "exclusiveMinimum": (1, -1.5),
    "exclusiveMaximum": (1, -1.5),
    "minLength": (0, 1),
    "maxLength": (0, 1),
    "minItems": (0, 1),
    "maxItems": (0, 1),
    "uniqueItems": (True, False),
    "pattern": ("^a+$",),
    "properties": ({}, {"a": True}, {"a": {"type": "string"}}),
    "additionalProperties": (True, False, {"type": "string"}),
    "items": (True, {}),
    "anyOf": ([True], [{}, {"type": "null"}]),
    "oneOf": ([True],),
    "allOf": ([{"minimum": 1}],),
}


def nested(levels, keyword="items"):
    schema = {}
    for _ in range(levels):
        schema = {keyword: schema}
    return schema


def test_plain_schemas_are_checked_without_the_library(monkeypatch):
    def fail(tool_name, schema, where):
        raise AssertionError(f"jsonschema was asked about {schema}")

    monkeypatch.setattr(schema_module, "_check_in_full", fail)
    for keyword, values in PLAIN.items():
        for value in values:
            check_parameters_schema("probe", {"type": "object", "properties": {"x": {keyword: value}}})
    check_parameters_schema("probe", {"type": "object", **nested(50)})
    for schema in (nested(51), {"$ref": "#"}, {"not": {}}, {"minimum": True}, {"minLength": -1}, {"type": []}):
        with pytest.raises(AssertionError):
            check_parameters_schema("probe", {"type": "object", **(schema if "items" in schema else {"items": schema})})


def fault_of(schema):
    with pytest.raises(ToolDefinitionError) as error:
        check_parameters_schema("probe", schema)
    return str(error.value), error.value.pointer


def test_what_is_wrong_with_a_schema_is_told_with_its_place():
    deep = nested(10_000)
    for schema, message, pointer in (
        ([], "parameters must be a JSON Schema object", "/parameters"),
        ({}, "the type of parameters must be 'object', not None", "/parameters/type"),
        ({"type": "array"}, "the type of parameters must be 'object', not 'array'", "/parameters/type"),
        ({"type": "object", **deep}, "the schema of its parameters is nested too deeply", "/parameters"),
        (
            {"type": "object", "properties": {"a/b": {"minLength": -1}}},
            "parameters are no valid JSON Schema: -1 is less than the minimum of 0",
            "/parameters/properties/a~1b/minLength",
        ),
        (
            {"type": "object", "patternProperties": {"(a+)+" + "b" * 200: {}}},
            f"in patternProperties {('(a+)+' + 'b' * 200)[:99] + '…'!r} can take forever to match: write it without "
            "repeated groups, and with few repetitions",
            "/parameters",
        ),
    ):
        assert fault_of(schema) == (f"tool 'probe': {message}", pointer)
    message, pointer = fault_of({"type": "object", "items": {"pattern": "a{99999999999999999999}"}})
    assert (message[:45], pointer) == ("tool 'probe': a pattern cannot be compiled: t", "/parameters")
    message, _ = fault_of({"type": "object", "minLength": "x" * 500})
    assert (len(message), message[-1]) == (len("tool 'probe': parameters are no valid JSON Schema: ") + 300, "…")


def test_a_schema_is_made_compact():
    compact = compact_schema
    named = {"title": "N", "type": "object", "properties": {"title": {"title": "T", "type": "string"}}}
    choice = {"title": "C", "enum": ["title", {"title": "x"}]}
    for schema, expected in (
        ({"title": "A", "discriminator": {}, "type": "object"}, {"type": "object"}),
        ({"items": [{"title": "A"}, 7]}, {"items": [{}, 7]}),
        ({"properties": {"title": {"title": "T"}}}, {"properties": {"title": {}}}),
        (
            {"patternProperties": {"title": {"title": "T"}}, "dependentSchemas": {"title": {}}},
            {"patternProperties": {"title": {}}, "dependentSchemas": {"title": {}}},
        ),
        *(
            ({key: {"title": "T"}}, {key: {"title": "T"}})
            for key in ("default", "const", "enum", "examples", "required")
        ),
        # Used once: it moves, with what stands beside the reference.
        (
            {"$defs": {"N": named}, "items": {"$ref": "#/$defs/N", "description": "D"}},
            {"items": {"type": "object", "properties": {"title": {"type": "string"}}, "description": "D"}},
        ),
        # Used twice: it stays.
        (
            {"$defs": {"N": named}, "anyOf": [{"$ref": "#/$defs/N"}, {"$ref": "#/$defs/N"}]},
            {
                "anyOf": [{"$ref": "#/$defs/N"}] * 2,
                "$defs": {"N": {"type": "object", "properties": {"title": {"type": "string"}}}},
            },
        ),
        # A list of values moves however often it is used.
        (
            {"$defs": {"C": choice}, "anyOf": [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/C"}]},
            {"anyOf": [{"enum": choice["enum"]}] * 2},
        ),
        # Unused, recursive, or of another place.
        ({"$defs": {"N": {"properties": {}}}}, {"$defs": {"N": {"properties": {}}}}),
        (
            {"$defs": {"R": {"items": {"$ref": "#/$defs/R"}}}, "items": {"$ref": "#/$defs/R"}},
            {"items": {"$ref": "#/$defs/R"}, "$defs": {"R": {"items": {"$ref": "#/$defs/R"}}}},
        ),
        ({"items": {"$ref": "https://a.example"}}, {"items": {"$ref": "https://a.example"}}),
        ({"items": {"$ref": 7}}, {"items": {"$ref": 7}}),
    ):
        before = json.dumps(schema)
        assert compact(schema) == expected, schema
        assert json.dumps(schema) == before
