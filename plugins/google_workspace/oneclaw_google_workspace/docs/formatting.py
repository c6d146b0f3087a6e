"""Formatting documents: ``docs_format``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.document import Span, match, matches, open_document, text_between, update
from oneclaw_google_workspace.editors import rgb
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import counted, excerpt, quoted, setting_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ToolContext

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


MAX_MATCHES = 1000
_SHOWN = 50


@google_tool
async def docs_format(
    document_id: str,
    match_text: str | None = None,
    all_matches: bool = False,
    occurrence: int = 1,
    start_index: int | None = None,
    end_index: int | None = None,
    tab_id: str | None = None,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    strikethrough: bool | None = None,
    font_family: str | None = None,
    font_size: float | None = None,
    text_color: str | None = None,
    highlight_color: str | None = None,
    link_url: str | None = None,
    paragraph_style: str | None = None,
    alignment: str | None = None,
    line_spacing: float | None = None,
    list: str | None = None,  # noqa: A002  # the name that the manifest gives it
    suggest: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Format text or paragraphs."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    look = Look(
        bold=bold,
        italic=italic,
        underline=underline,
        strikethrough=strikethrough,
        font_family=font_family,
        font_size=font_size,
        text_color=text_color,
        highlight_color=highlight_color,
        link_url=link_url,
        paragraph_style=paragraph_style,
        alignment=alignment,
        line_spacing=line_spacing,
        list=list,
    )
    look.requests((), None)  # its values are looked at before anything is sent
    has_range = start_index is not None and end_index is not None
    if bool(match_text) == has_range or (start_index is None) != (end_index is None):
        raise invalid("Give match_text, or start_index and end_index.")
    if start_index is not None and end_index is not None and start_index >= end_index:
        raise invalid("end_index must be above start_index.")
    document = await open_document(google, wanted, with_text=True)
    tab = document.tab(tab_id)
    if start_index is not None and end_index is not None:
        spans = [Span(start_index, end_index, text_between(tab.body, start_index, end_index))]
    elif all_matches:
        spans = matches(tab, match_text or "")
    else:
        spans = [match(tab, match_text or "", occurrence)]
    if len(spans) > MAX_MATCHES:
        raise invalid(f"There are {len(spans):,} matches, more than {MAX_MATCHES:,}. Give a longer match_text.")
    verb = "suggest formatting" if suggest else "format"
    where = quoted(spans[0].text, 40) if len(spans) == 1 else counted(len(spans), "place")
    await google.ask(f"{verb} {where} in {document.named} ({look.described})")
    done = await update(
        google,
        wanted,
        look.requests(spans, tab_id),
        revision_id=document.revision_id,
        is_suggestion=suggest,
        hint="The range must lie within the text: see docs_read with include_indexes.",
    )
    answer = {
        "document_id": wanted,
        "ranges": [{"start": span.start, "end": span.end, "text": excerpt(span.text)} for span in spans[:_SHOWN]],
        "range_count": len(spans),
        "applied": [*look.names],
        **done.state,
    }
    return from_outside(answer, "documents")
