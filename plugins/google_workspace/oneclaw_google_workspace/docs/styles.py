"""The text styles of a document, as Google wants them; without I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.editor_text import rgb
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import setting_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_google_workspace.docs.structure import Span

_PRESETS = {
    "bullets": "BULLET_DISC_CIRCLE_SQUARE",
    "numbers": "NUMBERED_DECIMAL_ALPHA_ROMAN",
    "checkboxes": "BULLET_CHECKBOX",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The new values; ``None`` for those that stay.

    Raises:
        GoogleError: nothing is, or a value is none.
    """

    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    strikethrough: bool | None = None
    font_family: str | None = None
    font_size: float | None = None
    text_color: str | None = None
    highlight_color: str | None = None
    link_url: str | None = None
    paragraph_style: str | None = None
    alignment: str | None = None
    line_spacing: float | None = None
    list: str | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise invalid("Give at least one format, such as bold or paragraph_style.")
        if self.link_url and not re.match(r"https?://|mailto:", self.link_url):
            raise invalid("link_url must begin with https://, http:// or mailto:; empty removes the link.")

    @property
    def names(self) -> tuple[str, ...]:
        """The new values, by argument name."""
        return tuple(name for name in self.__slots__ if getattr(self, name) is not None)

    @property
    def described(self) -> str:
        """The new values, in words for a question."""
        return ", ".join(setting_words(name, getattr(self, name)) for name in self.names)

    def requests(self, spans: Iterable[Span], tab_id: str | None) -> tuple[dict[str, Any], ...]:
        """Write the requests that set it.

        Args:
            spans: where.
            tab_id: of the tab, ``None`` for the first.

        Raises:
            GoogleError: a colour is none.
        """
        ranges = [
            compact({"startIndex": span.start, "endIndex": span.end, "tabId": tab_id})
            for span in sorted(spans, key=lambda span: -span.start)
        ]
        text, paragraph = self._text_style(), self._paragraph_style()
        found: list[dict[str, Any]] = []
        for where in ranges:
            if text:
                found.append({"updateTextStyle": _styling(where, "textStyle", text)})
            if paragraph:
                found.append({"updateParagraphStyle": _styling(where, "paragraphStyle", paragraph)})
        # Bullets take tabs away and so move what is behind them: last, and from the back forwards.
        for where in ranges:
            if self.list == "none":
                found.append({"deleteParagraphBullets": {"range": where}})
            elif self.list is not None:
                found.append({"createParagraphBullets": {"range": where, "bulletPreset": _PRESETS[self.list]}})
        return tuple(found)

    def _text_style(self) -> dict[str, Any]:
        """By Google's names; a value of ``None`` takes away what is set."""
        names = ("bold", "italic", "underline", "strikethrough")
        found: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.font_family is not None:
            found["weightedFontFamily"] = {"fontFamily": self.font_family}
        if self.font_size is not None:
            found["fontSize"] = {"magnitude": self.font_size, "unit": "PT"}
        if self.text_color is not None:
            found["foregroundColor"] = {"color": {"rgbColor": rgb("text_color", self.text_color)}}
        if self.highlight_color is not None:
            is_none = self.highlight_color.strip().lower() in ("", "none")
            color = None if is_none else {"color": {"rgbColor": rgb("highlight_color", self.highlight_color)}}
            found["backgroundColor"] = color
        if self.link_url is not None:
            found["link"] = {"url": self.link_url} if self.link_url else None
        return found

    def _paragraph_style(self) -> dict[str, Any]:
        values = {
            "namedStyleType": self.paragraph_style,
            "alignment": self.alignment,
            "lineSpacing": self.line_spacing,
        }
        return {name: value for name, value in values.items() if value is not None}


def _styling(where: dict[str, Any], key: str, style: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in style.items() if value is not None}
    return {"range": where, key: given, "fields": ",".join(style)}
