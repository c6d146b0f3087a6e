"""From a tool call to a client for Google's APIs."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from oneclaw_google_workspace.accounts import AccountBook
from oneclaw_google_workspace.call_arguments import chosen_account
from oneclaw_google_workspace.client import GoogleClient
from oneclaw_google_workspace.failures import lacking_scopes
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.scopes import Need, login_options, missing_scopes
from oneclaw_google_workspace.tokens import TokenSource, google_oauth

if TYPE_CHECKING:
    from oneclaw_core import ToolContext


def connect(context: ToolContext, need: Need | None = None) -> GoogleClient:
    """Make the client of a tool call, for the account that it names or the default one; nothing is sent yet.

    Args:
        context: of the call.
        need: what it needs of the sign-in; by default, what the tool always does.

    Raises:
        GoogleError: no one is signed in, or not for what the tool needs, or the user has not released the account; the
            message names the command to run.
        OneClawError: the sign-in cannot be read.
    """
    need = need or Need.of_tool(context.tool_name)
    book = AccountBook(context.services.home)
    account = book.for_tools(login_options(need.service, need.scopes), chosen_account())
    if missing_scopes(need.scopes, account.scopes):
        raise GoogleError("not_available", lacking_scopes(account, need, need.scopes))
    oauth = google_oauth(book, open_http=lambda: nullcontext(context.service_http))
    return GoogleClient(context, account, need, TokenSource(oauth, account), is_usual=account.name == book.default_name)
