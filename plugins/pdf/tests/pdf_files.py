"""Makes the PDF files that the tests read."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def make_pdf(
    path: Path,
    pages: Sequence[str] = ("One",),
    *,
    metadata: Mapping[str, str] | None = None,
    outline: Sequence[tuple[str, int]] = (),
    password: str | None = None,
    size: tuple[float, float] = (595, 842),
) -> Path:
    """Write a PDF file: a text for each page (lines separated by line feeds; none for a blank page), and an outline
    of titles with their depth, each leading to the page of its index.
    """
    encryption = None if password is None else StandardEncryption(password, "owner", strength=128)
    buffer = BytesIO()
    canvas = Canvas(buffer, pagesize=size, encrypt=encryption, invariant=1)
    for key, value in (metadata or {}).items():
        getattr(canvas, f"set{key}")(value)
    for index, text in enumerate(pages):
        for line_number, line in enumerate(text.split("\n") if text else ()):
            canvas.drawString(72, size[1] - 72 - 15 * line_number, line)
        if index < len(outline):
            title, depth = outline[index]
            canvas.bookmarkPage(title)
            canvas.addOutlineEntry(title, title, depth)
        canvas.showPage()
    canvas.save()
    path.write_bytes(buffer.getvalue())
    return path


def write_objects(path: Path, objects: Mapping[int, bytes], trailer: bytes = b"") -> Path:
    """Write a PDF file of exactly these objects, with a right cross-reference table; object 1 is the catalog."""
    content = b"%PDF-1.7\n"
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(content)
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start, size = len(content), max(objects) + 1
    content += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        content += b"%010d 00000 n \n" % offsets[number] if number in offsets else b"0000000000 65535 f \n"
    content += b"trailer\n<< /Size %d /Root 1 0 R %b >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
    path.write_bytes(content)
    return path


def one_page(path: Path, page: bytes = b"", catalog: bytes = b"", extra: Mapping[int, bytes] | None = None) -> Path:
    """Write a PDF file of one page with these further entries; further objects begin with number 4."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R %b >>" % catalog,
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R %b >>" % (page or b"/MediaBox [0 0 200 100]"),
    }
    return write_objects(path, objects | dict(extra or {}))
