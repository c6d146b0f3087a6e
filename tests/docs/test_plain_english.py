"""Docstrings and pages are written in plain English. `docs/words-to-avoid.txt`, which lint checks, has single words."""

import re

from documentation_pages import PAGES, ROOT

CODE = [*ROOT.glob("oneclaw_core/**/*.py"), *ROOT.glob("plugins/*/*oneclaw*/**/*.py")]
QUESTION = re.compile(r'"""(What|Whether|How|Where|Who|Which|Whoever) .*')
PHRASES = re.compile(r"\b((?:is|are) told of|for good|what becomes of|come to (?:its|their|an) end)\b", re.IGNORECASE)


def found_in(paths, pattern):
    return [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in paths
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]


def test_docstrings_open_with_a_verb_or_a_noun():
    assert len(CODE) > 300
    assert found_in(CODE, QUESTION) == []


def test_code_and_pages_avoid_stilted_phrases():
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    assert found_in([*CODE, *pages], PHRASES) == []
