"""The text of a paragraph as a model reads it: marks for styles, links, people and the like; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.docs.structure import NO_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping

INSERTED = ("{++", "++}")
DELETED = ("{--", "--}")


@dataclass(frozen=True, slots=True)
class _Style:
    """The properties that separate one run of text from the next."""

    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    link: str = ""
    is_inserted: bool = False
    is_deleted: bool = False


def inline_text(
    paragraph: Mapping[str, Any], images: Mapping[str, Any], *, is_markdown: bool, is_heading: bool = False
) -> str:
    """Write the text of a paragraph, without its newline.

    Args:
        paragraph: as Google answers it.
        images: Google's ``inlineObjects``, for what images show.
        is_markdown: whether styles and links are shown; suggested changes always are.
        is_heading: whether it is bold all over anyway.
    """
    pieces = [_piece(element, images, is_markdown) for element in paragraph.get("elements", [])]
    pieces += [
        (_Style(), f"![](image:{object_id})" if is_markdown else "[image]")
        for object_id in paragraph.get("positionedObjectIds", [])
    ]
    if pieces and pieces[-1][1].endswith("\n"):
        pieces[-1] = (pieces[-1][0], pieces[-1][1][:-1])
    lines = [
        _marked(style, "".join(text for _, text in group), is_markdown=is_markdown, is_heading=is_heading)
        for style, group in groupby(pieces, key=lambda piece: piece[0])
    ]
    return "".join(lines).replace(NO_TEXT, "").replace("\v", " " if is_heading else "\n")


def _piece(element: Mapping[str, Any], images: Mapping[str, Any], is_markdown: bool) -> tuple[_Style, str]:
    for kind, write in _WRITERS.items():
        if kind in element:
            raw = element[kind]
            text, link = write(raw, images)
            style = raw.get("textStyle", {}) if kind == "textRun" else {}
            is_image = kind == "inlineObjectElement"
            return (
                _Style(
                    bool(style.get("bold")),
                    bool(style.get("italic")),
                    bool(style.get("strikethrough")),
                    "" if is_image else link or _target(style.get("link", {})),
                    bool(raw.get("suggestedInsertionIds")),
                    bool(raw.get("suggestedDeletionIds")),
                ),
                f"![{text}](image:{link})" if is_image and is_markdown else f"[image {text}]" if is_image else text,
            )
    return _Style(), next((sign for kind, sign in _SIGNS.items() if kind in element), "")


def _run(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get("content", "")), ""


def _rich_link(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    about = raw.get("richLinkProperties", {})
    return str(about.get("title") or about.get("uri", "")), str(about.get("uri", ""))


def _person(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    about = raw.get("personProperties", {})
    email = str(about.get("email", ""))
    return str(about.get("name") or email), f"mailto:{email}"


def _image(raw: Mapping[str, Any], images: Mapping[str, Any]) -> tuple[str, str]:
    object_id = str(raw.get("inlineObjectId", ""))
    about = images.get(object_id, {}).get("inlineObjectProperties", {}).get("embeddedObject", {})
    words = " ".join(f"{about.get('title', '')} {about.get('description', '')}".split())
    return words.replace("]", ")"), object_id


def _footnote(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return f"[^{raw.get('footnoteNumber', '?')}]", ""


def _date(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get("dateElementProperties", {}).get("displayText", "")), ""


def _dropdown(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get("dropdownProperties", {}).get("displayValue", "")), ""


_WRITERS = {
    "textRun": _run,
    "richLink": _rich_link,
    "person": _person,
    "inlineObjectElement": _image,
    "footnoteReference": _footnote,
    "dateElement": _date,
    "dropdown": _dropdown,
}
# What has no text.
_SIGNS = {
    "horizontalRule": "---",
    "pageBreak": "[page break]",
    "columnBreak": "[column break]",
    "equation": "[equation]",
    "autoText": "[page number]",
}


def _target(link: Mapping[str, Any]) -> str:
    """Return the target of a link; for a heading or bookmark of the document, with its id."""
    if link.get("url"):
        return str(link["url"])
    for kind in ("heading", "bookmark"):
        inner = link.get(kind, {}).get("id") or link.get(f"{kind}Id")
        if inner:
            return f"#{kind}={inner}"
    return f"#tab={link['tabId']}" if link.get("tabId") else ""


def _marked(style: _Style, text: str, *, is_markdown: bool, is_heading: bool) -> str:
    core = text.strip()
    if not core:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if is_markdown:
        if style.is_bold and not is_heading:
            core = f"**{core}**"
        if style.is_italic:
            core = f"*{core}*"
        if style.is_struck:
            core = f"~~{core}~~"
        if style.link and style.link not in (core, f"mailto:{core}"):
            target = f"<{style.link}>" if set(" ()") & set(style.link) else style.link
            core = f"[{core}]({target})"
    for is_suggested, (opening, closing) in ((style.is_inserted, INSERTED), (style.is_deleted, DELETED)):
        if is_suggested:
            core = f"{opening}{core}{closing}"
    return f"{before}{core}{after}"
