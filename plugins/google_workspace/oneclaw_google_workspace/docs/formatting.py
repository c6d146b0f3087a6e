"""Formatting documents: ``docs_format``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.places import match, matches, open_document
from oneclaw_google_workspace.docs.structure import Span, text_between
from oneclaw_google_workspace.docs.styles import Look
from oneclaw_google_workspace.docs.updates import update
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import counted, excerpt, quoted

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

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
