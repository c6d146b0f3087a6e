"""Markdown that arrives in pieces, on a terminal."""

import click
import pytest
from oneclaw_terminal.markdown import MarkdownBlocks, render_markdown
from rich.cells import cell_len

ANSWER = """# Result

Some **bold** text
on two lines.

```python
x = 1

y = 2
```
- one
- two

  with a paragraph
- three

| a | b |
|---|--:|
| 1 | 2 |

> quoted

The end"""


def cut(text, size):
    blocks = MarkdownBlocks()
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    finished = [block for piece in pieces for block in blocks.add(piece)]
    return [*finished, *filter(None, [blocks.finish()])]


def shown(source, width=60):
    return render_markdown(source, width, has_colour=False)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_are_the_same_however_a_text_is_cut(size):
    blocks = cut(ANSWER, size)
    assert "".join(each.source for each in blocks).replace("\n", "") == ANSWER.replace("\n", "")
    assert [each.source.split("\n")[0] for each in blocks] == [
        "# Result",
        "Some **bold** text",
        "```python",
        "- one",
        "- two",
        "- three",
        "| a | b |",
        "> quoted",
        "The end",
    ]
    assert [each.source for each in blocks if not each.has_gap] == ["- two\n\n  with a paragraph\n", "- three\n\n"]


def test_code_that_goes_on_is_shown_in_parts_with_its_language():
    blocks = cut("```python\n" + "x = 1\n" * 250 + "```\nDone.\n", 100)
    assert [each.source.startswith("```python\n") for each in blocks] == [True, True, True, False]
    assert [each.has_gap for each in blocks] == [True, False, False, True]
    assert sum(each.source.count("x = 1") for each in blocks) == 250


def test_what_is_open_is_shown_from_its_end():
    blocks = MarkdownBlocks()
    blocks.add("```python\n" + "".join(f"number({line})\n" for line in range(90)))
    source = blocks.open_block().source
    assert source.startswith("```python\nnumber(50)\n")
    assert source.endswith("number(89)\n")


def test_nothing_that_a_model_writes_is_hidden_or_steers_the_terminal():
    source = (
        "<b>bold?</b> <!-- a comment --> ![picture](https://evil.example/x.png) [good.example](https://evil.example)\n\n"
        "&#x1b;[2J &#x202e;backwards <https://plain.example>\n\n[hidden]: https://evil.example/ref\n"
    )
    text = click.unstyle(shown(source, 200))
    for part in ("<b>bold?</b>", "<!-- a comment -->", "picture", "(https://evil.example/x.png)"):
        assert part in text
    assert "(https://evil.example)" in text
    assert "[hidden]: https://evil.example/ref" in text
    assert "\\u202ebackwards" in text
    assert text.count("https://plain.example") == 1
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_tables_fit_narrow_terminals():
    narrow = "| name | size |\n|---|---|\n| a | 1 |\n"
    wide = "| alpha | beta | gamma | delta |\n|---|---|---|---|\n" + "| abcdefghijkl " * 4 + "|\n"
    assert "─" in shown(narrow, 40)
    rows = shown(wide, 40).splitlines()
    assert len(rows) == 4
    assert all("abcdefghijkl" in row and cell_len(row) <= 60 for row in rows)
    assert "alpha" in rows[0]


def test_colours_are_left_out_where_they_are_not_wanted():
    source = "```diff\n-old\n+new\n```\n"
    coloured = render_markdown(source, 40, has_colour=True)
    assert "\x1b[91m-old" in coloured
    assert "\x1b[92m+new" in coloured
    assert "\x1b[9" not in shown(source)
