"""Tutorials, quickstarts and the cookbook work for somebody who has no checkout, with only our wheels."""

import re

import pytest
from documentation_pages import ROOT, blocks_of
from outside import TOX, built_wheels, outside
from page_follower import PageFollower

__all__ = ["built_wheels", "outside"]  # fixtures

pytestmark = [pytest.mark.one_python, pytest.mark.long]

# The tests of the documentation follow the others in the checkout, and `several-machines`, which needs two servers.
# It makes a package and says that `tox` checks it; the whole tox of that package runs at the end.
PAGE_WITH_PACKAGE = "first-plugin"
PAGES = [PAGE_WITH_PACKAGE, "cookbook", "quickstart", "first-provider", "oauth"]
PAGES += ["first-chat", "first-server", "first-mcp-server", "writing-plugins"]
_INSTALLS = re.compile(r'^pip install ("oneclaw-core\[standard\]".*)$', re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_works_without_the_checkout(name, outside):
    page = ROOT / "docs" / f"{name}.md"
    installs = _INSTALLS.findall(page.read_text(encoding="utf-8"))
    requirements = installs[0].replace('"', "").split() if installs else ["oneclaw-core[standard]"]
    follower = PageFollower(outside.make(*requirements, *(TOX if name == PAGE_WITH_PACKAGE else ())), page)
    try:
        for block in blocks_of(page):
            try:
                follower.follow(block)
            except AssertionError as error:
                error.add_note(f"in the block at {page.relative_to(ROOT)}:{block.line}")
                raise
        if name == PAGE_WITH_PACKAGE:
            outside.run_tox(follower.directory)
    finally:
        follower.close()
