"""Check that public names change only on purpose, and that there are not too many of them."""

import difflib
import sys
from collections import Counter

from public_api import LISTING, MAX_NAMES, ROOT, audiences, own_names, public_api

sys.path.insert(0, str(ROOT / "docs"))

from api_pages import FOLDER, api_pages

REMEDY = (
    "If that is meant, say so in CHANGELOG.md (what is removed was deprecated for a minor version before), and write "
    "the listing anew: uv run --group release python release/public_api.py > release/public-api.txt"
)


def test_the_public_names_are_those_of_the_listing():
    listed, found = LISTING.read_text(encoding="utf-8").splitlines(), public_api().splitlines()
    changes = difflib.unified_diff(listed, found, "release/public-api.txt", "the source", lineterm="", n=0)
    assert listed == found, "\n".join(["the public API has changed:", *changes, REMEDY])


def test_the_listing_has_all_that_is_exported():
    import oneclaw_core

    listed = public_api().split()
    names = [f"oneclaw_core.{name}" for name in oneclaw_core.__all__ if not name.startswith("_")]
    assert [name for name in names if not any(word.partition("(")[0].rstrip(":") == name for word in listed)] == []


def test_there_are_few_enough_public_names():
    names = {name for listed in audiences().values() for _, name in listed}
    assert len(names) <= MAX_NAMES, "move names that one of our plugins uses to it, or to those for our own plugins"


def test_each_public_name_is_for_one_audience():
    assert list(audiences()) == [
        "For tools",
        "For plugins",
        "For providers",
        "For programs that embed OneClaw",
        "For tests",
    ]
    counts = Counter(each for listed in audiences().values() for each in listed)
    assert [each for each, count in counts.items() if count > 1] == []


def test_names_for_our_own_plugins_are_listed_apart():
    names = own_names()
    assert "oneclaw_core.cli.print_error" in names
    assert not [each for each in names if each.startswith(("oneclaw_core.testing.", "pytest_oneclaw."))]


def test_the_pages_of_the_api_are_those_of_the_source():
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    pages = api_pages()
    assert written.keys() == pages.keys()
    stale = [name for name, text in pages.items() if written[name] != text]
    assert stale == [], "write them anew: uv run --group release python docs/api_pages.py"


def test_the_pages_have_signatures_and_what_docstrings_say():
    page = api_pages()["oneclaw_core.md"]
    assert "## OneClaw" in page
    assert "async def call_tool(" in page
    assert "- `attachments`: files for the model to look at." in page
    assert "## Message" in page
    assert "- `sequence: int | None`: the place in the history; `None` until stored." in page
    assert ":class:" not in page
    assert page.count("```") % 2 == 0
