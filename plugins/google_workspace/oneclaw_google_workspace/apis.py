"""Google's APIs: what they are called and where they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oneclaw_core import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE_VARIABLE = "ONECLAW_GOOGLE_API_BASE"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Api:
    """One of Google's APIs.

    Attributes:
        title: as it is called in the Google Cloud console.
        host: where it is, which is also its name there.
        batch_path: where many requests go at once.
        service: the host's name in the Cloud console.
    """

    title: str
    host: str
    batch_path: str = "/batch"
    service: str = ""

    @property
    def switch_on_url(self) -> str:
        """The page where the owner of a Cloud project switches it on."""
        return f"https://console.cloud.google.com/apis/library/{self.service or self.host}"


APIS = {
    "gmail": Api("Gmail API", "gmail.googleapis.com"),
    "drive": Api("Google Drive API", "www.googleapis.com", "/batch/drive/v3", "drive.googleapis.com"),
    "calendar": Api("Google Calendar API", "www.googleapis.com", "/batch/calendar/v3", "calendar-json.googleapis.com"),
    "people": Api("People API", "people.googleapis.com"),
    "docs": Api("Google Docs API", "docs.googleapis.com"),
    "sheets": Api("Google Sheets API", "sheets.googleapis.com"),
    "slides": Api("Google Slides API", "slides.googleapis.com"),
    "forms": Api("Google Forms API", "forms.googleapis.com"),
    "tasks": Api("Google Tasks API", "tasks.googleapis.com"),
}
"""By the first word of the ids of their methods."""


def address(url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the address for requests to a Google URL.

    That is the URL itself, unless ``ONECLAW_GOOGLE_API_BASE`` names a stand-in: then everything goes there, with the
    host as the first part of the path.

    Args:
        url: an ``https`` URL.
        environ: the environment.

    Raises:
        SettingsError: the stand-in's address is neither ``https`` nor on this machine: tokens would go unprotected.
    """
    base = environ.get(BASE_VARIABLE)
    if not base:
        return url
    parts = urlsplit(base)
    if not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)):
        raise SettingsError(f"{BASE_VARIABLE} must be an https URL, or an http URL on this machine")
    return f"{base.rstrip('/')}/{url.removeprefix('https://')}"
