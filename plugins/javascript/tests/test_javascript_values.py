"""What a program's value is: the last expression, a main function, or what it returns."""

import asyncio

import pytest
from how_long import some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oneclaw_javascript.errors import JavaScriptError
from oneclaw_javascript.running import check_javascript, run_javascript

from oneclaw_core import UsageError


def run(code, **arguments):
    return asyncio.run(run_javascript(code, **arguments))


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("code", "text"),
    some(
        [
            ("6*7", "42"),
            ("'as it is'", "as it is"),
            ("'quotes \" and \\n lines'", 'quotes " and \n lines'),
            ("'a\\u0000b'", "a\0b"),
            ("'\\ud800'", "\ud800"),
            ("undefined", ""),
            ("null", ""),
            ("", ""),
            ("// nothing", ""),
            ("const x = 1", ""),
            ("true", "true"),
            ("[1, 'a', null]", '[1,"a",null]'),
            ("({b: 1, a: [2]})", '{"b":1,"a":[2]}'),
            ("{x: 1, y: 2}", '{"x":1,"y":2}'),
            ('{"a": 1}', '{"a":1}'),
            ("{ let a = 1; a + 1 }", "2"),
            ("if (true) { 1 } else { 2 }", "1"),
            ("0.1 + 0.2", "0.30000000000000004"),
            ("1e21", "1e+21"),
            ("-0", "0"),
            ("NaN", "NaN"),
            ("-1/0", "-Infinity"),
            ("[NaN]", "[null]"),
            ("2n ** 64n", "18446744073709551616"),
            ("({big: [1n]})", '{"big":["1"]}'),
            ("new Map([['a', 1]])", '{"a":1}'),
            ("new Map([[1, 'a']])", '[[1,"a"]]'),
            ("new Set([1, 2])", "[1,2]"),
            ("new Uint8Array([1, 2])", "[1,2]"),
            ("new Date(0)", "1970-01-01T00:00:00.000Z"),
            ("Symbol('s')", "Symbol(s)"),
            ("(function f() {})", "[Function f]"),
            ("new TypeError('no')", "TypeError: no"),
            ("[new TypeError('no')]", '["TypeError: no"]'),
            ("Promise.resolve(5)", "5"),
            ("(async () => 7)()", "7"),
            ("({then: (resolve) => resolve(8)})", "8"),
            ("return 9", "9"),
            ("if (true) { return 'early' }\n'late'", "early"),
            ("'use strict'; (function () { return this === undefined })()", "true"),
            ("#!/usr/bin/env node\n1", "1"),
        ],
        8,
    ),
)
def test_value_of_the_code(code, text):
    assert run(code).text == text


def test_the_value_is_json_data():
    result = run("({a: [1, 2.5, 'x', null, true], b: {}})")
    assert result.value == {"a": [1, 2.5, "x", None, True], "b": {}}
    assert run("undefined").value is None
    assert run("'7'").value == "7"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("function main() { return 1 }", "1"),
        ("async function main() { await null; return 2 }", "2"),
        ("const main = () => 3", "3"),
        ("let main = async () => 4; 'not this'", "4"),
        ("globalThis.main = function () { return 5 }", "5"),
        ("const limit = await 6; const main = () => limit", "6"),
        ("const main = 7; main", "7"),
        # Code that calls main itself wants it called once.
        ("let n = 0; function main() { n += 1; return n } main()", "1"),
        ("let n = 0; const main = async () => { n += 1; return n }\nawait main()", "1"),
        ("let n = 0; function main() { n += 1; return n }\n[main(), n]", "[1,1]"),
        ("let n = 0; async function main() { n += 1 }; return main().then(() => n)", "1"),
        ("function main(depth = 2) { return depth ? main(depth - 1) : 'deep' }", "deep"),
        ("const o = { main() { return 'other' } }; function main() { return o.main() }", "other"),
    ],
)
def test_main_is_called_and_awaited_once(code, text):
    assert run(code).text == text


EXPRESSIONS = [
    "1 + 1",
    "const a = 2\na * 2",
    "const a = 2; a * 2;",
    "let a = 1\n\na\n  + 2\n",
    "let s = 0\nfor (const x of [1, 2]) { s += x }\ns",
    "let s = 0; for (const x of [1, 2]) s += x; s",
    "let a = 5\n;[a].map(x => x + 1)",
    "const f = x => x + 1\nf(1) // one\n",
    "const f = (x) => {\n  return { x }\n}\nf(2)",
    "function f() { return 3 }\nf()",
    "f()\nfunction f() { return 4 }\n",
    "class A { b() { return 5 } }\nnew A().b()",
    "`a${`b${1 + 1}`}c`",
    "const t = `\n}`\nt + '`' + \"'\"",
    "/[/}]\\/'/.test('}/\\'')",
    "const a = 8\na / 2 / 2",
    "let a = 1\nif (a) { a = 2 }\na",
    "let a = 1\nif (a)\n  a = 3\na",
    "let a = 1\nif (!a) a = 2; else a = 4\na",
    "let a = 1; try { x } catch { a = 2 } finally { a += 1 } a",
    "let a = 1; while (a < 9) a *= 2; a",
    "let a = 1; do { a += 1 } while (a < 3)\n a",
    "var a = {\n  b: 1\n}\na.b",
    "let a\na = { b: [1, 2] }",
    "let a = 1\na++\na",
    "let a = 1\n++a",
    "!0",
    "const o = { if: 1, return: 2 }\no.if + o.return",
    "const a = 1, b = 2;;;\na ? b : 0;;",
    "'done' /* the end */",
    "label: for (const x of [1]) { break label }\n'after'",
    "const ä = 'ü'\nä",
    "({a: 1}).a",
    "[3, 1, 2].sort()\n  .map(x => x * 2)\n  .join()",
    "const { a, ...rest } = { a: 1, b: 2 }\nrest",
    "async function f() { return 5 }\nf()",
    "switch (1) { case 1: 'one' }\n'two'",
    "if (1 > 2) { 'a' } else if (2 > 1) { const b = 'b'; b } else { 'c' }",
    "try { 'a'; JSON.parse('{') } catch (e) { e.name } finally { 'c' }",
    "try { const f = () => { return 'x' }\n f() } catch { 'b' }",
    "{ if (true) { try { [1] } catch {} } }",
]


@pytest.mark.one_python
@pytest.mark.parametrize("code", some(EXPRESSIONS, 8))
def test_code_that_awaits_has_the_same_value_as_code_that_does_not(code):
    expected = run(code).text
    assert expected
    assert run(f"await null;\n{code}").text == expected


@pytest.mark.parametrize(
    "code",
    [
        "let sum = 0\nfor await (const x of [1, 2, 3])\n  sum += x\nfor (const x of [1]) await null\n",
        "await null; const x = 5",
        "await null; while (true) { 1; break }",
        "await null; if (false) { 1 }",
        "await null; if (true) for (const x of [1]) { x }",
    ],
)
def test_code_that_awaits_and_ends_with_a_statement_has_no_value(code):
    assert run(code).text == ""


def test_a_loop_that_awaits_at_the_end_runs_to_its_end():
    result = run("const seen = []\nfor await (const x of [1, 2, 3])\n  console.log(x)")
    assert [line.text for line in result.console] == ["1", "2", "3"]


def test_params_are_there_and_passed():
    assert run("params.a + 1", params={"a": 1}).value == 2
    assert run("const main = (given) => given.a === params.a", params={"a": 1}).value is True
    assert run("function execute({ a }) { return a }", function_name="execute", params={"a": "x"}).text == "x"
    assert run("const execute = async p => p", function_name="execute", params={"_env": {"K": "v"}}).value == {
        "_env": {"K": "v"}
    }


def test_a_function_that_is_asked_for_is_called_though_the_code_calls_it_too():
    code = "let n = 0; function execute() { n += 1; return n } execute()"
    assert run(code, function_name="execute").value == 2


def test_main_is_an_ordinary_name_where_another_function_is_asked_for():
    assert run("function main() { throw 1 } function execute() { return 2 }", function_name="execute").value == 2


@pytest.mark.parametrize("code", ["1", "const execute = 5", "function other() {}", "{ let execute = () => 1 }"])
def test_a_function_that_is_missing_is_an_error(code):
    with pytest.raises(JavaScriptError, match="the code defines no function execute"):
        run(code, function_name="execute")


@pytest.mark.parametrize("name", ["fetch", "console", "toString", "Object"])
def test_what_is_there_anyway_is_no_function_of_the_code(name):
    with pytest.raises(JavaScriptError, match=f"the code defines no function {name}"):
        run("1", function_name=name)


@pytest.mark.parametrize("name", ["", "a b", "x;y", "1a", "a.b", "é", "a" * 101])
def test_a_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(UsageError, match="is not a valid name for a function"):
        run("1", function_name=name)


@pytest.mark.one_python
@pytest.mark.parametrize("name", ["fetch", "fs", "lib", "params", "console"])
@pytest.mark.parametrize("how", ["const {} = 1", "let {} = 1", "var {} = 1", "function {}() {{}}"])
def test_code_can_define_whatever_name_it_likes(name, how):
    assert run(how.format(name) + "; 'fine'").text == "fine"


@pytest.mark.parametrize(
    ("code", "is_defined"),
    [
        ("function execute() {}", True),
        ("async function execute(params) { return await fetch(params.url) }", True),
        ("const execute = async () => 1", True),
        ("const execute = 5", False),
        ("const other = () => 1", False),
        ("await null; const execute = () => 1", True),
        # What stands outside functions may need what only a call has.
        ("const table = lib('tables'); function execute() {}", True),
        ("const start = fetch('http://x'); const execute = () => 1", True),
        ("const table = lib('tables'); const other = () => 1", False),
        ("throw 1", False),
    ],
)
def test_check_says_whether_the_function_is_there(code, is_defined):
    assert asyncio.run(check_javascript(code, "execute")) is is_defined


def test_check_calls_nothing():
    assert asyncio.run(check_javascript("function execute() { while (true); }", "execute"))


JSON_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-(2.0**53), 2.0**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.long
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is slow
@given(st.lists(JSON_DATA, min_size=20, max_size=60))
def test_json_data_goes_in_and_comes_out_unchanged(data):
    assert run("params.data", params={"data": data}).value == data
