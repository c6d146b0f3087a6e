"""Plots as SVG made on the server: without scripts, in the colours of the page, each with its numbers as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_serve.page_html import Drawing, capital
from oneclaw_serve.visible_html import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HEIGHT = 160
_WIDTH = 640
_TOP = 18


def bar_table(head: str, unit: str, values: Mapping[str, int], title: str = "") -> Drawing:
    """Return a table with a bar for each value.

    Args:
        head: of the column of names.
        unit: of the column of values.
        values: by name.
        title: above it.
    """
    most = max(values.values(), default=0) or 1
    rows = "".join(
        f'<tr role="row"><th scope="row" role="rowheader" data-label="">{escape(name)}</th>'
        f'<td role="cell" class="number" data-label="{escape(capital(unit))}">{value:,}</td>'
        f'<td role="cell" class="bar" data-label="">{_bar(value / most)}</td></tr>'
        for name, value in values.items()
    )
    shown_title = f"<h2>{escape(title)}</h2>" if title else ""
    return Drawing(
        f'{shown_title}<table role="table"><thead role="rowgroup"><tr role="row">'
        f'<th scope="col" role="columnheader">{escape(capital(head))}</th>'
        f'<th scope="col" role="columnheader" class="number">{escape(capital(unit))}</th>'
        '<td role="cell"></td></tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table>'
    )


def _bar(share: float) -> str:
    return (
        '<svg viewBox="0 0 200 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="mark" width="{max(1.0, share * 200):.1f}" height="12" rx="2"/></svg>'
    )


def column_plot(title: str, points: Sequence[tuple[str, float]], shown: Sequence[str]) -> Drawing:
    """Return columns over days or other steps, the first and last of which are named.

    Args:
        title: above it, and what a screen reader says first.
        points: name and height of each.
        shown: the heights as text.
    """
    if not points:
        return Drawing("")
    most = max(value for _, value in points)
    step = _WIDTH / max(len(points), 12)
    columns = []
    for number, ((name, value), text) in enumerate(zip(points, shown, strict=True)):
        height = value / most * (_HEIGHT - _TOP) if most else 0
        columns.append(
            f'<rect class="mark" x="{number * step + step * 0.1:.1f}" y="{_HEIGHT - height:.1f}" '
            f'width="{step * 0.8:.1f}" height="{height:.1f}" rx="1"><title>{escape(f"{name}: {text}")}</title></rect>'
        )
    top = shown[max(range(len(points)), key=lambda each: points[each][1])]
    end = min(len(points) * step, _WIDTH)
    anchor = ' text-anchor="end"' if len(points) > 4 else ""
    place = end if anchor else (len(points) - 1) * step
    last = f'<text x="{place:.1f}" y="{_HEIGHT + 16}"{anchor}>{escape(points[-1][0])}</text>'
    first = f'<text x="0" y="{_HEIGHT + 16}">{escape(points[0][0])}</text>' if len(points) > 4 else ""
    said = f"{title}, from {points[0][0]} to {points[-1][0]}, at most {top}"
    return Drawing(
        f'<h2>{escape(title)}</h2><svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT + 22}" role="img" '
        f'aria-label="{escape(said)}"><text x="0" y="12">{escape(top)}</text>'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}"/>{"".join(columns)}{first}{last}</svg>'
    )
