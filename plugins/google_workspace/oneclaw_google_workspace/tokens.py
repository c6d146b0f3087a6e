"""Access tokens of an account, and what is said when Google gives none."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from oneclaw_core.http import OAuthClient, OAuthError, OAuthUnavailableError
from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.scopes import full_scope
from oneclaw_google_workspace.service import google_service
from oneclaw_google_workspace.service_accounts import assertion_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_google_workspace.accounts import Account, AccountBook
    from oneclaw_google_workspace.oauth_client import ClientIdentity

_CLIENT_CODES = ("invalid_client", "unauthorized_client")


def google_oauth(
    book: AccountBook,
    client: ClientIdentity | None = None,
    open_http: Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]] | None = None,
) -> OAuthClient:
    """Make what signs in to Google and gets access tokens.

    Args:
        book: the accounts.
        client: who signs in; not needed for what is signed in already.
        open_http: gives an HTTP client for a request, by default one for services that the user has chosen.
    """
    service = google_service(client)
    if open_http is None:
        return OAuthClient(service, book.stored, renewal=assertion_form)
    return OAuthClient(service, book.stored, open_http=open_http, renewal=assertion_form)


class TokenSource:
    """Access tokens of one account.

    Args:
        oauth: gets them.
        account: whose.
    """

    def __init__(self, oauth: OAuthClient, account: Account) -> None:
        self._oauth = oauth
        self._account = account

    async def token(self, *, refused: str | None = None) -> str:
        """Return a token that is valid as far as is known.

        Args:
            refused: a token that Google has just refused.

        Raises:
            GoogleError: Google gives none; the message says what the user can do.
            OneClawError: the sign-in cannot be read.
        """
        with refusals_explained(self._account):
            return await self._oauth.access_token(self._account.name, refused=refused)


@contextmanager
def refusals_explained(account: Account) -> Iterator[None]:
    """Turn what the sign-in service refuses into what a model is told about Google.

    Raises:
        GoogleError: in the place of an ``OAuthError``.
    """
    try:
        yield
    except OAuthError as error:
        raise GoogleError(error.error_type, _explained(account, error)) from None


def _explained(account: Account, error: OAuthError) -> str:
    login = f"oneclaw google login --account {account.name}"
    if isinstance(error, OAuthUnavailableError) or not error.code:
        return str(error)
    if account.kind == SERVICE_ACCOUNT:
        if error.code in ("unauthorized_client", "access_denied"):
            return (
                f"The service account {account.name} may not act for {account.email}. An administrator of the domain "
                "can allow it at https://admin.google.com/ac/owl/domainwidedelegation, for the scopes: "
                f"{', '.join(map(full_scope, account.scopes))}"
            )
        return (
            f"Google does not accept the service account {account.name} ({error.description}). The user can give its "
            f"key again with: {login} --service-account FILE --subject EMAIL"
        )
    if error.code in _CLIENT_CODES:
        return (
            f"Google does not accept the OAuth client that {account.name} was signed in with ({error.description}). "
            f"The user can sign in with another one: {login} --client client_secret.json"
        )
    return str(error)
