"""Attacks that still succeed; the lists are to become empty."""

import pytest

EXITS = frozenset(
    {
        "query",
        "query in base64",
        "path",
        "host",
        "host in base32",
        "page",
        "browser",
        "script in the browser",
        "body",
        "body in small parts",
        "put",
        "header",
        "fragments",
        "script",
        "script that posts",
        "tool of a server",
        "mail of the mailbox",
        "file of Drive",
        "memory",
        "sub-agent",
        "created agent",
    }
)
INJECTIONS = frozenset(
    {
        "mail that asks for the code",
        "invitation that remembers",
        "hidden text on a page",
        "page in two stages",
        "page that posts",
        "page with an open redirect",
        "page that spells",
        "page that makes an agent",
        "search result with an order",
        "search result that hires",
        "search result for contacts",
        "report with white text",
        "poisoned description",
        "description that reads keys",
        "answer with an order",
        "answer that asks for a database",
        "skill that reports",
        "skill that makes itself at home",
        "file name with an order",
        "answer of a sub-agent",
        "note from before",
        "settings before sending",
    }
)
COMMANDS = frozenset({"git status", "make test", "sh check.sh"})


def open_hole(request, names, name):
    """Expect a test on the list to fail."""
    if name in names:
        request.applymarker(pytest.mark.xfail(reason="a hole that is being closed", strict=False))
