"""Service accounts: keys that act for the users of a domain, in place of a sign-in (RFC 7523)."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError, remember_secret
from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT, Account
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.scopes import full_scope
from oneclaw_google_workspace.service import TOKEN_URL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.http import OAuthAccount

_LIFETIME_SECONDS = 3600


def read_key(text: str, file_name: str) -> dict[str, Any]:
    """Read the key file of a service account.

    Args:
        text: its content.
        file_name: for messages.

    Raises:
        UsageError: it is no such key.
    """
    try:
        key: dict[str, Any] = json.loads(text)
        is_key = key["type"] == "service_account" and all(
            isinstance(key[name], str) for name in ("client_email", "private_key", "client_id")
        )
    except (ValueError, RecursionError, TypeError, KeyError):
        is_key = False
    if not is_key:
        raise UsageError(f"{file_name} is no key of a service account: make one in the Google Cloud console, as JSON")
    remember_secret(key["private_key"])
    return key


def assertion_form(stored: OAuthAccount, secret: Mapping[str, Any]) -> dict[str, str] | None:
    """Make the request for an access token of a service account; ``None`` for the account of a user.

    Args:
        stored: the account.
        secret: its key.

    Raises:
        GoogleError: the key is damaged.
    """
    account = Account.of(stored)
    if account.kind != SERVICE_ACCOUNT:
        return None
    from google.auth import crypt, jwt

    now = int(time.time())
    try:
        signer = crypt.RSASigner.from_service_account_info(secret)  # type: ignore[no-untyped-call]
        claims = {
            "iss": secret["client_email"],
            "sub": account.email,
            "aud": TOKEN_URL,
            "scope": " ".join(map(full_scope, account.scopes)),
            "iat": now,
            "exp": now + _LIFETIME_SECONDS,
        }
        assertion: bytes = jwt.encode(signer, claims)  # type: ignore[no-untyped-call]
    except (ValueError, KeyError, TypeError):
        raise GoogleError(
            "not_available",
            f"The key of the service account {account.name} is damaged. The user can give it again with: "
            f"oneclaw google login --account {account.name} --service-account FILE --subject EMAIL",
        ) from None
    return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion.decode()}
