"""Reading MEMORY.md, whatever the user has made of it."""

import pytest
from oneclaw_memory.document import SECTIONS, category_of, section_of, sections, skeleton


def test_a_new_file_has_the_six_sections():
    assert [each.heading for each in sections(skeleton())] == ["Memory", *SECTIONS.values()]
    assert list(SECTIONS.values()) == [
        "User Profile",
        "Preferences",
        "Interests",
        "Habits/Routines",
        "Projects",
        "Notes",
    ]
    assert not any(each.entries for each in sections(skeleton()))


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("profile", "profile"),
        (" Preferences ", "preferences"),
        ("routines", "habits"),
        ("workflow", "habits"),
        ("Habits/Routines", "habits"),
        ("user  profile", "profile"),
        ("", "notes"),
        ("whatever", "notes"),
    ],
)
def test_categories_have_other_names_and_all_else_is_notes(name, category):
    assert category_of(name) == category


def test_a_section_is_found_by_its_exact_heading_only():
    text = "## Notes on cooking\n- a\n### Notes\n- b\n# Notes\n- c\n##Notes\n- d\n```\n## Notes\n```\n"
    assert section_of(text, "Notes") is None
    assert section_of(text + "##  notes ##\r\n- e", "Notes").entries == ("e",)


def test_entries_are_bullets_and_paragraphs():
    text = "intro\nmore\n\n- one\n  goes on\n\n  still one\n* two\n1. three\n\nparagraph\nof two lines\n\n\nanother\n"
    (section,) = sections(text)
    assert section.entries == (
        "intro\nmore",
        "one\ngoes on\n\nstill one",
        "two",
        "three",
        "paragraph\nof two lines",
        "another",
    )


def test_headings_in_code_are_none_and_a_fence_that_nothing_closes_is_no_code():
    closed = "````\n# no\n```\n````\n# yes\n~~~\n# no\n~~~~\n"
    assert [each.heading for each in sections(closed)] == ["", "yes"]
    unclosed = "```\n# yes\n~~~\n# and yes\n"
    assert [each.heading for each in sections(unclosed)] == ["", "yes", "and yes"]


def test_hostile_text_is_read_in_no_time():
    for text in ("```\n" * 20_000, "# " + " " * 100_000 + "x", "`" * 3 + "\n" + "~~~\n````\n" * 10_000, "#" * 100_000):
        assert sections(text)
