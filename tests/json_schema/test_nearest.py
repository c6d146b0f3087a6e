"""Wrong arguments for a union: the model reads what is wrong by the alternative that it meant.

The shapes are those of public reports about tools of other frameworks: tagged unions with a default tag, recursive
filters, lists of tagged items, nested ``anyOf``, optional lists.
"""

import asyncio
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from oneclaw_core import OneClaw, ToolDefinition, ToolResult, tool
from oneclaw_core.json_schema.validation import argument_faults, compile_schema


class Circle(BaseModel):
    kind: Literal["circle"] = "circle"
    radius: float


class Square(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["square"] = "square"
    side: float


class Group(BaseModel):
    kind: Literal["group"] = "group"
    members: list["Shape"]


Shape = Annotated[Circle | Square | Group, Field(discriminator="kind")]


class Leaf(BaseModel):
    field: str
    operator: Literal["EXACT_MATCH", "CONTAINS", "GT"]
    value: str


class Compound(BaseModel):
    operator: Literal["AND", "OR"]
    conditions: list["Leaf | Compound"]


@tool
def draw(shape: Shape) -> str:
    """Draw a shape."""
    return type(shape).__name__


@tool
def place(item: Circle | Square, size: int | list[int] = 0) -> str:
    """Place a shape."""
    return f"{type(item).__name__} {size}"


@tool
def search(where: Leaf | Compound, urls: list[str] | None = None) -> str:
    """Search."""
    return f"{where} {urls}"


FILTER = {
    "type": "object",
    "properties": {"where": {"$ref": "#/$defs/condition"}},
    "required": ["where"],
    "$defs": {
        "condition": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string"},
                        "operator": {"enum": ["EXACT_MATCH", "CONTAINS"]},
                        "value": {"type": "string"},
                    },
                    "required": ["field", "operator", "value"],
                },
                {
                    "type": "object",
                    "properties": {
                        "operator": {"enum": ["AND", "OR"]},
                        "conditions": {"type": "array", "items": {"$ref": "#/$defs/condition"}},
                    },
                    "required": ["operator", "conditions"],
                },
            ]
        }
    },
}
ENVIRONMENT = {
    "type": "object",
    "properties": {
        "environment": {
            "anyOf": [
                {
                    "anyOf": [
                        {"type": "string", "minLength": 1},
                        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                    ]
                },
                {"type": "null"},
            ]
        }
    },
}


class Foreign:
    """A tool with a schema alone."""

    def __init__(self, name, parameters):
        self.definition = ToolDefinition(name=name, description="Search.", parameters=parameters)

    async def execute(self, arguments, context=None):
        return ToolResult.success("done")


def faults_of_calls(tmp_path, calls, tools=(draw, place, search)):
    """Return the lines of the answers to calls, without the first ones."""

    async def main():
        async with OneClaw.open(tmp_path, plugins=["builtin"], environ={}) as claw:
            claw.add_tools(*tools)
            results = [(await claw.call_tool(name, arguments)).result for name, arguments in calls]
        assert {each.error_type for each in results} == {"validation_error"}
        assert {each.error_message.partition("\n")[0] for each in results} == {
            f"Tool '{name}' was called with wrong arguments:" for name, _ in calls
        }
        return [each.error_message.split("\n")[1:] for each in results]

    return asyncio.run(main())


def test_a_function_with_hints_names_the_place_and_the_tags_of_a_tagged_union(tmp_path):
    tags = "'circle', 'square', 'group'"
    inner = {"kind": "group", "members": [{"kind": "circle", "radius": 1}, {"kind": "square"}]}
    assert faults_of_calls(
        tmp_path,
        [
            ("draw", {"shape": {"kind": "hexagon"}}),
            ("draw", {"shape": {"kind": "square", "radius": 1}}),
            ("draw", {"shape": inner}),
            ("draw", {"shape": {"kind": "group", "members": [{"kind": "group", "members": [{"kind": "dot"}]}]}}),
        ],
    ) == [
        [f"/shape/kind: 'hexagon' is not one of the expected tags {tags}"],
        ["/shape/side: Field required", "/shape/radius: Extra inputs are not permitted"],
        ["/shape/members/1/side: Field required"],
        [f"/shape/members/0/members/0/kind: 'dot' is not one of the expected tags {tags}"],
    ]


def test_a_tag_with_a_default_is_required_by_the_schema_and_by_the_check(tmp_path):
    parameters = draw.definition.parameters
    assert parameters["properties"]["shape"]["discriminator"] == {"propertyName": "kind"}
    union = parameters["properties"]["shape"]["oneOf"]
    members = [parameters["$defs"][each["$ref"].rpartition("/")[2]] for each in union]
    assert [each["required"] for each in members] == [["kind", "radius"], ["kind", "side"], ["kind", "members"]]
    assert not any("default" in each["properties"]["kind"] for each in members)

    (faults,) = faults_of_calls(tmp_path, [("draw", {"shape": {"radius": 1}})])

    assert faults == ["/shape/kind: Field required: one of 'circle', 'group', 'square'"]
    assert argument_faults(compile_schema(parameters), {"shape": {"radius": 1}}) != []


def test_of_types_without_a_tag_the_nearest_one_is_named(tmp_path):
    no_integer = "Input should be a valid integer, unable to parse string as an integer"
    leaf = {"field": "name", "operator": "CONTAINS"}
    assert faults_of_calls(
        tmp_path,
        [
            ("place", {"item": {"kind": "square", "sid": 1}}),
            ("place", {"item": {"kind": "circle", "radius": "wide"}}),
            ("place", {"item": {"kind": "circle", "radius": 1}, "size": "wide"}),
            ("place", {"item": {"kind": "circle", "radius": 1}, "size": [1, "wide"]}),
            ("search", {"where": leaf}),
            ("search", {"where": {"operator": "AND", "conditions": [leaf]}}),
            ("search", {"where": {"operator": "AND"}, "urls": [3]}),
        ],
    ) == [
        ["/item/side: Field required", "/item/sid: Extra inputs are not permitted"],
        ["/item/radius: Input should be a valid number, unable to parse string as a number"],
        [f"/size: {no_integer}, or Input should be a valid array"],
        [f"/size/1: {no_integer}"],
        ["/where/value: Field required"],
        ["/where/conditions/0/value: Field required"],
        ["/where/conditions: Field required", "/urls/0: Input should be a valid string"],
    ]


def test_of_a_schema_alone_the_nearest_alternative_is_named(tmp_path):
    leaf = {"field": "name", "operator": "CONTAINS"}
    assert faults_of_calls(
        tmp_path,
        [
            ("filter", {"where": leaf}),
            ("filter", {"where": {"operator": "AND", "conditions": [{**leaf, "value": 3}]}}),
            ("filter", {"where": {"operator": "NEAR", "conditions": []}}),
            ("filter", {"where": "name = x"}),
            ("events", {"environment": 3}),
            ("events", {"environment": [""]}),
        ],
        [Foreign("filter", FILTER), Foreign("events", ENVIRONMENT)],
    ) == [
        ["/where: 'value' is a required property"],
        ["/where/conditions/0/value: 3 is not of type 'string'"],
        ["/where/operator: 'NEAR' is not one of 'EXACT_MATCH', 'CONTAINS', 'AND', 'OR'"],
        ["/where: 'name = x' is not of type 'object'"],
        ["/environment: 3 is not of type 'string' or 'array' or 'null'"],
        ["/environment/0: '' should be non-empty"],
    ]


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, "c", "/x: 'c' is not one of 'a', 'b'"),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, None, "/x: None is not of type 'integer' or 'boolean'"),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            "/x: 'a' is a required property, or 'b' is a required property",
        ),
        (
            {"anyOf": [{"properties": {"t": {"const": n}}, "required": ["t"]} for n in range(30)]},
            {},
            "/x: 't' is a required property: one of " + ", ".join(map(str, range(20))) + ", …",
        ),
        ({"anyOf": [False, {"type": "array"}]}, 3, "/x: 3 is not of type 'array'"),
        (
            {"anyOf": [{"required": [name]} for name in "abcde"]},
            {},
            "/x: 'a' is a required property, or 'b' is a required property, or 'c' is a required property, or …",
        ),
    ],
)
def test_alternatives_that_are_as_near_are_said_together(schema, value, fault):
    compiled = compile_schema({"type": "object", "properties": {"x": schema}})

    assert argument_faults(compiled, {"x": value}) == [fault]


def test_the_arguments_of_every_alternative_are_taken(tmp_path):
    async def main():
        async with OneClaw.open(tmp_path, plugins=["builtin"], environ={}) as claw:
            claw.add_tools(draw, place, search)
            for name, arguments in (
                ("draw", {"shape": {"kind": "group", "members": [{"kind": "square", "side": 1}]}}),
                ("place", {"item": {"kind": "square", "side": 1}, "size": [1]}),
                ("search", {"where": {"operator": "OR", "conditions": []}, "urls": ["https://example.com"]}),
                ("search", {"where": {"operator": "OR", "conditions": []}, "urls": None}),
            ):
                assert (await claw.call_tool(name, arguments)).result.is_success

    asyncio.run(main())
