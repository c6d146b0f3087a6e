"""Addresses in texts, and those that count as known to the model or the user."""

import pytest

from oneclaw_core.tools.links import links_of_page, links_of_user, one_form, without_fragment


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
