"""The folder of the user's tools: what is picked up, what is left out, and why."""

import json
import os
from dataclasses import dataclass
from importlib.metadata import Distribution
from typing import Any

import pytest
from how_long import some
from own_tools import user_record, user_tools

from oneclaw_core import OneClaw, ToolContext, hookimpl, tool

IMPORT = "from oneclaw_core import tool\n"
TWICE = '''
from oneclaw_core import tool

@tool
def twice(number: int) -> int:
    """Double a number."""
    return 2 * number
'''


@tool
def taken(context: ToolContext) -> str:
    """Be here first."""
    return "the plugin's"


class Plugin:
    @hookimpl
    def register_tools(self, register):
        register(taken, group="theirs")


@dataclass(frozen=True)
class Point:
    """An entry point of a plugin that is not installed."""

    name: str = "acme"
    value: str = "acme:plugin"
    dist: Distribution | None = None

    def load(self) -> Any:
        return Plugin()


async def called(claw, name, **arguments):
    return (await claw.call_tool(name, arguments)).result


def test_no_folder_is_made_and_none_is_needed(tmp_path):
    import asyncio

    async def run():
        async with OneClaw.open(tmp_path, environ={}, plugins=["javascript"]) as claw:
            return (await user_tools(claw)).tools, user_record(claw)

    assert asyncio.run(run()) == ((), None)
    assert not (tmp_path / "tools").exists()


def test_files_are_picked_up_changed_and_given_up_while_the_home_is_open(own):
    async def work(claw):
        results = [await called(claw, "late")]
        own.write("late", "function execute() { return 1 }")
        results.append(await called(claw, "late"))
        own.write("late", "function execute() { return 2 }")  # of the same length, and right away
        results.append(await called(claw, "late"))
        (own.folder / "late.json").unlink()
        results.append(await called(claw, "late"))
        return [each.result if each.is_success else each.error_type for each in results]

    assert own.run(work) == ["not_found", 1, 2, "not_found"]


def test_what_has_not_changed_is_not_made_anew(own):
    own.write("one")
    own.write("two")

    async def work(claw):
        registry = claw.catalog.registry
        version, before = registry.version, registry.get_tool("one")
        await user_tools(claw)
        unchanged = registry.version
        own.write("two", description="Another.")
        await user_tools(claw)
        return version == unchanged, registry.get_tool("one") is before, registry.version > version

    assert own.run(work) == (True, True, True)


def test_the_order_is_that_of_the_files_whatever_came_when(own):
    own.write("b")
    own.write("d")

    async def work(claw):
        own.write("c")
        own.write("a")
        own.write("b", description="Another.")
        await user_tools(claw)
        return claw.catalog.registry.get_all_tool_names()

    assert own.run(work) == ["js_eval", "a", "b", "c", "d"]
    assert own.names() == ["a", "b", "c", "d"]


def test_a_group_follows_its_file(own):
    def write(description):
        own.write_group(
            "mine",
            [
                {"_meta": True, "display_name": "Mine", "description": description},
                {"name": "first", "description": "x", "function": "first"},
            ],
            "function first() {}",
        )

    async def work(claw):
        registry = claw.catalog.registry
        texts = []
        for description in ("Before", "After"):
            write(description)
            await user_tools(claw)
            texts.append(registry.get_group_definition("mine").description)
        (own.folder / "mine.json").unlink()
        await user_tools(claw)
        return texts, registry.get_group_definition("mine"), registry.get_available_group_definitions()

    assert own.run(work) == (["Before", "After"], None, [])


BROKEN = {
    "no_code.json": ('{"name": "no_code", "description": "x"}', "no_code.json has no no_code.js beside it"),
    "no_json.json": ("{", "no_json.json: is not valid JSON"),
    "other_name.json": (
        '{"name": "another", "description": "x"}',
        "other_name.json: entry 'another': /name: the tool must be named like its file",
    ),
    "python.json": (
        '{"name": "python", "description": "x", "function": "os:system"}',
        "python.json: tool 'python': its function must be one of python.js",
    ),
    "latin.js": (b"// \xe9", "latin.js is not UTF-8"),
    "many.json": (
        json.dumps([{"name": f"t{n}", "description": "x", "function": "f"} for n in range(51)]),
        "many.json: 51 tools are too many for one group: 50",
    ),
    "stray.js": ("function execute() {}", "stray.js has no manifest stray.json beside it"),
}


@pytest.mark.parametrize("file", some(BROKEN, 3))
def test_a_broken_file_is_reported_and_harms_no_other(own, file):
    content, cause = BROKEN[file]
    stem = file.partition(".")[0]
    own.write("good")
    if file not in ("no_code.json", "stray.js"):
        own.write(stem)
    (own.folder / file).write_bytes(content.encode() if isinstance(content, str) else content)

    assert own.names() == ["good"]
    assert [each for each in own.problems() if each.startswith(cause)], own.problems()


def test_a_pipe_a_folder_and_a_link_to_nowhere_hold_no_one_up(own):
    for name in ("pipe", "folder", "link"):
        own.write(name)
        (own.folder / f"{name}.js").unlink()
    os.mkfifo(own.folder / "pipe.js")
    (own.folder / "folder.js").mkdir()
    (own.folder / "link.js").symlink_to("nowhere.js")

    assert own.names() == []
    assert sorted(own.problems()) == [
        "folder.js cannot be read: Is a directory",
        "link.js is not there",
        "pipe.js is not a file",
    ]


def test_hidden_files_and_other_files_are_none(own):
    for name in (".hidden.js", "_draft.js", "readme.md", "js", ".js"):
        (own.folder / name).write_text("x")

    assert own.problems() == []


def test_a_name_that_is_taken_stays_what_it_was(own):
    import asyncio

    own.write("taken")
    own.write("free")

    async def run():
        async with OneClaw.open(own.home, environ={}, plugins=[Point(), "javascript"]) as claw:
            result = (await claw.call_tool("taken")).result.result
            return result, [each.name for each in (await user_tools(claw)).tools], (await user_tools(claw)).problems

    result, names, (problem,) = asyncio.run(run())

    assert (result, names) == ("the plugin's", ["free"])
    assert problem.cause == "taken.json: there is a tool 'taken' already, from acme; this one is left out"


def test_what_a_group_says_about_permissions_follows_its_file(own):
    def write(file, meaning):
        meta = {"_meta": True, "display_name": "Mine", "description": "x", "permissions": {"texts.delete": meaning}}
        own.write_group(file, [meta, {"name": f"in_{file}", "description": "x", "function": "f"}], "function f() {}")

    async def work(claw):
        meanings = []
        for file, meaning in (
            ("mine", "delete texts"),
            ("mine", "delete texts permanently"),
            ("other", "nothing much"),
        ):
            write(file, meaning)
            await user_tools(claw)
            meanings.append(claw.catalog.registry.get_permission_meaning("texts.delete", "user").text)
        problems = [each.cause for each in (await user_tools(claw)).problems]
        (own.folder / "mine.json").unlink()
        await user_tools(claw)
        meanings.append(claw.catalog.registry.get_permission_meaning("texts.delete", "user").text)
        return meanings, problems

    meanings, problems = own.run(work)

    assert meanings == ["delete texts", "delete texts permanently", "delete texts permanently", "nothing much"]
    assert problems == ["other.json: 'texts.delete' is explained already, with other words; those stay"]


def test_of_two_files_with_one_name_the_first_stays(own):
    for file in ("a_group", "b_group"):
        own.write_group(
            file, [{"name": "same", "description": file, "function": "f"}], f"function f() {{ return '{file}' }}"
        )

    (result,) = own.call(("same", {}))

    assert result.result == "a_group"
    assert own.problems() == ["b_group.json: there is a tool 'same' already, from a_group.json; this one is left out"]


def test_tools_of_a_group_that_a_plugin_has_join_it(own):
    import asyncio

    own.write_group(
        "theirs",
        [
            {"_meta": True, "display_name": "Mine", "description": "Mine"},
            {"name": "joins", "description": "x", "function": "f"},
        ],
        "function f() {}",
    )

    async def run():
        async with OneClaw.open(own.home, environ={}, plugins=[Point(), "javascript"]) as claw:
            registry = claw.catalog.registry
            before = registry.get_group_definition("theirs"), registry.get_tool_groups()
            (own.folder / "theirs.json").unlink()
            await user_tools(claw)
            return *before, registry.get_group_definition("theirs"), registry.get_tool_groups()

    group, tools, group_after, tools_after = asyncio.run(run())

    assert group.display_name == "Theirs"
    assert tools == {"theirs": ["taken", "joins"]}
    assert group_after == group
    assert tools_after == {"theirs": ["taken"]}


def test_the_folder_is_listed_among_the_plugins_as_long_as_there_are_files(own):
    own.write("one")
    (own.folder / "half.json").write_text("{}")

    async def work(claw):
        record = user_record(claw)
        before = record.name, record.status, list(record.tools), record.source
        for file in own.folder.iterdir():
            file.unlink()
        await user_tools(claw)
        return before, user_record(claw)

    before, after = own.run(work)

    assert before == ("user", "degraded", ["one"], "javascript tools")
    assert after is None


def test_they_can_be_disabled_like_a_plugin(own):
    own.write("one")
    own.environ = {"ONECLAW_DISABLED_PLUGINS": "user"}

    async def work(claw):
        return user_record(claw).status, claw.catalog.registry.get_all_tool_names()

    assert own.run(work) == ("disabled", ["js_eval"])


def test_a_tool_that_was_disabled_stays_disabled_when_its_file_changes(own):
    own.write("one")

    async def work(claw):
        await claw.configuration.tools.switch("tool", "one", is_enabled=False)
        own.write("one", description="Another.")
        return await called(claw, "one")

    assert own.run(work).error_type == "not_available"


def test_python_is_left_alone_until_it_is_switched_on_and_again_after(own):
    (own.folder / "twice.py").write_text(TWICE + "\nopen(__file__ + '.ran', 'w').close()")

    async def work(claw):
        results = [await called(claw, "twice", number=4)]
        has_run = (own.folder / "twice.py.ran").exists()
        for value in ("true", "false"):
            await claw.configuration.settings.set("user_tools_python", value)
            results.append(await called(claw, "twice", number=4))
        return has_run, [each.result if each.is_success else each.error_type for each in results]

    assert own.run(work) == (False, ["not_found", 8, "not_found"])
    (problem,) = own.problems()
    assert problem.startswith("twice.py is left alone")


@pytest.fixture
def python(own):
    own.environ = {"ONECLAW_USER_TOOLS_PYTHON": "on"}
    return own


def test_a_changed_python_file_counts_at_once(python):
    (python.folder / "twice.py").write_text(TWICE)

    async def work(claw):
        first = await called(claw, "twice", number=4)
        (python.folder / "twice.py").write_text(TWICE.replace("2 *", "3 *"))  # of the same length, and right away
        return first.result, (await called(claw, "twice", number=4)).result

    assert python.run(work) == (8, 12)
    assert sorted(path.name for path in python.folder.iterdir()) == ["twice.py"]  # nothing compiled beside it


@pytest.mark.parametrize(
    ("code", "cause"),
    some(
        [
            ("import no_such_package", "broken.py: ModuleNotFoundError: No module named 'no_such_package'"),
            ("def (", "broken.py: SyntaxError"),
            ("raise SystemExit(3)", "broken.py: SystemExit: 3"),
            ("raise KeyboardInterrupt", "broken.py: KeyboardInterrupt"),
            ("x = 1", "broken.py has no function decorated with @tool"),
            (IMPORT + "@tool\ndef f(): pass", "broken.py: tool 'f': tool 'f' has no description"),
            (
                "from oneclaw_core import tool\n@tool(isolation='process')\ndef f():\n  'x'",
                "broken.py: tool 'f': isolation=",
            ),
            (
                "from oneclaw_core import tool\n@tool(group='a b')\ndef f():\n  'x'",
                "broken.py: tool 'f': tool group name",
            ),
            ("from oneclaw_core import tool\n@tool\ndef f(x: 'Nobody'):\n  'x'", "broken.py: tool 'f': "),
        ],
        3,
    ),
)
def test_what_is_wrong_with_a_python_file_is_reported(python, code, cause):
    (python.folder / "broken.py").write_text(code)
    (python.folder / "twice.py").write_text(TWICE)

    assert python.names() == ["twice"]
    (problem,) = python.problems()
    assert problem.startswith(cause)


def test_a_manifest_with_python_beside_it(python):
    (python.folder / "sums.json").write_text(
        json.dumps(
            [
                {"name": "add", "description": "Add.", "function": "add", "parameters": {}},
                {"name": "absent", "description": "x", "function": "absent"},
                {"name": "elsewhere", "description": "x", "function": "os:system"},
                {"name": "isolated", "description": "x", "function": "add", "isolation": "process"},
            ]
        )
    )
    (python.folder / "sums.py").write_text("def add(a, b):\n    return a + b\n")

    assert [each.result for each in python.call(("add", {"a": 2, "b": 3}))] == [5]
    assert python.names() == ["add"]
    assert [problem.partition(": tool ")[2].partition(":")[0] for problem in python.problems()] == [
        "'absent'",
        "'elsewhere'",
        "'isolated'",
    ]


def test_tools_that_a_python_file_imports_are_not_its_own(python):
    (python.folder / "a.py").write_text(TWICE)
    (python.folder / "b.py").write_text(
        TWICE.replace("twice", "again") + "from test_user_tools_folder import taken\nalias = again\n"
    )

    assert python.names() == ["twice", "again"]


def test_values_that_answer_no_question_are_passed_over(python):
    (python.folder / "a.py").write_text(
        TWICE
        + "class Proxy:\n    @property\n    def __class__(self):\n        raise RuntimeError('no request')\n"
        + "request = Proxy()\n"
        + "def __getattr__(name):\n    raise RuntimeError(name)\n"
    )

    assert python.names() == ["twice"]


def test_a_python_tool_in_a_group_and_with_dataclasses(python):
    (python.folder / "shapes.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from oneclaw_core import tool\n\n"
        "@dataclass\nclass Box:\n    width: int\n    height: int\n\n"
        "@tool(group='shapes')\ndef area(box: Box) -> int:\n    'The area.'\n    return box.width * box.height\n"
    )

    async def work(claw):
        group = claw.catalog.registry.get_group_definition("shapes")
        return group.description, (await called(claw, "area", box={"width": 2, "height": 3})).result

    assert python.run(work) == ("Tools from shapes group: area", 6)


def test_files_in_two_homes_do_not_meet(python, tmp_path):
    from own_tools import OwnTools

    other = OwnTools(tmp_path / "other", python.environ)
    for each, factor in ((python, "2 *"), (other, "5 *")):
        manifest = {"name": "m", "description": "x", "function": "m", "parameters": {}}
        (each.folder / "m.json").write_text(json.dumps(manifest))
        (each.folder / "m.py").write_text(f"def m(n):\n    return {factor} n\n")

    async def both(claw):
        async with other.opened() as second:
            return [(await called(each, "m", n=1)).result for each in (claw, second)]

    assert python.run(both) == [2, 5]


def test_code_in_two_languages_is_neither(python):
    python.write("both")
    (python.folder / "both.py").write_text(TWICE)

    assert python.names() == []
    assert "cannot belong to both" in python.problems()[0]
