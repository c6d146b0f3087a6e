"""Telling what a web page is about from what stands around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# What never holds anything to read.
_SILENT_TAGS = (
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "button", "input", "select",
    "textarea", "dialog",
)  # fmt: skip
_NOISE_TAGS = frozenset({"nav", "header", "footer", "aside", "form"})
_NOISE_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog"})
_NAMED_TAGS = frozenset({"div", "section", "ul", "ol", "p", "span"})
# In the names of classes: what is noise, and what is only if it is made of links; restaurants have menus, too.
_NOISE_WORDS = re.compile(
    r"(?:^|[-_ ])(?:cookies?|consent|gdpr|popup|modal|advert(?:isement)?s?|ads?|navbar|nav|footer|copyright|"
    r"newsletter)(?:$|[-_ ])",
    re.IGNORECASE,
)
_LINK_WORDS = re.compile(r"(?:^|[-_ ])(?:sidebar|menu|breadcrumbs?|share|social)(?:$|[-_ ])", re.IGNORECASE)
_MAX_NAME_CHARACTERS = 500
# A part that calls itself the main one and has less of the page's text than this is a teaser.
_LEAST_SHARE = 0.25
# Some systems put a whole page into one form.
_LONG_FORM_CHARACTERS = 1_000


def main_content(page: HtmlElement) -> HtmlElement:
    """Find what a page is about, and blank out the noise in it.

    It goes by what pages say of themselves: ``main``, ``article``, roles, and the usual class names.

    Args:
        page: is changed.
    """
    for element in list(page.iter(*_SILENT_TAGS)):
        _blank(element)
    main = _main_part(page)
    told = _around(main, ("main", "article", "h1"))
    waiting = [main]
    while waiting:
        for element in waiting.pop():
            if not isinstance(element.tag, str):  # a comment, which the conversion leaves out
                continue
            if _is_noise(element, told):
                _blank(element)
                continue
            if element.tag in _NOISE_TAGS:
                element.tag = "div"  # the conversion would leave it out
            waiting.append(element)
    return main


def _main_part(page: HtmlElement) -> HtmlElement:
    """The part that the page itself says it is about; a list of articles is one part."""
    body = page.find(".//body")
    whole = body if body is not None else page
    least = max(_LEAST_SHARE * len(_text(whole)), 1)
    for path in ("//main", "//*[@role='main']", "//article"):
        found: list[HtmlElement] = page.xpath(path)
        if len(found) == 1 and len(_text(found[0])) >= least:
            return found[0]
    return whole


def _around(main: HtmlElement, tags: tuple[str, ...]) -> set[HtmlElement]:
    """All elements that hold one of these."""
    around: set[HtmlElement] = set()
    for element in main.iter(*tags):
        parent = element.getparent()
        while parent is not None and parent not in around:
            around.add(parent)
            parent = parent.getparent()
    return around


def _is_noise(element: HtmlElement, told: set[HtmlElement]) -> bool:
    hidden = element.get("hidden")
    if (hidden is not None and hidden.lower() != "until-found") or element.get("aria-hidden") == "true":
        return True
    if element in told:  # a heading with the title often stands in a separate header
        return False
    if element.tag in _NOISE_TAGS or element.get("role", "").lower() in _NOISE_ROLES:
        return element.tag != "form" or len(_text(element)) < _LONG_FORM_CHARACTERS
    if element.tag not in _NAMED_TAGS:
        return False
    names = f"{element.get('class', '')} {element.get('id', '')}"[:_MAX_NAME_CHARACTERS]
    if _NOISE_WORDS.search(names):
        return True
    return _LINK_WORDS.search(names) is not None and _is_made_of_links(element)


def _is_made_of_links(element: HtmlElement) -> bool:
    linked = sum(len(_text(link)) for link in element.iter("a"))
    return linked * 2 >= len(_text(element))


def _text(element: HtmlElement) -> str:
    return "".join(str(element.text_content()).split())


def _blank(element: HtmlElement) -> None:
    """Remove the content of an element.

    Removing the element too would join the texts around it, and copy them each time.
    """
    element.clear(keep_tail=True)
    element.tag = "span"
