"""Pages of plugins in the web page of ``oneclaw serve``: data, which the server shows in its own look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class WebLink:
    """A link to another page of the same plugin, or to a session.

    Attributes:
        text: to show.
        path: below ``/PLUGIN/``, with its query.
        session: the id of a session to open instead.
    """

    text: str
    path: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebForm:
    """A form, or with no fields a button. It is sent to the page that it is on, as a ``POST``.

    Attributes:
        submit: the text of its button.
        about: what the button is for, where its row shows that already; said to screen readers.
        title: above it.
        fields: JSON Schema of an object; each property is a field. The formats ``paragraph`` and ``multiline`` make
            larger ones.
        values: what the fields hold now.
        hidden: further values to send, such as what the button is for.
        is_destructive: True if the button is shown only after another click.
    """

    submit: str
    about: str = ""
    title: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    is_destructive: bool = False


WebCell: TypeAlias = "str | WebLink | WebForm | tuple[str | WebLink | WebForm, ...]"
"""The content of a cell of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebTable:
    """A table.

    Attributes:
        columns: the heads.
        rows: each with as many cells; the first one names the row.
        title: above it.
        empty: shown instead of a table without rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[WebCell, ...], ...]
    title: str = ""
    empty: str = "There are none."


@dataclass(frozen=True, slots=True, kw_only=True)
class WebText:
    """A text.

    Attributes:
        text: as others wrote it; it brings no HTML.
        kind: ``plain`` for a paragraph, ``markdown``, or ``verbatim`` for one that keeps its lines.
        title: above it.
    """

    text: str
    kind: Literal["plain", "markdown", "verbatim"] = "plain"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page.

    Attributes:
        title: of the page.
        parts: what is on it, from top to bottom.
        notice: what was done, for the answer to a form.
    """

    title: str
    parts: tuple[WebTable | WebText | WebForm | WebLink, ...]
    notice: str = ""
