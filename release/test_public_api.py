"""Check that public names change only on purpose."""

import difflib

from public_api import LISTING, public_api

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
