"""HTTP for OneClaw and its plugins: clients, the network guard, OAuth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.http.addresses import is_public_address as is_public_address
    from oneclaw_core.http.clients import create_client as create_client
    from oneclaw_core.http.clients import create_guarded_client as create_guarded_client
    from oneclaw_core.http.clients import create_guarded_sync_client as create_guarded_sync_client
    from oneclaw_core.http.clients import expands_boundedly as expands_boundedly

_NAMES = {
    "addresses": "is_public_address",
    "clients": "create_client create_guarded_client create_guarded_sync_client expands_boundedly",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
