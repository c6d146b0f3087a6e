"""Text of an HTML mail that its readers do not see: it is written for programs, such as filters and models.

A text counts as hidden if it is not displayed, transparent, tiny, of the colour of its background, cut off by a box
without a size, or outside the page. Where the background cannot be known, such as a picture, its colour is no reason.

Pure, without any I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS
from oneclaw_google_workspace.gmail.style_sheets import StyleSheets

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from oneclaw_google_workspace.gmail.style_sheets import Style

    Color = tuple[float, float, float]

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
