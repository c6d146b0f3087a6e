import json

from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core.providers.wire import TextStream, compact_json, join_surrogates


def test_json_is_compact_and_in_the_order_of_the_value():
    assert compact_json({"b": ["ä", 1.5], "a": None}) == '{"b":["ä",1.5],"a":null}'


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
