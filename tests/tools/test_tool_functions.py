"""Functions as tools: what is wrong with one, which arguments it takes, and what a docstring says."""

import asyncio
import inspect
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from oneclaw_core import ToolContext, ToolResult, tool
from oneclaw_core.errors import PluginError, ToolDefinitionError
from oneclaw_core.files import PathGuard
from oneclaw_core.tool_functions import parameters
from oneclaw_core.tool_functions.function import FunctionTool, ToolFunction, as_tool_result
from oneclaw_core.tool_functions.parameters import _note_default, is_context_hint, parse_docstring
from oneclaw_core.tools import ToolBehaviour
from oneclaw_core.tools.invoke import FunctionTarget, invoke


def context(tmp_path=Path("/tmp")):
    return ToolContext(tmp_path, None, "", "probe", "c1", PathGuard(tmp_path, tmp_path))


def fault(make):
    with pytest.raises(ToolDefinitionError) as error:
        make().definition.to_dict()
    return str(error.value), error.value.pointer


class Own:
    """A class that JSON cannot hold."""


def described(function):
    function.__doc__ = "Probe it."
    return tool(function)


async def later():
    """Stand in for an async function."""


def test_why_a_function_is_no_tool():
    def local():
        """Stand in for a function within another."""

    def positional(a: int, /):
        """Take a position."""

    def many(*a: int):
        """Take many."""

    def named(**a: int):
        """Take names."""

    def untyped(a):
        """Take anything."""

    def method(self):
        """Take itself."""

    def own(a: Own):
        """Take an object."""

    def unknown(a: "NoSuchType"):  # noqa: F821
        """Take something unknown."""

    def bare():
        pass

    place = "/parameters/properties/{}"
    types_that_do = "use str, int, float, bool, list, dict, Literal, an enum, a dataclass or a pydantic model"
    for make, message, pointer in (
        (lambda: FunctionTool(7), "7 is not a Python function; only a function can be made a tool", ""),
        (
            lambda: tool(required_permissions="a")(local),
            "tool 'local': required_permissions must be a list of permission names",
            "/required_permissions",
        ),
        (lambda: tool(isolation="thread")(local), "tool 'local': isolation must be 'process', not 'thread'", ""),
        (
            lambda: tool(isolation="process")(later),
            "tool 'later': an async function cannot run with isolation='process'; make it a plain function",
            "",
        ),
        (
            lambda: tool(isolation="process")(local),
            "tool 'local': isolation='process' needs a function that the worker process can import: move "
            f"{local.__qualname__!r} to the top level of a module",
            "",
        ),
        (
            lambda: tool(positional),
            "tool 'positional': parameter 'a': it is positional-only, and arguments come by name; remove the '/'",
            place.format("a"),
        ),
        (
            lambda: tool(many),
            "tool 'many': parameter 'a': a model cannot be told what '*' takes; use a list",
            place.format("a"),
        ),
        (
            lambda: tool(named),
            "tool 'named': parameter 'a': a model cannot be told what '**' takes; name the parameters, or use a dict",
            place.format("a"),
        ),
        (
            lambda: tool(untyped),
            "tool 'untyped': parameter 'a': it has no type hint, so there is no JSON Schema for it; add one",
            place.format("a"),
        ),
        (
            lambda: tool(method),
            "tool 'method': parameter 'self': it has no type hint, so there is no JSON Schema for it; decorate a "
            "function, or the bound method",
            place.format("self"),
        ),
        (
            lambda: tool(own),
            f"tool 'own': parameter 'a': its type cannot be described as JSON: Own; {types_that_do}",
            place.format("a"),
        ),
        (
            lambda: tool(unknown),
            "tool 'unknown': parameter 'a': its type hint 'NoSuchType' cannot be resolved: name 'NoSuchType' is not "
            "defined; import what it names at module level, outside 'if TYPE_CHECKING'",
            place.format("a"),
        ),
        (
            lambda: tool(bare),
            "tool 'bare' has no description, by which a model decides to use it: add a docstring to the function, or "
            "pass description=",
            "/description",
        ),
    ):
        found, where = fault(make)
        assert found == message
        assert where == pointer


def test_options_of_a_tool_are_kept():
    def probe(text: str, count: int = 2) -> str:
        """Probe it.

        Args:
            text: What to probe.
            count: How often.
        """
        return text * count

    plain = tool(probe)
    full = tool(
        name="other",
        description=" Another one. ",
        group="probes",
        required_permissions={"a.b"},
        timeout_seconds=7,
        read_only=True,
        idempotent=True,
        is_poll=True,
        reads=["outside"],
    )(probe)
    assert (plain.name, plain.group, plain.definition.behaviour) == ("probe", None, ToolBehaviour())
    assert (full.name, full.group, full.definition.behaviour) == ("other", "probes", ToolBehaviour(is_poll=True))
    assert plain.definition.parameters == {
        "additionalProperties": False,
        "properties": {
            "text": {"type": "string", "description": "What to probe."},
            "count": {"type": "integer", "description": "How often.", "default": 2},
        },
        "required": ["text"],
        "type": "object",
    }
    definition = full.definition
    assert (definition.description, definition.required_permissions, definition.timeout_seconds) == (
        *("Another one.", ("a.b",), 7),
    )
    assert (definition.read_only, definition.idempotent, definition.reads) == (True, True, ("outside",))
    assert (plain.definition.description, plain.definition.timeout_seconds, plain.definition.reads) == (
        *("Probe it.", 30, ()),
    )
    assert plain.definition is plain.definition
    assert plain("a") == "aa"


def test_arguments_that_a_function_does_not_take():
    def probe(text: str, here: ToolContext):
        return text

    function = ToolFunction.of(probe, "tool 'probe'")
    for arguments, message in (
        ({"here": 1}, "tool 'probe': the parameter 'here' takes the ToolContext, so no argument can have that name"),
        (
            {},
            "tool 'probe': its function does not fit its parameters: missing a required argument: 'text'; make the "
            "function's signature and the tool's parameters agree",
        ),
        (
            {"text": 1, "other": 2},
            "tool 'probe': its function does not fit its parameters: got an unexpected keyword argument 'other'; make "
            "the function's signature and the tool's parameters agree",
        ),
    ):
        for call in (
            lambda arguments=arguments: function.call_here(arguments, context()),
            lambda arguments=arguments: asyncio.run(function.execute(arguments, context())),
        ):
            with pytest.raises(ToolDefinitionError) as error:
                call()
            assert str(error.value) == message
    assert function.call_here({"text": "x"}, context()) == ToolResult.success("x")
    with pytest.raises(ToolDefinitionError) as error:
        ToolFunction.of(later, "tool 'later'").call_here({}, context())
    assert str(error.value) == (
        "tool 'later': an async function cannot run with isolation='process'; make it a plain function"
    )


def test_wrong_arguments_are_listed():
    def probe(text: str, count: Annotated[int, Field(ge=1)] = 2, lines: list[int] | None = None):
        """Probe it."""
        return "fine"

    made = tool(probe)
    wrong = made.convert({"text": 7, "count": 0, "lines": [1, "x"], "more": 1})
    assert wrong.error_type == "validation_error"
    assert wrong.error_message.split("\n") == [
        "Tool 'probe' was called with wrong arguments:",
        "/text: Input should be a valid string",
        "/count: Input should be greater than or equal to 1",
        "/lines/1: Input should be a valid integer, unable to parse string as an integer",
        "/more: Extra inputs are not permitted",
    ]
    assert made.convert({}).error_message.split("\n")[1:] == ["/text: Field required"]
    assert made.convert({"text": "a", "count": 3}) == {"text": "a", "count": 3}
    many = made.convert({"text": "a", "lines": ["x"] * 51}).error_message.split("\n")
    assert (len(many), many[-1], many[50]) == (52, "/: and more", many[1].replace("/0", "/49"))
    fifty = made.convert({"text": "a", "lines": ["x"] * 50}).error_message.split("\n")
    assert len(fifty) == 51


def test_a_default_is_told_if_json_has_it():
    cycle = []
    cycle.append(cycle)
    for default, before, after in (
        (inspect.Parameter.empty, {"type": "string"}, {"type": "string"}),
        ("a", {}, {"default": "a"}),
        ("a", {"default": "b"}, {"default": "b"}),
        (True, {}, {"default": True}),
        (2**70, {}, {"default": 2**70}),
        (1.5, {}, {"default": 1.5}),
        (float("nan"), {}, {}),
        (Path("/x"), {}, {"default": "/x"}),
        ([1], {}, {"default": [1]}),
        (cycle, {}, {}),
        (object(), {}, {}),
        (None, {"anyOf": [{"type": "string", "title": "T"}, {"type": "null"}]}, {"type": "string", "title": "T"}),
        (None, {"description": "D", "anyOf": [{"description": "X"}, {"type": "null"}]}, {"description": "D"}),
        (
            None,
            {"default": None, "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        (None, {"type": "string"}, {"type": "string"}),
        (5, {"default": None, "anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": "integer"}),
    ):
        found = dict(before)
        _note_default(found, default)
        assert found == after, default


def test_the_context_is_known_by_its_hint():
    class Special(ToolContext):
        """A context of an author's own."""

    for hint, is_one in (
        (ToolContext, True),
        (Special, True),
        (ToolContext | None, True),
        (Annotated[ToolContext, "x"], True),
        (Annotated[ToolContext | None, "x"], True),
        (ToolContext | int, False),
        (int, False),
        (None, False),
        (Annotated[int, ToolContext], False),
        (list[ToolContext], False),
    ):
        assert is_context_hint(hint) is is_one, hint

    def function(a: ToolContext, b: "NoSuch", c, d: int, e: "ToolContext"):  # noqa: F821
        """Stand in for a function with all kinds of hints."""

    assert parameters.context_parameters(function) == ("a", "e")
    assert parameters.context_parameters(len) == ()


class Odd:
    def __repr__(self):
        return "odd"


def test_what_a_function_returns_is_json():
    failed = ToolResult.error("x", "y")
    for value, expected in (
        (None, ToolResult.success("")),
        ("text", ToolResult.success("text")),
        ([1, None, True, 1.5, {"a": "b"}], ToolResult.success([1, None, True, 1.5, {"a": "b"}])),
        (float("nan"), ToolResult.success(None)),
        ({1: {2}, "p": Path("/x")}, ToolResult.success({"1": [2], "p": "/x"})),
        (failed, failed),
        (ToolResult.success((1, 2)), ToolResult.success([1, 2])),
    ):
        assert as_tool_result(value) == expected
    wrong = as_tool_result(Odd())
    assert wrong.error_type == "execution_error"
    assert wrong.error_message.startswith("The tool returned an object of type Odd, which cannot be written as JSON: ")


def test_hand_written_tools_are_called_as_they_are():
    class Plain:
        def execute(self, arguments):
            return None

    class WithContext:
        def execute(self, arguments, given):
            return ToolResult.success(given.tool_name)

    class Wrapping:
        def execute(self, *everything):
            async def work():
                return len(everything)

            return work()

    class Async:
        async def execute(self, arguments, given):
            return arguments

    async def work():
        return [
            (await invoke(each, {"a": 1}, context())).result for each in (Plain(), WithContext(), Wrapping(), Async())
        ]

    assert asyncio.run(work()) == ["", "probe", 2, {"a": 1}]


def test_docstrings_are_read():
    for text, description, names in (
        ("One line.", "One line.", {}),
        ("", "", {}),
        ("One.\n\nTwo\nthree.", "One.\n\nTwo\nthree.", {}),
        ("One.\nTwo.", "One.\nTwo.", {}),
        (
            "One.\n\n    Args:\n        a: First.\n        b (int): Second\n            line.\n",
            "One.",
            {"a": "First.", "b": "Second line."},
        ),
        (
            "One.\n\nArgs:\n    a: First.\n\nReturns:\n    Something.\n\nRaises:\n    ValueError: never.",
            "One.",
            {"a": "First."},
        ),
        ("One.\n\nReturns:\n    Something.", "One.", {}),
    ):
        assert parse_docstring(text) == (description, names), text
    assert parse_docstring("One.\n\n:param a: First\n    line.") == ("One.", {"a": "First line."})
    assert parse_docstring("One.\n\nParameters\n----------\na, b : int\n    Both.") == (
        "One.",
        {"a": "Both.", "b": "Both."},
    )


def test_a_target_that_cannot_be_found_is_named(tmp_path, monkeypatch):
    (tmp_path / "acme_broken.py").write_text("raise SystemExit(3)")
    (tmp_path / "acme_fine.py").write_text("value = 7\ndef run(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    for module, attribute, message in (
        (
            "acme_none",
            "run",
            "cannot import module 'acme_none' for its function 'run': ModuleNotFoundError: No module named 'acme_none'",
        ),
        ("acme_broken", "run", "cannot import module 'acme_broken' for its function 'run': SystemExit: 3"),
        ("acme_fine", "none", "module 'acme_fine' has no function 'none'"),
        ("acme_fine", "value", "'value' in module 'acme_fine' is not a function: it is of type int"),
    ):
        with pytest.raises(PluginError) as error:
            FunctionTarget(module, attribute, "tool 'x'").load()
        assert str(error.value) == f"tool 'x': {message}"
    assert callable(FunctionTarget("acme_fine", "run", "").load())
