"""Read the rows of a damaged SQLite file page by page, without SQLite, which refuses much of such a file.

See https://sqlite.org/fileformat2.html for the format. Only tables with row numbers are read, in databases of UTF-8.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"SQLite format 3\x00"

_HEADER_BYTES = 100
_DEFAULT_PAGE_BYTES = 4096
_INTERIOR, _LEAF = 0x05, 0x0D
_WAL_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_WAL_MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_MOST_DEPTH = 30

Row = tuple[int, list[Any]]
"""The number of a row, and its values; the column that holds the number itself is ``None``."""


class DamagedPageError(ValueError):
    """A page, a cell or a record makes no sense."""


@dataclass(slots=True)
class TablePages:
    """Rows that were found of a table.

    Attributes:
        rows: that can be read, in no order.
        damaged: the numbers of pages that cannot be read, or not whole.
    """

    rows: list[Row] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)


class SqlitePages:
    """The pages of a database file, with those of its write-ahead log in their place.

    Args:
        content: of the file.
        log: the content of the file ``-wal``, empty for none. What follows a frame that is damaged does not count.
    """

    def __init__(self, content: bytes, log: bytes = b"") -> None:
        self._content = content
        self.page_bytes = _page_bytes(content, log)
        self._newer = _frames(log, self.page_bytes)
        self.count = max([len(content) // self.page_bytes, *self._newer])
        self._seen: set[int] = set()

    def page(self, number: int) -> bytes:
        """Return a page by its number, counted from 1.

        Raises:
            DamagedPageError: it is past the end of the file.
        """
        newer = self._newer.get(number)
        if newer is not None:
            return newer
        start = (number - 1) * self.page_bytes
        page = self._content[start : start + self.page_bytes] if number > 0 else b""
        if len(page) < self.page_bytes:
            raise DamagedPageError(f"page {number} is missing")
        return page

    def table(self, root: int) -> TablePages:
        """Read a table from its root page; damaged pages are left out."""
        found = TablePages()
        self._descend(root, found, 0)
        return found

    def left_over(self) -> Iterator[TablePages]:
        """Read the pages with rows that no table led to, except free ones."""
        free = self._free_pages()
        for number in range(2, self.count + 1):
            if number in self._seen or number in free:
                continue
            found = TablePages()
            try:
                is_leaf = self.page(number)[0] == _LEAF
            except DamagedPageError:
                continue
            if is_leaf:
                self._read_leaf(number, found)
                if found.rows:
                    yield found

    def _descend(self, number: int, found: TablePages, depth: int) -> None:
        if number in self._seen or depth > _MOST_DEPTH:
            found.damaged.append(number)
            return
        self._seen.add(number)
        try:
            page = self.page(number)
            start = _HEADER_BYTES if number == 1 else 0
            kind = page[start]
            if kind == _LEAF:
                self._read_leaf(number, found)
                return
            if kind != _INTERIOR:
                raise DamagedPageError(f"page {number} is of no table")
            children = [_number(page, cell, 4) for cell in _cells(page, start, 12)]
            children.append(_number(page, start + 8, 4))
        except DamagedPageError:
            found.damaged.append(number)
            return
        for child in children:
            self._descend(child, found, depth + 1)

    def _read_leaf(self, number: int, found: TablePages) -> None:
        is_whole = True
        try:
            page = self.page(number)
            cells = _cells(page, _HEADER_BYTES if number == 1 else 0, 8)
        except DamagedPageError:
            cells, page, is_whole = [], b"", False
        for cell in cells:
            try:
                size, at = _varint(page, cell)
                row, at = _varint(page, at)
                found.rows.append((row, _values(self._payload(page, at, size))))
            except (DamagedPageError, UnicodeDecodeError):
                is_whole = False
        if not is_whole:
            found.damaged.append(number)

    def _payload(self, page: bytes, at: int, size: int) -> bytes:
        """Return what a cell holds, with the part of it that is on its own pages."""
        usable = self.page_bytes
        most = usable - 35
        if size > len(self._content) + sum(map(len, self._newer.values())):
            raise DamagedPageError("a row is larger than the file")
        if size <= most:
            local = size
        else:
            least = (usable - 12) * 32 // 255 - 23
            local = least + (size - least) % (usable - 4)
            local = local if local <= most else least
        parts = [page[at : at + local]]
        missing = size - local
        following = _number(page, at + local, 4) if missing else 0
        while missing > 0:
            if following in self._seen:
                raise DamagedPageError("a page is used twice")
            overflow = self.page(following)
            self._seen.add(following)
            parts.append(overflow[4 : 4 + min(missing, usable - 4)])
            missing -= len(parts[-1])
            following = _number(overflow, 0, 4)
        payload = b"".join(parts)
        if len(payload) != size:
            raise DamagedPageError("a row is cut off")
        return payload

    def _free_pages(self) -> set[int]:
        free: set[int] = set()
        try:
            trunk = _number(self.page(1), 32, 4)
            while trunk and trunk not in free:
                page = self.page(trunk)
                count = min(_number(page, 4, 4), self.page_bytes // 4 - 2)
                free |= {trunk, *struct.unpack_from(f">{count}I", page, 8)}
                trunk = _number(page, 0, 4)
        except DamagedPageError:
            pass  # what is on the rest of them may come back
        return free


def _page_bytes(content: bytes, log: bytes) -> int:
    """Find the size of pages, where the header is damaged that of the log or the usual one."""
    of_header = _number(content, 16, 2) if len(content) >= _HEADER_BYTES and content.startswith(MAGIC) else 0
    of_log = _number(log, 8, 4) if len(log) >= _WAL_HEADER_BYTES else 0
    for size in (65_536 if of_header == 1 else of_header, of_log):
        if 512 <= size <= 65_536 and size & (size - 1) == 0:
            return size
    return _DEFAULT_PAGE_BYTES


def _frames(log: bytes, page_bytes: int) -> dict[int, bytes]:
    """Return the pages that whole transactions have written into a log."""
    order = _WAL_MAGICS.get(_number(log, 0, 4)) if len(log) >= _WAL_HEADER_BYTES else None
    if order is None or _number(log, 8, 4) != page_bytes:
        return {}
    sums = _checksum(log[:24], order, (0, 0))
    if struct.pack(">2I", *sums) != log[24:32]:
        return {}
    pages: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    size = _FRAME_HEADER_BYTES + page_bytes
    for start in range(_WAL_HEADER_BYTES, len(log) - size + 1, size):
        header, page = log[start : start + _FRAME_HEADER_BYTES], log[start + _FRAME_HEADER_BYTES : start + size]
        sums = _checksum(page, order, _checksum(header[:8], order, sums))
        if header[8:16] != log[16:24] or header[16:24] != struct.pack(">2I", *sums):
            break
        pending[_number(header, 0, 4)] = page
        if _number(header, 4, 4):  # the last frame of a transaction
            pages |= pending
            pending = {}
    return pages


def _checksum(data: bytes, order: str, before: tuple[int, int]) -> tuple[int, int]:
    first, second = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for left, right in zip(words[::2], words[1::2], strict=True):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second


def _cells(page: bytes, start: int, header_bytes: int) -> list[int]:
    """Return where the cells of a page begin."""
    count = _number(page, start + 3, 2)
    first = start + header_bytes
    if first + 2 * count > len(page):
        raise DamagedPageError("a page has too many cells")
    cells = list(struct.unpack_from(f">{count}H", page, first))
    # A damaged place is the cell's own fault, unless all are wrong.
    return [cell for cell in cells if first + 2 * count <= cell < len(page) - 1] + [
        len(page) for cell in cells if not first + 2 * count <= cell < len(page) - 1
    ]


def _number(data: bytes, at: int, size: int) -> int:
    if at < 0 or at + size > len(data):
        raise DamagedPageError("a number is cut off")
    return int.from_bytes(data[at : at + size], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        if at + place >= len(data):
            raise DamagedPageError("a number is cut off")
        byte = data[at + place]
        if place == 8:
            value = value << 8 | byte
            break
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value - (1 << 64) if value >= 1 << 63 else value, at + place + 1


def _values(payload: bytes) -> list[Any]:
    """Decode a record."""
    header_bytes, at = _varint(payload, 0)
    if not at <= header_bytes <= len(payload):
        raise DamagedPageError("a row has no header")
    kinds = []
    while at < header_bytes:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        value, at = _value(kind, payload, at)
        values.append(value)
    if at != len(payload):
        raise DamagedPageError("a row has another length than its values")
    return values


def _value(kind: int, payload: bytes, at: int) -> tuple[Any, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    size = _INTEGER_BYTES.get(kind) or (8 if kind == 7 else (kind - 12) // 2)
    data = payload[at : at + size]
    if kind in (10, 11) or kind < 0 or len(data) != size:
        raise DamagedPageError("a value is cut off")
    value: Any = data
    if kind in _INTEGER_BYTES:
        value = int.from_bytes(data, "big", signed=True)
    elif kind == 7:
        [value] = struct.unpack(">d", data)
    elif kind % 2:
        if b"\0" in data:
            raise DamagedPageError("a text holds what was never stored")  # a page of zeros
        value = data.decode()
    return value, at + size
