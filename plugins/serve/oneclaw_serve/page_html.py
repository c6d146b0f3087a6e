"""Management pages as HTML: one look for the server's own and for those of plugins. Scripts are not needed."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape as escape_exactly
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from starlette.responses import Response

from oneclaw_core.plugins import WebForm, WebLink, WebTable, WebText
from oneclaw_serve.access import FORM_TOKEN
from oneclaw_serve.headers import PAGE_HEADERS
from oneclaw_serve.markdown import render
from oneclaw_serve.schema_form import fields_html
from oneclaw_serve.visible_html import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins import WebPage

_SAFE_IN_PATHS = "/?=&%:@+,;-._~"


@dataclass(frozen=True, slots=True)
class Drawing:
    """HTML of the server itself, such as a plot; every text in it is escaped."""

    html: str


Part: TypeAlias = "WebTable | WebText | WebForm | WebLink | Drawing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The parts of a page around its content.

    Attributes:
        menu: address and title of each page.
        here: the address of the page that is shown.
        base: what the paths of its links are below.
        form_token: sent along with each form.
        refresh_seconds: how soon the page looks for news; 0 for never.
    """

    menu: tuple[tuple[str, str], ...]
    here: str
    base: str
    form_token: str
    refresh_seconds: float = 0


def page_response(page: WebPage, frame: Frame, status: int = 200) -> Response:
    """Return a page as a response with its own security headers."""
    return Response(_document(page, frame), status, PAGE_HEADERS, "text/html")


def message_response(title: str, text: str, status: int, frame: Frame | None = None) -> Response:
    """Return a page that says why there is nothing else to see."""
    content = f'<h1>{escape(title)}</h1><p role="alert">{escape(text)}</p>'
    return Response(_around(title, content, frame), status, PAGE_HEADERS, "text/html")


def _document(page: WebPage, frame: Frame) -> str:
    notice = f'<p class="done" role="status">{escape(page.notice)}</p>' if page.notice else ""
    parts = _Parts(frame)
    content = "".join(parts.part(each) for each in page.parts)
    return _around(page.title, f"<h1>{escape(page.title)}</h1>{notice}{content}", frame)


def _around(title: str, content: str, frame: Frame | None) -> str:
    menu, refresh = "", ""
    if frame is not None:
        links = "".join(_menu_link(address, text, frame) for address, text in frame.menu)
        menu = f'<nav aria-label="Pages"><ul>{links}</ul></nav>'
        if frame.refresh_seconds:
            refresh = f' aria-live="polite" data-refresh="{frame.refresh_seconds:g}"'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)} - OneClaw</title>'
        '<link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="/static/base.css"><link rel="stylesheet" href="/static/pages.css">'
        '<script type="module" src="/static/pages.js"></script></head>'
        '<body><a class="skip" href="#main">Skip to the content</a>'
        f'<header><a href="/">OneClaw</a></header>{menu}<main id="main" tabindex="-1"{refresh}>{content}</main>'
        "</body></html>"
    )


def _menu_link(address: str, text: str, frame: Frame) -> str:
    is_here = frame.here == address or frame.here.startswith(f"{address.rstrip('/')}/")
    current = ' aria-current="page"' if is_here and address != "/" else ""
    return f'<li><a href="{escape_exactly(address)}"{current}>{escape(text)}</a></li>'


class _Parts:
    """Writes the parts of one page; numbers its forms."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._forms = 0

    def part(self, part: Part) -> str:
        if isinstance(part, Drawing):
            return part.html
        if isinstance(part, WebTable):
            return self._table(part)
        if isinstance(part, WebLink):
            return f"<p>{self._link(part)}</p>"
        if isinstance(part, WebText):
            return _text(part)
        return self._form(part)

    def _table(self, table: WebTable) -> str:
        title = f"<h2>{escape(table.title)}</h2>" if table.title else ""
        if not table.rows:
            return f'{title}<p class="hint">{escape(table.empty)}</p>'
        heads = "".join(f'<th scope="col" role="columnheader">{escape(capital(each))}</th>' for each in table.columns)
        rows = "".join(self._row(table, row) for row in table.rows)
        # The roles remain when a narrow screen shows rows as blocks.
        return (
            f'{title}<table role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
            f'<tbody role="rowgroup">{rows}</tbody></table>'
        )

    def _row(self, table: WebTable, row: Iterable[Any]) -> str:
        cells = []
        for number, (column, cell) in enumerate(zip(table.columns, row, strict=False)):
            tag, role = ("th", 'scope="row" role="rowheader"') if number == 0 else ("td", 'role="cell"')
            cells.append(f'<{tag} {role} data-label="{escape(capital(column))}">{self._cell(cell)}</{tag}>')
        return f'<tr role="row">{"".join(cells)}</tr>'

    def _cell(self, cell: Any) -> str:
        if isinstance(cell, tuple):
            return " ".join(self._cell(each) for each in cell)
        if isinstance(cell, WebLink):
            return self._link(cell)
        if isinstance(cell, WebForm):
            return self._form(cell)
        return cell.html if isinstance(cell, Drawing) else escape(str(cell))

    def _link(self, link: WebLink) -> str:
        if link.session:
            return f'<a href="/#session={quote(link.session, safe="")}">{escape(link.text)}</a>'
        address = self._frame.base + quote(link.path.lstrip("/"), safe=_SAFE_IN_PATHS)
        return f'<a href="{escape_exactly(address)}">{escape(link.text)}</a>'

    def _form(self, form: WebForm) -> str:
        self._forms += 1
        hidden = "".join(
            f'<input type="hidden" name="{escape_exactly(name)}" value="{escape_exactly(value)}">'
            for name, value in {**form.hidden, FORM_TOKEN: self._frame.form_token}.items()
        )
        fields = fields_html(form.fields, form.values, f"form{self._forms}")
        kind = ' class="fields"' if fields else ""
        about = f'<span class="hidden"> {escape(form.about)}</span>' if form.about else ""
        button = f'<button type="submit">{escape(form.submit)}{about}</button>'
        title = f"<h2>{escape(form.title)}</h2>" if form.title else ""
        html = f'{title}<form method="post"{kind}>{hidden}{fields}{button}</form>'
        if not form.is_destructive:
            return html
        return f"<details><summary>{escape(form.submit)}{about}…</summary>{html}</details>"


def capital(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def _text(part: WebText) -> str:
    title = f"<h2>{escape(part.title)}</h2>" if part.title else ""
    if part.kind == "markdown":
        return f'{title}<div class="markdown">{render(part.text)}</div>'
    if part.kind == "verbatim":
        return f"{title}<pre>{escape(part.text)}</pre>"
    return f"{title}<p>{escape(part.text)}</p>"
