"""HTTP for OneClaw and its plugins: clients, the network guard, OAuth, the guard and the tokens of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.errors import OAuthError as OAuthError
    from oneclaw_core.errors import SignInNeededError as SignInNeededError
    from oneclaw_core.http.oauth.accounts import OAuthAccount as OAuthAccount
    from oneclaw_core.http.oauth.accounts import OAuthAccounts as OAuthAccounts
    from oneclaw_core.http.oauth.accounts import OAuthService as OAuthService
    from oneclaw_core.http.oauth.client import OAuthClient as OAuthClient
    from oneclaw_core.http.oauth.consent import OAuthConsent as OAuthConsent
    from oneclaw_core.http.oauth.consent import RedirectListener as RedirectListener

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.errors import OAuthUnavailableError as OAuthUnavailableError
    from oneclaw_core.errors import PortError as PortError
    from oneclaw_core.http.addresses import checked_addresses as checked_addresses
    from oneclaw_core.http.clients import create_client as create_client
    from oneclaw_core.http.clients import create_guarded_client as create_guarded_client
    from oneclaw_core.http.clients import expands_boundedly as expands_boundedly
    from oneclaw_core.http.clients import prepare_clients as prepare_clients
    from oneclaw_core.http.messages import FaultKind as FaultKind
    from oneclaw_core.http.messages import InvalidRequestError as InvalidRequestError
    from oneclaw_core.http.messages import body_pieces as body_pieces
    from oneclaw_core.http.messages import connection_fault as connection_fault
    from oneclaw_core.http.messages import decoded as decoded
    from oneclaw_core.http.messages import failure_text as failure_text
    from oneclaw_core.http.messages import media_type as media_type
    from oneclaw_core.http.messages import outgoing_request as outgoing_request
    from oneclaw_core.http.messages import shown_url as shown_url
    from oneclaw_core.http.messages import status_text as status_text
    from oneclaw_core.http.messages import unpacked as unpacked
    from oneclaw_core.http.oauth.accounts import AccessToken as AccessToken
    from oneclaw_core.http.oauth.accounts import OAuthGrant as OAuthGrant
    from oneclaw_core.http.proxy import GuardedProxy as GuardedProxy
    from oneclaw_core.http.proxy import command_proxy as command_proxy
    from oneclaw_core.http.proxy import guarded_proxy as guarded_proxy
    from oneclaw_core.http.servers import ImpatientConnection as ImpatientConnection
    from oneclaw_core.http.servers import ServerGuard as ServerGuard
    from oneclaw_core.http.servers import ServerToken as ServerToken
    from oneclaw_core.http.servers import ServerTokens as ServerTokens
    from oneclaw_core.http.servers import bearer_token as bearer_token
    from oneclaw_core.http.servers import listen as listen
    from oneclaw_core.http.servers import send_refusal as send_refusal
    from oneclaw_core.secrets.redaction import REDACTED as REDACTED
    from oneclaw_core.secrets.store import SecretPlace as SecretPlace
    from oneclaw_core.secrets.store import SecretStore as SecretStore
    from oneclaw_core.secrets.store import SecretWords as SecretWords

__getattr__, __dir__, __all__ = lazy_names(__name__)
