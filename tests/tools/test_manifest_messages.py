"""Messages about faults in manifests, with the place of each."""

import json

import pytest

from oneclaw_core import UsageError
from oneclaw_core.manifests import manifest as manifest_module
from oneclaw_core.manifests.manifest import ManifestProblem, parse_group_manifest, parse_json, parse_manifest
from oneclaw_core.tools import ToolBehaviour
from oneclaw_core.types.permissions import meaning_fault

FINE = {"name": "fine", "description": "Is fine.", "function": "run"}


def problems(*entries, **options):
    parsed = parse_manifest(json.dumps(list(entries)).encode(), "mail.json", **options)
    return list(parsed.problems), parsed


def at(entry, pointer, message, *, is_error=True):
    return ManifestProblem("mail.json", entry, pointer, message, is_error)


KEYS = (
    "name, description, parameters, function, required_permissions, timeout_seconds, read_only, idempotent, isolation, "
    "asks_itself, is_poll, reads, output_schema"
)
PERMISSIONS = 'must be a list of permission names, such as ["files.write"]'
READS = 'must be a list of what its results hold: "outside", "private" or both'
FUNCTION = 'must name a function, as "module:function" or "function"'


def test_a_fault_of_an_entry_is_told_with_its_place():
    for changes, pointer, message in (
        (
            {"name": "a b"},
            "/name",
            "tool name 'a b' is not acceptable: use 1 to 63 letters, digits, '_' or '-', beginning "
            "with a letter or '_'",
        ),
        ({"parameters": []}, "/parameters", "must be a JSON Schema object, not an array"),
        ({"parameters": "x"}, "/parameters", "must be a JSON Schema object, not a text"),
        ({"parameters": 7}, "/parameters", "must be a JSON Schema object, not a number"),
        ({"parameters": 7.5}, "/parameters", "must be a JSON Schema object, not a number"),
        ({"parameters": None}, "/parameters", "must be a JSON Schema object, not null"),
        ({"parameters": True}, "/parameters", "must be a JSON Schema object, not true"),
        ({"parameters": False}, "/parameters", "must be a JSON Schema object, not false"),
        ({"required_permissions": "x"}, "/required_permissions", PERMISSIONS),
        ({"required_permissions": [""]}, "/required_permissions", PERMISSIONS),
        ({"required_permissions": [1]}, "/required_permissions", PERMISSIONS),
        ({"reads": ["x"]}, "/reads", READS),
        ({"reads": "outside"}, "/reads", READS),
        ({"isolation": "thread"}, "/isolation", 'must be "process", not a text; leave it out for none'),
        ({"read_only": {}}, "/read_only", "must be true or false, not an object"),
        ({"idempotent": 1}, "/idempotent", "must be true or false, not a number"),
        ({"asks_itself": "x"}, "/asks_itself", "must be true or false, not a text"),
        ({"is_poll": []}, "/is_poll", "must be true or false, not an array"),
        ({"function": "a b"}, "/function", f"{FUNCTION}, not 'a b'"),
        ({"function": "a" * 80 + " b"}, "/function", f"{FUNCTION}, not {'a' * 80!r}"),
        ({"function": 7}, "/function", f"{FUNCTION}; it is a number"),
    ):
        found, parsed = problems({**FINE, **changes}, {**FINE, "name": "other"})
        name = changes.get("name", "fine")
        assert found == [at(f"0 {name!r}", f"/0{pointer}", message)], changes
        assert [each.name for each in parsed.tools] == ["other"]


def test_what_is_missing_or_unknown_is_told():
    for key in ("description", "function"):
        entry = {name: value for name, value in FINE.items() if name != key}
        assert problems(entry)[0] == [at("0 'fine'", "/0", f"{key!r} is missing")]
    assert problems({"description": "x", "function": "y"})[0] == [at("0", "/0", "'name' is missing")]
    for key, hint in (("descripton", "did you mean 'description'?"), ("zzz", f"known are {KEYS}")):
        unknown = problems({**FINE, key: 1})
        message = f"unknown key {key!r}, which is ignored; {hint}"
        assert unknown[0] == [at("0 'fine'", f"/0/{key}", message, is_error=False)]
        assert len(unknown[1].tools) == 1
    long = problems({**FINE, "z" * 100: 1})[0][0].message
    assert long.startswith(f"unknown key {'z' * 80!r}, which")
    assert problems({**FINE, "name": "n" * 100})[0][0].entry == f"0 {'n' * 80!r}"
    for entry, kind in ((7, "a number"), ([], "an array"), (None, "null")):
        assert problems(entry, FINE)[0] == [at("0", "/0", f"a tool must be an object, not {kind}")]


def test_faults_of_groups_are_told():
    meta = {"_meta": True, "display_name": "Mail", "description": "Mails."}
    later = "a '_meta' entry describes a tool group and stands first in an array; this one is left out"
    assert problems(FINE, meta)[0] == [at("1", "/1/_meta", later)]
    twice = "a tool named 'fine' stands in this file already; the first one stays"
    assert problems(FINE, FINE)[0] == [at("1 'fine'", "/1/name", twice)]
    empty = "the array is empty: it declares no tools, and so no tool group"
    assert problems()[0] == [at(None, "", empty, is_error=False)]
    shared = "must be an object of JSON Schemas by the names of parameters; it is ignored"
    for value in ([], {"a": 1}, None):
        assert problems({**meta, "parameters": value}, FINE)[0] == [
            at("0 '_meta'", "/0/parameters", shared, is_error=False)
        ]
    example = 'such as {"tables.delete": "delete tables permanently"}'
    meanings = f"must be an object of what permissions mean, {example}; it is ignored"
    assert problems({**meta, "permissions": []}, FINE)[0] == [
        at("0 '_meta'", "/0/permissions", meanings, is_error=False)
    ]
    own = "'files.read' is OneClaw's own, which says itself what it means; this is ignored"
    assert problems({**meta, "permissions": {"files.read": "x", "mail.send": "send"}}, FINE)[0] == [
        at("0 '_meta'", "/0/permissions/files.read", own, is_error=False)
    ]
    text = "tool group 'mail': display_name must be a text that is not empty; a generated one is used"
    assert problems({**meta, "display_name": " "}, FINE)[0] == [
        at("0 '_meta'", "/0/display_name", text, is_error=False)
    ]
    known = "_meta, display_name, description, permissions, parameters"
    assert problems({**meta, "qqq": 1}, FINE)[0] == [
        at("0 '_meta'", "/0/qqq", f"unknown key 'qqq', which is ignored; known are {known}", is_error=False)
    ]


def test_a_group_gives_its_parameters_to_its_tools():
    meta = {"_meta": True, "parameters": {"account": {"type": "string"}, "own": {"type": "null"}}}
    own = {"type": "object", "properties": {"own": {"type": "integer"}}}
    _, parsed = problems(meta, FINE, {**FINE, "name": "other", "parameters": own})
    assert [each.definition.parameters for each in parsed.tools] == [
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"account": {"type": "string"}, "own": {"type": "null"}},
        },
        {"type": "object", "properties": {"own": {"type": "integer"}, "account": {"type": "string"}}},
    ]
    for parameters in (7, {"properties": 7}):
        found, parsed = problems(meta, {**FINE, "parameters": parameters})
        assert (len(found), parsed.tools) == (1, ())


def test_a_tool_gets_what_its_entry_says():
    entry = {
        **FINE,
        "required_permissions": ["a.b"],
        "timeout_seconds": 7,
        "read_only": True,
        "idempotent": True,
        "isolation": "process",
        "asks_itself": True,
        "is_poll": True,
        "reads": ["outside"],
    }
    _, parsed = problems(entry, {**FINE, "name": "plain", "function": "pack.mod:go"}, default_module="acme.tools")
    full, plain = parsed.tools
    definition = full.definition
    assert (definition.required_permissions, definition.timeout_seconds, definition.reads) == (
        ("a.b",),
        7,
        ("outside",),
    )
    assert (definition.read_only, definition.idempotent, definition.behaviour) == (
        *(True, True, ToolBehaviour(asks_itself=True, is_poll=True, isolation="process")),
    )
    assert (full.target.module, full.target.attribute, full.target.origin) == (
        *("acme.tools", "run", "tool 'fine' of manifest mail.json"),
    )
    assert (plain.target.module, plain.target.attribute, plain.definition.behaviour) == (
        "pack.mod",
        "go",
        ToolBehaviour(),
    )
    assert (plain.definition.timeout_seconds, plain.definition.read_only) == (30, False)
    assert plain.definition.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def single(document, name="fine.json"):
    parsed = parse_manifest(json.dumps(document).encode(), name)
    return [str(each) for each in parsed.problems], parsed.tools


def test_one_tool_is_named_like_its_file():
    found, (tool,) = single({"name": "fine", "description": "x", "$schema": "url"})
    assert (found, tool.target.module, tool.target.attribute) == ([], "fine", "execute")
    found, tools = single({**FINE, "name": "other"})
    assert (found, tools) == (
        *(["fine.json: entry 'other': /name: the tool must be named like its file, 'fine', not 'other'"], ()),
    )
    assert single({**FINE, "$schema": 7})[0] == ["fine.json: entry 'fine': /$schema: must be a text, not a number"]
    assert single(FINE, "fine.JSON")[0] == []
    found, _ = single({"name": "a-b", "description": "x"}, "a-b.json")
    assert found == [
        "a-b.json: entry 'a-b': /function: 'execute' would be looked up in a module named like the manifest, and 'a-b' "
        'cannot be one; write "module:function"'
    ]
    assert single(7)[0] == ["fine.json: a manifest must be an object (one tool) or an array (a tool group)"]


def test_the_content_of_a_file_is_strict():
    for content, message in (
        (b"\xff", "is not UTF-8: invalid start byte at byte 1"),
        (b"[1,]", "is not valid JSON: Expecting value, line 1, column 4"),
        (b"NaN", "is not valid JSON: NaN is not a JSON number"),
        (b'"\\ud83e"', "is not valid JSON: \\ud83e is half a character (an unpaired surrogate)"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"a": 1, "b": 1, "a": 2}', "has the key 'a' twice in an object: give it once"),
        (
            b'{"' + b"k" * 100 + b'": 1, "' + b"k" * 100 + b'": 2}',
            f"has the key {'k' * 80!r} twice in an object: give it once",
        ),
        (b" " * (4 * 1024 * 1024 + 1), "is larger than 4 MB"),
    ):
        with pytest.raises(UsageError) as error:
            parse_json(content)
        assert str(error.value) == message
    assert parse_json(b'\xef\xbb\xbf["\\ud83d\\ude00", 1.5]') == ["\U0001f600", 1.5]
    assert parse_json(b" " * (4 * 1024 * 1024 - 1) + b"1") == 1
    repeated = parse_manifest(b'{"name": "a", "name": "a"}', "a.json").problems[0]
    assert repeated.message == "the key 'name' stands twice in an object; the last one counts"
    assert repeated.is_error
    rewritten = parse_manifest(b"{}", "fine.json", rewrite=lambda document: [*document, FINE] if document else [FINE])
    assert [each.name for each in rewritten.tools] == ["fine"]


def test_a_problem_is_cut_and_logged_where_it_goes_nowhere_else(caplog):
    report_on = []
    report = manifest_module._reporter(report_on, "x.json", None, 7)
    report("/a", "y" * 1000)
    report("/a", "y" * 1001, is_error=False)
    assert [(each.entry, each.pointer, len(each.message), each.is_error) for each in report_on] == [
        *((None, "/a", 1000, True), (None, "/a", 1001, False)),
    ]
    assert report_on[1].message[-1] == "…"
    parse_group_manifest([7], "x", "x.json")
    assert [each.getMessage() for each in caplog.records] == [
        "x.json: entry 0: /0: a tool must be an object, not a number"
    ]
    assert str(ManifestProblem("x.json", None, "", "a\n b")) == "x.json: a b"


def test_why_a_permission_cannot_be_explained_so():
    name = (
        "is not a permission's name: it is lower-case words separated by dots, such as tables.delete, of at most 100 "
    )
    for permission, meaning, fault in (
        ("a.b", "x" * 120, None),
        ("a.b", "grün \u200d", None),
        ("x" * 100, "y", None),
        ("x" * 101, "y", f"{'x' * 100!r} {name}characters"),
        ("A.b", "y", f"'A.b' {name}characters"),
        (7, "y", f"a int {name}characters"),
        ("a.b", " ", "the meaning of 'a.b' must be a text that is not empty"),
        ("a.b", 7, "the meaning of 'a.b' must be a text that is not empty"),
        ("a.b", "x" * 1121, "the meaning of 'a.b' has 1,121 characters, and may have 120"),
        ("a.b", "x\ny", "the meaning of 'a.b' must be one line of plain text, without control characters"),
        ("a.b", "é\u202e", "the meaning of 'a.b' must be one line of plain text, without control characters"),
    ):
        assert meaning_fault(permission, meaning) == fault
