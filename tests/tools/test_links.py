"""Addresses in texts, and those that count as known to the model or the user."""

import pytest

from oneclaw_core.provenance import links
from oneclaw_core.provenance.links import links_of_page, links_of_user, one_form, without_fragment


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ('<a href="/docs/a.html">', "https://example.com/docs/a.html"),
        ("<a href='b.html'>", "https://example.com/start/b.html"),
        ("[the manual](../manual)", "https://example.com/manual"),
        ("see https://other.example/x for more", "https://other.example/x"),
        ('{"next": "https:\\/\\/other.example\\/y"}', "https://other.example/y"),
        ('<a href="/a?b=1&amp;c=2">', "https://example.com/a?b=1&c=2"),
    ],
)
def test_links_of_a_page_are_found_however_they_are_written(text, link):
    assert link in links_of_page(text, "https://example.com/start/page")


def test_a_page_knows_its_own_address_with_and_without_its_fragment():
    found = links_of_page("", "https://example.com/page#part")
    assert found == {"https://example.com/page#part", "https://example.com/page"}


def test_the_fragment_is_all_that_is_taken_off():
    assert without_fragment("https://example.com/a?b=c#d") == "https://example.com/a?b=c"
    assert without_fragment("https://example.com/a") == "https://example.com/a"


def test_a_host_that_the_user_writes_may_be_opened_both_ways():
    assert {"http://example.com", "https://example.com"} <= links_of_user("look at example.com, please")


@pytest.mark.parametrize("url", ["mailto:a@example.com", "https://", "ftp://example.com/a", "https://[::1", "a"])
def test_what_is_no_address_of_the_web_is_no_link(url):
    assert one_form(url) is None


def test_urls_are_found_in_any_text_without_what_ends_a_sentence():
    for text, found in (
        ("see https://a.example/x.", {"https://a.example/x.", "https://a.example/x"}),
        ("(https://a.example/x)", {"https://a.example/x)", "https://a.example/x"}),
        ("https://a.example/x_(y)", {"https://a.example/x_(y)"}),
        ("[https://a.example/x]!", {"https://a.example/x]!", "https://a.example/x"}),
        ("HTTP://a.example/x?!*_~", {"http://a.example/x?!*_~", "http://a.example/x"}),
        ("'https://a.example/x'", {"https://a.example/x"}),
        ("https://a.example/?a=1&amp;b=2", {"https://a.example/?a=1&amp;b=2", "https://a.example/?a=1&b=2"}),
        ("https://a.example/#x", {"https://a.example/#x", "https://a.example/"}),
    ):
        assert links_of_page(text, "https://p.example/") == found | {"https://p.example/"}, text


def test_links_are_found_in_attributes_and_markdown():
    for text, link in (
        ('<img SRC = "/a">', "https://p.example/a"),
        ("<a href=b>", "https://p.example/d/b"),
        ("[x]( <c_(1)> )", "https://p.example/d/c_(1)"),
        ("[x](c 'title')", "https://p.example/d/c"),
        ("<a href=' /d '>", "https://p.example/d"),
        ("<a href=''>", "https://p.example/d/"),
    ):
        assert links_of_page(text, "https://p.example/d/") == {link, "https://p.example/d/"}, text
    for text in ("<a xhref='/a'>", "<a href='mailto:a@b.example'>", "<a href='https://[::1/'>", "x](", "<a data=/a>"):
        assert links_of_page(text, "https://p.example/d/") == {"https://p.example/d/"}, text


def test_a_page_of_links_is_read_in_part(monkeypatch):
    monkeypatch.setattr(links, "MAX_LINKS", 3)
    page = "https://p.example/"
    written = links_of_page(" ".join(f"https://a.example/{number}" for number in range(9)), page)
    assert written == {page, *(f"https://a.example/{number}" for number in range(4))}
    assert len(links_of_page(" ".join(f"<a href={number}>" for number in range(9)), page)) == 4


def test_hosts_that_a_user_writes_are_opened_both_ways():
    for text, names in (
        ("example.com", {"example.com"}),
        ("Ask sub.example.co.uk:8080/a/b.", {"sub.example.co.uk:8080/a/b", "sub.example.co.uk:8080/a/b."}),
        ("a@example.com", set()),
        ("example.com@x", set()),
        ("/etc/x.conf", set()),
        ("v1.2", set()),
        ("x.y1", set()),
    ):
        found = {f"{scheme}://{name}" for scheme in ("http", "https") for name in names}
        assert links_of_user(text) == found, text
    assert links_of_user("https://example.com/a") == {"https://example.com/a"}
