"""The arguments that every tool takes: the account, and the files that a call is about."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACCOUNT = "account"
"""The parameter of every tool; the metadata of each manifest describe it."""

FILE_SERVICES = frozenset(["drive", "docs", "sheets", "slides", "forms"])
"""The services whose permissions are for files."""

# Parameters of these services that name files and folders, by ids or links, as tools and as Google write them.
_FILES = (
    "file_id",
    "file_ids",
    "document_id",
    "spreadsheet_id",
    "destination_spreadsheet_id",
    "presentation_id",
    "form_id",
    "folder_id",
    "parent_id",
    "fileId",
    "documentId",
    "spreadsheetId",
    "presentationId",
    "formId",
    "addParents",
)
_OWN_FOLDER = "root"

_arguments: ContextVar[Mapping[str, Any] | None] = ContextVar("google_call_arguments", default=None)


@contextmanager
def called_with(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Have what is called within know the arguments of the tool call.

    Args:
        arguments: by name.
    """
    token = _arguments.set(arguments)
    try:
        yield
    finally:
        _arguments.reset(token)


def chosen_account() -> str | None:
    """Return the account that the running call names; ``None`` for the default one."""
    account = (_arguments.get() or {}).get(ACCOUNT)
    return account if isinstance(account, str) else None


def files_named() -> list[str]:
    """List the ids of the files and folders that the running call names."""
    return files_in(_arguments.get() or {})


def files_in(arguments: Mapping[str, Any]) -> list[str]:
    """List the ids of the files and folders that some arguments name, each once."""
    found: dict[str, None] = {}
    for name in _FILES:
        value = arguments.get(name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and each and each != _OWN_FOLDER:
                try:
                    found[file_id(each, name)] = None
                except GoogleError:  # which the tool says
                    continue
    return list(found)
