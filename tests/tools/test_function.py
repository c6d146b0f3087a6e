from __future__ import annotations

import asyncio
import datetime
import enum
import gc
import logging
import subprocess
import sys
import threading
import typing
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.tool_functions.function import FunctionTool, tool
from oneclaw_core.tool_functions.parameters import context_parameters
from oneclaw_core.tools.context import ToolContext
from oneclaw_core.tools.registry import ToolRegistry
from oneclaw_core.types.tools import ToolResult

pytestmark = [pytest.mark.every_python, pytest.mark.lowest_versions]

if typing.TYPE_CHECKING:
    import decimal

    import oneclaw_core


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """Where somebody lives."""

    title: str = Field(description="Line on the envelope.")
    since: datetime.date


class Person(BaseModel):
    address: Address
    children: list[Person] = []


@dataclass
class Size:
    width: int
    height: int = 1


class Options(typing_extensions.TypedDict, total=False):
    depth: int


@pytest.fixture
def context(tmp_path):
    return ToolContext(tmp_path, "session", "agent", "the_tool", "call-1", PathGuard(tmp_path, tmp_path))


def parameters_of(function):
    return tool(function).definition.parameters


def execute(function, arguments, context):
    made = function if isinstance(function, FunctionTool) else tool(function)
    return asyncio.run(made.execute(arguments, context))


# Decorating


def test_bare_decorator_makes_a_tool_that_is_still_callable():
    @tool
    def add(first: int, second: int = 2) -> int:
        """Add two numbers."""
        return first + second

    assert isinstance(add, FunctionTool)
    assert add(1) == 3
    assert add(1, second=5) == 6
    assert add.__name__ == "add"
    assert add.__doc__ == "Add two numbers."
    assert (add.name, add.description, add.group) == ("add", "Add two numbers.", None)
    definition = add.definition
    assert definition.parameters == {
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer", "default": 2}},
        "required": ["first"],
        "additionalProperties": False,
    }
    assert (definition.required_permissions, definition.timeout_seconds) == ((), 30)
    assert add.definition is definition


def test_options_go_into_the_definition():
    @tool(name="sum_up", description=" Adds. ", group="maths", required_permissions=["files.read"], timeout_seconds=5)
    def add(first: int) -> int:
        """Something else."""
        return first

    assert (add.name, add.description, add.group) == ("sum_up", "Adds.", "maths")
    definition = add.definition
    assert (definition.name, definition.description) == ("sum_up", "Adds.")
    assert (definition.required_permissions, definition.timeout_seconds) == (("files.read",), 5)


def test_a_function_declares_that_its_calls_can_be_repeated():
    @tool(read_only=True)
    def look(place: str) -> str:
        """Look."""
        return place

    @tool(idempotent=True)
    def put(place: str) -> str:
        """Put."""
        return place

    assert (look.definition.read_only, look.definition.idempotent) == (True, False)
    assert (put.definition.read_only, put.definition.idempotent) == (False, True)


def test_an_async_function_stays_awaitable():
    @tool
    async def answer() -> int:
        """Answer."""
        return 42

    assert asyncio.run(answer()) == 42


def test_a_tool_registers():
    @tool
    def probe() -> str:
        """Probe."""
        return ""

    registry = ToolRegistry()
    registry.register(probe)
    assert registry.get_tool("probe") is probe


@pytest.mark.parametrize("thing", [print, 5, "text", int, lambda: None])
def test_what_is_no_named_python_function_is_refused(thing):
    with pytest.raises(ToolDefinitionError):
        tool(thing)


@pytest.mark.parametrize("permissions", ["files.read", None, 5, [""], [3]])
def test_wrong_permissions_are_refused(permissions):
    def probe() -> str:
        """Probe."""
        return ""

    with pytest.raises(ToolDefinitionError, match="permission"):
        tool(required_permissions=permissions)(probe).definition  # noqa: B018  # made when first used


# Schemas


@pytest.mark.long
def test_types_become_their_json_schemas():
    def probe(
        text: str,
        number: float,
        flag: bool,
        names: list[str],
        counts: dict[str, int],
        color: Color,
        mode: Literal["fast", "slow"],
        day: datetime.date,
        size: Size,
        options: Options,
        anything: Any,
        address: Address,
        either: int | str,
        limit: Annotated[int, Field(ge=1, le=10, description="How many.")],
    ) -> None:
        """Probe."""

    parameters = parameters_of(probe)
    for name in ("size", "options"):  # newer versions of pydantic go on with the rule of the whole
        parameters["properties"][name].pop("additionalProperties", None)
    assert parameters["properties"] == {
        "text": {"type": "string"},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "color": {"type": "string", "enum": ["red", "blue"]},
        "mode": {"type": "string", "enum": ["fast", "slow"]},
        "day": {"type": "string", "format": "date"},
        "size": {
            "type": "object",
            "properties": {"width": {"type": "integer"}, "height": {"type": "integer", "default": 1}},
            "required": ["width"],
        },
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        "anything": {},
        "address": {
            "type": "object",
            "description": "Where somebody lives.",
            "properties": {
                "title": {"type": "string", "description": "Line on the envelope."},
                "since": {"type": "string", "format": "date"},
            },
            "required": ["title", "since"],
        },
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many."},
    }
    assert len(parameters["required"]) == 14


def test_a_recursive_model_keeps_its_definition():
    def probe(person: Person, other: Person) -> None:
        """Probe."""

    parameters = parameters_of(probe)
    reference = {"$ref": "#/$defs/Person"}
    assert parameters["properties"] == {"person": reference, "other": reference}
    assert list(parameters["$defs"]) == ["Person"]
    assert parameters["$defs"]["Person"]["properties"]["children"]["items"] == reference
    assert parameters["$defs"]["Person"]["properties"]["address"]["type"] == "object"


def test_an_optional_parameter_is_one_that_can_be_left_out():
    def optional(limit: int | None = None, mixed: int | str | None = None, *, must: int | None) -> None:
        """Probe."""

    parameters = parameters_of(optional)
    assert parameters["properties"] == {
        "limit": {"type": "integer"},
        "mixed": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "must": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }
    assert parameters["required"] == ["must"]


def test_defaults_are_told_if_json_can_hold_them():
    def probe(
        color: Color = Color.RED,
        path: Path = Path("/tmp"),  # the default is what is tested
        sizes: tuple[int, ...] = (1, 2),
        weight: float = float("inf"),
        anything: Any = object(),  # noqa: B008  # the default is what is tested
        size: Size = Size(3),  # noqa: B008  # the default is what is tested
    ) -> None:
        """Probe."""

    properties = parameters_of(probe)["properties"]
    assert {name: each.get("default") for name, each in properties.items()} == {
        "color": "red",
        "path": "/tmp",
        "sizes": [1, 2],
        "weight": None,
        "anything": None,
        "size": {"width": 3, "height": 1},
    }


@pytest.mark.parametrize("name", ["schema", "copy", "json", "model_config", "model_dump", "_private", "title", "type"])
def test_a_parameter_can_have_any_name(name, context):
    namespace = {}
    exec(f"def probe({name}: int):\n    'Probe.'\n    return {name}", namespace)
    assert parameters_of(namespace["probe"])["properties"] == {name: {"type": "integer"}}
    assert execute(namespace["probe"], {name: 3}, context).result == 3


def test_field_as_a_default(context):
    def probe(
        count: int = Field(3, ge=1, description="How many."),  # the default is what is tested
        names: list[str] = Field(default_factory=lambda: ["a"]),  # noqa: B008  # the default is what is tested
        must: str = Field(description="Needed."),  # the default is what is tested
        inner: Annotated[int, Field(default=5)] = ...,
    ) -> list[Any]:
        """Probe."""
        return [count, names, must]

    parameters = parameters_of(probe)
    assert parameters["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "default": 3,
        "description": "How many.",
    }
    assert parameters["required"] == ["must"]
    assert execute(probe, {"must": "x"}, context).result == [3, ["a"], "x"]


def test_an_alias_is_what_the_model_sees(context):
    def probe(sender: Annotated[str, Field(alias="from")]) -> str:
        """Probe.

        Args:
            sender: Who wrote it.
        """
        return sender

    assert parameters_of(probe)["properties"] == {"from": {"type": "string", "description": "Who wrote it."}}
    assert execute(probe, {"from": "me"}, context).result == "me"


def test_a_function_without_parameters():
    def probe() -> None:
        """Probe."""

    assert parameters_of(probe) == {"type": "object", "properties": {}, "additionalProperties": False}


# Docstrings

GOOGLE = """Search the mail.

    Finds messages in all folders,
    newest first.

    Args:
        query (str): What to look for,
            as words.
        limit: From the docstring.

    Returns:
        Messages.

    Raises:
        ValueError: never.
    """
NUMPY = """Search the mail.

    Finds messages in all folders,
    newest first.

    Parameters
    ----------
    query : str
        What to look for,
        as words.
    limit : int, optional
        From the docstring.

    Returns
    -------
    list
        Messages.
    """
SPHINX = """Search the mail.

    Finds messages in all folders,
    newest first.

    :param query: What to look for,
        as words.
    :param limit: From the docstring.
    :returns: Messages.
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_descriptions_come_from_the_docstring(docstring):
    def search(query: str, limit: Annotated[int, Field(description="From the hint.")] = 10) -> list[str]:
        return []

    search.__doc__ = docstring
    made = tool(search)
    assert made.description == "Search the mail.\n\nFinds messages in all folders,\nnewest first."
    assert made.definition.description == made.description
    assert made.definition.parameters["properties"] == {
        "query": {"type": "string", "description": "What to look for, as words."},
        "limit": {"type": "integer", "default": 10, "description": "From the hint."},
    }


def test_a_parameter_description_goes_before_that_of_its_type():
    def probe(address: Address) -> None:
        """Probe.

        Args:
            address: Whom to write to.
        """

    assert parameters_of(probe)["properties"]["address"]["description"] == "Whom to write to."


@pytest.mark.parametrize("docstring", [None, "", "   ", "\n    Args:\n        a: Only this.\n    "])
def test_a_missing_description_is_refused_with_what_to_do(docstring):
    def probe(a: int) -> None:
        pass

    probe.__doc__ = docstring
    with pytest.raises(ToolDefinitionError, match="add a docstring") as caught:
        tool(probe).definition  # noqa: B018  # made when first used
    assert caught.value.pointer == "/description"


# What cannot be a tool


def refusal(function):
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function).definition  # noqa: B018  # made when first used
    return str(caught.value)


def test_parameters_that_no_schema_can_describe_are_refused():
    def stars(*names: str) -> None:
        """Probe."""

    def double_stars(**options: str) -> None:
        """Probe."""

    def positional(a: int, /) -> None:
        """Probe."""

    assert "tool 'stars': parameter 'names': a model cannot be told what '*' takes" in refusal(stars)
    assert "tool 'double_stars': parameter 'options': a model cannot be told what '**' takes" in refusal(double_stars)
    assert "tool 'positional': parameter 'a': it is positional-only" in refusal(positional)


def test_a_missing_type_hint_is_refused():
    def probe(a: int, b) -> None:
        """Probe."""

    with pytest.raises(ToolDefinitionError, match="tool 'probe': parameter 'b': it has no type hint") as caught:
        tool(probe).definition  # noqa: B018  # made when first used
    assert caught.value.pointer == "/parameters/properties/b"


def test_a_method_is_refused_unless_it_is_bound(context):
    class Mailbox:
        def count(self, folder: str) -> int:
            """Count."""
            return len(folder)

    assert "the bound method" in refusal(Mailbox.count)
    assert execute(Mailbox().count, {"folder": "inbox"}, context).result == 5


def test_a_type_that_json_cannot_describe_is_refused_with_the_parameter():
    def probe(a: int, loop: asyncio.AbstractEventLoop) -> None:
        """Probe."""

    def callback(a: int, call: typing.Callable[[], int]) -> None:
        """Probe."""

    assert "tool 'probe': parameter 'loop': its type cannot be described as JSON" in refusal(probe)
    assert "tool 'callback': parameter 'call': its type cannot be described as JSON" in refusal(callback)
    assert "\n" not in refusal(probe)


def test_a_class_of_the_authors_own_is_refused_with_the_types_that_will_do():
    def probe(paths: list[FunctionTool]) -> None:
        """Probe."""

    message = refusal(probe)
    assert "FunctionTool]; use str, int," in message
    assert "arbitrary_types_allowed" not in message


def test_a_hint_that_cannot_be_resolved_is_refused_with_what_to_do():
    def probe(amount: decimal.Decimal) -> None:
        """Probe."""

    message = refusal(probe)
    assert "tool 'probe': parameter 'amount': its type hint 'decimal.Decimal' cannot be resolved" in message
    assert "import what it names at module level" in message


def test_a_return_hint_need_not_be_resolvable(context):
    def probe() -> decimal.Decimal:
        """Probe."""
        return 1

    assert execute(probe, {}, context).result == 1


# The context


def test_the_context_is_injected_and_not_shown(context):
    def plain(a: int, context: ToolContext) -> Any:
        """Probe."""
        return context.tool_name

    def optional(context: ToolContext | None = None, a: int = 1) -> Any:
        """Probe."""
        return context.tool_name

    def old_style(a: int = 1, *, ctx: typing.Optional[ToolContext] = None) -> Any:  # noqa: UP045  # people write it
        """Probe."""
        return ctx.tool_name

    def annotated(ctx: Annotated[ToolContext, "ours"], a: int = 1) -> Any:
        """Probe."""
        return ctx.tool_name

    def dotted(ctx: oneclaw_core.ToolContext, a: int = 1) -> Any:
        """Probe."""
        return ctx.tool_name

    async def asynchronous(ctx: ToolContext, a: int = 1) -> Any:
        """Probe."""
        return ctx.tool_name

    for function in (plain, optional, old_style, annotated, dotted, asynchronous):
        assert list(parameters_of(function)["properties"]) == ["a"], function.__name__
        assert execute(function, {"a": 1}, context).result == "the_tool", function.__name__


def test_the_context_is_found_when_only_type_checkers_import_it(context):
    namespace = {"__name__": "elsewhere"}
    exec("def probe(a: int, ctx: 'ToolContext | None') -> str:\n    'Probe.'\n    return ctx.tool_name", namespace)
    assert context_parameters(namespace["probe"]) == ("ctx",)
    assert execute(namespace["probe"], {"a": 1}, context).result == "the_tool"
    namespace["ToolContext"] = int  # a name of the module's own goes before
    assert context_parameters(namespace["probe"]) == ()


def test_hints_can_use_names_of_the_function_around(context):
    class Local(BaseModel):
        a: int

    @tool
    def probe(local: Local) -> int:
        """Probe."""
        return local.a

    assert execute(probe, {"local": {"a": 3}}, context).result == 3


# Arguments


def test_arguments_arrive_as_python_values(context):
    seen = {}

    def probe(
        color: Color,
        address: Address,
        size: Size,
        day: datetime.date,
        pair: tuple[int, str],
        path: Path,
        more: set[int],
    ) -> None:
        """Probe."""
        seen.update(locals())

    result = execute(
        probe,
        {
            "color": "red",
            "address": {"title": "Home", "since": "2020-02-29"},
            "size": {"width": 3},
            "day": "2026-11-21",
            "pair": [1, "x"],
            "path": "a/b",
            "more": [1, 1, 2],
        },
        context,
    )
    assert result == ToolResult.success("")
    assert seen == {
        "color": Color.RED,
        "address": Address(title="Home", since=datetime.date(2020, 2, 29)),
        "size": Size(3, 1),
        "day": datetime.date(2026, 11, 21),
        "pair": (1, "x"),
        "path": Path("a/b"),
        "more": {1, 2},
        "seen": seen,
    }


def test_all_faults_are_told_at_once_each_with_its_place(context):
    def probe(color: Color, people: list[Person], either: int | Size, count: int = 1) -> None:
        """Probe."""
        raise AssertionError("must not run")

    result = execute(
        probe,
        {
            "people": [{"address": {"title": "x", "since": "2020-01-01"}}, {"address": {"title": 5}, "children": 1}],
            "either": {"width": "wide"},
            "count": "many",
            "a/b": 1,
        },
        context,
    )
    assert result.error_type == "validation_error"
    lines = result.error_message.splitlines()
    assert lines[0] == "Tool 'probe' was called with wrong arguments:"
    assert [line.split(": ")[0] for line in lines[1:]] == [
        "/color",
        "/people/1/address/since",
        "/people/1/address/title",
        "/people/1/children",
        "/either/width",
        "/count",
        "/a~1b",
    ]
    assert "/count: Input should be a valid integer" in result.error_message


def test_of_very_many_faults_the_first_are_told():
    @tool
    def probe(days: list[datetime.date]) -> str:
        """Probes."""
        return ""

    lines = probe.convert({"days": ["soon"] * 1_000}).error_message.split("\n")
    assert len(lines) == 1 + 50 + 1
    assert lines[1].startswith("/days/0: ")
    assert lines[-1] == "/: and more"


def test_a_lone_surrogate_in_the_arguments_is_a_validation_error(context):
    def probe(text: str) -> str:
        """Probe."""
        return text

    assert execute(probe, {"text": "\ud800"}, context).error_type == "validation_error"


# Results


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        (None, ""),
        ("", ""),
        (0, 0),
        (False, False),
        ({"a": [1, None]}, {"a": [1, None]}),
        (Address(title="x", since="2020-01-01"), {"title": "x", "since": "2020-01-01"}),
        ([Size(1)], [{"width": 1, "height": 1}]),
        (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00Z"),
        (Path("a/b"), "a/b"),
        (Color.BLUE, "blue"),
        ({Color.BLUE: (1, 2)}, {"blue": [1, 2]}),
        ({1: "one"}, {"1": "one"}),
        ([float("nan"), float("inf"), 1.5], [None, None, 1.5]),
        (b"text", "text"),
        ("\udc80", "\udc80"),
        (["\udc80"], ["\udc80"]),
    ],
)
def test_what_is_returned_becomes_json_data(context, returned, value):
    @tool
    def probe() -> Any:
        """Probe."""
        return returned

    @tool
    async def asynchronous() -> Any:
        """Probe."""
        return returned

    assert execute(probe, {}, context) == ToolResult.success(value)
    assert execute(asynchronous, {}, context) == ToolResult.success(value)


def test_a_tool_result_passes_through(context):
    def success() -> ToolResult:
        """Probe."""
        return ToolResult.success({"path": Path("a")})

    def error() -> ToolResult:
        """Probe."""
        return ToolResult.error("quota_exceeded", "Wait an hour.")

    assert execute(success, {}, context) == ToolResult.success({"path": "a"})
    assert execute(error, {}, context) == ToolResult.error("quota_exceeded", "Wait an hour.")


def test_what_json_cannot_hold_is_an_error_that_names_the_type(context):
    circle: list[Any] = []
    circle.append(circle)
    for returned, type_name in ((object(), "object"), (b"\xff", "bytes"), (circle, "list"), ({"a": object()}, "dict")):
        values = [returned]

        def probe() -> Any:
            """Probe."""
            return values[0]  # noqa: B023  # called within the loop

        result = execute(probe, {}, context)
        assert result.error_type == "execution_error"
        assert (
            f"The tool returned an object of type {type_name}, which cannot be written as JSON" in result.error_message
        )


def test_exceptions_pass(context):
    def probe() -> None:
        """Probe."""
        raise LookupError("no such thing")

    def stop() -> None:
        """Probe."""
        raise StopIteration

    with pytest.raises(LookupError, match="no such thing"):
        execute(probe, {}, context)
    with pytest.raises(RuntimeError, match="StopIteration"):
        execute(stop, {}, context)


# Threads


def test_a_synchronous_tool_does_not_block_the_event_loop(context):
    release = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        assert release.wait(10)
        return threading.current_thread().name

    async def main():
        task = asyncio.create_task(wait.execute({}, context))
        await asyncio.sleep(0)
        release.set()  # would never be reached if waiting blocked the loop
        return await task

    assert asyncio.run(main()).result == "oneclaw tool"


def test_an_async_tool_runs_in_the_event_loop_and_can_be_cancelled(context):
    states = []

    @tool
    async def wait() -> None:
        """Wait."""
        states.append(asyncio.get_running_loop())
        try:
            await asyncio.Event().wait()
        finally:
            states.append("cleaned up")

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await wait.execute({}, context)
        assert states == [asyncio.get_running_loop(), "cleaned up"]

    asyncio.run(main())


def test_hung_tools_do_not_keep_later_ones_waiting(context):
    release = threading.Event()

    @tool
    def hang() -> None:
        """Hang."""
        release.wait()

    @tool
    def quick() -> str:
        """Be quick."""
        return "done"

    async def main():
        tasks = [asyncio.create_task(hang.execute({}, context)) for _ in range(100)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*tasks, return_exceptions=True)
        )
        async with asyncio.timeout(5):
            return await quick.execute({}, context)

    try:
        assert asyncio.run(main()).result == "done"
    finally:
        release.set()


@pytest.mark.long
def test_a_hung_tool_does_not_keep_the_program_from_ending():
    program = (
        "import asyncio, threading\n"
        "from oneclaw_core import tool\n"
        "@tool\n"
        "def hang() -> None:\n"
        "    'Hang.'\n"
        "    threading.Event().wait()\n"
        "async def main():\n"
        "    try:\n"
        "        async with asyncio.timeout(0.01):\n"
        "            await hang.execute({}, None)\n"
        "    except TimeoutError:\n"
        "        print('timed out')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True)
    assert ended.stdout == "timed out\n"


def test_a_plain_function_that_wraps_an_async_one_is_awaited(context):
    async def inner() -> str:
        return threading.current_thread().name

    def probe() -> Any:
        """Probe."""
        return inner()

    assert execute(probe, {}, context).result == threading.main_thread().name


@pytest.mark.long
def test_threads_keep_nothing_of_a_call_alive(context):
    class Big:
        pass

    kept = []

    @tool
    def probe() -> None:
        """Probe."""
        big = Big()
        kept.append(weakref.ref(big))

    async def main():
        await probe.execute({}, context)
        await probe.execute({}, context)

    asyncio.run(main())
    gc.collect()
    assert kept[0]() is None


def test_context_variables_reach_the_thread(context, caplog):
    def probe(ctx: ToolContext) -> str:
        """Probe."""
        ctx.logger.warning("from the tool")
        return "logged"

    with caplog.at_level(logging.WARNING):
        assert execute(probe, {}, context).result == "logged"
    assert caplog.records[0].name == "oneclaw.tool.the_tool"
