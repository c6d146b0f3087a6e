"""Bodies are unpacked as they come, in pieces of bounded size."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import httpx
import pytest
from how_long import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oneclaw_core.http.messages import PIECE_BYTES, body_pieces

pytestmark = pytest.mark.lowest_versions


def bare(content):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKERS = {
    "identity": lambda content: content,
    "gzip": gzip.compress,
    "X-GZip": gzip.compress,
    "deflate": zlib.compress,
    "deflate (bare)": bare,
    "gzip (two members)": lambda content: gzip.compress(content[:10]) + gzip.compress(content[10:]),
    "gzip (padded)": lambda content: gzip.compress(content) + b"\0" * 100,
}


def pieces(encoding, packed):
    async def stream():
        for piece in packed:
            yield piece

    async def read():
        headers = {"Content-Encoding": encoding.partition(" ")[0]}
        response = httpx.Response(
            200, headers=headers, content=stream(), request=httpx.Request("GET", "http://h.test/")
        )
        return [piece async for piece in body_pieces(response)]

    return asyncio.run(read())


@pytest.mark.parametrize("name", PACKERS)
@settings(max_examples=examples(30))
@given(content=st.binary(max_size=300), sizes=st.lists(st.integers(1, 50), max_size=10))
@example(content=bytes.fromhex("0000000001000002000000"), sizes=[31])
def test_a_body_is_the_same_however_it_is_packed_and_cut(name, content, sizes):
    packed, cut = PACKERS[name](content), []
    for size in sizes:
        cut.append(packed[:size])
        packed = packed[size:]

    assert b"".join(pieces(name, [*cut, packed])) == content


@pytest.mark.long
@pytest.mark.parametrize("name", ["gzip", "deflate", "deflate (bare)"])
def test_pieces_are_small_however_far_they_unpack(name):
    content = bytes(10_000_000)

    unpacked = pieces(name, [PACKERS[name](content)])

    assert max(map(len, unpacked)) <= PIECE_BYTES
    assert b"".join(unpacked) == content


@pytest.mark.parametrize(
    ("encoding", "packed"), [("gzip", b"\x1f\x8b\xff\xff text"), ("deflate", b"\x78\x9c\xff\xff\xff\xff")]
)
def test_what_is_not_packed_as_it_says_is_an_error(encoding, packed):
    with pytest.raises(httpx.DecodingError):
        pieces(encoding, [packed])


def test_a_packed_body_that_ends_early_gives_what_there_is():
    packed = gzip.compress(b"a long text " * 1000)

    assert b"a long text ".startswith(b"".join(pieces("gzip", [packed[:20]]))[:12])
