"""No sentence that users or models read has a word that a rename glued together, such as the name of a private class.

In code and manifests, a word with a capital letter inside must be a public name of OneClaw, a key or value in the code,
or in ``KNOWN``. Pages name many products, so there it must only not be the name of one of our private classes.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from documentation_pages import EXAMPLE_PAGES, PAGES, PLUGIN_PAGES, ROOT

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from pathlib import Path

# Names of products, and words of other languages and formats that sentences and pages use.
KNOWN = {"JavaScript", "YouTube", "globalThis", "pageToken"}
CODE = [*ROOT.glob("oneclaw_core/**/*.py"), *ROOT.glob("plugins/*/*oneclaw*/**/*.py")]
MANIFESTS = [
    *ROOT.glob("oneclaw_core/**/*.json"),
    *ROOT.glob("plugins/*/oneclaw_*/**/*.json"),
]
CAPITAL_INSIDE = re.compile(r"(?<![\w./$%@:`'\"{<=-])[A-Za-z]*[a-z][A-Z][a-z]+[A-Za-z]*(?![\w`(=/:-])")
ONE_WORD = re.compile(r"[\"']([A-Za-z]+)[\"']")
LOWER_CASE_WORD = re.compile(r"(?:^|(?<=\s))[a-z]{2,}(?=[\s,.;:]|$)")
QUOTED = re.compile(r"^```.*?^```$|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)|https?://\S+", re.MULTILINE | re.DOTALL)


def is_sentence(text: str) -> bool:
    """Tell a sentence from a list of names and from a piece of another language."""
    return "\n" not in text.strip() and not text.lstrip().startswith("<") and len(LOWER_CASE_WORD.findall(text)) >= 2


@cache
def read(path: Path) -> tuple[tuple[str, ...], frozenset[str]]:
    """List the texts of a module without its docstrings, and the names of its classes."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = tuple(
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    )
    return texts, frozenset(node.name for node in nodes if isinstance(node, ast.ClassDef))


def strings_of(path: Path) -> tuple[str, ...]:
    """List the texts of a module without its docstrings."""
    return read(path)[0]


@cache
def words_of_code() -> frozenset[str]:
    """Collect the public names, Python's own, and texts of one word, which are keys and values of services."""
    public = re.findall(r"\w+", (ROOT / "release" / "public-api.txt").read_text(encoding="utf-8"))
    single = (word for path in CODE for word in ONE_WORD.findall(path.read_text(encoding="utf-8")))
    return frozenset({*KNOWN, *public, *dir(builtins), *single})


def texts_in(value: Any) -> Iterator[str]:
    """List the texts of a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


@cache
def classes() -> frozenset[str]:
    """Collect the names of our classes."""
    return frozenset(name for path in CODE for name in read(path)[1])


def glued(path: Path, texts: Iterable[str], of: Container[str] | None = None) -> Iterator[str]:
    """Name the words that should not be there, of all words or of some."""
    for text in texts:
        for match in CAPITAL_INSIDE.finditer(text):
            word = match[0].removesuffix("s")
            if not words_of_code() & {word, match[0]} and (of is None or word in of):
                yield f"{path.relative_to(ROOT)}: {match[0]}: {text[max(0, match.start() - 30) : match.end() + 30]!r}"


@pytest.mark.long
def test_sentences_in_code_have_no_glued_words():
    assert len(CODE) > 300
    assert [each for path in CODE for each in glued(path, filter(is_sentence, strings_of(path)))] == []


def test_manifests_have_no_glued_words():
    assert MANIFESTS
    found = (
        each
        for path in MANIFESTS
        for each in glued(path, filter(is_sentence, texts_in(json.loads(path.read_text(encoding="utf-8")))))
    )
    assert list(found) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [*PAGES, *PLUGIN_PAGES, *EXAMPLE_PAGES], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_pages_have_no_glued_words(page):
    assert list(glued(page, [QUOTED.sub(" ", page.read_text(encoding="utf-8"))], classes())) == []


@pytest.mark.parametrize("text", ["TextLook for it by its title", "the fileLook is not there"])
def test_a_glued_word_is_found(text):
    [found] = glued(ROOT / "README.md", [text])
    assert "Look" in found
