"""Getting access tokens from Google, through the library google-auth; imported only when one is needed."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import google.auth.exceptions
import google.auth.transport
import httpx

from oneclaw_core import remember_secret
from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT, AccessToken
from oneclaw_google_workspace.apis import address
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.scopes import full_scope, short_scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.accounts import Account

TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105  # an address
_TIMEOUT_SECONDS = 20.0
_ENDED = ("invalid_grant", "account_disabled", "deleted_client")


class HttpxTransport(google.auth.transport.Request):
    """Lets google-auth send its requests through an httpx client.

    Args:
        client: a synchronous one.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> google.auth.transport.Response:
        """Send a request.

        Raises:
            google.auth.exceptions.TransportError: there is no answer.
        """
        try:
            response = self._client.request(
                method,
                url,
                content=body,
                headers=dict(headers or {}),
                timeout=timeout or _TIMEOUT_SECONDS,
                follow_redirects=False,
            )
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise google.auth.exceptions.TransportError(reason) from error  # type: ignore[no-untyped-call]
        return _Response(response)


class _Response(google.auth.transport.Response):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    @property
    def data(self) -> bytes:
        return self._response.content


def request_token(
    account: Account, secret: Mapping[str, Any], transport: google.auth.transport.Request
) -> tuple[AccessToken, dict[str, Any], tuple[str, ...]]:
    """Get a new access token; waits for Google.

    Args:
        account: whose.
        secret: from :meth:`~oneclaw_google_workspace.accounts.AccountBook.secret`.
        transport: to ask with.

    Returns:
        The token, the secret as it is to be from now on, and the scopes that are granted by now.

    Raises:
        GoogleError: Google gives none; the message says what the user can do.
    """
    credentials = _credentials(account, secret)
    try:
        credentials.refresh(transport)
    except google.auth.exceptions.RefreshError as error:
        raise refusal(account, error) from None
    except google.auth.exceptions.GoogleAuthError as error:
        raise GoogleError(
            "service_unavailable", f"Google could not be asked for access: {' '.join(str(error).split())[:300]}."
        ) from None
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError, OverflowError):
        raise _unreadable() from None
    if not isinstance(credentials.token, str) or credentials.expiry is None:
        raise _unreadable()
    remember_secret(credentials.token)
    changed = dict(secret)
    rotated = getattr(credentials, "refresh_token", None)
    if isinstance(rotated, str) and rotated and "refresh_token" in changed:
        remember_secret(rotated)
        changed["refresh_token"] = rotated
    granted = getattr(credentials, "granted_scopes", None)
    scopes = tuple(sorted(map(short_scope, granted))) if granted else account.scopes
    return AccessToken(credentials.token, credentials.expiry.replace(tzinfo=UTC).timestamp()), changed, scopes


def _credentials(account: Account, secret: Mapping[str, Any]) -> Any:
    token_uri = address(TOKEN_URL)
    if account.kind == SERVICE_ACCOUNT:
        from google.oauth2 import service_account

        try:
            return service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
                {**secret, "token_uri": token_uri}, scopes=list(map(full_scope, account.scopes)), subject=account.email
            )
        except (ValueError, google.auth.exceptions.GoogleAuthError):
            raise GoogleError(
                "not_available",
                f"The key of the service account {account.name} is damaged. The user can give it again with: "
                f"oneclaw google login --account {account.name} --service-account FILE --subject EMAIL",
            ) from None
    from google.oauth2.credentials import Credentials

    return Credentials(  # type: ignore[no-untyped-call]
        None,
        refresh_token=secret["refresh_token"],
        token_uri=token_uri,
        client_id=secret["client_id"],
        client_secret=secret["client_secret"],
    )


def _unreadable() -> GoogleError:
    return GoogleError("service_unavailable", "Google's answer to the request for access cannot be read. Try later.")


def refusal(account: Account, error: google.auth.exceptions.RefreshError) -> GoogleError:
    """Say what it means that Google gives no access token, and what the user can do."""
    values = next((each for each in error.args if isinstance(each, dict)), {})
    code = str(values.get("error", ""))
    if account.kind == SERVICE_ACCOUNT:
        if code in ("unauthorized_client", "access_denied"):
            return GoogleError(
                "not_available",
                f"The service account {account.name} may not act for {account.email}. An administrator of the domain "
                "can allow it at https://admin.google.com/ac/owl/domainwidedelegation, for the scopes: "
                f"{', '.join(map(full_scope, account.scopes))}",
            )
        return GoogleError(
            "not_available",
            f"Google does not accept the service account {account.name} ({_described(values)}). The user can give its "
            f"key again with: oneclaw google login --account {account.name} --service-account FILE --subject EMAIL",
        )
    login = f"oneclaw google login --account {account.name}"
    if code in _ENDED:
        return GoogleError(
            "not_available",
            f"The Google sign-in of {account.label} has expired or was revoked. The user can renew it with: {login}",
        )
    if code in ("invalid_client", "unauthorized_client"):
        return GoogleError(
            "not_available",
            f"Google does not accept the OAuth client that {account.name} was signed in with ({_described(values)}). "
            f"The user can sign in with another one: {login} --client client_secret.json",
        )
    if error.retryable or not code:
        return GoogleError(
            "service_unavailable", "Google gives no access at the moment: its sign-in service failed. Try again later."
        )
    return GoogleError(
        "not_available",
        f"Google refuses access for {account.label} ({_described(values)}). The user can sign in again with: {login}",
    )


def _described(values: Mapping[str, Any]) -> str:
    words = [str(values[key]) for key in ("error", "error_description") if values.get(key)]
    return " ".join(": ".join(words).split())[:300] or "without a reason"
