"""The table of contents of the site is what the lists of `index.md` link to, a part for each heading.

So there is one list, which people can follow on a forge as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PART = re.compile(r"^## (?P<title>.+)\n(?P<text>(?:(?!^## ).*\n?)*)", re.MULTILINE)
_PAGE = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<path>[^)#\s]+)\.md\)", re.MULTILINE)


def parts_of(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Find the parts of the documentation.

    Args:
        text: the contents page, in Markdown.

    Returns:
        The title of each part, and the titles and paths (without ``.md``) of its pages.
    """
    parts = [
        (part["title"], [(page["title"], page["path"]) for page in _PAGE.finditer(part["text"])])
        for part in _PART.finditer(text)
    ]
    return [(title, pages) for title, pages in parts if pages]


def _add_toctrees(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname != app.config.root_doc:
        return
    for title, pages in parts_of(source[0]):
        entries = "\n".join(f"{name} <{path}>" for name, path in pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # After the links are turned to where the pages are.
    app.connect("source-read", _add_toctrees, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
