"""The pages of the documentation, taken apart: fenced blocks, what is said about them, links and headings."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
PLUGIN_PAGES = sorted(ROOT.glob("plugins/*/README.md"))
EXAMPLE_PAGES = sorted(ROOT.glob("examples/plugins/*/README.md"))

_FENCED = re.compile(r"^```(?P<language>\{\w+\}|\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_COMMENT = re.compile(r"# file: (\S+)\n")
# A comment on the line before a block, which no reader of the page sees.
_DIRECTIVE = re.compile(r"<!-- (?P<name>not run|file|faulty file|prints)(?:: (?P<value>[^\n]+?))? -->\n\Z")
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: what follows the fence; in braces, what Sphinx makes the block into.
        text: what is in it.
        line: where its text begins, from 1.
        directive: ``not run``, ``file``, ``faulty file`` or ``prints``; empty for none.
        value: of the directive: the reason, or the file's name.
    """

    language: str
    text: str
    line: int
    directive: str
    value: str


def blocks_of(page):
    """Find the fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [_block(text, match) for match in _FENCED.finditer(text)]


def links_of(page):
    """Find the links that lead to files of the repository, or to headings."""
    links = _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    return [link for link in links if "://" not in link and not link.startswith("mailto:")]


def anchors_of(page):
    """Name the headings of a page as forges do in links."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _block(page_text, match):
    directive = _DIRECTIVE.search(page_text[: match.start()])
    name, value = (directive["name"], directive["value"] or "") if directive else ("", "")
    text = match["text"]
    comment = _FILE_COMMENT.match(text)
    if comment and not directive:
        name, value, text = "file", comment[1], text[comment.end() :]
    line = page_text.count("\n", 0, match.start("text")) + 1 + (1 if comment and not directive else 0)
    return Block(match["language"], text, line, name, value)
