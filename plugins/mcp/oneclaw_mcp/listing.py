"""Read a whole list of a server, page by page; a list that does not end is ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Page = tuple[list[Any], str | None]

MAX_PAGES = 200
MAX_LIST_CHARACTERS = 16 * 1024 * 1024


@dataclass(slots=True)
class Listed:
    """The items of a list.

    Attributes:
        items: as the server has sent them.
        problem: why there may be more, ``""`` if these are all.
    """

    items: list[Any] = field(default_factory=list)
    problem: str = ""


async def listed(read_page: Callable[[str | None], Awaitable[Page]], most: int) -> Listed:
    """Read pages until there is none, or one that brings nothing new.

    Args:
        read_page: returns the items behind a cursor, and the next cursor.
        most: items that are read.

    Raises:
        MCPError: the server does not give the first page.
    """
    from mcp import MCPError

    found = Listed()
    known: set[str] = set()
    cursors: set[str] = set()
    cursor: str | None = None
    size = 0
    for _ in range(MAX_PAGES):
        try:
            page, cursor = await read_page(cursor)
        except MCPError as error:
            if not cursors:
                raise
            found.problem = f"its list ends with an error: {error}"
            return found
        texts = [json.dumps(each, sort_keys=True) for each in page]
        size += sum(map(len, texts))
        if size > MAX_LIST_CHARACTERS:
            found.problem = f"its list is longer than {MAX_LIST_CHARACTERS // 1024**2} MiB"
            return found
        is_new = not known.issuperset(texts)
        found.items += [item for item, text in zip(page, texts, strict=True) if text not in known]
        known.update(texts)
        # A cursor that was there before, and pages that repeat, would go on without an end.
        if cursor is None or cursor in cursors or (page and not is_new):
            return found
        if len(found.items) > most:
            found.problem = f"its list has more than {most:,} items"
            return found
        cursors.add(cursor)
    found.problem = f"its list has more than {MAX_PAGES} pages"
    return found
