"""The model as the attacker: arguments, whatever tool they are for, and texts that are queries."""

import json
import logging
import time

import pytest
from how_long import some

DEEP = 100_000
HOSTILE = {
    "deep array": "[" * DEEP + "]" * DEEP,
    "deep object": '{"a":' * DEEP + "1" + "}" * DEEP,
    "deep value": '{"path":' + "[" * 50_000 + "]" * 50_000 + "}",
    "quite deep value": '{"path":' + "[" * 900 + "]" * 900 + "}",
    "unfinished": '{"path": "a',
    "no object": '"path"',
    "array": "[1, 2]",
    "number": "1",
    "null": "null",
    "nan": '{"path": NaN}',
    "infinity": '{"max_length": -Infinity}',
    "huge exponent": '{"max_length": 1e400}',
    "huge integer": '{"max_length": ' + "9" * 5_000 + "}",
    "large integer": '{"max_length": ' + "9" * 4_000 + "}",
    "duplicate": '{"path": "a", "path": {"path": 1}, "path": [1]}',
    "surrogates": '{"path": ["\\ud800"], "\\udfff": 1}',
    "nul": '{"\\u0000": "\\u0000"}',
    "prototype": '{"__proto__": {"x": 1}, "constructor": 1, "__class__": 2}',
    "many keys": json.dumps({f"key{number}": number for number in range(20_000)}),
    "long key": json.dumps({"k" * 1_000_000: 1}),
    "long text": json.dumps({"no_such_parameter": "x" * 10_000_000}),
    "long list": json.dumps({"no_such_parameter": list(range(300_000))}),
    "two documents": '{"path": "a"} {"path": "b"}',
    "comments": '{"path": "a" /* no */}',
    "byte order mark": "\ufeff{}x",
    "python": "{'path': None}",
    "spaces": " " * 1_000_000 + "x",
}

REFUSALS = ("validation_error", "missing_parameter")


@pytest.mark.long
@pytest.mark.one_python
def test_no_arguments_bring_a_tool_down_or_hold_anybody_up(oneclaw_factory, caplog, is_long):
    """Every tool that is installed with texts that are no call of it: with all of them in the long form, else with
    some, so that each text meets several tools.
    """
    oneclaw = oneclaw_factory(None)
    oneclaw.user.says("no")
    names = oneclaw.app.catalog.registry.get_all_tool_names()
    assert len(names) > 100

    with caplog.at_level(logging.ERROR, logger="oneclaw"):
        for number, name in enumerate(names):
            for place, (what, text) in enumerate(HOSTILE.items()):
                if not is_long and (number + place) % (60 if len(text) > 100_000 else 12):
                    continue
                result = oneclaw.call_tool(name, text)
                assert result.error_type in REFUSALS, (name, what, result)
                assert len(result.error_message) < 20_000, (name, what)
    assert [each.getMessage() for each in caplog.records] == []
    assert oneclaw.user.asked == []


@pytest.mark.long
@pytest.mark.one_python
def test_ten_megabytes_in_one_argument_are_written_or_refused(oneclaw_factory, oneclaw_home):
    oneclaw = oneclaw_factory(("shell", "web"))
    assert oneclaw.call_tool("write_file", path="big.txt", content="x" * 10_000_000).is_success
    assert (oneclaw_home.workspace / "big.txt").stat().st_size == 10_000_000
    assert not oneclaw.call_tool("read_file", path="big.txt").is_success
    assert not oneclaw.call_tool("read_file", path="x" * 1_000_000).is_success
    oneclaw.user.says("once")
    assert oneclaw.call_tool("exec", command="true " + "x" * 10_000_000).error_type == "validation_error"
    assert not oneclaw.call_tool("load_skill", name="x" * 1_000_000).is_success
    assert not oneclaw.call_tool("http_request", url="http://127.0.0.1/" + "x" * 1_000_000).is_success


@pytest.mark.one_python
@pytest.mark.parametrize(
    "name", some(["", " ", "read_file\n", "read_file;exec", "../read_file", "\0", "\ud800", "x" * 1_000_000], 8)
)
def test_a_tool_that_is_not_there_is_told_whatever_it_is_called(oneclaw_factory, name):
    oneclaw = oneclaw_factory(())
    oneclaw.model.calls(name, {}).then("Done.")
    record = oneclaw.send("Go")
    (call,) = record.tool_calls
    assert call.result.error_type == "not_found"
    assert len(call.result.error_message) < 1_000


QUERIES = (
    "'; DROP TABLE messages; --",
    '" OR 1=1 --',
    "x' UNION SELECT value FROM settings --",
    "%",
    "_",
    "*",
    "\\",
    "NEAR(a b, 5)",
    "a NOT b",
    "title:x",
    "^a",
    '"unclosed',
    "((((",
    "a AND",
    "a" * 100_000,
    "a " * 20_000,
    "\0a",
    "\ud800a",
    "$1 :x ? %s %(x)s {0}",
    "to_tsquery('a & b')",
    "a:*|b&!c<->d",
)


@pytest.mark.long
def test_a_query_is_words_and_never_a_statement(oneclaw_factory):
    oneclaw = oneclaw_factory(["memory"])
    oneclaw.model.says("The harmless answer.")
    oneclaw.send("A question about otters", session="a'; DROP TABLE sessions; --")
    before = oneclaw.run(oneclaw.app.services.sessions.search("otters"))

    for query in QUERIES:
        result = oneclaw.call_tool("search_history", json.dumps({"query": query}))
        assert result.is_success or result.error_type == "validation_error", (query, result)
        assert len(result.text()) < 20_000
        oneclaw.call_tool("create_agent", json.dumps({"name": query, "system_prompt": query}))

    after = oneclaw.run(oneclaw.app.services.sessions.search("otters"))
    assert [each.excerpt for each in after.hits] == [each.excerpt for each in before.hits] != []


# Each of them makes some expression of the program's own go back and forth, if any does.
REPEATED = (
    "\n",
    "\t",
    "(",
    "[",
    "<",
    "{",
    "*",
    "_",
    "`",
    "-",
    "\\",
    "/",
    ".",
    ":",
    "'",
    '"',
    "%",
    "0",
    "é",
    "\u200b",
)
PAIRS = ("a ", "a.", "a/", "a-", "<a", "a=", "[(", "- ", "\n ", "1,", "a:", "../", "://", "@a", "**", "`` ", '""', "&#")


@pytest.mark.parametrize(
    "unit", some(["a", " ", *(pytest.param(each, marks=pytest.mark.one_python) for each in [*REPEATED, *PAIRS])], 3)
)
def test_no_text_makes_an_expression_of_the_program_search_without_end(unit):
    from oneclaw_memory.key_shapes import key_shape
    from oneclaw_skills.format import parse_document
    from oneclaw_web.page_text import markdown_of, page_document, shortened

    from oneclaw_core.cli.output import printable_line
    from oneclaw_core.files.text_content import untrusted
    from oneclaw_core.permissions import rules as permission_rules
    from oneclaw_core.search.words import parse_query

    text = unit * (10_000 // len(unit)) + "!"
    for work in (
        lambda: printable_line(text),
        lambda: untrusted(text, text),
        lambda: permission_rules.covers("git *", "git " + text),
        lambda: permission_rules.touches("git *", text),
        lambda: parse_document(f"---\nname: a\ndescription: {text[:5_000]}\n---\n{text}", "a"),
        lambda: key_shape(text),
        lambda: parse_query(text),
        lambda: shortened(text, 5_000),
        lambda: page_document("http://a", text, text, 5_000),
        lambda: markdown_of(f"<p>{text}", "http://a/"),
    ):
        started = time.process_time()
        work()
        assert time.process_time() - started < 0.5
