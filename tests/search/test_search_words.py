"""What counts as a word, in any script."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor_time import processor_seconds

from oneclaw_core.search.words import folded, index_terms, is_unspaced, parse_query, parts, parts_with_places


def finds(query, text):
    return all(parse_query(query).counts(text)) and bool(parse_query(query))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe", "Ein Café in Köln"),
        ("CAFÉ KOLN", "ein cafe\u0301 in ko\u0308ln"),
        ("strasse", "Straße"),
        ("malmo lodz", "Malmø, Łódź"),
        ("istanbul", "İSTANBUL ve \u0131s\u0131"),
        ("ελλαδα", "Ελλάδα"),
        ("елка", "Зелёная ЁЛКА"),
        ("محمد", "مُحَمَّد قال"),
        ("احمد", "أحمد"),
        ("שלום", "שָׁלוֹם"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ।"),
        ("東京", "私は東京タワーに行った"),
        ("茶", "我喜欢绿茶。"),
        ("東京タワー", "私は東京タワーに行った"),
        ("バナナ", "ﾊﾞﾅﾅを食べる"),
        ("서울", "저는 서울에서 삽니다"),
        ("ภาษา", "ภาษาไทยง่ายมาก"),
        ("\uff11\uff12\uff13", "Nummer 123"),
        ("tea", "Teas of the world"),
        ("berries", "one berry"),
        ("user", "the user's cat"),
        ("été", "l'été à Paris"),
        ("été", "l\u2019été à Paris"),
        ("snake case", "a snake_case_name"),
        ("🎉", "Done 🎉!"),
        ("👍", "ok 👍🏽"),
        ("می‌خواهم", "میخواهم"),
        ("example.com", "see https://www.example.com/a?b=c"),
    ],
)
def test_a_query_finds_a_text_whatever_the_case_the_accents_and_the_script(query, text):
    assert finds(query, text)
    assert {term for unit in parse_query(query).units for term in unit.terms} <= index_terms(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cat", "concatenate"),
        ("東北", "東京と北京"),
        ("कि", "कु की"),  # vowel signs make other syllables
        ("が", "か"),  # so does voicing
        ("นา", "น้ำ"),
        ("gras", "gross"),
        ("한국", "한 국"),
    ],
)
def test_other_words_are_not_found(query, text):
    assert not finds(query, text)


def test_pairs_alone_do_not_make_a_stretch():
    assert index_terms("京都と東京") >= {"京都", "東京"}
    assert not finds("東京都", "京都と東京")


def test_encoded_files_are_cut():
    assert index_terms("a" * 10_000) == {"a" * 64}


@pytest.mark.long
@given(st.text(max_size=200))
def test_terms_are_what_the_index_takes_for_one_term(text):
    for term in index_terms(text):
        assert term
        assert all(ord(character) > 127 or character.isalnum() for character in term)
        assert not any(character.isupper() and character.isascii() for character in term)


@given(st.text(max_size=200))
def test_each_part_of_a_text_finds_it(text):
    for part in parts(text):
        if folded(part):
            assert finds(part, text)
            terms = {term for unit in parse_query(part).units for term in unit.terms}
            assert terms <= index_terms(text)


@given(st.text(max_size=200))
def test_places_are_where_the_parts_stand(text):
    with_places = list(parts_with_places(text))
    assert all(text[start:end] == part for part, start, end in with_places)
    assert {folded(part) for part, _, _ in with_places} - {""} == {folded(part) for part in parts(text)} - {""}


def test_hostile_texts_are_cut_in_no_time():
    with processor_seconds(10):
        for text in ("é'", "a\u0300", "東", "'", "\u0300", "\uff41", "a_"):
            index_terms(text * 50_000 + "_")


def test_emoji_and_letters_are_told_apart():
    assert parts("ok👍done") == ["ok", "👍", "done"]
    assert is_unspaced("東京")
    assert not is_unspaced("tokyo")


@pytest.mark.parametrize("character", ["x", "日"])
def test_a_long_part_is_not_remembered(character):
    part = character * 100_000
    before = sys.getrefcount(part)
    folded(part)
    assert sys.getrefcount(part) == before
