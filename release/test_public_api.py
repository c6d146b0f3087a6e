"""Check that public names change only on purpose, and that there are not too many of them."""

import difflib
from collections import Counter

from public_api import LISTING, MAX_NAMES, audiences, own_names, public_api

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
    assert "oneclaw_core.cli.print_wrapped" in names
    assert not [each for each in names if each.startswith(("oneclaw_core.testing.", "pytest_oneclaw."))]
