"""What a query asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core.search.words import parse_query


def units(text):
    return [unit.text for unit in parse_query(text).units]


def test_operators_quotes_and_wildcards_mean_nothing():
    assert units('"green tea" AND NOT (coffee* OR -milk) NEAR/3 title:x ^y') == [
        "green", "tea", "and", "not", "coffee", "or", "milk", "near", "3", "title", "x", "y",
    ]  # fmt: skip


def test_each_unit_is_there_once_and_their_number_is_limited():
    assert units("Tea tea TÉA teas") == ["tea"]
    assert len(units(" ".join(f"w{n}" for n in range(100)))) == 16


def test_a_query_of_signs_asks_for_nothing():
    for text in ("", " ", "???", '"', "*", "__", "-- ;", "\x00", "\ud800", "\u200d"):
        assert not parse_query(text)


def test_a_stretch_is_found_as_a_whole_and_loosened_by_pairs():
    query = parse_query("東京都の tea")
    assert [unit.terms for unit in query.units] == [("東京", "京都", "都の"), ("tea",)]
    assert [unit.text for unit in query.loosened().units] == ["東京", "京都", "都の", "tea"]
    assert query.counts("東京都の") == [1, 0]
    assert query.loosened().counts("東京の tea, tea") == [1, 0, 0, 2]


def test_a_character_in_a_square_is_that_character():
    for text in ("🈐", "手", "手🈐"):
        assert all(parse_query("🈐").counts(text))
        assert all(parse_query("手").counts(text))


@pytest.mark.long
@given(st.text())
def test_any_text_is_a_query(text):
    query = parse_query(text)
    assert len(query.counts(text)) == len(query.units) <= 16
    assert len(query.loosened().units) <= 16
