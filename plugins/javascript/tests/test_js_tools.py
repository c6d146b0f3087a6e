"""The four tools: what they do, what they ask, and what they refuse."""

import asyncio
import json

import pytest
from how_long import some
from pytest_oneclaw import assert_tool_error, assert_tool_succeeded

pytestmark = pytest.mark.usefixtures("agreeing_user")

GREET = {
    "name": "greet",
    "description": "Greet somebody.",
    "parameters_schema": {"properties": {"who": {"type": "string", "default": "you"}}},
    "js_code": "function execute({ who = 'you' }) { return `Hello ${who}` }",
}


def names_in(folder):
    return sorted(path.name for path in folder.glob("*"))


def test_a_tool_is_created_called_listed_changed_and_deleted(oneclaw, call_tool):
    created = call_tool("create_js_tool", GREET, name=" greet ")
    first = call_tool("greet", who="Ada")
    listed = call_tool("list_user_tools")
    changed = call_tool("update_js_tool", name="greet", js_code=GREET["js_code"].replace("Hello", "Good day"))
    second = call_tool("greet")
    deleted = call_tool("delete_js_tool", name="greet")
    empty = call_tool("list_user_tools")

    assert created.result == "Tool 'greet' is created. You can call it from your next answer on."
    assert first.result == "Hello Ada"
    assert listed.result == "- greet: Greet somebody. (greet.json)"
    assert changed.result == "Tool 'greet' is changed. The change counts from your next answer on."
    assert second.result == "Good day you"
    assert deleted.result == "Tool 'greet' is deleted."
    assert empty.result == "The user has no tools yet; create_js_tool makes one."
    assert names_in(oneclaw.home.tools) == []
    assert [request.permission for request in oneclaw.user.asked] == ["tools.write"] * 3
    assert [request.detail.partition(":")[0] for request in oneclaw.user.asked] == [
        "create the JavaScript tool 'greet'",
        "change the JavaScript tool 'greet'",
        "delete the JavaScript tool 'greet'",
    ]


def test_the_question_holds_all_of_the_code(oneclaw, call_tool):
    code = "function execute() {\n" + "  step();\n" * 400 + "  return 'the end'\n}"

    call_tool("create_js_tool", GREET, js_code=code)
    call_tool("update_js_tool", name="greet", js_code=code.replace("the end", "another end"))

    created, changed = (request.detail for request in oneclaw.user.asked)
    assert code in created
    assert code.replace("the end", "another end") in changed


def test_a_schema_as_text_is_kept_whole(oneclaw, call_tool):
    schema = {"type": "object", "properties": {"all": {"type": "array", "items": {"type": "object"}, "default": [{}]}}}

    assert_tool_succeeded(call_tool("create_js_tool", GREET, parameters_schema=json.dumps(schema)))

    assert json.loads((oneclaw.home.tools / "greet.json").read_text())["parameters"] == schema


def test_nothing_is_written_when_the_user_does_not_agree(oneclaw, call_tool):
    oneclaw.user.says("no")

    assert_tool_error(call_tool("create_js_tool", GREET), "permission_denied")
    assert names_in(oneclaw.home.tools) == []


@pytest.mark.parametrize(
    ("name", "arguments", "error_type"),
    some(
        [
            ("create_js_tool", GREET | {"name": "Greet!"}, "validation_error"),
            ("create_js_tool", GREET | {"description": " "}, "validation_error"),
            ("create_js_tool", GREET | {"parameters_schema": "{"}, "validation_error"),
            ("create_js_tool", GREET | {"parameters_schema": {"who": {}}}, "validation_error"),
            ("create_js_tool", GREET | {"js_code": "function execute("}, "validation_error"),
            ("create_js_tool", GREET | {"js_code": "let x = 1"}, "validation_error"),
            ("create_js_tool", GREET | {"timeout_seconds": 601}, "validation_error"),
            ("create_js_tool", GREET | {"required_permissions": "all"}, "validation_error"),
            ("create_js_tool", {"name": "greet"}, "validation_error"),
            ("create_js_tool", GREET | {"name": "read_file"}, "duplicate_name"),
            ("create_js_tool", GREET | {"name": "create_js_tool"}, "duplicate_name"),
            ("create_js_tool", GREET | {"name": "there"}, "duplicate_name"),
            ("update_js_tool", {"name": "nobody", "description": "x"}, "not_found"),
            ("update_js_tool", {"name": "read_file", "description": "x"}, "protected_tool"),
            ("update_js_tool", {"name": "grouped", "description": "x"}, "protected_tool"),
            ("update_js_tool", {"name": "there", "js_code": "execute"}, "validation_error"),
            ("delete_js_tool", {"name": "nobody"}, "not_found"),
            ("delete_js_tool", {"name": "../there"}, "not_found"),
            ("delete_js_tool", {"name": "load_tool_group"}, "protected_tool"),
            ("delete_js_tool", {"name": "grouped"}, "protected_tool"),
        ],
        4,
    ),
)
def test_what_is_refused_changes_nothing_and_asks_nothing(oneclaw, call_tool, folder, name, arguments, error_type):
    (folder / "there.json").write_text('{"name": "there", "description": "x"}')
    (folder / "there.js").write_text("function execute() {}")
    (folder / "several.json").write_text('[{"name": "grouped", "description": "x", "function": "f"}]')
    (folder / "several.js").write_text("function f() {}")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    assert_tool_error(call_tool(name, arguments), error_type)

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert oneclaw.user.asked == []


def test_a_folder_that_cannot_be_used_is_an_io_error(call_tool, oneclaw_home):
    oneclaw_home.tools.write_text("no folder")

    assert_tool_error(call_tool("create_js_tool", GREET), "io_error", match="make the folder writable")


def test_nothing_to_change_asks_nothing(oneclaw, call_tool):
    call_tool("create_js_tool", GREET)
    same = call_tool("update_js_tool", name="greet", timeout_seconds=30)

    assert same.result == "Nothing to change: tool 'greet' is as it was."
    assert len(oneclaw.user.asked) == 1


def test_what_is_wrong_with_files_is_listed_too(call_tool, folder):
    (folder / "read_file.json").write_text('{"name": "read_file", "description": "Mine."}')
    (folder / "read_file.js").write_text("function execute() {}")
    (folder / "more.json").write_text('[{"name": "grouped", "description": "In a group.", "function": "f"}]')
    (folder / "more.js").write_text("function f() {}")

    listed = assert_tool_succeeded(call_tool("list_user_tools"))

    assert listed.splitlines()[:3] == [
        "- grouped: In a group. (more.json, tool group more)",
        "",
        "Left out or to be fixed:",
    ]
    assert "read_file.json: there is a tool 'read_file' already, from oneclaw-core" in listed


def test_calls_at_once_for_one_name_make_one_tool(oneclaw):
    async def at_once():
        return await asyncio.gather(*(oneclaw.app.call_tool("create_js_tool", GREET) for _ in range(4)))

    assert oneclaw.app.catalog.plugins
    kinds = [outcome.result.error_type for outcome in oneclaw.run(at_once())]

    assert sorted(map(str, kinds)) == ["None", *["duplicate_name"] * 3]
    assert names_in(oneclaw.home.tools) == ["greet.js", "greet.json"]
