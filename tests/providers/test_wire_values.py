import pytest

from oneclaw_core.providers.wire import (
    are_complete_arguments,
    count_member,
    member,
    objects_in,
    text_member,
    unique_call_id,
)


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
