"""Texts and ids of OpenAI's wire formats."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from oneclaw_openai.wire_text import TextStream, join_surrogates, valid_id


def test_halves_of_a_character_are_joined_and_single_ones_replaced():
    assert join_surrogates("a\ud83d\ude00b") == "a😀b"
    assert join_surrogates("a\ud83db\ude00") == "a\ufffdb\ufffd"


@given(st.text(), st.integers(1, 3))
def test_a_text_comes_out_of_its_pieces_whole(text, size):
    escaped = "".join(json.loads(f'"\\u{unit:04x}"') for unit in memoryview(text.encode("utf-16-le")).cast("H"))
    stream = TextStream()
    shown = "".join(stream.add(escaped[start : start + size]) for start in range(0, len(escaped), size))
    assert shown == stream.whole() == text


def test_half_a_character_at_the_end_is_replaced():
    stream = TextStream()
    assert stream.add("a\ud83d") == "a"
    assert stream.whole() == "a\ufffd"


@given(st.text(max_size=80), st.text(max_size=80))
def test_ids_become_acceptable_and_stay_apart(one, other):
    accepted = re.compile("[a-z0-9]{1,9}")
    shown = valid_id(one, accepted, 9)
    assert accepted.fullmatch(shown)
    assert shown == (one if accepted.fullmatch(one) else valid_id(one, accepted, 9))
    assert (valid_id(one, accepted) == valid_id(other, accepted)) is (one == other)
