"""JSON manifests (FEAT-040, RFC-040 step 6)."""

import asyncio
import copy
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
from importlib.resources import files
from pathlib import Path

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

import oneclaw_core.manifests
from oneclaw_core import ToolContext, ToolGroupDefinition, ToolRegistry, ToolResult
from oneclaw_core.errors import PluginError
from oneclaw_core.files import PathGuard
from oneclaw_core.manifests import manifest as manifest_module
from oneclaw_core.manifests.manifest import (
    Manifest,
    ManifestProblem,
    load_manifest,
    parse_group_manifest,
    parse_tool_manifest,
)
from oneclaw_core.tools import ToolDefinitionError

pytestmark = pytest.mark.lowest_versions

SEARCH = {
    "name": "gmail_search",
    "description": "Search Gmail messages",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for."}},
        "required": ["query"],
    },
    "function": "oneclaw_mail.search:search",
    "required_permissions": ["network.public"],
    "timeout_seconds": 15,
}
META = {"_meta": True, "display_name": "Google Gmail", "description": "Email tools"}


def entry(name="probe", **changes):
    made = {"name": name, "description": f"Does {name}.", "function": "run", **changes}
    return {key: value for key, value in made.items() if value is not ...}


def parse_group(*entries, base_name="group", **options):
    problems = []
    tools, group = parse_group_manifest(list(entries), base_name, f"{base_name}.json", problems=problems, **options)
    return tools, group, problems


def write(tmp_path, document, name="group.json"):
    path = tmp_path / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture
def context(tmp_path):
    return ToolContext(tmp_path, "session", "agent", "the_tool", "call-1", PathGuard(tmp_path, tmp_path))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that tests can name; it is gone afterwards."""
    written = []

    def write_module(name, source):
        directory = tmp_path / "modules"
        directory.mkdir(exist_ok=True)
        (directory / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        monkeypatch.syspath_prepend(directory)
        written.append(name)

    yield write_module
    for name in written:
        sys.modules.pop(name, None)


# The specification's tests


def test_040_10_group_manifest_with_meta(tmp_path):
    manifest = load_manifest(write(tmp_path, [META, SEARCH], "google_gmail.json"))
    assert manifest.group == ToolGroupDefinition("google_gmail", "Google Gmail", "Email tools")
    assert [tool.name for tool in manifest.tools] == ["gmail_search"]
    assert manifest.problems == ()


def test_040_11_group_manifest_without_meta(tmp_path):
    manifest = load_manifest(write(tmp_path, [SEARCH, entry("gmail_send")], "google_gmail.json"))
    assert manifest.group == ToolGroupDefinition(
        "google_gmail", "Google Gmail", "Tools from google_gmail group: gmail_search, gmail_send"
    )
    assert [tool.name for tool in manifest.tools] == ["gmail_search", "gmail_send"]
    assert manifest.problems == ()


def test_rfc_040_parse_group_manifest_extracts_meta_entry():
    tools, group = parse_group_manifest([META, entry("gmail_search")], "google_gmail", "google_gmail.json")
    assert len(tools) == 1
    assert group.display_name == "Google Gmail"
    assert group.description == "Email tools"


def test_rfc_040_parse_group_manifest_generates_metadata_without_meta():
    tools, group = parse_group_manifest([entry("tool1"), entry("tool2")], "my_tools", "my_tools.json")
    assert len(tools) == 2
    assert group.display_name == "My Tools"


def test_rfc_040_meta_entry_is_not_registered_as_a_tool():
    meta = {"_meta": True, "display_name": "Test Group", "description": "Test"}
    tools, _ = parse_group_manifest([meta, entry("test_tool")], "test", "test.json")
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    assert registry.get_all_tool_names() == ["test_tool"]


def test_edge_case_manifest_with_meta_only():
    tools, group, problems = parse_group(META, base_name="google_gmail")
    assert tools == []
    assert group == ToolGroupDefinition("google_gmail", "Google Gmail", "Email tools")
    assert problems == []


def test_edge_case_special_characters_in_a_description(tmp_path):
    text = 'Say "hi" \\ it\'s\nnew line\ttab 🦀 مرحبا ‮ <b>&amp;</b> {braces} %s'
    manifest = load_manifest(write(tmp_path, [{**META, "description": text}, entry(description=text)]))
    assert manifest.group.description == text
    assert manifest.tools[0].description == text
    assert manifest.problems == ()


# Groups


def test_an_entry_becomes_a_definition():
    tools, _, problems = parse_group(SEARCH)
    definition = tools[0].definition
    assert problems == []
    assert definition.name == tools[0].name == "gmail_search"
    assert definition.description == tools[0].description == "Search Gmail messages"
    assert definition.parameters == SEARCH["parameters"]
    assert definition.required_permissions == ("network.public",)
    assert definition.timeout_seconds == 15
    assert (tools[0].target.module, tools[0].target.attribute) == ("oneclaw_mail.search", "search")
    assert tools[0].definition.behaviour.isolation is None


def test_an_entry_declares_that_its_calls_can_be_repeated():
    tools, _, problems = parse_group({**SEARCH, "read_only": True, "idempotent": True})

    assert problems == []
    assert (tools[0].definition.read_only, tools[0].definition.idempotent) == (True, True)


def test_what_is_left_out_has_a_default():
    definition = parse_group(entry())[0][0].definition
    assert definition.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert (definition.required_permissions, definition.timeout_seconds) == ((), 30)


def test_the_short_form_of_parameters():
    short = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools, _, problems = parse_group(entry(parameters=short))
    assert problems == []
    assert tools[0].definition.parameters == {"type": "object", **short}


@pytest.mark.parametrize("key", ["permissions", "requiredPermissions"])
def test_another_word_for_required_permissions_is_an_unknown_key(key):
    _, _, problems = parse_group(entry(**{key: ["files.read"]}))
    assert [problem.pointer for problem in problems] == [f"/0/{key}"]
    assert "did you mean 'required_permissions'?" in problems[0].message


def test_where_a_function_is_found():
    functions = {"one": "run", "two": "package.module:run"}
    entries = [entry(name, function=function) for name, function in functions.items()]
    targets = [tool.target for tool in parse_group(*entries, base_name="mail")[0]]
    assert [(target.module, target.attribute) for target in targets] == [("mail", "run"), ("package.module", "run")]
    targets = [tool.target for tool in parse_group(*entries, default_module="package.other")[0]]
    assert [target.module for target in targets] == ["package.other", "package.module"]


def test_a_bare_function_needs_a_base_name_that_can_be_a_module():
    tools, group, problems = parse_group(entry("one"), entry("two", function="m:run"), base_name="my-tools")
    assert [tool.name for tool in tools] == ["two"]
    assert group.name == "my-tools"
    assert problems[0].pointer == "/0/function"
    assert "'my-tools' cannot be one" in problems[0].message


@pytest.mark.parametrize(
    "function",
    [
        "",
        "a b",
        "run()",
        "a:b:c",
        ":run",
        "module:",
        "module:a.b",
        ".module:run",
        "os;x:run",
        "run\n",
        "1x",
        5,
        None,
        [],
    ],
)
def test_a_function_that_is_no_name_is_refused(function):
    tools, _, problems = parse_group(entry(function=function))
    assert tools == []
    assert [problem.pointer for problem in problems] == ["/0/function"]


@pytest.mark.parametrize(
    ("changes", "pointer", "message"),
    [
        ({"name": ...}, "/0", "'name' is missing"),
        ({"description": ...}, "/0", "'description' is missing"),
        ({"function": ...}, "/0", "'function' is missing"),
        ({"name": "my tool"}, "/0/name", "'my tool' is not acceptable"),
        ({"name": 5}, "/0/name", "5 is not acceptable"),
        ({"description": " \n"}, "/0/description", "needs a description"),
        ({"description": None}, "/0/description", "needs a description"),
        ({"parameters": []}, "/0/parameters", "must be a JSON Schema object, not an array"),
        ({"parameters": None}, "/0/parameters", "must be a JSON Schema object, not null"),
        ({"parameters": {"type": "array"}}, "/0/parameters/type", "must be 'object', not 'array'"),
        (
            {"parameters": {"properties": {"a/b": {"type": "text"}}}},
            "/0/parameters/properties/a~1b/type",
            "no valid JSON Schema",
        ),
        ({"required_permissions": "files.read"}, "/0/required_permissions", "must be a list of permission names"),
        ({"required_permissions": ["", 1]}, "/0/required_permissions", "must be a list of permission names"),
        ({"timeout_seconds": 0}, "/0/timeout_seconds", "above 0 and at most 86400"),
        ({"timeout_seconds": "10"}, "/0/timeout_seconds", "above 0 and at most 86400"),
        ({"timeout_seconds": True}, "/0/timeout_seconds", "above 0 and at most 86400"),
        ({"read_only": "yes"}, "/0/read_only", "must be true or false"),
        ({"idempotent": None}, "/0/idempotent", "must be true or false, not null"),
        ({"isolation": "thread"}, "/0/isolation", 'must be "process"'),
        ({"isolation": None}, "/0/isolation", 'must be "process", not null'),
    ],
)
def test_a_bad_entry_is_reported_and_the_good_ones_are_kept(changes, pointer, message):
    tools, _, problems = parse_group(entry(**{"name": "bad", **changes}), entry("good"))
    assert [tool.name for tool in tools] == ["good"]
    assert [problem.pointer for problem in problems] == [pointer]
    assert message in problems[0].message


@pytest.mark.parametrize("other", [None, 5, "text", [], [entry()], True])
def test_an_entry_that_is_no_object_is_reported(other):
    tools, _, problems = parse_group(entry("good"), other)
    assert [tool.name for tool in tools] == ["good"]
    assert [(problem.pointer, problem.entry) for problem in problems] == [("/1", "1")]


def test_several_faults_of_one_entry_are_reported_together():
    _, _, problems = parse_group(entry(function="a b", isolation=1, required_permissions=2, extra=3))
    assert sorted(problem.pointer for problem in problems) == [
        "/0/extra",
        "/0/function",
        "/0/isolation",
        "/0/required_permissions",
    ]


def test_an_unknown_key_is_reported_and_the_tool_kept():
    tools, _, problems = parse_group(entry(time_out_seconds=5))
    assert [tool.name for tool in tools] == ["probe"]
    assert [problem.pointer for problem in problems] == ["/0/time_out_seconds"]
    assert "did you mean 'timeout_seconds'?" in problems[0].message


def test_of_two_tools_with_one_name_the_first_stays():
    tools, _, problems = parse_group(entry(description="First."), entry(description="Second."))
    assert [tool.description for tool in tools] == ["First."]
    assert [(problem.entry, problem.pointer) for problem in problems] == [("1 'probe'", "/1/name")]


def test_more_than_fifty_tools_are_fine():
    tools, _, problems = parse_group(*(entry(f"tool_{number}") for number in range(60)))
    assert (len(tools), problems) == (60, [])


def test_an_empty_array_is_reported():
    tools, group, problems = parse_group()
    assert (tools, group.name) == ([], "group")
    assert "declares no tools" in str(problems[0])
    assert problems[0].is_error is False


def test_without_a_list_problems_are_logged(caplog):
    with caplog.at_level(logging.WARNING, "oneclaw.manifest"):
        parse_group_manifest([entry(name="bad name")], "group", "group.json")
    assert "group.json: entry 0 'bad name': /0/name: " in caplog.text


def test_a_problem_is_one_line():
    problem = ManifestProblem("mail.json", "2 'send'", "/2/name", "wrong\nin every way")
    assert str(problem) == "mail.json: entry 2 'send': /2/name: wrong in every way"
    assert str(ManifestProblem("mail.json", None, "", "is not UTF-8")) == "mail.json: is not UTF-8"
    problems = parse_group(entry("a\nb\x1b[31m"))[2]
    assert str(problems[0]).isprintable()


# Metadata


@pytest.mark.parametrize(
    ("meta", "display_name", "description", "pointers"),
    [
        ({}, "Group", "Tools from group group: probe", []),
        ({"display_name": "Mine"}, "Mine", "Tools from group group: probe", []),
        ({"description": "Does it."}, "Group", "Does it.", []),
        ({"display_name": 5, "description": "Does it."}, "Group", "Does it.", ["/0/display_name"]),
        (
            {"display_name": " ", "description": None},
            "Group",
            "Tools from group group: probe",
            ["/0/display_name", "/0/description"],
        ),
        ({"display_name": "Mine", "displayName": "x"}, "Mine", "Tools from group group: probe", ["/0/displayName"]),
    ],
)
def test_metadata_that_is_missing_or_wrong_is_generated(meta, display_name, description, pointers):
    tools, group, problems = parse_group({"_meta": True, **meta}, entry())
    assert [tool.name for tool in tools] == ["probe"]
    assert group == ToolGroupDefinition("group", display_name, description)
    assert [problem.pointer for problem in problems] == pointers


def test_meta_counts_as_the_first_entry_only():
    tools, group, problems = parse_group(entry("one"), {**META, **entry("two")}, entry("three"))
    assert [tool.name for tool in tools] == ["one", "three"]
    assert group.display_name == "Group"
    assert [problem.pointer for problem in problems] == ["/1/_meta"]


@pytest.mark.parametrize("value", [False, 1, "true", None, [True]])
def test_meta_counts_only_if_it_is_exactly_true(value):
    tools, group, problems = parse_group({**entry("one"), "_meta": value, "display_name": "X"})
    assert [tool.name for tool in tools] == ["one"]
    assert group.display_name == "Group"
    assert {problem.pointer for problem in problems} == {"/0/_meta", "/0/display_name"}


def test_a_base_name_that_cannot_name_a_group(tmp_path):
    with pytest.raises(ToolDefinitionError, match="tool group name 'my tools' is not acceptable"):
        parse_group_manifest([entry(function="m:run")], "my tools", "my tools.json")
    manifest = load_manifest(write(tmp_path, [entry(function="m:run")], "my tools.json"))
    assert manifest.tools == ()
    assert "tool group name 'my tools' is not acceptable" in str(manifest.problems[-1])


# The single form


def test_an_object_is_one_tool(tmp_path):
    manifest = load_manifest(write(tmp_path, {"$schema": "x", **SEARCH}, "gmail_search.json"))
    assert [tool.name for tool in manifest.tools] == ["gmail_search"]
    assert (manifest.group, manifest.problems) == (None, ())


def test_the_function_of_the_single_form_is_called_execute_by_default():
    tool = parse_tool_manifest(entry("mail", function=...), "mail", "mail.json")
    assert (tool.target.module, tool.target.attribute) == ("mail", "execute")


def test_the_name_of_the_single_form_is_the_file_name():
    problems = []
    assert parse_tool_manifest(entry("mail"), "post", "post.json", problems=problems) is None
    assert [str(problem) for problem in problems] == [
        "post.json: entry 'mail': /name: the tool must be named like its file, 'post', not 'mail'"
    ]


def test_metadata_is_no_tool(tmp_path):
    manifest = load_manifest(write(tmp_path, META))
    assert (manifest.tools, manifest.group) == ((), None)
    assert [problem.pointer for problem in manifest.problems] == ["/_meta"]


# Files


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe{}", "is not UTF-8: invalid start byte at byte 1"),
        (b"", "is not valid JSON: Expecting value, line 1, column 1"),
        (b'[\n  {"name": }\n]', "is not valid JSON: Expecting value, line 2, column 12"),
        (b'[{"name": "a",}]', "is not valid JSON: "),
        (b"[NaN]", "is not valid JSON: NaN is not a JSON number"),
        (b"[-Infinity]", "is not valid JSON: -Infinity is not a JSON number"),
        (b"[1e999]", "is not valid JSON: the number 1e999 is too large"),
        (b"[" + b"9" * 5000 + b"]", "is not valid JSON: "),
        (b"[" * 100_000, "is nested too deeply"),
        (b'["\\ud83e"]', "is not valid JSON: \\ud83e is half a character"),
        (b'"text"', "a manifest must be an object (one tool) or an array (a tool group)"),
        (b"null", "a manifest must be an object (one tool) or an array (a tool group)"),
        (b" " * (4 * 1024 * 1024) + b"[]", "is larger than 4 MB"),
    ],
)
def test_a_fault_of_the_whole_file_is_one_problem(tmp_path, content, message):
    path = tmp_path / "group.json"
    path.write_bytes(content)
    manifest = load_manifest(path)
    assert (manifest.tools, manifest.group) == ((), None)
    assert len(manifest.problems) == 1
    assert str(manifest.problems[0]).startswith(f"group.json: {message}")


def test_what_is_no_file_is_one_problem(tmp_path):
    assert [str(each) for each in load_manifest(tmp_path / "none.json").problems] == [
        "none.json: there is no such file"
    ]
    assert [str(each) for each in load_manifest(tmp_path).problems] == [f"{tmp_path.name}: there is no such file"]


def test_a_schema_that_is_nested_too_deeply_costs_only_its_tool(tmp_path):
    parameters = '{"type": "object", "properties": {"a": ' * 300 + "{}" + "}}" * 300
    deep = json.dumps(entry("deep", parameters=0)).replace(": 0", ": " + parameters)
    path = tmp_path / "group.json"
    path.write_text(f"[{deep}, {json.dumps(entry())}]")
    manifest = load_manifest(path)
    assert [tool.name for tool in manifest.tools] == ["probe"]
    assert [(each.pointer, "nested too deeply" in each.message) for each in manifest.problems] == [
        ("/0/parameters", True)
    ]


def test_a_repeated_key_is_reported_and_the_last_one_counts(tmp_path):
    path = tmp_path / "group.json"
    path.write_text('[{"name": "a", "description": "d", "function": "f", "name": "b"}]')
    manifest = load_manifest(path)
    assert [tool.name for tool in manifest.tools] == ["b"]
    assert [str(each) for each in manifest.problems] == [
        "group.json: the key 'name' stands twice in an object; the last one counts"
    ]


def test_a_byte_order_mark_and_escaped_emoji_are_fine(tmp_path):
    path = tmp_path / "group.JSON"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([entry(description="crab 🦀")]).encode())
    manifest = load_manifest(path)
    assert (manifest.problems, manifest.group.name) == ((), "group")
    assert manifest.tools[0].description == "crab 🦀"


def test_a_manifest_can_be_package_data():
    manifest = load_manifest(files("oneclaw_core.builtin") / "manifests" / "read_file.json")
    assert isinstance(manifest, Manifest)
    assert [tool.name for tool in manifest.tools] == ["read_file"]


@pytest.mark.long
def test_reading_manifests_imports_nothing_heavy(tmp_path):
    path = write(tmp_path, [META, SEARCH])
    program = (
        "import sys; from pathlib import Path; from oneclaw_core.manifests.manifest import load_manifest\n"
        "assert load_manifest(Path(sys.argv[1])).tools\n"
        "assert not {'pydantic', 'jsonschema', 'httpx', 'sqlalchemy', 'anyio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


# Running


def run(tool, arguments, context):
    return asyncio.run(tool.execute(arguments, context))


def tool_of(function, **changes):
    return parse_group(entry(function=function, **changes), base_name="sample_manifest")[0][0]


def test_a_module_is_imported_when_a_tool_first_runs(module, context):
    module(
        "lazy_module",
        """
        import threading
        imported_in = threading.current_thread()

        def run(name, times=1):
            return name * times

        async def run_async(name):
            return threading.current_thread().name
        """,
    )
    tool = tool_of("lazy_module:run")
    assert "lazy_module" not in sys.modules
    assert run(tool, {"name": "ab", "times": 2}, context) == ToolResult.success("abab")
    assert sys.modules["lazy_module"].imported_in is not threading.main_thread()
    assert run(tool, {"name": "ab"}, context) == ToolResult.success("ab")
    result = run(tool_of("lazy_module:run_async"), {"name": "ab"}, context)
    assert result == ToolResult.success(threading.main_thread().name)


def test_a_bare_function_name_pairs_with_the_module_of_the_same_name(module, context):
    module("sample_manifest", "def run():\n    return 'paired'")
    assert run(tool_of("run"), {}, context).result == "paired"


def test_arguments_arrive_as_they_are_and_the_context_is_injected(module, context):
    module(
        "plain_module",
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import numpy
            from oneclaw_core import ToolContext

        def run(day: numpy.datetime64, *, context: ToolContext | None = None, **more: numpy.ndarray) -> numpy.ndarray:
            return {"day": day, "session": context.session_id, "more": more}
        """,
    )
    result = run(tool_of("plain_module:run"), {"day": "2026-11-21", "other": [1]}, context)
    assert result.result == {"day": "2026-11-21", "session": "session", "more": {"other": [1]}}


@pytest.mark.long
@pytest.mark.one_python
def test_a_decorated_function_gets_python_values(module, context):
    module(
        "decorated_module",
        """
        import datetime
        from oneclaw_core import ToolContext, tool

        @tool(name="another_name")
        def run(day: datetime.date, context: ToolContext) -> list:
            "Not used."
            return [type(day).__name__, context.tool_name]
        """,
    )
    tool = tool_of("decorated_module:run")
    assert tool.description == "Does probe."
    assert run(tool, {"day": "2026-11-21"}, context).result == ["date", "the_tool"]
    assert run(tool, {"day": "soon"}, context).error_type == "validation_error"
    isolated = tool_of("decorated_module:run", isolation="process")
    assert run(isolated, {"day": "2026-11-21"}, context).result == ["date", "the_tool"]
    assert run(isolated, {"day": "soon"}, context).error_type == "validation_error"


@pytest.mark.one_python
def test_an_isolated_tool_is_imported_in_the_worker_only(module, context):
    module(
        "worker_module",
        """
        import os, sys
        print("noise")
        def run(number, context: "ToolContext"):
            return [number, os.getpid(), context.session_id]
        """,
    )
    result = run(tool_of("worker_module:run", isolation="process"), {"number": 3}, context)
    number, pid, session = result.result
    assert (number, session) == (3, "session")
    assert pid != os.getpid()
    assert "worker_module" not in sys.modules


@pytest.mark.one_python
@pytest.mark.parametrize("isolation", [..., pytest.param("process", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("no_such_module:run", "cannot import module 'no_such_module' for its function 'run': ModuleNotFoundError: "),
        ("broken_module:run", "cannot import module 'broken_module' for its function 'run': ZeroDivisionError: "),
        ("leaving_module:run", "cannot import module 'leaving_module' for its function 'run': SystemExit: bye"),
        ("good_module:no_such", "module 'good_module' has no function 'no_such'"),
        ("good_module:NUMBER", "'NUMBER' in module 'good_module' is not a function: it is of type int"),
    ],
)
def test_a_function_that_cannot_be_found_is_named_with_its_manifest(module, context, function, message, isolation):
    module("broken_module", "1 / 0")
    module("leaving_module", "raise SystemExit('bye')")
    module("good_module", "NUMBER = 5")
    with pytest.raises(Exception, match=r"^tool 'probe' of manifest sample_manifest\.json: ") as caught:
        run(tool_of(function, isolation=isolation), {}, context)
    assert type(caught.value).__name__ == PluginError.__name__
    assert message in str(caught.value)


def test_a_module_that_was_mended_is_found_at_the_next_call(module, context):
    module("mended_module", "1 / 0")
    tool = tool_of("mended_module:run")
    with pytest.raises(PluginError):
        run(tool, {}, context)
    module("mended_module", "def run():\n    return 'fixed at last'")
    assert run(tool, {}, context).result == "fixed at last"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "missing a required argument: 'a'"),
        ({"a": 1, "c": 2}, "got an unexpected keyword argument 'c'"),
        ({"a": 1, "context": 2}, "the parameter 'context' takes the ToolContext"),
    ],
)
def test_arguments_that_the_function_does_not_take_are_a_clear_error(module, context, arguments, message):
    module("strict_module", "def run(a, b=1, *, context: 'ToolContext'):\n    return a")
    with pytest.raises(ToolDefinitionError, match=r"^tool 'probe' of manifest sample_manifest\.json: ") as caught:
        run(tool_of("strict_module:run"), arguments, context)
    assert message in str(caught.value)


# The published schema

SCHEMA = json.loads((Path(oneclaw_core.manifests.__file__).parent / "manifest.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=FormatChecker(["regex"]))


def test_the_published_schema_is_one_and_is_package_data():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "https://oneclaw.dev/manifest.schema.json"
    assert files(manifest_module.__package__).joinpath("manifest.schema.json").is_file()


KEYS = st.sampled_from(
    [
        "name",
        "description",
        "parameters",
        "function",
        "required_permissions",
        "timeout_seconds",
        "isolation",
        "_meta",
        "display_name",
        "$schema",
        "title",
    ]
)
SCHEMA_KEYS = [
    *("type", "properties", "items", "required", "enum", "minimum", "minLength", "pattern", "anyOf", "$ref"),
    *("description", "patternProperties"),
]
SCHEMA_VALUES = st.recursive(
    st.sampled_from([True, False, None, 0, 1.0, -1, "string", "object", "(", "#/a", ["a", "b"], ["a", "a"], [], {}]),
    lambda inner: (
        st.dictionaries(st.sampled_from(SCHEMA_KEYS), inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "("]), inner, max_size=2)
        | st.lists(inner, max_size=2)
    ),
    max_leaves=6,
)
VALUES = (
    st.sampled_from(
        [
            *(True, False, None, 0, 1, -1, 0.5, 86400, 86400.5, 10**400, "", " ", "\n", "a", "a\n", "a" * 64, "run"),
            *("m.n:run", "m.n:run\n", "m:", ":run", "1a", "é", "process", "a-b", "a b", "\u2003", "\x1c"),
            *([], [""], ["files.read"], ["files.read", 1], ["a", "a"], {}, {"type": "object"}, {"type": None}),
        ]
    )
    | SCHEMA_VALUES
    | st.text(max_size=4)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
MUTATIONS = st.lists(st.tuples(KEYS | st.text(max_size=3), VALUES | st.just(...)), max_size=3)


def mutate(good, mutations):
    made = copy.deepcopy(good)
    for key, value in mutations:
        if value is ...:
            made.pop(key, None)
        else:
            made[key] = value
    return made


@pytest.mark.long
@settings(max_examples=examples(80), deadline=None)
@given(MUTATIONS)
def test_the_published_schema_and_the_parser_agree_on_entries_of_a_group(mutations):
    document = [entry("first"), mutate(SEARCH, mutations)]
    problems = parse_group(*document)[2]
    # That two tools have one name is nothing a schema can say.
    problems = [each for each in problems if "stands in this file already" not in each.message]
    assert VALIDATOR.is_valid(document) == (not problems), problems


@settings(max_examples=examples(50), deadline=None)
@given(MUTATIONS)
def test_the_published_schema_and_the_parser_agree_on_the_first_entry(mutations):
    document = [mutate(META, mutations), SEARCH]
    assert VALIDATOR.is_valid(document) == (not parse_group(*document)[2])


@settings(max_examples=examples(50), deadline=None)
@given(MUTATIONS)
def test_the_published_schema_and_the_parser_agree_on_the_single_form(mutations):
    document = mutate(SEARCH, mutations)
    name = document.get("name")
    problems = []
    parse_tool_manifest(document, name if isinstance(name, str) else "x", "x.json", problems=problems)
    # A file named like no module can be paired with none; the schema does not know the file.
    problems = [each for each in problems if "would be looked up in a module" not in each.message]
    assert VALIDATOR.is_valid(document) == (not problems), problems


def test_the_published_schema_and_the_parser_agree_on_whole_documents():
    for document in ([], [META], [SEARCH, META], [META, META], META, None, "x", 5):
        problems = []
        if isinstance(document, list):
            parse_group_manifest(document, "x", "x.json", problems=problems)
        else:
            parse_tool_manifest(document, "x", "x.json", problems=problems)
        assert VALIDATOR.is_valid(document) == (not problems), document


# Parameters of all tools


SHARED = {"account": {"type": "string", "description": "Whose data."}}


def shared_by(*entries, parameters=SHARED):
    problems = []
    tools, _ = parse_group_manifest(
        [{"_meta": True, "parameters": parameters}, *entries], "units", "units.json", problems=problems
    )
    return [tool.definition.parameters for tool in tools], [str(problem) for problem in problems]


def test_every_tool_of_a_group_takes_the_parameters_of_its_metadata():
    found, problems = shared_by(
        {"name": "a", "description": "A.", "function": "a:b"},
        {
            "name": "b",
            "description": "B.",
            "function": "a:b",
            "parameters": {"properties": {"x": {"type": "integer"}}, "required": ["x"]},
        },
    )
    assert problems == []
    assert [list(each["properties"]) for each in found] == [["account"], ["x", "account"]]
    assert found[1]["required"] == ["x"]
    assert found[0]["additionalProperties"] is False


def test_a_tools_own_parameter_goes_before_that_of_the_group():
    own = {"type": "integer", "description": "A number."}
    (found,), problems = shared_by(
        {"name": "a", "description": "A.", "function": "a:b", "parameters": {"properties": {"account": own}}}
    )
    assert problems == []
    assert found["properties"] == {"account": own}


@pytest.mark.parametrize("parameters", [["account"], {"account": "string"}, 3])
def test_parameters_of_a_group_that_are_none_are_reported(parameters):
    found, problems = shared_by({"name": "a", "description": "A.", "function": "a:b"}, parameters=parameters)
    assert found[0].get("properties", {}) == {}
    assert "must be an object of JSON Schemas" in problems[0]
