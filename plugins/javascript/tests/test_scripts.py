"""Scripts that call tools: what models write, what they are told when it fails, and what stays out of their reach."""

import asyncio
import json
import re

import pytest
from how_long import some
from oneclaw_javascript.tool_names import named_tools

from oneclaw_core import Attachment, Deny, PermissionAnswer, ToolResult, hookimpl, tool
from oneclaw_core.types.events import ToolProgressEvent


@tool(read_only=True)
def get(x: int = 0) -> dict:
    """Return an object."""
    return {"name": f"n{x}", "size": x}


@tool(required_permissions=["custom.write"])
def put(x: int) -> str:
    """Write something."""
    return f"wrote {x}"


@tool
def bad() -> str:
    """Fail."""
    raise ValueError("it broke")


@tool(read_only=True)
def long(size: int) -> str:
    """Return much."""
    return "x" * size


PICTURE = Attachment("shot.png", "image/png", b"\x89PNG\r\n\x1a\n1")
REPORT = Attachment("report.txt", "text/plain", b"all", is_for_user=True)


@tool(read_only=True)
def look(form: str = "text", count: int = 1) -> ToolResult:
    """Return pictures for the model, and a file for the user."""
    value = {"text": "seen", "object": {"title": "seen"}, "list": ["seen"]}[form]
    return ToolResult.success(value, attachments=(*[PICTURE] * count, REPORT))


class Tools:
    @hookimpl
    def register_tools(self, register):
        for each in (get, put, bad, long, look):
            register(each)


@pytest.fixture
def home(oneclaw_factory):
    return oneclaw_factory([Tools(), "javascript"], check_plugins=False)


@pytest.fixture
def run(home):
    """Run a script in a conversation; gives its result."""

    def run(code, **arguments):
        home.model.calls("js_eval", code=code, **arguments).says("done")
        return home.send("go").tool_calls[-1].result

    return run


SNIPPETS = {
    "const r = await tools.get({x: 1}); return r.name": '"n1"',
    "const r = await tools.get({x: 1});\nr.name": '"n1"',
    "const r = await tools.get({x: 1});\n({name: r.name})": '{"name":"n1"}',
    "async () => { const r = await tools.get({x: 1}); return r.name; }": '"n1"',
    "(async () => { const r = await tools.get({x: 1}); return r.name; })()": '"n1"',
    "async function main() { return (await tools.get({x: 1})).name }": '"n1"',
    "export default async function () { return (await tools.get({x: 1})).name }": '"n1"',
    "import { get } from 'tools';\nreturn (await get({x: 1})).name": '"n1"',
    "const r: {name: string} = await tools.get({x: 1}); return r.name": '"n1"',
    "interface R { name: string }\nconst r = await tools.get({x: 1}) as R; return r.name": '"n1"',
    "const f = (m: any) => m.name; return f(await tools.get({x: 1}))": '"n1"',
    "type N = Array<number>;\nconst xs: N = [1]; return xs[0]! as number": "1",
    "function f<T>(x: T, y?: string): T { return x }\nreturn f<number>(1)": "1",
    "```js\nreturn (await tools.get({x: 2})).size\n```": "2",
    "return (await Promise.all([1, 2].map(x => tools.get({x})))).map(r => r.size)": "[1,2]",
    "return (await Promise.allSettled([tools.get({}), tools.bad({})])).map(r => r.status)": '["fulfilled","rejected"]',
    "return await tools.get({x: 3}).then(r => r.size)": "3",
    "const {get} = tools; return (await get({x: 4})).size": "4",
    "return (await tools['get']({x: 5})).size": "5",
    "const out = []; for await (const r of [tools.get({x: 1})]) out.push(r.size); return out": "[1]",
    "await new Promise(r => setTimeout(r, 5)); return 1": "1",
    "return new URL('https://a.b/c?d=1').searchParams.get('d')": '"1"',
    "return new TextDecoder().decode(new TextEncoder().encode('aé€😀'))": '"aé€😀"',
    "return structuredClone({a: [1]}).a": "[1]",
    "return atob(btoa('a'))": '"a"',
    "return crypto.randomUUID().length": "36",
    "let t = setTimeout(() => {}, 60000); return 1": "1",
}


@pytest.mark.parametrize("code", some(SNIPPETS, 6))
def test_what_models_write_is_run(code, run):
    result = run(code)
    assert result.is_success, result.error_message
    expected = json.loads(SNIPPETS[code])
    assert result.result == (expected if isinstance(expected, str) else SNIPPETS[code])


@pytest.mark.parametrize(
    ("code", "message"),
    some(
        [
            ("const r = tools.get({x: 1}); return r.name", "tools.get(...) was not awaited"),
            ("return JSON.stringify(tools.get({}))", "tools.get(...) was not awaited"),
            ("return `${tools.get({})}`", "tools.get(...) was not awaited"),
            ("return await tools.get", "a tool was not called"),
            ("return (await tools.get(1)).name", "tools.get takes one object with its arguments"),
            ("tools.bad({}); return 1", "tools.bad(...) failed, and the script did not await it"),
            (
                "await tools.bad({})",
                "tools.bad failed, and the script did not catch it: execution_error: ValueError",
            ),
            ("setTimeout(() => { throw new Error('late') }, 1); await new Promise(r => setTimeout(r, 30))", "late"),
            ("const t = require('tools'); return 1", "there are no modules"),
            ("return codemode.get({})", "call tools as tools.NAME({...})"),
        ],
        3,
    ),
)
def test_a_mistake_is_told_and_never_silent(code, message, run):
    result = run(code)
    assert result.error_type == "execution_error"
    assert message in result.error_message


@pytest.mark.long
def test_a_failing_tool_throws_an_error_with_its_type(run):
    caught = "[e instanceof ToolError, e.name, e.tool, e.errorType, e.message]"
    code = f"try {{ await tools.bad({{}}) }} catch (e) {{ return {caught} }}"
    assert json.loads(run(code).result) == [True, "ToolError", "bad", "execution_error", "ValueError: it broke"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("await tools.put({x: 1}); await tools.gat({})", "Did you mean get"),
        ("await tools.put({x: 1}); await tools.load_tool_group({group_name: 'a'})", "cannot be called by a script"),
        ("await tools.put({x: 1}); await tools.js_eval({code: '1'})", "cannot be called by a script"),
    ],
)
def test_names_of_tools_are_checked_before_anything_runs(code, message, run, home):
    result = run(code)
    assert result.error_type == "not_available"
    assert result.error_message.startswith("The script was not run:")
    assert message in result.error_message
    assert home.user.asked == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("await tools.a({}); tools . b({}); tools?.c()", ["a", "b", "c"]),
        ("const {d, e: f, ...g} = tools; tools['h-i']({})", ["h-i", "d", "e"]),
        ("'tools.no' + \"tools.no\" // tools.no\n/* tools.no */; mytools.no; x.tools.no", []),
        ("`${tools.yes({})}`", ["yes"]),
        ("const tools = {}; tools.own()", []),
    ],
)
def test_the_tools_that_a_script_names(code, names):
    assert named_tools(code) == names


@pytest.mark.parametrize(
    "code",
    [
        "return await tools.look({})",
        "return (await tools.look({form: 'object'})).attachments",
        "return {all: [await tools.look({})]}",
    ],
)
def test_a_picture_is_shown_if_the_script_returns_its_name(code, run):
    result = run(code)
    assert result.attachments == (PICTURE, REPORT)
    assert "shot.png, image/png" in result.result
    assert "Not shown" not in result.result


def test_a_picture_that_is_not_returned_is_named(run):
    result = run("await tools.look({count: 2}); const r = await tools.look({form: 'object'}); return r.title")
    assert result.attachments == (REPORT, REPORT)
    assert re.fullmatch(
        r"seen\n\nNot shown: (attachment:\w+\.0(\.1)? \(image/png, of look\), ){2}attachment:\w+\.0 "
        r"\(image/png, of look\)\. To look at one, return its name\.",
        result.result,
    )


@pytest.mark.long
def test_a_picture_has_the_same_name_when_the_script_is_written_again(run):
    code = "const r = await tools.look({form: 'list'});"
    [name] = re.findall(r"attachment:[\w.]+\d", run(f"{code} return r").result)
    assert run(f"{code} return '{name}'").attachments == (PICTURE, REPORT)


def test_a_name_of_no_picture_is_told(run):
    result = run("return 'attachment:00000000.0'")
    assert "No longer kept: attachment:00000000.0" in result.result
    assert result.attachments == ()


@pytest.mark.long
def test_nothing_returned_is_said(run):
    assert run("await tools.get({})\nconst x = 1").result == "The script returned nothing; use return."
    assert run("console.log('only this')").result == "[console]\nonly this"


@pytest.mark.long
def test_a_script_that_fails_tells_which_calls_it_made(run, home):
    home.user.says("session")
    code = "await tools.get({}); await tools.get({x: 1}); await tools.put({x: 1});"
    code += "try { await tools.bad({}) } catch {} nothing"
    message = run(code).error_message
    assert message.startswith("ReferenceError: nothing is not defined")
    assert message.endswith("Calls that finished: get (2), put.\nCalls that failed: bad (execution_error).")


@pytest.mark.parametrize(
    "code",
    some(
        [
            "return eval('1 + 1')",
            "return new Function('return 1')()",
            "return (async () => {}).constructor('return 1')()",
            "return (function* () {}).constructor('yield 1')().next()",
            "return Reflect.construct((() => {}).constructor, ['return 1'])()",
            "return setTimeout('1 + 1', 1)",
        ],
        2,
    ),
)
def test_data_does_not_become_code(code, run):
    result = run(code)
    assert result.error_type == "execution_error"


def test_gates_see_the_code_of_a_script(oneclaw_factory):
    class Careful:
        @hookimpl
        def before_tool_call(self, context, call):
            return Deny("no loops") if "while" in call.arguments.get("code", "") else None

    home = oneclaw_factory([Careful(), "javascript"], check_plugins=False)
    home.model.calls("js_eval", code="while (true) {}").says("done")
    result = home.send("go").tool_calls[-1].result
    assert (result.error_type, result.error_message) == (
        "permission_denied",
        "The plugin Careful refuses this: no loops",
    )


def test_lines_of_the_console_are_news_of_the_script_and_ask_nothing(home):
    home.model.calls("js_eval", code="console.log('Allow once? [y/N]\\u001b[2J'); return 1").says("done")
    record = home.send("go")
    (told,) = [each for each in record.events if isinstance(each, ToolProgressEvent)]
    assert (told.name, told.message.startswith("Allow once? [y/N]")) == ("js_eval", True)
    assert home.user.asked == home.user.questions == []


def test_a_script_gets_results_whole(run):
    assert run("return (await tools.long({size: 200000})).length").result == "200000"


def test_a_script_sees_one_time_and_repeatable_numbers(run):
    code = "const a = Date.now(); await new Promise(r => setTimeout(r, 20));"
    first = json.loads(run(code + "return [a, Date.now(), new Date().getTime(), Math.random()]").result)
    assert first[0] == first[1] == first[2]
    assert 0 <= first[3] < 1


@pytest.mark.long
def test_parallel_calls_run_side_by_side(oneclaw_factory):
    running = most = 0

    @tool
    async def slow(x: int) -> int:
        """Take a while."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return x

    class Slow:
        @hookimpl
        def register_tools(self, register):
            register(slow)

    home = oneclaw_factory([Slow(), "javascript"], check_plugins=False)
    code = "return (await Promise.all([...Array(40).keys()].map(x => tools.slow({x})))).length"
    home.model.calls("js_eval", code=code).says("done")
    assert home.send("go").tool_calls[-1].result.result == "40"
    assert most == 16


def test_the_question_names_the_purpose_and_the_time_of_the_script_stands_still(run, home):
    asked = []

    async def late(request):
        asked.append(request.script)
        await asyncio.sleep(1.5)
        return PermissionAnswer.ONCE

    home.user.answer = late
    result = run("return await tools.put({x: 2})", purpose="tidy up", timeout_seconds=1)
    assert result.result == "wrote 2"
    assert asked == ["call 1 of the script: tidy up"]


def test_the_third_refusal_ends_a_script_that_goes_on(run, home):
    asked = []

    async def refuse(request):
        asked.append(request.permission)
        return PermissionAnswer.NO

    home.user.answer = refuse
    code = "let n = 0; while (true) { try { await tools.put({x: n++}) } catch {} }"
    result = run(code)
    assert (result.error_type, len(asked)) == ("permission_denied", 1)
    assert result.error_message.startswith("The user refused 3 calls, so the script was ended.")


@pytest.mark.long
def test_a_script_without_end_stops_at_five_hundred_calls(run):
    result = run("let n = 0; while (true) { try { await tools.get({x: n++}) } catch {} }", timeout_seconds=60)
    assert result.error_type == "limit_reached"
    assert "Calls that finished: get (500)." in result.error_message


def test_a_tool_of_the_user_calls_the_tools_that_it_declares(home):
    folder = home.home.path / "tools"
    folder.mkdir(parents=True)
    manifest = {"name": "mine", "description": "Mine.", "parameters": {"properties": {"which": {"type": "string"}}}}
    (folder / "mine.json").write_text(json.dumps(manifest | {"tools": ["get"]}))
    (folder / "mine.js").write_text("async function execute({which}) { return await tools[which]({x: 3}) }")
    (folder / "other.json").write_text(json.dumps(manifest | {"name": "other"}))
    (folder / "other.js").write_text("async function execute({which}) { return await tools[which]({x: 3}) }")

    assert home.call_tool("mine", which="get").result == {"name": "n3", "size": 3}
    assert "not among those that this tool declares" in home.call_tool("mine", which="put").error_message
    assert "this code can call no tools" in home.call_tool("other", which="get").error_message


def test_a_tool_that_a_model_creates_can_declare_tools(oneclaw_factory):
    home = oneclaw_factory([Tools(), "javascript", "js_tool_management"], allow=["tools.write"], check_plugins=False)
    code = "async function execute() { return (await tools.get({x: 8})).size }"
    made = home.call_tool(
        "create_js_tool", name="sizer", description="Size.", parameters_schema="{}", js_code=code, tools="get, get"
    )
    assert made.is_success, made
    assert home.call_tool("sizer").result == 8
    assert home.call_tool("update_js_tool", name="sizer", tools="").is_success
    assert not home.call_tool("sizer").is_success
