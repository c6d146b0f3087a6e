"""Plain hints and ordinary docstrings: the quick way gives what pydantic and docstring_parser give."""

import inspect
import json
import typing
from typing import Annotated, Any, Literal, Union

import docstring_parser
import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.tools import docstring, parameters
from oneclaw_core.tools.parameters import FunctionParameters

pytestmark = pytest.mark.lowest_versions

scalars = st.sampled_from([str, int, float, bool, type(None), Any, bytes])
bare = st.sampled_from([list, dict, tuple, set])
literals = st.lists(st.one_of(st.text(max_size=3), st.integers(0, 1), st.booleans()), min_size=1, max_size=3)


def containers(inner):
    return st.one_of(
        inner.map(lambda each: list[each]),
        inner.map(lambda each: dict[str, each]),
        inner.map(lambda each: dict[int, each]),
        inner.map(lambda each: Union[(None, each)]),  # noqa: UP007  # of members that only the run knows
        st.lists(inner, min_size=1, max_size=3).map(lambda each: Union[tuple(each)]),  # noqa: UP007  # of members that only the run knows
        st.tuples(inner, st.text(max_size=4)).map(lambda pair: Annotated[pair[0], Field(description=pair[1])]),
        inner.map(lambda each: Annotated[each, "a note"]),
        inner.map(lambda each: Annotated[each, Field(description="few", title="Few")]),
    )


texts = st.lists(st.text("ab é", max_size=3), min_size=1, max_size=3)
hints = st.recursive(
    st.one_of(
        scalars,
        bare,
        texts.map(lambda each: Literal[tuple(each)]),
        literals.map(lambda each: Literal[tuple(each)]),
    ),
    containers,
    max_leaves=4,
)
defaults = st.sampled_from([inspect.Parameter.empty, None, "é", "b", 3, True, 0.5, float("inf"), [], {"a": 1}, b"x"])
names = st.sampled_from(["city", "days", "title", "type", "schema", "_x", "größe"])


def function_with(taken):
    def probe(**arguments: Any) -> None:
        pass

    made = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)
        for name, (hint, default) in taken.items()
    ]
    probe.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    return probe


def schema_text(function):
    # typing keeps what it has made of equal hints, and a Literal or a union equals one in another order.
    for forget in typing._cleanups:
        forget()
    try:
        made = FunctionParameters(function, "probe", {})
        return json.dumps(made.schema({"days": "How many."}))
    except ToolDefinitionError as error:
        return str(error)


@settings(max_examples=examples(150), deadline=None)
@given(st.dictionaries(names, st.tuples(hints, defaults), max_size=3))
def test_a_schema_is_the_same_bytes_with_and_without_pydantic(taken):
    function = function_with(taken)
    quick = schema_text(function)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parameters, "plain_arguments_schema", lambda hints, required: None)
        assert quick == schema_text(function)


values = st.recursive(
    st.one_of(
        st.sampled_from([None, True, "", "a", "1", "é", "\ud800", 0, 1, -(2**70), 1.0, -0.0, 1.5]),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=3),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab1"), inner, max_size=2)),
    max_leaves=4,
)
plain_hints = st.recursive(
    st.sampled_from([str, int, float, bool, type(None), Literal["a", "1"]]),
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),
        inner.map(lambda each: dict[str, each]),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: Union[tuple(each)]),  # noqa: UP007  # of members that only the run knows
    ),
    max_leaves=4,
)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.dictionaries(names, st.tuples(plain_hints, st.sampled_from([inspect.Parameter.empty, None])), max_size=2),
    st.dictionaries(names, values, max_size=2),
    st.lists(values, max_size=2),
)
def test_arguments_are_converted_the_same_with_and_without_pydantic(taken, arguments, fitting):
    made = FunctionParameters(function_with(taken), "probe", {})
    arguments.update(zip(taken, fitting, strict=False))
    quick = made.convert(arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FunctionParameters, "_needs_no_conversion", lambda self, arguments: False)
        full = made.convert(arguments)
    if isinstance(full, dict):
        assert repr(sorted(quick.items())) == repr(sorted(full.items()))
    else:
        assert quick == full


def test_a_converted_value_is_not_the_one_in_the_arguments():
    made = FunctionParameters(function_with({"a": (list[list[str]], None)}), "probe", {})
    arguments = {"a": [["b"]]}
    converted = made.convert(arguments)
    converted["a"][0].append("c")
    assert arguments == {"a": [["b"]]}


@pytest.mark.parametrize(
    "hint",
    [
        str,
        list[dict[str, float]],
        Literal["metric", "imperial"] | None,
        list[int] | None,
        Annotated[str | int, Field(description="Either.")],
    ],
)
def test_plain_hints_need_no_pydantic_for_their_schema(hint, monkeypatch):
    monkeypatch.setattr(FunctionParameters, "_full_schema", lambda self: pytest.fail("not plain"))
    schema = FunctionParameters(function_with({"a": (hint, None)}), "probe", {}).schema({})
    assert list(schema["properties"]) == ["a"]


def test_choices_keep_their_order():
    schema = FunctionParameters(function_with({"a": (Literal["metric", "imperial"], "metric")}), "probe", {}).schema({})
    assert schema["properties"]["a"] == {"enum": ["metric", "imperial"], "type": "string", "default": "metric"}


lines = st.sampled_from(
    [
        "Search the mail.",
        "Longer: text, with a colon.",
        "",
        "   ",
        "Args:",
        "Returns:",
        "Raises:",
        "Examples:",
        "Args: ",
        "    query: What to look for",
        "    query (str): What to look for",
        "    limit (int, optional): How many",
        "    a, b: Both",
        "    *rest: The rest",
        "        as words: these.",
        "  less indented: text",
        "    ValueError: If it is wrong.",
        "    A list of messages.",
        "    no colon",
        "    empty:",
        "    wide  (str ) : text",
        "\tname: after a tab",
        ":param query: What to look for",
        "@param query: What to look for",
        "Parameters",
        "----------",
        ".. deprecated:: 1.0",
        "At column zero: text",
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(lines, max_size=9).map("\n".join))
def test_a_docstring_is_read_as_docstring_parser_reads_it(text):
    assert docstring.parse_docstring(text) == docstring._parse_any(text)


def test_an_ordinary_docstring_needs_no_library(monkeypatch):
    def probe(query, limit):
        """Search the mail.

        Newest first.

        Args:
            query (str): What to look for,
                as words.
            limit: How many.

        Returns:
            The messages.

        Raises:
            ValueError: The query is empty.
        """

    monkeypatch.setattr(docstring_parser, "parse", lambda text: pytest.fail("the library was used"))
    assert docstring.parse_docstring(probe.__doc__) == (
        "Search the mail.\n\nNewest first.",
        {"query": "What to look for, as words.", "limit": "How many."},
    )
