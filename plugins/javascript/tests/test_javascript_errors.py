"""What a program that fails is answered with: a message, and where in its own lines it happened."""

import asyncio

import pytest
from oneclaw_javascript.errors import JavaScriptError, JavaScriptSyntaxError
from oneclaw_javascript.running import check_javascript, run_javascript


def error_of(code, **arguments):
    with pytest.raises(JavaScriptError) as caught:
        asyncio.run(run_javascript(code, **arguments))
    return caught.value


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("throw new TypeError('bad')", "TypeError: bad (at line 1:11)"),
        (
            "function f() {\n  throw new Error('deep')\n}\n\nf()",
            "Error: deep (at line 2:13 in f, called from line 5:1)",
        ),
        (
            "async function main() {\n  await null\n  nothing.x\n}",
            "ReferenceError: nothing is not defined (at line 3:3 in main)",
        ),
        ("await null\nnothing", "ReferenceError: nothing is not defined (at line 2)"),
        ("throw 'just text'", "the code threw just text"),
        ("throw {code: 5}", 'the code threw {"code":5}'),
        (
            "throw null",
            "the code threw null, which is also what the engine throws when too little memory is left for an error",
        ),
        ("throw undefined", "the code threw undefined"),
        ("throw {toString() { throw 1 }, toJSON() { throw 2 }}", "the code threw [object that cannot be shown]"),
        ("Promise.reject(new RangeError('no'))", "RangeError: no (at line 1:20)"),
        ("(async () => { throw new Error('inside') })()", "Error: inside (at line 1:26, called from line 1:41)"),
        (
            "JSON.parse('{')",
            "SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2) (at line 1:5)",
        ),
    ],
)
def test_a_thrown_value_is_told_with_its_place(code, message):
    error = error_of(code)
    assert str(error) == message
    assert not isinstance(error, JavaScriptSyntaxError)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("const x = 1\n\nfoo(", "SyntaxError: unexpected token in expression: the code ends too early (at line 3:5)"),
        ("let a = ;", "SyntaxError: unexpected token in expression: ';' (at line 1:9)"),
        ("let a = await 1;\nlet b = ;", "SyntaxError: unexpected token in expression: ';' (at line 2)"),
        ("let a = await 1; let b = ;", "SyntaxError: unexpected token in expression: ';' (at line 1)"),
        ("return 1; }", "SyntaxError: Unexpected token '}'"),
    ],
)
def test_code_that_cannot_be_parsed_is_told_with_its_place(code, message):
    error = error_of(code)
    assert isinstance(error, JavaScriptSyntaxError)
    assert str(error) == message
    with pytest.raises(JavaScriptSyntaxError):
        asyncio.run(check_javascript(code, "execute"))


def test_code_that_cannot_be_parsed_does_not_run_at_all():
    assert error_of("console.log('ran');\nlet a = ;").console == ""


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("require('fs')", "there are no modules"),
        ("import fs from 'fs'", "there are no modules"),
        ("export default 5", "there are no modules"),
        ("process.env", "this is not Node.js"),
        ("document.title", "there is no page"),
        ("new Intl.NumberFormat()", "no Intl"),
    ],
)
def test_what_models_expect_and_the_engine_has_not_is_explained(code, hint):
    assert hint in str(error_of(code))


def test_a_circular_value_is_told():
    assert str(error_of("const a = {}; a.a = a; a")) == (
        "TypeError: the value cannot be written as JSON: circular reference"
    )


def test_a_value_whose_getter_throws_is_told():
    assert "cannot be written as JSON: mine" in str(error_of("({ get x() { throw new Error('mine') } })"))


def test_a_promise_that_no_one_settles_is_told_at_once():
    assert "waits for a promise that nothing will ever settle" in str(error_of("await new Promise(() => {})"))


def test_what_was_on_the_console_comes_with_the_error():
    error = error_of("console.log('first', {a: 1}); console.warn('second'); throw 1")
    assert error.console == 'first {"a":1}\nwarn: second'


def test_a_recursion_is_told_in_a_few_words():
    message = str(error_of("function f() { return f() + 1 }\nf()"))
    assert message == "RangeError: Maximum call stack size exceeded (at line 1:22 in f)"


def test_a_long_message_is_cut():
    assert len(str(error_of("throw new Error('x'.repeat(100000))"))) < 2100


def test_an_error_that_pretends_to_be_another_is_told_as_it_says():
    code = "const e = new Error('m'); e.name = 'PermissionDeniedError'; e.stack = '    at <input>:1:1\\n'; throw e"
    assert str(error_of(code)) == "PermissionDeniedError: m"


def test_the_stack_may_be_anything():
    for stack in ("'x'.repeat(1e6)", "'    at f (<input>:999999999:1)\\n'.repeat(1e4)", "'\\n'.repeat(1e5)"):
        assert str(error_of(f"const e = new Error('m'); e.stack = {stack}; throw e")) == "Error: m"
