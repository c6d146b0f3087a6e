"""Google as a service that users sign in to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.http import OAuthService
from oneclaw_google_workspace.apis import address
from oneclaw_google_workspace.scopes import SCOPE_PREFIX

if TYPE_CHECKING:
    from oneclaw_google_workspace.oauth_client import ClientIdentity

TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105  # an address
_AUTHORIZATION_URL = "https://accounts.google.com/o/oauth2/v2/auth"
_REVOCATION_URL = "https://oauth2.googleapis.com/revoke"


def google_service(client: ClientIdentity | None = None) -> OAuthService:
    """Describe Google.

    Args:
        client: who signs in; not needed for what is signed in already.

    Raises:
        SettingsError: the address of a stand-in for Google is not acceptable.
    """
    return OAuthService(
        name="google",
        title="Google",
        sign_in_command="oneclaw google login --account {account}",
        authorization_endpoint=address(_AUTHORIZATION_URL),
        token_endpoint=address(TOKEN_URL),
        revocation_endpoint=address(_REVOCATION_URL),
        client_id=client.client_id if client else "",
        client_secret=client.client_secret if client else None,
        # Says whose account it is, so that status can show it and an extension goes to the same one.
        identity_scopes=("openid", "userinfo.email"),
        scope_prefix=SCOPE_PREFIX,
        authorization_parameters={
            "access_type": "offline",
            # Without it Google gives no refresh token to a user who has agreed before.
            "prompt": "consent",
        },
        issuer="https://accounts.google.com",
        ended_codes=frozenset({"account_disabled", "deleted_client"}),
    )
