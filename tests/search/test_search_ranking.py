"""What fits best, and what is shown of it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core.search.ranking import Passage, Source, excerpt, rank
from oneclaw_core.search.words import parse_query

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def message(text, days=0, sequence=1, session="s"):
    return Passage(
        source=Source.MESSAGE,
        text=text,
        moment=NOW - timedelta(days=days),
        role="user",
        sequence=sequence,
        session_id=session,
    )


def ranked(query, *passages, frequencies=None, limit=10, wants_all=True):
    parsed = parse_query(query)
    shares = frequencies or [0.01] * len(parsed.units)
    return [hit.passage.text for hit in rank(parsed, passages, shares, NOW, limit, wants_all=wants_all)]


def test_more_of_the_words_in_less_text_is_better():
    long = "tea " + "and many other things of no importance " * 30
    assert ranked("tea", message(long), message("tea and tea"), message("a cup of tea")) == [
        "tea and tea", "a cup of tea", long,
    ]  # fmt: skip


def test_a_rare_word_counts_more_than_a_common_one():
    some = [message("the the the talk"), message("kyoto is a town")]
    assert ranked("the kyoto", *some, frequencies=[0.9, 0.0001], wants_all=False) == ["kyoto is a town"]


def test_newer_is_better_and_much_better_is_better_still():
    assert ranked("tea", message("old tea", 400), message("new tea", 1)) == ["new tea", "old tea"]
    assert ranked("tea", message("tea tea tea", 40), message("tea " + "x " * 500, 1))[0] == "tea tea tea"


def test_notes_go_before_messages_and_those_before_titles():
    remembered = Passage(source=Source.NOTE, text="likes tea", section="Notes")
    title = Passage(source=Source.SESSION, text="about tea", moment=NOW, session_id="t")
    assert ranked("tea", title, message("green tea please"), remembered) == [
        "likes tea", "green tea please", "about tea",
    ]  # fmt: skip


def test_near_duplicates_and_titles_of_sessions_that_are_there_are_dropped():
    title = Passage(source=Source.SESSION, text="tea things", moment=NOW, session_id="s")
    copies = [message("I like my green tea in the morning", number, number) for number in range(5)]
    other = message("I like my green tea in the morning, but my sister prefers coffee at night", 3, 9)
    assert ranked("tea", title, *copies, other) == [copies[0].text, other.text]


def test_all_words_are_wanted_or_some():
    some = [message("green tea"), message("black tea"), message("green coat", 2)]
    assert ranked("green tea", *some) == ["green tea"]
    assert ranked("green tea", *some, wants_all=False) == ["green tea", "black tea", "green coat"]
    assert ranked("green tea", *some, limit=2, wants_all=False) == ["green tea", "black tea"]


def test_scores_are_from_0_to_1_even_where_every_message_has_the_word():
    for share in (0.0, 0.5, 1.0):
        (hit,) = rank(parse_query("tea"), [message("tea " * 50)], [share], NOW, 10, wants_all=True)
        assert 0 < hit.score < 1


def test_an_excerpt_shows_the_words_with_what_stands_around_them():
    text = "start " + "filler words " * 200 + "the green tea is here " + "more filler " * 200
    shown = excerpt(text, parse_query("green tea"))
    assert "the green tea is here" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 500
    assert excerpt("short\n\n text", parse_query("text")) == "short text"


def test_an_excerpt_prefers_where_the_words_stand_together():
    text = "green things " + "x " * 600 + "green tea"
    assert excerpt(text, parse_query("green tea")).endswith("green tea")


def test_an_excerpt_of_a_script_without_spaces():
    text = "前" * 2000 + "緑茶が好き" + "後" * 2000
    shown = excerpt(text, parse_query("緑茶"))
    assert "緑茶が好き" in shown
    assert len(shown) <= 500


@given(st.text(max_size=2000), st.text(min_size=1, max_size=20))
def test_an_excerpt_is_one_line_of_500_characters(text, query):
    shown = excerpt(text, parse_query(query))
    assert len(shown) <= 500
    assert "\n" not in shown


@given(st.lists(st.text("ab 京é", max_size=30), max_size=20), st.text("ab京é", min_size=1, max_size=10), st.booleans())
def test_any_passages_are_ranked(texts, query, wants_all):
    passages = [message(text, number, number) for number, text in enumerate(texts)]
    found = ranked(query, *passages, wants_all=wants_all)
    assert all(any(parse_query(query).counts(text)) for text in found)
