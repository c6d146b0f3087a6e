"""The list of OneClaw's own plugins in docs/plugins.md."""

import pytest
from documentation_pages import ROOT

PAGE = ROOT / "docs" / "plugins.md"
pytestmark = pytest.mark.skipif(
    not (ROOT / "plugins").is_dir(), reason="a source distribution has no plugins beside it"
)


def test_the_list_is_the_one_of_today():
    from plugin_directory import page_with_directory

    page = PAGE.read_text("utf-8")
    assert page_with_directory(page) == page, "run: uv run python release/plugin_directory.py"


def test_each_plugin_has_a_section_with_what_it_adds():
    sections = PAGE.read_text("utf-8").split("\n### ")[1:]
    names = {section.partition("\n")[0] for section in sections}
    libraries = {"pytest_oneclaw", "channels", "http_providers"}
    folders = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")} - libraries
    assert names == {f"oneclaw-{name.replace('_', '-')}" for name in folders}
    pdf = next(section for section in sections if section.startswith("oneclaw-pdf\n"))
    assert "tool group `pdf` (3 tools)" in pdf
    assert "Permissions of its tools: `files.read`" in pdf
    assert "`oneclaw plugins install oneclaw-pdf`" in pdf
