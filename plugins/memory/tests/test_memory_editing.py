"""Changing MEMORY.md: what was not to be changed is still there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_memory.document import SECTIONS, section_of, sections, skeleton
from oneclaw_memory.editing import as_stored, is_known, list_items, normal_text, places_of, replaced, with_items

# What Markdown means something by, and what it does not.
LINES = st.sampled_from(
    (
        *(
            "",
            " ",
            "text",
            "- one",
            "- two  ",
            "  more",
            "# Title",
            "## Notes",
            "## Projects",
            "### Notes",
            "```",
            "~~~",
        ),
        *(
            "---",
            "1. first",
            "> quoted",
            "| a | b |",
            "## Notes ##",
            "naïve — 世界",
            "-",
            "* x",
            "\tindented",
            "<!-- -->",
        ),
    )
)
FILES = st.lists(LINES, max_size=20).map("\n".join)
CONTENTS = st.one_of(st.text(max_size=80), FILES)
HEADINGS = st.sampled_from(list(SECTIONS.values()))


def add(text, heading, content):
    return with_items(text, heading, list_items(normal_text(content)))


def remove(text, wanted):
    (place,) = places_of(text, wanted)
    return replaced(text, place, place + len(wanted), "")


def is_subsequence(lines, of):
    rest = iter(of)
    return all(line in rest for line in lines)


@pytest.mark.long
@given(FILES, HEADINGS, CONTENTS)
def test_adding_loses_no_line_and_ends_in_a_newline(text, heading, content):
    items = list_items(normal_text(content))
    changed = with_items(text, heading, items)
    kept = [line for line in text.split("\n") if line.strip()]
    assert is_subsequence(kept, [line for line in changed.split("\n") if line.strip()])
    assert changed.endswith("\n") or (text.strip() and not text.endswith("\n"))
    new = [line for item in items for line in item.split("\n") if line.strip()]
    assert len([line for line in changed.split("\n") if line.strip()]) >= len(kept) + len(new)


@given(FILES, HEADINGS, CONTENTS, CONTENTS)
def test_what_is_saved_makes_no_heading_and_stands_in_its_section(text, heading, first, second):
    before = [each.heading for each in sections(text if text.strip() else skeleton()) if each.level]
    changed = add(add(text, heading, f"a{first}"), heading, f"b{second}")
    after = [each.heading for each in sections(changed) if each.level]
    assert after in (before, [*before, heading])
    section = section_of(changed, heading)
    saved = [entry for entry in section.entries if entry[:1] in ("a", "b")]
    assert saved[-1].startswith("b")


@given(FILES, HEADINGS, st.text("abc xyz\n", min_size=1, max_size=40))
def test_adding_and_removing_gives_the_same_lines(text, heading, content):
    content = normal_text(f"unique {content}")
    changed = add(text, heading, content)
    removed = remove(changed, as_stored(content))
    kept = [line for line in text.split("\n") if line.strip()]
    if text.strip():
        left = [line for line in removed.split("\n") if line.strip()]
        assert left in (kept, [*kept, f"## {heading}"])


@given(FILES, CONTENTS, st.data())
def test_replacing_changes_nothing_outside_the_lines_of_the_place(text, content, data):
    lines = [line for line in text.split("\n") if line.strip() and len(places_of(text, line.strip())) == 1]
    if not lines:
        return
    wanted = data.draw(st.sampled_from(lines)).strip()
    (place,) = places_of(text, wanted)
    changed = replaced(text, place, place + len(wanted), normal_text(content))
    before = [line for line in text[:place].split("\n")[:-1] if line.strip()]
    after = [line.strip() for line in text[place + len(wanted) :].split("\n")[1:] if line.strip()]
    left = [line for line in changed.split("\n") if line.strip()]
    assert left[: len(before)] == before
    found = [line.strip() for line in left]
    # A continuation may have become the beginning of the item.
    assert is_subsequence(after, found) or is_subsequence(after[1:], found)


def test_an_entry_goes_below_its_heading_before_the_next_and_before_sub_headings():
    text = "# My memory\n\n## Projects\n- old\n\n### Details\n- x\n\n## Notes\n\n"
    assert add(text, "Projects", "new") == text.replace("- old\n", "- old\n- new\n")
    assert add(text, "Notes", "new") == text.replace("## Notes\n\n", "## Notes\n\n- new\n\n")
    assert add(text, "Interests", "new") == f"{text}## Interests\n\n- new\n"


def test_paragraphs_and_lists_are_kept_apart():
    assert add("## Notes\nparagraph", "Notes", "new") == "## Notes\nparagraph\n\n- new\n"
    assert add("## Notes\n## Projects\n", "Notes", "new") == "## Notes\n\n- new\n\n## Projects\n"


def test_an_empty_file_gets_all_sections():
    assert [each.heading for each in sections(add(" \n", "Notes", "x"))] == ["Memory", *SECTIONS.values()]


@pytest.mark.parametrize(
    ("content", "items"),
    [
        ("one line", ["- one line"]),
        ("- already a bullet", ["- already a bullet"]),
        ("* a\n* b\n  more\n\n+ c", ["- a", "- b\n    more", "- c"]),
        ("first:\nsecond\n\n\n- third", ["- first:\n  second\n\n  - third"]),
        ("## Heading\n```\ncode", ["- ## Heading\n  ```\n  code"]),
        ("1. one\n2. two", ["- 1. one\n  2. two"]),
        ("a\r\nb\rc\x00\x1b[31m\u2028d", ["- a\n  b\n  c\ufffd [31m d"]),
        ("-", []),
        ("- \n*", []),
        ("", []),
    ],
)
def test_contents_become_bullets(content, items):
    assert list_items(normal_text(content)) == items


def test_what_is_known_is_found_whatever_its_case_and_line_breaks():
    text = "## Notes\n\n- The user drinks green\n  tea every morning.\n- Has a cat\n"
    assert is_known(text, "- the user drinks GREEN tea every morning")
    assert is_known(text, "- drinks green tea every")
    assert is_known(text, "- has a cat.")
    assert not is_known(text, "- a cat")  # short, and only part of an entry
    assert not is_known(text, "- The user drinks black tea every morning")


def test_a_whole_entry_is_taken_out_with_its_bullet():
    text = "## Notes\n\n- one\n- two\n  goes on\n\n- three\n"
    assert remove(text, "one") == "## Notes\n\n- two\n  goes on\n\n- three\n"
    assert remove(text, "two\n  goes on") == "## Notes\n\n- one\n\n- three\n"
    assert remove(text, "two") == "## Notes\n\n- one\n- goes on\n\n- three\n"
    assert remove(text, "- two") == "## Notes\n\n- one\n- goes on\n\n- three\n"
    assert remove(text, "goes on") == "## Notes\n\n- one\n- two\n\n- three\n"
    assert remove(text, "wo") == text.replace("two", "t")
    assert remove("a\n\nb\n\nc", "b") == "a\n\nc"


def test_replacing_an_entry_keeps_what_stands_around_it():
    text = "- likes tea, and dogs\n- two\n"
    place = text.index("tea")
    assert replaced(text, place, place + 3, "coffee\nblack") == "- likes coffee\n  black, and dogs\n- two\n"
    place = text.index("two")
    assert replaced(text, place, place + 3, "- 2\n- 3") == "- likes tea, and dogs\n- 2\n- 3\n"
    assert replaced("two\n", 0, 3, "# no heading") == "- # no heading\n"


def test_headings_are_no_place_to_change():
    text = "## Notes\n- Notes are here\n"
    assert places_of(text, "Notes") == [text.index("Notes are")]
    assert places_of(text, "Notes\n- Notes") == []
