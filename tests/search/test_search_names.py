"""Ranking of what has a name and a description."""

import pytest

from oneclaw_core.search import NameIndex

ENTRIES = [
    ("calendar.freebusy.query", "Returns free and busy times."),
    ("chat.spaces.messages.create", "Creates a message in a space."),
    ("gmail.users.settings.updateAutoForwarding", "Updates the forwarding of all mail of an account."),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("free times", 0),
        ("when am I busy?", 0),
        ("creating messages", 1),
        ("auto forwarding", 2),
        ("autoForwarding", 2),
    ],
)
def test_the_entry_that_fits_best_comes_first(query, expected):
    assert NameIndex(ENTRIES).find(query, 3)[0] == expected


def test_a_query_without_a_word_of_an_entry_finds_nothing():
    assert NameIndex(ENTRIES).find("zebra", 3) == []


def test_no_more_are_found_than_wanted():
    assert len(NameIndex(ENTRIES).find("free message forwarding", 2)) == 2
