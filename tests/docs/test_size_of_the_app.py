"""The size of the app that the tutorial of embedding builds, and of its tests."""

from documentation_pages import ROOT, blocks_of

# Of the same app, and of its tests, in pydantic-ai.
APP_LINES = 47
TEST_LINES = 11


def lines_of(name):
    blocks = blocks_of(ROOT / "docs" / "first-server.md")
    (text,) = [each.text for each in blocks if each.directive == "file" and each.value == name]
    return [line for line in text.splitlines() if line.strip()]


def test_the_app_is_as_short_as_in_pydantic_ai():
    assert len(lines_of("shop.py")) <= APP_LINES
    assert len(lines_of("test_shop.py")) <= TEST_LINES


def test_the_app_has_what_it_is_counted_for():
    text = "\n".join(lines_of("shop.py"))
    assert "output=Advice" in text
    assert "StreamingResponse" in text
    assert "deps=" in text
    assert "aclosing" in text
