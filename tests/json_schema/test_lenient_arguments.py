"""Arguments that are almost right are read where the schema leaves one reading."""

import json

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import processor_seconds

from oneclaw_core.json_schema.lenient_arguments import _readings, lenient_reading
from oneclaw_core.json_schema.validation import argument_faults, compile_schema
from oneclaw_core.types.arguments import whole_object

INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
OBJECT = {"type": "object", "properties": {"n": INTEGER}}
ARRAY = {"type": "array", "items": INTEGER}


def taking(schema, **others):
    return {"type": "object", "properties": {"x": schema}, **others}


def read(value, schema, **others):
    return lenient_reading(json.dumps({"x": value}), taking(schema, **others))["x"]


@pytest.mark.parametrize(
    ("given", "schema", "expected"),
    [
        ("2", INTEGER, 2),
        ("-7", INTEGER, -7),
        (" 2\n", INTEGER, 2),
        ("2", NUMBER, 2),
        ("2.5", NUMBER, 2.5),
        ("1e3", NUMBER, 1000.0),
        ("true", BOOLEAN, True),
        ("False", BOOLEAN, False),
        ("2", {"type": ["integer", "null"]}, 2),
        ("null", {"type": ["integer", "null"]}, None),
        ("2", {"anyOf": [INTEGER, {"type": "null"}]}, 2),
        ("2", {"anyOf": [INTEGER, BOOLEAN]}, 2),
        ("2", {"enum": [1, 2, 3]}, 2),
        ("2", {"allOf": [INTEGER, {"minimum": 1}]}, 2),
        ("2", {"$ref": "#/$defs/count"}, 2),
        ('{"n": 1}', OBJECT, {"n": 1}),
        ('{"n": "1"}', OBJECT, {"n": 1}),
        ('```json\n{"n": 1}\n```', OBJECT, {"n": 1}),
        ("[1, 2]", ARRAY, [1, 2]),
        (["1", 2], ARRAY, [1, 2]),
        ({"n": "1", "m": "1"}, OBJECT, {"n": 1, "m": "1"}),
        ({"k": "1"}, {"type": "object", "additionalProperties": INTEGER}, {"k": 1}),
        (["1", "1"], {"type": "array", "prefixItems": [INTEGER], "items": {"type": "string"}}, [1, "1"]),
        ({"n": "1"}, {"anyOf": [OBJECT, {"type": "null"}]}, {"n": 1}),
        ({"n": "1"}, {"type": "object", "patternProperties": {"n": INTEGER}}, {"n": 1}),
        ({"n": "1"}, {"allOf": [OBJECT]}, {"n": 1}),
        (["1"], {"oneOf": [{"type": "object"}, ARRAY]}, [1]),
        (["1", "2"], {"prefixItems": [{"type": "string"}], "items": INTEGER}, ["1", 2]),
        ("null", {"const": None}, None),
    ],
)
def test_a_value_with_one_reading_is_read(given, schema, expected):
    found = read(given, schema, **{"$defs": {"count": INTEGER}})
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("given", "schema"),
    [
        ("2", {"type": "string"}),
        ("2", {"type": ["integer", "string"]}),
        ("true", {"anyOf": [BOOLEAN, {"type": "string"}]}),
        ('{"n": 1}', {"oneOf": [OBJECT, {"type": "string"}]}),
        ("2", {}),
        ("2", True),
        ("2", False),
        ("2", {"enum": ["1", "2"]}),
        ("2", {"enum": [2, "2"]}),
        ("2", {"const": "2"}),
        ("2", {"$ref": "https://elsewhere.example/schema"}),
        ("2", {"$ref": "#/$defs/round"}),
        ("2.5", INTEGER),
        ("2.0", INTEGER),
        ("02", INTEGER),
        ("0x10", INTEGER),
        ("1_000", INTEGER),
        ("٢", INTEGER),
        ("two", INTEGER),
        ("", INTEGER),
        ("NaN", NUMBER),
        ("Infinity", NUMBER),
        ("1e999", NUMBER),
        ("9" * 50, INTEGER),
        ("1", BOOLEAN),
        ("yes", BOOLEAN),
        (2, BOOLEAN),
        (2, {"type": "string"}),
        ("null", INTEGER),
        ("[1]", OBJECT),
        ('{"n": 1}', ARRAY),
        ("{n: 1}", OBJECT),
        ("2", ARRAY),
        ("2", {"anyOf": [INTEGER, {"type": "string", "minLength": 9}]}),
        ({"n": "1"}, {"anyOf": [OBJECT, {"type": "object", "properties": {"n": BOOLEAN}}]}),
    ],
)
def test_what_has_no_reading_or_several_is_left_alone(given, schema):
    found = read(given, schema, **{"$defs": {"round": {"$ref": "#/$defs/round"}}})
    assert (found, type(found)) == (given, type(given))


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"x": 1}\n```',
        '```\n{"x": 1}\n```',
        ' ```JSON {"x": 1}``` \n',
        json.dumps('{"x": 1}'),
        json.dumps('```json\n{"x": 1}\n```'),
    ],
)
def test_a_fence_or_a_string_around_all_of_the_arguments_is_taken_away(text):
    assert lenient_reading(text, taking(INTEGER)) == {"x": 1}


@pytest.mark.parametrize(
    "text", ["```", "``````", '```json\n{"x": 1}', 'Sure: ```json\n{"x": 1}\n```', '{"x": 1', "[1]", "null", '"x"', "7"]
)
def test_what_is_no_object_has_no_reading(text):
    assert whole_object(text) in (None, {})
    assert lenient_reading(text, taking(INTEGER)) in (None, {})


def test_null_for_an_absent_value_is_left_out_within_a_fence_too():
    assert lenient_reading('```\n{"x": null}\n```', taking(INTEGER)) == {}


@pytest.mark.long
def test_schemas_without_end_and_long_texts_take_no_time():
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)}
    schema = taking({"$ref": "#/$defs/d0"}, **{"$defs": {**doubling, "d40": INTEGER}})
    with processor_seconds(5):
        assert lenient_reading('{"x": "1"}', schema) == {"x": "1"}
        for text in (
            "```" + " " * 1_000_000,
            "```json" + "`" * 1_000_000,
            '{"x": "' + "[" * 1_000_000 + '"}',
            "-" * 1_000_000,
        ):
            lenient_reading(text, taking({"type": "array"}))


leaves = st.sampled_from([INTEGER, NUMBER, BOOLEAN, {"type": "null"}, {"type": "string"}, {"enum": [1, "a"]}, {}])
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda of: {"type": "object", "properties": of}, st.dictionaries(st.sampled_from("ab"), inner)),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)
texts = st.sampled_from(["1", "true", "null", "2.5", '{"a": "1"}', '["1"]', "x", ""])
values = st.recursive(
    texts | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def fits(value, schema):
    return not argument_faults(compile_schema(taking(schema)), {"x": value})


@pytest.mark.long
@settings(max_examples=examples(300), deadline=None)
@given(values, schemas)
def test_what_is_valid_stays_as_it_is(value, schema):
    if value is not None and fits(value, schema):
        assert read(value, schema) == value


@pytest.mark.long
@settings(max_examples=examples(300), deadline=None)
@given(values, schemas)
def test_only_strings_change_and_only_where_none_is_taken(value, schema):
    if value is None:
        return
    found = read(value, schema)
    for before, after, at in changes(value, found):
        assert isinstance(before, str)
        assert not isinstance(after, str)
        assert json.loads(before) is not None or after is None, at
    assert read(found, schema) == found if found is not None else True


def changes(before, after, at=""):
    if type(before) is not type(after) or (not isinstance(before, dict | list) and before != after):
        yield before, after, at
    elif isinstance(before, dict):
        for name in before:
            yield from changes(before[name], after[name], f"{at}/{name}")
    elif isinstance(before, list):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changes(old, new, f"{at}/{place}")


def test_whole_objects_are_found_within_fences_and_strings():
    for text, found in (
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        (' ```JSON{"a": 1}``` ', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"```{\\"a\\": 1}```"', {"a": 1}),
        ('```"{\\"a\\": 1}"```', {"a": 1}),
        ('"\\"{}\\""', {}),
        ('"\\"\\"{}\\"\\""', None),
        ('""', {}),
        ("[1]", None),
        ('"[1]"', None),
        ('```python\n{"a": 1}\n```', None),
        ('```{"a": 1}', None),
        ('{"a": 1}```', None),
        ("``````", {}),
        ("`````", None),
        ("7", None),
    ):
        assert whole_object(text) == found, text


def test_each_kind_of_text_has_its_reading():
    for text, types, values in (
        ("TRUE", "boolean", [True]),
        ("true", "integer", []),
        ("False", "boolean", [False]),
        ("null", "null", [None]),
        ("null", "object", []),
        ("0", "integer", [0]),
        ("-0", "number", [0]),
        ("1" * 32, "integer", []),
        ("1" * 31, "integer", [int("1" * 31)]),
        ("01", "integer", []),
        ("1.5", "integer", []),
        ("1.5", "number", [1.5]),
        ("1E+3", "number", [1000.0]),
        ("1e999", "number", []),
        (".5", "number", []),
        ("1.", "number", []),
        ("7", "string", []),
        ("{}", "object", [{}]),
        ("{}", "array", []),
        ("[]", "array", [[]]),
        ("[]", "object", []),
        ("```[1]```", "array", [[1]]),
        ("nonsense", "object", []),
        ("7", "object", []),
    ):
        assert list(_readings(text, frozenset({types}))) == values, (text, types)
