"""Text of an HTML mail that its readers do not see: it is written for programs, such as filters and models.

A text counts as hidden if it is not displayed, transparent, tiny, of the colour of its background, cut off by a box
without a size, or outside the page. Where the background cannot be known, such as a picture, its colour is no reason.

Style sheets are parsed by tinycss2 and cssselect. Selectors are matched here, since their translation to XPath takes
quadratic time with hostile mails. What depends on a device, such as rules for narrow screens or print, counts as not
given. Pure, without any I/O.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    Color = tuple[float, float, float]

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
# Elements whose content is never text of the mail, or shown only where something else fails.
_SILENT_TAGS = frozenset((
    "script", "style", "title", "template", "svg", "iframe", "object", "embed", "noscript", "head", "audio",
    "video", "canvas", "datalist",
))  # fmt: skip
# Elements with a separate colour, or an attribute for one.
_COLORED_TAGS = frozenset({"a", "font", "body"})
_CUTTING = frozenset({"hidden", "clip", "scroll", "auto"})
# Below this contrast, by WCAG 2, letters and background are one to the eye; that of black on white is 21.
_LEAST_CONTRAST = 1.12
_LEAST_OPACITY = 0.05
_TINY_PIXELS = 2.0
_FAR_PIXELS = -500.0
_PIXELS = {"px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 37.8, "mm": 3.78, "em": 16.0, "rem": 16.0, "ex": 8.0}
_PIXELS |= {"vw": 8.0, "vh": 6.0, "ch": 8.0, "": 1.0}
_LENGTH = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?)([a-z%]*)")
_FONT_SIZE = re.compile(r"(?:\A|\s)((?:\d+(?:\.\d*)?|\.\d+)(?:[a-z]+|%)|0(?:\.0*)?)(?=\s|/|\Z)")
_BARE_HEX = re.compile(r"[0-9a-f]{3}(?:[0-9a-f]{3})?")
_NO_BOX = re.compile(r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?\s*\)")
_NO_PATH = re.compile(r"inset\(\s*(?:[5-9]\d|100)(?:\.\d+)?%|circle\(\s*0")
_NO_SCALE = re.compile(r"scale[xy]?\(\s*0(?:\.0*)?\s*[,)]")
_NO_FILTER = re.compile(r"opacity\(\s*0(?:\.0*)?%?\s*\)")
# Characters without a picture; variation selectors and joiners, which emoji and scripts need, only in runs.
_UNSEEN = re.compile(
    f"[{INVISIBLE_CHARACTERS}\\xad\\u034f\\u17b4\\u17b5\\u180b-\\u180d\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]+"
)
_UNSEEN_RUN = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}|[\u115f\u1160\u2800\u3164\uffa0]{2,}")


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


@dataclass(frozen=True, slots=True)
class _Look:
    """The inherited style of an element; a colour is ``None`` where it is not known."""

    color: Color | None = (0.0, 0.0, 0.0)
    ground: Color | None = (255.0, 255.0, 255.0)
    font_pixels: float = 16.0
    is_visible: bool = True

    @property
    def hides_text(self) -> bool:
        """True if no one sees a text that looks like this."""
        if not self.is_visible or self.font_pixels < _TINY_PIXELS:
            return True
        return (
            self.color is not None and self.ground is not None and _contrast(self.color, self.ground) < _LEAST_CONTRAST
        )


def visible_text(text: str) -> str:
    """Remove characters without a picture from a text, such as Unicode's tags, which spell what only programs read."""
    return _UNSEEN_RUN.sub("", _UNSEEN.sub("", text.replace("\u2028", "\n").replace("\u2029", "\n")))


def blank_hidden(page: HtmlElement) -> bool:
    """Empty what is not seen of a page, in place.

    Returns:
        False if the page's style sheets are too long to be followed to their end.
    """
    sheets = StyleSheets.of(page)
    waiting: list[tuple[HtmlElement, _Look]] = [(page, _Look())]
    while waiting:
        element, inherited = waiting.pop()
        style = sheets.style_of(element)
        if _is_gone(element, style):
            blank(element)
            continue
        look = _look(element, style, inherited)
        children = list(element)
        if look.hides_text:
            element.text = None
            for child in children:
                child.tail = None
        if not look.is_visible:
            element.attrib.pop("alt", None)  # a picture without letters or its own colours is seen all the same
        waiting += [(child, look) for child in children if isinstance(child.tag, str)]
    return sheets.is_complete


def blank(element: HtmlElement) -> None:
    """Empty an element in its place; taking it out would join the texts around it, each time copying them."""
    element.clear(keep_tail=True)
    element.tag = "span"


def _is_gone(element: HtmlElement, style: Style) -> bool:
    """Return True if nothing inside an element is seen, whatever its style."""
    if element.tag in _SILENT_TAGS or element.get("hidden") is not None:
        return True
    if element.tag == "dialog" and element.get("open") is None:
        return True
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return True
    if _number(style.get("opacity", "1")) < _LEAST_OPACITY or _NO_FILTER.search(style.get("filter", "")):
        return True
    if element.tag == "img":
        return any(_is_nothing(element.get(name) or style.get(name)) for name in ("width", "height"))
    return bool(style) and (_has_no_box(style) or _is_outside(style))


def _has_no_box(style: Style) -> bool:
    if _is_nothing(style.get("max-height")) and _pixels(style["max-height"]) == 0:
        return True
    overflow = {word for name in ("overflow", "overflow-x", "overflow-y") for word in style.get(name, "").split()}
    if overflow & _CUTTING and any(
        _is_nothing(style.get(name)) for name in ("width", "height", "max-width", "max-height")
    ):
        return True
    cuts = ((_NO_BOX, "clip"), (_NO_PATH, "clip-path"), (_NO_SCALE, "transform"))
    return any(pattern.search(style.get(name, "")) for pattern, name in cuts)


def _is_outside(style: Style) -> bool:
    names = ["text-indent", "margin-left", "margin-top"]
    if style.get("position") in ("absolute", "fixed", "relative"):
        names += ["left", "top", "right", "bottom"]
    values = [style[name] for name in names if name in style] + style.get("margin", "").split()
    return any((_pixels(value) or 0) <= _FAR_PIXELS for value in values)


def _look(element: HtmlElement, style: Style, inherited: _Look) -> _Look:
    """Return the style of an element."""
    if not style and element.tag not in _COLORED_TAGS and not element.get("bgcolor") and not element.get("background"):
        return inherited
    look = inherited
    if "visibility" in style and style["visibility"] != "inherit":
        look = replace(look, is_visible=style["visibility"] not in ("hidden", "collapse"))
    size = _font_size(style)
    if size is not None:
        look = replace(look, font_pixels=_font_pixels(size, inherited.font_pixels))
    return replace(
        look, ground=(ground := _ground(element, style, inherited)), color=_color(element, style, look, ground)
    )


def _font_size(style: Style) -> str | None:
    """The value that a font size is set to; of it and the shorthand the later counts."""
    found = None
    for name, value in style.items():
        if name == "font-size":
            found = value
        elif name == "font" and (match := _FONT_SIZE.search(value)) is not None:
            found = match[1]
    return found


def _font_pixels(value: str, inherited: float) -> float:
    match = _LENGTH.fullmatch(value)
    if match is None:  # a word such as small, or a calculation
        return inherited if value in ("inherit", "smaller", "larger") else 16.0
    number = _number(match[1])
    if match[2] in ("em", "%", "ex"):
        return number * inherited / (100 if match[2] == "%" else 1)
    return number * _PIXELS.get(match[2], 16.0)


def _ground(element: HtmlElement, style: Style, inherited: _Look) -> Color | None:
    ground = inherited.ground
    if element.get("background"):
        ground = None
    elif element.get("bgcolor"):
        ground = _read_color(_attribute_color(element.get("bgcolor") or ""), ground) or ground
    for name, value in style.items():
        if name in ("background-color", "background"):
            colors = [_read_color(word, inherited.ground) for word in _words(value)]
            known = [each for each in colors if each is not None]
            ground = known[-1] if known else inherited.ground if name == "background" else ground
        if name in ("background", "background-image") and ("url(" in value or "gradient(" in value):
            ground = None
    return ground


def _color(element: HtmlElement, style: Style, inherited: _Look, ground: Color | None) -> Color | None:
    color = inherited.color
    if element.tag == "a" and element.get("href"):
        color = (0.0, 0.0, 238.0)
    attribute = (
        element.get("color") if element.tag == "font" else element.get("text") if element.tag == "body" else None
    )
    if attribute:
        color = _read_color(_attribute_color(attribute), ground) or color
    value = style.get("color")
    if value in ("inherit", "currentcolor"):
        return inherited.color
    return (_read_color(value, ground) or color) if value else color


def _attribute_color(text: str) -> str:
    value = text.strip().lower()
    return f"#{value}" if _BARE_HEX.fullmatch(value) else value


def _words(value: str) -> list[str]:
    """The parts of a value; what stands in brackets stays together."""
    return re.findall(r"[^\s(]+(?:\([^()]*\))?", value[:1_000])


def _read_color(value: str, ground: Color | None) -> Color | None:
    """Read a colour as it looks on a background; ``None`` if it is none, or cannot be known."""
    from tinycss2.color4 import parse_color

    found: Any = parse_color(value)
    if found is None or isinstance(found, str):
        return None
    try:
        parts = found.to("srgb").coordinates
    except NotImplementedError:  # a colour space that is rare in mails
        return None
    alpha = min(max(found.alpha, 0.0), 1.0)
    red, green, blue = (min(max(part or 0.0, 0.0), 1.0) * 255 for part in parts)
    if alpha >= 1:
        return (red, green, blue)
    if ground is None:
        return None
    under_red, under_green, under_blue = (part * (1 - alpha) for part in ground)
    return (red * alpha + under_red, green * alpha + under_green, blue * alpha + under_blue)


def _contrast(one: Color, other: Color) -> float:
    lights = sorted(_light(each) for each in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(color: Color) -> float:
    """The relative luminance of a colour, by WCAG 2."""
    parts = [part / 255 for part in color]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _is_nothing(value: str | None) -> bool:
    """Return True for a length of at most one pixel."""
    pixels = _pixels(value) if value else None
    return pixels is not None and abs(pixels) <= 1


def _pixels(value: str) -> float | None:
    match = _LENGTH.fullmatch(value.strip())
    if match is None:
        return None
    number = _number(match[1])
    if match[2] == "%":
        return 0.0 if number == 0 else None
    return number * _PIXELS[match[2]] if match[2] in _PIXELS else None


def _number(text: str) -> float:
    """Read a number or a percentage; 1 if it is none."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return 1.0
