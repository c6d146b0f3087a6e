"""HTTP for OneClaw and its plugins: clients, the network guard, OAuth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.http.addresses import is_public_address as is_public_address
    from oneclaw_core.http.bodies import body_pieces as body_pieces
    from oneclaw_core.http.clients import create_client as create_client
    from oneclaw_core.http.clients import create_guarded_client as create_guarded_client
    from oneclaw_core.http.clients import create_guarded_sync_client as create_guarded_sync_client
    from oneclaw_core.http.clients import expands_boundedly as expands_boundedly
    from oneclaw_core.http.messages import InvalidRequestError as InvalidRequestError
    from oneclaw_core.http.messages import decoded as decoded
    from oneclaw_core.http.messages import failure_text as failure_text
    from oneclaw_core.http.messages import media_type as media_type
    from oneclaw_core.http.messages import outgoing_request as outgoing_request
    from oneclaw_core.http.messages import shown_url as shown_url
    from oneclaw_core.http.messages import status_text as status_text
    from oneclaw_core.http.proxy import GuardedProxy as GuardedProxy
    from oneclaw_core.http.proxy import guarded_proxy as guarded_proxy

_NAMES = {
    "addresses": "is_public_address",
    "bodies": "body_pieces",
    "clients": "create_client create_guarded_client create_guarded_sync_client expands_boundedly",
    "messages": "InvalidRequestError decoded failure_text media_type outgoing_request shown_url status_text",
    "proxy": "GuardedProxy guarded_proxy",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
