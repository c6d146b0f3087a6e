"""Tools in JavaScript: their files, what they are called with, what they give, and how they are confined."""

import asyncio

import pytest
from model_server import ModelServer, status

from oneclaw_core import PermissionAnswer, ToolProgressEvent, ToolResultEvent, ToolSourceType
from oneclaw_core.testing import ScriptedModel
from oneclaw_core.tools.context import detached_context

WHO = {"properties": {"who": {"type": "string"}}, "required": ["who"]}


def test_a_pair_of_files_is_a_core_tool(own):
    own.write("greet", "function execute(params) { return `Hello ${params.who}` }", parameters=WHO)

    async def work(claw):
        registry = claw.catalog.registry
        source = registry.get_source_info("greet")
        return registry.get_core_tool_definitions(), source, await claw.call_tool("greet", {"who": "Ada"})

    definitions, source, outcome = own.run(work)

    assert [each.name for each in definitions] == ["js_eval", "greet"]
    assert (source.type, source.plugin, source.group_name) == (ToolSourceType.JS_EXTENSION, "user", None)
    assert outcome.result.result == "Hello Ada"


def test_a_manifest_of_version_0_1_keeps_its_meaning(own):
    own.write("slow", requiredPermissions=["files.write"], timeoutSeconds=7)

    async def work(claw):
        return claw.catalog.registry.get_definition("slow")

    definition = own.run(work)

    assert (definition.required_permissions, definition.timeout_seconds) == (("files.write",), 7)


def test_a_group_file_is_a_tool_group_with_functions_that_share_what_is_private(own):
    own.write_group(
        "my_texts",
        [
            {"_meta": True, "display_name": "My Texts", "description": "Change texts"},
            {"name": "shout", "description": "In capitals.", "parameters": WHO, "function": "shout"},
            {"name": "whisper", "description": "In small letters.", "parameters": WHO, "function": "whisper"},
        ],
        """
        const marked = (text) => `<${text}>`
        const shout = async ({ who }) => marked(who.toUpperCase())
        function whisper({ who }) { return marked(who.toLowerCase()) }
        """,
    )

    async def work(claw):
        registry = claw.catalog.registry
        outcomes = [await claw.call_tool(name, {"who": "Ada"}) for name in ("shout", "whisper")]
        return registry.get_group_definition("my_texts"), registry.get_core_tool_definitions(), outcomes

    group, core, outcomes = own.run(work)

    assert (group.display_name, group.description) == ("My Texts", "Change texts")
    assert [each.name for each in core] == ["js_eval"]
    assert [outcome.result.result for outcome in outcomes] == ["<ADA>", "<ada>"]


def test_a_group_without_metadata_gets_generated_ones(own):
    own.write_group("my_texts", [{"name": "shout", "description": "x", "function": "shout"}], "function shout() {}")

    async def work(claw):
        return claw.catalog.registry.get_group_definition("my_texts")

    assert own.run(work).display_name == "My Texts"


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        ("'as it is'", "as it is"),
        ("undefined", ""),
        ("null", ""),
        ("{ a: [1, 'x', null] }", {"a": [1, "x", None]}),
        ("Promise.resolve(false)", False),
        ("{ error: 'told, not thrown' }", {"error": "told, not thrown"}),
    ],
)
def test_what_a_function_returns_is_the_result(own, returned, result):
    own.write("give", f"function execute() {{ return {returned} }}")

    (outcome,) = own.call(("give", {}))

    assert outcome.is_success
    assert outcome.result == result


def test_the_variables_of_the_user_are_in_the_parameters_whatever_the_model_sends(own):
    own.write("show", "function execute(params) { return [params._env.CITY, params.x] }", parameters={})

    async def work(claw):
        claw.configuration.environment.set("CITY", "Bern")
        return (await claw.call_tool("show", {"_env": {"CITY": "Rome"}, "x": 1})).result

    assert own.run(work).result == ["Bern", 1]


def test_a_manifest_without_parameters_takes_no_arguments(own):
    own.write("now", "function execute() { return 'now' }")

    refused, called = own.call(("now", {"zone": "UTC"}), ("now", {}))

    assert (refused.error_type, called.result) == ("validation_error", "now")


def test_no_parameter_can_be_named_like_the_variables(own):
    own.write("show", parameters={"properties": {"_env": {"type": "object"}}})

    assert own.names() == []
    assert own.problems() == [
        "show.json: tool 'show': no parameter can be named _env: there the code finds the user's variables"
    ]


def test_an_error_tells_the_place_and_the_console_but_no_secret(own):
    own.write(
        "fail",
        "function execute({ _env }) {\n  console.log('using', _env.KEY)\n  throw new Error(`refused: ${_env.KEY}`)\n}",
    )

    async def work(claw):
        claw.configuration.environment.set("KEY", "sesame-open-1234")
        return (await claw.call_tool("fail")).result

    result = own.run(work)

    assert result.error_type == "execution_error"
    assert "Error: refused: [redacted]" in result.error_message
    assert "line 3:" in result.error_message
    assert result.error_message.endswith("[console]\nusing [redacted]")


def test_the_console_is_shown_as_it_is_written(own):
    own.write("log", "function execute({ _env }) { console.log('half', _env.TOKEN); return 'whole' }")
    model = ScriptedModel().calls("log").says("Done.")

    async def work(claw):
        claw.configuration.environment.set("TOKEN", "sesame-open-1234")
        return [event async for event in claw.send_message("Go.", model=model)]

    events = own.run(work)

    assert [event.message for event in events if isinstance(event, ToolProgressEvent)] == ["half [redacted]"]
    assert [event.result.result for event in events if isinstance(event, ToolResultEvent)] == ["whole"]


def test_a_library_of_the_user_is_shared(own):
    (own.folder / "lib").mkdir()
    (own.folder / "lib" / "units.js").write_text("exports.metres = (feet) => feet * 0.3048")
    own.write(
        "convert", "const { metres } = lib('units')\nfunction execute({ feet }) { return metres(feet) }", parameters={}
    )

    assert [each.result for each in own.call(("convert", {"feet": 10}))] == [3.048]


def test_files_are_those_of_the_workspace_under_the_permissions(own):
    own.plugins = ("builtin", "javascript")
    own.write(
        "note", "async function execute() { await fs.writeFile('a.txt', 'x'); return await fs.readFile('a.txt') }"
    )
    own.write("escape", "async function execute() { return await fs.readFile('../oneclaw.db') }")

    note, escape = own.call(("note", {}), ("escape", {}))

    assert note.result == "x"
    assert (own.home / "workspace" / "a.txt").read_text() == "x"
    assert escape.error_type == "permission_denied"


def test_what_it_declares_is_granted_before_it_runs(own):
    own.write("careful", required_permissions=["tools.write"])

    (denied,) = own.call(("careful", {}))
    own.answer = PermissionAnswer.ONCE
    (granted,) = own.call(("careful", {}))

    assert (denied.error_type, granted.result) == ("permission_denied", "done")
    assert own.asked == ["tools.write"] * 2


@pytest.mark.long
def test_a_loopback_address_is_asked_for(own):
    own.plugins = ("builtin", "javascript")
    own.write("get", "async function execute({ url }) { return (await fetch(url)).status }", parameters={})
    with ModelServer([status(200)]) as server:
        (denied,) = own.call(("get", {"url": f"{server.url}/x"}))
        own.answer = PermissionAnswer.ONCE
        (granted,) = own.call(("get", {"url": f"{server.url}/x"}))

    assert (denied.error_type, granted.result) == ("permission_denied", 200)
    assert own.asked == ["network.private"] * 2


HOSTILE = {
    "an_endless_loop": ("while (true);", "timeout"),
    "an_endless_promise": ("await new Promise(() => {})", "execution_error"),
    "a_gigabyte": ("const all = []; while (true) all.push(new Uint8Array(2 ** 24).fill(1))", "execution_error"),
    "a_gigabyte_at_once": ("return new Uint8Array(2 ** 30).fill(1).length", "execution_error"),
    "a_bottomless_recursion": ("const f = () => f() + 1; return f()", "execution_error"),
    "a_metadata_address": ("return (await fetch('http://169.254.169.254/latest')).text()", "permission_denied"),
    "a_changed_prototype": (
        "Object.prototype.then = function (resolve) { resolve({ toJSON() { while (true); } }) };"
        "Array.prototype.push = JSON.stringify = Object.defineProperty = () => { throw 1 };"
        "Object.prototype.url = 'file:///etc/passwd'; return (await fetch({})).text()",
        None,
    ),
    "constructors": ("return (() => {}).constructor.constructor('return typeof process')()", "undefined"),
    "what_the_engine_could_bring": (
        "return [typeof std, typeof os, typeof require].join()",
        "undefined,undefined,undefined",
    ),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "a_gigabyte" else pytest.mark.one_python) for name in HOSTILE],
)
def test_hostile_code_is_contained_and_later_calls_work(own, name):
    own.plugins = ("builtin", "javascript")
    code, expected = HOSTILE[name]
    own.write("hostile", f"async function execute() {{ {code} }}", timeout_seconds=1.5)
    own.write("kind", "function execute() { return [1].map((n) => n + 1) }")

    hostile, kind = own.call(("hostile", {}), ("kind", {}))

    if expected is not None:
        assert expected in (hostile.error_type, hostile.result)
    else:
        assert not hostile.is_success
    assert kind.result == [2]


@pytest.mark.one_python
def test_the_timeout_tells_what_was_on_the_console(own):
    own.write("hang", "function execute() { console.log('begun'); while (true); }", timeout_seconds=4)

    (result,) = own.call(("hang", {}))

    assert result.error_type == "timeout"
    assert result.error_message == "Tool 'hang' was stopped after its timeout of 4 s.\n\n[console]\nbegun"


def test_code_that_cannot_be_parsed_fails_when_it_is_called(own):
    own.write("broken", "function execute( {")

    (result,) = own.call(("broken", {}))

    assert result.error_type == "execution_error"
    assert "SyntaxError" in result.error_message


def test_a_function_that_is_missing_is_named(own):
    own.write_group("several", [{"name": "one", "description": "x", "function": "absent"}], "function present() {}")

    (result,) = own.call(("one", {}))

    assert "the code defines no function absent" in result.error_message


def test_executed_by_hand_it_says_that_it_needs_the_engine(own, monkeypatch):
    own.write("alone")
    monkeypatch.setenv("ONECLAW_HOME", str(own.home))

    async def work(claw):
        return claw.catalog.registry.get_tool("alone")

    tool = own.run(work)

    with pytest.raises(Exception, match="only in a call that the executor runs"):
        asyncio.run(tool.execute({}, detached_context("alone")))
