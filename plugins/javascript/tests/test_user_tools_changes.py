"""Changes of the user's tools: what is refused before anything is written, and what is kept."""

import json

import pytest
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_javascript.user_tools.checking import checked_parameters, written_manifest
from own_tools import user_tools

from oneclaw_core import DuplicateError, NotFoundError, OneClawError, ProtectedError, UsageError

CODE = "async function execute({ city }) { return `Sun in ${city}` }"
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "default": "Bern", "minLength": 2},
        "days": {"type": "array", "items": {"type": "integer", "enum": [1, 2, 3]}, "default": [1]},
        "options": {
            "type": "object",
            "properties": {"unit": {"$ref": "#/$defs/unit"}, "deep": {"type": "object", "additionalProperties": False}},
            "required": ["unit"],
        },
    },
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"unit": {"enum": ["C", "F"], "description": "Grad — °"}},
}
GOOD = {"name": "weather", "description": "Tell the weather.", "parameters": SCHEMA, "code": CODE}


async def creation(claw, **changes):
    given_values = GOOD | changes
    return await (await user_tools(claw)).changes.creation(
        given_values.pop("name"),
        given_values.pop("description"),
        given_values.pop("parameters"),
        given_values.pop("code"),
        **given_values,
    )


async def created(claw, **changes):
    await (await user_tools(claw)).make(await creation(claw, **changes))


async def updated(claw, name="weather", **changes):
    change = await (await user_tools(claw)).changes.update(name, **changes)
    assert change is not None
    await (await user_tools(claw)).make(change)
    return change


def files_of(own):
    return {path.name: path.read_text() for path in own.folder.iterdir()}


@pytest.mark.long
@pytest.mark.parametrize("as_text", [False, True])
def test_a_tool_is_written_with_all_of_its_schema_and_used(own, as_text):
    async def work(claw):
        await created(claw, parameters=json.dumps(SCHEMA) if as_text else SCHEMA)
        definition = claw.catalog.registry.get_definition("weather")
        return definition.parameters, (await claw.call_tool("weather", {"city": "Oslo"})).result.result

    assert own.run(work) == (SCHEMA, "Sun in Oslo")
    assert own.names() == ["weather"]
    assert files_of(own)["weather.js"] == CODE
    assert json.loads(files_of(own)["weather.json"]) == {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": SCHEMA,
        "required_permissions": [],
        "timeout_seconds": 30,
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@pytest.mark.one_python
@given(st.dictionaries(st.text().filter(lambda name: name != "_env"), JSON, max_size=4))
def test_whatever_a_schema_says_by_example_is_kept(defaults):
    schema = {"type": "object", "properties": {name: {"default": value} for name, value in defaults.items()}}

    _, definition = written_manifest({"name": "t", "description": "x", "parameters": checked_parameters(schema)})

    assert definition.parameters == schema


def test_references_within_a_schema_are_kept():
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/a%20b~1c"},
            "b": {"$ref": "#"},
            "c": {"default": {"$ref": "https://example.com/"}},
            "d": {"$ref": "#/properties/e/anyOf/1"},
            "e": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
        "$defs": {"a b/c": {"type": "string"}},
    }
    assert checked_parameters(schema) == schema


REFUSED = {
    "an empty name": {"name": ""},
    "a short name": {"name": "a"},
    "a long name": {"name": "a" * 51},
    "capitals": {"name": "Weather"},
    "a digit first": {"name": "1st"},
    "an underscore last": {"name": "weather_"},
    "a path": {"name": "../weather"},
    "a line break": {"name": "weather\n"},
    "a blank description": {"description": "  "},
    "a long description": {"description": "x" * 4001},
    "half a character in it": {"description": "\ud800"},
    "a schema that is not JSON": {"parameters": "{"},
    "a schema that is a list": {"parameters": "[]"},
    "a reference to elsewhere": {"parameters": {"properties": {"a": {"$ref": "https://example.com/schema.json"}}}},
    "a reference to a file": {"parameters": {"properties": {"a": {"items": [{"$ref": "file:///etc/passwd"}]}}}},
    "a reference to nowhere": {"parameters": {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"b": {}}}},
    "a reference to no schema": {"parameters": {"properties": {"a": {"$ref": "#/required"}}, "required": ["a"]}},
    "required that names no names": {"parameters": {"properties": {}, "required": [{}]}},
    "a key that stands twice": {"parameters": '{"properties": {"a": {}, "a": {}}}'},
    "NaN": {"parameters": {"properties": {"a": {"default": float("nan")}}}},
    "a parameter beside the properties": {"parameters": {"city": {"type": "string"}}},
    "a type that is none": {"parameters": {"properties": {"a": {"type": "text"}}}},
    "a schema of a string": {"parameters": {"type": "string"}},
    "a required parameter that is not described": {"parameters": {"properties": {}, "required": ["city"]}},
    "the name of the variables": {"parameters": {"properties": {"_env": {}}}},
    "a schema nested too deeply": {"parameters": '{"properties": ' + '{"a": ' * 20_000 + "{}" + "}" * 20_001},
    "a schema that is too long": {"parameters": {"properties": {"a": {"description": "x" * 100_000}}}},
    "blank code": {"code": " \n"},
    "code that cannot be parsed": {"code": "function execute( {"},
    "code without the function": {"code": "function main() {}"},
    "code with something else of its name": {"code": "const execute = 1"},
    "code that does not end": {"code": "while (true);\nfunction execute() {}"},
    "too much code": {"code": "function execute() {}\n" + "//" * 500_000},
    "half a character in the code": {"code": "function execute() { return '\ud800' }"},
    "no time": {"timeout_seconds": 0},
    "too much time": {"timeout_seconds": 601},
    "no number": {"timeout_seconds": float("nan")},
    "a permission that there is not": {"required_permissions": "files.read, INTERNET"},
}


@pytest.mark.one_python
@pytest.mark.parametrize("what", some(REFUSED, 8))
def test_what_does_not_fit_is_refused_and_nothing_is_written(own, what, monkeypatch):
    monkeypatch.setattr("oneclaw_javascript.running.CHECK_SECONDS", 0.5)

    async def work(claw):
        with pytest.raises(UsageError) as refusal:
            await creation(claw, **REFUSED[what])
        return refusal.value

    error = own.run(work)

    assert "\n" not in str(error)
    assert not isinstance(error, DuplicateError | NotFoundError | ProtectedError)
    assert files_of(own) == {}


def test_a_taken_name_is_refused_whoever_has_it(own):
    own.write("weather")
    (own.folder / "half.json").write_text("{")

    async def work(claw):
        for name in ("weather", "half"):
            with pytest.raises(DuplicateError):
                await creation(claw, name=name)

    before = files_of(own)
    own.run(work)

    assert files_of(own) == before


@pytest.mark.long
def test_two_at_once_for_one_name_make_one(own):
    async def work(claw):
        first, second = await creation(claw), await creation(claw, description="Another.")
        await (await user_tools(claw)).make(first)
        with pytest.raises(DuplicateError):
            await (await user_tools(claw)).make(second)

    own.run(work)

    assert json.loads(files_of(own)["weather.json"])["description"] == "Tell the weather."


def test_what_another_process_changed_meanwhile_is_not_overwritten(own):
    own.write("weather")

    async def work(claw):
        change = await (await user_tools(claw)).changes.update("weather", description="Mine.")
        own.write("weather", description="Theirs.")
        with pytest.raises(OneClawError, match="changed meanwhile"):
            await (await user_tools(claw)).make(change)

    own.run(work)

    assert json.loads(files_of(own)["weather.json"])["description"] == "Theirs."


def test_an_update_of_a_tool_of_version_0_1_writes_the_keys_of_today(own):
    own.write("weather", CODE, parameters=SCHEMA, requiredPermissions=["files.read"], timeoutSeconds=7)

    own.run(lambda claw: updated(claw, timeout_seconds=5))

    manifest = json.loads(files_of(own)["weather.json"])
    assert (manifest["required_permissions"], manifest["timeout_seconds"]) == (["files.read"], 5)
    assert not {"requiredPermissions", "timeoutSeconds"} & manifest.keys()


def test_an_update_keeps_what_is_not_given(own):
    own.write(
        "weather",
        CODE,
        parameters=SCHEMA,
        required_permissions=["files.read"],
        timeout_seconds=3600,
        function="execute",
        **{"$schema": "x"},
    )
    before = json.loads(files_of(own)["weather.json"])

    async def work(claw):
        first = await updated(claw, description="Another.")
        second = await updated(claw, required_permissions="files.read, network.public", timeout_seconds=5)
        third = await updated(claw, code=CODE.replace("Sun", "Rain"))
        nothing = await (await user_tools(claw)).changes.update("weather", description="Another.", timeout_seconds=5)
        return first.summary, second.summary, third.summary, nothing

    summaries = own.run(work)

    assert json.loads(files_of(own)["weather.json"]) == before | {
        "description": "Another.",
        "required_permissions": ["files.read", "network.public"],
        "timeout_seconds": 5,
    }
    assert "Rain" in files_of(own)["weather.js"]
    assert summaries == (
        "change the JavaScript tool 'weather': another description",
        "change the JavaScript tool 'weather': permissions files.read -> permissions files.read, network.public; "
        "3600 s -> 5 s",
        "change the JavaScript tool 'weather': code: 60 characters -> 61 characters",
        None,
    )


def test_an_update_that_does_not_fit_changes_nothing(own):
    own.write("weather", CODE, parameters=SCHEMA)
    before = files_of(own)

    async def work(claw):
        for change in (
            {"code": "function other() {}"},
            {"parameters": '{"a": 1}'},
            {"timeout_seconds": 0.5},
            {"required_permissions": "none"},
            {"description": ""},
        ):
            with pytest.raises(UsageError):
                await (await user_tools(claw)).changes.update("weather", **change)

    own.run(work)

    assert files_of(own) == before


def test_the_code_must_define_the_function_that_the_manifest_names(own):
    own.write("weather", "function forecast() {}", function="forecast")

    async def work(claw):
        with pytest.raises(UsageError, match="defines no function forecast"):
            await (await user_tools(claw)).changes.update("weather", code=CODE)
        await updated(claw, code="const forecast = () => 'rain'")
        return (await claw.call_tool("weather")).result.result

    assert own.run(work) == "rain"


def test_a_tool_is_deleted(own):
    own.write("weather")

    async def work(claw):
        change = await (await user_tools(claw)).changes.deletion("weather")
        await (await user_tools(claw)).make(change)
        return change.summary, claw.catalog.registry.get_all_tool_names()

    assert own.run(work) == ("delete the JavaScript tool 'weather'", ["js_eval"])
    assert files_of(own) == {}


def test_files_that_are_no_tool_can_be_deleted_and_no_others(own):
    (own.folder / "half.json").write_text("{")
    (own.folder / "many.json").write_text('[{"name": 1}]')

    async def work(claw):
        await (await user_tools(claw)).make(await (await user_tools(claw)).changes.deletion("half"))
        with pytest.raises(ProtectedError, match=r"many\.json is a group file"):
            await (await user_tools(claw)).changes.deletion("many")
        for name in ("nothing", "../half", ""):
            with pytest.raises(NotFoundError):
                await (await user_tools(claw)).changes.deletion(name)

    own.run(work)

    assert list(files_of(own)) == ["many.json"]


def test_what_is_not_a_pair_of_files_is_changed_by_hand(own):
    own.environ = {"ONECLAW_USER_TOOLS_PYTHON": "1"}
    own.write_group("several", [{"name": "one", "description": "x", "function": "f"}], "function f() {}")
    (own.folder / "sums.json").write_text('{"name": "sums", "description": "x"}')
    (own.folder / "sums.py").write_text("def execute(): pass")

    async def work(claw):
        changes = (await user_tools(claw)).changes
        for name, where in (("one", "several.json"), ("sums", "Python")):
            for attempt in (
                changes.update(name, description="y"),
                changes.deletion(name),
            ):
                with pytest.raises(ProtectedError, match=where):
                    await attempt

    own.run(work)


def test_nothing_is_created_while_they_are_disabled(own):
    own.environ = {"ONECLAW_DISABLED_PLUGINS": "user"}

    async def work(claw):
        with pytest.raises(UsageError, match="oneclaw plugins enable user"):
            await creation(claw)

    own.run(work)


def test_the_summary_says_what_the_user_decides_on(own):
    async def work(claw):
        return (await creation(claw, required_permissions="files.write", timeout_seconds=60)).summary

    assert own.run(work) == (
        "create the JavaScript tool 'weather': 60 characters of code, permissions files.write, 60 s; "
        "it can read the variables of: oneclaw env list"
    )
