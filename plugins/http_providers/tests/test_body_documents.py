"""Bodies of responses are read by their bytes, however they are framed and wherever they are split."""

import itertools
import json

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_http_providers.body_documents import BodyDocuments, BodyTooLargeError, BrokenDocumentError

STREAM = (
    b"\xef\xbb\xbf: OPENROUTER PROCESSING\r\n\r\n"
    + 'data: {"a": "Gr\u00fc\u00dfe"}\n\n'.encode()
    + b"event: ping\nid: 7\n\n"
    + b'data: {"b": [{"c":\r\ndata: {"d": "two lines \xff"}}]}\r\n\r\n'
    + b'{"error": {\n "message": "data: \\"x\\""\n}\n}\n'
    + b"event: error\ndata: no JSON\n\n"
    + b"data:{}\r\rdata: [DONE]\n\n"
)
FOUND = [
    ({"a": "Gr\u00fc\u00dfe"}, ""),
    ({"b": [{"c": {"d": "two lines \ufffd"}}]}, ""),
    ({"error": {"message": 'data: "x"'}}, ""),
    ("no JSON", "error"),
    ({}, ""),
    ("[DONE]", ""),
]


def read(*pieces, **limits):
    documents = BodyDocuments(**limits)
    found = [each for piece in pieces for each in documents.feed(piece)]
    return [(each.value, each.event) for each in [*found, *documents.end()]]


def test_events_comments_and_bare_json_are_read():
    assert read(STREAM) == FOUND


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_it_does_not_matter_where_a_body_is_split(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    assert read(*(STREAM[start:end] for start, end in itertools.pairwise(places))) == FOUND


def test_byte_by_byte_is_the_same_too():
    assert read(*(STREAM[place : place + 1] for place in range(len(STREAM)))) == FOUND


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_whole_document_at_the_end_needs_no_blank_line(end):
    assert read(f'data: {{"a": 1}}\n\ndata: {{"b": 2}}{end}'.encode()) == [({"a": 1}, ""), ({"b": 2}, "")]


@pytest.mark.parametrize("body", [b'data: {"a": 1}\n\ndata: {"b": ', b'{"a": 1}\n{"b": ', b'[{"a": 1},\n {"b": '])
def test_the_beginning_of_a_document_at_the_end_is_dropped(body):
    assert read(body) == [({"a": 1}, "")]


@pytest.mark.parametrize(
    "body",
    [b'[{"a": 1}, {"b": 2}]', b'{"a": 1}{"b": 2}', b'data: [{"a": 1}, {"b": 2}]', b'data: {"a": 1}\ndata: {"b": 2}'],
)
def test_several_documents_are_told_apart(body):
    assert read(body) == [({"a": 1}, ""), ({"b": 2}, "")]


def test_a_document_that_was_encoded_twice_is_read():
    assert read(b"data: " + json.dumps(json.dumps({"a": 1})).encode()) == [({"a": 1}, "")]


@pytest.mark.parametrize("broken", [b'data: {"a": oops}\n\n', b'{"a": oops}\n', b'{"a": "\ndata: {"b": 1}\n\n'])
def test_a_broken_document_is_no_document_and_hides_none(broken):
    documents = BodyDocuments()
    with pytest.raises(BrokenDocumentError):
        list(documents.feed(broken))


def test_a_garbled_key_is_a_broken_document():
    with pytest.raises(BrokenDocumentError):
        read(b'data: {"a\xff": 1}\n\n')


def test_other_text_is_kept_for_the_message():
    documents = BodyDocuments()
    assert [*documents.feed(b"<html>\n" * 9_999), *documents.end()] == []
    assert documents.other_text.startswith("<html>")
    assert len(documents.other_text) < 5_000


@pytest.mark.parametrize(
    ("piece", "limits"),
    [
        (b"data: " + b"x" * 1000, {"max_document_bytes": 100_000}),
        (b"data: x\n", {"max_document_bytes": 100_000}),
        (b'{"a": [', {"max_document_bytes": 100_000}),
        (b"data: x\n\n", {"max_body_bytes": 100_000}),
    ],
)
def test_a_document_or_a_body_without_end_is_stopped(piece, limits):
    with pytest.raises(BodyTooLargeError):
        read(*itertools.repeat(piece, 100_000), **limits)
