"""Pictures of pages."""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image, PngImagePlugin

from oneclaw_core import Attachment
from oneclaw_pdf.errors import PdfProblem

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_pdf.document import Document

FOLDER = "pdf-renders"
MIN_DPI, MAX_DPI = 72, 300
# A page may declare any size. At 300 dpi this is a sheet of 52 x 52 cm, and about 250 MB while it is rendered.
MAX_PIXELS = 40_000_000
MAX_SIDE_PIXELS = 20_000

# What a model is shown. Services scale larger pictures down to about this, and some refuse many that are larger.
SHOWN_SIDE_PIXELS = 1_568
# Once encoded in base64 it is a third longer; the strictest service refuses more than 5 MB.
MAX_SHOWN_BYTES = 3_500_000

_POINTS_PER_INCH = 72
_MAX_STEM_CHARACTERS = 50  # with four bytes each and the rest of the name within the 255 bytes of a file name
_SOURCE_KEY = "oneclaw-source"


@dataclass(frozen=True, slots=True)
class Render:
    """A page that was rendered to a file.

    Attributes:
        path: of the PNG file, absolute.
        width, height: in pixels.
        dpi: the resolution used.
        size_bytes: of the file.
        shown: the picture for the model, scaled down where the file's is larger than services take.
    """

    path: Path
    width: int
    height: int
    dpi: int
    size_bytes: int
    shown: Attachment


def render_page(document: Document, number: int, dpi: int, context: ToolContext) -> Render:
    """Render a page, on white, into the workspace.

    Args:
        document: an open one.
        number: of the page, from 1.
        dpi: the resolution wanted; taken into the possible range, and lowered for a very large page.
        context: of the call; its ``paths`` say where the workspace is.

    Raises:
        PdfProblem: ``invalid_page``, or ``pdf_error`` for a page that is damaged or too large.
        OSError: the picture cannot be written.
    """
    if not 1 <= number <= document.page_count:
        raise PdfProblem(
            "invalid_page",
            f"There is no page {number}: {document.shown} has {document.page_count} pages, counted from 1.",
        )
    document.pdf.init_forms()
    page = document.load_page(number)
    used_dpi = _possible_dpi(page.get_width(), page.get_height(), dpi)
    if used_dpi < 1:
        raise PdfProblem(
            "pdf_error",
            f"Page {number} of {document.shown} is too large to be rendered: "
            f"{page.get_width():.0f} x {page.get_height():.0f} points.",
        )
    bitmap = page.render(scale=used_dpi / _POINTS_PER_INCH)
    image = bitmap.to_pil()
    path = _save(image, document, f"page{number}-{used_dpi}dpi", used_dpi, context)
    return Render(path, image.width, image.height, used_dpi, path.stat().st_size, _shown(image, path))


def _shown(image: Image.Image, path: Path) -> Attachment:
    """Make the picture that the model is shown: the file as it is, a smaller PNG, or JPEG for a page of photographs."""
    if max(image.size) <= SHOWN_SIDE_PIXELS and path.stat().st_size <= MAX_SHOWN_BYTES:
        return Attachment(path.name, "image/png", path.read_bytes())
    small = image.convert("RGB")
    small.thumbnail((SHOWN_SIDE_PIXELS, SHOWN_SIDE_PIXELS))
    encoded = io.BytesIO()
    small.save(encoded, format="PNG")
    if encoded.tell() <= MAX_SHOWN_BYTES:
        return Attachment(path.name, "image/png", encoded.getvalue())
    encoded = io.BytesIO()
    small.save(encoded, format="JPEG", quality=85)
    return Attachment(path.with_suffix(".jpg").name, "image/jpeg", encoded.getvalue())


def _possible_dpi(width: float, height: float, wanted: int) -> int:
    """The resolution at which a page of this size, in points, stays within the limits; 0 if there is none."""
    dpi = min(max(wanted, MIN_DPI), MAX_DPI)
    by_area = _POINTS_PER_INCH * math.sqrt(MAX_PIXELS / max(width * height, 1))
    by_side = _POINTS_PER_INCH * MAX_SIDE_PIXELS / max(width, height, 1)
    return min(dpi, math.floor(min(by_area, by_side)))


def _save(image: Image.Image, document: Document, suffix: str, dpi: int, context: ToolContext) -> Path:
    """Save a picture under the document's name, without overwriting that of another document of the same name."""
    source = hashlib.sha256(os.fsencode(document.path)).hexdigest()
    stem = re.sub(r"[\x00-\x1f\x7f/]", "_", document.path.stem)[:_MAX_STEM_CHARACTERS]
    text = PngImagePlugin.PngInfo()
    text.add_text(_SOURCE_KEY, source)

    names = (f"{stem}-{suffix}.png", f"{stem}-{source[:8]}-{suffix}.png")
    plain, distinct = (context.paths.writable(context.paths.workspace / FOLDER / name) for name in names)
    plain.parent.mkdir(parents=True, exist_ok=True)
    temporary = plain.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        image.save(temporary, format="PNG", dpi=(dpi, dpi), pnginfo=text)
        target = plain if _claim(plain, source) else distinct
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _claim(path: Path, source: str) -> bool:
    """Return True if a file name is free, in which case it is taken, or has a picture of the same document."""
    try:
        path.open("xb").close()
    except FileExistsError:
        try:
            with Image.open(path, formats=("PNG",)) as image:
                return image.info.get(_SOURCE_KEY) == source
        except (OSError, SyntaxError, ValueError):  # not, or not yet, one of our pictures
            return False
    return True
