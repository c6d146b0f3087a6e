"""The style of each element of an HTML mail, from its ``style`` attribute and the mail's style sheets.

Parsing is tinycss2's and cssselect's. Selectors are matched here, since their translation to XPath takes quadratic time
with hostile mails. What depends on a device, such as rules for narrow screens or print, counts as not given.

Pure, without any I/O.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

Style = dict[str, str]
"""Values in lower case, by the names of their properties."""

# Properties that decide whether a text can be seen.
PROPERTIES = frozenset((
    "display", "visibility", "opacity", "font-size", "font", "color", "background", "background-color",
    "background-image", "width", "height", "max-width", "max-height", "overflow", "overflow-x", "overflow-y",
    "position", "left", "top", "right", "bottom", "text-indent", "margin", "margin-left", "margin-top", "clip",
    "clip-path", "transform", "filter", "content-visibility",
))  # fmt: skip
_MAX_SHEET_CHARACTERS = 200_000
_MAX_ATTRIBUTE_CHARACTERS = 4_000
_MAX_RULES = 3_000
_MAX_STEPS = 300_000
_MEDIA = frozenset({"", "all", "screen", "only screen"})


@dataclass(frozen=True, slots=True)
class _Rule:
    """A selector with what it sets; ``rank`` orders rules by specificity and place."""

    selector: Any
    rank: tuple[int, int, int, int]
    declarations: tuple[tuple[str, str, bool], ...]


@dataclass(slots=True)
class StyleSheets:
    """The style sheets of a mail.

    Attributes:
        is_complete: False once a sheet was too long, or took too many steps, to be followed to its end.
    """

    is_complete: bool = True
    _rules: dict[tuple[str, str], list[_Rule]] = field(default_factory=lambda: defaultdict(list))
    _count: int = 0
    _steps: int = 0

    @classmethod
    def of(cls, page: HtmlElement) -> StyleSheets:
        """Parse the ``style`` elements of a page."""
        sheets = cls()
        room = _MAX_SHEET_CHARACTERS
        for element in page.iter("style"):
            if (element.get("media") or "").strip().lower() not in _MEDIA:
                continue
            text = element.text or ""
            sheets.is_complete &= len(text) <= room
            try:
                sheets._add(text[:room])
            except RecursionError:  # brackets within brackets
                sheets.is_complete = False
            room -= min(len(text), room)
        return sheets

    def style_of(self, element: HtmlElement) -> Style:
        """Return what an element's style sets, without what it inherits."""
        found: list[tuple[tuple[bool, int, int, int, int], str, str]] = []
        for rule in self._candidates(element):
            if self._steps > _MAX_STEPS:
                self.is_complete = False
                break
            if self._matches(rule.selector, element):
                found += [((is_important, *rule.rank), name, value) for name, value, is_important in rule.declarations]
        text = (element.get("style") or "")[:_MAX_ATTRIBUTE_CHARACTERS]
        try:
            found += [((each[2], 1, 0, 0, 0), each[0], each[1]) for each in _declarations(text)] if text else []
        except RecursionError:
            self.is_complete = False
        style: Style = {}
        for _, name, value in sorted(found, key=lambda each: each[0]):
            style.pop(name, None)  # the last one set comes last, which matters for shorthands
            style[name] = value
        return style

    def _add(self, text: str) -> None:
        import tinycss2

        waiting: list[Any] = list(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True))
        for node in waiting:  # grows
            if node.type == "at-rule" and node.lower_at_keyword == "media" and node.content is not None:
                if tinycss2.serialize(node.prelude).strip().lower() in _MEDIA:
                    waiting += tinycss2.parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True)
            elif node.type == "qualified-rule":
                declarations = tuple(_declarations(node.content))
                if declarations:
                    self._add_rule(tinycss2.serialize(node.prelude), declarations)

    def _add_rule(self, prelude: str, declarations: tuple[tuple[str, str, bool], ...]) -> None:
        import cssselect

        try:
            selectors = cssselect.parse(prelude)
        except cssselect.SelectorError:
            return
        for selector in selectors:
            if self._count == _MAX_RULES:
                self.is_complete = False
                return
            if selector.pseudo_element is not None or not _is_known(selector.parsed_tree):
                continue
            self._count += 1
            rule = _Rule(selector.parsed_tree, (0, *_specificity(selector)), declarations)
            self._rules[_key(selector.parsed_tree)].append(rule)

    def _candidates(self, element: HtmlElement) -> Iterator[_Rule]:
        if self._count == 0:
            return
        keys = [("id", element.get("id") or ""), ("tag", str(element.tag)), ("", "")]
        keys += [("class", each) for each in dict.fromkeys((element.get("class") or "").split())]
        for key in keys:
            yield from self._rules.get(key, ())

    def _matches(self, tree: Any, element: HtmlElement) -> bool:
        """Match from right to left; of several ancestors the nearest that fits is tried first."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return False
        kind = type(tree).__name__
        if kind == "Element":
            return tree.element is None or tree.element.lower() == element.tag
        if kind == "CombinedSelector":
            return self._matches(tree.subselector, element) and any(
                self._matches(tree.selector, each) for each in _related(element, tree.combinator)
            )
        if kind == "Class":
            fits = tree.class_name in (element.get("class") or "").split()
        elif kind == "Hash":
            fits = tree.id == element.get("id")
        else:
            fits = _has_attribute(tree, element)
        return fits and self._matches(tree.selector, element)


def _declarations(content: Any) -> Iterator[tuple[str, str, bool]]:
    import tinycss2

    for node in tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True):
        if node.type == "declaration" and node.lower_name in PROPERTIES:
            value = tinycss2.serialize(_without_comments(node.value)).strip().lower()
            yield node.lower_name, value, node.important


def _without_comments(nodes: Iterable[Any]) -> list[Any]:
    return [each for each in nodes if each.type != "comment"]


def _specificity(selector: Any) -> tuple[int, int, int]:
    found: tuple[int, int, int] = selector.specificity()
    return found


def _is_known(tree: Any) -> bool:
    """Return True if a selector has nothing in it but names, classes, ids, attributes and their combinations."""
    while True:
        kind = type(tree).__name__
        if kind == "Element":
            return True
        if kind == "CombinedSelector":
            if not _is_known(tree.subselector):
                return False
        elif kind not in ("Class", "Hash", "Attrib"):
            return False
        tree = tree.selector


def _key(tree: Any) -> tuple[str, str]:
    """Name what an element must have for a selector to be tried on it: an id, a class or a tag."""
    tree = tree.subselector if type(tree).__name__ == "CombinedSelector" else tree
    tag = ""
    while True:
        kind = type(tree).__name__
        if kind == "Hash":
            return "id", tree.id
        if kind == "Class":
            return "class", tree.class_name
        if kind == "Element":
            tag = (tree.element or "").lower()
            return ("tag", tag) if tag else ("", "")
        tree = tree.selector


def _related(element: HtmlElement, combinator: str) -> Iterator[HtmlElement]:
    if combinator in " >":
        parent = element.getparent()
        while parent is not None:
            yield parent
            if combinator == ">":
                return
            parent = parent.getparent()
    else:
        previous = element.getprevious()
        while previous is not None:
            yield previous
            if combinator == "+":
                return
            previous = previous.getprevious()


def _has_attribute(tree: Any, element: HtmlElement) -> bool:
    found = element.get(tree.attrib.lower())
    if found is None or tree.operator == "exists":
        return found is not None
    wanted: str = tree.value.value
    fits = {
        "=": found == wanted,
        "~=": wanted in found.split(),
        "|=": found == wanted or found.startswith(f"{wanted}-"),
        "^=": bool(wanted) and found.startswith(wanted),
        "$=": bool(wanted) and found.endswith(wanted),
        "*=": bool(wanted) and wanted in found,
    }
    return fits.get(tree.operator, False)
