"""From a tool call to a client for Google's APIs."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from oneclaw_google_workspace.accounts import AccountBook
from oneclaw_google_workspace.client import GoogleClient
from oneclaw_google_workspace.failures import lacking_scopes
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.scopes import TOOL_SCOPES, login_options, missing_scopes
from oneclaw_google_workspace.tokens import TokenSource, google_oauth

if TYPE_CHECKING:
    from oneclaw_core import ToolContext


def connect(context: ToolContext) -> GoogleClient:
    """Make the client of a tool call; nothing is sent yet.

    Args:
        context: of the call.

    Raises:
        GoogleError: no one is signed in, or not for what the tool needs; the message names the command to run.
        OneClawError: the sign-in cannot be read.
    """
    book = AccountBook(context.services.home)
    scopes = TOOL_SCOPES[context.tool_name]
    account = book.for_tools(login_options(context.tool_name, scopes))
    if missing_scopes(scopes, account.scopes):
        raise GoogleError("not_available", lacking_scopes(account, context.tool_name, scopes))
    oauth = google_oauth(book, open_http=lambda: nullcontext(context.service_http))
    return GoogleClient(context, account, TokenSource(oauth, account))
