"""Requests as Google's own client library would build them, for comparison."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from google_discovery import Described, document_of, find_method, read_query
from googleapiclient.discovery import Resource, build_from_document, key2param
from googleapiclient.http import HttpMock, HttpRequest, MediaIoBaseUpload
from oneclaw_google_workspace.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google_server import Seen

# Every answer is JSON unless something else is asked for; the library says so, and we do not.
_DEFAULT_QUERY = ("alt", "json")


@dataclass(frozen=True)
class Sent:
    """What is compared of a request.

    Attributes:
        verb: of HTTP.
        host: where it goes.
        path: as it is written, with escapes.
        query: names and values; a value that comes twice is there twice.
        body: JSON data.
    """

    verb: str
    host: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any


def as_we_sent_it(seen: Seen) -> Sent:
    """Take a request apart that came to the stand-in."""
    return _sent(seen.verb, f"https://{METHODS[seen.method_id].api.host}{seen.target}", seen.body)


def as_google_would(seen: Seen) -> Sent:
    """Have Google's library build the same call from nothing but its method, parameters and body."""
    parts = urlsplit(seen.target)
    method, in_path = _found(seen)
    values = read_query(method, in_path, parts.query)
    request = _built(method, values, seen.body, seen.headers)
    return _sent(request.method, request.uri, json.loads(request.body) if request.body else None)


def _built(
    method: Described, values: dict[str, Any], body: dict[str, Any] | None, headers: Mapping[str, str]
) -> HttpRequest:
    *resources, name = method.id.split(".")[1:]
    resource = _resource(method.api, *resources)
    # The library has its own methods and parameters for these.
    if values.get("alt") == "media":
        name += "_media"
        del values["alt"]
    if method.is_upload:
        assert values.pop("uploadType") == "resumable"
        # Its content is not read before the request is sent, which it is not.
        values["media_body"] = MediaIoBaseUpload(io.BytesIO(), headers["x-upload-content-type"], resumable=True)
    if "request" in method.raw and body is not None:
        values["body"] = body
    return getattr(resource, name)(**{key2param(key): value for key, value in values.items()})


@cache
def _resource(api: str, *names: str) -> Resource:
    if not names:
        return build_from_document(document_of(api), http=HttpMock())
    return getattr(_resource(api, *names[:-1]), names[-1])()


def _found(seen: Seen) -> tuple[Described, dict[str, str]]:
    found = find_method(METHODS[seen.method_id].api.host, seen.verb, urlsplit(seen.target).path)
    assert found is not None
    return found


def _sent(verb: str, url: str, body: Any) -> Sent:
    parts = urlsplit(url)
    query = [each for each in parse_qsl(parts.query, keep_blank_values=True) if each != _DEFAULT_QUERY]
    return Sent(verb, parts.netloc, parts.path, tuple(sorted(query)), body)
