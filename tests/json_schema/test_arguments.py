"""Reading what a model wrote as arguments."""

import json
import re

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.json_schema import validation
from oneclaw_core.json_schema.validation import argument_faults, compile_schema
from oneclaw_core.types import arguments as reading
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments, without_absent
from oneclaw_core.types.schema import boundless_property_pattern, is_quick

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


@pytest.mark.long
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
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "/x: 1 is not of type 'string' or 'null'"),
    ],
)
def test_a_value_outside_of_its_schema_is_named_with_its_fault(schema, value, fault):
    assert argument_faults(compile_schema({"type": "object", "properties": {"x": schema}}), {"x": value}) == [fault]


def test_items_that_differ_in_kind_are_different_items():
    compiled = compile_schema({"type": "object", "properties": {"x": {"type": "array", "uniqueItems": True}}})
    assert argument_faults(compiled, {"x": [1, True, [1], [True], {"a": 1}, {"a": True}, "list"]}) == []


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def faults(schema, value):
    return argument_faults(compile_schema({"type": "object", "properties": {"a": schema}}), {"a": value})


def test_faults_have_a_place_and_are_kept_short():
    assert faults(WHOLE, "x") == ["/a: 'x' is not of type 'integer'"]
    assert faults({"items": WHOLE}, ["x", 1, "y"]) == [
        "/a/0: 'x' is not of type 'integer'",
        "/a/2: 'y' is not of type 'integer'",
    ]
    assert argument_faults(compile_schema({"required": ["b"]}), {}) == ["/: 'b' is a required property"]
    assert faults({"properties": {"x/y~": WHOLE}}, {"x/y~": "z"}) == ["/a/x~1y~0: 'z' is not of type 'integer'"]
    many = faults({"items": WHOLE}, ["x"] * 50)
    assert (len(many), many[-1]) == (50, "/a/9: 'x' is not of type 'integer'")
    more = faults({"items": WHOLE}, ["x"] * 51)
    assert (len(more), more[-1]) == (51, "/: and more")
    (long,) = faults({"maxLength": 1}, "y" * 400)
    assert (len(long), long[-1]) == (len("/a: ") + 300, "…")
    (whole,) = faults({"const": "z"}, "y" * 100)
    assert whole.startswith("/a: 'z' was expected")
    assert reading.shortened("x" * 300) == "x" * 300
    assert reading.shortened("x" * 301) == "x" * 299 + "…"
    assert reading.json_pointer([]) == ""


def test_patterns_and_equal_elements_are_told():
    assert faults({"pattern": "^a+$"}, "b") == ["/a: 'b' does not match '^a+$'"]
    assert faults({"pattern": "^a+$"}, "aa") == faults({"pattern": "^a+$"}, 7) == []
    assert faults({"uniqueItems": True}, [1, 1.0]) == ["/a: [1, 1.0] has non-unique elements"]
    assert faults({"uniqueItems": True}, [{"b": [1]}, {"b": [1]}]) == [
        "/a: [{'b': [1]}, {'b': [1]}] has non-unique elements"
    ]
    for value in ([True, 1], [["list"], "list"], [[1], [True]], [{"b": 1}, {"b": True}], "aa"):
        assert faults({"uniqueItems": True}, value) == []
    assert faults({"uniqueItems": False}, [1, 1]) == []


@pytest.mark.long
def test_a_check_has_an_end(monkeypatch):
    slow = "/: whether they fit could not be found out in time; give less at once"
    for seconds, schema in ((-1.0, WHOLE), (-1.0, {"not": WHOLE})):
        monkeypatch.setattr(validation, "CHECK_SECONDS", seconds)
        assert faults(schema, "x") == [slow]
    monkeypatch.setattr(validation, "CHECK_SECONDS", 3.0)
    deep = value = []
    for _ in range(100_000):
        value.append([])
        value = value[0]
    ref = {"$defs": {"list": {"items": {"$ref": "#/$defs/list"}}}}
    assert argument_faults(compile_schema({**ref, "properties": {"a": {"$ref": "#/$defs/list"}}}), {"a": deep}) == [
        "/: nested too deeply"
    ]
    assert faults({"multipleOf": 0.5}, 10**400) == ["/: a number is too large"]
    names = {"patternProperties": {"^a+$": WHOLE}}
    assert faults(names, {"a" * 100: 1}) == []
    assert faults(names, {"a" * 101: 1}) == [slow]
    beside = {"patternProperties": {}, "additionalProperties": False}
    assert faults(beside, {"b" * 101: 1}) == [slow]
    monkeypatch.setattr(validation, "SEARCH_SECONDS", 0.01)
    endless = "^(a+)+$"
    assert faults({"pattern": endless}, "a" * 5000 + "b") == [
        f"/a: whether it matches {endless!r} could not be found out in time"
    ]


def test_a_quick_expression_is_known_by_its_form():
    for pattern, length, quick in (
        ("abc", 10**6, True),
        ("abc", 2 * 10**6, False),
        ("^abc", 10**9, True),
        ("^a|b", 2 * 10**6, False),
        ("a+", 1413, True),
        ("a+", 1414, False),
        ("^a+", 2_000_000 - 1, True),
        ("^a+", 2_000_000, False),
        ("^a*b*", 1413, True),
        ("^a*b*", 1414, False),
        ("^a{2,3}", 2_000_000, False),
        ("^a{,3}", 2_000_000, False),
        ("^a{3}", 2_000_000, True),
        ("^a?", 1, True),
        ("(a+)+", 3, False),
        ("(a)*", 3, False),
        ("(a){2}", 3, False),
        ("(a)", 3, True),
        (r"\(a\)+", 3, True),
        ("[)+]", 3, True),
        ("[^)]+", 3, True),
        ("[]+)]", 3, True),
        ("^" + "a?" * 20, 1, True),
        ("^" + "a?" * 21, 0, False),
        ("^" + "a*" * 20, 0, True),
        ("^" + "a*" * 21, 0, False),
        ("^(?:a|b)", 1, True),
        ("^" + "|".join("abcdefghijklmnopqrstu"), 0, True),
        ("^" + "|".join("abcdefghijklmnopqrstuv"), 0, False),
        ("(?x)a", 1, False),
        ("(?ix)a", 1, False),
    ):
        assert is_quick(pattern, length) is quick, (pattern, length)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of sets that look like those of other languages
def test_a_slow_expression_finds_the_same():
    for pattern, text in (
        ("(a)+$", "caaa"),
        ("(a)+$", "b"),
        ("(a)+{e}", "aa{e}"),
        ("(a)+{e}", "aa"),
        ("(b)*[[:alpha:]]", ":]"),
        ("(b)*[[:alpha:]]", "x"),
        ("(b)*[^a&&b]", "&"),
        ("(b)*[a||b~~]", "|"),
        (r"(b)*[\]]", "]"),
        (r"(b)*\{e", "{e"),
    ):
        expected = re.search(pattern, text) is not None
        assert validation.is_found(pattern, text) is expected, (pattern, text)


def test_nulls_are_left_out_where_no_null_is_taken():
    for schema, is_kept in (
        (True, True),
        (False, False),
        ({}, True),
        ({"type": "null"}, True),
        ({"type": "string"}, False),
        ({"type": ["string", "null"]}, True),
        ({"type": ["string"]}, False),
        ({"anyOf": [TEXT, {"type": "null"}]}, True),
        ({"oneOf": [TEXT, WHOLE]}, False),
        ({"oneOf": [TEXT, {"type": "null"}]}, True),
        ({"enum": [None, 1]}, True),
        ({"enum": [1]}, False),
        ({"$ref": "#/$defs/x"}, False),
    ):
        found = without_absent({"a": None, "b": None, "c": 1}, {"properties": {"a": schema}})
        assert found == {**({"a": None} if is_kept else {}), "b": None, "c": 1}, schema
    assert without_absent({"a": None}, {}) == {"a": None}


def test_the_fault_is_shown_with_the_text_around_it():
    for text, message in (
        ("x" * 100, f"the arguments are not valid JSON: Expecting value at character 1, near {'x' * 40!r}"),
        (
            '{"a": "' + "y" * 100 + '" z' + "w" * 100,
            "the arguments are not valid JSON: Expecting ',' delimiter at character 110, near "
            f"{'y' * 38 + chr(34) + ' z' + 'w' * 39!r}",
        ),
        ("[1]", "the arguments must be a JSON object, not '[1]'"),
        ("[" + "1," * 150 + "1]", f"the arguments must be a JSON object, not {('[' + '1,' * 150)[:200] + '…'!r}"),
        ("NaN", "the arguments are not valid JSON: NaN is not a JSON number"),
        ("[" * 100_000, "the arguments are nested too deeply"),
    ):
        with pytest.raises(ArgumentsError) as error:
            parse_arguments(text)
        assert str(error.value) == message
    with pytest.raises(ValueError, match=r"^the number 1e9{38} is too large$"):
        reading.finite_float("1e" + "9" * 100)


def test_an_expression_for_names_has_to_be_quick():
    find = boundless_property_pattern
    endless = {"patternProperties": {"^a$": {}, "(a+)+": {}}}
    assert (
        find({"type": "object"}) is find({"patternProperties": {"^a+$": {}}}) is find({"patternProperties": 7}) is None
    )
    assert find(endless) == find({"properties": {"x": {"anyOf": [True, endless]}}}) == "(a+)+"
    for name in ("const", "enum", "default", "examples"):
        assert find({name: [endless]}) is None
