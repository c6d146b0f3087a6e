"""Parts of pages that are made from the program when the site is built.

A page holds a block that names the part; its text is what readers of the plain file are told instead::

    ```{generated} settings
    `oneclaw config list` shows them.
    ```

The part is the module of that name in `parts/`, whose `markdown(arguments, lines)` gives the text that takes the place
of the block: `arguments` are the words behind the name, `lines` those in the block.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_BLOCK = re.compile(r"^```\{generated\} (?P<words>[^\n]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def with_parts(text: str) -> str:
    """Put the parts into a page.

    Args:
        text: the page, in Markdown.
    """
    return _BLOCK.sub(lambda match: _part(match["words"].split(), match["text"].splitlines()), text)


def part_names() -> list[str]:
    """Name all parts."""
    return sorted(path.stem for path in (Path(__file__).parent / "parts").glob("[!_]*.py"))


def _part(words: list[str], lines: list[str]) -> str:
    made: str = import_module(f"parts.{words[0]}").markdown(words[1:], lines)
    return made.strip("\n")


def _put_parts(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = with_parts(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", _put_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
