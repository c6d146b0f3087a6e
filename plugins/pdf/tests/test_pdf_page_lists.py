from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_pdf.errors import PdfProblem
from oneclaw_pdf.page_lists import format_page_list, parse_page_list


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("1,3,5-7", [1, 3, 5, 6, 7]),
        ("4", [4]),
        (" 2 , 4 - 5 ", [2, 4, 5]),
        ("5\u20137", [5, 6, 7]),
        ("6-", [6, 7]),
        ("7,1", [7, 1]),
        ("2,1-3,2", [2, 1, 3]),
        ("7-7", [7]),
        ("all", [1, 2, 3, 4, 5, 6, 7]),
        ("ALL", [1, 2, 3, 4, 5, 6, 7]),
        ("  ", [1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_a_list_means_just_those_pages(text, pages):
    assert list(parse_page_list(text, 7)) == pages


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "there is no page 0"),
        ("8", "there is no page 8"),
        ("5-9", "there is no page 9"),
        ("9-", "there is no page 9"),
        ("3-2", "the range 3-2 runs backwards"),
        ("-3", "'-3' is not a page"),
        ("one", "'one' is not a page"),
        ("1,,2", "'' is not a page"),
        ("1-2-3", "'1-2-3' is not a page"),
        ("1.5", "'1.5' is not a page"),
        ("\u0663", "is not a page"),
        ("9" * 400, "is not a page"),
        ("1," * 5000, "longer than"),
    ],
)
def test_an_invalid_list_says_which_pages_there_are(text, said):
    with pytest.raises(PdfProblem) as caught:
        parse_page_list(text, 7)

    assert caught.value.error_type == "invalid_page_range"
    assert said in str(caught.value)
    assert "pages 1-7" in str(caught.value)


@pytest.mark.parametrize(
    ("pages", "text"), [([1, 3, 5, 6, 7], "1, 3, 5-7"), ([4], "4"), ([2, 1], "2, 1"), ([], ""), (range(1, 7), "1-6")]
)
def test_a_list_is_written_short(pages, text):
    assert format_page_list(pages) == text


@given(st.lists(st.integers(1, 99), min_size=1, max_size=30, unique=True))
def test_what_is_written_is_read_as_the_same_pages(pages):
    text = format_page_list(pages)

    assert list(parse_page_list(text, 99)) == pages


@given(st.text(st.sampled_from("0123456789-, alx\u2013"), max_size=30), st.integers(1, 50))
def test_every_text_gives_pages_of_the_document_or_says_what_is_wrong(text, page_count):
    try:
        pages = parse_page_list(text, page_count)
    except PdfProblem:
        return
    assert pages
    assert len(set(pages)) == len(pages)
    assert all(1 <= page <= page_count for page in pages)
