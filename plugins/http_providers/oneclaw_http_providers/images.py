"""Fit the images of a request to what a service takes. The stored messages keep the originals.

The same request in gives the same request out, so that a prompt cache holds. Pillow is needed only for an image that
is over a limit; it is an extra (``oneclaw-core[images]``) that the usual plugins bring with them.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from oneclaw_core import Attachment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import Message
    from oneclaw_core.providers import ModelRequest

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# About 360 MB once it is unpacked. A file of a few kilobytes can claim to be far more.
MAX_PIXELS = 89_000_000
_KEPT_BYTES = 64_000_000
_QUALITY = 85
_SMALLER = 0.75
_LEAST_SIDE_PIXELS = 64
_INSTALL = 'pip install "oneclaw-core[images]"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLimits:
    """Limits of a service for images; ``None`` is no limit.

    Attributes:
        max_bytes: of one image, before it is encoded in base64.
        max_side_pixels: its longer side.
        most_images: in one request.
        many_images: with more images than these in a request, the limit of pixels is the next one.
        many_side_pixels: the longer side of each then.
    """

    max_bytes: int | None = None
    max_side_pixels: int | None = None
    most_images: int | None = None
    many_images: int | None = None
    many_side_pixels: int | None = None

    def side_of(self, count: int) -> int | None:
        """Return the limit of the longer side in a request with a number of images."""
        is_many = self.many_images is not None and count > self.many_images
        return self.many_side_pixels if is_many else self.max_side_pixels


class UnfitImageError(Exception):
    """An image is over a limit and cannot be made smaller; the message says why, for the model and the user."""


class ImageFitter:
    """Fits images to the limits of a service, and keeps what it made, so that each costs the time once."""

    def __init__(self) -> None:
        # By the content of the original and the limits: the smaller image, one without data if the original is sent as
        # it is, or why none is sent.
        self._made: OrderedDict[tuple[bytes, int | None, int | None], Attachment | str] = OrderedDict()
        self._kept_bytes = 0
        # Turns run at the same time, and two large images at once would take twice the memory.
        self._one_by_one = threading.Lock()

    def fit(self, request: ModelRequest, limits: ImageLimits) -> tuple[ModelRequest, list[str]]:
        """Fit the images of a request. It takes a while for large ones: call it in a thread.

        Returns:
            The request to send, and what to tell the user about images that are not sent.
        """
        count = _count(request.messages)
        if not count:
            return request, []
        left_out = _oldest(count, limits.most_images)
        side = limits.side_of(count - left_out)
        told: list[str] = []
        place = 0
        messages: list[Message] = []
        for message in request.messages:
            taken: list[Attachment] = []
            notes: list[str] = []
            for file in message.attachments:
                if not _is_image(file):
                    taken.append(file)
                    continue
                place += 1
                try:
                    if place <= left_out:
                        raise UnfitImageError(f"a request has at most {limits.most_images} images; ask for it again")
                    taken.append(self._fitted(file, limits.max_bytes, side))
                except UnfitImageError as error:
                    notes.append(f"[{file.name} ({file.media_type}) is not sent: {error}]")
                    told.append(f"{file.name} is not sent: {error}")
            if notes or any(new is not old for new, old in zip(taken, message.attachments, strict=False)):
                text = "\n".join([*filter(None, [message.content]), *notes])
                message = replace(message, content=text, attachments=tuple(taken))
            messages.append(message)
        return replace(request, messages=tuple(messages)), told

    def _fitted(self, file: Attachment, max_bytes: int | None, side: int | None) -> Attachment:
        key = (blake2b(file.data, digest_size=16).digest(), max_bytes, side)
        with self._one_by_one:
            made = self._made.get(key)
            if made is None:
                try:
                    made = fit_image(file, max_bytes, side)
                except UnfitImageError as error:
                    made = str(error)
                made = self._keep(key, replace(file, data=b"") if made is file else made)
        if isinstance(made, str):
            raise UnfitImageError(made)
        return file if made.data == b"" else replace(made, name=file.name)

    def _keep(self, key: tuple[bytes, int | None, int | None], made: Attachment | str) -> Attachment | str:
        self._made[key] = made
        self._kept_bytes += len(made.data) if isinstance(made, Attachment) else 0
        while self._kept_bytes > _KEPT_BYTES and len(self._made) > 1:
            _, dropped = self._made.popitem(last=False)
            self._kept_bytes -= len(dropped.data) if isinstance(dropped, Attachment) else 0
        return made


def fit_image(file: Attachment, max_bytes: int | None, side: int | None) -> Attachment:
    """Make an image as small as it has to be; one that is within the limits is returned as it is.

    Args:
        file: an image.
        max_bytes: how long it may be, ``None`` for any length.
        side: how many pixels its longer side may have, ``None`` for any number.

    Raises:
        UnfitImageError: it is over a limit and cannot be made smaller.
    """
    is_long = max_bytes is not None and len(file.data) > max_bytes
    if not is_long and side is None:
        return file
    try:
        from PIL import Image, ImageOps
    except ImportError:
        if not is_long:
            return file  # how many pixels it has is not known without; the service may refuse it
        raise UnfitImageError(
            f"it has {len(file.data):,} bytes, and the service takes {max_bytes:,}; to have it made smaller: {_INSTALL}"
        ) from None
    try:
        with Image.open(io.BytesIO(file.data), formats=_FORMATS) as image:
            is_wide = side is not None and max(image.size) > side
            if not is_long and not is_wide:
                return file
            if image.width * image.height > MAX_PIXELS:
                raise UnfitImageError(_too_many(image.width, image.height))
            keeps_format = image.format == "JPEG"
            wanted = min(side or max(image.size), max(image.size))
            image.draft("RGB", (wanted, wanted))  # JPEG only: it is unpacked at a fraction of its size
            turned = ImageOps.exif_transpose(image)
            has_alpha = turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info
            picture = turned.convert("RGBA" if has_alpha else "RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UnfitImageError(_too_many()) from None
    except UnfitImageError:
        raise
    except Exception as error:  # noqa: BLE001  # a damaged file can make a decoder raise anything
        if not is_long:
            return file  # the service says what it thinks of it
        raise UnfitImageError(f"it is too long for the service and cannot be read ({type(error).__name__})") from None
    return _written(file, picture, max_bytes, wanted, keeps_jpeg=keeps_format)


def _written(file: Attachment, picture: Any, max_bytes: int | None, side: int, *, keeps_jpeg: bool) -> Attachment:
    from PIL import Image

    while True:
        small = picture.copy()
        small.thumbnail((side, side), Image.Resampling.LANCZOS)
        for name in ("JPEG",) if keeps_jpeg else ("PNG", "JPEG"):
            data = _encoded(small, name)
            if max_bytes is None or len(data) <= max_bytes:
                return Attachment(file.name, f"image/{name.lower()}", data)
        side = int(side * _SMALLER)
        if side < _LEAST_SIDE_PIXELS:
            raise UnfitImageError(f"it cannot be made smaller than {max_bytes:,} bytes")


def _encoded(picture: Any, name: str) -> bytes:
    from PIL import Image

    written = io.BytesIO()
    if name == "PNG":
        picture.save(written, "PNG")
        return written.getvalue()
    if picture.mode == "RGBA":
        ground = Image.new("RGB", picture.size, "white")
        ground.paste(picture, mask=picture.getchannel("A"))
        picture = ground
    picture.save(written, "JPEG", quality=_QUALITY)
    return written.getvalue()


def _too_many(width: int | None = None, height: int | None = None) -> str:
    size = (
        f"it claims to have {width:,} x {height:,} pixels" if width and height else "it claims to have too many pixels"
    )
    return f"{size}, more than the {MAX_PIXELS:,} that are unpacked"


def _oldest(images: int, most: int | None) -> int:
    """Count the oldest images to leave out: half of them at once, which costs a prompt cache less often."""
    if most is None:
        return 0
    left_out = 0
    for count in range(1, images + 1):
        if count - left_out > most:
            left_out = count - max(1, most // 2)
    return left_out


def _count(messages: Iterable[Message]) -> int:
    return sum(_is_image(file) for message in messages for file in message.attachments)


def _is_image(file: Attachment) -> bool:
    return file.media_type.lower().startswith("image/") and file.left_out_bytes is None
