"""Values, texts and tools as all wire formats read and write them."""

import gc
import weakref

import pytest
from oneclaw_http_providers.wire import (
    ToolLists,
    ToolTexts,
    are_complete_arguments,
    count_member,
    member,
    objects_in,
    shown_word,
    text_member,
    unique_call_id,
)

from oneclaw_core.types.text import compact_json
from oneclaw_core.types.tools import ToolDefinition

FIND, READ = ToolDefinition("find", "Finds."), ToolDefinition("read", "Reads.")


def test_json_is_compact_and_in_the_order_of_the_value():
    assert compact_json({"b": ["ä", 1.5], "a": None}) == '{"b":["ä",1.5],"a":null}'


@pytest.mark.parametrize("value", [None, {}, "ab", 3, [1, "x", None]])
def test_what_is_no_list_of_objects_holds_none(value):
    assert list(objects_in(value)) == []


def test_objects_in_a_list_are_found_among_others():
    assert list(objects_in([1, {"a": 1}, None, {}])) == [{"a": 1}, {}]


@pytest.mark.parametrize("value", [None, [], "ab", {"b": 1}])
def test_what_an_object_does_not_have_is_missing(value):
    assert member(value, "a") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (7, 7), (-1, None), (True, None), ("7", None), (1.5, None), (2**60, None), (None, None)],
)
def test_only_a_number_of_things_is_a_count(value, expected):
    assert count_member({"n": value}, "n") == expected
    assert count_member(value, "n") is None


@pytest.mark.parametrize(("value", "expected"), [("x", "x"), ("", None), (3, None), (["x"], None)])
def test_only_a_text_with_something_in_it_counts(value, expected):
    assert text_member({"a": value}, "a") == expected


@pytest.mark.parametrize("word", ["stop", "end_turn", "MAX_TOKENS", "NEW_IN_2027", "endTurn"])
def test_a_word_of_a_service_is_shown(word):
    assert shown_word(word) == word


@pytest.mark.parametrize(
    "value", [None, "", 3, ["stop"], "stop now", "\x1b[31m", "x" * 99, "sk-abc", "sk0123", "Sk012"]
)
def test_what_may_be_no_word_is_not_shown(value):
    assert shown_word(value) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("{}", True), ('{"a": 1}', True), ("", False), (" ", False), ('{"a"', False), ("[]", False)],
)
def test_arguments_are_whole_once_they_are_an_object(arguments, expected):
    assert are_complete_arguments(arguments) is expected


def test_no_two_calls_share_an_id():
    taken = set()
    ids = [unique_call_id(given, taken) for given in ("a", "b", "a", "", "")]
    assert ids[:2] == ["a", "b"]
    assert len(taken) == len(set(ids)) == 5
    assert all(each.startswith("call_") for each in ids[2:])


@pytest.fixture
def written():
    return []


@pytest.fixture
def texts(written):
    def write(definition):
        written.append(definition.name)
        return f"<{definition.name}>"

    return ToolTexts(write)


def test_each_tool_is_written_once(texts, written):
    assert [texts.of(each) for each in (FIND, READ, FIND)] == ["<find>", "<read>", "<find>"]
    assert written == ["find", "read"]


def test_a_definition_that_is_gone_leaves_its_text_to_no_other(texts):
    for number in range(50):
        assert texts.of(ToolDefinition(f"tool_{number}", "T.")) == f"<tool_{number}>"
        gc.collect(0)


def test_what_is_written_of_a_tool_goes_with_the_tool():
    class Text:
        def __init__(self, definition):
            alive.add(self)

    alive = weakref.WeakSet()
    texts = ToolTexts(Text)
    for number in range(50):
        texts.of(ToolDefinition(f"tool_{number}", "T."))
    texts.of(FIND)
    assert len(alive) == 1


def test_a_list_is_compact_json():
    lists = ToolLists(lambda definition: {"name": definition.name, "ä": 1})
    assert lists.text([FIND, READ]) == '[{"name":"find","ä":1},{"name":"read","ä":1}]'
    assert lists.text([]) == "[]"
