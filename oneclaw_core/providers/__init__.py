"""Public names for authors of providers, beside those of ``oneclaw_core``: protocol, requests, events, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.errors import ContextTooLongError as ContextTooLongError
    from oneclaw_core.errors import ProviderAuthenticationError as ProviderAuthenticationError
    from oneclaw_core.errors import ProviderQuotaError as ProviderQuotaError
    from oneclaw_core.errors import ProviderRateLimitError as ProviderRateLimitError
    from oneclaw_core.errors import ProviderRequestError as ProviderRequestError
    from oneclaw_core.errors import ProviderSilentError as ProviderSilentError
    from oneclaw_core.errors import ProviderUnavailableError as ProviderUnavailableError
    from oneclaw_core.errors import ProviderUnreachableError as ProviderUnreachableError
    from oneclaw_core.errors import UnknownModelError as UnknownModelError
    from oneclaw_core.providers.base import Provider as Provider
    from oneclaw_core.providers.base import ProviderConfig as ProviderConfig
    from oneclaw_core.providers.model_object import ModelObject as ModelObject
    from oneclaw_core.providers.model_object import ProviderModel as ProviderModel
    from oneclaw_core.types.messages import StopReason as StopReason
    from oneclaw_core.types.model_requests import ArgumentsDelta as ArgumentsDelta
    from oneclaw_core.types.model_requests import ModelEvent as ModelEvent
    from oneclaw_core.types.model_requests import ModelInfo as ModelInfo
    from oneclaw_core.types.model_requests import ModelRequest as ModelRequest
    from oneclaw_core.types.model_requests import ModelResponse as ModelResponse
    from oneclaw_core.types.model_requests import OutputSchema as OutputSchema
    from oneclaw_core.types.model_requests import ReasoningDelta as ReasoningDelta
    from oneclaw_core.types.model_requests import TextDelta as TextDelta

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.errors import UnreadableCallError as UnreadableCallError
    from oneclaw_core.providers.base import KEY_HEADERS as KEY_HEADERS
    from oneclaw_core.providers.base import TEXT_CALLS_REMEDY as TEXT_CALLS_REMEDY
    from oneclaw_core.providers.base import WireRequest as WireRequest
    from oneclaw_core.providers.route import FailureKind as FailureKind
    from oneclaw_core.providers.route import Route as Route
    from oneclaw_core.types.identity_cache import IdentityCache as IdentityCache
    from oneclaw_core.types.model_requests import LoadingRefused as LoadingRefused
    from oneclaw_core.types.model_requests import RetryNotice as RetryNotice
    from oneclaw_core.types.model_requests import TextWithdrawn as TextWithdrawn
    from oneclaw_core.types.model_requests import ToolLoading as ToolLoading
    from oneclaw_core.types.model_requests import UsageSoFar as UsageSoFar
    from oneclaw_core.types.model_requests import loading_calls as loading_calls
    from oneclaw_core.types.text import compact_json as compact_json

__getattr__, __dir__, __all__ = lazy_names(__name__, "oneclaw_http_providers")
