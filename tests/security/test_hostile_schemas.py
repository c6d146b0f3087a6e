"""Schemas as the attacker: a few lines that would keep a program busy for ever, or make it fetch something."""

import gc
import json
import time

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_oneclaw.web_server import WebServer, response
from referencing.exceptions import Unresolvable

from oneclaw_core import ToolDefinition, ToolResult
from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.json_schema import validation as arguments_module
from oneclaw_core.json_schema.validation import SearchTakesTooLongError, argument_faults, compile_schema, is_found
from oneclaw_core.types.schema import check_parameters_schema, is_quick

pytestmark = pytest.mark.lowest_versions

DOUBLING = {"a0": {"type": "integer"}} | {
    f"a{number}": {"allOf": [{"$ref": f"#/$defs/a{number - 1}"}] * 2} for number in range(1, 40)
}
ENDLESS = "^((a{1,99}){1,99}){1,99}$"
NEEDS_LONG = "a" * 60 + "!"


def of(schema, **more):
    return {"type": "object", "properties": {"x": schema}, **more}


BOMBS = {
    "repeated group": (of({"type": "string", "pattern": ENDLESS}), NEEDS_LONG),
    "repeated alternative": (of({"type": "string", "pattern": "^(a|a)*$"}), NEEDS_LONG),
    "many repetitions": (of({"type": "string", "pattern": "^a*a*a*a*a*a*a*b$"}), "a" * 3000),
    "many options": (of({"type": "string", "pattern": "a?" * 40 + "a" * 40 + "$"}), "a" * 40 + "!"),
    "counted group": (of({"type": "string", "pattern": "^(a{1,30}){1,30}$"}), NEEDS_LONG),
    "names": (of({"propertyNames": {"pattern": ENDLESS}}), {NEEDS_LONG: 1}),
    "another dialect": (
        of({"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "pattern": ENDLESS}),
        NEEDS_LONG,
    ),
    "through the metaschema": (
        of({"$ref": "https://json-schema.org/draft/2020-12/schema"}, **{"$dynamicAnchor": "meta", "pattern": ENDLESS}),
        {"properties": {"y": NEEDS_LONG}},
    ),
    "doubling": (of({"$ref": "#/$defs/a39"}, **{"$defs": DOUBLING}), 1),
    "doubling in the other direction": (
        of({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"properties": {"n": {"anyOf": [{"$ref": "#/$defs/a"}] * 3}}}}}),
        json.loads('{"n":' * 60 + "1" + "}" * 60),
    ),
    "all different": (of({"type": "array", "uniqueItems": True}), [{"n": number} for number in range(20_000)]),
    "all alternatives": (of({"type": "array", "items": {"enum": list(range(5_000))}}), ["x"] * 20_000),
    "itself": ({"type": "object", "$ref": "#"}, 1),
    "itself in turn": (
        of({"$ref": "#/$defs/b"}, **{"$defs": {"b": {"$ref": "#/$defs/c"}, "c": {"$ref": "#/$defs/b"}}}),
        1,
    ),
    "division": (of({"type": "number", "multipleOf": 1e-300}), 10**4000),
}


# One of each way to go on: in an expression, in the schema, in the value.
ON_EVERY_PYTHON = ("repeated group", "doubling", "all different")


@pytest.mark.parametrize(
    "what", [each if each in ON_EVERY_PYTHON else pytest.param(each, marks=pytest.mark.one_python) for each in BOMBS]
)
def test_checking_arguments_comes_to_an_end(what, monkeypatch):
    monkeypatch.setattr(arguments_module, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr("oneclaw_core.json_schema.validation.SEARCH_SECONDS", 0.1)
    schema, value = BOMBS[what]
    check_parameters_schema("bomb", schema)
    started = time.monotonic()
    faults = argument_faults(compile_schema(schema), {"x": value})
    assert time.monotonic() - started < 30
    assert all(len(fault) < 500 for fault in faults)


@pytest.mark.long
def test_a_model_is_told_that_checking_took_too_long_and_the_tool_is_not_run(oneclaw_factory, monkeypatch):
    ran = []

    class Bomb:
        definition = ToolDefinition("bomb", "A tool that checks a text.", of({"type": "string", "pattern": ENDLESS}))

        async def execute(self, arguments):
            ran.append(arguments)
            return ToolResult.success("ran")

    oneclaw = oneclaw_factory(())
    with monkeypatch.context() as patch:
        patch.setattr("oneclaw_core.json_schema.validation.SEARCH_SECONDS", 0.1)
        result = oneclaw.call_tool(Bomb(), x=NEEDS_LONG)
    assert result.error_type == "validation_error"
    assert "could not be found out in time" in result.error_message
    assert ran == []
    assert oneclaw.call_tool("bomb", x="aaa").is_success


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+", "a*a*a*a*", "(x|y)*", ".*.*=.*"],
)
def test_names_of_properties_are_matched_by_quick_expressions_only(pattern):
    schema = of({"type": "object", "patternProperties": {pattern: {"type": "string"}}})
    with pytest.raises(ToolDefinitionError, match="patternProperties"):
        check_parameters_schema("bomb", schema)


def test_patterns_that_people_write_work_as_before():
    schema = of(
        {
            "patternProperties": {"^x-": {"type": "string"}, "^[a-z]+$": {"type": "integer"}},
            "additionalProperties": False,
        }
    )
    check_parameters_schema("good", schema)
    validator = compile_schema(schema)
    assert argument_faults(validator, {"x": {"x-a": "1", "abc": 2}}) == []
    assert len(argument_faults(validator, {"x": {"x-a": 1, "abc": "2", "A": 3}})) == 3
    assert argument_faults(validator, {"x": {"a" * 101: 1}})  # rather than to search a name without end
    slug = compile_schema(of({"type": "string", "pattern": "^([a-z]+-)*[a-z]+$"}))
    assert argument_faults(slug, {"x": "a-slug-of-words"}) == []
    assert argument_faults(slug, {"x": "No slug"})


@pytest.mark.parametrize(
    ("items", "are_different"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False], True),
        ([[1], [True]], True),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}], False),
        ([{"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}], False),
        (["1", 1, None, [], {}, [[]], ""], True),
        ([{"a": 1}, [["a", 1]]], True),
        ([["list", 1], [1]], True),
    ],
)
def test_what_is_the_same_to_json_is_the_same(items, are_different):
    validator = compile_schema(of({"type": "array", "uniqueItems": True}))
    assert (argument_faults(validator, {"x": items}) == []) is are_different


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0, "", "a"]),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
        ),
        max_size=4,
    )
)
def test_what_is_unique_is_what_jsonschema_says(items):
    from jsonschema import Draft202012Validator

    schema = {"type": "array", "uniqueItems": True}
    assert (not argument_faults(compile_schema(schema), items)) is Draft202012Validator(schema).is_valid(items)


@pytest.mark.long
@pytest.mark.one_python
def test_a_search_is_given_up_after_its_time(monkeypatch):
    monkeypatch.setattr("oneclaw_core.json_schema.validation.SEARCH_SECONDS", 0.4)
    started = time.monotonic()
    with pytest.raises(SearchTakesTooLongError):
        is_found(ENDLESS, NEEDS_LONG)
    assert 0.4 <= time.monotonic() - started < 30


@settings(max_examples=examples(40))
@given(st.text(alphabet="ab^$.*+?|()[]{},1\\", max_size=9), st.text(alphabet="ab1", max_size=5))
def test_both_engines_find_the_same(pattern, text):
    import re
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = re.search(pattern, text) is not None
        except (re.error, OverflowError):
            return
        assert is_found(pattern, text) is expected


@pytest.mark.parametrize(
    "pattern", ["^[a-z]+$", r"^\d{4}-\d{2}-\d{2}$", r"\S", "^(yes|no)$", r"^[\w.+-]+@[\w.-]+$", "[(+*]"]
)
def test_plain_expressions_are_searched_for_at_once(pattern):
    assert is_quick(pattern, 100)


@pytest.mark.parametrize(
    "pattern", ["(?x)^(a+) +$", "(?x)^(a+)#\n+$", "(?ix)^(a+)\t{2,}$", "(?x:^(a+) +)$", "(?i-s:b)|(?sx-i:(a+) +)$"]
)
def test_what_repeats_a_group_cannot_hide_behind_a_blank(pattern):
    assert not is_quick(pattern, 40)


@pytest.mark.parametrize("reference", ["$ref", "$dynamicRef"])
def test_nothing_is_fetched_for_a_schema(reference, tmp_path, monkeypatch):
    (tmp_path / "schema.json").write_text('{"type": "string"}')
    monkeypatch.chdir(tmp_path)
    with WebServer(lambda _: response('{"type": "string"}')) as server:
        for target in (
            f"{server.url}/schema.json",
            f"file://{tmp_path}/schema.json",
            "schema.json",
            "/schema.json",
            f"{tmp_path}/schema.json",
            "#/$defs/none",
            "urn:x",
            "http://[",
            "\0",
        ):
            for schema in (
                of({reference: target}),
                of({"$id": f"{server.url}/", reference: target}),
                of({"$schema": target, "type": "string"}),
                {"$schema": target, **of({"type": "string"})},
            ):
                try:
                    check_parameters_schema("far", schema)
                    faults = argument_faults(compile_schema(schema), {"x": 1})
                except (ToolDefinitionError, Unresolvable, ValueError) as error:
                    faults = [str(error)]
                assert faults
        assert server.requests == []


NESTED = "(" * 5000 + ")" * 5000


@pytest.mark.parametrize(
    "pattern",
    ["a{99999999999999999999}", pytest.param(NESTED, id="nested"), "(?P<a>x)(?P<a>y)", "(?<=a+)b", "[", "\\", 7, None],
)
def test_an_expression_that_cannot_be_compiled_costs_its_tool_and_no_more(pattern):
    if pattern == NESTED:
        # Objects of earlier tests would otherwise be finalized deep in the recursion, where every call fails.
        gc.collect()
    for schema in (of({"type": "string", "pattern": pattern}), of({"type": "string", "pattern": pattern, "not": {}})):
        with pytest.raises(ToolDefinitionError):
            check_parameters_schema("bad", schema)
